"""What is known of a view before anything is summed: which days hold rows, where balances close, what is open.

All of it is inside what the caller may see, and before any filter of the request.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import or_

from engine.calendar.periods import Grain, Period, Span
from engine.catalogue import StockGroup
from engine.plans.view import View
from engine.plans.windows import Window
from engine.reader import Reader
from engine.scope import EVERYTHING, NOTHING, Cell
from engine.slices import Presence


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a stock group closes inside a window."""

    group: StockGroup
    period: Period
    window: Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many periods of a window hold rows, of how many; months where the grain is coarser."""

    held: int
    periods: int
    noun: str
    weeks: int | None  # its length, where periods are made of weeks

    def __str__(self) -> str:
        weeks = "" if self.weeks is None else f" ({self.weeks} weeks)"
        return f"{self.held} of {self.periods}{weeks}"


@dataclass(frozen=True, slots=True)
class Blended:
    """Presence of several scenarios, each on its own days, ascending."""

    parts: tuple[tuple[Span, Presence], ...]

    def days(self, span: Span) -> Sequence[date]:
        """Return the days of a span that hold rows, ascending."""
        inside = ((span.overlap(days), presence) for days, presence in self.parts)
        return [day for within, presence in inside if within for day in presence.days(within)]

    def last(self, span: Span) -> date | None:
        """Return the last day of a span that holds rows."""
        inside = ((span.overlap(days), presence) for days, presence in reversed(self.parts))
        return next((day for within, presence in inside if within and (day := presence.last(within))), None)

    def through(self) -> date | None:
        """Return the last day of all that holds rows."""
        return self.last(Span(date.min, date.max))

    def undated(self) -> int:
        """Return how many rows have no date."""
        return sum(presence.undated() for _, presence in self.parts)

    def codes(self, dimension: str) -> frozenset[int]:
        """Return the codes of a leaf dimension that some row has."""
        return frozenset().union(*(presence.codes(dimension) for _, presence in self.parts))

    def unassigned(self, dimensions: Sequence[str]) -> frozenset[str]:
        """Return the leaf dimensions of which some row has no member."""
        return frozenset().union(*(presence.unassigned(dimensions) for _, presence in self.parts))

    def brought_by(self, load: str) -> bool:
        """Tell whether a load brought some row."""
        return any(presence.brought_by(load) for _, presence in self.parts)


@dataclass(frozen=True, slots=True)
class Presences:
    """Presence of every view of one reader."""

    reader: Reader

    def of(self, view: View, cut: Cell = EVERYTHING) -> Presence:
        """Return on which days a view holds rows inside a cut."""
        parts = [
            (portion.days, self.reader.presence(view.domain, portion.part.scenario.id, cut, view.shared))
            for portion in view.portions
        ]
        return parts[0][1] if len(parts) == 1 else Blended(tuple(parts))

    def anchor(self, view: View, group: StockGroup, window: Window) -> Anchor | None:
        """Return the last period of the group's grain in which it holds any row of a window."""
        presence = self.of(view, self.group_cell(group))
        days = (presence.last(span) for span in reversed(window.spans))
        last = next((day for day in days if day is not None), None)
        if last is None:
            return None
        period = self.reader.catalogue.calendar.at(last, group.grain)
        if period is None:
            return None
        spans = tuple(inside for span in window.spans if (inside := span.overlap(period.span)))
        return Anchor(group, period, Window(spans, period.label))

    def group_cell(self, group: StockGroup) -> Cell:
        """Return the leaves whose balances close together."""
        return reduce(or_, map(self.reader.cut_cell, group.where), NOTHING)

    def is_complete(self, view: View, window: Window, grain: Grain) -> bool:
        """Tell whether a window is closed and loaded to its end.

        Loaded to its end: its last period, at the requested grain or the month where that is coarser, does not start
        after the last day that holds rows.
        """
        through, last = self.of(view).through(), window.last
        if through is None or last is None:
            return False
        finest = min(grain, Grain.MONTH, key=lambda other: other.fineness)
        if self.open_span(view, window):
            return False
        period = self.reader.catalogue.calendar.at(last, finest)
        return period is not None and period.first <= through

    def open_span(self, view: View, window: Window) -> Span | None:
        """Return the days of a window that the registry says are open; the part that its last day is read from says."""
        if window.last is None:
            return None
        portion = next(portion for portion in view.portions if portion.days.holds(window.last))
        closed = portion.part.scenario.open_after(view.domain)
        if closed is None or window.last <= closed:
            return None
        opens = max(date.fromordinal(closed.toordinal() + 1), portion.days.first)
        first = next(span for span in window.spans if span.last >= opens)
        return Span(max(first.first, opens), window.last)

    def coverage(self, view: View, window: Window, grain: Grain) -> Coverage:
        """Return how much of a window holds rows, and how long it is: in months at most, in weeks at least.

        Days without rows are mostly weekends and say nothing.
        """
        calendar = self.reader.catalogue.calendar
        finest = Grain.WEEK if grain is Grain.DATE else min(grain, Grain.MONTH, key=lambda other: other.fineness)
        presence = self.of(view)
        periods = (calendar.at(day, finest) for span in window.spans for day in presence.days(span))
        touched = (calendar.touching(span, finest) for span in window.spans)
        weeks = [calendar.weeks(span) for span in window.spans]
        return Coverage(
            held=len({period.ordinal for period in periods if period}),
            periods=sum(run.count for run in touched if run),
            noun=calendar.grains[finest].noun,
            weeks=None if None in weeks else sum(count for count in weeks if count),
        )
