"""What is known of a view before anything is summed: which days hold rows, where balances close, what is open.

All of it is inside what the caller may see, and before any filter of the request.
"""

from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import or_

from engine.calendar.periods import Grain, Period, Span
from engine.catalogue import Base, OverTime, StockGroup
from engine.errors import Unavailable
from engine.plans.measure import View
from engine.plans.windows import NO_DAYS, Window
from engine.reader import Reader
from engine.scenarios import Scenario
from engine.scope import EVERYTHING, NOTHING, Cell
from engine.slices import Presence


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a stock group closes inside a window."""

    group: StockGroup
    period: Period
    window: Window


@dataclass(frozen=True, slots=True)
class Presences:
    """Presence of every view of one reader."""

    reader: Reader

    def of(self, view: View, cut: Cell = EVERYTHING) -> Presence:
        """Return on which days a view holds rows inside a cut."""
        return self.reader.presence(view.domain, view.scenario, cut, view.shared)

    def anchor(self, view: View, group: StockGroup, window: Window) -> Anchor | None:
        """Return the last period of the group's grain in which it holds any row of a window."""
        presence = self.of(view, self.group_cell(group))
        days = (presence.last(span) for span in reversed(window.spans))
        last = next((day for day in days if day is not None), None)
        if last is None:
            return None
        period = self.reader.catalogue.calendar.at(last, group.grain)
        spans = tuple(inside for span in window.spans if (inside := span.overlap(period.span)))
        return Anchor(group, period, Window(spans, period.label))

    def group_cell(self, group: StockGroup) -> Cell:
        """Return the leaves whose balances close together."""
        return reduce(or_, map(self.reader.cut_cell, group.where), NOTHING)

    def read_window(self, view: View, base: Base, window: Window) -> Window:
        """Return the days a base reads for a window: all of a flow, those of the anchor of a balance."""
        if base.over_time is OverTime.SUM:
            return window
        anchor = self.anchor(view, self.group_of(base), window)
        return NO_DAYS if anchor is None else anchor.window

    def group_of(self, base: Base) -> StockGroup:
        """Return the stock group a balance closes with."""
        groups = self.reader.catalogue.domains[base.domain].stock_groups
        if base.stock_group is None:
            raise Unavailable(f"a balance of {base.domain} names no stock group")
        return groups[base.stock_group]

    def holds(self, view: View, base: Base, window: Window) -> bool:
        """Tell whether a view holds rows in a window; of a balance, whether it has an anchor there."""
        if base.over_time is OverTime.CLOSING:
            return self.anchor(view, self.group_of(base), window) is not None
        presence = self.of(view)
        return any(presence.last(span) is not None for span in window.spans)

    def is_complete(self, view: View, window: Window, grain: Grain) -> bool:
        """Tell whether a window is closed and loaded to its end.

        Loaded to its end: its last period, at the requested grain or the month where that is coarser, does not start
        after the last day that holds rows.
        """
        through, last = self.of(view).through(), window.last
        if through is None or last is None:
            return False
        finest = min(grain, Grain.MONTH, key=lambda other: other.fineness)
        closed = self.scenario(view).open_after(view.domain)
        if closed is not None and last > closed:
            return False
        return self.reader.catalogue.calendar.at(last, finest).first <= through

    def scenario(self, view: View) -> Scenario:
        """Return the base scenario of a view."""
        return self.reader.catalogue.scenarios[view.scenario]

    def open_span(self, view: View, window: Window) -> Span | None:
        """Return the days of a window that the registry says are open."""
        closed = self.scenario(view).open_after(view.domain)
        if closed is None or window.last is None or window.last <= closed:
            return None
        first = next(span for span in window.spans if span.last > closed)
        return Span(max(first.first, date.fromordinal(closed.toordinal() + 1)), window.last)

    def coverage(self, view: View, window: Window, grain: Grain) -> tuple[int, int]:
        """Return how many periods of a window hold rows, and how many there are; months where the grain is coarser."""
        calendar = self.reader.catalogue.calendar
        finest = min(grain, Grain.MONTH, key=lambda other: other.fineness)
        presence = self.of(view)
        held = {calendar.at(day, finest).ordinal for span in window.spans for day in presence.days(span)}
        asked = sum(
            calendar.at(span.last, finest).ordinal - calendar.at(span.first, finest).ordinal + 1
            for span in window.spans
        )
        return len(held), asked
