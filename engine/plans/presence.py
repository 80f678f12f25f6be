"""Presence: which days hold rows, where balances close, and which days each figure reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from operator import or_

from engine.books.reader import Reader
from engine.model.aggregation import LookBack, TimeRule
from engine.model.calendar.periods import Grain, Period, Span
from engine.model.catalogue import Base, StockGroup
from engine.model.errors import Unavailable
from engine.model.fact_store import Presence
from engine.model.scope import EVERYTHING, NOTHING, Cell
from engine.plans.windows import EMPTY_WINDOW, DateWindow, DomainRead

# What is known of a view before anything is summed: which days hold rows, where balances close, what is open.
#
# All of it is inside what the caller may see, and before any filter of the request.


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a stock group closes inside a window."""

    group: StockGroup
    period: Period
    window: DateWindow


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
class BlendPresence:
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

    def of(self, domain_read: DomainRead, cut: Cell = EVERYTHING) -> Presence:
        """Return on which days a view holds rows inside a cut."""
        parts = [
            (
                term_span.days,
                self.reader.presence(domain_read.domain, term_span.term.scenario.id, cut, domain_read.shared),
            )
            for term_span in domain_read.term_spans
        ]
        return parts[0][1] if len(parts) == 1 else BlendPresence(tuple(parts))

    def anchor(self, domain_read: DomainRead, group: StockGroup, window: DateWindow) -> Anchor | None:
        """Return the last period of the group's grain in which it holds any row of a window."""
        presence = self.of(domain_read, self.group_cell(group))
        days = (presence.last(span) for span in reversed(window.spans))
        last = next((day for day in days if day is not None), None)
        if last is None:
            return None
        period = self.reader.catalogue.calendar.at(last, group.grain)
        if period is None:
            return None
        spans = tuple(inside for span in window.spans if (inside := span.overlap(period.span)))
        return Anchor(group, period, DateWindow(spans, period.label))

    def group_cell(self, group: StockGroup) -> Cell:
        """Return the leaves whose balances close together."""
        return reduce(or_, map(self.reader.cut_cell, group.where), NOTHING)

    def is_complete(self, domain_read: DomainRead, window: DateWindow, grain: Grain) -> bool:
        """Tell whether a window is closed and loaded to its end.

        Loaded to its end: its last period, at the requested grain or the month where that is coarser, does not start
        after the last day that holds rows.
        """
        through, last = self.of(domain_read).through(), window.last
        if through is None or last is None:
            return False
        finest = min(grain, Grain.MONTH, key=lambda other: other.fineness)
        if self.open_span(domain_read, window):
            return False
        period = self.reader.catalogue.calendar.at(last, finest)
        return period is not None and period.first <= through

    def open_span(self, domain_read: DomainRead, window: DateWindow) -> Span | None:
        """Return the days of a window that the registry says are open; the part that its last day is read from says."""
        if window.last is None:
            return None
        term_span = next(term_span for term_span in domain_read.term_spans if term_span.days.holds(window.last))
        closed = term_span.term.scenario.open_after(domain_read.domain)
        if closed is None or window.last <= closed:
            return None
        opens = max(date.fromordinal(closed.toordinal() + 1), term_span.days.first)
        first = next(span for span in window.spans if span.last >= opens)
        return Span(max(first.first, opens), window.last)

    def coverage(self, domain_read: DomainRead, window: DateWindow, grain: Grain) -> Coverage:
        """Return how much of a window holds rows, and how long it is: in months at most, in weeks at least.

        Days without rows are mostly weekends and say nothing.
        """
        calendar = self.reader.catalogue.calendar
        finest = Grain.WEEK if grain is Grain.DATE else min(grain, Grain.MONTH, key=lambda other: other.fineness)
        presence = self.of(domain_read)
        periods = (calendar.at(day, finest) for span in window.spans for day in presence.days(span))
        touched = (calendar.touching(span, finest) for span in window.spans)
        weeks = [calendar.weeks(span) for span in window.spans]
        return Coverage(
            held=len({period.ordinal for period in periods if period}),
            periods=sum(run.count for run in touched if run),
            noun=calendar.grains[finest].noun,
            weeks=None if None in weeks else sum(count for count in weeks if count),
        )


