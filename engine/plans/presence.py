"""Presence: which days hold rows, where balances close, and which days each figure reads."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date
from functools import reduce
from itertools import product
from operator import or_

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.aggregation import LookBack, TimeRule
from engine.model.caching import MOST_KEPT, LazyTable
from engine.model.calendar.periods import DAY, Grain, Period, Span
from engine.model.catalogue import Base, DayKey, StockGroup
from engine.model.errors import Unavailable
from engine.model.fact_store import Presence
from engine.model.notes import Note
from engine.model.scenarios import Reference, Side, TermSpan
from engine.model.scope import EVERYTHING, NOTHING, Cell
from engine.model.stopping import watched
from engine.plans.windows import EMPTY_WINDOW, DateWindow, DomainRead, IntervalSplits

# Presence is restricted to the scope of the caller and ignores the filters of the request.


class Anchor(Struct, frozen=True):
    """The period in which a stock group closes, and the days of the window inside it."""

    group: StockGroup
    period: Period
    window: DateWindow


class Coverage(Struct, frozen=True, kw_only=True):
    """How many of the periods of a window hold rows. Grains coarser than a month count months."""

    held: int
    periods: int  # without those of `cut`
    cut: int  # weeks without rows that a range of days cuts: rows may lie outside the range
    noun: str
    weeks: int | None  # length of the window, if periods consist of weeks


# Time rules that read where a stock group closes.
ANCHORED = (TimeRule.CLOSING, TimeRule.AVERAGE, TimeRule.LOWEST, TimeRule.HIGHEST)
PresenceKey = tuple[str, str, frozenset[str], str | None]  # domain, scenario, compared scenarios, stock group


def ask_presence(
    references: Iterable[Reference],
    domains: Iterable[str],
    bases: Sequence[Base],
    reader: Reader,
    compared: frozenset[str] = frozenset(),
    further: Iterable[tuple[Side, frozenset[str]]] = (),
) -> "Presences":
    """Ask where the scenarios of some references have rows, in all domains and stock groups that a plan may read.

    `compared` names scenarios whose scope narrows that of every side, besides those that a variance compares. `further`
    are the sides of operands, each with the scenarios whose scope narrows it.
    """
    sides = {(side, compared_with(side, known.sides)) for known in references for side in known.sides} | {*further}
    read = frozenset((term.scenario.id, others) for side, others in sides for term in side.terms)
    asked = (tuple(dict.fromkeys((*domains, *(base.domain for base in bases)))), read, tuple(bases), compared)
    known = reader.memo_as_seen(("presences", asked), lambda: SeenDays(known_presences(*asked, reader)), days_of)
    return Presences(reader, known)


def known_presences(
    domains: Iterable[str],
    read: Iterable[tuple[str, frozenset[str]]],
    bases: Sequence[Base],
    compared: frozenset[str],
    reader: Reader,
) -> Mapping[PresenceKey, Presence]:
    """Return where scenarios have rows, each by itself and beside the scenarios that it is compared with."""
    known: dict[PresenceKey, Presence] = {}
    for domain in domains:
        groups = reader.catalogue.domains[domain].stock_groups
        closing = {base.stock_group for base in bases if base.domain == domain and base.over_time.rule in ANCHORED}
        cuts: dict[str | None, Cell] = {None: EVERYTHING}
        cuts |= {key: group_cell(group, reader) for key, group in groups.items() if key in closing}
        for scenario, others in sorted(read, key=lambda known: (known[0], *sorted(known[1]))):
            for shared, (group, cut) in product({frozenset(), others, compared}, cuts.items()):
                known[domain, scenario, shared, group] = reader.presence(domain, scenario, cut, shared)
    return known


class SeenDays:
    """Where scenarios have rows as one permission sees them, and what reports have found out from it."""

    def __init__(self, known: Mapping[PresenceKey, Presence]) -> None:
        self.known = known
        self.blends: LazyTable[tuple[DomainRead, str | None], Presence] = LazyTable()
        self.anchors: LazyTable[tuple[DomainRead, str, tuple[Span, ...]], Anchor | None] = LazyTable()
        self.coverages: LazyTable[tuple[DomainRead, tuple[Span, ...], Grain], Coverage] = LazyTable()
        self.opened: LazyTable[tuple[DomainRead, tuple[DateWindow, ...], Grain], str | None] = LazyTable()
        self.months: LazyTable[DomainRead, IntervalSplits] = LazyTable()
        self.unknown: LazyTable[Hashable, Mapping[DayKey, frozenset[int]]] = LazyTable()
        self.causes: LazyTable[tuple[DomainRead, str, Base, DateWindow, Grain], Sequence[Note | None]] = LazyTable()


def days_of(seen: SeenDays) -> int:
    """Return the number of days that some presences hold, and the most that is kept of what follows from them."""
    return sum(len(presence.dates) for presence in seen.known.values()) + 4 * MOST_KEPT


def compared_with(side: Side, sides: Sequence[Side]) -> frozenset[str]:
    """Return the scenarios whose scope narrows a side of a reference, besides its own if it reads only one.

    Every scenario that a side names narrows each side, the two of a blend too. A side beside itself is not narrowed.
    """
    if all(other == side for other in sides):
        return frozenset()
    own = {term.scenario.id for term in side.terms}
    return frozenset(term.scenario.id for other in sides for term in other.terms) - (own if len(own) == 1 else set())


def group_cell(group: StockGroup, reader: Reader) -> Cell:
    """Return the leaves whose balances close at one anchor."""
    return reduce(or_, map(reader.cut_cell, group.where), NOTHING)


class Presences(Struct, frozen=True):
    """Where the domain reads of a plan have rows. Everything was asked beforehand."""

    reader: Reader
    seen: SeenDays

    def of(self, domain_read: DomainRead, group: StockGroup | None = None) -> Presence:
        """Return the presence of a domain read: of all its rows, or of a stock group's.

        A blend has the rows of each term on the days of the term.
        """
        parts = [
            (
                self.seen.known[
                    domain_read.domain, term_span.term.scenario.id, domain_read.shared, group.key if group else None
                ],
                term_span.days,
            )
            for term_span in domain_read.term_spans
        ]
        if len(parts) == 1:
            return parts[0][0]

        def blend() -> Presence:
            days = (day for presence, span in parts for day in watched(presence.days(span)))
            undated = sum(presence.undated for presence, _ in parts)
            return Presence(tuple(days), undated, lasts=all(presence.lasts for presence, _ in parts))

        return self.seen.blends.get((domain_read, group.key if group else None), blend)

    def months(self, domain_read: DomainRead) -> IntervalSplits:
        """Return the calendar months that hold rows of a domain read, the same object for all who see rows in them."""
        return self.seen.months.get(domain_read, lambda: self._months(self.of(domain_read).months))

    def _months(self, months: tuple[Span, ...]) -> IntervalSplits:
        return self.reader.memo(("months", months), lambda: IntervalSplits(months), len(months) + 2 * MOST_KEPT)

    def cell(self, domain_read: DomainRead, term_span: TermSpan) -> Cell:
        """Return the visible cell of one term of a domain read."""
        return self.reader.shared_cell({term_span.term.scenario.id, *domain_read.shared}, domain_read.domain)

    def periods(
        self, domain_read: DomainRead, spans: Iterable[Span], grain: Grain, group: StockGroup | None = None
    ) -> list[Period]:
        """Return the distinct periods of a grain in which a domain read has rows on days of some ascending spans."""
        presence, calendar = self.of(domain_read, group), self.reader.catalogue.calendar
        return list(dict.fromkeys(period for span in spans for period in presence.periods(span, calendar, grain)))

    def anchor(self, domain_read: DomainRead, group: StockGroup, window: DateWindow) -> Anchor | None:
        """Return the anchor: the last period of the group's grain in which the window holds rows; None without rows."""
        key = (domain_read, group.key, window.spans)
        return self.seen.anchors.get(key, lambda: self._anchor(domain_read, group, window))

    def _anchor(self, domain_read: DomainRead, group: StockGroup, window: DateWindow) -> Anchor | None:
        presence = self.of(domain_read, group)
        days = (presence.last(span) for span in reversed(window.spans))
        last = next((day for day in days if day is not None), None)
        if last is None:
            return None
        period = self.reader.catalogue.calendar.at(last, group.grain)
        if period is None:
            return None
        spans = tuple(inside for span in window.spans if (inside := span.overlap(period.span)))
        return Anchor(group, period, DateWindow(spans, period.label))

    def is_complete(self, domain_read: DomainRead, window: DateWindow, grain: Grain) -> bool:
        """Tell whether a window is closed and loaded to its end.

        A window is loaded to its end if its last period starts no later than the last day that holds rows. The period
        has the requested grain, but at most a month. Rows without a date have no end to wait for.
        """
        if window.is_undated:
            return True
        if self.of(domain_read).through is None or window.last is None:
            return False
        return not self.is_open(domain_read, window, grain)

    def is_open(self, domain_read: DomainRead, window: DateWindow, grain: Grain) -> bool:
        """Tell whether a window is open, or rows are loaded but not to its end."""
        through, last = self.loaded_to(domain_read), window.last
        if last is None:
            return False
        if self.open_span(domain_read, window):
            return True
        calendar = self.reader.catalogue.calendar
        period = calendar.at(last, calendar.at_most_month(grain))
        return through is not None and (period.first if period else last) > through

    def loaded(self, domain_read: DomainRead) -> Span | None:
        """Return the days from the first to the last loaded period, at the grain of the domain; None without rows."""
        dates = self.of(domain_read).dates
        if not dates:
            return None
        calendar, grain = self.reader.catalogue.calendar, self.reader.catalogue.domains[domain_read.domain].grain
        first, last = (calendar.at(day, grain) for day in (dates[0], dates[-1]))
        return Span(first.first if first else dates[0], last.last if last else dates[-1])

    def loaded_to(self, domain_read: DomainRead) -> date | None:
        """Return the last day of the last period that holds rows, at the domain's grain; None if there are no rows."""
        last, grain = self.of(domain_read).through, self.reader.catalogue.domains[domain_read.domain].grain
        period = last and self.reader.catalogue.calendar.at(last, grain)
        return period.last if period else last

    def open_span(self, domain_read: DomainRead, window: DateWindow) -> Span | None:
        """Return the open days of a window, by the scenario that the last day is read from; None if all are closed."""
        if (last := window.last) is None:
            return None
        term_span = next(term_span for term_span in domain_read.term_spans if term_span.days.holds(last))
        closed = term_span.term.scenario.open_after(domain_read.domain)
        if closed is None or last <= closed:
            return None
        opens = max(date.fromordinal(closed.toordinal() + 1), term_span.days.first)
        first = next(span for span in window.spans if span.last >= opens)
        return Span(max(first.first, opens), last)

    def open_codes(self, domain_read: DomainRead, windows: Iterable[DateWindow], grain: Grain) -> str | None:
        """Return the open periods of some windows that hold rows, as a code or START..END; None if there are none."""
        key = (domain_read, tuple(windows), grain)
        return self.seen.opened.get(key, lambda: self._open_codes(*key))

    def _open_codes(self, domain_read: DomainRead, windows: Sequence[DateWindow], grain: Grain) -> str | None:
        opened = [span for window in watched(windows) if (span := self.open_span(domain_read, window))]
        until = (self.loaded_to(domain_read) if opened else None) or date.min
        if not (spans := [span for span in opened if span.first <= until]):
            return None
        bounds = (min(span.first for span in spans), min(max(span.last for span in spans), until))
        first, last = (self.reader.catalogue.calendar.code_at(day, grain) for day in bounds)
        return first if first == last else f"{first}..{last}"

    def coverage(self, domain_read: DomainRead, window: DateWindow, grain: Grain) -> Coverage:
        """Return how many periods of a window hold rows, in periods between a week and a month.

        Days are too fine: days without rows are mostly weekends.
        """
        key = (domain_read, window.spans, grain)
        return self.seen.coverages.get(key, lambda: self._coverage(domain_read, window, grain))

    def _coverage(self, domain_read: DomainRead, window: DateWindow, grain: Grain) -> Coverage:
        calendar = self.reader.catalogue.calendar
        finest = Grain.WEEK if grain is Grain.DATE else calendar.at_most_month(grain)
        held = self.periods(domain_read, window.spans, finest)
        touched = [(span, run) for span in window.spans if (run := calendar.touching(span, finest))]
        cut = {end for span, run in touched for end in (run.start, run.end) if end.span.overlap(span) != end.span}
        empty = len(cut.difference(held)) if grain is Grain.DATE else 0
        weeks = [calendar.weeks(span, grain) for span in window.spans]
        return Coverage(
            held=len(held),
            periods=sum(run.count for _, run in touched) - empty,
            cut=empty,
            noun=calendar.grains[finest].noun,
            weeks=None if None in weeks else sum(count for count in weeks if count),
        )


