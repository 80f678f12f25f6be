"""Scenarios, metrics, dimensions and members: what may be asked, and under which names."""

from collections.abc import Iterator

from engine.catalogue import Base, Dimension, Domain, Metric
from engine.notes import Note
from engine.plans.freshness import loaded_through
from engine.reader import Reader
from engine.requests import NothingAsked, SearchRequest, VariantsRequest
from engine.scenarios import GRAMMAR, Scenario, Variance, resolve
from engine.search.search import Hit, search
from server.caller import Caller
from server.wire.answer import Answer, Json, shortened


def list_scenarios(caller: Caller, _: NothingAsked) -> Answer:
    """List the scenarios and the ready-made comparisons of them."""
    reader = caller.reader
    return Answer(
        {
            "scenarios": [scenario_json(scenario) for scenario in reader.scenarios.values()],
            "comparisons": list(comparisons(reader)),
            "grammar": GRAMMAR,
        }
    )


def scenario_json(scenario: Scenario) -> Json:
    """Return one base scenario."""
    closed = {domain or "*": day.isoformat() for domain, day in scenario.closed_through.items()}
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
        for key in (a, b, f"var({a},{b})", f"var_pct({a},{b})"):
            reference = resolve(key, reader.scenarios)
            if reference is not None and reference.key not in reader.scenarios:
                offered.setdefault(reference.key, reference.heading)
    for key, heading in offered.items():
        kind = "variance" if isinstance(resolve(key, reader.scenarios), Variance) else "shifted view"
        yield {"scenario": key, "alias": heading, "kind": kind}


def list_kpis(caller: Caller, _: NothingAsked) -> Answer:
    """List the metrics of every domain with the dimensions that cut them."""
    reader = caller.reader
    return Answer({"domains": [domain_json(domain, reader) for domain in reader.domains.values()]})


def domain_json(domain: Domain, reader: Reader) -> Json:
    """Return a domain's metrics and dimension keys."""
    dimensions = cutting(domain, reader)
    return {
        "domain": domain.key,
        "label": domain.label,
        "grain": domain.grain.value,
        "loaded_through": loaded_through(reader, domain),
        "dimension_keys": [dimension.key for dimension in dimensions if not dimension.axis_only],
        "axis_only_dimensions": [dimension.key for dimension in dimensions if dimension.axis_only],
        "metrics": [metric_json(metric, reader) for metric in reader.metrics.values() if metric.domain == domain.key],
    }


def cutting(domain: Domain, reader: Reader) -> list[Dimension]:
    """Return the dimensions that cut a domain."""
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
        **(base_json(metric.body, reader) if isinstance(metric.body, Base) else {"formula": metric.written}),
        **shared_json(metric, reader),
    }


def base_json(base: Base, reader: Reader) -> Json:
    """Return what a metric without a formula counts, and how: its sign, over members, over time, which rows."""
    counted = {} if base.counted is None else {"counts": base.counted}
    where = {cut.dimension: [id_ for id_ in cut.ids if reader.sees(cut.dimension, id_)] for cut in base.where}
    return {
        **({"sign": "negate"} if base.negated else {}),
        "over_members": base.over_members.value,
        **counted,
        "over_time": base.over_time.written,
        **({"where": where} if where else {}),
    }


def shared_json(metric: Metric, reader: Reader) -> Json:
    """Return what cuts a metric of several domains, and how far all of them are loaded."""
    domains = [reader.domains[key] for key in sorted(reader.domains_of(metric))]
    if len(domains) == 1:
        return {}
    keys = [{dimension.key for dimension in cutting(domain, reader)} for domain in domains]
    shared = [dim.key for dim in cutting(domains[0], reader) if all(dim.key in known for known in keys)]
    through = {domain.key: loaded_through(reader, domain) for domain in domains}
    return {"domains": [domain.key for domain in domains], "dimension_keys": shared, "loaded_through": through}


def list_dimensions(caller: Caller, _: NothingAsked) -> Answer:
    """List the dimensions, without members."""
    return Answer(
        {
            "dimensions": [
                {
                    "key": dimension.key,
                    "label": dimension.label,
                    "kind": dimension.kind.value,
                    **({"leaf_dimension": dimension.leaf} if dimension.nodes else {}),
                    **({"grain": dimension.grain.value} if dimension.grain else {}),
                    **({"axis_only": True} if dimension.axis_only else {}),
                }
                for dimension in caller.reader.dimensions.values()
            ]
        }
    )


def list_variants(caller: Caller, asked: VariantsRequest) -> Answer:
    """List the what-if variants of a scenario; one that is not there has none, and a note."""
    scenario = caller.reader.scenarios.get(asked.scenario_id)
    if scenario is None:
        note = Note.of("unknown_scenario", scenario=asked.scenario_id[:100])
        return Answer({"scenario_id": asked.scenario_id, "variants": [], "notes": [note.as_data()]})
    variants = [{"scenario": f"{scenario.id}/{variant.key}", "alias": variant.label} for variant in scenario.variants]
    return Answer({"scenario_id": scenario.id, "variants": variants, "notes": []})


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
    return Answer(shortened(result, ("records", "hierarchy_nodes"), caller.answer_tokens))


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
