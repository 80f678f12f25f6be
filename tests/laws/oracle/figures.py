"""The figure of one line in one column and place, as an exact fraction, row by row."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from tests.laws.oracle.books import GL, LEAF_OF, LEAVES, Base, Books, Cuts, Formula, Row
from tests.laws.oracle.calendar import DATE, MONTH, WEEK, Days, Period, Range, period_of, shifted
from tests.laws.oracle.expressions import divides, evaluate, is_additive, names
from tests.laws.oracle.members import Weights, joined, top_weights, weights


class Nothing(Enum):
    """Why there is no figure."""

    MISSING = "missing"
    UNAVAILABLE = "unavailable"


Figure = Fraction | Nothing
MISSING, UNAVAILABLE = Nothing.MISSING, Nothing.UNAVAILABLE


@dataclass(frozen=True, slots=True)
class Side:
    """A scenario, or its downside, with shifts from left to right."""

    scenario: str
    downside: bool = False
    shifts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The reference."""
        return "@".join((f"{self.scenario}/downside" if self.downside else self.scenario, *self.shifts))


@dataclass(frozen=True, slots=True)
class Variance:
    """The difference of two sides, or its share of the second."""

    a: Side
    b: Side
    relative: bool

    @property
    def text(self) -> str:
        """The reference."""
        return f"{'var_pct' if self.relative else 'var'}({self.a.text},{self.b.text})"


Reference = Side | Variance


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Where a figure stands: the range of the request, its filters and breakdown, and the place (none: the total)."""

    asked: Range
    filters: Cuts
    breakdown: tuple[str, ...]  # dimensions of members; periods are `time`
    place: Mapping[str, str] | None
    time: str | None = None
    column: Period | None = None  # of a breakdown by periods


@dataclass(frozen=True, slots=True)
class Line:
    """A metric or a formula, or a base seen through a node of a rollup."""

    metric: Base | Formula
    node: tuple[str, str] | None = None  # dimension and node
    negated: bool = False


def figure(books: Books, line: Line, reference: Reference, cell: Cell) -> Figure:
    """Return the figure of a line in a column and place."""
    if isinstance(reference, Side):
        return plain(books, line, reference, cell, (reference.scenario,))
    return variance(books, line, reference, cell)


def variance(books: Books, line: Line, asked: Variance, cell: Cell) -> Figure:
    """Return a - b, or that as a share of b; each side inside what may be seen of both."""
    scope = (asked.a.scenario, asked.b.scenario)
    a, b = (plain(books, line, side, cell, scope) for side in (asked.a, asked.b))
    if UNAVAILABLE in (a, b):
        return UNAVAILABLE
    additive = line_is_additive(books, line.metric)
    minuend, subtrahend = (
        Fraction(0)
        if figure is MISSING and additive and counts_as_zero(books, line.metric, side, cell, scope)
        else figure
        for side, figure in ((asked.a, a), (asked.b, b))
    )
    if a is b or isinstance(minuend, Nothing) or isinstance(subtrahend, Nothing):
        return MISSING
    if not asked.relative:
        return minuend - subtrahend
    return MISSING if b is MISSING or not subtrahend else (minuend - subtrahend) / abs(subtrahend)


def line_is_additive(books: Books, metric: Base | Formula) -> bool:
    """Tell whether the parts of a figure add up to the whole."""
    return isinstance(metric, Base) or is_additive(
        metric.expression, lambda key: line_is_additive(books, books.bases.get(key) or books.formulas[key])
    )


def divided(books: Books, metric: Base | Formula) -> bool:
    """Tell whether a figure is made by dividing."""
    if isinstance(metric, Base):
        return False
    parts = (books.bases.get(key) or books.formulas[key] for key in names(metric.expression))
    return divides(metric.expression) or any(divided(books, part) for part in parts)


def bases_of(books: Books, metric: Base | Formula) -> Iterator[Base]:
    """Yield the base metrics that a figure is made of."""
    if isinstance(metric, Base):
        yield metric
        return
    for key in names(metric.expression):
        yield from bases_of(books, books.bases.get(key) or books.formulas[key])


def counts_as_zero(books: Books, metric: Base | Formula, side: Side, cell: Cell, scope: tuple[str, ...]) -> bool:
    """Tell whether a missing side is known to be nothing: its scenario has rows there, and the window is closed."""
    window = window_of(books, side, cell)
    return window is not None and all(
        bool(anchored(books, base.key, side, window, scope)) and is_closed(books, base.domain, side, window, scope)
        for base in bases_of(books, metric)
    )


def is_closed(books: Books, domain: str, side: Side, window: Range, scope: tuple[str, ...]) -> bool:
    """Tell whether a window is neither open nor beyond what is loaded."""
    closed = books.scenarios[side.scenario].closed
    through = closed.get(domain) or closed.get("")
    if through:
        year, month = map(int, through.split("-"))
        if window.days.last > Period(MONTH, date(year, month, 1)).days.last:
            return False
    grain = window.grain if window.grain in (DATE, WEEK) else MONTH
    loaded = max(row.day for row in rows_of(books, domain, side.scenario, scope) if row.day)
    return period_of(window.days.last, grain, books.fiscal).first <= loaded


def window_of(books: Books, side: Side, cell: Cell) -> Range | None:
    """Return the range that a side reads; None where it does not exist."""
    found: Range | None = cell.asked
    if cell.column and cell.place is not None:
        found = Range(cell.column, cell.column)
    elif cell.time and "ytd" in side.shifts:  # the total of windows is the last column's
        last = period_of(cell.asked.days.last, cell.time, books.fiscal)
        found = Range(last, last)
    for shift in side.shifts:
        found = found and shifted(found, shift, books.fiscal)
    return found


def rows_of(books: Books, domain: str, scenario: str, scope: tuple[str, ...]) -> Iterator[Row]:
    """Yield the visible rows of a scenario and domain."""
    return (
        row for row in books.rows if row.domain == domain and row.scenario == scenario and books.visible(row, scope)
    )


@lru_cache(maxsize=4096)
def anchored(books: Books, key: str, side: Side, window: Range, scope: tuple[str, ...]) -> list[Row]:
    """Return the rows of a window that a metric may count: all of them, or those of a balance's anchor."""
    base = books.bases[key]
    found = [row for row in rows_of(books, base.domain, side.scenario, scope) if window.days.holds(row.day)]
    if base.over_time == "sum":
        return found
    group = books.group_of(base)
    grain = DATE if group.grain == "day" else MONTH
    held = [row.day for row in found if row.day and any(selects(books, where, row) for where in group.where)]
    if not held:
        return []
    anchor: Days = period_of(max(held), grain, books.fiscal).days
    return [row for row in found if anchor.holds(row.day)]


