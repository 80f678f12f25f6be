"""Names of metrics: keys are unique within a domain, and domain.key tells apart those that several domains share.

A metric or line exists for a caller who sees every domain, scenario, dimension and member that its formula names.
"""

from collections.abc import Callable, Collection, Mapping
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from engine.model.catalogue import (
    Base,
    Catalogue,
    Drivers,
    FormulaLine,
    HeaderLine,
    Line,
    Metric,
    MetricLine,
    RollupLine,
    Statement,
)
from engine.model.figure_parts import FigureParts, PartsFinder
from engine.model.functions import OwnOperand, renamed
from engine.model.scenarios import Scenario, resolve_own_side


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


class NamesSeen(Struct, frozen=True):
    """What a caller sees of what formulas name. `sees` tells it of a dimension and a member."""

    domains: Collection[str]
    scenarios: Mapping[str, Scenario]
    dimensions: Collection[str]
    sees: Callable[[str, str], bool]

    def metrics(self, catalogue: Catalogue) -> Mapping[str, Metric]:
        """Return the metrics that exist for the caller."""
        parts_of = PartsFinder(catalogue).parts_of
        return {key: metric for key, metric in catalogue.metrics.items() if self.shows(parts_of(metric))}

    def statements(self, catalogue: Catalogue) -> Mapping[str, Statement]:
        """Return the statements, with the lines that exist for the caller and without empty headers."""
        visible = {}
        parts_of = PartsFinder(catalogue).parts_of
        for key, statement in catalogue.statements.items():
            lines = [line for line in statement.lines if self.shows(parts_of(line, statement))]
            followed = tuple(
                line
                for line, after in zip_longest(lines, lines[1:])
                if not isinstance(line, HeaderLine) or (after is not None and not isinstance(after, HeaderLine))
            )
            if followed:
                covers = tuple(cut for cut in statement.covers if cut.dimension in self.dimensions)
                visible[key] = replace(statement, lines=followed, covers=covers)
        return visible

    def shows(self, parts: FigureParts) -> bool:
        """Tell whether a metric or line of some parts exists for the caller; a header, which has none, does."""
        return parts.domains <= set(self.domains) and all(map(self._shows_operand, parts.own_operands))

    def _shows_operand(self, operand: OwnOperand) -> bool:
        is_named = not operand.own or resolve_own_side(operand.own, self.scenarios) is not None
        return is_named and all(
            key in self.dimensions and self.sees(key, member) for key, ids in operand.cuts for member in ids
        )


def as_seen(catalogue: Catalogue, seen: NamesSeen) -> Catalogue:
    """Return a catalogue as callers know it who see some names.

    A key that only one visible metric has is the bare key. What is hidden therefore shows in no name.
    """
    if not catalogue.shared_keys:
        return catalogue
    visible: dict[str, list[str]] = {bare: [] for bare in catalogue.shared_keys}
    parts_of = PartsFinder(catalogue).parts_of
    for key, metric in catalogue.metrics.items():
        if metric.bare in visible and seen.shows(parts_of(metric)):
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
