"""Figures: a plan of everything that a report reads, the figures once it is read, and their variances."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby
from operator import attrgetter, itemgetter

import polars as pl
from msgspec import Struct

from engine.books.reader import Reader
from engine.model.caching import MOST_KEPT, LazyTable, cached_method
from engine.model.calendar.periods import Grain
from engine.model.catalogue import Base, DayKey
from engine.model.evaluation import KeyedFigures
from engine.model.exact import Exact
from engine.model.formulas import Figure, Nothing
from engine.model.scenarios import Reference, Side
from engine.model.stopping import Stop, never, watched
from engine.plans.accumulators import Amounts, BatchAmounts, FigureCells, MembersAlike, figure_cells
from engine.plans.availability import Availability, masked_by
from engine.plans.day_causes import DayCauses
from engine.plans.expressions import Expression, FormulaExpression, LengthExpression, MeasureExpression
from engine.plans.frames import framed_batch_of
from engine.plans.measure import Batch, batch_of, held_members
from engine.plans.places import Coordinates, in_order, named_members, places
from engine.plans.plan_reads import DomainShapes, PlanReads, formula_read, own_read
from engine.plans.presence import Presences, SeenDays, WindowResolver, ask_presence, days_of
from engine.plans.rows import Row, formula_row, metric_row, statement_rows
from engine.plans.weights import Axis, Members, into_total
from engine.plans.windows import ColumnRead, DateWindow, DomainRead, IntervalSplits, PeriodWindows, windows_of
from engine.queries.times import time_columns
from engine.queries.values import MaterialityTest, MetricQuery, Query, Ranking, StatementQuery, TimeColumn


class FigurePlan(Struct, frozen=True, eq=False, dict=True):
    """The sums that some rows need in every column of a query. Only its presences read."""

    rows: tuple[Row, ...]
    query: Query
    reader: Reader
    stop: Stop = never
    shows_named: bool = False  # shows the members that a filter names, also without rows
    before_close: bool = False  # reads every day of the windows of closing balances also without members
    of_report: Availability | None = None  # of the report whose others it shows: what that cannot ask is not read
    framed: bool = False  # whether its sums stay in frames

    @cached_property
    def availability(self) -> Availability:
        """What the domains of the query can answer."""
        return Availability.of(self.query, self.reader)

    @cached_property
    def presences(self) -> Presences:
        """Where the scenarios have rows: asked together, once a size that counts alone refuse has passed.

        Nothing else that makes the plan reads.
        """
        self.stop()
        rows, references, reader = self.rows, self.references, self.reader
        domains, own = tuple([domain.key for domain in self.query.domains]), self.reads.operand_sides

        def ask() -> SeenDays:
            bases = dict.fromkeys(base for row in rows if row.expression for base in row.expression.bases)
            return ask_presence(references, domains, list(bases), reader, further=own).seen

        return Presences(reader, reader.memo_as_seen(("presences of", rows, references, domains, own), ask, days_of))

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """The reference of each column."""
        return tuple([column.reference for column in self.query.columns])

    @cached_property
    def window_resolver(self) -> WindowResolver:
        """What finds the days that a balance is read on."""
        return WindowResolver(self.presences)

    @property
    def grain(self) -> Grain:
        """The grain of the range."""
        return self.query.asked.grain

    @property
    def is_undated(self) -> bool:
        """Whether the range is that of rows without a date."""
        return self.query.asked.is_undated

    @cached_property
    def times(self) -> tuple[TimeColumn, ...]:
        """The columns of the breakdown by time."""
        query, calendar = self.query, self.reader.catalogue.calendar
        return self.reader.memo(("times", self.time_key), lambda: time_columns(query, calendar), len)

    @cached_property
    def time_key(self) -> Hashable:
        """What the columns of time and their windows depend on, besides the calendar and the shifts of a side."""
        query = self.query
        return tuple((axis.dimension.key, axis.grain) for axis in query.time), query.selected, query.nests

    @cached_property
    def reads(self) -> PlanReads:
        """What it reads, whatever the days; memoised by the books."""

        def make() -> PlanReads:
            self.stop()
            askable = (self.availability, *([self.of_report] if self.of_report else ()))
            return PlanReads.of(self.rows, self.references, askable, nests=self.query.nests)

        key = ("reads", self.rows, self.availability, self.of_report, self.references, self.query.nests)
        return self.reader.memo_as_seen(key, make, lambda made: made.size)

    @property
    def bases(self) -> tuple[Base, ...]:
        """The available bases of all rows."""
        return self.reads.bases

    @property
    def domains(self) -> Sequence[str]:
        """The domains of its bases."""
        return self.reads.domains

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the breakdown, without time."""
        return self.reads.axes

    @cached_method
    def into_total(self, axis: Axis) -> Mapping[str, Exact]:
        """Return what each member of an axis counts for in the total, if that is not 1."""
        return into_total(axis, self.reader, self.query.filters)

    @cached_method
    def column_read(self, side: Side, shared: frozenset[str], scope: frozenset[str] | None) -> ColumnRead:
        """Return the column read of a side, perhaps within the scope of a formula."""
        self.stop()
        return ColumnRead(side, shared, self._windows_of(side), self.reader, scope)

    def _windows_of(self, side: Side) -> tuple[DateWindow, ...]:
        """Return the windows of a side, memoised by the books.

        Sides that shift alike share them, unless rows without a date lie in none. Ranges share those of whole periods.
        """
        calendar, reader = self.reader.catalogue.calendar, self.reader

        def make() -> tuple[DateWindow, ...]:
            known: PeriodWindows = reader.memo(("windows of periods", side.shifts), LazyTable, MOST_KEPT)
            return windows_of(side, self.query, self.times, calendar, known)

        return reader.memo(("windows", side.shifts, len(side.terms) > 1, self.time_key), make, len)

    @cached_property
    def distinct_reads(self) -> tuple[ColumnRead, ...]:
        """The column reads of all columns, and those of operands with a side of their own, each once."""
        return tuple(self.column_read(*known, None) for known in self.reads.sides)

    @cached_property
    def columns(self) -> tuple[tuple[ColumnRead, ...], ...]:
        """The column reads of every column: the sides of its reference."""
        return tuple(tuple(self.distinct_reads[at] for at in column) for column in self.reads.columns)

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """The sums to make."""
        make = framed_batch_of if self.framed and self.axes else batch_of
        return tuple(
            make(shape, windows, self.presences)
            for domain_shapes in self.reads.shapes
            for windows in [self._windows_in(domain_shapes)]
            for shape in domain_shapes.shapes
        )

    def _windows_in(self, read: DomainShapes) -> list[list[DateWindow]]:
        """Return the windows that the bases of a domain read need, those of one time rule together.

        In a breakdown by members, a closing balance also reads the days before its close. They show which members have
        rows in the range but none at the close.
        """
        reads_before = bool(self.axes) or self.before_close
        found: list[list[DateWindow]] = []
        for (base, *_), sides in zip(read.by_time, read.sides, strict=True):
            column_reads = [self.distinct_reads[at] for at in sides]
            each = [self.base_windows(base, column_read) for column_read in column_reads]
            if reads_before and base.over_time.closes:
                each += [self.carried(base.domain, known) for known in column_reads if not known.side.opens]
            found.append([window for windows in each for window in watched(windows)])
        return found

    @cached_method
    def carried(self, domain: str, column_read: ColumnRead) -> tuple[DateWindow, ...]:
        """Return the windows of a column read, EMPTY_WINDOW in place of those that a domain does not carry."""
        return self.availability.carried(domain, column_read.windows)

    def base_windows(self, base: Base, column_read: ColumnRead) -> tuple[DateWindow, ...]:
        """Return the days that a base reads for each window of a column read, memoised by the books."""
        windows = self.carried(base.domain, column_read)
        if base.over_time.is_flow and column_read.side.step is None:
            return windows
        domain_read = column_read.domain_read(base.domain)

        def make() -> tuple[DateWindow, ...]:
            return tuple(self.window_resolver.window(domain_read, base, window) for window in watched(windows))

        key = ("base windows", domain_read, base.over_time, base.stock_group, windows)
        return self.reader.memo_as_seen(key, make, len)

    def collect(self) -> "Figures":
        """Collect the frames of the batches and return the figures."""
        return self.finish(self.reader.collect_each([batch.reads for batch in self.batches], self.stop))

    def finish(self, sums: Sequence[Sequence[pl.DataFrame]]) -> "Figures":
        """Return the figures from the collected frames of the batches."""
        amounts: dict[DomainRead, list[tuple[Batch, BatchAmounts]]] = defaultdict(list)
        for batch, frames in zip(self.batches, sums, strict=True):
            amounts[batch.domain_read].append((batch, batch.amounts(frames, self.stop)))
        return Figures(self, amounts)


