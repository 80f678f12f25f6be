"""Staging and publishing: new partitions written aside, then made current by one rename.

    with stage(root) as staged:
        staged.table("live.account", frame, load)
        staged.facts(domain, frame, load)
        staged.publish()

One stage at a time holds the publishing lock. What a stage has written is invisible until it publishes, and swept
later if it never does.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa

from engine.catalogue import Domain
from engine.cuts import UNASSIGNED
from engine.slices import DATE
from engine.store.arrow import code_type
from engine.store.layout import (
    CURRENT,
    UNDATED,
    Codes,
    Load,
    Manifest,
    Partition,
    StoredTable,
    manifest_file,
    pin_current,
    sweep,
)

SCENARIO = "scenario"


class BooksLocked(Exception):
    """Another load is publishing to these books."""


@contextmanager
def stage(root: Path) -> Iterator["Stage"]:
    """Hold the publishing lock and stage onto the current version."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "publishing.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            raise BooksLocked("another load is under way on these books") from held
        pin = pin_current(root)
        try:
            yield Stage(root, pin.manifest)
        finally:
            pin.drop()
            sweep(root)


class Stage:
    """A version in the making."""

    def __init__(self, root: Path, base: Manifest) -> None:
        self._root = root
        self._base = base
        self._version = base.version + 1
        self._facts: dict[str, tuple[Partition, ...]] = dict(base.facts)
        self._tables: dict[str, StoredTable] = dict(base.tables)
        self._codes: dict[str, Codes] = dict(base.codes)
        self._loads: dict[str, Load] = dict(base.loads)
        self._written = 0

    def ids(self, dimension: str) -> pl.Series:
        """Return the ids of a leaf dimension in code order, the null member first."""
        codes = self._codes.get(dimension)
        if codes is None:
            return pl.Series("id", [UNASSIGNED], dtype=pl.String)
        return pl.read_ipc(self._root / codes.file)["id"]

    def known(self, table: str, column: str) -> pl.Series | None:
        """Return a column of a staged or published table, None where there is no such table."""
        rows = self.rows(table)
        return None if rows is None else rows[column]

    def rows(self, table: str) -> pl.DataFrame | None:
        """Return a staged or published table, None where there is no such table."""
        stored = self._tables.get(table)
        return None if stored is None else pl.read_ipc(self._root / stored.file)

    def table(self, name: str, frame: pl.DataFrame, load: Load) -> None:
        """Stage a table of members, nodes or rates in place of the one before."""
        file = f"tables/{name}/{load.id}.arrow"
        self._write(file, frame)
        self._tables[name] = StoredTable(file=file, rows=frame.height, load=load.id)
        self._loads[load.id] = load

    def codes(self, dimension: str, members: pl.Series) -> pl.DataFrame:
        """Give every id of a leaf dimension a code, appending new ones in id order; return (id, code)."""
        ids = self.ids(dimension)
        new = members.drop_nulls().unique().sort()
        new = new.filter(~new.is_in(ids.implode()))
        ids = ids.append(new.rename("id"))
        if not new.is_empty() or dimension not in self._codes:
            file = f"codes/{dimension}/{self._version:06}-{len(ids)}.arrow"
            self._write(file, ids.to_frame())
            self._codes[dimension] = Codes(file=file, count=len(ids))
        return pl.DataFrame({"id": ids, "code": pl.Series(range(len(ids)), dtype=code_type(len(ids)))})

    def facts(self, domain: Domain, frame: pl.DataFrame, load: Load) -> None:
        """Stage facts in place of those that other loads of the same binding brought; may be called again for more.

        `frame` has SCENARIO (text), DATE (days, null where undated), the domain's dimensions by key (ids as text),
        its measures by key (Int64 of the last place), and text columns stored for inspection.
        """
        for dimension in domain.dimensions:
            codes = self.codes(dimension, frame[dimension])
            coded = frame.select(pl.col(dimension).alias("id")).join(codes, on="id", how="left", maintain_order="left")
            frame = frame.with_columns(coded["code"].fill_null(0).alias(dimension))
        bucket = pl.col(DATE).dt.strftime("%Y-%m").fill_null(UNDATED)
        order = (SCENARIO, "bucket", *domain.sort, DATE)
        grouped = frame.with_columns(bucket.alias("bucket")).sort(*order, pl.exclude(order), maintain_order=True)
        kept = tuple(
            part
            for part in self._facts.get(domain.key, ())
            if part.load == load.id or self._loads[part.load].binding != load.binding
        )
        written = tuple(
            self._partition(domain, str(scenario), str(month), part.drop(SCENARIO, "bucket"), load)
            for (scenario, month), part in grouped.partition_by(SCENARIO, "bucket", as_dict=True).items()
        )
        self._facts[domain.key] = kept + written
        self._loads[load.id] = load

    def publish(self) -> Manifest:
        """Make what was staged the current version, by one rename, and return its manifest."""
        used = {part.load for parts in self._facts.values() for part in parts}
        used |= {table.load for table in self._tables.values()}
        manifest = replace(
            self._base,
            version=self._version,
            facts=self._facts,
            tables=self._tables,
            codes=self._codes,
            loads={key: load for key, load in self._loads.items() if key in used},
        )
        path = manifest_file(self._root, self._version)
        path.parent.mkdir(exist_ok=True)
        write_durably(path, manifest.as_json().encode())
        aside = self._root / f"{CURRENT}.new"
        write_durably(aside, str(self._version).encode())
        aside.rename(self._root / CURRENT)
        sync_folder(self._root)
        return manifest

    def _partition(self, domain: Domain, scenario: str, bucket: str, part: pl.DataFrame, load: Load) -> Partition:
        self._written += 1
        file = f"facts/{domain.key}/{load.id}/{scenario}/{bucket}-{self._written}.arrow"
        self._write(file, part.select(*domain.sort, pl.exclude(domain.sort)))
        days = part[DATE].dt.day().drop_nulls().unique().sort().to_list()
        return Partition(
            scenario=scenario,
            bucket=bucket,
            file=file,
            rows=part.height,
            days=tuple(days),
            magnitudes=magnitudes(part, list(domain.measures)),
            places={key: measure.places for key, measure in domain.measures.items()},
            load=load.id,
        )

    def _write(self, file: str, frame: pl.DataFrame) -> None:
        path = self._root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        table = frame.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())  # text as views, mapped without a copy
        with path.open("wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
            sink.flush()
            os.fsync(sink.fileno())
        sync_folder(path.parent)


def magnitudes(part: pl.DataFrame, measures: list[str]) -> Mapping[str, int]:
    """Return the sum of absolute amounts of each measure: no sum of these rows can be larger."""
    sums = part.select(pl.col(measure).cast(pl.Int128).abs().sum() for measure in measures)
    return {measure: int(sums[measure].item()) for measure in measures}


def write_durably(path: Path, content: bytes) -> None:
    """Write a file so that it survives a crash of the machine."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
