"""Day causes: why a figure is blank where its days decide: they are none, outside the books, or not closed.

Plans of figures and of rows ask alike. Every cause is computed from presences, which lie inside the scope.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain

from msgspec import Struct

from engine.model.aggregation import LookBack, TimeRule
from engine.model.caching import cached_method
from engine.model.catalogue import Base, DayKey
from engine.model.notes import Note
from engine.model.stopping import watched
from engine.plans.presence import DayPlan
from engine.plans.rows import Expression
from engine.plans.windows import ColumnRead, DateWindow

NO_WINDOW = Note.of("no_window")
NO_ROWS = Note.of("no_rows")
OF_OPERANDS = ("outside_books", "not_loaded")  # causes that one operand may have without the others


class DayCauses(Struct, frozen=True, eq=False, dict=True):
    """The causes that lie in the days of a plan."""

    plan: DayPlan

    def of(self, expression: Expression, column_read: ColumnRead, time: int) -> Note | None:
        """Return the cause that lies in the days of a figure, or None if its days are in the books and closed."""
        window = column_read.windows[time]
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
        operands = [operand.name for operand in expression.operands if self._firsts.get(operand.base) in lacking]
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
        """Return a base for each domain, time rule and stock group of an expression: these decide on its days."""
        bases = [self._firsts.get(base, base) for base in expression.bases]
        return tuple(dict.fromkeys(bases) if len(bases) > 1 else bases)

    @cached_property
    def _firsts(self) -> Mapping[Base, Base]:
        """For each base, the first one with the same domain, time rule and stock group."""
        firsts: dict[DayKey, Base] = {}
        bases = watched(self.plan.bases)
        return {base: firsts.setdefault(base.day_key, base) for base in bases}

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
        if books is None or not days or window.is_undated or any(span.overlap(books) for span in days):
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