def collect_together(plans: Sequence[FigurePlan]) -> "list[Figures]":
    """Collect the frames of some plans together and return the figures of each."""
    asked = [batch.reads for plan in plans for batch in plan.batches]
    frames = iter(plans[0].reader.collect_each(asked, plans[0].stop))
    return [plan.finish([next(frames) for _ in plan.batches]) for plan in plans]


class Figures(Struct, frozen=True, eq=False, dict=True):
    """The figures of a plan, by expression, column read and place."""

    plan: FigurePlan
    amounts: Mapping[DomainRead, Sequence[tuple[Batch, BatchAmounts]]]

    def amounts_of(self, base: Base, column_read: ColumnRead) -> tuple[Amounts, Batch]:
        """Return the amounts of a base in one column read, and the batch that read them."""
        known = self.amounts[column_read.domain_read(base.domain)]
        return next((amounts.by_base[base], batch) for batch, amounts in known if base in amounts.by_base)

    @cached_property
    def places(self) -> tuple[Coordinates, ...]:
        """Every place in the order of the breakdown, the total last."""
        plan = self.plan
        return places(plan.query, plan.axes, plan.times, self.members if plan.axes else (), plan.stop)

    @cached_property
    def members(self) -> tuple[Members, ...]:
        """The combinations of members that hold rows, in display order, and those that a filter names if shown."""
        named = named_members(self.plan.query, self.plan.axes) if self.plan.shows_named else ()
        amounts = chain.from_iterable(self.amounts.values())
        return in_order({*held_members(amounts), *named}, self.plan.query, self.plan.axes)

    @cached_method
    def by_row(self, column_read: ColumnRead) -> KeyedFigures[Row]:
        """Return the figures of the rows of the plan in one column read, by place; a header has none."""
        found = KeyedFigures[Row]()
        reads, measured = self.plan.reads, self._measured(column_read)
        computed = reads.computed
        if measured.numerators.keys() >= reads.shown:
            bases = reads.measured.values()
            found.numerators.update(zip(reads.measured, map(measured.numerators.__getitem__, bases), strict=True))
            found.denominators.update(zip(reads.measured, map(measured.denominators.__getitem__, bases), strict=True))
        else:
            computed = (*reads.measured, *computed)
        for row in computed:
            if row.expression is not None:
                found.add(row, self.of(row.expression, column_read))
        return found

    def of(self, expression: Expression, column_read: ColumnRead) -> Sequence[Figure]:
        """Return the figures of an expression in one column read, by place."""
        if isinstance(expression, MeasureExpression):
            figures = self._measured(column_read).of(expression.base)
            return [Nothing.UNAVAILABLE] * len(self.places) if figures is None else figures
        if isinstance(expression, FormulaExpression):
            return self._computed(expression, column_read)
        if isinstance(expression, LengthExpression):
            lengths = column_read.lengths(expression.grain or self.plan.grain)
            return [lengths[place.time] for place in watched(self.places, self.plan.stop)]
        return self.of(expression.part, own_read(expression, column_read, self.plan.column_read))

    @cached_method
    def _computed(self, expression: FormulaExpression, column_read: ColumnRead) -> Sequence[Figure]:
        column_read = formula_read(expression, column_read, self.plan.column_read)
        parts = {name: self.of(part, column_read) for name, part in expression.inputs.items()}
        figures = expression.in_columns.evaluate(parts, self.plan.stop)
        for name, part in expression.adding_sides:
            read = own_read(part, column_read, self.plan.column_read)
            figures = self._blanked(figures, self.day_causes.not_zero(part.bases, read), parts[name])
        if expression.day_bases and (unknown := self._unknown(column_read)):
            lacking = unknown.keys() & expression.day_bases.keys()
            figures = self._blanked(figures, frozenset(chain.from_iterable(unknown[days] for days in lacking)))
        blanked, places = self.plan.availability.blanked, self.places
        return blanked(expression, figures, lambda: [place.broken_down for place in watched(places)])

    def _blanked(self, figures: Sequence[Figure], times: frozenset[int], of: Sequence[Figure] = ()) -> Sequence[Figure]:
        """Return figures that are missing in some columns of time, perhaps only where an operand is."""
        if not times:
            return figures
        each = zip(figures, of or [Nothing.MISSING] * len(figures), self.places, strict=True)
        return [
            own if own is Nothing.MISSING and place.time in times and figure is not Nothing.UNAVAILABLE else figure
            for figure, own, place in watched(each, self.plan.stop)
        ]

    @cached_method
    def _unknown(self, column_read: ColumnRead) -> Mapping[DayKey, frozenset[int]]:
        """Return the columns of time in which some bases are unknown, by position, by the days of these."""
        bases, find = self.plan.reads.by_days, self.day_causes.unknown_times
        key = (tuple(bases), column_read.side, column_read.shared, column_read.windows)
        return self.plan.presences.seen.unknown.get(key, lambda: find(bases, column_read))

    @cached_property
    def day_causes(self) -> DayCauses:
        """What lies in the days of its plan."""
        return DayCauses(self.plan)

    @cached_method
    def _measured(self, column_read: ColumnRead) -> KeyedFigures[Base]:
        """Return the figures of the available bases in one column read, by place."""
        measures, is_read = KeyedFigures[Base](), self.plan.reads.in_side(column_read.side, column_read.shared)
        for domain in self.plan.domains:
            for batch, amounts in self.amounts.get(column_read.domain_read(domain), ()):
                for bases in filter(is_read, batch.shape.by_time.values()):
                    windows = self.plan.base_windows(bases[0], column_read)
                    amounts.add_to(measures, bases, self.cells(bases[0], windows, batch.splits), self.plan.stop)
            self._blank_unavailable(measures, domain, column_read)
        return measures

    def _blank_unavailable(self, known: KeyedFigures[Base], domain: str, column_read: ColumnRead) -> None:
        """Make the figures of a domain unavailable in windows that it does not carry, and those without its step."""
        lacking, step = self.plan.availability.uncarried(domain, column_read.windows), column_read.side.step
        for base in self.plan.bases if lacking or step else ():
            if base.domain == domain and (found := known.of(base)) is not None:
                gone, pairs = column_read.windows[-1].why_not(base) is not None, zip(found, self.places, strict=True)
                known.replace(base, [Nothing.UNAVAILABLE if gone or at.time in lacking else fig for fig, at in pairs])

    def over(self, windows: Sequence[DateWindow], base: Base, column_read: ColumnRead) -> Sequence[Figure]:
        """Return the figures of a base by place, over some windows: one for each column of time, then the total."""
        amounts, batch = self.amounts_of(base, column_read)
        return amounts.figures(self.cells(base, windows, batch.splits), self.plan.stop)

    def cells(self, base: Base, windows: Sequence[DateWindow], splits: IntervalSplits) -> Sequence[FigureCells]:
        """Return the cells of all places over the windows of a base."""
        return figure_cells(windows, splits, self._alike(self.plan.availability.across_of(base)))

    @cached_method
    def _alike(self, across: tuple[bool, ...]) -> Sequence[MembersAlike]:
        """Return the members of places in the dimensions that tell figures apart, together those of the same times."""
        stop = self.plan.stop
        if not self.plan.times:
            return [([masked_by(across, place.members) for place in watched(self.places, stop)], (0,))]
        by_members = groupby(self.places, key=attrgetter("members"))
        each = (
            (masked_by(across, members), tuple([place.time for place in watched(found)]))
            for members, found in watched(by_members, stop)
        )
        by_times = groupby(each, key=itemgetter(1))
        return [([members for members, _ in watched(found)], times) for times, found in by_times]


