"""Figures: a plan of everything that a report reads, the figures once it is read, and their variances."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter, itemgetter

import polars as pl

from engine.books.reader import Reader
from engine.model.aggregation import TimeAggregation
from engine.model.catalogue import Base
from engine.model.evaluation import evaluate
from engine.model.formulas import Figure, Nothing
from engine.model.scenarios import Reference, Side
from engine.model.stopping import Stop, never, watched
from engine.plans.accumulators import Amounts, BatchAmounts, FigureCells, figure_cells
from engine.plans.availability import Availability
from engine.plans.measure import Batch, batches
from engine.plans.places import Coordinates, in_order, places
from engine.plans.presence import Presences, WindowResolver, ask_presence, compared_with
from engine.plans.rows import (
    Expression,
    FormulaExpression,
    MeasureExpression,
    Row,
    formula_row,
    metric_row,
    statement_rows,
)
from engine.plans.weights import Axis, Members, axis_of
from engine.plans.windows import (
    MOST_KEPT,
    ColumnRead,
    DateWindow,
    DomainRead,
    IntervalSplits,
    PeriodWindows,
    last_column,
    windows_of,
)
from engine.queries.times import time_columns
from engine.queries.values import MetricQuery, Query, Ranking, StatementQuery, TimeColumn


@dataclass(frozen=True, eq=False)
class FigurePlan:
    """The sums that some rows need in every column of a query. Only its presences read."""

    rows: tuple[Row, ...]
    query: Query
    reader: Reader
    stop: Stop = never
    before_close: bool = False  # reads every day of the windows of closing balances also without members

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
        bases = list(dict.fromkeys(base for row in self.rows if row.expression for base in row.expression.bases))
        references = [column.reference for column in self.query.columns]
        return ask_presence(references, (domain.key for domain in self.query.domains), bases, self.reader)

    @cached_property
    def window_resolver(self) -> WindowResolver:
        """What finds the days that a balance is read on."""
        return WindowResolver(self.presences)

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

    @property
    def last_time(self) -> TimeColumn | None:
        """The column with the last days, None without a breakdown by time."""
        last = last_column(self.times)
        return None if last is None else self.times[last]

    @cached_property
    def bases(self) -> tuple[Base, ...]:
        """The available bases of all rows."""
        every = (base for row in self.rows if row.expression for base in row.expression.bases)
        return tuple(base for base in dict.fromkeys(every) if self.availability.why_not_base(base) is None)

    @cached_property
    def balances(self) -> tuple[Base, ...]:
        """One closing and one opening balance of each stock group among the bases."""
        closing = {
            (base.domain, base.stock_group, base.over_time): base for base in self.bases if base.over_time.closes
        }
        return tuple(closing.values())

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the breakdown, without time."""
        return tuple(
            axis_of(place, key, self.reader, self.query.filters)
            for place, key in enumerate(self.availability.dimensions)
        )

    def column_reads(self, reference: Reference) -> tuple[ColumnRead, ...]:
        """Return the column read of each side of a reference; the sides of a variance share their scope."""
        return tuple(self.column_read(side, self.shared_with(side, reference.sides)) for side in reference.sides)

    def column_read(self, side: Side, shared: frozenset[str]) -> ColumnRead:
        """Return the column read of a side, made once."""
        known = self._column_reads.get((side, shared))
        if known is None:
            self.stop()
            known = self._column_reads[side, shared] = ColumnRead(side, shared, self._windows_of(side), self.reader)
        return known

    def _windows_of(self, side: Side) -> tuple[DateWindow, ...]:
        """Return the windows of a side, memoised by the books.

        Sides that shift alike share them, unless rows without a date lie in none. Ranges share those of whole periods.
        """
        calendar, reader = self.reader.catalogue.calendar, self.reader

        def make() -> tuple[DateWindow, ...]:
            known: PeriodWindows = reader.memo(("windows of periods", side.shifts), dict, MOST_KEPT)
            return windows_of(side, self.query, self.times, calendar, known)

        return reader.memo(("windows", side.shifts, len(side.terms) > 1, self.time_key), make, len)

    @cached_property
    def _column_reads(self) -> dict[tuple[Side, frozenset[str]], ColumnRead]:
        return {}

    def shared_with(self, side: Side, sides: Sequence[Side]) -> frozenset[str]:
        """Return the compared scenarios whose scope narrows that of a side; none if they do not narrow it."""
        compared = compared_with(side, sides)
        narrows = any(
            self.reader.shared_cell([term.scenario.id, *compared], domain) != self.reader.cell(term.scenario.id, domain)
            for domain in {base.domain for base in self.bases}
            for term in side.terms
        )
        return compared if narrows else frozenset()

    @cached_property
    def columns(self) -> tuple[tuple[ColumnRead, ...], ...]:
        """The column reads of every column."""
        return tuple(self.column_reads(column.reference) for column in self.query.columns)

    @cached_property
    def distinct_reads(self) -> tuple[ColumnRead, ...]:
        """The column reads of all columns, each once."""
        return tuple(dict.fromkeys(column_read for column in self.columns for column_read in column))

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """The sums to make."""
        by_domain_read: dict[DomainRead, dict[ColumnRead, None]] = defaultdict(dict)
        for column_read in self.distinct_reads:
            for domain in dict.fromkeys(base.domain for base in self.bases):
                by_domain_read[column_read.domain_read(domain)][column_read] = None
        return tuple(
            batch
            for domain_read, column_reads in by_domain_read.items()
            for batch in batches(
                domain_read,
                self.windows(domain_read, list(column_reads)),
                [axis for axis in self.axes if self.availability.across[domain_read.domain][axis.place]],
                len(self.axes),
                self.query.filters,
                self.presences,
                subtotals=self.query.nests,
            )
        )

    def windows(self, domain_read: DomainRead, column_reads: Sequence[ColumnRead]) -> dict[Base, Sequence[DateWindow]]:
        """Return the windows that each base of a domain read needs.

        In a breakdown by members, a closing balance also reads the days before its close. They show which members have
        rows in the range but none at the close.
        """
        whole = [window for column_read in column_reads for window in watched(column_read.windows)]
        known: dict[tuple[TimeAggregation, str | None], Sequence[DateWindow]] = {}
        found: dict[Base, Sequence[DateWindow]] = {}
        for base in (base for base in self.bases if base.domain == domain_read.domain):
            if base.over_time.is_flow:
                found[base] = whole
                continue
            key = (base.over_time, base.stock_group)
            if key not in known:
                own = [
                    window for column_read in column_reads for window in watched(self.base_windows(base, column_read))
                ]
                known[key] = own + whole if (self.axes or self.before_close) and base.over_time.closes else own
            found[base] = known[key]
        return found

    def base_windows(self, base: Base, column_read: ColumnRead) -> tuple[DateWindow, ...]:
        """Return the days that a base reads for each window of a column read, memoised by the books."""
        if base.over_time.is_flow:
            return column_read.windows
        domain_read, windows = column_read.domain_read(base.domain), column_read.windows

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


