"""Scenarios, dimensions and members: what may be asked, and under which names."""

from collections.abc import Iterator

from engine.catalogue import Dimension
from engine.notes import Note
from engine.quoting import echo
from engine.reader import Reader
from engine.requests import NothingAsked, SearchRequest, VariantsRequest
from engine.scenarios import GRAMMAR, Scenario, Variance, resolve
from engine.search.search import Hit, search
from server.caller import Caller
from server.wire.answer import Answer, Json
from server.wire.fitting import Left, axes_of, fitted, listed, shortened

OTHER_SCENARIOS = (
    "A scenario works by its id alone, and any comparison is written with the grammar. A reporting call names the "
    "scenarios that it left out because they do not exist."
)
OTHER_DIMENSIONS = (
    "A dimension works by its key alone; search_hierarchy lists its members. list_kpis names those of each domain, "
    "get_inspection_schema those of each source."
)
OTHER_MEMBERS = "Search inside one dimension, with a query or with more of the name or code."
OTHER_VARIANTS = "A variant works by its key, scenario/variant, alone."


def list_scenarios(caller: Caller, _: NothingAsked) -> Answer:
    """List the scenarios and the ready-made comparisons of them."""
    scenarios = [scenario_json(scenario, caller.reader) for scenario in caller.reader.scenarios.values()]
    offered = list(comparisons(caller.reader))

    def build(left: Left) -> Json:
        return {
            **listed("scenario", scenarios, "id", left),
            "comparisons": offered[: len(offered) - left["comparisons"]],
            "grammar": GRAMMAR,
        }

    axes = {"comparisons": len(offered), **axes_of(scenario=scenarios)}
    return Answer(fitted(build, axes, caller.answer_tokens, OTHER_SCENARIOS))


def scenario_json(scenario: Scenario, reader: Reader) -> Json:
    """Return one base scenario, closed in domains that may be seen."""
    closed = {
        domain or "*": day.isoformat()
        for domain, day in scenario.closed_through.items()
        if not domain or domain in reader.domains
    }
    return {
        "id": scenario.id,
        "alias": scenario.alias,
        "name": scenario.name,
        "kind": scenario.kind,
        "status": scenario.status,
        **({"closed_through": closed} if closed else {}),
    }


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


def list_dimensions(caller: Caller, _: NothingAsked) -> Answer:
    """List the dimensions, without members."""
    dimensions = [dimension_json(dimension) for dimension in caller.reader.dimensions.values()]
    return Answer(
        fitted(
            lambda left: listed("dimension", dimensions, "key", left),
            axes_of(dimension=dimensions),
            caller.answer_tokens,
            OTHER_DIMENSIONS,
        )
    )


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


def list_variants(caller: Caller, asked: VariantsRequest) -> Answer:
    """List the what-if variants of a scenario; one that is not there has none, and a note."""
    scenario = caller.reader.scenarios.get(asked.scenario_id)
    if scenario is None:
        note = Note.of("unknown_scenario", scenario=asked.scenario_id[:100])
        return Answer({"scenario_id": echo(asked.scenario_id), "variants": [], "notes": [note.as_data()]})
    variants = [{"scenario": f"{scenario.id}/{variant.key}", "alias": variant.label} for variant in scenario.variants]

    def build(left: Left) -> Json:
        return {"scenario_id": scenario.id, **listed("variant", variants, "scenario", left), "notes": []}

    return Answer(fitted(build, axes_of(variant=variants), caller.answer_tokens, OTHER_VARIANTS))


def search_hierarchy(caller: Caller, asked: SearchRequest) -> Answer:
    """Find members and nodes."""
    found = search(asked, caller.reader)
    result = {
        "records": [hit_json(hit) for hit in found.records],
        "hierarchy_nodes": [hit_json(hit) for hit in found.hierarchy_nodes],
        "more_records": found.more_records,
        "more_hierarchy_nodes": found.more_nodes,
        "notes": [note.as_data() for note in found.notes],
    }
    return Answer(shortened(result, ("records", "hierarchy_nodes"), caller.answer_tokens, OTHER_MEMBERS))


def hit_json(hit: Hit) -> Json:
    """Return one member or node with the filter entry that selects it."""
    return {
        "dimension": hit.dimension,
        "id": hit.id,
        "name": hit.name,
        **({"code": hit.code} if hit.code is not None else {}),
        **({"path": list(hit.path)} if hit.path else {}),
        "why": hit.why,
        "filters": hit.filters,
    }
