"""Date windows: the days that each column reads, split at every boundary so that each interval is summed once."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.aggregation import TimeAggregation
from engine.model.caching import LazyTable, cached_method
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import DAY, UNDATED_CODE, WITHOUT_DATE, Grain, PeriodRange, Span
from engine.model.calendar.steps import Shift
from engine.model.catalogue import Base
from engine.model.exact import Exact
from engine.model.formulas import Figure, Nothing
from engine.model.scenarios import Side, TermSpan, why_not_step
from engine.model.stopping import watched
from engine.queries.values import Query, TimeColumn


class DomainRead(Struct, frozen=True, cache_hash=True):
    """What a column reads of one domain: term spans, restricted to the scope shared with `shared` scenarios."""

    domain: str
    term_spans: tuple[TermSpan, ...]
    shared: frozenset[str] = frozenset()

    @property
    def boundaries(self) -> list[date]:
        """The first day of each term after the first."""
        return [term_span.days.first for term_span in self.term_spans[1:]]


class DateWindow(Struct, frozen=True, cache_hash=True):
    """The days that one figure reads, as ascending spans; empty if its side has no such periods.

    The window of rows without a date is WITHOUT_DATE alone. Windows are keys: equal ones read the same amounts, even if
    the books have let go of one of them and a plan makes it again.
    """

    spans: tuple[Span, ...]
    label: str
    divisor: int = 1  # divides the sum: the number of closings in a mean
    grains: frozenset[Grain] = frozenset()  # of the periods of its column of time
    step: Shift | None = None  # that reads what lies before a range, or the mean of some periods
    mean_grain: Grain | None = None  # of the periods of a mean
    closes: tuple[int, ...] = ()  # where one of several closes is chosen: the position after the last span of each

    def why_not(self, base: Base) -> str | None:
        """Return why a base has no figure in such a window, None if it may have one."""
        return why_not_step(self.step, base.over_members, base.over_time)

    def lacks(self, over_time: TimeAggregation, books: Span | None, calendar: Calendar) -> bool:
        """Tell whether a time rule has no opening or mean, or the mean is one of periods before the loaded days."""
        is_short = self.mean_grain is not None and periods_in_books(self, self.mean_grain, books, calendar) is not None
        return is_short or not over_time.takes(self.step)

    @classmethod
    def of(cls, runs: Sequence[PeriodRange], grains: frozenset[Grain] = frozenset()) -> "DateWindow":
        """Return the window of some period ranges; adjacent ranges become one span."""
        if any(run.is_undated for run in runs):
            return cls((WITHOUT_DATE,), UNDATED_CODE)
        joined: list[Span] = []
        for run in sorted((run.span for run in runs), key=lambda span: span.first):
            if joined and joined[-1].last.toordinal() + 1 >= run.first.toordinal():
                joined[-1] = Span(joined[-1].first, max(joined[-1].last, run.last))
            else:
                joined.append(run)
        return cls(tuple(joined), ", ".join(run.label for run in runs), grains=grains)

    @property
    def last(self) -> date | None:
        """The last day; None if the window is empty or holds rows without a date."""
        return self.spans[-1].last if self.spans and not self.is_undated else None

    @property
    def is_undated(self) -> bool:
        """Whether it holds the rows without a date."""
        return WITHOUT_DATE in self.spans


EMPTY_WINDOW = DateWindow((), "")


def periods_in_books(
    window: DateWindow, grain: Grain, books: Span | None, calendar: Calendar
) -> tuple[int, int] | None:
    """Return how many periods of a window lie in the loaded days, and how many it has; None unless it begins before."""
    run = calendar.touching(window.spans[-1], grain) if window.spans else None
    first = calendar.at(books.first, grain) if books else None
    if run is None or first is None or not run.start.ordinal < first.ordinal <= run.end.ordinal:
        return None
    return run.end.ordinal - first.ordinal + 1, run.count


def length_of(window: DateWindow, grain: Grain, calendar: Calendar) -> Figure:
    """Return how many periods of a grain a window touches, of the date its days; missing if it has none.

    Of the mean of some periods it is their mean, as the figures beside it are. What lies before a range has no length.
    """
    if not window.spans or window.is_undated or (window.step and window.step.opens):
        return Nothing.MISSING
    if grain is Grain.DATE:
        return Exact(sum(span.length for span in window.spans), window.divisor)
    count, last = 0, -1
    for run in filter(None, (calendar.touching(span, grain) for span in window.spans)):
        count += run.count - (run.start.ordinal == last)  # two spans may touch one period
        last = run.end.ordinal
    return Exact(count, window.divisor) if count else Nothing.MISSING


class ColumnRead(Struct, frozen=True, eq=False, dict=True):
    """Date windows of one side of a column, the total last, restricted to the scope that compared sides share.

    Column reads compare by identity. A plan makes each of them once. `scope` are the scenarios of all operands of a
    formula, whose cells they share, while it is computed; None of a column.
    """

    side: Side
    shared: frozenset[str]
    windows: tuple[DateWindow, ...]
    reader: Reader
    scope: frozenset[str] | None = None

    @cached_method
    def domain_read(self, domain: str) -> DomainRead:
        """Return the part that belongs to one domain, the same object in every report."""
        return domain_read_of(domain, self.side, self.shared, self.reader)

    @cached_method
    def lengths(self, grain: Grain) -> Sequence[Figure]:
        """Return how many periods of a grain each window touches; missing of one without days."""
        calendar = self.reader.catalogue.calendar
        return [length_of(window, grain, calendar) for window in watched(self.windows)]


def domain_read_of(domain: str, side: Side, shared: frozenset[str], reader: Reader) -> DomainRead:
    """Return what a side reads of a domain, the same object in every report."""
    key = ("domain read", domain, side, shared)
    return reader.memo(key, lambda: DomainRead(domain, side.term_spans(domain), shared))


PeriodWindows = LazyTable[tuple[Grain, int], DateWindow]  # of sides that shift alike, by grain and number of a period


def windows_of(
    side: Side, query: Query, columns: Sequence[TimeColumn], calendar: Calendar, known: PeriodWindows
) -> tuple[DateWindow, ...]:
    """Return the window of each time column of a side, then the window of the total.

    Each column shifts by its own period; days that two calendars cut have none, and no side that shifts. The total
    shifts the whole range; a shift to a window, such as year to date, takes the window of the last column instead.
    """
    single = [column_window(side, column, calendar, known) for column in watched(columns)]
    last = last_column(columns)
    if last is None or not side.has_window:
        return (*single, shifted_window(side, query.selected, calendar))
    return (*single, replace(single[last], grains=frozenset()))


def column_window(side: Side, column: TimeColumn, calendar: Calendar, known: PeriodWindows) -> DateWindow:
    """Return the window that a side reads for a column."""
    if whole := column.whole:
        return known.get((whole.grain, whole.ordinal), lambda: shifted_window(side, column.runs, calendar))
    if runs := column.runs:
        return shifted_window(side, runs, calendar)
    label = " and ".join(period.label for period in column.periods)
    return DateWindow(column.spans, label, grains=frozenset(period.grain for period in column.periods))


def last_column(columns: Sequence[TimeColumn]) -> int | None:
    """Return the position of the column with the last days, a sub-total's aside; None if there are none."""
    depth = max((len(column.periods) for column in watched(columns)), default=0)
    whole = [at for at in watched(range(len(columns))) if len(columns[at].periods) == depth]
    return max(watched(whole), key=lambda at: columns[at].spans[-1].last, default=None)


