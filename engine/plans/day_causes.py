"""Day causes: why a figure is blank where its days decide: they are none, outside the books, or not closed.

Plans of figures and of rows ask alike. Every cause is computed from presences, which lie inside the scope.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Protocol

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.aggregation import LookBack, TimeRule
from engine.model.caching import cached_method
from engine.model.calendar.periods import Grain
from engine.model.catalogue import Base, DayKey
from engine.model.notes import Note
from engine.model.stopping import watched
from engine.plans.expressions import Expression
from engine.plans.presence import Presences, WindowResolver
from engine.plans.windows import ColumnRead, DateWindow, periods_in_books

NO_WINDOW = Note.of("no_window")
NO_ROWS = Note.of("no_rows")
OF_OPERANDS = ("outside_books", "not_loaded")  # causes that one operand may have without the others


class DayPlan(Protocol):
    """What a plan of figures and a plan of rows have in common: the days that they read, and where rows lie."""

    @property
    def reader(self) -> Reader:
        """The reader of the books."""

    @property
    def presences(self) -> Presences:
        """Where the scenarios have rows."""

    @property
    def window_resolver(self) -> WindowResolver:
        """The resolver of the days on which a balance is read."""

    @property
    def bases(self) -> Sequence[Base]:
        """The bases that are summed."""

    @property
    def distinct_reads(self) -> Sequence[ColumnRead]:
        """The windows of every side, each once."""

    @property
    def grain(self) -> Grain:
        """The grain of the range."""

    @property
    def is_undated(self) -> bool:
        """Whether the range is that of rows without a date."""

    def base_windows(self, base: Base, column_read: ColumnRead) -> tuple[DateWindow, ...]:
        """Return the days that a base reads for each window of a column read."""


class DayCauses(Struct, frozen=True, eq=False, dict=True):
    """The causes that lie in the days of a plan."""

    plan: DayPlan

    def of(self, expression: Expression, column_read: ColumnRead, time: int) -> Note | None:
        """Return the cause that lies in the days of a figure, or None if its days are in the books and closed."""
        window = column_read.windows[time]
        if expression.operands and not expression.column_operands:
            return None
        if not window.spans:
            return NO_WINDOW if column_read.side.shifts or self.plan.is_undated else None
        bases = self.bases_of(expression)
        each = [self._causes_of_days(base, column_read, window) for base in bases]
        if not any(map(any, each)):
            return None
        cause: Note | None = next(filter(None, chain.from_iterable(zip(*each, strict=True))), None)
        if cause is None or len(bases) == 1 or cause.code not in OF_OPERANDS:
            return cause
        lacking = {base for base, causes in zip(bases, each, strict=True) if cause in causes}
        operands = [operand.name for operand in expression.column_operands if self._firsts.get(operand.base) in lacking]
        return cause if len(operands) == len(expression.operands) else cause.with_names(operands=tuple(operands))

    def _causes_of_days(self, base: Base, column_read: ColumnRead, window: DateWindow) -> Sequence[Note | None]:
        """Return what each of CAUSES says of the days of a base; kept beside the presences for later reports."""
        named, domain_read = scenario_named(column_read), column_read.domain_read(base.domain)
        key = (domain_read, named, base, window, self.plan.grain)
        return self.plan.presences.seen.causes.get(
            key, lambda: tuple([cause(self, base, column_read, window) for cause in CAUSES])
        )

    @cached_method
    def bases_of(self, expression: Expression) -> tuple[Base, ...]:
        """Return a base for each domain, time rule and stock group of an expression: these decide on its days.

        Operands with a side of their own have other days.
        """
        bases = [self._firsts.get(operand.base, operand.base) for operand in expression.column_operands]
        return tuple(dict.fromkeys(bases) if len(bases) > 1 else bases)

    @cached_property
    def _firsts(self) -> Mapping[Base, Base]:
        """For each base, the first one with the same domain, time rule and stock group."""
        firsts: dict[DayKey, Base] = {}
        bases = watched(self.plan.bases)
        return {base: firsts.setdefault(base.day_key, base) for base in bases}

    def not_zero(self, bases: Sequence[Base], column_read: ColumnRead) -> frozenset[int]:
        """Return the windows of a column read, by position, in which a missing figure of some bases does not mean 0."""
        each = range(len(column_read.windows))
        return frozenset(
            at for at in watched(each) if not all(self.means_zero(base, column_read, at) for base in bases)
        )

    def means_zero(self, base: Base, column_read: ColumnRead, time: int) -> bool:
        """Tell whether a missing figure means 0: its window holds other rows, is closed and loaded to its end."""
        key = (base.day_key, column_read, time)
        is_zero = self._zeros.get(key)
        if is_zero is None:
            resolver, window = self.plan.window_resolver, column_read.windows[time]
            domain_read = column_read.domain_read(base.domain)
            holds = resolver.holds(domain_read, base, window)
            is_zero = self._zeros[key] = holds and resolver.is_complete(domain_read, base, window, self.plan.grain)
        return is_zero

    @cached_property
    def _zeros(self) -> dict[Hashable, bool]:
        """Whether a missing figure means 0, by what decides on it: a domain, a time rule and a window."""
        return {}

    def unknown_times(self, bases: Mapping[DayKey, Base], column_read: ColumnRead) -> Mapping[DayKey, frozenset[int]]:
        """Return the windows of a column read, by position, in which no one knows a figure of some bases, if any.

        It makes the sums that use it blank, but in an open period.
        """
        unknown = {
            days: frozenset(
                at
                for at, window in enumerate(watched(column_read.windows))
                if self._is_unknown(base, column_read, window)
            )
            for days, base in bases.items()
        }
        return {days: times for days, times in unknown.items() if times}

    def _is_unknown(self, base: Base, column_read: ColumnRead, window: DateWindow) -> bool:
        """Tell whether a scenario holds nothing of a domain in the days of a base, nor are they open.

        Nothing lies before the first movement of the books.
        """
        domain_read, days = column_read.domain_read(base.domain), self.plan.window_resolver.rule_days(base, window)
        if not days.spans or self.plan.presences.open_span(domain_read, days):
            return False
        if self.not_loaded(base, column_read, window):
            return True
        is_movement = base.over_time.rule is TimeRule.TO_DATE and base.over_time.since is LookBack.ALWAYS
        return not is_movement and self.outside(base, column_read, window) is not None

    def not_loaded(self, base: Base, column_read: ColumnRead, _window: DateWindow) -> Note | None:
        """Return the note on a scenario that holds nothing of a domain, None if it holds any row."""
        presence = self.plan.presences.of(column_read.domain_read(base.domain))
        if presence.dates or presence.undated:
            return None
        return Note.of("not_loaded", scenario=scenario_named(column_read), domain=base.domain)

    def outside(self, base: Base, column_read: ColumnRead, window: DateWindow) -> Note | None:
        """Return the note on days before the first or after the last loaded period; None if a day lies between."""
        plan, domain_read = self.plan, column_read.domain_read(base.domain)
        days = plan.window_resolver.reach(domain_read, base, window).spans
        books = plan.presences.loaded(domain_read)
        if books is None or not days or window.is_undated:
            return None
        is_short = window.mean_grain and periods_in_books(
            window, window.mean_grain, books, plan.reader.catalogue.calendar
        )
        if not is_short and any(span.overlap(books) for span in days):
            return None
        dates = plan.presences.of(domain_read).dates
        calendar, grain = plan.reader.catalogue.calendar, plan.reader.catalogue.domains[base.domain].grain
        return Note.of(
            "outside_books",
            scenario=scenario_named(column_read),
            domain=base.domain,
            first=calendar.code_at(dates[0], grain),
            last=calendar.code_at(dates[-1], grain),
        )

    def opened(self, base: Base, column_read: ColumnRead, window: DateWindow) -> Note | None:
        """Return the note on days that are open or not loaded to their end, or None if they are complete."""
        plan, domain_read = self.plan, column_read.domain_read(base.domain)
        days = plan.window_resolver.rule_days(base, window)
        if not plan.presences.is_open(domain_read, days, plan.grain):
            return None
        return Note.of("open_period", scenario=scenario_named(column_read), domain=base.domain)


BaseCause = Callable[[DayCauses, Base, ColumnRead, DateWindow], Note | None]
CAUSES: tuple[BaseCause, ...] = (
    DayCauses.outside,
    DayCauses.not_loaded,
    DayCauses.opened,
)  # that lie in the days of a base


def scenario_named(column_read: ColumnRead) -> str:
    """Return the scenarios of a side, without shifts."""
    return "+".join(term.scenario.id for term in column_read.side.terms)