# Reads: which days each figure is made of, when it is asked for a window.
#
# A flow is made of all of them, a balance of those its rule says: of one close, of the last that each leaf has, of
# everything before. What a rule looks at is inside what the caller may see, and before any filter of the request.


DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class WindowResolver:
    """Which days of a window each base reads."""

    presences: Presences

    def window(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> DateWindow:
        """Return the days a base reads for a window."""
        asked = self.rule_days(base, asked)
        return RULES[base.over_time.rule](self, domain_read, base, asked) if asked.spans else EMPTY_WINDOW

    def rule_days(self, base: Base, asked: DateWindow) -> DateWindow:
        """Return the days that the rule of a base applies to: of an opening balance, everything before the window."""
        if not base.over_time.opening or not asked.spans:
            return asked
        first = asked.spans[0].first
        if first == date.min:
            return EMPTY_WINDOW
        return DateWindow((Span(date.min, first - DAY),), f"before {first.isoformat()}")

    def anchor(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> Anchor | None:
        """Return where a balance closes for a window, None where its group holds no row."""
        return self.presences.anchor(domain_read, self.group(base), self.rule_days(base, asked))

    def group(self, base: Base) -> StockGroup:
        """Return the stock group a balance closes with."""
        groups = self.presences.reader.catalogue.domains[base.domain].stock_groups
        if base.stock_group is None:
            raise Unavailable(f"a balance of {base.domain} names no stock group")
        return groups[base.stock_group]

    def holds(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> bool:
        """Tell whether a view holds rows on the days a base reads for a window."""
        presence = self.presences.of(domain_read)
        return any(presence.last(span) is not None for span in self.window(domain_read, base, asked).spans)

    def is_complete(self, domain_read: DomainRead, base: Base, asked: DateWindow, grain: Grain) -> bool:
        """Tell whether the days that the rule of a base applies to are closed and loaded to their end."""
        return self.presences.is_complete(domain_read, self.rule_days(base, asked), grain)

    def all_days(self, _view: DomainRead, _base: Base, asked: DateWindow) -> DateWindow:
        """Read every day."""
        return asked

    def close(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> DateWindow:
        """Read the last period in which the stock group holds any row."""
        anchor = self.presences.anchor(domain_read, self.group(base), asked)
        return EMPTY_WINDOW if anchor is None else anchor.window

    def back(self, _view: DomainRead, base: Base, asked: DateWindow) -> DateWindow:
        """Read everything up to the end, from where the base starts to look."""
        last = asked.spans[-1].last
        first = date.min
        if base.over_time.since is LookBack.RANGE:
            first = asked.spans[0].first
        elif base.over_time.since is LookBack.FISCAL_YEAR:
            year = self.presences.reader.catalogue.calendar.at(last, Grain.YEAR)
            if year is None:
                return EMPTY_WINDOW
            first = year.first
        return DateWindow((Span(first, last),), asked.label)

    def closes(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> DateWindow:
        """Read the close of every period of a grain that has one, to be divided by their number."""
        group, grain = self.group(base), base.over_time.grain or self.group(base).grain
        calendar = self.presences.reader.catalogue.calendar
        held = self.presences.of(domain_read, self.presences.group_cell(group))
        found = (calendar.at(day, grain) for span in asked.spans for day in held.days(span))
        periods = dict.fromkeys(period for period in found if period)
        spans: list[Span] = []
        for period in periods:
            inside = tuple(within for span in asked.spans if (within := span.overlap(period.span)))
            anchor = self.presences.anchor(domain_read, group, DateWindow(inside, period.label))
            spans.extend(anchor.window.spans if anchor else ())
        return DateWindow(tuple(spans), asked.label, divisor=max(len(periods), 1))


RULES: Mapping[TimeRule, Callable[[WindowResolver, DomainRead, Base, DateWindow], DateWindow]] = {
    TimeRule.SUM: WindowResolver.all_days,
    TimeRule.CLOSING: WindowResolver.close,
    TimeRule.LAST_KNOWN: WindowResolver.back,
    TimeRule.TO_DATE: WindowResolver.back,
    TimeRule.AVERAGE: WindowResolver.closes,
}
