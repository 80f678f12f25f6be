"""Reads: which days each figure is made of, when it is asked for a window.

A flow is made of all of them, a balance of those its rule says: of one close, of the last that each leaf has, of
everything before. What a rule looks at is inside what the caller may see, and before any filter of the request.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from engine.adding import Rule, Since
from engine.calendar.periods import Grain, Span
from engine.catalogue import Base, StockGroup
from engine.errors import Unavailable
from engine.plans.presences import Anchor, Presences
from engine.plans.view import View
from engine.plans.windows import NO_DAYS, Window

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Reads:
    """Which days of a window each base reads."""

    presences: Presences

    def window(self, view: View, base: Base, asked: Window) -> Window:
        """Return the days a base reads for a window."""
        asked = self.looked_at(base, asked)
        return RULES[base.over_time.rule](self, view, base, asked) if asked.spans else NO_DAYS

    def looked_at(self, base: Base, asked: Window) -> Window:
        """Return the days that the rule of a base applies to: of an opening balance, everything before the window."""
        if not base.over_time.opening or not asked.spans:
            return asked
        first = asked.spans[0].first
        if first == date.min:
            return NO_DAYS
        return Window((Span(date.min, first - DAY),), f"before {first.isoformat()}")

    def anchor(self, view: View, base: Base, asked: Window) -> Anchor | None:
        """Return where a balance closes for a window, None where its group holds no row."""
        return self.presences.anchor(view, self.group(base), self.looked_at(base, asked))

    def group(self, base: Base) -> StockGroup:
        """Return the stock group a balance closes with."""
        groups = self.presences.reader.catalogue.domains[base.domain].stock_groups
        if base.stock_group is None:
            raise Unavailable(f"a balance of {base.domain} names no stock group")
        return groups[base.stock_group]

    def holds(self, view: View, base: Base, asked: Window) -> bool:
        """Tell whether a view holds rows on the days a base reads for a window."""
        presence = self.presences.of(view)
        return any(presence.last(span) is not None for span in self.window(view, base, asked).spans)

    def is_complete(self, view: View, base: Base, asked: Window, grain: Grain) -> bool:
        """Tell whether the days that the rule of a base applies to are closed and loaded to their end."""
        return self.presences.is_complete(view, self.looked_at(base, asked), grain)

    def all_days(self, _view: View, _base: Base, asked: Window) -> Window:
        """Read every day."""
        return asked

    def close(self, view: View, base: Base, asked: Window) -> Window:
        """Read the last period in which the stock group holds any row."""
        anchor = self.presences.anchor(view, self.group(base), asked)
        return NO_DAYS if anchor is None else anchor.window

    def back(self, _view: View, base: Base, asked: Window) -> Window:
        """Read everything up to the end, from where the base starts to look."""
        last = asked.spans[-1].last
        first = date.min
        if base.over_time.since is Since.RANGE:
            first = asked.spans[0].first
        elif base.over_time.since is Since.FISCAL_YEAR:
            year = self.presences.reader.catalogue.calendar.at(last, Grain.YEAR)
            if year is None:
                return NO_DAYS
            first = year.first
        return Window((Span(first, last),), asked.label)

    def closes(self, view: View, base: Base, asked: Window) -> Window:
        """Read the close of every period of a grain that has one, to be divided by their number."""
        group, grain = self.group(base), base.over_time.grain or self.group(base).grain
        calendar = self.presences.reader.catalogue.calendar
        held = self.presences.of(view, self.presences.group_cell(group))
        found = (calendar.at(day, grain) for span in asked.spans for day in held.days(span))
        periods = dict.fromkeys(period for period in found if period)
        spans: list[Span] = []
        for period in periods:
            inside = tuple(within for span in asked.spans if (within := span.overlap(period.span)))
            anchor = self.presences.anchor(view, group, Window(inside, period.label))
            spans.extend(anchor.window.spans if anchor else ())
        return Window(tuple(spans), asked.label, divisor=max(len(periods), 1))


RULES: Mapping[Rule, Callable[[Reads, View, Base, Window], Window]] = {
    Rule.SUM: Reads.all_days,
    Rule.CLOSING: Reads.close,
    Rule.LAST_KNOWN: Reads.back,
    Rule.TO_DATE: Reads.back,
    Rule.AVERAGE: Reads.closes,
}
