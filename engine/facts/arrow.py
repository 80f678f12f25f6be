"""The Arrow store: memory-mapped partitions, pruned before planning."""

from collections.abc import Collection, Sequence

import polars as pl

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
from engine.facts.last_values import are_many_runs, in_order, last_sums
from engine.facts.manifest import TouchedPart, is_whole, magnitude_of, spans_of
from engine.facts.mapped import MappedFacts
from engine.facts.rollups import answering, needed
from engine.model.calendar.periods import Span
from engine.model.fact_store import (
    DATE,
    PERIOD,
    ROWS,
    SPAN,
    VALUE,
    AggregateFunction,
    DistinctSlice,
    LastKnownSlice,
    Question,
    RowSlice,
    Slice,
    answer,
)
from engine.model.scope import Cell
from engine.model.stopping import Stop, watched
from engine.model.window_chains import chains_of

# Facts.
#
# The manifest decides which partitions a question touches. Small ones that lie in one span each are read as one frame;
# every other has its own filter and aggregation. The results are concatenated. If a rollup of a partition can answer,
# it is summed instead of the rows.


JOINED_ROWS = 50_000  # of a partition or rollup that is read together with others


class ArrowFacts(MappedFacts):
    """The facts of one version. Implements FactStore."""

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
        together: dict[tuple[str, ...], list[tuple[pl.DataFrame, int]]] = {}
        frames = []
        for part, spans in touched:
            rollup = answering(part, dimensions) if is_whole(spans) and dimensions is not None else None
            frame = self.frame(asked.domain, part, rollup.file if rollup else "")
            if is_whole(spans) and frame.height <= JOINED_ROWS:
                together.setdefault(rollup.dimensions if rollup else (), []).append((frame, spans[0][0]))
            else:
                counted = [*aggregates, counted_facts(in_sums=rollup is not None)]
                frames.append(self.summed(inside.rows(frame), spans, asked, counted))
        for by, found in together.items():
            counted = [*aggregates, counted_facts(in_sums=bool(by))]
            frames.append(self.summed_together(found, asked, counted, inside))
        if not frames:
            return self.nothing(asked)
        return pl.concat(frames)

    def summed_together(
        self, found: Sequence[tuple[pl.DataFrame, int]], asked: Slice, counted: Sequence[pl.Expr], inside: RowFilter
    ) -> pl.LazyFrame:
        """Return the aggregates of small partitions that each lie in one span, from one frame of all their rows.

        A plan of one filter and one group-by costs a fraction of one for each partition.
        """
        read = {*asked.keys, *inside.within.dimensions, *(aggregate.measure for aggregate in asked.aggregates), ROWS}
        columns = [column for column in found[0][0].columns if column in read] or [DATE]  # one column tells the rows
        frame = pl.concat([frame[columns] for frame, _ in found], rechunk=False)
        positions = {position for _, position in found}
        if len(positions) > 1:
            each = [pl.Series(SPAN, [at], pl.UInt32).new_from_index(0, known.height) for known, at in found]
            frame = frame.insert_column(0, pl.concat(each, rechunk=False))
        rows = frame.lazy() if inside.predicate is None else frame.lazy().filter(inside.predicate)
        return self.grouped(rows, asked, counted, positions)

    def summed(
        self, frame: pl.LazyFrame, spans: Sequence[tuple[int, Span, bool]], asked: Slice, counted: Sequence[pl.Expr]
    ) -> pl.LazyFrame:
        """Return the aggregates of one partition."""
        if len(spans) > 1:
            days = {day: position for position, span, _ in spans for day in watched(days_of(span))}
            schema = {DATE: pl.Date, SPAN: pl.UInt32}
            on_days = pl.DataFrame({DATE: list(days), SPAN: list(days.values())}, schema=schema)
            frame = frame.join(on_days.lazy(), on=DATE)
        elif not is_whole(spans):
            ((_, span, _),) = spans
            frame = frame.filter(pl.col(DATE).is_between(span.first, span.last))
        return self.grouped(frame, asked, counted, {position for position, _, _ in spans})

    def grouped(
        self, frame: pl.LazyFrame, asked: Slice, counted: Sequence[pl.Expr], positions: Collection[int]
    ) -> pl.LazyFrame:
        """Return the aggregates of rows by the keys and by SPAN, which rows in several spans have as a column."""
        own, at = ([SPAN], pl.col(SPAN)) if len(positions) > 1 else ([], at_span(*positions))
        packed = PackedKey.of({key: self._counts.get(key, 1) for key in asked.keys})
        if packed:
            packing = frame.with_columns(packed.packed)
            summed = packing.group_by(PACKED, *own).agg(counted).with_columns(packed.unpacked)
        elif asked.keys or own:
            summed = frame.group_by(*asked.keys, *own).agg(counted)
        else:
            summed = frame.select(counted).filter(pl.col(ROWS) > 0)
        return summed.select(at, *asked.keys, *columns_of(asked), ROWS)

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
        merged: set[str] = set()  # months with rows of several loads in one file, whose order is its own
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
            if part.merged:
                merged.add(part.bucket)
            months.setdefault(part.bucket, []).append(select_with_nulls(order, frame, mapped.columns))
        if not months:
            return pl.LazyFrame(schema={column: self.row_type(asked.domain, column) for column in asked.columns})
        found = [
            frames[0]
            if len(frames) == 1 and not asked.ranks and month not in merged
            else pl.concat(frames)
            if not asked.is_ordered
            else pl.concat(frames).sort(ranked, maintain_order=True)
            for month, frames in sorted(months.items())
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
        groups = group_columns(asked.groups)
        if are_many_runs(asked.windows) and all(part.how is AggregateFunction.SUM for part in asked.aggregates):
            spans, counts = len(asked.spans), {leaf: self._counts.get(leaf, 1) for leaf in leaves}
            ordered = in_order(sums, counts, spans).with_columns(groups)
            summed = (*columns_of(by_leaf), ROWS)
            found = [last_sums(ordered, chain, spans, asked.keys, summed) for chain in chains_of(asked.windows)]
        else:
            last = pl.col(PERIOD).max()
            found = [
                sums.filter(pl.col(SPAN).is_in(list(read)))
                .filter(pl.col(PERIOD) == (last.over(leaves) if leaves else last))
                .with_columns(pl.lit(window, pl.UInt32).alias(SPAN), *groups)
                .pipe(by_window, asked)
                for window, read in watched(enumerate(asked.windows))
            ]
        return pl.concat(found or [sums.clear().with_columns(groups).pipe(by_window, asked)]).pipe(capped, asked.most)

    def distinct(self, asked: DistinctSlice, within: Cell) -> pl.LazyFrame:
        """Return one row per span, key group and code of the counted dimension; see FactStore."""
        by_code = Slice(
            domain=asked.domain,
            scenario=asked.scenario,
            spans=asked.spans,
            keys=tuple(dict.fromkeys((*asked.keys, asked.counted))),
            aggregates=(),
        )
        touched = self.touched(asked.domain, asked.scenario, asked.spans, within)
        codes = (
            self.sums_of(touched, by_code, within)
            .with_columns(pl.col(asked.counted).alias(VALUE), *group_columns(asked.groups))
            .select(SPAN, *asked.keys, VALUE)
        )
        return (codes.unique() if may_repeat(touched, asked) else codes).pipe(capped, asked.most)


def may_repeat(touched: Sequence[TouchedPart], asked: DistinctSlice) -> bool:
    """Tell whether parts may share rows of an answer: they share a span, or several codes of a key share a group."""
    positions = [position for _, spans in watched(touched) for position, _, _ in spans]
    return len(set(positions)) < len(positions) or any(
        of_code.n_unique() < len(of_code) for of_code in asked.groups.values()
    )


def by_window(sums: pl.LazyFrame, asked: LastKnownSlice) -> pl.LazyFrame:
    """Return the aggregates of the rows that windows read, by SPAN, which is the window's position, PERIOD and keys."""
    made = [getattr(pl.col(part.column), part.how.value)() for part in asked.aggregates] + [pl.col(ROWS).sum()]
    return sums.group_by(SPAN, PERIOD, *asked.keys).agg(made)


def select_with_nulls(columns: Sequence[str], frame: pl.LazyFrame, held: Collection[str]) -> pl.LazyFrame:
    """Return some columns of a frame that holds `held`. A column that its load lacks is null."""
    lost = [pl.lit(None, pl.String).alias(column) for column in columns if column not in held]
    return frame.with_columns(lost).select(columns) if lost else frame.select(columns)
