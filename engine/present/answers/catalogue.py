"""Answers: scenarios, metrics, dimensions and members, as lists within the token budget."""

from collections.abc import Iterator, Sequence

from engine.books.reader import Reader, label_of
from engine.books.search import CLOSE_SPELLING, MOST_HITS, Hit, SearchResult
from engine.books.terms import metrics_found
from engine.model.catalogue import (
    Base,
    Dimension,
    Domain,
    FormulaLine,
    HeaderLine,
    Line,
    Metric,
    MetricLine,
    RollupLine,
    Statement,
)
from engine.model.errors import UnknownName, echo
from engine.model.exact import Exact
from engine.model.figure_parts import FigureParts
from engine.model.notes import Note, notes_as_data
from engine.model.scenarios import Scenario, Variance, grammar, resolve
from engine.model.scope import Cut
from engine.model.stopping import Stop, watched
from engine.model.vocabulary import SeenReading
from engine.plans.freshness import loaded_through
from engine.present.answers.budget import Json, LeftOut, axes_of, cut_list, cut_lists, list_fields, split
from engine.queries.references import nothing_visible, resolve_reference, unknown_scenarios

# Metrics: what can be reported, and how each adds up.


OTHER_METRICS = (
    "A metric works by its key alone; run_metric says its label, unit and freshness. Ask run_metric for a key like the "
    "one you look for: it names the closest that exist. list_dimensions lists the dimensions."
)
AXES = ("descriptions", "metric_details", "loaded_through", "metrics", "dimension_keys")  # in the order they go


def metrics_answer(
    reader: Reader, budget: int, stop: Stop, domain: str | None = None, query: str | None = None
) -> Json:
    """Return the metrics of every domain with the dimensions that cut them; of one domain, or found by a query.

    Raises UnknownName for an unknown domain. A domain in which a query finds nothing is left out.
    """
    if domain is not None and domain not in reader.domains:
        hint = "list_kpis without arguments lists the domains."
        raise UnknownName.of("domain", domain, reader.domains, field="domain", hint=hint)
    found = None if query is None else metrics_found(query, reader)
    shown = [known for key, known in reader.domains.items() if domain in (None, key)]
    domains = [
        known for known in (domain_json(one, reader, found) for one in shown) if found is None or known["metrics"]
    ]
    sizes = [sizes_of(domain) for domain in domains]
    axes = {axis: sum(size[axis] for size in sizes) for axis in AXES} | {"domains": len(domains)}

    def build(left: LeftOut) -> Json:
        shares = {axis: split(left[axis], [size[axis] for size in sizes]) for axis in AXES}
        shown = range(len(domains) - left["domains"])
        cut = [cut_down(domains[at], {axis: shares[axis][at] for axis in AXES}) for at in shown]
        return {"domains": cut, **nothing_visible_json(reader)}

    return cut_list(build, axes, OTHER_METRICS, budget, stop)


def sizes_of(domain: Json) -> dict[str, int]:
    """Return the number of entries of each axis of a domain."""
    metrics = domain["metrics"]
    described = sum(bool(metric["description"]) for metric in metrics)
    return dict(zip(AXES, (described, len(metrics), 1, len(metrics), len(domain["dimension_keys"])), strict=True))


def cut_down(domain: Json, left: LeftOut) -> Json:
    """Return a domain without the entries to leave out, cut from the end of each axis."""
    metrics, keys = domain["metrics"], domain["dimension_keys"]
    shown = len(metrics) - left["metrics"]
    detailed = min(shown, len(metrics) - left["metric_details"])
    more = [metric["key"] for metric in metrics[detailed:shown]]
    return {
        **{name: part for name, part in domain.items() if name != "loaded_through" or not left[name]},
        "dimension_keys": keys[: len(keys) - left["dimension_keys"]],
        "metrics": undescribed(metrics, left["descriptions"])[:detailed],
        **({"more_metrics": more} if more else {}),
    }


def undescribed(metrics: Sequence[Json], left: int) -> list[Json]:
    """Return metrics without their last `left` descriptions."""
    described = [at for at, metric in enumerate(metrics) if metric["description"]]
    silent = set(described[len(described) - left :])
    return [
        {name: part for name, part in metric.items() if name != "description"} if at in silent else metric
        for at, metric in enumerate(metrics)
    ]


