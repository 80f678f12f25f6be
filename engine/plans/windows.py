"""Windows: which days each column of each side reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from engine.calendar.calendar import Calendar
from engine.calendar.periods import Grain, Period, PeriodRange, Span
from engine.queries.values import Query
from engine.scenarios import Side


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The days that one figure covers, ascending; none where its side has no such periods.

    Compared by identity: a plan makes each of its windows once.
    """

    spans: tuple[Span, ...]
    label: str
    divisor: int = 1  # what the sum is divided by: how many closings it is the mean of
    grains: frozenset[Grain] = frozenset()  # of the codes that bound it

    @classmethod
    def of(cls, runs: Sequence[PeriodRange]) -> "Window":
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


NO_DAYS = Window((), "")


def time_columns(query: Query, calendar: Calendar) -> tuple[Period, ...]:
    """Return the periods a query breaks down by, none where it does not break down by time."""
    if query.time is None:
        return ()
    runs = [calendar.within(run, query.time.grain) for run in query.selected]
    return tuple(period for run in runs if run for period in calendar.periods(run))


def windows_of(side: Side, query: Query, columns: Sequence[Period], calendar: Calendar) -> tuple[Window, ...]:
    """Return the window of each time column of a side, that of the total last.

    A column moves by its own code. A window that depends on the last period only has that of the last column for its
    total; other shifts move the range by its bounds.
    """
    single = [moved(side, [PeriodRange(period, period)], calendar) for period in columns]
    total = single[-1] if single and side.has_window else moved(side, query.selected, calendar)
    return (*single, total)


def moved(side: Side, runs: Sequence[PeriodRange], calendar: Calendar) -> Window:
    """Return some runs as a side reads them; a window depends on the last one only."""
    runs = runs[-1:] if side.has_window else runs
    return Window.of([run for asked in runs if (run := side.window(calendar, asked))])
