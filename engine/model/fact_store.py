"""The store protocols: FactStore answers questions within a cell, Backend holds one version of the books."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Protocol

import polars as pl

from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.scope import Cell

# Slices: the questions of a plan.


DATE = "date"  # column of every row: the posting date
SPAN = "span"  # column of a sums frame: position of the span in the slice
ROWS = "rows"  # column of a sums frame: number of facts in the sum


class AggregateFunction(Enum):
    """How to aggregate the amounts of a group of rows."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate function over one measure."""

    measure: str
    how: AggregateFunction = AggregateFunction.SUM

    @property
    def column(self) -> str:
        """The column of the aggregate in a sums frame."""
        return self.measure if self.how is AggregateFunction.SUM else f"{self.measure}.{self.how.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Aggregates of one scenario of a domain, grouped by span and by the codes of leaf dimensions.

    Spans ascend and do not overlap. Only the cell passed with a slice restricts it.
    """

    domain: str
    scenario: str
    spans: tuple[Span, ...]
    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSlice:
    """Rows of one scenario of a domain, ordered by month, then the domain's sort keys, then all other columns.

    `span` None includes undated rows, which come last.
    """

    domain: str
    scenario: str
    span: Span | None
    columns: tuple[str, ...]
    limit: int | None = None


class Presence(Protocol):
    """The days and leaves for which a scenario of a domain has rows inside a cell."""

    def days(self, span: Span) -> Sequence[date]:
        """Return the days of a span that have rows, ascending."""

    def last(self, span: Span) -> date | None:
        """Return the last day of a span that has rows, None if no day has any."""

    def through(self) -> date | None:
        """Return the last day that has rows, None if there are none."""

    def undated(self) -> int:
        """Return the number of rows without a date."""

    def codes(self, dimension: str) -> frozenset[int]:
        """Return the codes of a leaf dimension that occur in the rows."""

    def unassigned(self, dimensions: Sequence[str]) -> frozenset[str]:
        """Return the leaf dimensions for which some row has no member."""

    def brought_by(self, load: str) -> bool:
        """Tell whether any row comes from a load."""


# FactStore: the three questions every store of facts answers, each within a cell.


class FactStore(Protocol):
    """Facts of one version of the books. There is no question without a cell."""

    def sums(self, asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return one row per span and key group: SPAN, the key codes, the aggregates as exact integers, ROWS.

        Aggregates are Int64, or Int128 where the rows touched could sum past 63 bits; ROWS is Int64. Row order is not
        fixed.
        """

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return up to `limit` rows in the order of RowSlice: dimensions as codes, measures as integers."""

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return the days and leaves that have rows."""


# Backends: one version of the books, its facts, members and loads.


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLoad:
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

    def load_of(self, table: str) -> str | None:
        """Return the id of the load of a table of members, nodes or rates."""

    def loads(self, domain: str, scenario: str) -> Sequence[FactLoad]:
        """Return the loads of a scenario of a domain in publishing order."""

    def feeds(self, domain: str) -> set[str]:
        """Return the feeds that loaded the facts of a domain. Empty if it has no facts."""

    def places(self, domain: str) -> Mapping[str, set[int]]:
        """Return the decimal places at which the amounts of each measure of a domain are stored."""

    def columns(self, domain: str) -> Mapping[str, set[str]]:
        """Return the columns of each load of a domain."""

    def identities(self, domain: str, scenario: str, tables: Collection[str]) -> list[str]:
        """Return the identities of the facts of a scenario of a domain and of the given tables, unordered.

        Two versions with the same identities hold the same data.
        """


class Versions(Protocol):
    """The versions of the books that a store publishes."""

    def current(self) -> int:
        """Return the number of the current version, 0 before the first is published."""

    def open(self, domains: Mapping[str, Domain]) -> Backend:
        """Open the current version and read its facts as `domains` declare them."""
