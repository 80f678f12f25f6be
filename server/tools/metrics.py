"""Metrics: what can be reported, and how each adds up."""

from collections.abc import Sequence

from engine.catalogue import Base, Dimension, Domain, Metric
from engine.plans.freshness import loaded_through
from engine.reader import Reader
from engine.requests import NothingAsked
from server.caller import Caller
from server.wire.answer import Answer, Json
from server.wire.fitting import Left, fitted, split

OTHER_METRICS = (
    "A metric works by its key alone; run_metric says its label, unit and freshness. Ask run_metric for a key like the "
    "one you look for: it names the closest that exist. list_dimensions lists the dimensions."
)
AXES = ("descriptions", "metric_details", "loaded_through", "metrics", "dimension_keys")  # in the order they go


def list_kpis(caller: Caller, _: NothingAsked) -> Answer:
    """List the metrics of every domain with the dimensions that cut them."""
    reader = caller.reader
    domains = [domain_json(domain, reader) for domain in reader.domains.values()]
    sizes = [sizes_of(domain) for domain in domains]
    axes = {axis: sum(size[axis] for size in sizes) for axis in AXES} | {"domains": len(domains)}

    def build(left: Left) -> Json:
        shares = {axis: split(left[axis], [size[axis] for size in sizes]) for axis in AXES}
        shown = range(len(domains) - left["domains"])
        return {"domains": [cut_down(domains[at], {axis: shares[axis][at] for axis in AXES}) for at in shown]}

    return Answer(fitted(build, axes, caller.answer_tokens, OTHER_METRICS))


def sizes_of(domain: Json) -> dict[str, int]:
    """Return how much of each axis a domain has."""
    metrics = domain["metrics"]
    described = sum(bool(metric["description"]) for metric in metrics)
    return dict(zip(AXES, (described, len(metrics), 1, len(metrics), len(domain["dimension_keys"])), strict=True))


def cut_down(domain: Json, left: Left) -> Json:
    """Return a domain with so much of each axis left out, from its end."""
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
    """Return metrics of which the last so many descriptions are left out."""
    described = [at for at, metric in enumerate(metrics) if metric["description"]]
    silent = set(described[len(described) - left :])
    return [
        {name: part for name, part in metric.items() if name != "description"} if at in silent else metric
        for at, metric in enumerate(metrics)
    ]


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
