"""Queries as values."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from operator import is_

from msgspec import Struct

from engine.model.calendar.labels import LabelDetail
from engine.model.calendar.periods import Grain, Period, PeriodRange, Span
from engine.model.catalogue import Dimension, Domain, Favourable, Metric, Statement
from engine.model.exact import ONE, Exact
from engine.model.formulas import FigureType, Formula
from engine.model.notes import Note
from engine.model.requests import Selection
from engine.model.scenarios import Reference
from engine.model.scope import Cell, CodeSet
from engine.model.stopping import watched
from engine.model.views import ShownColumn

MISSING_STATE = "missing"  # of a condition
DIRECTIONS = {Favourable.UP: 1, Favourable.DOWN: -1}  # the sign of a favourable variance
MAX_MET = 10_000  # members of many that a condition shows without `top`
LONGEST_ALIAS = 200  # characters of the heading of a scenario or formula


class ScenarioColumn(Struct, frozen=True):
    """A column of a query: a scenario reference and its heading."""

    reference: Reference
    heading: str


class Filter(Struct, frozen=True, kw_only=True):
    """A filter by members of one dimension, with the weights of their leaves.

    A leaf of weight 0 lies outside the total of its hierarchy: it counts only where another restriction weighs it.
    """

    dimension: Dimension
    asked: Selection
    members: tuple[str, ...]  # the visible ones of those asked for
    leaves: Mapping[int, Exact]
    excluded: tuple[str, ...] | None = None  # the visible ones of those to leave out; None: the filter names none

    @property
    def counted(self) -> Mapping[int, Exact]:
        """The leaves that lie inside the total of the hierarchy."""
        return {leaf: weight for leaf, weight in watched(self.leaves.items()) if weight.numerator}

    @property
    def value(self) -> Hashable:
        """A key that is equal for filters that select alike, for one caller.

        An exclusion without members keeps all others, or nothing if it names members and none of them is visible.
        """
        return (self.dimension.key, self.members, self.excluded, bool(self.leaves))

    @property
    def weighs_alike(self) -> bool:
        """Whether every leaf weighs 1, as those of lists do, which share the weight."""
        return all(map(is_, self.leaves.values(), repeat(ONE)))

    @property
    def cell(self) -> Cell:
        """The leaves that count."""
        if self.weighs_alike:
            return Cell.where(self.dimension.leaf, CodeSet(frozenset(self.leaves)))
        codes = frozenset(code for code, weight in watched(self.leaves.items()) if weight)
        return Cell.where(self.dimension.leaf, CodeSet(codes))


class TimeAxis(Struct, frozen=True, kw_only=True):
    """A breakdown by periods of one grain."""

    dimension: Dimension
    grain: Grain

    def member(self, period: Period) -> str:
        """Return the id of a period: its code, or its number in the year."""
        return period.code.partition("-")[2] if self.dimension.of_year else period.code

    def label(self, period: Period) -> str:
        """Return the label of a period, without the year if its id has none."""
        if not self.dimension.of_year:
            return period.label
        words = period.name.split()
        return words[0] if period.beside is LabelDetail.NOTHING else words[-1]


class TimeColumn(Struct, frozen=True, dict=True):
    """The days that one period of each axis of time has in common; of a sub-total, those of a period of the first."""

    periods: tuple[Period, ...]
    spans: tuple[Span, ...]
    parts: tuple[Period, ...] = ()  # of a sub-total: the periods that its columns are, if each is one

    @cached_property
    def whole(self) -> Period | None:
        """The period with exactly these days, None if two calendars cut each other."""
        return next((period for period in self.periods if self.spans == (period.span,)), None)

    @cached_property
    def runs(self) -> Sequence[PeriodRange]:
        """The periods that it is made of, none if two calendars cut each other."""
        return [PeriodRange(period, period) for period in ((self.whole,) if self.whole else self.parts)]


class Query(Struct, frozen=True, kw_only=True):
    """The part of a query that statements and metrics share.

    `selected` holds the ranges to read: the requested range, or the parts of it that filters on time keep. `by_time`
    holds these filters as sent, by time dimension. `breakdown` holds the dimensions in the order asked;
    `time` are those that break down by periods. `subtotals` tells whether the request asks for them. `views` are the
    columns to show where some are computed from those read; empty where all are shown as they are read.
    """

    domains: tuple[Domain, ...]
    columns: tuple[ScenarioColumn, ...]
    asked: PeriodRange
    selected: tuple[PeriodRange, ...]
    filters: tuple[Filter, ...]
    by_time: Mapping[str, Selection]
    breakdown: tuple[Dimension, ...]
    time: tuple[TimeAxis, ...]
    scale: int
    decimals: int | None
    notes: tuple[Note, ...]
    subtotals: bool = False
    views: tuple[ShownColumn, ...] = ()

    @property
    def nests(self) -> bool:
        """Whether places stand below sub-totals. A breakdown by one dimension, made of this query, has none."""
        return self.subtotals and len(self.breakdown) > 1

    def read_by(self, column: int) -> int:
        """Return the position of the column that is read for one that is shown."""
        return self.views[column].read if self.views else column

    @property
    def width(self) -> int:
        """How many columns are shown, or read if these are more."""
        return max(len(self.columns), len(self.views))


class MaterialityTest(Struct, frozen=True, kw_only=True):
    """What a line must reach in a column to be shown: an amount, or a share of the comparative's absolute figure.

    The largest `top` members of the dimension `by` follow each line that reaches it.
    """

    column: int  # that is shown
    amount: Exact | None
    percent: Exact | None
    needs_both: bool
    by: Dimension | None
    top: int


class StatementQuery(Struct, frozen=True):
    """One statement, and which of its lines are shown: those named, or all, with so many levels of nodes below.

    Of these, those that are material, if the request says what is.
    """

    statement: Statement
    query: Query
    lines: tuple[str, ...] = ()
    depth: int | None = None
    materiality: MaterialityTest | None = None


class FigureCondition(Struct, frozen=True, kw_only=True):
    """What the figures of a member of the first dimension must meet: those of a line in a column that is shown."""

    line: int
    column: int
    least: Exact | None = None
    most: Exact | None = None
    state: str | None = None  # favourable, unfavourable or missing


class Ranking(Struct, frozen=True, kw_only=True):
    """Which members of the first dimension are shown: those that meet all conditions, of these the first `top`.

    They stand by the figures of a line in a column that is read, or in their own order if the request gives none.
    """

    line: int
    column: int
    asc: bool
    top: int | None  # None: all of them
    is_ordered: bool = True
    conditions: tuple[FigureCondition, ...] = ()


class AdHocFormula(Struct, frozen=True, kw_only=True):
    """A formula of metrics that a request brings."""

    alias: str
    formula: Formula
    type: FigureType


class MetricQuery(Struct, frozen=True):
    """Metrics of one domain."""

    metrics: tuple[Metric, ...]
    query: Query
    formulas: tuple[AdHocFormula, ...] = ()
    ranking: Ranking | None = None
