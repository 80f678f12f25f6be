"""The engine outside of this machine that holds the rows of facts, as `facts` of instance.yaml names it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import polars as pl
from msgspec import Struct


class PartTotals(Struct, frozen=True):
    """What a part holds: the number of its rows and, for each measure, the sum of its absolute amounts."""

    rows: int
    magnitudes: Mapping[str, int]


class PartStore(Protocol):
    """The parts of an engine: rows of partitions, each row with the number of its part.

    A number is given once: a part is put whole by one call, and never again. Raises Unavailable, which names the
    engine and what to do, where it cannot be reached or refuses.
    """

    def table(self, domain: str) -> str:
        """Return the name of the table of a domain, as messages show it."""

    def put(self, domain: str, number: int, rows: pl.DataFrame) -> None:
        """Store the rows of a part. Makes the table of the domain, and the columns that it lacks.

        Codes are unsigned integers, amounts Int64, days Date, texts String. Rows of a part that a killed call left
        unfinished stay until they are dropped.
        """

    def totals(self, domain: str, measures: Sequence[str], numbers: Collection[int]) -> Mapping[int, PartTotals]:
        """Return what the named parts hold. A part without rows, or a missing table, is not among them."""

    def numbers(self, domain: str) -> frozenset[int]:
        """Return the numbers of all parts of a domain that have rows, whoever put them."""

    def rows(self, domain: str, number: int, columns: Sequence[str]) -> pl.DataFrame:
        """Return the rows of a part in no order: integers as Int64, days as Date, texts as String."""

    def drop(self, domain: str, numbers: Collection[int]) -> None:
        """Delete the named parts. No-op for parts, and tables, that are not there."""