def domain_json(domain: Domain, reader: Reader, found: Sequence[str] | None = None) -> Json:
    """Return a domain's metrics and dimension keys; of its metrics those that are found, in that order."""
    dimensions = cutting(domain, reader)
    metrics = reader.metrics.values() if found is None else [reader.metrics[key] for key in found]
    return {
        "domain": domain.key,
        "label": domain.label,
        "grain": domain.grain.value,
        "loaded_through": loaded_through(reader, domain),
        "dimension_keys": [dimension.key for dimension in dimensions if not dimension.axis_only],
        "axis_only_dimensions": [dimension.key for dimension in dimensions if dimension.axis_only],
        "metrics": [metric_json(metric, reader) for metric in metrics if metric.domain == domain.key],
    }


def cutting(domain: Domain, reader: Reader) -> list[Dimension]:
    """Return the dimensions of a domain."""
    return [dim for dim in reader.catalogue.dimensions_of(domain) if dim.key in reader.dimensions]


def metric_json(metric: Metric, reader: Reader) -> Json:
    """Return one metric: what it is, how it adds up, and what it counts."""
    return {
        "key": metric.key,
        "label": metric.label,
        "format": metric.format.value,
        "domain": metric.domain,
        "description": metric.description,
        "favourable": metric.favourable.value,
        "additive": metric.type.additive,
        **drivers_json(metric, reader),
        **(base_json(metric.body, reader) if isinstance(metric.body, Base) else {"formula": metric.written}),
        **shared_json(metric, reader),
    }


def drivers_json(metric: Metric, reader: Reader) -> Json:
    """Return the metrics of volume and price that explain the variances of a metric, where both are visible."""
    drivers = metric.drivers
    if drivers is None or not {drivers.volume, drivers.price} <= reader.metrics.keys():
        return {}
    return {"drivers": {"volume": drivers.volume, "price": drivers.price}}


def base_json(base: Base, reader: Reader) -> Json:
    """Return how a metric without a formula aggregates: its sign, over members, over time, and its rows."""
    counted = {} if base.counted is None else {"counts": base.counted}
    share = {} if base.share is None else {"percentile": (base.share * Exact(100)).as_json()}
    amounts = {
        known.measure: [other.written for other in base.amounts if other.measure == known.measure]
        for known in base.amounts
    }
    where = {cut.dimension: seen_of(cut, reader) for cut in base.kept}
    excluded = {cut.dimension: {"exclude": ids} for cut in base.where if cut.deny and (ids := seen_of(cut, reader))}
    return {
        **({"sign": "negate"} if base.negated else {}),
        "over_members": base.over_members.value,
        **counted,
        **share,
        "over_time": base.over_time.written,
        **({"repeats": True} if base.repeats else {}),
        **({"where": where | excluded | amounts} if where or excluded or amounts else {}),
    }


def seen_of(cut: Cut, reader: Reader) -> list[str]:
    """Return those ids of a restriction that the reader sees."""
    return [member for member in watched(cut.ids) if reader.sees(cut.dimension, member)]


def shared_json(metric: Metric, reader: Reader) -> Json:
    """Return the domains of a metric, their common dimensions and last loaded periods; {} for a single domain."""
    bases = FigureParts.of(reader.catalogue, metric).bases
    domains = [reader.domains[key] for key in sorted({base.domain for base in bases})]
    if len(domains) == 1:
        return {}
    bound = {base.domain for base in bases if not base.repeats} or {base.domain for base in bases}
    first, *others = [list(cutting(domain, reader)) for domain in domains if domain.key in bound]
    shared = [dim.key for dim in first if all(dim in known for known in others)]
    through = {domain.key: loaded_through(reader, domain) for domain in domains}
    return {"domains": [domain.key for domain in domains], "dimension_keys": shared, "loaded_through": through}


def statement_json(statement: Statement, reader: Reader) -> Json:
    """Return the lines of a statement, in order, without those of hidden nodes."""
    lines = (line for line in statement.lines if not isinstance(line, RollupLine) or sees_node(line, reader))
    return {"key": statement.key, "label": statement.label, "lines": [line_json(line, reader) for line in lines]}


def sees_node(line: RollupLine, reader: Reader) -> bool:
    """Tell whether the node of a rollup line is visible."""
    return reader.sees(line.dimension, line.node)


def line_json(line: Line, reader: Reader) -> Json:
    """Return one line: what it shows, by its kind."""
    match line:
        case HeaderLine(label=label):
            return {"label": label, "kind": "header"}
        case MetricLine(key=key, label=label, metric=metric):
            return {"key": key, "label": label, "kind": "metric", "metric": metric}
        case FormulaLine(key=key, label=label, written=written):
            return {"key": key, "label": label, "kind": "formula", "formula": written}
        case RollupLine(key=key, dimension=dimension, node=node, depth=depth):
            label = line.label or label_of(dimension, node, reader)
            return {"key": key, "label": label, "kind": "node", "dimension": dimension, "node": node, "depth": depth}


