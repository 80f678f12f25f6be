"""Windows: the days that each column reads, split at every boundary so that each interval is summed once."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain, Period, PeriodRange, Span
from engine.model.scenarios import Side, TermSpan
from engine.queries.values import Query

# Views: what one column reads of a domain.


@dataclass(frozen=True, slots=True)
class DomainRead:
    """A scenario of a domain, or two that are blended, inside what may be seen of them and of those compared."""

    domain: str
    term_spans: tuple[TermSpan, ...]
    shared: frozenset[str] = frozenset()

    @property
    def boundaries(self) -> list[date]:
        """The first day of each term after the first."""
        return [term_span.days.first for term_span in self.term_spans[1:]]


# Windows: which days each column of each side reads.


@dataclass(frozen=True, slots=True, eq=False)
class DateWindow:
    """The days that one figure covers, ascending; none where its side has no such periods.

    Compared by identity: a plan makes each of its windows once.
    """

    spans: tuple[Span, ...]
    label: str
    divisor: int = 1  # what the sum is divided by: how many closings it is the mean of
    grains: frozenset[Grain] = frozenset()  # of the codes that bound it

    @classmethod
    def of(cls, runs: Sequence[PeriodRange]) -> "DateWindow":
        """Return the window of some runs of periods, those that touch joined."""
        joined: list[Span] = []
        for run in sorted((run.span for run in runs), key=lambda span: span.first):
            if joined and joined[-1].last.toordinal() + 1 >= run.first.toordinal():
                joined[-1] = Span(joined[-1].first, max(joined[-1].last, run.last))
            else:
                joined.append(run)
        return cls(tuple(joined), ", ".join(run.label for run in runs), grains=frozenset(run.grain for run in runs))

    @property
    def last(self) -> date | None:
        """The last day."""
        return self.spans[-1].last if self.spans else None


EMPTY_WINDOW = DateWindow((), "")


def time_columns(query: Query, calendar: Calendar) -> tuple[Period, ...]:
    """Return the periods a query breaks down by, none where it does not break down by time."""
    if query.time is None:
        return ()
    runs = [calendar.within(run, query.time.grain) for run in query.selected]
    return tuple(period for run in runs if run for period in calendar.periods(run))


def windows_of(side: Side, query: Query, columns: Sequence[Period], calendar: Calendar) -> tuple[DateWindow, ...]:
    """Return the window of each time column of a side, that of the total last.

    A column moves by its own code. A window that depends on the last period only has that of the last column for its
    total; other shifts move the range by its bounds.
    """
    single = [shifted_window(side, [PeriodRange(period, period)], calendar) for period in columns]
    total = single[-1] if single and side.has_window else shifted_window(side, query.selected, calendar)
    return (*single, total)


def shifted_window(side: Side, runs: Sequence[PeriodRange], calendar: Calendar) -> DateWindow:
    """Return some runs as a side reads them; a window depends on the last one only."""
    runs = runs[-1:] if side.has_window else runs
    return DateWindow.of([run for asked in runs if (run := side.window(calendar, asked))])


# Pieces: the days of some windows cut so that each piece lies wholly inside or outside of every window.


class IntervalSplits:
    """The pieces that the sums of some windows are made by, ascending."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans

    @property
    def count(self) -> int:
        """How many amounts there are of each base and member."""
        return len(self.spans)

    def of(self, window: DateWindow) -> Sequence[int]:
        """Return the positions of the pieces a window is made of."""
        found = self._known.get(window)
        if found is None:
            found = self._known[window] = [place for span in window.spans for place in self.inside(span)]
        return found

    def inside(self, span: Span) -> range:
        """Return the positions of the pieces inside a span."""
        return range(bisect_left(self._starts, span.first), bisect_right(self._starts, span.last))

    @cached_property
    def _starts(self) -> list[date]:
        return [interval.first for interval in self.spans]

    @cached_property
    def _known(self) -> dict[DateWindow, Sequence[int]]:
        return {}


def split_intervals(windows: Iterable[DateWindow], boundaries: Sequence[date] = ()) -> tuple[Span, ...]:
    """Return the days of some windows cut into pieces, at some first days as well."""
    spans = {span for window in windows for span in window.spans}
    ordered = sorted(spans, key=lambda span: span.first)
    ends = {span.first.toordinal() for span in spans} | {span.last.toordinal() + 1 for span in spans}
    cuts = sorted(ends | {day.toordinal() for day in boundaries})
    splits = []
    reach = ahead = 0
    for first, after in pairwise(cuts):
        while ahead < len(ordered) and ordered[ahead].first.toordinal() <= first:
            reach = max(reach, ordered[ahead].last.toordinal())
            ahead += 1
        if first <= reach:
            splits.append(Span(date.fromordinal(first), date.fromordinal(after - 1)))
    return tuple(splits)
