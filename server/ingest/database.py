"""Queries of a database, through Arrow, some rows at a time and read-only."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import date

import polars as pl
import pyarrow as pa
from adbc_driver_manager import Error as DatabaseError
from adbc_driver_postgresql import dbapi

from engine.feeds import Binding, LoadStatus
from engine.parameters import numbered
from server.ingest.files import PIECE
from server.ingest.rejects import CONNECT, EXTRACT, LoadFailed, Part, located
from server.redaction import redacted

CONNECT_SECONDS = 10
CANCELLED = "canceling statement due to user request"
READ_ONLY = "set default_transaction_read_only = on"
Parameter = str | date


def part_of_database(binding: Binding, uri: str, parameters: Mapping[str, Parameter]) -> Part:
    """Return the rows of a binding's query with its parameters bound."""
    return Part(binding.source.key, rows_of(binding, uri, parameters))


def rows_of(binding: Binding, uri: str, parameters: Mapping[str, Parameter]) -> Generator[pl.DataFrame]:
    """Yield the located rows of a query; LoadFailed, without a secret, where it fails."""
    query = numbered(binding.extract)
    first = 0
    with failing(CONNECT, f"source {binding.source.key} cannot be reached", uri):
        connection = dbapi.connect(timed(uri), autocommit=True)
    with connection, connection.cursor() as cursor, failing(EXTRACT, "the query failed", uri):
        cursor.execute(READ_ONLY)
        cursor.execute(query.text, [parameters[name] for name in query.names] or None)
        with cursor.fetch_record_batch() as reader:
            for piece in gathered(reader):
                yield located(piece, binding.source.key, first)
                first += piece.height


@contextmanager
def failing(status: LoadStatus, what: str, uri: str) -> Iterator[None]:
    """Turn what a driver says into a failed load."""
    try:
        yield
    except (DatabaseError, pa.ArrowException, OSError) as fault:
        if CANCELLED in str(fault):
            raise KeyboardInterrupt from None  # the driver takes an interrupt for itself, and ends its query
        said = redacted(first_line(fault), (uri, timed(uri)))
        raise LoadFailed(status, f"{what}: {said}") from None  # the fault's own text may hold the URI


def gathered(reader: pa.RecordBatchReader) -> Iterator[pl.DataFrame]:
    """Yield the rows of a reader in larger pieces, at least one."""
    batches, rows, came = [], 0, False
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if rows >= PIECE:
            yield plain(pa.Table.from_batches(batches))
            batches, rows, came = [], 0, True
    if batches or not came:
        yield plain(pa.Table.from_batches(batches, reader.schema))


def plain(table: pa.Table) -> pl.DataFrame:
    """Return rows without the wrappers that the driver puts around what Arrow has no type for."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table is no column
    wrapped = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.BaseExtension)]
    return frame.with_columns(pl.col(name).ext.storage() for name in wrapped)


def timed(uri: str) -> str:
    """Return a URI whose connecting ends, where it does not say itself when."""
    if "connect_timeout" in uri:
        return uri
    joint = " " if "://" not in uri else "&" if "?" in uri else "?"
    return f"{uri}{joint}connect_timeout={CONNECT_SECONDS}"


def first_line(fault: Exception) -> str:
    """Return the first line of what a driver says."""
    return str(fault).strip().split("\n", 1)[0]