# Scenarios, dimensions and members: what may be asked, and under which names.


OTHER_SCENARIOS = (
    "A scenario works by its id alone, and any comparison is written with the grammar. A reporting call names the "
    "scenarios that it left out because they do not exist."
)
OTHER_DIMENSIONS = (
    "A dimension works by its key alone; search_hierarchy lists its members. list_kpis names those of each domain, "
    "get_inspection_schema those of each source."
)
OTHER_MEMBERS = "Read on with offset, or search inside one dimension, with more of the name or code."
OTHER_VARIANTS = "A variant works by its key, scenario/variant, alone."


def scenarios_answer(reader: Reader, budget: int, stop: Stop) -> Json:
    """Return the scenarios and the ready-made comparisons of them."""
    shown = [known for known in reader.scenarios.values() if known.base not in reader.scenarios]
    scenarios = [scenario_json(scenario, reader) for scenario in shown]
    freezes = [list(freezes_json(scenario, reader)) for scenario in shown]
    offered = list(comparisons(reader))

    def build(left: LeftOut) -> Json:
        cuts = split(left["freezes"], [len(own) for own in freezes])
        own = (each[: len(each) - cut] for each, cut in zip(freezes, cuts, strict=True))
        entries = [entry | ({"freezes": named} if named else {}) for entry, named in zip(scenarios, own, strict=True)]
        return {
            **list_fields("scenario", entries, "id", left),
            "comparisons": offered[: len(offered) - left["comparisons"]],
            "grammar": grammar(reader.catalogue.calendar),
            **nothing_visible_json(reader),
        }

    axes = {"comparisons": len(offered), "freezes": sum(map(len, freezes)), **axes_of(scenario=scenarios)}
    return cut_list(build, axes, OTHER_SCENARIOS, budget, stop)


def nothing_visible_json(reader: Reader) -> Json:
    """Return the note for a caller who sees nothing, as a field; no field for others."""
    notes = nothing_visible(reader)
    return {"notes": notes_as_data(notes)} if notes else {}


def scenario_json(scenario: Scenario, reader: Reader) -> Json:
    """Return one scenario, closed in domains that may be seen."""
    return {
        "id": scenario.id,
        "alias": scenario.alias,
        "name": scenario.name,
        "kind": scenario.kind,
        "status": scenario.status,
        **closed_json(scenario, reader),
    }


def closed_json(scenario: Scenario, reader: Reader) -> Json:
    """Return the last closed days of a scenario by domain that may be seen, as a field; none if no day is closed."""
    closed = {
        domain or "*": day.isoformat()
        for domain, day in scenario.last_closed.items()
        if not domain or domain in reader.domains
    }
    return {"closed_through": closed} if closed else {}


def freezes_json(scenario: Scenario, reader: Reader) -> Iterator[Json]:
    """Yield the freezes of a scenario, the newest first."""
    for frozen in reversed([*reader.scenarios.values()]):
        if frozen.base == scenario.id and frozen.since is not None:
            at = frozen.since.isoformat(timespec="seconds")
            yield {"id": frozen.id, "alias": frozen.alias, "frozen_at": at, **closed_json(frozen, reader)}


def comparisons(reader: Reader) -> Iterator[Json]:
    """Yield the variances that the deployment offers and the shifted views they use, each with a heading."""
    offered: dict[str, str] = {}
    for a, b in reader.catalogue.comparisons:
        if not (resolve(a, reader.scenarios) and resolve(b, reader.scenarios)):
            continue
        for key in (a, b, f"var({a},{b})", f"var_pct({a},{b})"):
            reference = resolve(key, reader.scenarios)
            if reference is not None and reference.key not in reader.scenarios:
                offered.setdefault(reference.key, reference.heading)
    for key, heading in offered.items():
        kind = "variance" if isinstance(resolve(key, reader.scenarios), Variance) else "shifted view"
        yield {"scenario": key, "alias": heading, "kind": kind}


def dimensions_answer(reader: Reader, budget: int, stop: Stop) -> Json:
    """Return the dimensions, without members."""
    dimensions = [dimension_json(dimension) for dimension in reader.dimensions.values()]
    axes = axes_of(dimension=dimensions)

    def build(left: LeftOut) -> Json:
        return {**list_fields("dimension", dimensions, "key", left), **nothing_visible_json(reader)}

    return cut_list(build, axes, OTHER_DIMENSIONS, budget, stop)


