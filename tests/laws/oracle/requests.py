"""Random requests, how they are asked, and the cells that answer them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import product
from typing import Any

from hypothesis import strategies as st

from tests.laws.oracle.books import GL, LEAF_OF, PEOPLE, Cuts, OracleBooks
from tests.laws.oracle.calendar import (
    CALENDAR_WINDOWS,
    CHALF,
    CQUARTER,
    CYEAR,
    DATE,
    FINE,
    GRAINS,
    LENGTHS,
    MEANS,
    MONTH,
    MONTHS,
    MTD,
    OF_CALENDAR,
    OF_TRADING,
    OPENING,
    QUARTER,
    SAME_DAYS,
    TPERIOD,
    TQUARTER,
    TRADING_WINDOWS,
    TWEEK,
    TYEAR,
    WEEK,
    YEAR,
    Days,
    OraclePeriod,
    Range,
    later,
    nests,
    period_of,
    periods,
)
from tests.laws.oracle.cuts import cuts_of
from tests.laws.oracle.figures import OracleLine, bases_of, metric_of, takes
from tests.laws.oracle.members import shown
from tests.laws.oracle.references import OracleCell, OracleSide, OracleVariance, Part, Reference

MOVES = ("py", "py2", "pp", "pp2")
PARTS = (Part("actual"), Part("budget"), Part("budget", downside=True), Part("forecast"))
LONGEST = {
    DATE: 4,
    WEEK: 4,
    MONTH: 5,
    QUARTER: 3,
    YEAR: 2,
    CQUARTER: 3,
    CHALF: 2,
    CYEAR: 2,
    **dict(zip(OF_TRADING, (4, 4, 3, 2), strict=True)),
}  # periods of a range each side of a row
MOST = 12  # periods of a breakdown
OF_METRICS = (GL, PEOPLE)  # domains
BREAKDOWNS = (
    (),
    ("product",),
    ("band",),
    ("tree",),
    ("alt",),
    ("region",),
    ("journal",),
    ("period",),
    (DATE,),
    (WEEK,),
    (MONTH,),
    (QUARTER,),
    (YEAR,),
    (CQUARTER,),
    (CYEAR,),
    ("region", CHALF),
    (TWEEK,),
    (TPERIOD,),
    (TQUARTER,),
    (TYEAR,),
    ("tree", TPERIOD),
    (YEAR, MONTH),
    ("region", QUARTER, "period"),
    (TYEAR, TWEEK),
    (TPERIOD, MONTH),
    (MONTH, TPERIOD, "tree"),
    ("tree", "region"),
    ("product", "period"),
    ("region", "period"),
    ("band", "tree"),
    ("alt", "tree"),
    ("region", MONTH),
    (QUARTER, "tree"),
    ("journal", "period", "alt"),
    ("tree", "region", "band"),
)
ROLLED = "rolled"


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleRequest:
    """A question: a statement, or some metrics of one domain."""

    metrics: tuple[str, ...]  # none: the statement
    columns: tuple[Reference, ...]
    asked: Range
    filters: Cuts
    dimensions: tuple[str, ...]
    excluded: Cuts = field(default_factory=dict)  # what the filters leave out
    subtotals: bool = False

    @property
    def as_filters(self) -> dict[str, Any]:
        """The filters as a call has them."""
        without: dict[str, Any] = {
            key: {"exclude": ids} | ({"include": self.filters[key]} if key in self.filters else {})
            for key, ids in self.excluded.items()
        }
        return {**self.filters, **without}

    @property
    def times(self) -> tuple[str, ...]:
        """The grains of a breakdown by periods."""
        return grains_of(self.dimensions, self.asked)

    @property
    def time(self) -> str | None:
        """The finest grain of a breakdown by periods."""
        return min(self.times, key=lambda grain: LENGTHS[grain], default=None)

    @property
    def by_member(self) -> tuple[str, ...]:
        """The other dimensions of the breakdown."""
        return tuple(key for key in self.dimensions if key != "period" and key not in GRAINS)


def grains_of(dimensions: Sequence[str], asked: Range) -> tuple[str, ...]:
    """Return the grains of those dimensions that are of time."""
    return tuple(asked.grain if key == "period" else key for key in dimensions if key in ("period", *GRAINS))


def cells(books: OracleBooks, request: OracleRequest) -> Iterator[OracleCell]:
    """Yield every cell that may have a figure, the total last."""
    for depth in range(1 if request.subtotals else len(request.dimensions), len(request.dimensions) + 1):
        keys = [key for key in request.by_member if key in request.dimensions[:depth]]
        members = [shown(books, key, request.filters.get(key, ())) for key in keys]
        columns = list(time_columns(books, request, depth - len(keys))) if len(keys) < depth else [((), None)]
        for combination, (codes, column) in product(product(*members), columns) if depth else ():
            yield cell(request, dict(zip(keys, combination, strict=True)), column, codes)
    yield cell(request, None, None, ())


def time_columns(
    books: OracleBooks, request: OracleRequest, count: int | None = None
) -> Iterator[tuple[tuple[str, ...], Range | None]]:
    """Yield the codes and the range of each column of time: of all dimensions, or of the first ones in a sub-total.

    The days that two calendars cut are a range of days, those of a period that the range cuts one of finer periods.
    """
    each = [list(periods(request.asked, grain, books.fiscal)) for grain in request.times[:count]]
    for found in product(*each):
        spans = (request.asked.days, *(period.days for period in found))
        first, last = max(span.first for span in spans), min(span.last for span in spans)
        codes = tuple(period.code(books.fiscal) for period in found)
        finer = Range(*(period_of(day, request.time or DATE, books.fiscal) for day in (first, last)))
        whole = next((period for period in found if period.days == Days(first, last)), None)
        if not found:
            yield (), None
        elif whole:
            yield codes, Range(whole, whole)
        elif first <= last:
            days = Range(OraclePeriod(DATE, first), OraclePeriod(DATE, last))
            yield codes, finer if len(found) < len(request.times) and finer.days == days.days else days


def cell(
    request: OracleRequest, place: Mapping[str, str] | None, column: Range | None, codes: tuple[str, ...]
) -> OracleCell:
    """Return one cell of a request."""
    return OracleCell(
        asked=request.asked,
        filters=request.filters,
        breakdown=request.by_member,
        place=place,
        time=request.time,
        column=column,
        codes=codes,
        grains=request.times[: len(codes)],
        excluded=request.excluded,
    )


def narrowed(books: OracleBooks, request: OracleRequest, place: Mapping[str, str]) -> OracleRequest:
    """Return the request whose total is one place of another: a sub-total is that of the dimensions below it."""
    members = {key: (member,) for key, member in place.items() if key in LEAF_OF}
    named = sum(key in place for key in request.dimensions if key not in request.by_member)
    columns = time_columns(books, request, named) if named else ()
    column = next((column for codes, column in columns if set(codes) <= set(place.values())), None)
    return replace(
        request,
        asked=in_months(column, books) if column else request.asked,
        filters={**request.filters, **members},
        dimensions=tuple(key for key in request.by_member if key not in place),
        subtotals=False,
    )


def in_months(days: Range, books: OracleBooks) -> Range:
    """Return a range of days that are whole months as a range of months: books by month know no days."""
    months = Range(*(period_of(day, MONTH, books.fiscal) for day in (days.days.first, days.days.last)))
    return months if days.grain == DATE and months.days == days.days else days


def line_of(books: OracleBooks, key: str) -> OracleLine:
    """Return the line of a key that a report shows: a metric's, a formula's or a node's."""
    if key == ROLLED or key.startswith("tree."):
        rollup = books.rollup
        node = rollup.node if key == ROLLED else key.removeprefix("tree.")
        return OracleLine(books.bases[rollup.base], ("tree", node), negated=rollup.negated)
    return OracleLine(books.bases.get(key) or books.formulas.get(key) or books.lines[key])


