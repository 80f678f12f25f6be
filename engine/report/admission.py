"""Admission: check a snapshot by its header, and restore its result in a process without the books.

The process that holds the books admits a snapshot by its header alone. Another process restores the result. It reads
the rows of an inspection in batches, so memory does not grow with them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import overload

import polars as pl
import pyarrow as pa
from msgspec import Struct

from engine.books.reader import Reader
from engine.model.errors import ExpiredReference
from engine.model.notes import Note
from engine.report.encoding import checked_stream, read_header
from engine.report.inspection import RowColumn, RowValue
from engine.report.permission import Permission
from engine.report.snapshots import (
    FRAME,
    Kept,
    amounts_of,
    fractions_of,
    kind_of,
    newer_data,
    permission_from,
    still_allows,
    values_of,
)

Row = Sequence[RowValue]


class Snapshot(Struct, frozen=True):
    """A snapshot that its reader may see in full: its bytes, its title, notes on newer data, and how long it is."""

    data: bytes
    label: str
    permission: Permission
    newer: tuple[Note, ...]
    rows: int = 0  # of its table: the figures of a report


def admit(data: bytes, reader: Reader) -> Snapshot:
    """Return a snapshot if the reader may see all of it. Raises BadArguments, ExpiredReference."""
    header = read_header(checked_stream(data), whole=False)
    label, permission = header.get("label", header.get("source")), permission_from(header.get("permission") or {})
    if not isinstance(label, str) or permission is None or not still_allows(permission, reader):
        raise ExpiredReference.of()
    rows = header.get("rows", 0)  # release 0.3.0 did not write it
    return Snapshot(
        data, label, permission, tuple(newer_data(permission, reader)), rows if isinstance(rows, int) else 0
    )


def restore(data: bytes | pa.Buffer, newer: Sequence[Note]) -> Kept:
    """Return the result of an admitted snapshot, with notes on newer data. Raises BadArguments, ExpiredReference."""
    stream = checked_stream(data)
    header = read_header(stream)
    kind, values = kind_of(header), values_of(header)
    values["notes"] = tuple(dict.fromkeys([*values["notes"], *newer]))
    if kind.is_streamed:
        values[kind.body] = StoredRows(stream, values["columns"], header["width"])
        return kind.made(**values)
    width = header["width"]
    table = pa.ipc.open_stream(stream).read_all().replace_schema_metadata(None)
    frame = pl.DataFrame(table).cast({pl.Categorical: pl.String}) if kind.body == FRAME else pl.DataFrame()
    return kind.remade(values, frame, fractions_of(table.columns[width:]))


@dataclass(slots=True)
class StoredRows(Sequence[Row]):
    """The rows of an inspection in a snapshot. Every iteration reads them again."""

    stream: memoryview
    columns: Sequence[RowColumn]
    width: int  # columns of rows; numerators and denominators follow them
    _count: int | None = field(default=None, init=False)

    def __len__(self) -> int:
        if self._count is None:
            self._count = sum(batch.num_rows for batch in self._batches())
        return self._count

    def __iter__(self) -> Iterator[Row]:
        count = 0
        for batch in self._batches():
            yield from zip(*self._values(batch), strict=True)
            count += batch.num_rows
        self._count = count

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        return list(self)[at] if isinstance(at, slice) or at < 0 else next(islice(self, at, None))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return iter(pa.ipc.open_stream(self.stream))

    def _values(self, batch: pa.RecordBatch) -> Iterator[Sequence[RowValue]]:
        ahead = self.width
        for at, column in enumerate(self.columns):
            if column.kind == "amount":
                (found,) = fractions_of(batch.columns[ahead : ahead + 2])
                yield amounts_of(found)
                ahead += 2
            else:
                yield batch.column(at).to_pylist()
