"""Files of the store: written once, durably, named by their content, and memory-mapped to read.

A file name ends in a digest of the bytes. Equal rows always give equal bytes: values under nulls and the sharing of
text buffers are normalised.
"""

import os
from collections.abc import Collection
from hashlib import file_digest
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from engine.model.caching import LazyTable
from engine.model.errors import Unavailable

DIGITS = 32  # of the digest in a file name
LARGE_BYTES = 256 << 20  # of rows whose columns are made ready one after the other
MOST_FILES = 1 << 20  # mapped at once


def mapped(path: Path) -> pl.DataFrame:
    """Map the rows of a file into memory without copying. Raises Unavailable if the file cannot be read."""
    try:
        with pa.memory_map(str(path)) as file:
            read = pa.ipc.open_file(file.read_buffer())  # a quarter of the time: a file is read on another thread
            return pl.DataFrame(read.get_batch(0) if read.num_record_batches == 1 else read.read_all())
    except (OSError, pa.ArrowException) as fault:
        raise unreadable(path, fault) from fault


def unreadable(path: Path, fault: Exception) -> Unavailable:
    """Return the error of a file of the store that cannot be read, which names it as the store does."""
    why = os.strerror(fault.errno) if isinstance(fault, OSError) and fault.errno else "it is damaged"  # without a path
    return Unavailable(
        f"Rows of the books cannot be read: {path.parent.name}/{path.name} ({why}). Let the server's user read the "
        "store in SVC_STATE_DIR; if the file is gone or damaged, restore a backup, or move the store away and run "
        "tieout load."
    )


class MappedFiles:
    """The files of a store that are mapped. Versions share them: a publish maps only what it wrote."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._frames: LazyTable[str, pl.DataFrame] = LazyTable(MOST_FILES)

    def frame(self, file: str) -> pl.DataFrame:
        """Return the rows of a file. It is mapped on first use. Raises Unavailable if an engine has the rows."""
        if not file:
            raise Unavailable(
                "The rows are in an engine that instance.yaml names no longer, so `facts` must name it; or they stay "
                "in an attached table, which the server reads."
            )
        return self._frames.get(file, lambda: mapped(self._root / file))

    def keep(self, files: Collection[str]) -> None:
        """Forget all files but some. Frames that are in use stay mapped."""
        self._frames.keep(frozenset(files))


def spool(path: Path, frame: pl.DataFrame) -> None:
    """Write temporary rows, without durability."""
    table = frame.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def spooled(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Return temporary rows as they are mapped from a file, which loses its name and ends with them."""
    spool(path, frame)
    rows = mapped(path)
    path.unlink()
    return rows


def write_named(root: Path, stem: str, frame: pl.DataFrame) -> str:
    """Write rows durably, and return the file name relative to the root: the stem and a digest.

    The name itself survives a crash once `sync_folder` has written its folder.
    """
    path = root / f"{stem}.new"
    path.parent.mkdir(parents=True, exist_ok=True)
    is_large = frame.estimated_size() > LARGE_BYTES
    table = canonical_columns(frame, root / f"{stem}.column") if is_large else canonical(frame)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with path.open("rb") as written:
        digest = file_digest(written, "sha256").hexdigest()
        os.fsync(written.fileno())
    name = f"{stem}-{digest[:DIGITS]}.arrow"
    path.rename(root / name)
    return name


def canonical(frame: pl.DataFrame) -> pa.Table:
    """Return rows in canonical form: blank values under nulls, text as views of one buffer, which has the long ones."""
    columns = [canonical_nulls(column) for column in frame.rechunk().get_columns()]
    filled = pl.DataFrame(pa.record_batch(columns, names=frame.columns))
    return filled.to_arrow(compat_level=pl.CompatLevel.newest())  # casts of pyarrow take 50 ms to import


def canonical_columns(frame: pl.DataFrame, aside: Path) -> pa.Table:
    """Return rows in the same form, each column mapped from a file, so that one at a time is in memory."""
    names = frame.columns
    columns = [spooled_table(aside, canonical(frame.select(name))).column(0) for name in names]
    return pa.table(columns, names=names)


def spooled_table(path: Path, table: pa.Table) -> pa.Table:
    """Return a table as it is mapped from a file that loses its name."""
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    with pa.memory_map(str(path)) as file:
        rows = pa.ipc.open_file(file.read_buffer()).read_all()
    path.unlink()
    return rows


def canonical_nulls(column: pl.Series) -> pa.Array:
    """Return the values of a column, blank where it is null."""
    values = column.to_arrow(compat_level=pl.CompatLevel.oldest())
    if not column.null_count():
        return values
    blank: Any = "" if column.dtype == pl.String else 0
    valid = column.is_not_null().extend_constant(False, -len(column) % 8).rechunk()  # so that no bit of a byte is open
    filled = column.to_physical().fill_null(blank).to_arrow(compat_level=pl.CompatLevel.oldest())
    buffers = [valid.to_arrow().buffers()[1], *filled.buffers()[1:]]
    return pa.Array.from_buffers(values.type, len(filled), buffers, column.null_count())


def write_durably(path: Path, content: bytes) -> None:
    """Write a file that survives a crash of the machine."""
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
