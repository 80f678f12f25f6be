"""The Arrow store: memory-mapped partitions, pruned before planning."""

from collections.abc import Collection, Mapping, Sequence

import polars as pl
from msgspec import Struct

from engine.facts.expressions import (
    PACKED,
    PackedKey,
    RowFilter,
    aggregated,
    at_span,
    capped,
    columns_of,
    counted_facts,
    days_of,
    group_columns,
    limited,
)
from engine.facts.files import MappedFiles
from engine.facts.manifest import (
    Manifest,
    Partition,
    Rollup,
    TouchedPart,
    is_whole,
    magnitude_of,
    spans_of,
)
from engine.facts.mapped import MappedFacts
from engine.facts.rollups import answering, needed
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.fact_store import (
    DATE,
    PERIOD,
    ROWS,
    SPAN,
    VALUE,
    DistinctSlice,
    LastKnownSlice,
    Question,
    RowSlice,
    Slice,
    answer,
)
from engine.model.scope import Cell
from engine.model.stopping import Stop, watched

# Facts.
#
# The manifest decides which partitions a question touches. Each partition has its own filter and aggregation, and the
# small results are concatenated. If a rollup of a partition can answer, it is summed instead of the rows.


PART = "part"  # column of a frame of several partitions: the position of the partition
JOINED_ROWS = 50_000  # of a partition or rollup that is read together with others
MOST_PLACED = 1_000  # frames of such partitions that are kept


class Source(Struct, frozen=True):
    """The rows to sum for a partition: facts or a rollup, and the number of facts that they represent."""

    frame: pl.LazyFrame
    rows: pl.Expr


