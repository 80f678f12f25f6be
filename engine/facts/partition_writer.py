"""Writes partitions and their rollups into files, merges them, and takes merged ones apart.

Where an engine holds the rows of facts, they are read back from there when a rollup is built of them.
"""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl
from msgspec.structs import replace

from engine.facts.files import mapped, write_named
from engine.facts.manifest import UNDATED, Codes, Load, Partition, Rollup
from engine.facts.merging import merged_partition, merged_rows, partition_of_load, rows_by_load
from engine.facts.parts import fetch_rows, lacking_members, magnitudes
from engine.facts.rollups import LEAST_ROWS, can_be_built, choose_rollups, rolled_up
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.fact_store import DATE
from engine.model.warehouses import PartStore

Views = tuple[tuple[str, ...], ...]  # the dimensions of some rollups


class PartitionWriter:
    """Writes the partitions of one stage."""

    def __init__(
        self, root: Path, codes: Mapping[str, Codes], chosen: MutableMapping[str, Views], store: PartStore | None
    ) -> None:
        """`codes` and `chosen`, the rollups of domains that name none, are those of the stage as it grows."""
        self._root = root
        self._codes = codes
        self._chosen = chosen
        self._store = store

    def write(self, stem: str, frame: pl.DataFrame) -> str:
        """Write a frame durably and return its file name."""
        return write_named(self._root, stem, frame)

    def write_rows(self, domain: str, scenario: str, bucket: str, rows: pl.DataFrame) -> str:
        """Write the rows of a partition and return the file name."""
        return self.write(f"facts/{domain}/{scenario}/{bucket}", rows)

    def partition(self, domain: Domain, scenario: str, bucket: str, rows: pl.DataFrame, load: Load) -> Partition:
        """Write the rows of one load in a scenario and month, and return their partition."""
        measures = [key for key in domain.measures if key in rows.columns]
        file = self.write_rows(domain.key, scenario, bucket, rows)
        part = Partition(
            id=file,  # its name ends in a digest of the rows
            scenario=scenario,
            bucket=bucket,
            file=file,
            rows=rows.height,
            days=days_of(rows[DATE]),
            magnitudes=magnitudes(rows, measures),
            load=load.id,
            columns=tuple(rows.columns),
            places={key: domain.measures[key].places for key in measures},
            unassigned=lacking_members(rows, [key for key in domain.dimensions if key in rows.columns]),
            blanks=tuple(key for key in measures if rows[key].null_count()),
        )
        return self._rolled_up(domain, part, rows)

    def outside(self, domain: Domain, part: Partition, span: Span, loads: Mapping[str, Load]) -> Iterator[Partition]:
        """Yield the rows of a partition outside a span: the partition itself if it has none inside."""
        inside = [] if part.bucket == UNDATED else [day for day in part.dates if span.holds(day)]
        if not inside:
            yield part
            return
        for each in self.apart(domain.key, part):
            rows = self.rows(domain.key, each).filter(~pl.col(DATE).is_between(span.first, span.last))
            remainder = self.partition(domain, each.scenario, each.bucket, rows, loads[each.load])
            yield replace(remainder, places=each.places)  # as loaded; the catalogue may differ by now

    def merge(self, domain: Domain, parts: Sequence[Partition]) -> Partition:
        """Write the rows of some partitions as one partition."""
        rows = merged_rows(parts, partial(self.rows, domain.key))
        part = merged_partition(parts, self.write_rows(domain.key, parts[0].scenario, parts[0].bucket, rows))
        return self._rolled_up(domain, part, rows)

    def apart(self, domain: str, part: Partition) -> Iterator[Partition]:
        """Yield what each load brought of a partition, as partitions of their own."""
        if not part.merged:
            yield part
            return
        views = [rollup.dimensions for rollup in part.rollups]
        for loaded, rows in rows_by_load(part, self.rows(domain, part)):
            own = partition_of_load(part, loaded, rows, self.write_rows(domain, part.scenario, part.bucket, rows))
            wanted = [view for view in views if own.rows >= LEAST_ROWS or view not in self._chosen.get(domain, ())]
            yield replace(own, rollups=tuple(self._rollup(domain, own, view, rows) for view in wanted))

    def rows(self, domain: str, part: Partition) -> pl.DataFrame:
        """Return the rows of a partition from its file, else from the engine. Raises Unavailable."""
        if part.file:
            return mapped(self._root / part.file)
        if self._store is None:
            raise Unavailable(
                f"The rows of {domain} are in an engine that instance.yaml names no longer. Put `facts` back; to leave "
                "the engine, provision once with `keep_here: everything`."
            )
        return fetch_rows(self._store, domain, part, self._codes)

    def with_file(self, domain: str, part: Partition) -> Partition:
        """Return a partition whose rows are in a file."""
        if part.file:
            return part
        return replace(part, file=self.write_rows(domain, part.scenario, part.bucket, self.rows(domain, part)))

    def with_chosen(self, domain: Domain, parts: Sequence[Partition]) -> tuple[Partition, ...]:
        """Choose the rollups of a domain that declares none, and return its partitions with those that it has."""
        stored = [part for part in parts if part.token is None]
        self._chosen.pop(domain.key, None)
        if domain.rollups is None and (chosen := choose_rollups(domain, stored, partial(self.rows, domain.key))):
            self._chosen[domain.key] = chosen
        return tuple(self._derived(domain, part) for part in parts)

    def _wanted(self, domain: Domain, part: Partition) -> Sequence[tuple[str, ...]]:
        """Return the dimensions of the rollups of a partition: those declared, else those chosen if it is large."""
        if domain.rollups is not None:
            return domain.rollups
        return self._chosen.get(domain.key, ()) if part.rows >= LEAST_ROWS else ()

    def _derived(self, domain: Domain, part: Partition) -> Partition:
        if part.token is not None or {rollup.dimensions for rollup in part.rollups} == set(self._wanted(domain, part)):
            return part
        return self._rolled_up(domain, part, self.rows(domain.key, part))

    def _rolled_up(self, domain: Domain, part: Partition, rows: pl.DataFrame) -> Partition:
        """Return a partition with all rollups of its domain that can be built."""
        existing = {rollup.dimensions: rollup for rollup in part.rollups}
        wanted = [dimensions for dimensions in self._wanted(domain, part) if can_be_built(part, dimensions, rows)]
        made = (existing.get(dimensions) or self._rollup(domain.key, part, dimensions, rows) for dimensions in wanted)
        return replace(part, rollups=tuple(made))

    def _rollup(self, domain: str, part: Partition, dimensions: tuple[str, ...], rows: pl.DataFrame) -> Rollup:
        sums = rolled_up(part, dimensions, rows)
        file = self.write(f"rollups/{domain}/{part.scenario}/{part.bucket}", sums)
        return Rollup(dimensions=dimensions, file=file, rows=sums.height)


def days_of(dates: pl.Series) -> tuple[int, ...]:
    """Return the days of the dates of one month, in order."""
    return tuple(sorted(day.day for day in dates.unique().drop_nulls()))
