"""The store protocols: FactStore answers questions within a cell, Backend holds one version of the books."""

from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Protocol

import polars as pl
from msgspec import Struct

from engine.model.caching import cached_method
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import WITHOUT_DATE, Grain, Period, Span
from engine.model.catalogue import Domain
from engine.model.derived_tables import DerivedTables, Tables
from engine.model.errors import BadArguments
from engine.model.freezes import Freeze
from engine.model.scope import AmountRange, Cell
from engine.model.stopping import Stop, watched

# Slices: the questions of a plan.


DATE = "date"  # column of every row: the posting date
SPAN = "span"  # column of a sums frame: position of the span in the slice
ROWS = "rows"  # column of a sums frame: number of facts in the sum
PERIOD = "last_period"  # column of a last-known frame: number of the period
VALUE = "value"  # column of a distinct frame: code of a member
MOST_GROUPS = 5_000_000  # rows of a last-known frame
MAX_MEMBERS = 20_000_000  # rows of a distinct frame


class AggregateFunction(Enum):
    """How to aggregate the amounts of a group of rows."""

    __hash__ = object.__hash__  # each member exists once; Enum hashes its name in Python

    SUM = "sum"
    MIN = "min"
    MAX = "max"


class Aggregate(Struct, frozen=True):
    """One aggregate function over one measure."""

    measure: str
    how: AggregateFunction = AggregateFunction.SUM

    @property
    def column(self) -> str:
        """The column of the aggregate in a sums frame."""
        return self.measure if self.how is AggregateFunction.SUM else f"{self.measure}.{self.how.value}"


class Slice(Struct, frozen=True, kw_only=True):
    """Aggregates of one scenario of a domain, grouped by span and by the codes of leaf dimensions.

    Spans ascend and do not overlap; WITHOUT_DATE comes last and means the rows without a date. Only the cell passed
    with a slice restricts it.
    """

    domain: str
    scenario: str
    spans: tuple[Span, ...]
    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]


class RowSlice(Struct, frozen=True, kw_only=True, eq=False):
    """Rows of one scenario of a domain, ordered by month, then the domain's sort keys, then all other columns.

    `span` WITHOUT_DATE means the undated rows alone; None includes them, last. `leaves` lists combinations of leaf
    codes; other rows are left out. `ranks` holds the rank of every code of a dimension; without it, codes ascend.
    """

    domain: str
    scenario: str
    span: Span | None
    columns: tuple[str, ...]
    limit: int | None = None
    leaves: pl.DataFrame | None = None
    ranks: Mapping[str, pl.Series] = {}
    is_ordered: bool = True  # where it is false, any order will do


class LastKnownSlice(Struct, frozen=True, kw_only=True, eq=False):
    """Aggregates of the rows of each leaf in the last period in which it has rows, for several windows of days.

    A leaf is one code of each dimension of `leaves`. `windows` names the spans of each window by position, those that
    stand in a row as a range. `periods` numbers the period of each span; later spans have no smaller numbers, and no
    span crosses periods. `groups` replaces the codes of a key by groups: it holds the group of every code. The question
    is refused beyond `most` rows.
    """

    domain: str
    scenario: str
    spans: tuple[Span, ...]
    periods: tuple[int, ...]
    windows: tuple[Sequence[int], ...]
    leaves: tuple[str, ...]
    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    groups: Mapping[str, pl.Series] = {}
    most: int = MOST_GROUPS


class DistinctSlice(Struct, frozen=True, kw_only=True, eq=False):
    """The codes of one leaf dimension that occur in a scenario of a domain, grouped like a Slice.

    `groups` replaces the codes of a key by groups: it holds the group of every code. The question is refused beyond
    `most` rows.
    """

    domain: str
    scenario: str
    spans: tuple[Span, ...]
    keys: tuple[str, ...]
    counted: str
    groups: Mapping[str, pl.Series] = {}
    most: int = MAX_MEMBERS


Asked = Slice | RowSlice | LastKnownSlice | DistinctSlice


def in_range(known: AmountRange) -> pl.Expr:
    """Return the filter for amounts of one measure; a row without an amount is in no range."""
    inside = pl.col(known.measure).is_between(known.least, known.most)
    return ~inside if known.complement else inside