class StatementPlan(Struct, frozen=True):
    """One statement: lines down, scenarios and members across."""

    key: str
    label: str
    figures: FigurePlan
    lines: tuple[str, ...] = ()  # those to show; none: all
    depth: int | None = None
    materiality: MaterialityTest | None = None


class MetricPlan(Struct, frozen=True):
    """Metrics: members down, metrics and scenarios across."""

    keys: tuple[str, ...]
    label: str
    figures: FigurePlan
    ranking: Ranking | None = None


ReportPlan = StatementPlan | MetricPlan


def plan_statement(asked: StatementQuery, reader: Reader, stop: Stop = never) -> StatementPlan:
    """Return the plan of a statement; running it looks at `stop`."""
    statement = asked.statement
    figures = FigurePlan(statement_rows(statement, reader), asked.query, reader, stop)
    return StatementPlan(statement.key, statement.label, figures, asked.lines, asked.depth, asked.materiality)


def plan_metrics(asked: MetricQuery, reader: Reader, stop: Stop = never) -> MetricPlan:
    """Return the plan of some metrics; running it looks at `stop`."""
    rows = tuple(metric_row(metric, reader, key=metric.key, label=metric.label) for metric in asked.metrics)
    rows += tuple(formula_row(formula, reader) for formula in asked.formulas)
    label = ", ".join(row.label for row in rows)
    keys = tuple(row.key for row in rows)
    return MetricPlan(keys, label, FigurePlan(rows, asked.query, reader, stop), asked.ranking)
