"""Expressions: what a line or metric is computed from, down to measured bases."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from engine.catalogue import Base, FormulaLine, Line, Metric, MetricLine, RollupLine, Statement
from engine.formulas.figures import FigureType
from engine.formulas.formula import Formula
from engine.reader import Reader


@dataclass(frozen=True, eq=False)
class Measured:
    """A figure read from the facts."""

    base: Base
    type: FigureType
    name: str  # as notes speak of it
    reference: str  # as the `metric` filter of an inspection names it

    @property
    def bases(self) -> tuple[Base, ...]:
        """The base itself."""
        return (self.base,)


@dataclass(frozen=True, eq=False)
class Computed:
    """A figure made of others."""

    formula: Formula
    parts: Mapping[str, "Expression"]
    type: FigureType
    name: str
    reference: str

    @cached_property
    def types(self) -> Mapping[str, FigureType]:
        """The types of the parts."""
        return {name: part.type for name, part in self.parts.items()}

    @cached_property
    def bases(self) -> tuple[Base, ...]:
        """Every base the figure comes from, each once."""
        return tuple(dict.fromkeys(base for part in self.parts.values() for base in part.bases))


Expression = Measured | Computed


def of_metric(metric: Metric, reader: Reader) -> Expression:
    """Return the expression of a metric, made once for each version of the books."""
    return reader.worked_out(("expression", metric.key), lambda: make_expression(metric, reader))


def make_expression(metric: Metric, reader: Reader) -> Expression:
    """Return a new expression of a metric."""
    if isinstance(metric.body, Base):
        return Measured(metric.body, metric.type, metric.key, metric.key)
    parts = {name: of_metric(reader.catalogue.metrics[name], reader) for name in metric.body.names}
    return Computed(metric.body, parts, metric.type, metric.key, metric.key)


def of_node(line: RollupLine, node: str, name: str, statement: str) -> Measured:
    """Return the expression of a node of a rollup line."""
    return Measured(line.base_of(node), line.base.type, name, f"{statement}.{name}")


def of_line(line: Line, statement: Statement, reader: Reader) -> Expression | None:
    """Return the expression of a statement's line, None of a header."""
    lines = {other.key: other for other in statement.lines}
    match line:
        case MetricLine(metric=metric):
            return of_metric(reader.catalogue.metrics[metric], reader)
        case RollupLine():
            return of_node(line, line.node, line.key, statement.key)
        case FormulaLine(formula=formula, type=figure, key=key):
            parts = {}
            for name in formula.names:
                part = of_line(lines[name], statement, reader) if name in lines else None
                parts[name] = part or of_metric(reader.catalogue.metrics[name], reader)
            return Computed(formula, parts, figure, key, f"{statement.key}.{key}")
    return None