def shifted_window(side: Side, runs: Sequence[PeriodRange], calendar: Calendar) -> DateWindow:
    """Return the window that a side reads for some ranges; a shift to a window uses the last range only."""
    runs = side.decisive(runs)
    grains = frozenset(run.grain for run in runs)
    read = [run for asked in runs if (run := side.window(calendar, asked))]
    window = DateWindow.of(read, grains)
    if side.step and side.step.is_mean:
        return replace(window, step=side.step, divisor=side.step.periods, mean_grain=read[-1].grain if read else None)
    if side.step:
        label = f"before {(window.spans[-1].last + DAY).isoformat()}" if window.last else window.label
        return replace(window, step=side.step, label=label)
    return window


Run = tuple[int, int]  # of consecutive intervals: the positions of its first and of the one after its last


class IntervalSplits:
    """Interval splits: ascending spans, each wholly inside or outside of every window, so that each is summed once."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans
        self._runs: LazyTable[DateWindow, Sequence[Run]] = LazyTable()
        self._together: LazyTable[tuple[DateWindow, ...], WindowRuns] = LazyTable()

    @property
    def count(self) -> int:
        """How many amounts each base and member has."""
        return len(self.spans)

    def runs(self, window: DateWindow) -> Sequence[Run]:
        """Return the runs of intervals of a window, one for each of its spans."""
        return self._runs.get(window, lambda: tuple([self.inside(span) for span in watched(window.spans)]))

    def together(self, windows: tuple[DateWindow, ...]) -> "WindowRuns":
        """Return the runs of some windows, to be read together."""
        return self._together.get(windows, lambda: WindowRuns(windows, self))

    def of(self, window: DateWindow) -> Sequence[int]:
        """Return the positions of the intervals of a window: a range where no other interval lies between them."""
        runs = [run for run in self.runs(window) if run[0] < run[1]]
        if all(after == first for (_, after), (first, _) in pairwise(runs)):
            return range(runs[0][0], runs[-1][1]) if runs else range(0)
        return [place for run in runs for place in watched(range(*run))]

    def inside(self, span: Span) -> Run:
        """Return the run of intervals inside a span."""
        if span == WITHOUT_DATE:
            return 0, len(self.spans)
        return bisect_left(self._starts, span.first), bisect_right(self._starts, span.last)

    @cached_property
    def _starts(self) -> Sequence[date]:
        return tuple([interval.first for interval in watched(self.spans)])


class WindowRuns:
    """The runs of some windows, made once to be read from the amounts of every base and of all members."""

    def __init__(self, windows: Sequence[DateWindow], splits: IntervalSplits) -> None:
        self.runs = tuple([splits.runs(window) for window in watched(windows)])
        self.divisors = tuple([window.divisor for window in watched(windows)])
        self.closes = tuple([window.closes for window in watched(windows)])
        self.is_divided = any(divisor != 1 for divisor in self.divisors)
        bounds = [run for runs in watched(self.runs) for run in runs if run[0] < run[1]]
        first, after = min((run[0] for run in bounds), default=0), max((run[1] for run in bounds), default=0)
        self.reach = (1 << after) - (1 << first)  # the intervals from the first to the last that any of them reads
        self.are_single = all(len(runs) == 1 for runs in self.runs)  # each one run, as windows of whole months are
        self.never_empty = self.are_single and all(first < after for ((first, after),) in self.runs)
        if self.are_single and len(self.runs) > 1:
            self.firsts = itemgetter(*(first for ((first, _),) in self.runs))
            self.afters = itemgetter(*(after for ((_, after),) in self.runs))


def split_intervals(windows: Iterable[DateWindow], boundaries: Sequence[date] = ()) -> tuple[Span, ...]:
    """Split the days of some windows at every window bound, and before each day of `boundaries`.

    WITHOUT_DATE stays as it is; it stands in no list of windows beside days.
    """
    spans = {span for window in watched(windows) for span in window.spans}
    if WITHOUT_DATE in spans:
        return (WITHOUT_DATE,)
    lasts: dict[int, int] = {}  # the farthest last day, by first day
    for span in watched(spans):
        lasts[span.first.toordinal()] = max(lasts.get(span.first.toordinal(), 0), span.last.toordinal())
    ends = {span.first.toordinal() for span in watched(spans)} | {span.last.toordinal() + 1 for span in watched(spans)}
    cuts = sorted(ends | {day.toordinal() for day in boundaries})
    splits = []
    reach = 0
    for first, after in watched(pairwise(cuts)):
        reach = max(reach, lasts.get(first, 0))
        if first <= reach:
            splits.append(Span(date.fromordinal(first), date.fromordinal(after - 1)))
    return tuple(splits)
