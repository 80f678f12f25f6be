"""The protocols of the store: the questions it answers within a cell, and one version of the books behind it."""

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

# Slices: what a plan asks of the facts.


DATE = "date"  # column of every row: the posting date
SPAN = "span"  # column of a sums frame: position of the span among those asked for
ROWS = "rows"  # column of a sums frame: how many rows were added up


class AggregateFunction(Enum):
    """What is made of the amounts of a group of rows."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A measure of a group of rows."""

    measure: str
    how: AggregateFunction = AggregateFunction.SUM

    @property
    def column(self) -> str:
        """The column of a sums frame that holds it."""
        return self.measure if self.how is AggregateFunction.SUM else f"{self.measure}.{self.how.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Aggregates of one scenario of a domain: by span and by the codes of some leaf dimensions.

    The spans do not overlap and ascend. The cell handed over beside a slice is all that restricts it.
    """

    domain: str
    scenario: str
    spans: tuple[Span, ...]
    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSlice:
    """Rows of one scenario of a domain: by month, then by the domain's sort keys, then by everything else.

    `span` None asks for undated rows as well, which come last.
    """

    domain: str
    scenario: str
    span: Span | None
    columns: tuple[str, ...]
    limit: int | None = None


class Presence(Protocol):
    """Where a scenario of a domain holds rows inside a cell: on which days, and for which leaves."""

    def days(self, span: Span) -> Sequence[date]:
        """Return the days of a span that hold rows, ascending."""

    def last(self, span: Span) -> date | None:
        """Return the last day of a span that holds rows."""

    def through(self) -> date | None:
        """Return the last day of all that holds rows."""

    def undated(self) -> int:
        """Return how many rows have no date."""

    def codes(self, dimension: str) -> frozenset[int]:
        """Return the codes of a leaf dimension that some row has."""

    def unassigned(self, dimensions: Sequence[str]) -> frozenset[str]:
        """Return those of some leaf dimensions of which a row has no member."""

    def brought_by(self, load: str) -> bool:
        """Tell whether a load brought some row."""


# FactStore: the three questions every store of facts answers, each within a cell.


class FactStore(Protocol):
    """Facts of one version of the books. There is no question without a cell."""

    def sums(self, asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return one row per span and key group: SPAN, the key codes, the aggregates as exact integers, ROWS.

        Aggregates are Int64, or Int128 where the rows touched could sum past 63 bits; ROWS is Int64. Row order is not
        fixed.
        """

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return up to `limit` rows in the order of a RowSlice; dimensions as codes, measures as integers."""

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return on which days rows are held."""


# Backends: what the books take from a store besides the facts.


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLoad:
    """A load behind a scenario of a domain, and the days that hold its rows."""

    load: str
    at: datetime
    days: frozenset[date]


class Backend(Protocol):
    """One version of the books as a store holds it; the store keeps the version for as long as this object lives."""

    @property
    def version(self) -> int:
        """The number of the version, 0 where nothing was published yet."""

    @property
    def facts(self) -> FactStore:
        """The facts."""

    @property
    def files(self) -> Sequence[Path]:
        """The files on this machine that the version needs."""

    @property
    def published_at(self) -> datetime | None:
        """When the latest load was made, None where there is none."""

    def leaf_count(self, dimension: str) -> int:
        """Return how many codes a leaf dimension has, the null member's included."""

    def leaf_ids(self, dimension: str) -> pl.Series | None:
        """Return the ids of a leaf dimension in code order, the null member's first; None where none was loaded."""

    def table(self, name: str) -> pl.DataFrame | None:
        """Return a table of members, nodes or rates, None where it was never loaded."""

    def load_of(self, table: str) -> str | None:
        """Return the load behind a table of members, nodes or rates."""

    def loads(self, domain: str, scenario: str) -> Sequence[FactLoad]:
        """Return the loads behind a scenario of a domain in the order in which they were published."""

    def feeds(self, domain: str) -> set[str]:
        """Return the feeds that brought the facts of a domain; none where it has no facts."""

    def places(self, domain: str) -> Mapping[str, set[int]]:
        """Return the decimal places that the amounts of each measure of a domain were loaded to."""

    def columns(self, domain: str) -> Mapping[str, set[str]]:
        """Return the columns that each load of a domain brought."""

    def identities(self, domain: str, scenario: str, tables: Collection[str]) -> list[str]:
        """Return what identifies the facts of a scenario of a domain and some tables, in no order.

        Two versions with the same identities hold the same data.
        """


class Versions(Protocol):
    """The versions of the books that a store publishes one after the other."""

    def current(self) -> int:
        """Return the number of the current version, 0 where nothing was published yet."""

    def open(self, domains: Mapping[str, Domain]) -> Backend:
        """Open the current version; its facts are read as some domains declare them."""
