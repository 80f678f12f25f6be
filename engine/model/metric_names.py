"""Names of metrics: keys are unique within a domain, and domain.key tells apart those that several domains share."""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from engine.model.catalogue import (
    Base,
    Catalogue,
    Drivers,
    FormulaLine,
    Line,
    Metric,
    MetricLine,
    RollupLine,
    Statement,
)
from engine.model.formulas import renamed


def keys_named(name: str, homes: Mapping[str, str]) -> list[str]:
    """Return the keys of the metrics that a name can mean: a key, domain.key, or all keys that share a bare one.

    `homes` holds the domain of each key.
    """
    if name in homes:
        return [name]
    domain, dot, bare = name.rpartition(".")
    if dot:
        return [bare] if homes.get(bare) == domain else []
    return [key for key in homes if key.rpartition(".")[2] == name]


def metrics_named(name: str, metrics: Mapping[str, Metric]) -> list[Metric]:
    """Return the metrics that a name can mean."""
    if name in metrics:
        return [metrics[name]]
    return [metrics[key] for key in keys_named(name, {key: metric.domain for key, metric in metrics.items()})]


def as_seen(catalogue: Catalogue, domains: Collection[str]) -> Catalogue:
    """Return a catalogue as callers know it who see some domains: a key that only one of them has is the bare key.

    Hidden domains therefore show in no name.
    """
    if not catalogue.shared_keys:
        return catalogue
    visible: dict[str, list[str]] = {bare: [] for bare in catalogue.shared_keys}
    for key, metric in catalogue.metrics.items():
        if metric.bare in visible and catalogue.domains_of(metric) <= set(domains):
            visible[metric.bare].append(key)
    names = {keys[0]: bare for bare, keys in visible.items() if len(keys) == 1}
    metrics = [metric_renamed(metric, names) for metric in catalogue.metrics.values()]
    return replace(
        catalogue,
        metrics={metric.key: metric for metric in metrics},
        statements={key: statement_renamed(known, names) for key, known in catalogue.statements.items()},
        names=frozenset(names.items()),
    )


def metric_renamed(metric: Metric, names: Mapping[str, str]) -> Metric:
    """Return a metric with other keys for itself and for the metrics that it uses."""
    body = metric.body if isinstance(metric.body, Base) else renamed(metric.body, names)
    drivers = metric.drivers and Drivers(
        volume=names.get(metric.drivers.volume, metric.drivers.volume),
        price=names.get(metric.drivers.price, metric.drivers.price),
    )
    return replace(metric, key=names.get(metric.key, metric.key), body=body, drivers=drivers)


def statement_renamed(statement: Statement, names: Mapping[str, str]) -> Statement:
    """Return a statement with other keys for the metrics of its lines."""
    return replace(statement, lines=tuple(line_renamed(line, names) for line in statement.lines))


def line_renamed(line: Line, names: Mapping[str, str]) -> Line:
    """Return a line with other keys for its metrics."""
    match line:
        case MetricLine(metric=metric):
            return replace(line, metric=names.get(metric, metric))
        case FormulaLine(formula=formula):
            return replace(line, formula=renamed(formula, names))
        case RollupLine(reverses=str() as reverses):
            return replace(line, reverses=names.get(reverses, reverses))
    return line
