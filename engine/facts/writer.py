"""Staging and publishing: writes new partitions aside, then makes them current by one rename.

    with stage(root) as staged:
        staged.table("live.account", frame, load)
        staged.facts(domain, landing, load)
        staged.publish()

One stage at a time holds the publishing lock. Its files are invisible until it publishes. If it never does, a later
sweep deletes them. Where an engine holds the rows of facts, a publish puts them there before it names them, and reads
them back where a later load cuts a month or a rollup is built of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import polars as pl
from msgspec.structs import replace

from engine.facts.expressions import code_type
from engine.facts.files import mapped, sync_folder, write_durably, write_named
from engine.facts.landing import Fingerprint, LandedMonth, Landing
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import (
    CURRENT,
    CURRENT_NEXT,
    PUBLISHING,
    UNDATED,
    Codes,
    Load,
    Manifest,
    Partition,
    Rollup,
    StoredTable,
    locked,
    manifest_file,
    pin_current,
    sweep,
)
from engine.facts.parts import Tell, fetch_rows, lacking_members, magnitudes, put_parts, sweep_parts, untold
from engine.facts.rollups import LEAST_ROWS, can_be_built, choose_rollups, rolled_up, without_undeclared
from engine.facts.surveys import Survey, coded_sums, refuse_mixed, surveyed_partition
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.fact_store import DATE
from engine.model.scope import UNASSIGNED
from engine.model.warehouses import PartStore

WRITERS = 3  # months that a stage sorts and writes at once: one waits for its disk while two take the cores


class BooksLocked(Exception):
    """Another load is publishing to these books."""


@contextmanager
def stage(
    root: Path, parts: PartStore | None = None, *, keeps_files: bool = False, lease: float = 0
) -> Iterator["Stage"]:
    """Take the publishing lock and stage onto the current version. Raises BooksLocked if another load holds it.

    `parts` holds the rows of facts, and files do if there is none, or if it `keeps_files`. `lease` is for how many
    seconds a version stays once the next is published.
    """
    root.mkdir(parents=True, exist_ok=True)
    with (root / PUBLISHING).open("w") as lock:
        if not locked(lock.fileno()):
            raise BooksLocked("another load is publishing to these books")
        pin = pin_current(root)
        try:
            yield Stage(root, pin.manifest, parts, keeps_files=keeps_files)
        finally:
            pin.drop()
            versions = sweep(root, lease)
        if parts is not None:
            with suppress(Unavailable):  # a later sweep drops what this one leaves
                sweep_parts(root, parts, versions)


class Stage:
    """An unpublished version."""

    def __init__(
        self, root: Path, base: Manifest, parts: PartStore | None = None, *, keeps_files: bool = False
    ) -> None:
        self._root = root
        self._base = base
        self._parts = parts
        self._keeps_files = keeps_files
        self.partitions: dict[str, tuple[Partition, ...]] = dict(base.facts)
        self._tables: dict[str, StoredTable] = dict(base.tables)
        self._codes: dict[str, Codes] = dict(base.codes)
        self._loads: dict[str, Load] = dict(base.loads)
        self._fingerprints: dict[str, tuple[str, ...]] = dict(base.fingerprints)
        self._chosen: dict[str, tuple[tuple[str, ...], ...]] = dict(base.chosen)

    def table(self, name: str, frame: pl.DataFrame, load: Load) -> None:
        """Stage a table of members, nodes or rates. Replaces the previous one."""
        self._tables[name] = StoredTable(file=self._written(f"tables/{name}", frame), rows=frame.height, load=load.id)
        self._record(load)

    def codes(self, dimension: str, members: pl.Series) -> pl.DataFrame:
        """Give every id of a leaf dimension a code, new ids in id order. Return a frame with columns id and code."""
        codes = self._codes.get(dimension)
        ids = ids_of(self._root, codes)
        new = members.drop_nulls().unique().sort()
        new = new.filter(~new.is_in(ids.implode()))
        ids = ids.append(new.rename("id"))
        if not new.is_empty() or codes is None:
            self._codes[dimension] = Codes(file=self._written(f"codes/{dimension}", ids.to_frame()), count=len(ids))
        return pl.DataFrame({"id": ids, "code": pl.Series(range(len(ids)), dtype=code_type(len(ids)))})

    def facts(
        self, domain: Domain, landing: Landing, load: Load, mode: LoadMode = LoadMode.FULL, span: Span | None = None
    ) -> int:
        """Stage the landed rows and return their number.

        By mode, they replace all rows of the feed, replace its rows on the days of `span`, or add to them. An extract
        that the feed has already appended is not appended again.
        """
        coded = {dimension: self.codes(dimension, landing.ids(dimension)) for dimension in domain.dimensions}
        fingerprint = Fingerprint()

        def write(landed: LandedMonth) -> Partition:
            rows = landed.sorted_rows()
            if mode is LoadMode.APPEND:
                fingerprint.add(landed.scenario, landed.month, rows)
            return self._partition(domain, landed.scenario, landed.month, rows, load)

        with ThreadPoolExecutor(1 if mode is LoadMode.APPEND else WRITERS) as pool:  # a fingerprint takes them in order
            written = list(pool.map(write, landing.months(coded)))
        if mode is LoadMode.APPEND:
            before = self._fingerprints.get(load.binding, ())
            if fingerprint.hexdigest() in before:
                return 0
            self._fingerprints[load.binding] = (*before, fingerprint.hexdigest())
        kept = [without_undeclared(part, domain) for part in self._kept(domain, load, mode, span) if part.rows]
        self.partitions[domain.key] = (*kept, *written)
        if domain.rollups is None and domain.key not in self._chosen:
            self._choose(domain)
        self._record(load)
        return landing.rows

    def survey(self, domain: Domain, surveyed: Survey, load: Load) -> int:
        """Stage what a survey found in place of what the feed brought before; return the number of rows."""
        coded = {dimension: self.codes(dimension, surveyed.ids[dimension]) for dimension in domain.dimensions}
        made = []
        for month in surveyed.months:
            part = surveyed_partition(domain, month, load)
            stem, rollups = f"rollups/{domain.key}/{part.scenario}/{part.bucket}", []
            for dimensions, of_ids in month.rollups.items():
                sums = coded_sums(of_ids, dimensions, coded)
                rollups.append(Rollup(dimensions=dimensions, file=self._written(stem, sums), rows=sums.height))
            made.append(replace(part, rollups=tuple(rollups)))
        self.partitions[domain.key] = (*self._kept(domain, load, LoadMode.FULL, None), *made)
        self._record(load)
        return surveyed.rows

    def _kept(self, domain: Domain, load: Load, mode: LoadMode, span: Span | None) -> Iterator[Partition]:
        for part in self.partitions.get(domain.key, ()):
            if mode is LoadMode.APPEND or part.load == load.id or self._loads[part.load].binding != load.binding:
                yield part
            elif mode is LoadMode.REPLACE_PERIODS and span is not None:
                yield self._outside(domain, part, span)

    def _outside(self, domain: Domain, part: Partition, span: Span) -> Partition:
        """Return the rows of a partition outside a span, as a new partition."""
        inside = [] if part.bucket == UNDATED else [day for day in part.dates if span.holds(day)]
        if not inside:
            return part
        rows = self._rows(domain.key, part).filter(~pl.col(DATE).is_between(span.first, span.last))
        left = self._partition(domain, part.scenario, part.bucket, rows, self._loads[part.load])
        return replace(left, places=part.places)  # as loaded; the catalogue may differ by now

    def forget(self, binding: str) -> int:
        """Remove everything that a feed loaded and return the number of removed facts."""
        loads = {key for key, load in self._loads.items() if load.binding == binding}
        rows = sum(part.rows for part in self._all_facts() if part.load in loads)
        for key, parts in self.partitions.items():
            self.partitions[key] = tuple(part for part in parts if part.load not in loads)
        self._tables = {name: table for name, table in self._tables.items() if table.load not in loads}
        self._loads = {key: load for key, load in self._loads.items() if key not in loads}
        self._fingerprints.pop(binding, None)
        return rows

    def derive(self, domains: Mapping[str, Domain]) -> int:
        """Choose rollups anew, build those that partitions lack and drop the others. Return the number built.

        Loads build the rollups of the partitions that they write. This adds rollups to older partitions.
        """
        before = {rollup.file for part in self._all_facts() for rollup in part.rollups}
        for domain in domains.values():
            self._choose(domain)
        return len({rollup.file for part in self._all_facts() for rollup in part.rollups} - before)

    def _choose(self, domain: Domain) -> None:
        """Choose the rollups of a domain that declares none, and give its partitions those that it has."""
        parts = [part for part in self.partitions.get(domain.key, ()) if part.token is None]
        self._chosen.pop(domain.key, None)
        if domain.rollups is None and (chosen := choose_rollups(domain, parts, partial(self._rows, domain.key))):
            self._chosen[domain.key] = chosen
        if parts:
            self.partitions[domain.key] = tuple(self._derived(domain, part) for part in self.partitions[domain.key])

    def _rows(self, domain: str, part: Partition) -> pl.DataFrame:
        """Return the rows of a partition from its file, else from the engine. Raises Unavailable."""
        if part.file:
            return mapped(self._root / part.file)
        if self._parts is None:
            raise Unavailable(
                f"The rows of {domain} are in an engine that instance.yaml names no longer. Put `facts` back; to leave "
                "the engine, provision once with `keep_here: everything`."
            )
        return fetch_rows(self._parts, domain, part, self._codes)

    def _wanted(self, domain: Domain, part: Partition) -> Sequence[tuple[str, ...]]:
        """Return the dimensions of the rollups of a partition: those declared, else those chosen if it is large."""
        if domain.rollups is not None:
            return domain.rollups
        return self._chosen.get(domain.key, ()) if part.rows >= LEAST_ROWS else ()

    def _derived(self, domain: Domain, part: Partition) -> Partition:
        if part.token is not None or {rollup.dimensions for rollup in part.rollups} == set(self._wanted(domain, part)):
            return part
        return self._rolled_up(domain, part, self._rows(domain.key, part))

    def _rolled_up(self, domain: Domain, part: Partition, rows: pl.DataFrame) -> Partition:
        """Return a partition with all rollups of its domain that can be built."""
        held = {rollup.dimensions: rollup for rollup in part.rollups}
        wanted = [dimensions for dimensions in self._wanted(domain, part) if can_be_built(part, dimensions, rows)]
        made = (held.get(dimensions) or self._rollup(domain, part, dimensions, rows) for dimensions in wanted)
        return replace(part, rollups=tuple(made))

    def _rollup(self, domain: Domain, part: Partition, dimensions: tuple[str, ...], rows: pl.DataFrame) -> Rollup:
        sums = rolled_up(part, dimensions, rows)
        file = self._written(f"rollups/{domain.key}/{part.scenario}/{part.bucket}", sums)
        return Rollup(dimensions=dimensions, file=file, rows=sums.height)

    def publish(self, tell: Tell = untold) -> Manifest:
        """Make the stage the current version by one rename, and return its manifest.

        If nothing was staged, the version does not change. Raises Unavailable if an engine does not take the rows of
        facts, or does not give them back.
        """
        refuse_mixed(self.partitions, self._loads)
        manifest = replace(
            self._base,
            facts=self._placed(tell),
            tables=self._tables,
            codes=self._codes,
            loads=self._remembered(),
            fingerprints=self._fingerprints,
            chosen=self._chosen,
        )
        if manifest == self._base:
            return manifest
        manifest = replace(manifest, version=self._base.version + 1)
        path = manifest_file(self._root, manifest.version)
        path.parent.mkdir(exist_ok=True)
        aside = self._root / CURRENT_NEXT
        write_durably(aside, str(manifest.version).encode())
        write_durably(path, manifest.as_json())
        new = set(manifest.files()).difference(self._base.files())
        for folder in {path.parent, *((self._root / file).parent for file in new)}:
            sync_folder(folder)
        aside.rename(self._root / CURRENT)
        sync_folder(self._root)
        return manifest

    def _placed(self, tell: Tell) -> Mapping[str, tuple[Partition, ...]]:
        """Return the partitions with their rows where they belong: in files, in an engine, or both; or attached."""
        facts = {key: tuple(part for part in parts if part.token is None) for key, parts in self.partitions.items()}
        placed = self._placed_rows(facts, tell)
        attached = {key: (part for part in parts if part.token is not None) for key, parts in self.partitions.items()}
        return {key: (*parts, *attached[key]) for key, parts in placed.items()}

    def _placed_rows(
        self, facts: Mapping[str, tuple[Partition, ...]], tell: Tell
    ) -> Mapping[str, tuple[Partition, ...]]:
        if self._parts is not None:
            facts = put_parts(self._root, self._parts, facts, self._base.facts, self._rows, tell)
            if not self._keeps_files:
                return {key: tuple(replace(part, file="") for part in parts) for key, parts in facts.items()}
        placed = {key: tuple(self._with_file(key, part) for part in parts) for key, parts in facts.items()}
        if self._parts is not None:
            return placed
        return {key: tuple(replace(part, number=None) for part in parts) for key, parts in placed.items()}

    def _with_file(self, domain: str, part: Partition) -> Partition:
        """Return a partition whose rows are in a file."""
        if part.file:
            return part
        stem = f"facts/{domain}/{part.scenario}/{part.bucket}"
        return replace(part, file=self._written(stem, self._rows(domain, part)))

    def _all_facts(self) -> Iterator[Partition]:
        return (part for parts in self.partitions.values() for part in parts)

    def _record(self, load: Load) -> None:
        self._loads[load.id] = replace(load, sequence=self._base.version + 1)

    def _remembered(self) -> Mapping[str, Load]:
        """Return the loads that still have rows or tables, and the latest load of each feed."""
        used = {part.load for part in self._all_facts()}
        used |= {table.load for table in self._tables.values()}
        latest = {load.binding: load.id for load in sorted(self._loads.values(), key=lambda load: load.sequence)}
        return {key: load for key, load in self._loads.items() if key in used or latest[load.binding] == key}

    def _partition(self, domain: Domain, scenario: str, bucket: str, rows: pl.DataFrame, load: Load) -> Partition:
        measures = [key for key in domain.measures if key in rows.columns]
        file = self._written(f"facts/{domain.key}/{scenario}/{bucket}", rows)
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

    def _written(self, stem: str, frame: pl.DataFrame) -> str:
        return write_named(self._root, stem, frame)


def days_of(dates: pl.Series) -> tuple[int, ...]:
    """Return the days of the dates of one month, in order."""
    return tuple(sorted(day.day for day in dates.unique().drop_nulls()))


def ids_of(root: Path, codes: Codes | None) -> pl.Series:
    """Return the ids of a leaf dimension in code order, the null member first."""
    if codes is None:
        return pl.Series("id", [UNASSIGNED], dtype=pl.String)
    return mapped(root / codes.file)["id"]
