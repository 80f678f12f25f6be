"""The mapped partitions of one version, and what occurs in their rows: days and codes.

Whoever may see a part of the rows sees nearly every day and code that they may. So from the second question on a sample
of all partitions is asked first, and every row only for what the sample lacks.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

import polars as pl

from engine.facts.expressions import RowFilter, code_type
from engine.facts.files import MOST_FILES, MappedFiles
from engine.facts.frozen import fits, fitted_rows
from engine.facts.manifest import (
    LOAD,
    UNDATED,
    Manifest,
    Partition,
    Rollup,
    TouchedPart,
    refuse_other_places,
    spans_of,
)
from engine.facts.rollups import answering, without_undeclared
from engine.model.caching import LazyTable
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.fact_store import DATE, ROWS, Presence, PresenceByLoad
from engine.model.members.member_sets import NULL_CODE
from engine.model.scope import EVERYTHING, Cell, CodeSet
from engine.model.stopping import watched

SAMPLED_ROWS = 200_000  # of a scenario of a domain
MOST_SAMPLES = 16  # that are kept
LOT_ROWS = 500_000  # of partitions whose days or codes are found at once
PART = "part"  # column of the position of a partition
LEAST_SHARE = 0.2  # of the rows that a permission keeps, for which a sample is made


def presence_by_load(
    parts: Sequence[Partition], asked: frozenset[str], read: Callable[[Partition], pl.LazyFrame]
) -> PresenceByLoad:
    """Return the days that have rows of each of some loads in partitions; `read` returns the rows that count."""
    counts: dict[str, list[tuple[date | None, int]]] = {}
    with_loads = [part for part in watched(parts) if any(loaded.load in asked for loaded in watched(part.loaded))]
    for lot in lots_of(with_loads):
        each = [
            read(part)
            .select(DATE, pl.col(LOAD) if part.merged else pl.lit(0, pl.UInt32).alias(LOAD))
            .group_by(DATE, LOAD)
            .agg(pl.len().alias(ROWS))
            .with_columns(pl.lit(at, pl.UInt32).alias(PART))
            for at, part in watched(enumerate(lot))
        ]
        rows = pl.concat(each).select(PART, LOAD, DATE, ROWS).collect(engine="in-memory")
        for at, number, day, count in watched(rows.iter_rows()):
            counts.setdefault(lot[at].loaded[number].load, []).append((day, count))
    return {load: presence_of(rows) for load, rows in watched(counts.items()) if load in asked}


def presence_of(rows: Sequence[tuple[date | None, int]]) -> Presence:
    """Return the presence of rows that are counted by day."""
    days = {day for day, _ in watched(rows) if day is not None}
    return Presence(tuple(sorted(days)), sum(count for day, count in watched(rows) if day is None))


def parts_of_loads(parts: Sequence[Partition], loads: Collection[str]) -> Mapping[str, Sequence[Partition]]:
    """Return the partitions of each of some loads. For an engine, publishing left none that are merged."""
    by_load: dict[str, list[Partition]] = {}
    for part in parts:
        for loaded in part.loaded:
            by_load.setdefault(loaded.load, []).append(part)
    return {load: by_load[load] for load in loads if load in by_load}


def lots_of(parts: Sequence[Partition]) -> Iterator[list[Partition]]:
    """Yield partitions in lots that are read at once: small ones together, as a plan for each costs more than it."""
    lot, rows = list[Partition](), 0
    for part in watched(parts):
        if lot and rows + part.rows > LOT_ROWS:
            yield lot
            lot, rows = [], 0
        lot.append(part)
        rows += part.rows
    if lot:
        yield lot


class MappedFacts:
    """The partitions of one version, mapped from files: the part of FactStore that tells what occurs in them."""

    def __init__(self, files: MappedFiles, manifest: Manifest, domains: Mapping[str, Domain]) -> None:
        self._files = files
        self._domains = domains
        self._counts: Mapping[str, int] = {dimension: codes.count for dimension, codes in manifest.codes.items()}
        self._types: Mapping[str, type[pl.DataType]] = {
            dimension: code_type(count) for dimension, count in self._counts.items()
        }
        by_scenario: dict[tuple[str, str], list[Partition]] = {}
        for key, partitions in manifest.facts.items():
            for part in sorted(partitions, key=lambda part: (part.bucket, part.id)):
                known = without_undeclared(part, domains[key]) if key in domains else part
                by_scenario.setdefault((key, part.scenario), []).append(known)
        self._frozen = manifest.frozen
        self._partitions: Mapping[tuple[str, str], Sequence[Partition]] = by_scenario
        self._frames: LazyTable[str, pl.DataFrame] = LazyTable(MOST_FILES)
        self._asked: LazyTable[tuple[str, str], object] = LazyTable()  # the first question of a domain and scenario
        self._samples: LazyTable[tuple[str, str, str], pl.DataFrame] = LazyTable(MOST_SAMPLES)
        self._codes: LazyTable[tuple[str, str, str], frozenset[int]] = LazyTable()

    def partitions(self, domain: str, scenario: str) -> Sequence[Partition]:
        """Return the partitions of a scenario in month order."""
        return self._partitions.get((domain, scenario), [])

    def touched(self, domain: str, scenario: str, spans: Sequence[Span], within: Cell) -> list[TouchedPart]:
        """Return the partitions that have rows in some spans, none for a cell without leaves."""
        parts = () if within.is_nothing else self.partitions(domain, scenario)
        return [(part, found) for part in parts if (found := spans_of(part, spans))]

    def code_type(self, dimension: str) -> type[pl.DataType]:
        """Return the type of the codes of a dimension."""
        return self._types.get(dimension, pl.UInt8)

    def type_of(self, column: str) -> type[pl.DataType]:
        """Return the type of a column of days or codes."""
        return pl.Date if column == DATE else self.code_type(column)

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return the days that have rows; see FactStore. Without a filter the manifest knows them."""
        parts = self.partitions(domain, scenario)
        undated = [part for part in parts if part.bucket == UNDATED]
        days = {day for part in watched(parts) for day in part.dates}
        if within.is_everything:
            return Presence(tuple(sorted(days)), sum(part.rows for part in undated))
        inside = self.inside(within)
        held = self.occurring(domain, scenario, DATE, days, within)
        return Presence(tuple(sorted(held)), sum(self.row_count(domain, part, inside) for part in undated))

    def presence_of_loads(self, domain: str, scenario: str, within: Cell, loads: Collection[str]) -> PresenceByLoad:
        """Return the days that have rows of each of some loads, from one pass over the rows; see FactStore."""
        parts = () if within.is_nothing else self.partitions(domain, scenario)
        return presence_by_load(parts, frozenset(loads), partial(self.kept, domain, inside=self.inside(within)))

    def codes(self, domain: str, scenario: str, dimension: str, within: Cell) -> frozenset[int]:
        """Return the codes of a leaf dimension that occur in the rows. Rollups tell them where they are small."""
        parts, dimensions = self.partitions(domain, scenario), within.dimensions | {dimension}
        read = [answering(part, dimensions) or part for part in watched(parts)]
        if any(isinstance(known, Rollup) for known in read) and sum(known.rows for known in read) <= SAMPLED_ROWS:
            return self.codes_of(parts, domain, dimension, within)
        key = (domain, scenario, dimension)
        every = self._codes.get(key, lambda: self.codes_of(parts, domain, dimension, EVERYTHING))
        granted = within.granted(dimension)
        return self.occurring(domain, scenario, dimension, {code for code in watched(every) if code in granted}, within)

    def codes_of(self, parts: Sequence[Partition], domain: str, dimension: str, within: Cell) -> frozenset[int]:
        """Return the codes of a leaf dimension that occur in the rows of some partitions."""
        return frozenset(self.values(parts, domain, dimension, within.dimensions | {dimension}, self.inside(within)))

    def occurring(
        self, domain: str, scenario: str, column: str, values: Collection[date] | Collection[int], within: Cell
    ) -> frozenset[Any]:
        """Return which of some days or codes, all that occur anywhere, occur in the rows inside a cell."""
        inside, missing = self.inside(within), frozenset[Any](values)
        if inside.predicate is None or within.is_nothing:
            return missing if within.is_everything else frozenset()
        question = object()
        asked_before = self._asked.get((domain, scenario), lambda: question) is not question  # it is worth a sample
        looked = asked_before and self.share(within) > LEAST_SHARE
        for rows in self.few(domain, scenario, column) if looked and missing else ():
            seen = rows.lazy().filter(inside.predicate).select(pl.col(column).unique())
            missing -= frozenset(seen.collect(engine="in-memory")[column])
            if not missing:
                break
        parts = self.partitions(domain, scenario)
        if missing and (not looked or self.sample(domain, scenario).height < sum(part.rows for part in parts)):
            listed = pl.lit(pl.Series(sorted(missing), dtype=self.type_of(column)).implode())
            dimensions = None if column == DATE else within.dimensions | {column}
            missing -= self.values(parts, domain, column, dimensions, inside.also(pl.col(column).is_in(listed)))
        return frozenset(values) - missing

    def values(
        self,
        parts: Sequence[Partition],
        domain: str,
        column: str,
        dimensions: frozenset[str] | None,
        inside: RowFilter,
    ) -> set[Any]:
        """Return the days or codes of some partitions that a filter keeps, or of rollups by all of some dimensions."""
        found: set[Any] = set()
        for lot in lots_of(parts):
            each = [self.kept(domain, part, inside, dimensions).select(pl.col(column).unique()) for part in lot]
            found.update(watched(pl.concat(each).collect(engine="in-memory")[column]))
        return found

    def share(self, within: Cell) -> float:
        """Return about which share of the rows a cell holds, as if each code had as many as another."""
        return sum(min((self._share(*known) for known in part.by_dimension), default=1.0) for part in within)

    def _share(self, dimension: str, codes: CodeSet) -> float:
        listed = len(codes.codes) / max(1, self._counts.get(dimension, 1))
        return 1 - listed if codes.complement else listed

    def few(self, domain: str, scenario: str, column: str) -> Iterator[pl.DataFrame]:
        """Yield the rows of a scenario in which a day or code is looked for before all others."""
        yield self.sample(domain, scenario)
        if column != DATE:
            yield self.rare(domain, scenario, column)

    def sample(self, domain: str, scenario: str) -> pl.DataFrame:
        """Return evenly spaced rows of a scenario from all its partitions; every row if there are few."""

        def made() -> pl.DataFrame:
            parts = self.partitions(domain, scenario)
            step = -(-sum(part.rows for part in parts) // SAMPLED_ROWS)
            frames = [self.frame(domain, part).select(pl.exclude(pl.String)) for part in watched(parts)]
            some = [frame.gather_every(step) if step > 1 else frame for frame in watched(frames)]
            return pl.concat(some, how="diagonal_relaxed", rechunk=False)

        return self._samples.get((domain, scenario, ""), made)

    def rare(self, domain: str, scenario: str, column: str) -> pl.DataFrame:
        """Return all rows of a scenario whose day or code is not in its sample; none if they are many."""

        def made() -> pl.DataFrame:
            sample = self.sample(domain, scenario)
            others = RowFilter(EVERYTHING, ~pl.col(column).is_in(pl.lit(sample[column].unique().implode())))
            found, room = [sample.clear()], SAMPLED_ROWS
            for part in watched(self.partitions(domain, scenario)):
                rows = self.kept(domain, part, others).select(pl.exclude(pl.String))
                found.append(rows.head(room + 1).collect(engine="in-memory"))
                room -= found[-1].height
                if room < 0:
                    return sample.clear()
            return pl.concat(found, how="diagonal_relaxed")

        return self._samples.get((domain, scenario, column), made)

    def unassigned(self, domain: str, scenario: str, dimensions: Sequence[str], within: Cell) -> frozenset[str]:
        """Return the leaf dimensions for which some row has no member. The manifest knows those of each partition."""
        inside: RowFilter | None = None  # made for the first rows that are read: a cell may list thousands of codes
        found: set[str] = set()
        for part in self.partitions(domain, scenario):
            known = dimensions if part.unassigned is None else part.unassigned
            keys = [key for key in dimensions if key in known and key not in found]
            if within.is_everything and part.unassigned is not None:
                found.update(keys)
            elif keys:
                inside = inside or self.inside(within)
                lacking = (pl.col(key).eq(NULL_CODE).any() for key in keys)
                flags = self.kept(domain, part, inside).select(lacking).collect().row(0, named=True)
                found.update(key for key, holds in flags.items() if holds)
        return frozenset(found)

    def kept(
        self, domain: str, part: Partition, inside: RowFilter, dimensions: frozenset[str] | None = None
    ) -> pl.LazyFrame:
        """Return the rows of a partition that a filter keeps, or of its smallest rollup by these dimensions or more."""
        rollup = None if dimensions is None else answering(part, dimensions)
        return inside.rows(self.frame(domain, part, rollup.file if rollup else ""))

    def row_count(self, domain: str, part: Partition, inside: RowFilter) -> int:
        """Return the number of rows of a partition that a filter keeps."""
        return int(self.kept(domain, part, inside).select(pl.len()).collect().item())

    def frame(self, domain: str, partition: Partition, file: str = "") -> pl.DataFrame:
        """Map a partition or one of its rollups. Widens codes to the type of their dimension, and counts to 64 bits."""
        file = file or partition.file
        if partition.scenario in self._frozen and not fits(partition, self._domains[domain]):
            return self._frames.get(f"{partition.scenario} {file}", lambda: self._fitted(domain, partition, file))
        return self._frames.get(file, lambda: self._widened(domain, partition, file))

    def _fitted(self, domain: str, partition: Partition, file: str) -> pl.DataFrame:
        return typed(
            fitted_rows(self._files.frame(file), partition, self._domains[domain]),
            self._types,
            sums=file != partition.file,
        )

    def _widened(self, domain: str, partition: Partition, file: str) -> pl.DataFrame:
        frame = typed(self._files.frame(file), self._types, sums=file != partition.file)
        refuse_other_places(self._domains[domain], partition)
        return frame

    def inside(self, within: Cell) -> RowFilter:
        """Return the filter for rows inside a cell."""
        return RowFilter.of(within, self._counts)


def typed(frame: pl.DataFrame, types: Mapping[str, type[pl.DataType]], *, sums: bool) -> pl.DataFrame:
    """Return rows of a file, or their sums, with codes in the types of their dimensions and counts in 64 bits."""
    # release 0.3.0 counted the rows of rollups in 32 bits
    wide = {**types}
    if sums:
        wide[ROWS] = pl.Int64
    narrow = [
        pl.col(name).cast(wide[name]) for name, dtype in frame.schema.items() if name in wide and dtype != wide[name]
    ]
    frame = frame.with_columns_seq(narrow) if narrow else frame.clone()
    # order when written; `sort:` may have changed since
    return frame.replace_column(0, frame.to_series(0).set_sorted())
