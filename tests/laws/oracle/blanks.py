"""Why a figure is blank, by the words of the rules: the first cause of the list that holds.

Readings decided here: a formula is blank for any cause that one of its operands has; a side of a variance that counts
as 0 is no cause; the days that a figure looks at are those before the range for an opening, and those that a balance
to date or a last known value looks back on.
"""

from collections.abc import Iterator
from fractions import Fraction

from tests.laws.oracle.books import OracleBase, OracleBooks, OracleFormula
from tests.laws.oracle.calendar import OPENING, Range, closing_grain, period_of
from tests.laws.oracle.expressions import LENGTHS, Binary, Blank, Expression, Name, names, parts_seen, value
from tests.laws.oracle.figures import (
    MISSING,
    UNAVAILABLE,
    Figure,
    OracleLine,
    bases_of,
    counts_as_zero,
    length,
    meets,
    metric_of,
    operand_is_additive,
    plain,
    restrictions,
    weight_in,
)
from tests.laws.oracle.reading import Scope, books_of, closed_day, held, holds_any, inside, looked_at, read, source_of
from tests.laws.oracle.references import OracleCell, OracleSide, Reference, window_of

CAUSES = (
    "unavailable",
    "not_computable",
    "no_window",
    "outside_books",
    "not_loaded",
    "open_period",
    "incomplete_close",
    "no_divisor",
    "no_rows",
)


def cause_of(books: OracleBooks, line: OracleLine, reference: Reference, cell: OracleCell) -> str:
    """Return the cause of a blank figure."""
    found = set(causes(books, line, reference, cell))
    return next(cause for cause in CAUSES if cause in found)


def causes(books: OracleBooks, line: OracleLine, reference: Reference, cell: OracleCell) -> Iterator[str]:
    """Yield the causes of a blank figure."""
    if isinstance(reference, OracleSide):
        yield from causes_of_side(books, line, reference, cell, frozenset())
        return
    figures = [plain(books, line, side, cell, scope) for side, scope in reference.sides]
    for at, (side, scope) in enumerate(reference.sides):
        is_alone = isinstance(figures[1 - at], Fraction)
        if figures[at] is MISSING and is_alone and counts_as_zero(books, line.metric, side, cell, scope):
            figures[at] = Fraction(0)
        elif not isinstance(figures[at], Fraction):
            yield from causes_of_side(books, line, side, cell, scope)
    if reference.relative and figures[1] == 0:
        yield "no_divisor"


def causes_of_side(
    books: OracleBooks, line: OracleLine, side: OracleSide, cell: OracleCell, scope: Scope
) -> Iterator[str]:
    """Yield the causes of a blank figure of one side."""
    if plain(books, line, side, cell, scope) is UNAVAILABLE:
        yield "unavailable" if isinstance(line.metric, OracleBase) else "not_computable"
        return
    yield "no_rows"
    window = window_of(books, side, cell)
    if window is None:
        yield "no_window"
        return
    for base in bases_of(books, line.metric):
        if books_of(books, base, side, window, scope):
            yield "outside_books"
        if not holds_any(books, base.domain, side, scope):
            yield "not_loaded"
        if is_open(books, base, side, window, cell.asked.grain, scope):
            yield "open_period"
        if is_late(books, line, base, side, cell, window, scope):
            yield "incomplete_close"
    if isinstance(line.metric, OracleFormula) and divides_by_zero(books, line.metric, side, cell, scope):
        yield "no_divisor"


def is_open(books: OracleBooks, base: OracleBase, side: OracleSide, window: Range, grain: str, scope: Scope) -> bool:
    """Tell whether the days that a rule applies to are open, or rows are there but not to their end."""
    last = looked_at(base, window).last
    closed = closed_day(books, source_of(books, side, base.domain, last).scenario, base.domain)
    if closed is not None and last > closed:
        return True
    days = [known.day for known in held(books, base.domain, side, scope)]
    return bool(days) and period_of(last, closing_grain(grain), books.fiscal).first > max(days)


def is_late(
    books: OracleBooks,
    line: OracleLine,
    base: OracleBase,
    side: OracleSide,
    cell: OracleCell,
    window: Range,
    scope: Scope,
) -> bool:
    """Tell whether a closing balance has rows in the window, but none at its close."""
    if base.over_time.rule != "closing" or base.over_time.opening or OPENING in side.shifts:
        return False
    alone = line if isinstance(line.metric, OracleBase) else OracleLine(base)
    cuts = list(restrictions(books, alone, base, cell))
    at_close = read(books, base.key, side, window, scope).rows
    ever = inside(held(books, base.domain, side, scope), window.days)
    counts = [
        any(meets(base, known) and weight_in(cuts, known) is not None for known in rows) for rows in (at_close, ever)
    ]
    return counts == [False, True] and bool(at_close)


def divides_by_zero(
    books: OracleBooks, metric: OracleFormula, side: OracleSide, cell: OracleCell, scope: Scope
) -> bool:
    """Tell whether a formula, or a blank one that it uses, has a divisor of 0."""

    def figure_of(key: str) -> Figure:
        return plain(books, OracleLine(metric_of(books, key)), side, cell, scope)

    def operand(key: str) -> Fraction | None:
        if key in LENGTHS:
            return length(books, side, cell, key)
        found = figure_of(key)
        return found if isinstance(found, Fraction) else None

    def additive(key: str) -> bool:
        return operand_is_additive(books, key)

    def is_zero(part: Expression) -> bool:
        try:
            found = value(part, operand, additive)
        except Blank:
            return False
        return not found.amount and (found.is_there or not names(part))

    def seen(part: Expression) -> Iterator[Expression]:
        yield part
        for below in parts_seen(part, operand, additive):
            yield from seen(below)

    parts = list(seen(metric.expression))
    if any(isinstance(part, Binary) and part.sign == "/" and is_zero(part.right) for part in parts):
        return True
    used = dict.fromkeys(part.key for part in parts if isinstance(part, Name) and part.key not in LENGTHS)
    formulas = ((key, known) for key in used if isinstance(known := metric_of(books, key), OracleFormula))
    return any(
        figure_of(key) is MISSING and divides_by_zero(books, known, side, cell, scope) for key, known in formulas
    )
