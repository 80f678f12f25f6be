"""Which rows a metric reads: those of a view on the days that its rule over time looks at.

Readings decided here: the leaf cells of last_known are told apart by leaf dimensions, not by axes; an opening looks at
everything before the range, and that is its window when a missing side is judged; a blend is open where the scenario
that its last day comes from is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import zip_longest

from tests.laws.oracle.books import AXIS, GL, LEAF_OF, LEAVES, Cuts, OracleBase, OracleBooks, OracleRow
from tests.laws.oracle.calendar import DATE, MONTH, YEAR, Days, OraclePeriod, Range, closing_grain, period_of
from tests.laws.oracle.members import joined
from tests.laws.oracle.references import OracleSide, Part

Scope = frozenset[str]  # scenarios compared with, whose limits hold as well
HELD_BY = {GL: DATE}  # the grain of a domain; of the others: MONTH


@dataclass(frozen=True, slots=True)
class DatedRow:
    """A row, its day, and the part of a side that it comes from."""

    row: OracleRow
    day: date
    part: Part


@dataclass(frozen=True, slots=True)
class Read:
    """The rows that a figure is made of, and what it is divided by in the end."""

    rows: tuple[DatedRow, ...]
    divisor: int = 1
    closes: tuple[tuple[DatedRow, ...], ...] = ()  # of which one is the figure


def closed_day(books: OracleBooks, scenario: str, domain: str) -> date | None:
    """Return the last closed day of a scenario and domain, None where that is not said."""
    closed = books.scenarios[scenario].closed
    through = closed.get(domain) or closed.get("")
    return OraclePeriod(MONTH, date.fromisoformat(f"{through}-01")).days.last if through else None


def source_of(books: OracleBooks, side: OracleSide, domain: str, day: date) -> Part:
    """Return the part of a side that a day is read from."""
    boundary = closed_day(books, side.parts[0].scenario, domain)
    return side.parts[-1] if len(side.parts) > 1 and boundary and day > boundary else side.parts[0]


@lru_cache(maxsize=1024)
def held(books: OracleBooks, domain: str, side: OracleSide, scope: Scope) -> tuple[DatedRow, ...]:
    """Return the visible dated rows of a side."""
    found = []
    for row in books.rows:
        if row.domain == domain and row.day is not None:
            part = source_of(books, side, domain, row.day)
            if row.scenario == part.scenario and books.visible(row, scope | {part.scenario}):
                found.append(DatedRow(row, row.day, part))
    return tuple(found)


def looked_at(base: OracleBase, window: Range) -> Days:
    """Return the days that a rule applies to."""
    days = window.days
    return Days(date.min, days.first - timedelta(days=1)) if base.over_time.opening else days


@lru_cache(maxsize=8192)
def read(books: OracleBooks, key: str, side: OracleSide, window: Range, scope: Scope) -> Read:
    """Return the rows of a domain that a metric reads for a window, before its own restriction and any filter."""
    base = books.bases[key]
    days, rows = looked_at(base, window), held(books, base.domain, side, scope)
    if side.mean and begins_before(books, base, side, window, scope):
        return Read(())
    if side.mean and base.over_time.rule == "closing":
        return mean_of(closing(books, base, part) for part in by_period(books, inside(rows, days), window.end.grain))
    match base.over_time.rule:
        case "sum":
            return Read(inside(rows, days), side.mean or 1)
        case "closing":
            return Read(closing(books, base, inside(rows, days)))
        case "to_date":
            return Read(inside(rows, since(books, base, days)))
        case "last_known":
            return Read(tuple(last_known(books, base, inside(rows, since(books, base, days)))))
        case "lowest" | "highest":
            declared = books.groups[base.domain]
            grain = declared[base.group].grain if declared else HELD_BY.get(base.domain, MONTH)
            each = tuple(closing(books, base, part) for part in by_period(books, inside(rows, days), grain))
            return Read(tuple(found for close in each for found in close), closes=each)
    return mean_of(closing(books, base, part) for part in by_period(books, inside(rows, days), base.over_time.of))


def mean_of(closes: Iterator[tuple[DatedRow, ...]]) -> Read:
    """Return the mean of some closes."""
    found = [close for close in closes if close]
    return Read(tuple(row for close in found for row in close), max(len(found), 1))


def begins_before(books: OracleBooks, base: OracleBase, side: OracleSide, window: Range, scope: Scope) -> bool:
    """Tell whether periods of a window lie before the first loaded one, and others do not."""
    days = [known.day for known in held(books, base.domain, side, scope)]
    if not days:
        return False
    loaded = period_of(min(days), HELD_BY.get(base.domain, MONTH), books.fiscal).first
    first = period_of(loaded, window.end.grain, books.fiscal).first
    return window.start.first < first <= window.end.days.last


def inside(rows: tuple[DatedRow, ...], days: Days) -> tuple[DatedRow, ...]:
    """Return the rows of some days."""
    return tuple(known for known in rows if days.holds(known.day))


def since(books: OracleBooks, base: OracleBase, days: Days) -> Days:
    """Return the days up to an end that a rule looks back on."""
    match base.over_time.since:
        case "always" | "books":
            return Days(date.min, days.last)
        case "fiscal_year":
            return Days(period_of(days.last, YEAR, books.fiscal).first, days.last)
    return days


def closing(books: OracleBooks, base: OracleBase, rows: tuple[DatedRow, ...]) -> tuple[DatedRow, ...]:
    """Return the rows at the anchor: the last period in which the stock group holds any."""
    group = books.group_of(base)
    nothing: Cuts = {}
    cuts = list(zip_longest(group.where, group.without, fillvalue=nothing))
    days = [known.day for known in rows if any(selects(books, *cut, known.row) for cut in cuts)]
    return inside(rows, period_of(max(days), close_grain(books, base), books.fiscal).days) if days else ()


def close_grain(books: OracleBooks, base: OracleBase) -> str:
    """Return the grain at which a balance closes."""
    return DATE if books.group_of(base).grain == "day" else MONTH


def by_period(books: OracleBooks, rows: tuple[DatedRow, ...], grain: str) -> Iterator[tuple[DatedRow, ...]]:
    """Yield the rows of each period of a grain."""
    grain = DATE if grain == "day" else grain
    for period in {period_of(known.day, grain, books.fiscal) for known in rows}:
        yield inside(rows, period.days)


def last_known(books: OracleBooks, base: OracleBase, rows: tuple[DatedRow, ...]) -> Iterator[DatedRow]:
    """Yield the rows of each leaf cell in the last period that it has any."""
    grain = close_grain(books, base)
    for known in rows:
        alike = [other.day for other in rows if leaf_cell(other.row) == leaf_cell(known.row)]
        if period_of(max(alike), grain, books.fiscal).days.holds(known.day):
            yield known


def leaf_cell(row: OracleRow) -> tuple[str, ...]:
    """Return the members of a row's leaf dimensions."""
    return tuple(row.members[key] for key in LEAVES[row.domain] if key != AXIS)


