"""Expressions and steps of the questions that the Arrow store answers."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache, reduce
from itertools import product
from math import prod
from operator import add, and_, or_

import polars as pl
from msgspec import Struct

from engine.model.caching import cached_method
from engine.model.calendar.periods import Span
from engine.model.fact_store import (
    ROWS,
    SPAN,
    Aggregate,
    AggregateFunction,
    Slice,
    SumTooLarge,
    in_range,
    refuse_too_many_groups,
)
from engine.model.scope import Cell, CodeSet, Conjunction
from engine.model.stopping import watched

CODE_TYPES: Mapping[int, type[pl.DataType]] = {8: pl.UInt8, 16: pl.UInt16, 32: pl.UInt32, 64: pl.UInt64}  # by bits
INT64_LIMIT, INT128_LIMIT = 2**63, 2**127
PACKED = "packed"
LEAST_PACKED = 8  # conjunctions that list codes of the same columns, from which on a row is looked up in all of them
MAX_COMBINATIONS, MAX_PACKED = 100_000, 2**63  # of codes that are looked up, and of codes that a whole number tells


def code_type(count: int) -> type[pl.DataType]:
    """Return the narrowest unsigned type for codes below a count."""
    return next(kind for bits, kind in CODE_TYPES.items() if count <= 2**bits)


class PackedKey(Struct, frozen=True):
    """Several columns of codes as one whole number, by which rows are grouped in half the time."""

    counts: Mapping[str, int]  # of the codes of each column

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> "PackedKey | None":
        """Return the key of some columns; None if they are fewer than two, or too long for a number of 32 bits."""
        return cls(counts) if len(counts) > 1 and prod(counts.values()) <= 2**32 else None

    @property
    def dtype(self) -> type[pl.DataType]:
        """The type of the numbers."""
        return code_type(prod(self.counts.values()))

    @property
    def packed(self) -> pl.Expr:
        """The number of a row, in PACKED."""
        wide = (pl.col(key).cast(self.dtype) * pl.lit(below, self.dtype) for key, below in self._below())
        return reduce(add, wide).alias(PACKED)

    def number(self, codes: Iterable[int]) -> int:
        """Return the number of a code of each column."""
        return sum(code * below for code, (_, below) in zip(codes, self._below(), strict=True))

    @property
    def unpacked(self) -> list[pl.Expr]:
        """The codes of a number, by column."""
        return [
            (pl.col(PACKED) // below % self.counts[key]).cast(code_type(self.counts[key])).alias(key)
            for key, below in self._below()
        ]

    def _below(self) -> Iterator[tuple[str, int]]:
        """Yield each column with the number of combinations of those after it."""
        below = prod(self.counts.values())
        for key, count in self.counts.items():
            below //= count
            yield key, below


def alternatives(within: Cell, counts: Mapping[str, int]) -> Iterator[pl.Expr]:
    """Yield filters of which one must hold: one of each conjunction, or of all that list codes of the same columns.

    Polars takes longer for hundreds of alternatives of a filter than for the rows.
    """
    alike: dict[tuple[str, ...], list[Conjunction]] = {}
    for part in within:
        lists = not part.amounts and not any(codes.complement for _, codes in part.by_dimension)
        alike.setdefault(tuple(part.codes) if lists else (), []).append(part)
    for columns, parts in alike.items():
        are_many = len(columns) > 1 and len(parts) >= LEAST_PACKED
        packed = listed_together({column: counts.get(column, 1) for column in columns}, parts) if are_many else None
        yield from (allowed(part, counts) for part in parts) if packed is None else (packed,)


def listed_together(counts: Mapping[str, int], parts: Sequence[Conjunction]) -> pl.Expr | None:
    """Return the filter for combinations of codes as one whole number each, None if they are too many."""
    key = PackedKey(counts)
    listed = [
        [[code for code in part.codes[column].codes if code < count] for column, count in counts.items()]
        for part in watched(parts)
    ]
    if prod(counts.values()) > MAX_PACKED or sum(prod(map(len, lists)) for lists in listed) > MAX_COMBINATIONS:
        return None
    numbers = {key.number(codes) for lists in listed for codes in watched(product(*lists))}
    return key.packed.is_in(pl.Series([sorted(numbers)], dtype=pl.List(key.dtype)))


def allowed(part: Conjunction, counts: Mapping[str, int]) -> pl.Expr:
    """Return the filter for rows inside one conjunction of a cell."""
    codes = (among(dimension, codes, counts) for dimension, codes in part.by_dimension)
    return reduce(and_, (*codes, *map(in_range, part.amounts)))


def among(dimension: str, codes: CodeSet, counts: Mapping[str, int]) -> pl.Expr:
    """Return the filter for codes of one dimension."""
    listed = pl.Series(sorted(codes.codes), dtype=code_type(counts.get(dimension, 1)), strict=False)
    inside = pl.col(dimension) == listed[0] if len(listed) == 1 else pl.col(dimension).is_in(pl.Series([listed]))
    return ~inside if codes.complement else inside


class RowFilter(Struct, frozen=True, dict=True):
    """What keeps the rows of partitions and rollups that lie inside a cell."""

    within: Cell
    predicate: pl.Expr | None  # None if every row lies inside

    @classmethod
    def of(cls, within: Cell, counts: Mapping[str, int]) -> "RowFilter":
        """Return the filter of a cell, for columns with a number of codes each."""
        if within.is_everything:
            return cls(within, None)
        return cls(within, reduce(or_, alternatives(within, counts), pl.lit(value=False)))

    def also(self, predicate: pl.Expr) -> "RowFilter":
        """Return the filter of the rows that a predicate keeps as well."""
        return RowFilter(self.within, predicate if self.predicate is None else self.predicate & predicate)

    def rows(self, frame: pl.DataFrame) -> pl.LazyFrame:
        """Return the rows of a partition or rollup, which is sorted by its first column, that the filter keeps.

        Only those between the least and the greatest code of that column are read.
        """
        if self.predicate is None:
            return frame.lazy()
        sorted_by = frame.to_series(0)
        if codes := self.bounds(sorted_by.name):
            first, after = bisect_left(sorted_by, codes[0]), bisect_right(sorted_by, codes[1])
            frame = frame.slice(first, after - first)
        return frame.lazy().filter(self.predicate)

    @cached_method
    def bounds(self, dimension: str) -> tuple[int, int] | None:
        """Return the least and the greatest code that the cell contains; None if it excludes codes, or has none."""
        codes = self.within.granted(dimension)
        return None if codes.complement or not codes.codes else (min(codes.codes), max(codes.codes))


def columns_of(asked: Slice) -> tuple[str, ...]:
    """Return the column names of the aggregates of a slice."""
    return tuple(aggregate.column for aggregate in asked.aggregates)


def aggregated(aggregate: Aggregate, magnitude: int) -> pl.Expr:
    """Return the expression of an aggregate: Int128 if the sum could exceed 63 bits, else Int64.

    Raises SumTooLarge if the sum could exceed 128 bits.
    """
    amounts = pl.col(aggregate.measure)
    if aggregate.how is AggregateFunction.MIN:
        return amounts.min().alias(aggregate.column)
    if aggregate.how is AggregateFunction.MAX:
        return amounts.max().alias(aggregate.column)
    if magnitude >= INT128_LIMIT:
        raise SumTooLarge(f"sums of {aggregate.measure} could pass 128 bits")
    return (amounts if magnitude < INT64_LIMIT else amounts.cast(pl.Int128)).sum()


def counted_facts(*, in_sums: bool) -> pl.Expr:
    """Return the number of facts in a group of rows, or of sums."""
    return pl.col(ROWS).sum() if in_sums else pl.len().cast(pl.Int64).alias(ROWS)


@cache
def at_span(position: int) -> pl.Expr:
    """Return the literal of a span's position. Cached, because making one costs more than the plan around it."""
    return pl.lit(position, pl.UInt32).alias(SPAN)


def group_columns(groups: Mapping[str, pl.Series]) -> list[pl.Expr]:
    """Return the expressions that replace codes by groups."""
    return [pl.lit(of_code).gather(pl.col(leaf)).alias(leaf) for leaf, of_code in groups.items()]


def capped(frame: pl.LazyFrame, most: int) -> pl.LazyFrame:
    """Return a frame that raises BadArguments if it has more rows than allowed."""

    def refuse(found: pl.DataFrame) -> pl.DataFrame:
        refuse_too_many_groups(found.height, most)
        return found

    return frame.head(most + 1).map_batches(
        refuse, predicate_pushdown=False, projection_pushdown=False, slice_pushdown=False
    )


def limited(frame: pl.LazyFrame, limit: int | None) -> pl.LazyFrame:
    """Return the first `limit` rows of a frame, all rows without a limit."""
    return frame if limit is None else frame.head(limit)


def days_of(span: Span) -> Iterator[date]:
    """Yield the days of a span."""
    return (date.fromordinal(day) for day in range(span.first.toordinal(), span.last.toordinal() + 1))
