"""The Arrow store: memory-mapped partitions, pruned before planning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

import polars as pl

from engine.facts.expressions import (
    aggregated,
    at_span,
    capped,
    code_type,
    columns_of,
    counted_facts,
    days_of,
    group_columns,
    limited,
)
from engine.facts.files import MappedFiles
from engine.facts.manifest import (
    UNDATED,
    Manifest,
    Partition,
    Rollup,
    TouchedPart,
    is_whole,
    magnitude_of,
    refuse_other_places,
    spans_of,
)
from engine.facts.rollups import answering, needed, without_undeclared
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
    Presence,
    Question,
    RowSlice,
    Slice,
    answer,
    in_range,
)
from engine.model.members.member_sets import NULL_CODE
from engine.model.scope import Cell, CodeSet, Conjunction
from engine.model.stopping import Stop, watched

# Facts.
#
# The manifest decides which partitions a question touches. Each partition has its own filter and aggregation, and the
# small results are concatenated. If a rollup of a partition can answer, it is summed instead of the rows.


PART = "part"  # column of a frame of several partitions: the position of the partition
JOINED_ROWS = 50_000  # of a partition or rollup that is read together with others
MOST_JOINED = 16  # frames of several partitions that are kept


@dataclass(frozen=True, slots=True)
class Source:
    """The rows to sum for a partition: facts or a rollup, and the number of facts that they represent."""

    frame: pl.LazyFrame
    rows: pl.Expr


class ArrowFacts:
    """The facts of one version. Implements FactStore."""

    def __init__(self, files: MappedFiles, manifest: Manifest, domains: Mapping[str, Domain]) -> None:
        self._files = files
        self._domains = domains
        self._types = {dimension: code_type(codes.count) for dimension, codes in manifest.codes.items()}
        self._partitions: dict[tuple[str, str], list[Partition]] = {}
        for key, partitions in manifest.facts.items():
            for part in sorted(partitions, key=lambda part: (part.bucket, part.id)):
                known = without_undeclared(part, domains[key]) if key in domains else part
                self._partitions.setdefault((key, part.scenario), []).append(known)
        self._frames: dict[str, pl.DataFrame] = {}
        self._joined: dict[tuple[tuple[str, ...], tuple[str, ...]], pl.DataFrame] = {}

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
        return self.sums_of(self.touched(asked.domain, asked.scenario, asked.spans, within), asked, within)

    def sums_of(self, touched: Sequence[TouchedPart], asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return what some partitions contribute to sums; see FactStore."""
        parts = [part for part, _ in touched]
        aggregates = [aggregated(known, magnitude_of(parts, known)) for known in asked.aggregates]
        predicate, dimensions = self.predicate(within), needed(asked, within)
        together: dict[tuple[str, ...], list[tuple[Partition, Rollup | None, int]]] = {}
        frames = []
        for part, spans in touched:
            rollup = answering(part, dimensions) if is_whole(spans) and dimensions is not None else None
            if is_whole(spans) and (rollup or part).rows <= JOINED_ROWS:
                together.setdefault(rollup.dimensions if rollup else (), []).append((part, rollup, spans[0][0]))
            else:
                source = self.source(asked.domain, part, rollup)
                frames.append(self.summed(source, spans, asked, aggregates, predicate))
        frames += [self.summed_together(found, asked, aggregates, predicate, within) for found in together.values()]
        if not frames:
            return self.nothing(asked)
        return pl.concat(frames).select(SPAN, *asked.keys, *columns_of(asked), ROWS)

    def source(self, domain: str, part: Partition, rollup: Rollup | None) -> Source:
        """Return a rollup of a partition, else its rows."""
        frame = self.frame(domain, part, rollup.file if rollup else "")
        return Source(frame.lazy(), counted_facts(in_sums=rollup is not None))

    def summed_together(
        self,
        found: Sequence[tuple[Partition, Rollup | None, int]],
        asked: Slice,
        aggregates: Sequence[pl.Expr],
        predicate: pl.Expr | None,
        within: Cell,
    ) -> pl.LazyFrame:
        """Return the aggregates of small partitions that each lie in one span, from one frame of all their rows.

        A plan of one filter and one group-by costs a fraction of one for each partition.
        """
        measures = {aggregate.measure for aggregate in asked.aggregates}
        columns = tuple(sorted({*asked.keys, *within.dimensions, *measures}))
        in_sums = found[0][1] is not None
        columns = (*columns, ROWS) if in_sums else columns or (DATE,)  # one column tells the rows
        frame = self.joined(asked.domain, [(part, rollup) for part, rollup, _ in found], columns).lazy()
        frame = frame if predicate is None else frame.filter(predicate)
        spans = pl.lit(pl.Series([position for *_, position in found], dtype=pl.UInt32))
        summed = frame.group_by(PART, *asked.keys).agg(*aggregates, counted_facts(in_sums=in_sums))
        return summed.select(*asked.keys, *columns_of(asked), ROWS, spans.gather(pl.col(PART)).alias(SPAN))

    def joined(
        self, domain: str, found: Sequence[tuple[Partition, Rollup | None]], columns: tuple[str, ...]
    ) -> pl.DataFrame:
        """Return some columns of several partitions or rollups as one frame, with the position of each in PART.

        The columns are not copied. The latest frames are kept.
        """
        files = tuple(rollup.file if rollup else part.file for part, rollup in found)
        frame = self._joined.pop((files, columns), None)
        if frame is None:
            frames = (
                self.frame(domain, part, file).select(columns).with_columns(pl.lit(place, pl.UInt16).alias(PART))
                for place, ((part, _), file) in enumerate(zip(found, files, strict=True))
            )
            frame = pl.concat(frames, how="vertical_relaxed", rechunk=False)  # release 0.3.0 counted ROWS in 32 bits
            for oldest in list(self._joined)[: len(self._joined) + 1 - MOST_JOINED]:
                self._joined.pop(oldest, None)
        self._joined[files, columns] = frame
        return frame

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
        keys = {key: self.code_type(key) for key in asked.keys}
        return pl.LazyFrame(
            schema={SPAN: pl.UInt32, **keys, **dict.fromkeys(columns_of(asked), pl.Int64), ROWS: pl.Int64}
        )

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return up to `limit` rows in month order, undated rows last; see FactStore."""
        predicate = self.predicate(within)
        order = list(dict.fromkeys((*self._domains[asked.domain].sort, DATE, *asked.columns)))
        ranked = [pl.lit(asked.ranks[name]).gather(pl.col(name)) if name in asked.ranks else name for name in order]
        months: dict[str, list[pl.LazyFrame]] = {}
        for part in () if within.is_nothing else self.partitions(asked.domain, asked.scenario):
            frame = self.frame(asked.domain, part).lazy()
            if asked.span is not None:
                spans = spans_of(part, (asked.span,))
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
            frames[0] if len(frames) == 1 and not asked.ranks else pl.concat(frames).sort(ranked, maintain_order=True)
            for _, frames in sorted(months.items())
        ]
        rows = pl.concat([limited(frame, asked.limit) for frame in found]).pipe(limited, asked.limit)
        return rows.select(asked.columns)

    def typed(self, leaves: pl.DataFrame) -> pl.LazyFrame:
        """Return combinations of leaf codes with the types of their dimensions."""
        return leaves.lazy().cast({leaf: self.code_type(leaf) for leaf in leaves.columns})

    def code_type(self, dimension: str) -> type[pl.DataType]:
        """Return the type of the codes of a dimension."""
        return self._types.get(dimension, pl.UInt8)

    def row_type(self, domain: str, column: str) -> type[pl.DataType]:
        """Return the type of a column in a frame of rows."""
        if column in self._domains[domain].dimensions:
            return self.code_type(column)
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
        return self.codes_of(self.partitions(domain, scenario), domain, dimension, within)

    def codes_of(self, parts: Sequence[Partition], domain: str, dimension: str, within: Cell) -> frozenset[int]:
        """Return the codes of a leaf dimension that occur in the rows of some partitions."""
        predicate, dimensions = self.predicate(within), within.dimensions | {dimension}
        frames = (self.inside(domain, part, predicate, dimensions) for part in parts)
        found = (frame.select(pl.col(dimension).unique()).collect()[dimension] for frame in frames)
        return frozenset(code for codes in watched(found) for code in watched(codes))

    def unassigned(self, domain: str, scenario: str, dimensions: Sequence[str], within: Cell) -> frozenset[str]:
        """Return the leaf dimensions for which some row has no member. The manifest knows those of each partition."""
        predicate = self.predicate(within)
        found: set[str] = set()
        for part in self.partitions(domain, scenario):
            known = dimensions if part.unassigned is None else part.unassigned
            keys = [key for key in dimensions if key in known and key not in found]
            if predicate is None and part.unassigned is not None:
                found.update(keys)
            elif keys:
                lacking = (pl.col(key).eq(NULL_CODE).any() for key in keys)
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

    def touched(self, domain: str, scenario: str, spans: Sequence[Span], within: Cell) -> list[TouchedPart]:
        """Return the partitions that have rows in some spans, none for a cell without leaves."""
        parts = () if within.is_nothing else self.partitions(domain, scenario)
        return [(part, found) for part in parts if (found := spans_of(part, spans))]

    def frame(self, domain: str, partition: Partition, file: str = "") -> pl.DataFrame:
        """Map a partition or one of its rollups. Widens codes to the current type of their dimension."""
        file = file or partition.file
        frame = self._frames.get(file)
        if frame is None:
            frame = self._files.frame(file)
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
        codes = (self.among(dimension, codes) for dimension, codes in part.by_dimension)
        return reduce(and_, (*codes, *map(in_range, part.amounts)))

    def among(self, dimension: str, codes: CodeSet) -> pl.Expr:
        """Return the filter for codes of one dimension."""
        listed = pl.Series(sorted(codes.codes), dtype=self._types.get(dimension, pl.UInt8), strict=False)
        inside = pl.col(dimension) == listed[0] if len(listed) == 1 else pl.col(dimension).is_in(listed.implode())
        return ~inside if codes.complement else inside
