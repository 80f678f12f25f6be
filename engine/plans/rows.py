"""Rows: the lines of a statement or the metrics of a call, each with its expression."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader, label_of
from engine.model.catalogue import (
    Base,
    DayKey,
    Favourable,
    Format,
    FormulaLine,
    HeaderLine,
    Line,
    Metric,
    MetricLine,
    RollupLine,
    Statement,
    Style,
)
from engine.model.errors import Unavailable
from engine.model.evaluation import ColumnFormula
from engine.model.exact import ONE, Exact
from engine.model.formulas import FigureKind, FigureType, Formula, is_linear, linear_terms, renamed, replaced
from engine.model.members.trees import RaggedNodes
from engine.model.scope import OWN
from engine.queries.values import AdHocFormula

KEPT_FORMULA = 64  # the size of the memo of a request's formula, in members: each member of a memo is some bytes


class MeasureExpression(Struct, frozen=True, eq=False):
    """A figure read from the facts."""

    base: Base
    type: FigureType
    name: str  # its name in notes
    reference: str  # its name in the `metric` filter of an inspection

    @property
    def bases(self) -> tuple[Base, ...]:
        """The base itself."""
        return (self.base,)

    @property
    def operands(self) -> tuple["MeasureExpression", ...]:
        """Itself."""
        return (self,)

    @property
    def adds_up(self) -> bool:
        """Whether it does nothing but add figures up."""
        return True


class FormulaExpression(Struct, frozen=True, eq=False, dict=True):
    """A figure computed from other figures."""

    formula: Formula
    parts: Mapping[str, "Expression"]
    type: FigureType
    name: str
    reference: str  # "" for a formula of a request, which no inspection knows

    @cached_property
    def in_columns(self) -> ColumnFormula:
        """The formula as it is computed, with the types of its operands."""
        types = {name: operand.type for name, operand in self.inputs.items()}
        return ColumnFormula(replaced(self.formula, self._written_out), types)

    @cached_property
    def inputs(self) -> Mapping[str, "Expression"]:
        """What it is computed of: its parts, and of those that add a constant their operands.

        A formula that is used by name is computed as written out. Only the constant of a missing sum tells them apart.
        """
        inputs: dict[str, Expression] = {}
        for name, part in self.parts.items():
            if name in self._written_out and isinstance(part, FormulaExpression):
                inputs |= {f"{name}({inner})": operand for inner, operand in part.inputs.items()}
            else:
                inputs[name] = part
        return inputs

    @cached_property
    def _written_out(self) -> Mapping[str, Formula]:
        """The formulas of the parts that add a constant, by name; their operands have the part's name before theirs."""
        formulas = {}
        for name, part in self.parts.items():
            if isinstance(part, FormulaExpression) and not part.type.additive:
                formula = part.in_columns.formula
                if is_linear(formula):
                    formulas[name] = renamed(formula, {inner: f"{name}({inner})" for inner in formula.names})
        return formulas

    @cached_property
    def types(self) -> Mapping[str, FigureType]:
        """The types of the parts."""
        return {name: part.type for name, part in self.parts.items()}

    @cached_property
    def bases(self) -> tuple[Base, ...]:
        """The distinct bases below the formula."""
        return tuple(dict.fromkeys(base for part in self.parts.values() for base in part.bases))

    @cached_property
    def operands(self) -> tuple[MeasureExpression, ...]:
        """The figures below the formula that are read from the facts, one for each base."""
        each = (operand for part in self.parts.values() for operand in part.operands)
        return tuple({operand.base: operand for operand in each}.values())

    @cached_property
    def day_bases(self) -> Mapping[DayKey, Base]:
        """A base below the formula for each of the days that decide on its figures."""
        return {base.day_key: base for base in self.bases}

    @cached_property
    def adds_up(self) -> bool:
        """Whether it does nothing but add figures up, nor does any formula that it is made of."""
        return linear_terms(self.formula) is not None and all(part.adds_up for part in self.parts.values())


Expression = MeasureExpression | FormulaExpression


def metric_expression(metric: Metric, reader: Reader) -> Expression:
    """Return the expression of a metric, memoised by the books."""
    key = ("expression", metric.key, reader.catalogue.names)
    return reader.memo(key, lambda: new_metric_expression(metric, reader))


def new_metric_expression(metric: Metric, reader: Reader) -> Expression:
    """Return a new expression of a metric."""
    if isinstance(metric.body, Base):
        return MeasureExpression(metric.body, metric.type, metric.key, metric.key)
    parts = {name: metric_expression(reader.catalogue.metrics[name], reader) for name in metric.body.names}
    return FormulaExpression(metric.body, parts, metric.type, metric.key, metric.key)


def node_expression(line: RollupLine, node: str, name: str, statement: str) -> MeasureExpression:
    """Return the expression of a node of a rollup line."""
    return MeasureExpression(line.base_of(node), line.base.type, name, f"{statement}.{name}")


def line_expression(line: Line, statement: Statement, reader: Reader) -> Expression | None:
    """Return the expression of a line, or None for a header."""
    lines = {other.key: other for other in statement.lines}
    match line:
        case MetricLine(metric=metric):
            return metric_expression(reader.catalogue.metrics[metric], reader)
        case RollupLine():
            return node_expression(line, line.node, line.key, statement.key)
        case FormulaLine(formula=formula, type=figure, key=key):
            parts = {}
            for name in formula.names:
                part = line_expression(lines[name], statement, reader) if name in lines else None
                parts[name] = part or metric_expression(reader.catalogue.metrics[name], reader)
            return FormulaExpression(formula, parts, figure, key, f"{statement.key}.{key}")
    return None