def selects(books: Books, where: Cuts, row: Row) -> bool:
    """Tell whether a row lies inside cuts."""
    return all(row.members[LEAF_OF[key]] in joined(books, key, ids) for key, ids in where.items())


def plain(books: Books, line: Line, side: Side, cell: Cell, scope: tuple[str, ...]) -> Figure:
    """Return a figure of one side."""
    operands = list(bases_of(books, line.metric))
    if any(not can_answer(base.domain, cell) for base in operands):
        return UNAVAILABLE
    if cell.place is not None and len({lacks(base.domain, cell) for base in operands}) > 1:
        return UNAVAILABLE
    if isinstance(line.metric, Base):
        found = counted(books, line, line.metric, side, cell, scope)
    else:
        found = computed(books, line.metric, side, cell, scope)
    if found is None:
        return MISSING
    return -found if line.negated else found


def can_answer(domain: str, cell: Cell) -> bool:
    """Tell whether a domain has what is filtered, and the grain that is asked for."""
    grains = {cell.asked.grain, cell.time}
    return all(LEAF_OF[key] in LEAVES[domain] for key in cell.filters) and (domain == GL or not grains & {DATE, WEEK})


def lacks(domain: str, cell: Cell) -> tuple[str, ...]:
    """Return the breakdown dimensions over which a domain repeats its aggregate."""
    return tuple(key for key in cell.breakdown if LEAF_OF[key] not in LEAVES[domain])


def computed(books: Books, metric: Formula, side: Side, cell: Cell, scope: tuple[str, ...]) -> Fraction | None:
    """Return the value of a formula."""

    def operand(key: str) -> Fraction | None:
        found = plain(books, Line(books.bases.get(key) or books.formulas[key]), side, cell, scope)
        return None if isinstance(found, Nothing) else found

    return evaluate(
        metric.expression, operand, lambda key: line_is_additive(books, books.bases.get(key) or books.formulas[key])
    )


def counted(books: Books, line: Line, base: Base, side: Side, cell: Cell, scope: tuple[str, ...]) -> Fraction | None:
    """Return the sum of the rows in a place times their weights, None where no row was seen."""
    window = window_of(books, side, cell)
    if window is None:
        return None
    cuts = list(restrictions(books, line, base, cell))
    total, seen = Fraction(0), False
    for row in anchored(books, base.key, side, window, scope):
        weight = Fraction(1)
        for leaf, counts, weighs in cuts:
            found = counts.get(row.members[leaf])
            if found is None:
                break
            weight *= found if weighs else 1
        else:
            seen = True
            total += weight * row.amounts[base.measure] * factor(books, base, side, row)
    return (-total if base.negated else total) if seen else None


def restrictions(books: Books, line: Line, base: Base, cell: Cell) -> Iterator[tuple[str, Weights, bool]]:
    """Yield what restricts a figure: leaf dimension, what its leaves count for, and whether that weighs.

    A hierarchy weighs a leaf once: by the metric's own `where` (or a rollup's node), else the place, else the filter.
    """
    weighed = set()
    where = dict(base.where)
    if line.node:
        dimension, node = line.node
        yield LEAF_OF[dimension], weights(books, dimension, node), True
        weighed.add(dimension)
    for key, ids in where.items():
        yield LEAF_OF[key], joined(books, key, ids), key not in weighed
        weighed.add(key)
    for key in cell.breakdown:
        if LEAF_OF[key] not in LEAVES[base.domain]:
            continue
        counts = weights(books, key, cell.place[key]) if cell.place else None
        if cell.place is None and key not in cell.filters:
            counts = top_weights(books, key)
        if counts is not None:
            yield LEAF_OF[key], counts, key not in weighed
            weighed.add(key)
    for key, ids in cell.filters.items():
        yield LEAF_OF[key], joined(books, key, ids), key not in weighed


def factor(books: Books, base: Base, side: Side, row: Row) -> Fraction:
    """Return what a variant multiplies a row by: each adjustment once, several multiplied."""
    found = Fraction(1)
    for adjust in books.scenarios[side.scenario].downside if side.downside else ():
        fits = all(LEAF_OF[key] in LEAVES[row.domain] for key in adjust.where)
        if fits and base.measure in adjust.measures and selects(books, adjust.where, row):
            found *= Fraction(adjust.factor)
    return found