@st.composite
def ranges(draw: st.DrawFn, books: OracleBooks, grain: str | None = None) -> Range:
    """Draw a range around the days that rows have."""
    beside = OF_CALENDAR if books.fiscal.starts > 1 else ()
    grain = grain or draw(st.sampled_from((MONTH, MONTH, QUARTER, YEAR, WEEK, DATE, *beside, *OF_TRADING)))
    day = draw(st.sampled_from(sorted({row.day for row in books.rows if row.day}) or [date(2020, 2, 29)]))
    held = period_of(day, grain, books.fiscal)
    before, after = draw(st.integers(0, LONGEST[grain] - 1)), draw(st.integers(0, LONGEST[grain] - 1))
    return Range(later(held, -before), later(held, after))


@st.composite
def sides(draw: st.DrawFn, books: OracleBooks, windows: Sequence[str], steps: Sequence[str] = MOVES) -> OracleSide:
    """Draw a scenario, perhaps its downside, perhaps blended with another, perhaps shifted."""
    parts = draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=2, unique_by=lambda part: part.scenario))
    moves, window = st.lists(st.sampled_from(steps), max_size=1), st.lists(st.sampled_from(windows), max_size=1)
    shifts = (*draw(moves), *draw(window)) if draw(st.booleans()) else ()
    if shifts and shifts[-1] != OPENING:
        shifts = (*shifts, *draw(moves))
    blends = bool(books.scenarios[parts[0].scenario].closed) and draw(st.booleans())
    return OracleSide(tuple(parts if blends else parts[:1]), shifts)