class Row(Struct, frozen=True, eq=False, kw_only=True):
    """One line or metric with its style and its expression; a header has no expression.

    Rows compare by identity. The books keep those of a statement for each permission.
    """

    key: str
    label: str
    level: int = 0
    kind: str
    style: Style = Style.PLAIN
    favourable: Favourable = Favourable.NONE
    format: Format = Format.NUMBER
    expression: Expression | None = None
    into_parent: Exact | None = None
    reverses: str | None = None  # the metric that a statement shows with the other sign

    @property
    def type(self) -> FigureType | None:
        """The type of its figures."""
        return self.expression.type if self.expression else None


def statement_rows(statement: Statement, reader: Reader) -> tuple[Row, ...]:
    """Return the rows of a statement with rollups expanded, memoised by the books."""
    return reader.memo_as_seen(("rows", statement.key), lambda: new_statement_rows(statement, reader), len)


def new_statement_rows(statement: Statement, reader: Reader) -> tuple[Row, ...]:
    """Return new rows of a statement. Headers are numbered among the visible lines."""
    return tuple(
        replace(row, key=f"header_{place}") if isinstance(line, HeaderLine) else row
        for place, line in enumerate(statement.lines, 1)
        for row in line_rows(line, statement, reader)
    )


def line_rows(line: Line, statement: Statement, reader: Reader) -> Iterator[Row]:
    """Yield the rows of one line."""
    match line:
        case HeaderLine(key=key, label=label):
            yield Row(key=key, label=label, kind="header")
        case MetricLine(key=key, metric=name, label=label, style=style):
            yield metric_row(reader.catalogue.metrics[name], reader, key=key, label=label, style=style)
        case RollupLine():
            yield from rollup_rows(line, statement.key, reader)
        case FormulaLine(key=key, label=label, style=style):
            yield Row(
                key=key,
                label=label,
                kind="formula",
                style=style,
                favourable=line.favourable,
                format=line.format,
                expression=line_expression(line, statement, reader),
                reverses=reversed_by(line.formula),
            )


def reversed_by(formula: Formula) -> str | None:
    """Return the only name of a formula if the formula shows it with the other sign, None otherwise."""
    match linear_terms(formula):
        case [(name, factor)] if factor.numerator < 0:
            return name
    return None


def metric_row(metric: Metric, reader: Reader, *, key: str, label: str, style: Style = Style.PLAIN) -> Row:
    """Return the row of a metric, memoised by the books."""

    def make() -> Row:
        return Row(
            key=key,
            label=label,
            kind="metric",
            style=style,
            favourable=metric.favourable,
            format=metric.format,
            expression=metric_expression(metric, reader),
        )

    return reader.memo_as_seen(("metric row", metric.key, key, label, style), make)


def formula_row(asked: AdHocFormula, reader: Reader) -> Row:
    """Return the row of a formula that a request brings, memoised by the books.

    An inspection knows its operands only.
    """

    def make() -> Row:
        parts = {name: metric_expression(reader.catalogue.metrics[name], reader) for name in asked.formula.names}
        is_money = asked.type.kind in (FigureKind.MONEY, FigureKind.PRICE)
        return Row(
            key=asked.alias,
            label=asked.alias,
            kind="formula",
            format=Format.CURRENCY if is_money else Format.NUMBER,
            expression=FormulaExpression(asked.formula, parts, asked.type, asked.alias, reference=""),
        )

    return reader.memo_as_seen(("formula row", asked), make, KEPT_FORMULA)


def rollup_rows(line: RollupLine, statement: str, reader: Reader) -> Iterator[Row]:
    """Yield the row of a node, then the rows below it, parents before children. Children add up to their parent.

    A hidden node has no row, and neither do the nodes below it.
    """
    tree = reader.members(line.dimension)
    if not isinstance(tree, RaggedNodes):
        raise Unavailable(f"{line.dimension}, which {line.key} expands, is no tree.")
    visible = reader.visible(line.dimension)

    pending: list[tuple[str, int, Favourable, Exact | None]] = []
    if line.node in visible:
        pending.append((line.node, 0, line.favourable, None))
    while pending:
        node, level, good, edge = pending.pop()
        key = line.key if level == 0 else f"{line.dimension}.{node}"
        expression = node_expression(line, node, key, statement)
        yield Row(
            key=key,
            label=(line.label if level == 0 else None) or label_of(line.dimension, node, reader),
            level=level,
            kind="own" if node.endswith(OWN) else "node" if edge is None or edge else "memo",
            style=line.style if level == 0 else Style.PLAIN,
            favourable=good,
            format=Format.CURRENCY if expression.type.kind is FigureKind.MONEY else Format.NUMBER,
            expression=expression,
            into_parent=edge,
            reverses=line.reverses,
        )
        if level < line.depth:
            for child in reversed(tree.children(node, visible.__contains__)):
                weight = ONE if child.endswith(OWN) else dict(tree.edges[node])[child]
                pending.append((child, level + 1, child_favourable(good, weight), weight))


def child_favourable(good: Favourable, weight: Exact) -> Favourable:
    """Return the favourable direction of a child: a negative weight reverses that of its parent, 0 removes it."""
    if not weight:
        return Favourable.NONE
    return good.turned() if weight.numerator < 0 else good
