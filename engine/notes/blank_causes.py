"""Blank causes: why a figure is blank, as the note of the first cause that holds.

Every cause is computed from what the caller sees: from presences and amounts of the plan, which lie inside the scope.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, starmap
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from engine.model.caching import cached_method
from engine.model.catalogue import Base
from engine.model.evaluation import FigureColumn, Places, absent
from engine.model.exact import Exact
from engine.model.formulas import (
    Figure,
    Formula,
    Nothing,
    Operand,
    Operands,
    Quotient,
    UndefinedFigure,
    formulas_used,
)
from engine.model.functions import LENGTH_TYPES
from engine.model.notes import BLANKS, Note
from engine.model.scenarios import Reference, Side
from engine.model.stopping import watched
from engine.plans.availability import BrokenDown
from engine.plans.day_causes import NO_ROWS, OF_OPERANDS, DayCauses
from engine.plans.expressions import Expression, FormulaExpression, OwnExpression
from engine.plans.figures import Figures
from engine.plans.plan_reads import formula_read, own_read
from engine.plans.presence import Anchor
from engine.plans.variances import Variances
from engine.plans.windows import ColumnRead

NO_DIVISOR = Note.of("no_divisor")
CauseKey = tuple[Base, ...] | Expression  # lines with the same key share the causes of their blanks
RowBlanks = tuple[tuple[CauseKey, ...], Sequence[ColumnRead], Sequence[Places], Places]


is_balance = attrgetter("over_time.closes")  # of a base


def first_cause(causes: Iterable[Note]) -> Note:
    """Return the cause that comes first in the list of notes on blanks."""
    return min(causes, key=lambda cause: BLANKS.index(cause.code))


class BlankCauses(Struct, frozen=True, eq=False, dict=True):
    """The causes of the blanks of some figures."""

    figures: Figures

    @property
    def days(self) -> DayCauses:
        """The causes that lie in the days of its plan."""
        return self.figures.day_causes

    def of(
        self, expression: Expression, reference: Reference, column_reads: Sequence[ColumnRead], places: Places
    ) -> Sequence[Note]:
        """Return the cause of each blank of one column, in some places."""
        if isinstance(reference, Side):
            return self.of_side(expression, column_reads[0], places)
        lacking = [absent(self.figures.of(expression, column_read), places) for column_read in column_reads]
        if reference.relative and lacking != [places, places]:
            return [first_cause(self.of_quotient(expression, column_reads, at)) for at in watched(places)]
        return self._of_row(expression, column_reads, lacking, places)

    def of_side(self, expression: Expression, column_read: ColumnRead, places: Places) -> Sequence[Note]:
        """Return the cause of each blank of one side, in some places."""
        return self._of_row(expression, (column_read,), (), places)

    def _of_row(
        self, expression: Expression, column_reads: Sequence[ColumnRead], lacking: Sequence[Places], places: Places
    ) -> Sequence[Note]:
        """Return the causes of some blanks of a row; of a variance `lacking` says where each of its sides has none.

        Columns of variances have the same sides, and rows on which only days decide share their causes.
        """
        rows = tuple([self._cause_key(expression, self.figures.of(expression, read)) for read in column_reads])
        key = (rows, tuple(column_reads), tuple(lacking), places)
        if key not in self._causes:
            if lacking:
                self._causes[key] = self._first_causes(expression, column_reads, lacking, places)
            else:
                (read,), (row,) = column_reads, rows
                cause_of = self.of_place if row is expression else self.of_missing
                self._causes[key] = [cause_of(expression, read, at, row) for at in watched(places)]
        return self._causes[key]

    def _first_causes(
        self, expression: Expression, column_reads: Sequence[ColumnRead], lacking: Sequence[Places], places: Places
    ) -> Sequence[Note]:
        """Return the cause of each place that some column reads lack: of two the one that comes first."""
        causes: dict[int, Note] = {}
        for column_read, own in zip(column_reads, lacking, strict=True):
            for at, cause in watched(zip(own, self.of_side(expression, column_read, own), strict=True)):
                causes[at] = first_cause((causes[at], cause)) if at in causes else cause
        return [causes[at] for at in watched(places)]  # a ranking has places in an order of its own

    @cached_property
    def _causes(self) -> dict[RowBlanks, Sequence[Note]]:
        """The causes of blanks, by row and the column reads that lack its figure."""
        return {}

    def of_quotient(self, expression: Expression, column_reads: Sequence[ColumnRead], at: int) -> Iterator[Note]:
        """Yield the causes of a blank relative variance: those of the sides that count as nothing, and a base of 0."""
        first, second = (self.figures.of(expression, column_read)[at] for column_read in column_reads)
        time = self.figures.places[at].time
        sides = self._variances.sides(expression, column_reads, (first, second), time)
        for figure, column_read in zip(sides, column_reads, strict=True):
            if not isinstance(figure, Exact):
                yield from self.of_side(expression, column_read, (at,))
        if isinstance(sides[1], Exact) and not sides[1]:
            yield NO_DIVISOR

    def _cause_key(self, expression: Expression, figures: Sequence[Figure]) -> CauseKey:
        """Return the bases that stand for the days of an expression if only days decide on its blanks, else itself."""
        may_be_unavailable = not isinstance(figures, FigureColumn)
        return expression if may_be_unavailable else self._cause_key_of(expression)

    @cached_method
    def _cause_key_of(self, expression: Expression) -> CauseKey:
        bases = self.days.bases_of(expression)
        return bases if len(bases) == 1 and expression.adds_up and not is_balance(bases[0]) else expression

    def of_place(self, expression: Expression, column_read: ColumnRead, at: int, cause_key: CauseKey) -> Note:
        """Return the cause of a blank of one side in one place."""
        if self.figures.of(expression, column_read)[at] is Nothing.UNAVAILABLE:
            place = self.figures.places[at]
            return self.unavailable(expression, column_read, place.time, place.broken_down)
        return self.of_missing(expression, column_read, at, cause_key)

    def of_missing(self, expression: Expression, column_read: ColumnRead, at: int, cause_key: CauseKey) -> Note:
        """Return the cause of a missing figure of one side in one place."""
        key = (cause_key, column_read, at if cause_key is expression else self.figures.places[at].time)
        if key not in self._of_missing:
            self._of_missing[key] = self.cause_of_missing(expression, column_read, at)
        return self._of_missing[key]

    @cached_property
    def _of_missing(self) -> dict[tuple[CauseKey, ColumnRead, int], Note]:
        """The causes of missing figures by time where days decide, else by place."""
        return {}

    def cause_of_missing(self, expression: Expression, column_read: ColumnRead, at: int) -> Note:
        """Return the cause of a missing figure."""
        if cause := self.days.of(expression, column_read, self.figures.places[at].time):
            return cause
        if cause := cause_of_own(self, expression, column_read, at):
            return cause
        if anchor := self.late_anchor(expression, column_read, at):
            return Note.of("incomplete_close", anchor=anchor.period.code)
        blank = list(self.blank_formulas(expression, column_read, at))
        if any(starmap(has_zero_divisor, blank)):
            return NO_DIVISOR
        divisors = tuple(dict.fromkeys(chain.from_iterable(starmap(divisors_without_rows, blank))))
        return Note.of("no_rows", operands=divisors) if divisors else NO_ROWS

    @cached_method
    def unavailable(self, expression: Expression, column_read: ColumnRead, time: int, by: BrokenDown) -> Note:
        """Return the note on a figure that the domains cannot answer."""
        availability, window = self.figures.plan.availability, column_read.windows[time]
        by_member = availability.why_not_by_member(expression, by) if any(by) else None
        why = availability.why_not(expression) or by_member
        if not why and (part := unavailable_part(self.figures, expression, column_read, time)):
            return Note.of("not_computable", operand=part[0], reason=part[1])
        why = why or availability.why_not_in(expression, window) or ""
        if isinstance(expression, FormulaExpression):
            return Note.of("not_computable", operand=availability.operand(expression, window, by), reason=why)
        return Note.of("unavailable", reason=why)

    def late_anchor(self, expression: Expression, column_read: ColumnRead, at: int) -> Anchor | None:
        """Return the anchor of a balance that has rows in the window but none at the close; None if there is none."""
        plan, place = self.figures.plan, self.figures.places[at]
        if column_read.side.opens or not any(map(is_balance, self.days.bases_of(expression))):
            return None
        for base in (operand.base for operand in expression.column_operands):
            if base.over_time.closes and not base.over_time.opening and self.is_late(base, column_read, at):
                domain_read = column_read.domain_read(base.domain)
                anchor = plan.window_resolver.anchor(domain_read, base, column_read.windows[place.time])
                if anchor is not None:
                    return anchor
        return None

    def is_late(self, base: Base, column_read: ColumnRead, at: int) -> bool:
        """Tell whether a balance has rows in the window of a place but none at its close."""
        if self._at_close(base, column_read)[at] is not Nothing.MISSING:
            return False
        return self._in_whole_windows(base, column_read)[at] is not Nothing.MISSING

    @cached_method
    def _at_close(self, base: Base, column_read: ColumnRead) -> Sequence[Figure]:
        """Return the figures of a balance by place, at its close."""
        return self.figures.over(self.figures.plan.base_windows(base, column_read), base, column_read)

    @cached_method
    def _in_whole_windows(self, base: Base, column_read: ColumnRead) -> Sequence[Figure]:
        """Return the figures of a balance by place, as if all days of a window counted."""
        _, batch = self.figures.amounts_of(base, column_read)
        figures = self.figures if batch.covers(column_read.windows) else self._before_close
        own = figures.plan.column_read(column_read.side, column_read.shared, None)
        return figures.over(own.windows, base, own)

    @cached_property
    def _before_close(self) -> Figures:
        """The figures of a plan that reads the days before the close; one with members does."""
        plan = self.figures.plan
        return self.figures if plan.axes else replace(plan, before_close=True).collect()

    @cached_method
    def _operands(self, expression: FormulaExpression, column_read: ColumnRead) -> Mapping[str, Sequence[Figure]]:
        """Return the figures of the parts of a formula, by place."""
        within = formula_read(expression, column_read, self.figures.plan.column_read)
        return {name: self.figures.of(part, within) for name, part in expression.parts.items()}

    @cached_property
    def _variances(self) -> Variances:
        return Variances(self.figures)

    def blank_formulas(
        self, expression: Expression, column_read: ColumnRead, at: int
    ) -> Iterator[tuple[Formula, Operands]]:
        """Yield the blank formulas below an expression that do not add up and have a figure, with their operands."""
        make = self.figures.plan.column_read
        if isinstance(expression, OwnExpression):
            yield from self.blank_formulas(expression.part, own_read(expression, column_read, make), at)
        if not isinstance(expression, FormulaExpression) or expression.adds_up:
            return
        figures = {name: column[at] for name, column in self._operands(expression, column_read).items()}

        def operand(name: str) -> Exact | None:
            figure = figures[name]
            if isinstance(figure, Exact):
                return figure
            if not expression.types[name].additive:
                raise UndefinedFigure
            return None

        if any(isinstance(figure, Exact) for figure in figures.values()):
            yield expression.formula, operand
        used = {part.name for part in formulas_used(expression.formula, operand) if isinstance(part, Operand)}
        for name, part in expression.parts.items():
            if name in used and not isinstance(figures[name], Exact):
                yield from self.blank_formulas(part, formula_read(expression, column_read, make), at)


def cause_of_own(causes: BlankCauses, expression: Expression, column_read: ColumnRead, at: int) -> Note | None:
    """Return the cause of the first operand with a side of its own that is missing, and does not mean 0."""
    figures, days = causes.figures, causes.days
    for name, part, read in parts_read(figures, expression, column_read):
        inner = part.part if isinstance(part, OwnExpression) else part
        if figures.of(inner, read)[at] is not Nothing.MISSING:
            continue
        cause: Note | None = None
        if not isinstance(part, OwnExpression):
            cause = cause_of_own(causes, part, read, at)
        elif not part.type.additive or figures.places[at].time in days.not_zero(part.bases, read):
            cause = causes.cause_of_missing(inner, read, at)
            if cause.code in OF_OPERANDS and "operands" not in dict(cause.about):
                cause = cause.with_names(operands=(name,))
        if cause and cause != NO_ROWS:
            return cause
    return None


def parts_read(
    figures: Figures, expression: Expression, column_read: ColumnRead
) -> Iterator[tuple[str, Expression, ColumnRead]]:
    """Yield the parts of a formula, by name, with what each is read in, where one has a side of its own."""
    if isinstance(expression, FormulaExpression) and expression.has_own:
        make = figures.plan.column_read
        within = formula_read(expression, column_read, make)
        for name, part in expression.parts.items():
            yield name, part, own_read(part, within, make) if isinstance(part, OwnExpression) else within


def unavailable_part(
    figures: Figures, expression: Expression, column_read: ColumnRead, time: int
) -> tuple[str, str] | None:
    """Return the operand that has no figure in the window that it reads, and why; None if each may have one."""
    for name, part, read in parts_read(figures, expression, column_read):
        inner = part.part if isinstance(part, OwnExpression) else part
        if isinstance(inner, FormulaExpression) and inner.has_own:
            if found := unavailable_part(figures, inner, read, time):
                return found
        elif why := figures.plan.availability.why_not_in(inner, read.windows[time]):
            return name, why
    return None


def has_zero_divisor(formula: Formula, operand: Operands) -> bool:
    """Tell whether a divisor that the value of a formula is made of is 0."""
    return any(is_zero(divisor, operand) for divisor in divisors_used(formula, operand))


def divisors_used(formula: Formula, operand: Operands) -> Iterator[Formula]:
    """Yield the divisors that the value of a formula is made of."""
    return (part.under for part in formulas_used(formula, operand) if isinstance(part, Quotient))


def is_zero(formula: Formula, operand: Operands) -> bool:
    """Tell whether a formula is there and 0."""
    try:
        value = formula.value(operand)
    except UndefinedFigure:
        return False
    return value is not None and not value


def divisors_without_rows(formula: Formula, operand: Operands) -> Iterator[str]:
    """Yield the metrics and lines of the divisors in a formula that are missing."""
    for divisor in divisors_used(formula, operand):
        if is_missing(divisor, operand):
            yield from (name for name in divisor.names if name not in LENGTH_TYPES)


def is_missing(formula: Formula, operand: Operands) -> bool:
    """Tell whether a formula has no figure."""
    try:
        return formula.value(operand) is None
    except UndefinedFigure:
        return True