def unchanged(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return a frame as it is."""
    return frame


class Question(Struct, frozen=True, eq=False):
    """A slice, the cell that it is answered within, and what to compute from the answer on this machine."""

    asked: Asked
    within: Cell
    then: Callable[[pl.LazyFrame], pl.LazyFrame] = unchanged


class Presence(Struct, frozen=True, dict=True):
    """The days for which a scenario of a domain has rows inside a cell. It is read once; it answers without reading."""

    dates: tuple[date, ...]  # ascending
    undated: int  # rows without a date
    lasts: bool = True  # whether the rows stay while the version is open, so that amounts of them may be kept

    def days(self, span: Span) -> Sequence[date]:
        """Return the days of a span that have rows, ascending."""
        return self.dates[bisect_left(self.dates, span.first) : bisect_right(self.dates, span.last)]

    def last(self, span: Span) -> date | None:
        """Return the last day of a span that has rows, None if no day has any."""
        return next(reversed(self.days(span)), None)

    def holds(self, span: Span) -> bool:
        """Tell whether a span has rows; WITHOUT_DATE has the rows without a date."""
        return self.undated > 0 if span == WITHOUT_DATE else self.last(span) is not None

    @property
    def through(self) -> date | None:
        """The last day that has rows, None if there are none."""
        return self.dates[-1] if self.dates else None

    @cached_property
    def months(self) -> tuple[Span, ...]:
        """The calendar months that have rows, ascending."""
        held = dict.fromkeys((day.year, day.month) for day in watched(self.dates))
        return tuple(Span(date(*month, 1), date(*month, monthrange(*month)[1])) for month in held)

    def periods(self, span: Span, calendar: Calendar, grain: Grain) -> Sequence[Period]:
        """Return the periods of a grain that have rows on days of a span, ascending."""
        days, places, found = self._periods(calendar, grain)
        first, after = bisect_left(days, span.first), bisect_right(days, span.last)
        return found[places[first] : places[after - 1] + 1] if first < after else ()

    @cached_method
    def _periods(self, calendar: Calendar, grain: Grain) -> tuple[Sequence[date], Sequence[int], Sequence[Period]]:
        """Return the days with rows in periods of a grain, the position of the period of each, and the periods."""
        days = self.days(calendar.days_of(grain)) if grain in calendar.grains else ()
        each = [calendar.grains[grain].at(day) for day in watched(days)]
        at = {ordinal: place for place, ordinal in enumerate(dict.fromkeys(each))}
        periods = tuple(calendar.period(grain, ordinal) for ordinal in watched(at))
        return days, [at[ordinal] for ordinal in watched(each)], periods


PresenceByLoad = Mapping[str, Presence]


# FactStore: the questions that every store of facts answers, each within a cell.


class SumTooLarge(OverflowError):
    """The sum of the rows could exceed 128 bits."""


class FactStore(Protocol):
    """Facts of one version of the books. There is no question without a cell.

    A frame may read when it is collected, or hold an answer that was read when the question was asked. Codes are
    unsigned integers, as narrow as the codes of their dimension allow.
    """

    def collect(self, questions: Sequence[Question], stop: Stop) -> list[pl.DataFrame]:
        """Return the answers to all questions of a report, each after its `then`, in the order of the questions.

        The store decides how: a store on this machine may answer one after another, a remote one sends all statements
        at once. It calls `stop` before it begins, before each group of answers that it waits for, and after the last;
        what `stop` raises ends the work. Raises what the questions raise.
        """

    def sums(self, asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return one row per span, key group and part of the books that has rows; those of a key group add up.

        Columns: SPAN (UInt32), the codes of the keys, the aggregates in the order of the slice, ROWS (Int64).
        Aggregates are exact: Int64, or Int128 where the rows touched could sum past 63 bits. Row order is not fixed.
        Raises SumTooLarge if they could sum past 127 bits, and Unavailable if amounts are stored to other decimal
        places than the catalogue says.
        """

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return up to `limit` rows in the order of RowSlice, if it has one.

        Columns: those of the slice, in its order: dimensions as codes, measures as Int64, DATE as Date, texts as
        String. A column that a load lacks is null. Raises Unavailable as `sums` does.
        """

    def last_known(self, asked: LastKnownSlice, within: Cell) -> pl.LazyFrame:
        """Return one row per window, period and key group that has rows of leaves in their last period.

        Columns: SPAN (UInt32, the position of the window), PERIOD (UInt32), the codes or groups of the keys, the
        aggregates and ROWS as in `sums`. Row order is not fixed. Raises what `sums` raises, and BadArguments beyond
        `most` rows, when it is asked or collected.
        """

    def distinct(self, asked: DistinctSlice, within: Cell) -> pl.LazyFrame:
        """Return one row per span, key group and code of the counted dimension that has rows.

        Columns: SPAN (UInt32), the codes or groups of the keys, VALUE (a code; 0 for rows without a member). Row order
        is not fixed. Raises BadArguments beyond `most` rows, when it is asked or collected.
        """

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return the days that have rows, and the number of rows without a date."""

    def presence_of_loads(self, domain: str, scenario: str, within: Cell, loads: Collection[str]) -> PresenceByLoad:
        """Return the days that have rows of each of some loads, and the number of its rows without a date.

        A load without rows may be left out.
        """

    def codes(self, domain: str, scenario: str, dimension: str, within: Cell) -> frozenset[int]:
        """Return the codes of a leaf dimension that occur in the rows."""

    def unassigned(self, domain: str, scenario: str, dimensions: Sequence[str], within: Cell) -> frozenset[str]:
        """Return the leaf dimensions for which some row has no member."""


def answer(question: Question, store: FactStore) -> pl.LazyFrame:
    """Return the frame of one question, after its `then`."""
    match question.asked:
        case Slice() as asked:
            found = store.sums(asked, question.within)
        case RowSlice() as asked:
            found = store.rows(asked, question.within)
        case LastKnownSlice() as asked:
            found = store.last_known(asked, question.within)
        case DistinctSlice() as asked:
            found = store.distinct(asked, question.within)
    return question.then(found)


def refuse_too_many_groups(count: int, most: int) -> None:
    """Raise BadArguments if an answer has more rows than its question allows."""
    if count > most:
        raise BadArguments(
            f"The report would group the facts into more than {most:,} last known values or distinct members. To get "
            "fewer, choose a shorter range, filter a dimension, or leave one out of dimensions.",
            field="dimensions",
        )


# Backends: one version of the books, its facts, members and loads.


class FactLoad(Struct, frozen=True, kw_only=True):
    """A load of a scenario of a domain, and the days that have its rows."""

    load: str
    at: datetime
    days: frozenset[date]


class Backend(Protocol):
    """One version of the books in a store. The store keeps the version while this object lives."""

    @property
    def version(self) -> int:
        """The number of the version, 0 before the first is published."""

    @property
    def facts(self) -> FactStore:
        """The fact store of the version."""

    @property
    def freezes(self) -> Sequence[Freeze]:
        """The freezes of the version, those that cannot be read included."""

    @property
    def files(self) -> Sequence[Path]:
        """The files on this machine that the version needs."""

    @property
    def published_at(self) -> datetime | None:
        """The time of the latest load, None if there is none."""

    def leaf_count(self, dimension: str) -> int:
        """Return the number of codes of a leaf dimension, including the null member's."""

    def leaf_ids(self, dimension: str) -> pl.Series | None:
        """Return the ids of a leaf dimension in code order, the null member first. None if none was loaded."""

    def table(self, name: str) -> pl.DataFrame | None:
        """Return a table of members, nodes or rates, None if it was never loaded."""

    def member_identities(self, leaf: str, tables: Collection[str]) -> frozenset[str]:
        """Return the identities of the codes of a leaf dimension and of the given tables.

        Two versions with the same identities hold the same codes and tables.
        """

    def derived(self, name: str, make: Callable[[], Tables]) -> DerivedTables:
        """Return tables of a name that tells what they are made of. The store makes them once and keeps them."""

    def row_identities(self) -> Mapping[tuple[str, str], str]:
        """Return the identity of the rows of each domain and scenario: versions with it hold them under equal codes.

        Rows that can change while the version is open have none.
        """

    def load_of(self, table: str) -> str | None:
        """Return the id of the load of a table of members, nodes or rates."""

    def loads(self, domain: str, scenario: str) -> Sequence[FactLoad]:
        """Return the loads of a scenario of a domain in publishing order."""

    def feeds(self, domain: str) -> set[str]:
        """Return the feeds that loaded the facts of a domain. Empty if it has no facts."""

    def places(self, domain: str) -> Mapping[str, set[int]]:
        """Return the decimal places at which the amounts of each measure of a domain are stored."""

    def blanks(self, domain: str) -> frozenset[str]:
        """Return the measures of a domain that some row has no amount of."""

    def columns(self, domain: str) -> Mapping[str, set[str]]:
        """Return the columns of each load of a domain."""

    def identities(self, domain: str, scenario: str, tables: Collection[str]) -> list[str]:
        """Return the identities of the facts of a scenario of a domain and of some tables: equal ones, equal data."""


class Versions(Protocol):
    """The versions of the books that a store publishes."""

    def current(self) -> int:
        """Return the number of the current version, 0 before the first is published."""

    def stamp(self) -> Hashable:
        """Return a value that changes whenever the current version changes, or what describes it. Reads little."""

    def open(self, domains: Mapping[str, Domain]) -> Backend:
        """Open the current version and read its facts as `domains` declare them."""
