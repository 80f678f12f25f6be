"""Rows: the lines of a statement or the metrics of a call, with what each is computed from."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from engine.catalogue import (
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
from engine.cuts import OWN
from engine.errors import Unavailable
from engine.exact import ONE, Exact
from engine.formulas.figures import FigureType, Kind
from engine.labels import label_of
from engine.members.tree import RaggedNodes
from engine.plans.expressions import Expression, of_line, of_metric, of_node
from engine.reader import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line or metric: its place and looks, and its expression; a header has none."""

    key: str
    label: str
    level: int = 0
    kind: str
    style: Style = Style.PLAIN
    favourable: Favourable = Favourable.NONE
    format: Format = Format.NUMBER
    expression: Expression | None = None
    into_parent: Exact | None = None

    @property
    def type(self) -> FigureType | None:
        """What its figures are."""
        return self.expression.type if self.expression else None


def statement_rows(statement: Statement, reader: Reader) -> tuple[Row, ...]:
    """Return the rows of a statement, rollups expanded; headers by their place among the lines that may be seen."""
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
                expression=of_line(line, statement, reader),
            )


def metric_row(metric: Metric, reader: Reader, *, key: str, label: str, style: Style = Style.PLAIN) -> Row:
    """Return the row of a metric."""
    return Row(
        key=key,
        label=label,
        kind="metric",
        style=style,
        favourable=metric.favourable,
        format=metric.format,
        expression=of_metric(metric, reader),
    )


def rollup_rows(line: RollupLine, statement: str, reader: Reader) -> Iterator[Row]:
    """Yield a node and the levels below it, each before its children; their weights make them foot to it.

    A node that may not be seen has no row, and none below it.
    """
    tree = reader.members(line.dimension)
    if not isinstance(tree, RaggedNodes):
        raise Unavailable(f"{line.dimension}, which {line.key} expands, is no tree.")
    visible = reader.visible(line.dimension)

    def node_rows(node: str, level: int, good: Favourable, edge: Exact | None) -> Iterator[Row]:
        key = line.key if level == 0 else f"{line.dimension}.{node}"
        expression = of_node(line, node, key, statement)
        yield Row(
            key=key,
            label=(line.label if level == 0 else None) or label_of(line.dimension, node, reader),
            level=level,
            kind="own" if node.endswith(OWN) else "node" if edge is None or edge else "memo",
            style=line.style if level == 0 else Style.PLAIN,
            favourable=good,
            format=Format.CURRENCY if expression.type.kind is Kind.MONEY else Format.NUMBER,
            expression=expression,
            into_parent=edge,
        )
        if level < line.depth:
            for child in tree.children(node, visible.__contains__):
                weight = ONE if child.endswith(OWN) else dict(tree.nodes[node].children)[child]
                yield from node_rows(child, level + 1, turned_by(good, weight), weight)

    if line.node in visible:
        yield from node_rows(line.node, 0, line.favourable, None)


def turned_by(good: Favourable, weight: Exact) -> Favourable:
    """Return the good direction of a child that counts with a weight into a node with one."""
    if not weight:
        return Favourable.NONE
    return good.turned() if weight.numerator < 0 else good