class ArrowFacts(MappedFacts):
    """The facts of one version. Implements FactStore."""

    def __init__(self, files: MappedFiles, manifest: Manifest, domains: Mapping[str, Domain]) -> None:
        super().__init__(files, manifest, domains)
        self._placed: dict[tuple[str, tuple[str, ...]], pl.DataFrame] = {}

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
        return self.sums_of(self.touched(asked.domain, asked.scenario, asked.spans, within), asked, within)

    def sums_of(self, touched: Sequence[TouchedPart], asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return what some partitions contribute to sums; see FactStore."""
        parts = [part for part, _ in touched]
        aggregates = [aggregated(known, magnitude_of(parts, known)) for known in asked.aggregates]
        inside, dimensions = self.inside(within), needed(asked, within)
        together: dict[tuple[str, ...], list[tuple[Partition, Rollup | None, int]]] = {}
        frames = []
        for part, spans in touched:
            rollup = answering(part, dimensions) if is_whole(spans) and dimensions is not None else None
            if is_whole(spans) and (rollup or part).rows <= JOINED_ROWS:
                together.setdefault(rollup.dimensions if rollup else (), []).append((part, rollup, spans[0][0]))
            else:
                source = self.source(asked.domain, part, rollup, inside)
                frames.append(self.summed(source, spans, asked, aggregates))
        frames += [self.summed_together(found, asked, aggregates, inside) for found in together.values()]
        if not frames:
            return self.nothing(asked)
        return pl.concat(frames).select(SPAN, *asked.keys, *columns_of(asked), ROWS)

    def source(self, domain: str, part: Partition, rollup: Rollup | None, inside: RowFilter) -> Source:
        """Return what a filter keeps of a rollup of a partition, else of its rows."""
        frame = self.frame(domain, part, rollup.file if rollup else "")
        return Source(inside.rows(frame), counted_facts(in_sums=rollup is not None))

    def summed_together(
        self,
        found: Sequence[tuple[Partition, Rollup | None, int]],
        asked: Slice,
        aggregates: Sequence[pl.Expr],
        inside: RowFilter,
    ) -> pl.LazyFrame:
        """Return the aggregates of small partitions that each lie in one span, from one frame of all their rows.

        A plan of one filter and one group-by costs a fraction of one for each partition.
        """
        measures = {aggregate.measure for aggregate in asked.aggregates}
        columns = tuple(sorted({*asked.keys, *inside.within.dimensions, *measures}))
        in_sums = found[0][1] is not None
        columns = (*columns, ROWS) if in_sums else columns or (DATE,)  # one column tells the rows
        parts = self.partitions(asked.domain, found[0][0].scenario)
        places = {part.id: place for place, part in enumerate(parts)}
        frames = [self.placed(asked.domain, part, rollup, places[part.id], columns) for part, rollup, _ in found]
        # release 0.3.0 counted ROWS in 32 bits
        frame = pl.concat(frames, how="vertical_relaxed", rechunk=False).lazy()
        frame = frame if inside.predicate is None else frame.filter(inside.predicate)
        positions: list[int | None] = [None] * len(parts)
        for part, _, position in found:
            positions[places[part.id]] = position
        spans = pl.lit(pl.Series(positions, dtype=pl.UInt32))
        summed = frame.group_by(PART, *asked.keys).agg(*aggregates, counted_facts(in_sums=in_sums))
        return summed.select(*asked.keys, *columns_of(asked), ROWS, spans.gather(pl.col(PART)).alias(SPAN))

    def placed(
        self, domain: str, part: Partition, rollup: Rollup | None, place: int, columns: tuple[str, ...]
    ) -> pl.DataFrame:
        """Return some columns of a partition or rollup, with the place of the partition among all in PART.

        The columns are not copied. The latest frames are kept.
        """
        file = rollup.file if rollup else part.file
        frame = self._placed.pop((file, columns), None)
        if frame is None:
            frame = self.frame(domain, part, file).select_seq(*columns, pl.lit(place, pl.UInt16).alias(PART))
            for oldest in list(self._placed)[: len(self._placed) + 1 - MOST_PLACED]:
                self._placed.pop(oldest, None)
        self._placed[file, columns] = frame
        return frame

    def summed(
        self,
        source: Source,
        spans: Sequence[tuple[int, Span, bool]],
        asked: Slice,
        aggregates: Sequence[pl.Expr],
    ) -> pl.LazyFrame:
        """Return the aggregates of one partition, by the keys, and by span if there are several."""
        frame, counted = source.frame, [*aggregates, source.rows]
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
        packed = PackedKey.of({key: self._counts.get(key, 1) for key in asked.keys})
        if packed:
            summed = frame.with_columns(packed.packed).group_by(PACKED).agg(counted).with_columns(packed.unpacked)
        elif asked.keys:
            summed = frame.group_by(asked.keys).agg(counted)
        else:
            summed = frame.select(counted).filter(pl.col(ROWS) > 0)
        return summed.select(*asked.keys, *columns_of(asked), ROWS, at_span(position))

    def nothing(self, asked: Slice) -> pl.LazyFrame:
        """Return an empty frame with the columns and types of the sums of a slice."""
        keys = {key: self.code_type(key) for key in asked.keys}
        return pl.LazyFrame(
            schema={SPAN: pl.UInt32, **keys, **dict.fromkeys(columns_of(asked), pl.Int64), ROWS: pl.Int64}
        )

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return up to `limit` rows in month order, undated rows last; see FactStore."""
        inside = self.inside(within)
        order = list(dict.fromkeys((*self._domains[asked.domain].sort, DATE, *asked.columns)))
        ranked = [pl.lit(asked.ranks[name]).gather(pl.col(name)) if name in asked.ranks else name for name in order]
        months: dict[str, list[pl.LazyFrame]] = {}
        for part in () if within.is_nothing else self.partitions(asked.domain, asked.scenario):
            spans = [] if asked.span is None else spans_of(part, (asked.span,))
            if asked.span is not None and not spans:
                continue
            mapped = self.frame(asked.domain, part)
            frame = inside.rows(mapped)
            for _, span, reads_all in spans:
                frame = frame if reads_all else frame.filter(pl.col(DATE).is_between(span.first, span.last))
            if asked.leaves is not None:
                frame = frame.join(self.typed(asked.leaves), on=asked.leaves.columns, how="semi", maintain_order="left")
            months.setdefault(part.bucket, []).append(select_with_nulls(order, frame, mapped.columns))
        if not months:
            return pl.LazyFrame(schema={column: self.row_type(asked.domain, column) for column in asked.columns})
        found = [
            frames[0] if len(frames) == 1 and not asked.ranks else pl.concat(frames).sort(ranked, maintain_order=True)
            for _, frames in sorted(months.items())
        ]
        rows = pl.concat([limited(frame, asked.limit) for frame in found]).pipe(limited, asked.limit)
        return rows.select(asked.columns)

    def typed(self, leaves: pl.DataFrame) -> pl.LazyFrame:
        """Return combinations of leaf codes with the types of their dimensions."""
        return leaves.lazy().cast({leaf: self.code_type(leaf) for leaf in leaves.columns})

    def row_type(self, domain: str, column: str) -> type[pl.DataType]:
        """Return the type of a column in a frame of rows."""
        if column in self._domains[domain].dimensions:
            return self.code_type(column)
        if column in self._domains[domain].measures:
            return pl.Int64
        return pl.Date if column == DATE else pl.String

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


def select_with_nulls(columns: Sequence[str], frame: pl.LazyFrame, held: Collection[str]) -> pl.LazyFrame:
    """Return some columns of a frame that holds `held`. A column that its load lacks is null."""
    lost = [pl.lit(None, pl.String).alias(column) for column in columns if column not in held]
    return frame.with_columns(lost).select(columns) if lost else frame.select(columns)
