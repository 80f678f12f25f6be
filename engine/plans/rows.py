"""Rows: the lines of a statement or the metrics of a call, each with its expression."""

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader, label_of
from engine.model.catalogue import (
    Base,
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
from engine.model.exact import ONE, Exact
from engine.model.formulas import MONEY_KINDS, FigureKind, FigureType, Formula, linear_terms
from engine.model.functions import LENGTH_TYPES, OwnOperand, metrics_of, operands_in
from engine.model.members.trees import RaggedNodes
from engine.model.scenarios import resolve_own_side
from engine.model.scope import OWN, OwnCut
from engine.plans.expressions import Expression, FormulaExpression, LengthExpression, MeasureExpression, OwnExpression
from engine.queries.values import AdHocFormula

KEPT_FORMULA = 64  # the size of the memo of a request's formula, in members: each member of a memo is some bytes


def metric_expression(metric: Metric, reader: Reader) -> Expression:
    """Return the expression of a metric, memoised by the books."""
    key = ("expression", metric.key, reader.catalogue.names)
    return reader.memo(key, lambda: new_metric_expression(metric, reader))


def new_metric_expression(metric: Metric, reader: Reader) -> Expression:
    """Return a new expression of a metric."""
    if isinstance(metric.body, Base):
        return MeasureExpression(metric.body, metric.type, metric.key, metric.key)
    parts = parts_of(metric.body, lambda name: operand_expression(name, reader), reader)
    return FormulaExpression(metric.body, parts, metric.type, metric.key, metric.key)


def parts_of(formula: Formula, expression_of: Callable[[str], Expression], reader: Reader) -> dict[str, Expression]:
    """Return the expressions of the operands of a formula by their names; `expression_of` gives those of figures.

    What a reader cannot see has no expression: such a formula does not exist for them.
    """
    parts: dict[str, Expression] = {}
    for operand in operands_in(formula):
        part = expression_of(operand.figure)
        if isinstance(operand, OwnOperand) and operand.cuts:
            dimensions = reader.catalogue.dimensions
            cuts = tuple(OwnCut(key, dimensions[key].leaf, ids) for key, ids in operand.cuts)
            part = with_members(part, cuts, operand.cut_name, reader)
        if isinstance(operand, OwnOperand) and operand.own:
            own = resolve_own_side(operand.own, reader.scenarios)
            if own is None:
                raise Unavailable(f"{operand.name} names a scenario that does not exist.")
            part = OwnExpression(part, own, operand.name)
        parts[operand.name] = part
    return parts


def with_members(part: Expression, cuts: tuple[OwnCut, ...], name: str, reader: Reader) -> Expression:
    """Return a figure of some members, whatever filters and rows say of them; those that it has of its own stay."""
    made: dict[Expression, Expression] = {}  # so that a figure of several formulas stays one

    def cut(known: Expression) -> Expression:
        if known not in made:
            made[known] = cut_anew(known)
        return made[known]

    def cut_anew(known: Expression) -> Expression:
        match known:
            case MeasureExpression(base=base):
                own, dimensions = {each.leaf for each in base.own}, reader.catalogue.domains[base.domain].dimensions
                more = tuple(each for each in cuts if each.leaf not in own and each.leaf in dimensions)
                key = ("own base", base, more)
                with_own = reader.memo_as_seen(key, lambda: replace(base, own=(*base.own, *more)))
                return replace(known, base=with_own, name=name)
            case FormulaExpression(parts=parts):
                return replace(known, parts={key: cut(inner) for key, inner in parts.items()})
            case OwnExpression(part=inner):
                return replace(known, part=cut(inner))
        return known

    return cut(part)


def operand_expression(name: str, reader: Reader) -> Expression:
    """Return the expression of a name in a formula: a length, a metric, or the line of a statement by it."""
    if name in LENGTH_TYPES:
        return LengthExpression(name)
    if name in reader.catalogue.metrics:
        return metric_expression(reader.catalogue.metrics[name], reader)
    line, statement = reader.catalogue.line_named(name)
    expression = line_expression(line, statement, reader)
    if expression is None:
        raise Unavailable(f"{name} is a heading and has no figures.")
    return expression


def node_expression(line: RollupLine, node: str, name: str, statement: str) -> MeasureExpression:
    """Return the expression of a node of a rollup line."""
    return MeasureExpression(line.base_of(node), line.base.type, name, f"{statement}.{name}")


def line_expression(line: Line, statement: Statement, reader: Reader) -> Expression | None:
    """Return the expression of a line, memoised by the books, or None for a header."""
    key = ("line expression", statement.key, line.key, reader.catalogue.names)
    return reader.memo(key, lambda: new_line_expression(line, statement, reader))


def new_line_expression(line: Line, statement: Statement, reader: Reader) -> Expression | None:
    """Return a new expression of a line, or None for a header."""
    match line:
        case MetricLine(metric=metric):
            return metric_expression(reader.catalogue.metrics[metric], reader)
        case RollupLine():
            return node_expression(line, line.node, line.key, statement.key)
        case FormulaLine(formula=formula, type=figure, key=key):
            lines = {other.key: other for other in statement.lines}

            def part_of(name: str) -> Expression:
                part = line_expression(lines[name], statement, reader) if name in lines else None
                return part or operand_expression(name, reader)

            parts = parts_of(formula, part_of, reader)
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
        case [(name, factor)] if factor.numerator < 0 and name in metrics_of(formula):
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
        parts = parts_of(asked.formula, lambda name: operand_expression(name, reader), reader)
        is_money = asked.type.kind in MONEY_KINDS
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