def selects(books: OracleBooks, where: Cuts, without: Cuts, row: OracleRow) -> bool:
    """Tell whether a row lies inside cuts, and outside of what others exclude."""
    inside_all = all(row.members[LEAF_OF[key]] in joined(books, key, ids) for key, ids in where.items())
    return inside_all and all(row.members[LEAF_OF[key]] not in joined(books, key, ids) for key, ids in without.items())


def is_known(books: OracleBooks, base: OracleBase, side: OracleSide, window: Range, grain: str, scope: Scope) -> bool:
    """Tell whether no rows in a window mean 0: the domain has others there, and it is closed and loaded to its end."""
    if not read(books, base.key, side, window, scope).rows:
        return False
    last = looked_at(base, window).last
    closed = closed_day(books, source_of(books, side, base.domain, last).scenario, base.domain)
    loaded = max(known.day for known in held(books, base.domain, side, scope))
    return (closed is None or last <= closed) and period_of(last, closing_grain(grain), books.fiscal).first <= loaded


def books_of(
    books: OracleBooks, base: OracleBase, side: OracleSide, window: Range, scope: Scope
) -> tuple[str, str] | None:
    """Return the first and the last loaded period if the days that a metric looks at lie outside them."""
    days = [known.day for known in held(books, base.domain, side, scope)]
    looked = reach(books, base, window)
    if not days:
        return None
    grain = HELD_BY.get(base.domain, MONTH)
    first, last = (period_of(day, grain, books.fiscal) for day in (min(days), max(days)))
    is_short = side.mean and begins_before(books, base, side, window, scope)
    if looked.first <= last.days.last and looked.last >= first.days.first and not is_short:
        return None
    return first.code(books.fiscal), last.code(books.fiscal)


def reach(books: OracleBooks, base: OracleBase, window: Range) -> Days:
    """Return the days on which a metric looks for rows."""
    days = looked_at(base, window)
    return since(books, base, days) if base.over_time.rule in ("to_date", "last_known") else days


def holds_any(books: OracleBooks, domain: str, side: OracleSide, scope: Scope) -> bool:
    """Tell whether a side has any visible row of a domain, perhaps without a date."""
    undated = (row for row in books.rows if row.domain == domain and row.day is None)
    scenarios = {part.scenario for part in side.parts}
    return bool(held(books, domain, side, scope)) or any(
        row.scenario in scenarios and books.visible(row, scope | {row.scenario}) for row in undated
    )


def is_unknown(books: OracleBooks, base: OracleBase, side: OracleSide, window: Range, scope: Scope) -> bool:
    """Tell whether a scenario holds nothing on the days of a metric, though they are closed.

    Nothing lies before the first movement.
    """
    last = looked_at(base, window).last
    closed = closed_day(books, source_of(books, side, base.domain, last).scenario, base.domain)
    if closed is not None and last > closed:
        return False
    if not holds_any(books, base.domain, side, scope):
        return True
    is_movement = base.over_time.rule == "to_date" and base.over_time.since == "books"
    return not is_movement and books_of(books, base, side, window, scope) is not None
