"""Row plans: which rows make a figure, and which figures are sums of row contributions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import or_

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import FactRead, Reader
from engine.model.aggregation import TimeRule
from engine.model.calendar.periods import WITHOUT_DATE, Grain, Span
from engine.model.catalogue import ROW_COUNT, Base, Metric
from engine.model.errors import BadArguments, DimensionUnavailable, GrainUnavailable, UnknownName
from engine.model.exact import ONE
from engine.model.fact_store import DATE, PERIOD, RowSlice
from engine.model.scenarios import ALL_DAYS, Side, TermSpan
from engine.model.scope import NOTHING, AmountRange, Cell, CodeSet, Conjunction
from engine.plans.availability import BALANCE_WITHOUT_DATE, why_not_weighed, why_not_window
from engine.plans.base_groups import base_groups
from engine.plans.day_causes import DayCauses
from engine.plans.expressions import Expression, FormulaExpression, LinearTerm, operands_of, terms_of
from engine.plans.measure import Batch, batch_of, batch_shapes
from engine.plans.presence import Presences, WindowResolver, ask_presence
from engine.plans.rows import metric_expression, statement_rows
from engine.plans.term_reads import LastKnownSplits, last_known_across, last_known_read, last_known_splits
from engine.plans.weights import BaseWeights, base_weights, factors_of
from engine.plans.windows import EMPTY_WINDOW, ColumnRead, DateWindow, DomainRead, shifted_window, split_intervals
from engine.queries.rows import LineReference, RowQuery

# Row plans: the days of all terms are split into intervals; in each interval, the plan reads the rows that some term
# counts. Without a figure, it reads every row.


class WeightedTerm(Struct, frozen=True):
    """A linear term with the days it reads and the weights of its leaves."""

    term: LinearTerm
    window: DateWindow
    weights: BaseWeights
    ranges: tuple[AmountRange, ...]  # of the amounts of the rows it counts

    @property
    def base(self) -> Base:
        """The base of the term."""
        return self.term.base

    @property
    def cell(self) -> Cell:
        """The leaves it counts."""
        codes = {leaf: CodeSet(frozenset(codes)) for leaf, codes in self.weights.by_leaf.items()}
        return Cell.of([Conjunction.of(codes, self.ranges)])


class RowPart(Struct, frozen=True, eq=False):
    """The rows of a span, or of all days, that some terms count; with `leaves`, those of its leaves alone."""

    span: Span | None
    counted: tuple[WeightedTerm, ...]
    leaves: pl.DataFrame | None = None

    @property
    def cell(self) -> Cell:
        """The leaves that any of its terms counts."""
        return reduce(or_, (weighted_term.cell for weighted_term in self.counted), NOTHING)


class NamedFigure(Struct, frozen=True):
    """A figure to inspect, with the label of its metric or line."""

    label: str
    expression: Expression


class RowPlan(Struct, frozen=True, eq=False, dict=True):
    """The rows of one term span, and the figure they make."""

    query: RowQuery
    reader: Reader
    side: Side
    named: NamedFigure | None
    presences: Presences
    days: DateWindow | None = None  # that each term reads in place of its own

    @property
    def expression(self) -> Expression | None:
        """The expression of the figure, if one is named."""
        return self.named.expression if self.named else None

    @cached_property
    def domain_read(self) -> DomainRead:
        """The domain read whose figure the rows make."""
        return DomainRead(self.query.domain.key, self.side.term_spans(self.query.domain.key), self.query.compared)

    @property
    def term_span(self) -> TermSpan:
        """The term span of the inspected scenario."""
        return self.domain_read.term_spans[self.query.term_index]

    @cached_property
    def window(self) -> DateWindow:
        """The requested days, as the side reads them."""
        if self.query.period is None:
            return DateWindow((ALL_DAYS,), "all periods")
        return shifted_window(self.side, self.query.selected, self.reader.catalogue.calendar)

    @property
    def window_resolver(self) -> WindowResolver:
        """The resolver of the days on which a balance is read."""
        return WindowResolver(self.presences)

    @property
    def bases(self) -> tuple[Base, ...]:
        """The bases of its terms."""
        return tuple(weighted_term.base for weighted_term in self.weighted_terms)

    @cached_property
    def distinct_reads(self) -> tuple[ColumnRead, ...]:
        """The requested days of the inspected scenario, those with rows if no period is requested."""
        window, spans = self.window, self.window.spans
        if self.query.period is None:
            dates = self.presences.of(self.domain_read).dates
            spans = (Span(dates[0], dates[-1]),) if dates else ()
        if not window.is_undated:
            inside = (span.overlap(self.term_span.days) for span in spans)
            window = replace(window, spans=tuple(filter(None, inside)))
        return (ColumnRead(self.side, self.query.compared, (window,), self.reader),)

    @property
    def grain(self) -> Grain:
        """The grain of the requested range, that of the source if no period is requested."""
        return self.query.period.grain if self.query.period else self.query.domain.grain

    @property
    def is_undated(self) -> bool:
        """Whether rows without a date are requested."""
        return self.query.period is not None and self.query.period.is_undated

    def base_windows(self, base: Base, _: ColumnRead) -> tuple[DateWindow, ...]:
        """Return the days that a base reads."""
        return tuple(known.window for known in self.weighted_terms if known.base == base)[:1]

    @cached_property
    def weighted_terms(self) -> tuple[WeightedTerm, ...]:
        """The terms of the figure; without a figure, one term that counts every row."""
        domain = self.query.domain
        terms = [LinearTerm(ONE, Base(domain=domain.key, measure=ROW_COUNT))]
        if self.expression is not None:
            terms = list(terms_of(self.expression) or ())
        factors = factors_of(self.term_span.term.variant, domain, self.reader)
        return tuple(
            WeightedTerm(
                term,
                self._window_of(term.base) if self.expression else self.window,
                base_weights(term.base, self.reader, self.query.filters, (), factors),
                self.reader.ranges_of(term.base) if self.expression else self.query.choices.ranges,
            )
            for term in terms
        )

    @cached_property
    def is_unknown(self) -> bool:
        """Whether the figure is a formula that is blank because an operand is unknown: then no row makes it."""
        if not isinstance(self.expression, FormulaExpression):
            return False
        asked = ColumnRead(self.side, self.query.compared, (self.window,), self.reader)
        days = DayCauses(self)
        return bool(days.unknown_times(self.expression.day_bases, asked))

    def _window_of(self, base: Base) -> DateWindow:
        if self.is_unknown:
            return EMPTY_WINDOW
        return self.days or self.window_resolver.window(self.domain_read, base, self.window)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns of a row: DATE, codes, measures and texts."""
        domain = self.query.domain
        held = (DATE, *domain.dimensions, *domain.measures)
        texts = (name for name in domain.inspect_columns if name not in held and name != domain.time_column)
        return (*held, *texts)

    def parts(self, last: Sequence[pl.DataFrame]) -> Iterator[RowPart]:
        """Yield the parts of the rows, in order.

        `last` holds the last leaves of each interval of a last known value.
        """
        if self.last_known is not None:
            for interval, leaves in zip(self.last_splits.spans, last, strict=True):
                if self.term_span.days.holds(interval.first) and not leaves.is_empty():
                    yield RowPart(interval, (self.last_known,), leaves.drop(PERIOD) if self.leaves else None)
            return
        if self.window.is_undated:
            yield RowPart(WITHOUT_DATE, self.weighted_terms)
            return
        if self.query.period is None and self.expression is None:
            yield RowPart(None, self.weighted_terms)
            return
        windows = [weighted_term.window for weighted_term in self.weighted_terms]
        for interval in split_intervals(windows, self.domain_read.boundaries):
            counted = [
                term for term in self.weighted_terms if any(span.holds(interval.first) for span in term.window.spans)
            ]
            if self.term_span.days.holds(interval.first):
                yield RowPart(interval, tuple(counted))

    def read(self, part: RowPart, limit: int | None = None, columns: Collection[str] | None = None) -> FactRead:
        """Return the read of up to `limit` rows of a part: in order, or in any order with some columns alone."""
        is_ordered = columns is None
        names = self.columns if columns is None else tuple(name for name in self.columns if name in columns)
        asked = RowSlice(
            domain=self.query.domain.key,
            scenario=self.term_span.term.scenario.id,
            span=part.span,
            columns=names or (DATE,),
            limit=limit,
            leaves=part.leaves,
            ranks=self.ranks if is_ordered else {},
            is_ordered=is_ordered,
        )
        return FactRead(asked, part.cell, self.query.compared)

    @cached_property
    def ranks(self) -> Mapping[str, pl.Series]:
        """The ranks of codes by leaf dimension, where the order of codes is not that of ids."""
        ranks = {leaf: self.reader.id_ranks(leaf) for leaf in self.leaves}
        return {leaf: ranked for leaf, ranked in ranks.items() if ranked is not None}

    @cached_property
    def last_known(self) -> WeightedTerm | None:
        """The term that reads the last known value of each leaf; it is the only term then."""
        last = (term for term in self.weighted_terms if term.base.over_time.rule is TimeRule.LAST_KNOWN)
        return next(last, None)

    @cached_property
    def last_splits(self) -> LastKnownSplits:
        """The interval splits of a last known value."""
        term = self.weighted_terms[0]
        return last_known_splits(self.domain_read, term.base, [term.window], self.presences)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The leaf dimensions of the source."""
        return self.reader.catalogue.leaves_of(self.query.domain.key)

    @property
    def last_reads(self) -> tuple[FactRead, ...]:
        """The reads that find the last period of each leaf, one for each term span; none without last known values."""
        if self.last_known is None:
            return ()
        variants = [term_span.term.variant for term_span in self.domain_read.term_spans]
        (alike,) = base_groups([self.last_known.base], (), 0, self.query.filters, variants, self.reader)
        return tuple(
            last_known_read(self.domain_read, span, self.last_splits, self.leaves, self.leaves, group, {})
            for span, group in zip(self.domain_read.term_spans, alike, strict=True)
        )

    def last_leaves(self, frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
        """Return the leaves whose last period holds each interval, from the collected frames of `last_reads`."""
        if self.last_known is None:
            return []
        last = last_known_across(frames, self.leaves)[self.query.term_index]
        return [
            last.filter(pl.col(PERIOD) == period).select(PERIOD, *self.leaves) for period in self.last_splits.periods
        ]

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """The batches that sum the terms of the figure over all rows."""
        windows = {weighted_term.base: [weighted_term.window] for weighted_term in self.weighted_terms}
        by_time = [(base,) for base in windows]
        shapes = batch_shapes(self.domain_read, by_time, (), 0, self.query.filters, self.reader)
        whole = [batch_of(shape, list(windows.values()), self.presences) for shape in shapes]
        return tuple(batch.only(self.query.term_index) for batch in whole)


def plan_rows(query: RowQuery, reader: Reader) -> RowPlan | None:
    """Return the plan of a query, or None if its scenario is unknown.

    Raises BadArguments for a figure that is not a sum of rows of the source, DimensionUnavailable for one that cannot
    take the weights of the query, and GrainUnavailable for a window finer than the data.
    """
    named = None if query.figure is None else figure_named(query.figure, reader)
    if named is not None:
        refuse_underivable(named.expression, query, reader)
    if query.side is None:
        return None
    bases = [term.base for term in terms_of(named.expression) or ()] if named else []
    presences = ask_presence([query.side], [query.domain.key], bases, reader, query.compared)
    plan = RowPlan(query, reader, query.side, named, presences)
    refuse_window(plan, bases)
    return plan


def refuse_window(plan: RowPlan, bases: Sequence[Base]) -> None:
    """Raise GrainUnavailable if the window begins or ends inside a period of the data, or bases have no such step."""
    why = why_not_window(plan.query.domain, plan.window, plan.reader.catalogue.calendar)
    why = next(filter(None, map(plan.window.why_not, bases)), why)
    if why is not None:
        raise GrainUnavailable(
            f"{plan.side.key} cannot be asked this way: {why}.",
            field="filters.scenario",
            got=plan.side.key,
        )


def figure_named(figure: Metric | LineReference, reader: Reader) -> NamedFigure:
    """Return the figure of a metric or line; UnknownName if the statement has no such line."""
    if isinstance(figure, Metric):
        return NamedFigure(figure.label, metric_expression(figure, reader))
    statement, line = figure.statement, figure.line
    rows = statement_rows(statement, reader)
    lines = {row.key: NamedFigure(row.label, row.expression) for row in rows if row.expression}
    if line not in lines:
        named = [f"{statement.key}.{key}" for key in lines]
        hint = "run_statement shows the lines."
        raise UnknownName.of("line", f"{statement.key}.{line}", named, field="filters.metric", hint=hint)
    return lines[line]


def refuse_underivable(expression: Expression, query: RowQuery, reader: Reader) -> None:
    """Raise BadArguments or DimensionUnavailable for a figure that the rows of the source do not add up to."""
    terms = terms_of(expression)
    if terms is None:
        operands = [operand.reference for operand in operands_of(expression)]
        raise BadArguments(
            f"{query.written} is computed from figures; no rows add up to it. Inspect each of them in a call of its "
            f"own: {', '.join(operands)}.",
            field="filters.metric",
            got=query.written,
            valid=operands,
            example={"filters": {"metric": operands[0]}} if operands else None,
        )
    home = terms[0].base.domain
    if home != query.domain.key:
        raise BadArguments(
            f"{query.written} is made of rows of {home}, not of {query.domain.key}.",
            field="source_key",
            got=query.domain.key,
            valid=[home] if home in reader.domains else [],
        )
    for term in terms:
        undated = query.period is not None and query.period.is_undated and not term.base.over_time.is_flow
        reason = BALANCE_WITHOUT_DATE if undated else why_not_weighed(term.base, query.filters, (), reader)
        if reason:
            raise DimensionUnavailable(f"{query.written} is not available here: {reason}.", field="filters")
