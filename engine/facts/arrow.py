"""The Arrow store: memory-mapped partitions, pruned before planning."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, reduce
from operator import and_, attrgetter, or_
from pathlib import Path

import polars as pl

from engine.facts.files import mapped
from engine.facts.manifest import INT64_LIMIT, UNDATED, Manifest, Partition, answering, needed, without_undeclared
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.fact_store import DATE, ROWS, SPAN, Aggregate, AggregateFunction, Presence, RowSlice, Slice
from engine.model.scope import Cell, CodeSet, Conjunction

# Presence: from the manifest if the cell covers everything, else from the rows, month by month.


class ArrowPresence:
    """The days and leaves for which a scenario has rows inside a cell. Reads each month at most once."""

    def __init__(
        self, partitions: Sequence[Partition], predicate: pl.Expr | None, frame: Callable[[Partition], pl.DataFrame]
    ) -> None:
        self._partitions = partitions
        self._predicate = predicate
        self._frame = frame
        self._held: dict[str, tuple[date, ...]] = {}

    def days(self, span: Span) -> Sequence[date]:
        """Return the days of a span that have rows, ascending."""
        held = {day for part in self._touched(span) for day in self._days(part) if span.holds(day)}
        return sorted(held)

    def last(self, span: Span) -> date | None:
        """Return the last day of a span that has rows, None if no day has any."""
        latest: date | None = None
        for part in reversed(self._touched(span)):
            if latest is not None and part.bucket != latest.isoformat()[:7]:
                break
            held = [day for day in self._days(part) if span.holds(day)]
            latest = max([*held, *([latest] if latest else [])], default=None)
        return latest

    def through(self) -> date | None:
        """Return the last day that has rows, None if there are none."""
        return self.last(Span(date.min, date.max))

    def undated(self) -> int:
        """Return the number of rows without a date."""
        parts = [part for part in self._partitions if part.bucket == UNDATED]
        if self._predicate is None:
            return sum(part.rows for part in parts)
        return sum(int(self._rows(part).select(pl.len()).collect().item()) for part in parts)

    def codes(self, dimension: str) -> frozenset[int]:
        """Return the codes of a leaf dimension that occur in the rows."""
        found = (self._rows(part).select(pl.col(dimension).unique()).collect()[dimension] for part in self._partitions)
        return frozenset(code for codes in found for code in codes)

    def unassigned(self, dimensions: Sequence[str]) -> frozenset[str]:
        """Return the leaf dimensions for which some row has no member."""
        found: set[str] = set()
        for part in self._partitions:
            lacking = [pl.col(key).eq(0).any() for key in dimensions if key not in found]
            if not lacking:
                break
            found.update(
                key for key, holds in self._rows(part).select(lacking).collect().row(0, named=True).items() if holds
            )
        return frozenset(found)

    def brought_by(self, load: str) -> bool:
        """Tell whether any row comes from a load."""
        parts = (part for part in self._partitions if part.load == load)
        return any(part.rows if self._predicate is None else self._holds_any(part) for part in parts)

    def _holds_any(self, part: Partition) -> bool:
        return bool(self._rows(part).select(pl.len()).collect().item())

    def _rows(self, part: Partition) -> pl.LazyFrame:
        frame = self._frame(part).lazy()
        return frame if self._predicate is None else frame.filter(self._predicate)

    def _touched(self, span: Span) -> list[Partition]:
        first, last = span.first.isoformat()[:7], span.last.isoformat()[:7]
        return [part for part in self._partitions if part.bucket != UNDATED and first <= part.bucket <= last]

    def _days(self, part: Partition) -> tuple[date, ...]:
        if self._predicate is None:
            return part.dates
        if part.id not in self._held:
            self._held[part.id] = tuple(sorted(self._rows(part).select(pl.col(DATE).unique()).collect()[DATE]))
        return self._held[part.id]


# Facts.
#
# The manifest decides which partitions a question touches. Each partition has its own filter and aggregation, and the
# small results are concatenated. If a rollup of a partition can answer, it is summed instead of the rows. A file is
# mapped once, on first use, and later questions share it.


LAST_DAY = attrgetter("last")
INT128_LIMIT = 2**127


class SumTooLarge(OverflowError):
    """The sum of the rows could exceed 128 bits."""


def code_type(count: int) -> type[pl.DataType]:
    """Return the narrowest unsigned type for codes below a count."""
    return pl.UInt8 if count <= 2**8 else pl.UInt16 if count <= 2**16 else pl.UInt32


def columns_of(asked: Slice) -> tuple[str, ...]:
    """Return the column names of the aggregates of a slice."""
    return tuple(aggregate.column for aggregate in asked.aggregates)


@dataclass(frozen=True, slots=True)
class Source:
    """The rows to sum for a partition: facts or a rollup, and the number of facts that they represent."""

    frame: pl.LazyFrame
    rows: pl.Expr


@cache
def at_span(position: int) -> pl.Expr:
    """Return the literal of a span's position. Cached, because making one costs more than the plan around it."""
    return pl.lit(position, pl.UInt32).alias(SPAN)


