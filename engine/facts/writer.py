"""Staging and publishing: writes new partitions aside, then makes them current by one rename.

    with stage(root) as staged:
        staged.table("live.account", frame, load)
        staged.facts(domain, landing, load)
        staged.publish()

One stage at a time holds the publishing lock. Its files are invisible until it publishes. If it never does, a later
sweep deletes them. A publish merges small partitions. Where an engine holds the rows of facts, it puts them there
before it names them, and reads them back where a later load cuts a month or a rollup is built of it.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import polars as pl
from msgspec.structs import replace

from engine.facts.expressions import code_type
from engine.facts.files import mapped, sync_folder, write_durably
from engine.facts.freezing import StagedFreezes
from engine.facts.frozen import whole
from engine.facts.landing import Fingerprint, LandedMonth, Landing
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import (
    CURRENT,
    CURRENT_NEXT,
    PUBLISHING,
    Codes,
    Load,
    Manifest,
    Partition,
    Rollup,
    StoredTable,
    locked,
    manifest_file,
    pin_current,
)
from engine.facts.merging import merge_small
from engine.facts.partition_writer import PartitionWriter, Views
from engine.facts.parts import Tell, sweep_parts, untold
from engine.facts.placing import Placer
from engine.facts.rollups import without_undeclared
from engine.facts.surveys import Survey, coded_sums, refuse_mixed, surveyed_partition
from engine.facts.sweeping import sweep
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.freezes import Freeze
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
                sweep_parts(root, parts, [whole(root, version) for version in versions])


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
        self._chosen: dict[str, Views] = dict(base.chosen)
        self._writer = PartitionWriter(root, self._codes, self._chosen, parts)
        self.freezes = StagedFreezes(root, base.frozen)
        self._staged: set[str] = set()  # the loads of this stage
        self._domains: dict[str, Domain] = {}  # whose small partitions are merged
        self._is_derived = False

    def table(self, name: str, frame: pl.DataFrame, load: Load) -> None:
        """Stage a table of members, nodes or rates. Replaces the previous one."""
        self._tables[name] = StoredTable(
            file=self._writer.write(f"tables/{name}", frame), rows=frame.height, load=load.id
        )
        self._record(load)

    def codes(self, dimension: str, members: pl.Series) -> pl.DataFrame:
        """Give every id of a leaf dimension a code, new ids in id order. Return a frame with columns id and code."""
        codes = self._codes.get(dimension)
        ids = ids_of(self._root, codes)
        new = members.drop_nulls().unique().sort()
        new = new.filter(~new.is_in(ids.implode()))
        ids = ids.append(new.rename("id"))
        if not new.is_empty() or codes is None:
            self._codes[dimension] = Codes(
                file=self._writer.write(f"codes/{dimension}", ids.to_frame()), count=len(ids)
            )
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
            return self._writer.partition(domain, landed.scenario, landed.month, rows, load)

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
            self.partitions[domain.key] = self._writer.with_chosen(domain, self.partitions[domain.key])
        self._domains[domain.key] = domain
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
                rollups.append(Rollup(dimensions=dimensions, file=self._writer.write(stem, sums), rows=sums.height))
            made.append(replace(part, rollups=tuple(rollups)))
        self.partitions[domain.key] = (*self._kept(domain, load, LoadMode.FULL, None), *made)
        self._record(load)
        return surveyed.rows

    def _kept(self, domain: Domain, load: Load, mode: LoadMode, span: Span | None) -> Iterator[Partition]:
        for part in self.partitions.get(domain.key, ()):
            if mode is LoadMode.APPEND or part.load == load.id or self._feed(part) != load.binding:
                yield part
            elif mode is LoadMode.REPLACE_PERIODS and span is not None:
                yield from self._writer.outside(domain, part, span, self._loads)

    def _feed(self, part: Partition) -> str:
        return self._loads[part.loaded[0].load].binding

    def forget(self, binding: str) -> int:
        """Remove everything that a feed loaded and return the number of removed facts."""
        rows = sum(part.rows for part in self._all_facts() if self._feed(part) == binding)
        for key, parts in self.partitions.items():
            self.partitions[key] = tuple(part for part in parts if self._feed(part) != binding)
        loads = {key for key, load in self._loads.items() if load.binding == binding}
        self._tables = {name: table for name, table in self._tables.items() if table.load not in loads}
        self._loads = {key: load for key, load in self._loads.items() if key not in loads}
        self._fingerprints.pop(binding, None)
        return rows

    def freeze(self, freeze: Freeze, domains: Mapping[str, Domain]) -> Freeze:
        """Stage a freeze of a scenario as it was before this stage. Return it with what it holds.

        It has the facts of some domains. Raises Unavailable if it cannot be frozen.
        """
        facts = {key: parts for key, parts in self._base.facts.items() if key in domains}

        def outside(key: str, part: Partition, span: Span) -> Iterator[Partition]:
            return self._writer.outside(domains[key], part, span, self._base.loads)

        return self.freezes.add(freeze, replace(self._base, facts=facts), outside)

    def derive(self, domains: Mapping[str, Domain]) -> int:
        """Choose rollups anew, build those that partitions lack and drop the others. Return the number built.

        Loads build the rollups of the partitions that they write, and merge those of the months that they write. This
        adds rollups to older partitions, and publishing then merges those of every month.
        """
        before = {rollup.file for part in self._all_facts() for rollup in part.rollups}
        for key, domain in domains.items():
            if key in self.partitions:
                self.partitions[key] = self._writer.with_chosen(domain, self.partitions[key])
        self._domains.update(domains)
        self._is_derived = True
        return len({rollup.file for part in self._all_facts() for rollup in part.rollups} - before)

    def publish(self, tell: Tell = untold) -> Manifest:
        """Make the stage the current version by one rename, and return its manifest.

        If nothing was staged, the version does not change. Raises Unavailable if an engine does not take the rows of
        facts, or does not give them back.
        """
        self._merge()
        refuse_mixed(self.partitions, self._loads)
        placer = Placer(self._root, self._writer, self._parts, self._base.facts, keeps_files=self._keeps_files)
        facts, frozen = placer.placed(self.partitions, self.freezes, tell)
        manifest = replace(
            self._base,
            facts=facts,
            tables=self._tables,
            codes=self._codes,
            loads=self._remembered(),
            fingerprints=self._fingerprints,
            chosen=self._chosen,
            frozen=frozen,
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

    def _merge(self) -> None:
        """Merge small partitions of the months that have rows of staged loads, or take all apart for an engine."""
        if self._parts is not None:  # it knows the rows of a load by the number of their part
            for key, parts in self.partitions.items():
                self.partitions[key] = tuple(own for part in parts for own in self._writer.apart(key, part))
            return
        for key, domain in self._domains.items():
            if key in self.partitions:
                merge = partial(self._writer.merge, domain)
                staged = None if self._is_derived else self._staged
                self.partitions[key] = merge_small(self.partitions[key], self._feed, merge, staged)

    def _all_facts(self) -> Iterator[Partition]:
        return (part for parts in self.partitions.values() for part in parts)

    def _record(self, load: Load) -> None:
        self._loads[load.id] = replace(load, sequence=self._base.version + 1)
        self._staged.add(load.id)

    def _remembered(self) -> Mapping[str, Load]:
        """Return the loads that still have rows or tables, and the latest load of each feed."""
        used = {loaded.load for part in self._all_facts() for loaded in part.loaded}
        used |= {table.load for table in self._tables.values()}
        latest = {load.binding: load.id for load in sorted(self._loads.values(), key=lambda load: load.sequence)}
        return {key: load for key, load in self._loads.items() if key in used or latest[load.binding] == key}


def ids_of(root: Path, codes: Codes | None) -> pl.Series:
    """Return the ids of a leaf dimension in code order, the null member first."""
    if codes is None:
        return pl.Series("id", [UNASSIGNED], dtype=pl.String)
    return mapped(root / codes.file)["id"]