class WindowResolver(Struct, frozen=True):
    """Resolves which days of a window a base reads: all days for a flow, the days of its time rule for a balance."""

    presences: Presences

    def window(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> DateWindow:
        """Return the days that a base reads for a window."""
        days, books = self.rule_days(base, asked), self.presences.loaded(domain_read) if asked.step else None
        if not days.spans or asked.lacks(base.over_time, books, self.presences.reader.catalogue.calendar):
            return EMPTY_WINDOW
        rule = TimeRule.AVERAGE if asked.mean_grain and base.over_time.closes else base.over_time.rule
        return RULES[rule](self, domain_read, base, days)

    def rule_days(self, base: Base, asked: DateWindow) -> DateWindow:
        """Return the days that the time rule applies to: the window, or all days before it for an opening balance."""
        if not base.over_time.opening or not asked.spans:
            return asked
        first = asked.spans[0].first
        if first == date.min:
            return EMPTY_WINDOW
        return DateWindow((Span(date.min, first - DAY),), f"before {first.isoformat()}")

    def anchor(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> Anchor | None:
        """Return the anchor of a balance for a window, or None if its stock group holds no row."""
        return self.presences.anchor(domain_read, self.group(base), self.rule_days(base, asked))

    def group(self, base: Base) -> StockGroup:
        """Return the stock group of a balance; Unavailable if it has none."""
        groups = self.presences.reader.catalogue.domains[base.domain].stock_groups
        if base.stock_group is None:
            raise Unavailable(f"a balance of {base.domain} names no stock group")
        return groups[base.stock_group]

    def holds(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> bool:
        """Tell whether a domain read holds rows on the days that a base reads for a window."""
        presence = self.presences.of(domain_read)
        return any(map(presence.holds, self.window(domain_read, base, asked).spans))

    def reach(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> DateWindow:
        """Return the days of a window on which a base looks for rows."""
        days = self.rule_days(base, asked)
        anchored = base.over_time.rule in ANCHORED or not days.spans
        return days if anchored else RULES[base.over_time.rule](self, domain_read, base, days)

    def is_complete(self, domain_read: DomainRead, base: Base, asked: DateWindow, grain: Grain) -> bool:
        """Tell whether the days of the time rule of a base are closed and loaded to their end."""
        return self.presences.is_complete(domain_read, self.rule_days(base, asked), grain)

    def all_days(self, _view: DomainRead, _base: Base, asked: DateWindow) -> DateWindow:
        """Read every day."""
        return asked

    def close(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> DateWindow:
        """Read the anchor: the last period in which the stock group holds rows."""
        anchor = self.presences.anchor(domain_read, self.group(base), asked)
        return EMPTY_WINDOW if anchor is None else anchor.window

    def back(self, _view: DomainRead, base: Base, asked: DateWindow) -> DateWindow:
        """Read all days up to the end of the window, from the start that the base defines."""
        first, last = date.min, asked.spans[-1].last
        if base.over_time.since is LookBack.RANGE:
            first = asked.spans[0].first
        elif base.over_time.since is LookBack.FISCAL_YEAR:
            year = self.presences.reader.catalogue.calendar.at(last, Grain.YEAR)
            if year is None:
                return EMPTY_WINDOW
            first = year.first
        return DateWindow((Span(first, last),), asked.label)

    def closes(self, domain_read: DomainRead, base: Base, asked: DateWindow) -> DateWindow:
        """Read the close of every period that has one: the number of periods divides a mean, else one is chosen.

        What is chosen closes by the grain that the group declares, else by that of the domain.
        """
        group, domain = self.group(base), self.presences.reader.catalogue.domains[base.domain]
        closing = domain.grain if base.over_time.choose and not group.declared else group.grain
        grain = base.over_time.grain or asked.mean_grain or closing
        periods = self.presences.periods(domain_read, asked.spans, grain, group)
        spans: list[Span] = []
        closes: list[int] = []
        for period in watched(periods):
            inside = tuple(within for span in asked.spans if (within := span.overlap(period.span)))
            anchor = self.presences.anchor(domain_read, group, DateWindow(inside, period.label))
            spans.extend(anchor.window.spans if anchor else ())
            closes.append(len(spans))
        if base.over_time.choose:
            return DateWindow(tuple(spans), asked.label, closes=tuple(closes))
        return DateWindow(tuple(spans), asked.label, divisor=max(len(periods), 1))


RULES: Mapping[TimeRule, Callable[[WindowResolver, DomainRead, Base, DateWindow], DateWindow]] = {
    TimeRule.SUM: WindowResolver.all_days,
    TimeRule.CLOSING: WindowResolver.close,
    TimeRule.LAST_KNOWN: WindowResolver.back,
    TimeRule.TO_DATE: WindowResolver.back,
    TimeRule.AVERAGE: WindowResolver.closes,
    TimeRule.LOWEST: WindowResolver.closes,
    TimeRule.HIGHEST: WindowResolver.closes,
}