@st.composite
def references(
    draw: st.DrawFn,
    books: OracleBooks,
    windows: Sequence[str] = CALENDAR_WINDOWS,
    steps: Sequence[str] = MOVES,
) -> Reference:
    """Draw a column."""
    side = sides(books, windows, steps)
    if draw(st.booleans()):
        return draw(side)
    return OracleVariance(draw(side), draw(side), draw(st.booleans()))


def fits(books: OracleBooks, domain: str | None, keys: tuple[str, ...], asked: Range) -> bool:
    """Tell whether a breakdown has an answer."""
    times = grains_of(keys, asked)
    if books.fiscal.starts == 1 and not set(times).isdisjoint(OF_CALENDAR):
        return False
    if len(times) < 2 and len({grain in OF_TRADING for grain in (asked.grain, *times)}) > 1:
        return False  # T77 has windows of one calendar over periods of the other
    if len(set(times)) < len(times) or (times and not any(nests(asked, grain, books.fiscal) for grain in times)):
        return False
    members = [key for key in keys if key in LEAF_OF]
    return all(len(list(periods(asked, grain, books.fiscal))) <= MOST for grain in times) and (
        domain != PEOPLE or (set(members) <= {"region"} and not {*FINE} & {asked.grain, *times})
    )


def may_cut(grains: Sequence[str]) -> bool:
    """Tell whether periods of one grain may begin inside those of another."""
    inner = min(grains, key=lambda grain: LENGTHS[grain], default=DATE)
    if inner == DATE or (inner == MONTH and set(grains) <= MONTHS.keys()):
        return False
    alike = ({QUARTER, YEAR}, set(OF_CALENDAR), set(OF_TRADING))
    return len(grains) > 1 and not any(set(grains) <= family for family in alike)


@st.composite
def requests(
    draw: st.DrawFn,
    books: OracleBooks,
    breakdowns: Sequence[tuple[str, ...]] = BREAKDOWNS,
    domains: Sequence[str | None] = (None, None, *OF_METRICS),
) -> OracleRequest:
    """Draw a request that has an answer: metrics of one of some domains, or for None a statement."""
    asked = draw(ranges(books))
    domain = draw(st.sampled_from([GL if key == PEOPLE and asked.grain in FINE else key for key in domains]))
    usable = [keys for keys in breakdowns if fits(books, domain, keys, asked)]
    homes = {key: metric.domain for metrics in (books.bases, books.formulas) for key, metric in metrics.items()}
    dimensions = draw(st.sampled_from(usable))
    grains = {asked.grain, *grains_of(dimensions, asked)}
    steps = (*MOVES, *(step for step, takes in SAME_DAYS.items() if grains <= {*takes}))
    windows = TRADING_WINDOWS if asked.grain in OF_TRADING else CALENDAR_WINDOWS
    of_domain = [key for key, home in homes.items() if home == domain]
    metrics = tuple(draw(st.lists(st.sampled_from(of_domain), min_size=1, max_size=4, unique=True))) if domain else ()
    operands = [base for key in metrics for base in bases_of(books, metric_of(books, key))]
    windows = (
        *windows,
        *((MTD,) if grains <= {DATE, WEEK, TWEEK} else ()),
        *(step for step in (OPENING, *MEANS) if not domain or any(takes(base, step) for base in operands)),
    )
    column = references(books, windows, steps)
    if may_cut(grains_of(dimensions, asked)):
        column = column.filter(lambda known: "@" not in known.text)  # what two calendars cut does not move
    return OracleRequest(
        metrics=metrics,
        columns=tuple(draw(st.lists(column, min_size=1, max_size=4, unique_by=lambda known: known.text))),
        asked=asked,
        filters=draw(cuts_of(books, domain or GL, 2)) if draw(st.booleans()) else {},
        dimensions=dimensions,
        subtotals=len(dimensions) > 1 and draw(st.booleans()),
        excluded=draw(cuts_of(books, domain or GL, 1)) if draw(st.integers(0, 3)) == 1 else {},
    )
