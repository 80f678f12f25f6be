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
from engine.model.formulas import Formula
from engine.model.functions import OwnOperand, metrics_of, own_operands_in, renamed
from engine.model.scenarios import Scenario, resolve_own_side

OwnOperands = frozenset[OwnOperand]


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


def own_operands_below(formula: Formula | Base, catalogue: Catalogue, lines: Mapping[str, Line]) -> OwnOperands:
    """Return the operands with a scenario or members of their own in a formula and those it names.

    `lines` are those that it may name by their keys: of a statement, or none.
    """
    if isinstance(formula, Base):
        return frozenset()
    operands = own_operands_in(formula)
    for name in metrics_of(formula):
        if name in lines:
            operands |= own_operands_of_line(lines[name], catalogue, lines)
        elif name in catalogue.metrics:
            operands |= own_operands_below(catalogue.metrics[name].body, catalogue, {})
        else:
            line, statement = catalogue.line_named(name)
            operands |= own_operands_of_line(line, catalogue, {known.key: known for known in statement.lines})
    return operands


def own_operands_of_line(line: Line, catalogue: Catalogue, lines: Mapping[str, Line]) -> OwnOperands:
    """Return the operands with a scenario or members of their own in a line and in what it names."""
    match line:
        case MetricLine(metric=metric):
            return own_operands_below(catalogue.metrics[metric].body, catalogue, {})
        case FormulaLine(formula=formula):
            return own_operands_below(formula, catalogue, lines)
    return frozenset()


class NamesSeen(Struct, frozen=True):
    """What a caller sees of what formulas name. `sees` tells it of a dimension and a member."""

    domains: Collection[str]
    scenarios: Mapping[str, Scenario]
    dimensions: Collection[str]
    sees: Callable[[str, str], bool]

    def metrics(self, catalogue: Catalogue) -> Mapping[str, Metric]:
        """Return the metrics that exist for the caller."""
        return {key: metric for key, metric in catalogue.metrics.items() if self.shows_metric(metric, catalogue)}

    def statements(self, catalogue: Catalogue) -> Mapping[str, Statement]:
        """Return the statements, with the lines that exist for the caller and without empty headers."""
        visible = {}
        for key, statement in catalogue.statements.items():
            lines = [line for line in statement.lines if self.shows_line(line, statement, catalogue)]
            followed = tuple(
                line
                for line, after in zip_longest(lines, lines[1:])
                if not isinstance(line, HeaderLine) or (after is not None and not isinstance(after, HeaderLine))
            )
            if followed:
                covers = tuple(cut for cut in statement.covers if cut.dimension in self.dimensions)
                visible[key] = replace(statement, lines=followed, covers=covers)
        return visible

    def shows_metric(self, metric: Metric, catalogue: Catalogue) -> bool:
        """Tell whether a metric exists for the caller."""
        operands = own_operands_below(metric.body, catalogue, {})
        return catalogue.domains_of(metric) <= set(self.domains) and all(map(self._shows_operand, operands))

    def shows_line(self, line: Line, statement: Statement, catalogue: Catalogue) -> bool:
        """Tell whether a line of a statement exists for the caller; a header does."""
        operands = own_operands_of_line(line, catalogue, {other.key: other for other in statement.lines})
        is_named = all(map(self._shows_operand, operands))
        return is_named and catalogue.domains_of_line(line, statement) <= set(self.domains)

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
    for key, metric in catalogue.metrics.items():
        if metric.bare in visible and seen.shows_metric(metric, catalogue):
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