def dimension_json(dimension: Dimension) -> Json:
    """Return one dimension."""
    return {
        "key": dimension.key,
        "label": dimension.label,
        "kind": dimension.kind.value,
        **({"leaf_dimension": dimension.leaf} if dimension.nodes else {}),
        **({"grain": dimension.grain.value} if dimension.grain else {}),
        **({"axis_only": True} if dimension.axis_only else {}),
    }


def variants_answer(scenario_id: str, reader: Reader, budget: int, stop: Stop) -> Json:
    """Return the what-if variants of a scenario; one that is not there has none, and a note."""
    scenario = reader.scenarios.get(scenario_id)
    if scenario is None:
        view = resolve_reference(scenario_id, "scenario_id", reader)
        bases = tuple(dict.fromkeys(term.scenario.id for side in view.sides for term in side.terms)) if view else ()
        notes = unknown_scenarios([scenario_id], reader)
        if bases:
            notes = [Note.of("no_base_scenario", scenario=scenario_id[:100], bases=bases, did_you_mean=bases)]
        return {"scenario_id": echo(scenario_id), "variants": [], "notes": notes_as_data(notes)}
    variants = [{"scenario": f"{scenario.id}/{variant.key}", "alias": variant.label} for variant in scenario.variants]

    def build(left: LeftOut) -> Json:
        return {"scenario_id": scenario.id, **list_fields("variant", variants, "scenario", left), "notes": []}

    return cut_list(build, axes_of(variant=variants), OTHER_VARIANTS, budget, stop)


def members_answer(results: Sequence[SearchResult], budget: int, stop: Stop) -> Json:
    """Return the members and nodes that a search found, and the metrics and statements, if any; of each name in turn.

    `next_offset` is that of the next page: the shortest section that has more. That page repeats hits of a section that
    is shown further. Several names have no next page.
    """
    sections: dict[str, list[Json]] = {"records": [], "hierarchy_nodes": [], "metrics": [], "statements": []}
    sections["terms"] = []
    listed: set[tuple[str, str]] = set()
    for found in results:
        name = {} if found.query is None else {"query": found.query}
        sections["records"] += (hit_json(hit, listed) | name for hit in found.records)
        sections["hierarchy_nodes"] += (hit_json(hit, listed) | name for hit in found.hierarchy_nodes)
        for metric in found.metrics:
            sections["metrics"].append({"key": metric.key, "label": metric.label, "domain": metric.domain} | name)
        for statement in found.statements:
            sections["statements"].append({"key": statement.key, "label": statement.label} | name)
        sections["terms"] += (reading_json(reading) | name for reading in found.readings)
    sections = {name: part for name, part in sections.items() if part or name in ("records", "hierarchy_nodes")}
    more = {f"more_{name}": any(name in found.more for found in results) for name in sections}
    notes = notes_as_data(note for found in results for note in found.notes)
    result = {**sections, **more, "next_offset": MOST_HITS, "notes": notes}
    shown = cut_lists(result, tuple(sections), OTHER_MEMBERS, budget, stop)
    ends = [len(shown[name]) for name in sections if shown[f"more_{name}"]]
    del shown["next_offset"]
    return {**shown, **({"next_offset": results[0].offset + min(ends)} if ends and len(results) == 1 else {})}


def reading_json(reading: SeenReading) -> Json:
    """Return one reading of a term: the metric, the statement, or the dimension and id of the member that it means."""
    if reading.dimension is None:
        return {"term": reading.term, reading.kind: reading.key, **({"means": reading.means} if reading.means else {})}
    named = {"term": reading.term, "dimension": reading.dimension, "id": reading.key}
    return named | ({"means": reading.means} if reading.means else {})


def hit_json(hit: Hit, listed: set[tuple[str, str]]) -> Json:
    """Return one member or node: its dimension is the key of a filter that selects it, its id the value.

    A node below one that is `listed` before it has the id of its parent; any other, its path. It is listed then.
    """
    above: Json = {"path": list(hit.path)} if hit.path else {}
    if hit.parent is not None and (hit.dimension, hit.parent) in listed:
        above = {"parent": hit.parent}
    listed.add((hit.dimension, hit.id))
    return {
        "dimension": hit.dimension,
        "id": hit.id,
        "name": hit.name,
        **({"code": hit.code} if hit.code is not None else {}),
        **above,
        **({"why": hit.why} if hit.why == CLOSE_SPELLING else {}),
    }
