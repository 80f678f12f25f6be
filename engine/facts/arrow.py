"""The Arrow store: memory-mapped partitions, pruned before planning."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, reduce
from operator import and_, or_
from pathlib import Path

import polars as pl

from engine.facts.files import mapped
from engine.facts.manifest import (
    INT64_LIMIT,
    UNDATED,
    Manifest,
    Partition,
    answering,
    needed,
    spans_of,
    without_undeclared,
)
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.fact_store import (
    DATE,
    PERIOD,
    ROWS,
    SPAN,
    VALUE,
    Aggregate,
    AggregateFunction,
    DistinctSlice,
    LastKnownSlice,
    Presence,
    Question,
    RowSlice,
    Slice,
    SumTooLarge,
    answer,
    refuse_too_many_groups,
)
from engine.model.scope import Cell, CodeSet, Conjunction
from engine.model.stopping import Stop, watched

# Facts.
#
# The manifest decides which partitions a question touches. Each partition has its own filter and aggregation, and the
# small results are concatenated. If a rollup of a partition can answer, it is summed instead of the rows. A file is
# mapped once, on first use, and later questions share it.


INT128_LIMIT = 2**127


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

    def collect(self, questions: Sequence[Question], stop: Stop) -> list[pl.DataFrame]:
        """Return the answers to all questions, collected one after another; see FactStore.

        Polars uses every core for one frame, and `pl.collect_all` is no faster. A collect cannot be cancelled, so that
        `stop` is called before each frame and after the last.
        """
        found = []
        for question in questions:
            stop()
            found.append(answer(question, self).collect(engine="in-memory"))
        stop()
        return found

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
            days = {day: position for position, span, _ in spans for day in watched(days_of(span))}
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
            if asked.leaves is not None:
                frame = frame.join(self.typed(asked.leaves), on=asked.leaves.columns, how="semi", maintain_order="left")
            months.setdefault(part.bucket, []).append(self.shown(order, frame))
        if not months:
            return pl.LazyFrame(schema={column: self.row_type(asked.domain, column) for column in asked.columns})
        found = [
            frames[0] if len(frames) == 1 else pl.concat(frames).sort(order, maintain_order=True)
            for _, frames in sorted(months.items())
        ]
        rows = pl.concat([limited(frame, asked.limit) for frame in found]).pipe(limited, asked.limit)
        return rows.select(asked.columns)

    def typed(self, leaves: pl.DataFrame) -> pl.LazyFrame:
        """Return combinations of leaf codes with the types of their dimensions."""
        return leaves.lazy().cast({leaf: self._types.get(leaf, pl.UInt8) for leaf in leaves.columns})

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

    def last_known(self, asked: LastKnownSlice, within: Cell) -> pl.LazyFrame:
        """Return one row per window, period and key group; see FactStore."""
        leaves = asked.leaves
        by_leaf = Slice(
            domain=asked.domain,
            scenario=asked.scenario,
            spans=asked.spans,
            keys=tuple(sorted({*asked.keys, *leaves})),
            aggregates=asked.aggregates,
        )
        periods = pl.Series(asked.periods, dtype=pl.UInt32)
        sums = self.sums(by_leaf, within).with_columns(pl.lit(periods).gather(pl.col(SPAN)).alias(PERIOD))
        last = pl.col(PERIOD).max()
        by_window = [
            sums.filter(pl.col(SPAN).is_in(list(read)))
            .filter(pl.col(PERIOD) == (last.over(leaves) if leaves else last))
            .with_columns(pl.lit(window, pl.UInt32).alias(SPAN))
            for window, read in watched(enumerate(asked.windows))
        ]
        made = [getattr(pl.col(part.column), part.how.value)() for part in asked.aggregates] + [pl.col(ROWS).sum()]
        return (
            pl.concat(by_window or [sums.clear()])
            .with_columns(group_columns(asked.groups))
            .group_by(SPAN, PERIOD, *asked.keys)
            .agg(made)
            .pipe(capped, asked.most)
        )

    def distinct(self, asked: DistinctSlice, within: Cell) -> pl.LazyFrame:
        """Return one row per span, key group and code of the counted dimension; see FactStore."""
        by_code = Slice(
            domain=asked.domain,
            scenario=asked.scenario,
            spans=asked.spans,
            keys=tuple(dict.fromkeys((*asked.keys, asked.counted))),
            aggregates=(),
        )
        return (
            self.sums(by_code, within)
            .with_columns(pl.col(asked.counted).alias(VALUE), *group_columns(asked.groups))
            .select(SPAN, *asked.keys, VALUE)
            .unique()
            .pipe(capped, asked.most)
        )

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return the days that have rows; see FactStore. Without a filter the manifest knows them."""
        predicate, parts = self.predicate(within), self.partitions(domain, scenario)
        undated = [part for part in parts if part.bucket == UNDATED]
        if predicate is None:
            days = {day for part in watched(parts) for day in part.dates}
            return Presence(tuple(sorted(days)), sum(part.rows for part in undated))
        frames = (self.inside(domain, part, predicate).select(pl.col(DATE).unique()) for part in watched(parts))
        dates = {day for frame in frames for day in watched(frame.collect(engine="in-memory")[DATE])}
        return Presence(tuple(sorted(dates - {None})), sum(self.row_count(domain, part, predicate) for part in undated))

    def codes(self, domain: str, scenario: str, dimension: str, within: Cell) -> frozenset[int]:
        """Return the codes of a leaf dimension that occur in the rows; a rollup knows them as well."""
        predicate, dimensions = self.predicate(within), within.dimensions | {dimension}
        frames = (self.inside(domain, part, predicate, dimensions) for part in self.partitions(domain, scenario))
        found = (frame.select(pl.col(dimension).unique()).collect()[dimension] for frame in frames)
        return frozenset(code for codes in watched(found) for code in watched(codes))

    def unassigned(self, domain: str, scenario: str, dimensions: Sequence[str], within: Cell) -> frozenset[str]:
        """Return the leaf dimensions for which some row has no member."""
        predicate = self.predicate(within)
        found: set[str] = set()
        for part in self.partitions(domain, scenario):
            lacking = [pl.col(key).eq(0).any() for key in dimensions if key not in found]
            if not lacking:
                break
            flags = self.inside(domain, part, predicate).select(lacking).collect().row(0, named=True)
            found.update(key for key, holds in flags.items() if holds)
        return frozenset(found)

    def brought_by(self, domain: str, scenario: str, load: str, within: Cell) -> bool:
        """Tell whether any row comes from a load."""
        predicate = self.predicate(within)
        parts = (part for part in self.partitions(domain, scenario) if part.load == load)
        return any(part.rows if predicate is None else self.row_count(domain, part, predicate) for part in parts)

    def inside(
        self, domain: str, part: Partition, predicate: pl.Expr | None, dimensions: frozenset[str] | None = None
    ) -> pl.LazyFrame:
        """Return the rows of a partition that a filter keeps, or of its smallest rollup by these dimensions or more."""
        rollup = None if dimensions is None else answering(part, dimensions)
        frame = self.frame(domain, part, rollup.file if rollup else "").lazy()
        return frame if predicate is None else frame.filter(predicate)

    def row_count(self, domain: str, part: Partition, predicate: pl.Expr) -> int:
        """Return the number of rows of a partition that a filter keeps."""
        return int(self.inside(domain, part, predicate).select(pl.len()).collect().item())

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
