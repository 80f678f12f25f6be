"""Files of the store: written once, durably, named by their content, and memory-mapped to read.

A file name ends in a digest of the bytes. Equal rows always give equal bytes: values under nulls and the sharing of
text buffers are normalised.
"""

import os
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from engine.model.errors import Unavailable

DIGITS = 32  # of the digest in a file name


def mapped(path: Path) -> pl.DataFrame:
    """Map the rows of a file into memory without copying."""
    with pa.memory_map(str(path)) as file:
        read = pa.ipc.open_file(file)
        return pl.DataFrame(read.get_batch(0) if read.num_record_batches == 1 else read.read_all())


class MappedFiles:
    """The files of a store that are mapped. Versions share them: a publish maps only what it wrote."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._frames: dict[str, pl.DataFrame] = {}

    def frame(self, file: str) -> pl.DataFrame:
        """Return the rows of a file. It is mapped on first use. Raises Unavailable if an engine has the rows."""
        if not file:
            raise Unavailable(
                "The rows are in an engine that instance.yaml names no longer, so `facts` must name it; or they stay "
                "in an attached table, which the server reads."
            )
        frame = self._frames.get(file)
        if frame is None:
            frame = self._frames[file] = mapped(self._root / file)
        return frame

    def keep(self, files: Collection[str]) -> None:
        """Forget all files but some. Frames that are in use stay mapped."""
        self._frames = {file: frame for file, frame in list(self._frames.items()) if file in files}


def spool(path: Path, frame: pl.DataFrame) -> None:
    """Write temporary rows, without durability."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.newest())
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def write_named(root: Path, stem: str, frame: pl.DataFrame) -> str:
    """Write rows durably, and return the file name relative to the root: the stem and a digest.

    The name itself survives a crash once `sync_folder` has written its folder.
    """
    path = root / f"{stem}.new"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = frame.rechunk()
    table = pa.table([canonical(column) for column in frame], names=frame.columns)
    with path.open("wb") as file:
        digested = DigestWriter(file)
        with pa.ipc.new_file(pa.PythonFile(digested, mode="w"), table.schema) as writer:
            writer.write_table(table)
        file.flush()
        os.fsync(file.fileno())
    name = f"{stem}-{digested.digest.hexdigest()[:DIGITS]}.arrow"
    path.rename(root / name)
    return name


class DigestWriter:
    """A file that computes the digest of everything written to it."""

    def __init__(self, file: Any) -> None:  # noqa: ANN401 - any writer of bytes
        self._file = file
        self.digest = sha256()
        self.closed = False

    def write(self, content: Any) -> int:  # noqa: ANN401 - any buffer of bytes
        """Write some bytes."""
        self.digest.update(content)
        return int(self._file.write(content))

    def flush(self) -> None:
        """Flush the file."""
        self._file.flush()


def canonical(column: pl.Series) -> pa.Array:
    """Return a column in canonical form: blank values under nulls, text as views of one buffer."""
    blank: Any = "" if column.dtype == pl.String else 0
    filled = column.to_physical().fill_null(blank) if column.null_count() else column.to_physical()
    values = filled.to_arrow(compat_level=pl.CompatLevel.oldest())
    if column.null_count():
        valid = column.is_not_null().to_arrow().buffers()[1]
        values = pa.Array.from_buffers(values.type, len(values), [valid, *values.buffers()[1:]], column.null_count())
    if column.dtype == pl.String:
        return values.cast(pa.string_view())
    return values.cast(pa.date32()) if column.dtype == pl.Date else values


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