class ArrowFacts:
    """The facts of one version. Implements FactStore."""

    def __init__(self, root: Path, manifest: Manifest, domains: Mapping[str, Domain]) -> None:
        self._root = root
        self._domains = domains
        self._types = {dimension: code_type(codes.count) for dimension, codes in manifest.codes.items()}
        self._partitions: dict[tuple[str, str], list[Partition]] = {}
        for key, partitions in manifest.facts.items():
            for part in sorted(partitions, key=lambda part: (part.bucket, part.id)):
                known = without_undeclared(part, domains[key]) if key in domains else part
                self._partitions.setdefault((key, part.scenario), []).append(known)
        self._frames: dict[str, pl.DataFrame] = {}

    def partitions(self, domain: str, scenario: str) -> Sequence[Partition]:
        """Return the partitions of a scenario in month order."""
        return self._partitions.get((domain, scenario), [])

    def sums(self, asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return one row per span and key group; see FactStore."""
        touched = [(part, spans) for part in self.dated(asked, within) if (spans := spans_of(part, asked.spans))]
        aggregates = [
            self.aggregated(asked, aggregate, [part for part, _ in touched]) for aggregate in asked.aggregates
        ]
        predicate, dimensions = self.predicate(within), needed(asked, within)
        parts = [
            self.summed(self.source(asked.domain, part, spans, dimensions), spans, asked, aggregates, predicate)
            for part, spans in touched
        ]
        if not parts:
            return self.nothing(asked)
        return pl.concat(parts).select(SPAN, *asked.keys, *columns_of(asked), ROWS)

    def aggregated(self, asked: Slice, aggregate: Aggregate, touched: Sequence[Partition]) -> pl.Expr:
        """Return the expression of one aggregate: Int128 if the sum could exceed 63 bits, else Int64.

        Raises SumTooLarge if the sum could exceed 128 bits.
        """
        amounts = pl.col(aggregate.measure)
        if aggregate.how is AggregateFunction.MIN:
            return amounts.min().alias(aggregate.column)
        if aggregate.how is AggregateFunction.MAX:
            return amounts.max().alias(aggregate.column)
        magnitude = sum(part.magnitudes[aggregate.measure] for part in touched)
        if magnitude >= INT128_LIMIT:
            raise SumTooLarge(f"sums of {asked.domain} could pass 128 bits")
        return (amounts if magnitude < INT64_LIMIT else amounts.cast(pl.Int128)).sum()

    def source(
        self, domain: str, part: Partition, spans: Sequence[tuple[int, Span, bool]], dimensions: frozenset[str] | None
    ) -> Source:
        """Return the smallest rollup of a partition that can answer, else its rows."""
        takes_all = len(spans) == 1 and spans[0][2]
        rollup = answering(part, dimensions) if takes_all and dimensions is not None else None
        if rollup is None:
            return Source(self.frame(domain, part).lazy(), pl.len().cast(pl.Int64).alias(ROWS))
        return Source(self.frame(domain, part, rollup.file).lazy(), pl.col(ROWS).cast(pl.Int64).sum())

    def summed(
        self,
        source: Source,
        spans: Sequence[tuple[int, Span, bool]],
        asked: Slice,
        aggregates: Sequence[pl.Expr],
        predicate: pl.Expr | None,
    ) -> pl.LazyFrame:
        """Return the aggregates of one partition: filter, then group by the keys, and by span if there are several."""
        frame = source.frame if predicate is None else source.frame.filter(predicate)
        counted = [*aggregates, source.rows]
        if len(spans) > 1:
            days = {day: position for position, span, _ in spans for day in days_of(span)}
            schema = {DATE: pl.Date, SPAN: pl.UInt32}
            on_days = pl.DataFrame({DATE: list(days), SPAN: list(days.values())}, schema=schema)
            return (
                frame.join(on_days.lazy(), on=DATE)
                .group_by(SPAN, *asked.keys)
                .agg(counted)
                .select(*asked.keys, *columns_of(asked), ROWS, SPAN)
            )
        ((position, span, is_whole),) = spans
        if not is_whole:
            frame = frame.filter(pl.col(DATE).is_between(span.first, span.last))
        summed = (
            frame.group_by(asked.keys).agg(counted) if asked.keys else frame.select(counted).filter(pl.col(ROWS) > 0)
        )
        return summed.with_columns(at_span(position))

    def nothing(self, asked: Slice) -> pl.LazyFrame:
        """Return an empty frame with the columns and types of the sums of a slice."""
        keys = {key: self._types.get(key, pl.UInt8) for key in asked.keys}
        return pl.LazyFrame(
            schema={SPAN: pl.UInt32, **keys, **dict.fromkeys(columns_of(asked), pl.Int64), ROWS: pl.Int64}
        )

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return up to `limit` rows in month order, undated rows last; see FactStore."""
        predicate = self.predicate(within)
        order = list(dict.fromkeys((*self._domains[asked.domain].sort, DATE, *asked.columns)))
        months: dict[str, list[pl.LazyFrame]] = {}
        for part in () if within.is_nothing else self.partitions(asked.domain, asked.scenario):
            frame = self.frame(asked.domain, part).lazy()
            if asked.span is not None:
                spans = spans_of(part, (asked.span,)) if part.bucket != UNDATED else []
                if not spans:
                    continue
                ((_, span, is_whole),) = spans
                frame = frame if is_whole else frame.filter(pl.col(DATE).is_between(span.first, span.last))
            frame = frame if predicate is None else frame.filter(predicate)
            months.setdefault(part.bucket, []).append(self.shown(order, frame))
        if not months:
            return pl.LazyFrame(schema={column: self.row_type(asked.domain, column) for column in asked.columns})
        found = [
            frames[0] if len(frames) == 1 else pl.concat(frames).sort(order, maintain_order=True)
            for _, frames in sorted(months.items())
        ]
        rows = pl.concat([limited(frame, asked.limit) for frame in found]).pipe(limited, asked.limit)
        return rows.select(asked.columns)

    def row_type(self, domain: str, column: str) -> type[pl.DataType]:
        """Return the type of a column in a frame of rows."""
        if column in self._domains[domain].dimensions:
            return self._types.get(column, pl.UInt8)
        if column in self._domains[domain].measures:
            return pl.Int64
        return pl.Date if column == DATE else pl.String

    def shown(self, columns: Sequence[str], frame: pl.LazyFrame) -> pl.LazyFrame:
        """Return some columns of a frame. A column that its load lacks is null."""
        held = frame.collect_schema()
        lost = [pl.lit(None, pl.String).alias(column) for column in columns if column not in held]
        return frame.with_columns(lost).select(columns) if lost else frame.select(columns)

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return the days and leaves that have rows; see FactStore."""
        predicate = self.predicate(within)
        return ArrowPresence(self.partitions(domain, scenario), predicate, lambda part: self.frame(domain, part))

    def dated(self, asked: Slice, within: Cell) -> Iterator[Partition]:
        """Yield the dated partitions of a scenario that can have rows inside a cell."""
        parts = () if within.is_nothing else self.partitions(asked.domain, asked.scenario)
        return (part for part in parts if part.bucket != UNDATED)

    def frame(self, domain: str, partition: Partition, file: str = "") -> pl.DataFrame:
        """Map a partition or one of its rollups. Widens codes to the current type of their dimension."""
        file = file or partition.file
        frame = self._frames.get(file)
        if frame is None:
            frame = mapped(self._root / file)
            narrow = [
                pl.col(name).cast(self._types[name])
                for name, dtype in frame.schema.items()
                if name in self._types and dtype != self._types[name]
            ]
            frame = frame.with_columns(narrow) if narrow else frame
            refuse_other_places(self._domains[domain], partition)
            frame = frame.with_columns(pl.first().set_sorted())  # order when written; `sort:` may have changed since
            self._frames[file] = frame
        return frame

    def predicate(self, within: Cell) -> pl.Expr | None:
        """Return the filter for rows inside a cell, None if every row is inside."""
        if within.is_everything:
            return None
        return reduce(or_, (self.allowed(part) for part in within), pl.lit(value=False))

    def allowed(self, part: Conjunction) -> pl.Expr:
        """Return the filter for rows inside one conjunction of a cell."""
        return reduce(and_, (self.among(dimension, codes) for dimension, codes in part.by_dimension))

    def among(self, dimension: str, codes: CodeSet) -> pl.Expr:
        """Return the filter for codes of one dimension."""
        listed = pl.Series(sorted(codes.codes), dtype=self._types.get(dimension, pl.UInt8), strict=False)
        inside = pl.col(dimension) == listed[0] if len(listed) == 1 else pl.col(dimension).is_in(listed.implode())
        return ~inside if codes.complement else inside


def refuse_other_places(domain: Domain, partition: Partition) -> None:
    """Refuse amounts whose stored decimal places differ from the catalogue's."""
    for key, measure in domain.measures.items():
        held = partition.places.get(key, measure.places)
        if held != measure.places:
            raise Unavailable(
                f"{key} of {domain.key} was loaded to {held} decimal places and the catalogue now says "
                f"{measure.places}; its feeds must be loaded again."
            )


def limited(frame: pl.LazyFrame, limit: int | None) -> pl.LazyFrame:
    """Return the first `limit` rows of a frame, all rows without a limit."""
    return frame if limit is None else frame.head(limit)


def spans_of(part: Partition, spans: Sequence[Span]) -> list[tuple[int, Span, bool]]:
    """Return the spans in which a partition has rows: position, days, and whether the partition lies wholly inside."""
    days = part.dates
    held = Span(days[0], days[-1])
    found = []
    for position in range(bisect_left(spans, held.first, key=LAST_DAY), len(spans)):
        span = spans[position]
        if span.first > held.last:
            break
        overlap = span.overlap(held)
        if overlap == held:
            found.append((position, held, True))
        elif overlap is not None and any(overlap.holds(day) for day in days):
            found.append((position, overlap, False))
    return found


def days_of(span: Span) -> Iterator[date]:
    """Yield the days of a span."""
    return (date.fromordinal(day) for day in range(span.first.toordinal(), span.last.toordinal() + 1))
