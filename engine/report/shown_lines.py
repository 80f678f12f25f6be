"""The lines of a statement that a report shows: those that the request names, and of these those that are material.

A line is material if its figure in the total of one column reaches an amount, or a share of the comparative. A line
below a node is shown below it, and a ratio where one of its operands is. What is left out is counted by unit, below a
node that is shown together with its sum.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile

from msgspec import Struct

from engine.model.caching import cached_method
from engine.model.catalogue import Format
from engine.model.errors import BadArguments, UnknownName
from engine.model.exact import ZERO, Exact
from engine.model.formulas import Figure, FigureKind, FigureType, Nothing
from engine.model.scenarios import Side
from engine.plans.expressions import Expression, FormulaExpression
from engine.plans.figures import Figures, ReportPlan, StatementPlan
from engine.plans.rows import Row
from engine.plans.variances import Variances
from engine.queries.values import MaterialityTest
from engine.report.figure_table import FigureTable

TESTED = (FigureKind.MONEY, FigureKind.NUMBER)  # kinds of figures; ratios, prices and days are judged by their operands
WHOLE = Exact(1, 100)  # of a percent


def asked_lines(plan: ReportPlan) -> Sequence[bool]:
    """Tell of each row whether the request asks for it: it is named, or below a named one, or heads one of these.

    Raises UnknownName for what is no line, and BadArguments for a depth below 0.
    """
    rows = plan.figures.rows
    if not isinstance(plan, StatementPlan) or (not plan.lines and plan.depth is None):
        return [True] * len(rows)
    if plan.depth is not None and plan.depth < 0:
        raise BadArguments(f"depth {plan.depth} is below 0.", field="depth", got=plan.depth, example={"depth": 0})
    names = [name.removeprefix(f"{plan.key}.") for name in plan.lines]
    lines = [row.key for row in rows if row.kind != "header"]
    if unknown := [name for name in names if name not in set(lines)]:
        hint = "A header is shown with a line below it."
        raise UnknownName.of("line", unknown[0], lines, field="lines", hint=hint)
    is_asked, top = [], None  # the level of the line above that is named
    for row in rows:
        top = None if top is not None and row.level <= top else top
        if row.key in names or (not names and not row.level):
            top = row.level if top is None else top
        deepest = plan.depth if plan.depth is not None else 0 if names else row.level
        is_asked.append(row.kind != "header" and top is not None and (row.key in names or row.level - top <= deepest))
    return with_headers(rows, is_asked)


def with_headers(rows: Sequence[Row], is_shown: Sequence[bool]) -> list[bool]:
    """Tell of each row whether it is shown: a header is where a line below it is."""
    with_heads = list(is_shown)
    for at, row in enumerate(rows):
        if row.kind == "header":
            below = takewhile(lambda place: rows[place].kind != "header", range(at + 1, len(rows)))
            with_heads[at] = any(is_shown[place] for place in below)
    return with_heads


# What is material.


class LineGroup(Struct, frozen=True, kw_only=True):
    """Lines that are left out: those of one unit, or those below a node that is shown. One holds those below it."""

    rows: Sequence[int]
    below: int | None  # the row of the node
    first: int  # the row with the largest figure, the first row where none has one
    figure: Exact | None  # of that row, in the column that is tested
    total: Exact | None  # of lines below a node, where they add up to it


class MaterialLines(Struct, frozen=True, eq=False, dict=True):
    """Which lines of a collected statement are material."""

    figures: Figures
    table: FigureTable  # of the columns that are read
    test: MaterialityTest
    is_asked: Sequence[bool]  # of each row

    @property
    def rows(self) -> Sequence[Row]:
        """The rows of the statement."""
        return self.figures.plan.rows

    @cached_property
    def beyond(self) -> Sequence[int]:
        """The rows that are tested and reach the materiality, whether or not the request asks for them."""
        return [at for at, row in enumerate(self.rows) if is_tested(row.type, row.format) and self._is_beyond(at)]

    @cached_property
    def is_shown(self) -> Sequence[bool]:
        """Of each row, whether it is shown: it is beyond, above such a node, made of such a line, or heads one."""
        rows_shown = set(self.beyond)
        for at in self.beyond:
            rows_shown.update(self._nodes_above(at) if self.is_asked[at] else ())
        for at, row in enumerate(self.rows):
            if row.expression and not is_tested(row.type, row.format) and self._uses_beyond(row.expression):
                rows_shown.add(at)
        lines = [is_asked and at in rows_shown for at, is_asked in enumerate(self.is_asked)]
        return with_headers(self.rows, lines)

    def left_out(self, units: Sequence[str | None]) -> Iterator[LineGroup]:
        """Yield the lines that are left out: those of each unit, then those below each node that is shown.

        `units` has the unit of each row.
        """
        groups: dict[tuple[int, str | None], list[int]] = defaultdict(list)
        for at, row in enumerate(self.rows):
            if row.kind == "header" or not self.is_asked[at] or self.is_shown[at]:
                continue
            above = next(self._nodes_above(at), -1)
            if above < 0 or not self.is_asked[above]:
                groups[-1, units[at]].append(at)
            elif self.is_shown[above]:
                groups[above, units[at]].append(at)
        for (above, _), rows in sorted(groups.items(), key=lambda group: group[0][0]):
            changes = {at: change for at in rows if (change := self._change_of_row(at)) is not None}
            first = max(changes, key=lambda at: (abs(changes[at]), -at), default=rows[0])
            kind = self.rows[above].type if above >= 0 else None
            yield LineGroup(
                rows=rows,
                below=above if above >= 0 else None,
                first=first,
                figure=changes.get(first),
                total=self._sum(changes) if changes and kind and kind.additive else None,
            )

    def _sum(self, changes: Mapping[int, Exact]) -> Exact:
        """Return what some rows count for in the row above them."""
        weights = {at: self.rows[at].into_parent for at in changes}
        weighed = [change if (weight := weights[at]) is None else change * weight for at, change in changes.items()]
        return sum(weighed, start=ZERO)

    def _nodes_above(self, at: int) -> Iterator[int]:
        """Yield the rows that a row stands below, the nearest first."""
        level = self.rows[at].level
        for above in range(at - 1, -1, -1) if level else ():
            if self.rows[above].level < level:
                level = self.rows[above].level
                yield above
            if not level:
                return

    def _is_beyond(self, at: int) -> bool:
        return self._reaches(self._change_of_row(at), self._base_of(self.rows[at].expression))

    def _change_of_row(self, at: int) -> Exact | None:
        """Return what is tested of a row, None for a ratio or a blank."""
        row = self.rows[at]
        if row.expression is None or not is_tested(row.type, row.format):
            return None
        figure = self.table.by_row.figure(at, self.read, self.table.by_row.places - 1)
        return self._change(figure, row.expression)

    def _change(self, figure: Figure, expression: Expression) -> Exact | None:
        """Return a figure of the column that is tested; where the comparative is missing, that of the other side."""
        if isinstance(figure, Exact) or not self._compares:
            return figure if isinstance(figure, Exact) else None
        first = self.figures.of(expression, self.figures.plan.columns[self.read][0])[-1]
        return first if isinstance(first, Exact) and self._base_of(expression) is Nothing.MISSING else None

    @property
    def read(self) -> int:
        """The position of the column that is tested among those that are read."""
        return self.figures.plan.query.read_by(self.test.column)

    @property
    def _compares(self) -> bool:
        return not isinstance(self.figures.plan.query.columns[self.read].reference, Side)

    @cached_method
    def _base_of(self, expression: Expression | None) -> Figure:
        """Return the comparative of an expression in the total."""
        if expression is None or not self._compares:
            return Nothing.MISSING
        return self.figures.of(expression, self.figures.plan.columns[self.read][1])[-1]

    def _reaches(self, change: Exact | None, base: Figure) -> bool:
        """Tell whether a change reaches the materiality; one from nothing reaches any percent."""
        if change is None:
            return False
        passes: list[bool] = []
        if self.test.amount is not None:
            passes.append(not abs(change) < self.test.amount)
        if self.test.percent is not None:
            least = self.test.percent * WHOLE * abs(base) if isinstance(base, Exact) and base else None
            passes.append(bool(change) if least is None else not abs(change) < least)
        return all(passes) if self.test.needs_both else any(passes)

    @cached_property
    def _by_reference(self) -> Mapping[str, int]:
        """The rows by the figure that they show."""
        return {row.expression.reference: at for at, row in enumerate(self.rows) if row.expression}

    def _uses_beyond(self, expression: Expression) -> bool:
        """Tell whether an operand of a ratio or a price is beyond."""
        operands: Iterable[Expression] = expression.parts.values() if isinstance(expression, FormulaExpression) else ()
        return any(self._is_operand_beyond(operand) for operand in operands)

    def _is_operand_beyond(self, operand: Expression) -> bool:
        if not operand.bases:
            return False  # it is a length
        at = self._by_reference.get(operand.reference) if operand.reference else None
        shown_as = Format.NUMBER if at is None else self.rows[at].format
        if not is_tested(operand.type, shown_as):
            return self._uses_beyond(operand)
        if at is not None:
            return at in self.beyond
        reference = self.figures.plan.query.columns[self.read].reference
        reads = self.figures.plan.columns[self.read]
        if isinstance(reference, Side):
            figure = self.figures.of(operand, reads[0])[-1]
        else:
            figure = Variances(self.figures).of(reference, operand, *reads)[-1]
        return self._reaches(self._change(figure, operand), self._base_of(operand))


def is_tested(kind: FigureType | None, shown_as: Format) -> bool:
    """Tell whether figures of a type are tested: amounts and counts are, ratios, prices and days are not."""
    return kind is not None and kind.kind in TESTED and shown_as is not Format.PERCENT