@dataclass(frozen=True, eq=False)
class Figures:
    """The figures of a plan, by expression, column read and place."""

    plan: FigurePlan
    amounts: Mapping[DomainRead, Sequence[tuple[Batch, BatchAmounts]]]

    def amounts_of(self, base: Base, column_read: ColumnRead) -> tuple[Amounts, Batch]:
        """Return the amounts of a base in one column read, and the batch that read them."""
        known = self.amounts[column_read.domain_read(base.domain)]
        return next((amounts[base], batch) for batch, amounts in known if base in amounts)

    @cached_property
    def places(self) -> tuple[Coordinates, ...]:
        """Every place in the order of the breakdown, the total last."""
        plan = self.plan
        return places(plan.query, plan.axes, plan.times, self.members if plan.axes else (), plan.stop)

    @cached_property
    def members(self) -> tuple[Members, ...]:
        """The combinations of members that hold rows, in display order."""
        seen = (
            members
            for known in self.amounts.values()
            for batch, by_base in known
            for base, amounts in by_base.items()
            for members in amounts.members(batch.runs(base))
        )
        return in_order(seen, self.plan.query, self.plan.axes)

    def by_row(self, column_read: ColumnRead) -> Sequence[Sequence[Figure] | None]:
        """Return the figures of each row of the plan in one column read, by place; None for a header."""
        known = self._by_row.get(column_read)
        if known is None:
            expressions = (row.expression for row in self.plan.rows)
            known = [None if expression is None else self.of(expression, column_read) for expression in expressions]
            self._by_row[column_read] = known
        return known

    @cached_property
    def _by_row(self) -> dict[ColumnRead, Sequence[Sequence[Figure] | None]]:
        return {}

    def of(self, expression: Expression, column_read: ColumnRead) -> Sequence[Figure]:
        """Return the figures of an expression in one column read, by place."""
        if isinstance(expression, MeasureExpression):
            figures = self._measured(column_read).get(expression.base)
            return [Nothing.UNAVAILABLE] * len(self.places) if figures is None else figures
        computed = self._computed[column_read]
        if expression not in computed:
            computed[expression] = self._compute(expression, column_read)
        return computed[expression]

    @cached_property
    def _computed(self) -> dict[ColumnRead, dict[FormulaExpression, Sequence[Figure]]]:
        return defaultdict(dict)

    def _compute(self, expression: FormulaExpression, column_read: ColumnRead) -> Sequence[Figure]:
        parts = {name: self.of(part, column_read) for name, part in expression.parts.items()}
        figures = evaluate(expression.formula, expression.types, parts, self.plan.stop)
        why_not = self.plan.availability.why_not_by_member
        if why_not(expression):
            blank = {by for by in {place.broken_down for place in self.places} if why_not(expression, by)}
            return [
                Nothing.UNAVAILABLE if place.broken_down in blank else figure
                for figure, place in zip(figures, self.places, strict=True)
            ]
        return figures

    def _measured(self, column_read: ColumnRead) -> Mapping[Base, Sequence[Figure]]:
        """Return the figures of the available bases in one column read, by place."""
        known = self._known_measured.get(column_read)
        if known is None:
            domains = dict.fromkeys(base.domain for base in self.plan.bases)
            known = {}
            for domain in domains:
                known.update(self._columns_of(domain, column_read))
            self._known_measured[column_read] = known
        return known

    @cached_property
    def _known_measured(self) -> dict[ColumnRead, dict[Base, Sequence[Figure]]]:
        return {}

    def _columns_of(self, domain: str, column_read: ColumnRead) -> Iterator[tuple[Base, Sequence[Figure]]]:
        """Yield the figures of the available bases of a domain in one column read, by place."""
        plan, windows = self.plan, column_read.windows
        is_carried = plan.availability.carries_all(domain, windows)
        carried = () if is_carried else [plan.availability.carries(domain, window) for window in watched(windows)]
        for batch, amounts in self.amounts.get(column_read.domain_read(domain), ()):
            for bases in batch.alike:
                cells = self.cells(domain, plan.base_windows(bases[0], column_read), batch.splits)
                found = amounts.figures(bases, cells, plan.stop).items()
                if is_carried:
                    yield from found
                    continue
                for base, figures in found:
                    places = zip(figures, self.places, strict=True)
                    yield base, [fig if carried[place.time] else Nothing.UNAVAILABLE for fig, place in places]

    def cells(self, domain: str, windows: Sequence[DateWindow], splits: IntervalSplits) -> Sequence[FigureCells]:
        """Return the cells of all places over the windows of some bases."""
        return figure_cells(windows, splits, self._times(domain))

    def _times(self, domain: str) -> Sequence[tuple[Members, Sequence[int]]]:
        """Return the members of places as a domain knows them, with the time columns of consecutive places."""
        if domain not in self._known_times:
            masked, places = self.plan.availability.masked, groupby(self.places, key=attrgetter("members"))
            each = ((masked(domain, members), found) for members, found in watched(places, self.plan.stop))
            self._known_times[domain] = [
                (members, [place.time for _, found in alike for place in watched(found)])
                for members, alike in groupby(each, key=itemgetter(0))
            ]
        return self._known_times[domain]

    @cached_property
    def _known_times(self) -> dict[str, Sequence[tuple[Members, Sequence[int]]]]:
        return {}


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """One statement: lines down, scenarios and members across."""

    key: str
    label: str
    figures: FigurePlan


@dataclass(frozen=True, slots=True)
class MetricPlan:
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
    return StatementPlan(statement.key, statement.label, figures)


def plan_metrics(asked: MetricQuery, reader: Reader, stop: Stop = never) -> MetricPlan:
    """Return the plan of some metrics; running it looks at `stop`."""
    rows = tuple(metric_row(metric, reader, key=metric.key, label=metric.label) for metric in asked.metrics)
    rows += tuple(formula_row(formula, reader) for formula in asked.formulas)
    label = ", ".join(row.label for row in rows)
    figures = FigurePlan(rows, asked.query, reader, stop)
    return MetricPlan(tuple(row.key for row in rows), label, figures, asked.ranking)
