"""Sources: reads the requested periods from files and databases in batches; SOURCE_READERS has one reader a kind."""

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import PeriodRange
from engine.model.feeds import PERIOD, PERIOD_PLACE, Binding, LoadStatus, SourceKind, number_parameters
from server.base.credentials import redact
from server.ingest.columns import CONNECT, EXTRACT, RowSource, with_location
from server.ingest.files import PIECE, file_rows
from server.ingest.rejects import LoadFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRequest:
    """What a load asks of a source."""

    binding: Binding
    folder: Path  # of the instance
    secret: str | None  # value of the environment variable that the source names
    calendar: Calendar
    periods: PeriodRange | None  # None for all


def read_folder(asked: ExtractRequest) -> Iterator[RowSource]:
    """Yield the files of a folder source."""
    path = Path(asked.secret) if asked.secret else asked.folder / (asked.binding.source.path or "")
    yield from parts_of_folder(asked.binding, path, patterns_of(asked.binding.extract, asked.calendar, asked.periods))


def parts_of_folder(binding: Binding, folder: Path, patterns: Iterator[str]) -> Iterator[RowSource]:
    """Yield every file that matches a pattern, in the order of their names."""
    if not folder.is_dir():
        raise LoadFailed(CONNECT, f"source {binding.source.key}: there is no such folder")
    for pattern in patterns:
        files = sorted(path for path in folder.glob(pattern) if path.is_file())
        if not files:
            raise LoadFailed(EXTRACT, f"no file of source {binding.source.key} matches {pattern}")
        for path in files:
            yield RowSource(path.name, file_rows(path, binding.format, binding.sheet))


# Database queries: read-only, through Arrow, in batches.


CONNECT_SECONDS = 10
CANCELLED = "canceling statement due to user request"
READ_ONLY = "set default_transaction_read_only = on"
Parameter = str | date


def read_postgresql(asked: ExtractRequest) -> Iterator[RowSource]:
    """Yield the rows of a binding's query, with its parameters bound."""
    binding = asked.binding
    for periods in query_ranges(binding.extract, asked.calendar, asked.periods):
        parameters = {**binding.parameters, **period_parameters(periods)}
        yield RowSource(binding.source.key, query_rows(binding, asked.secret or "", parameters))


def query_rows(binding: Binding, uri: str, parameters: Mapping[str, Parameter]) -> Generator[pl.DataFrame]:
    """Yield the located rows of a query; LoadFailed, without a secret, where it fails."""
    from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - it takes 70 ms, which loads of files save

    query = number_parameters(binding.extract)
    first = 0
    with driver_errors(CONNECT, f"source {binding.source.key} cannot be reached", uri):
        connection = dbapi.connect(with_timeout(uri), autocommit=True)
    with connection, connection.cursor() as cursor, driver_errors(EXTRACT, "the query failed", uri):
        cursor.execute(READ_ONLY)
        cursor.execute(query.text, [parameters[name] for name in query.names] or None)
        with cursor.fetch_record_batch() as reader:
            for piece in read_batches(reader):
                yield with_location(piece, binding.source.key, first)
                first += piece.height


@contextmanager
def driver_errors(status: LoadStatus, what: str, uri: str) -> Iterator[None]:
    """Turn what a driver says into a failed load."""
    from adbc_driver_manager import Error as DatabaseError  # noqa: PLC0415 - as above

    try:
        yield
    except (DatabaseError, pa.ArrowException, OSError) as fault:
        if CANCELLED in str(fault):
            raise KeyboardInterrupt from None  # the driver takes an interrupt for itself, and ends its query
        said = redact(first_line(fault), (uri, with_timeout(uri)))
        raise LoadFailed(status, f"{what}: {said}") from None  # the fault's own text may hold the URI


def read_batches(reader: pa.RecordBatchReader) -> Iterator[pl.DataFrame]:
    """Yield the rows of a reader in larger pieces, at least one."""
    batches, rows, came = [], 0, False
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if rows >= PIECE:
            yield without_extensions(pa.Table.from_batches(batches))
            batches, rows, came = [], 0, True
    if batches or not came:
        yield without_extensions(pa.Table.from_batches(batches, reader.schema))


def without_extensions(table: pa.Table) -> pl.DataFrame:
    """Return rows without the wrappers that the driver puts around what Arrow has no type for."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table is no column
    wrapped = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.BaseExtension)]
    return frame.with_columns(pl.col(name).ext.storage() for name in wrapped)


def with_timeout(uri: str) -> str:
    """Return a URI whose connecting ends, where it does not say itself when."""
    if "connect_timeout" in uri:
        return uri
    joint = " " if "://" not in uri else "&" if "?" in uri else "?"
    return f"{uri}{joint}connect_timeout={CONNECT_SECONDS}"


def first_line(fault: Exception) -> str:
    """Return the first line of what a driver says."""
    return str(fault).strip().split("\n", 1)[0]


# Extracts: the rows of a source for the requested periods, each with its file or query and row number.


SOURCE_READERS: Final[Mapping[SourceKind, Callable[[ExtractRequest], Iterator[RowSource]]]] = {
    SourceKind.FOLDER: read_folder,
    SourceKind.POSTGRESQL: read_postgresql,
}


def extract(
    binding: Binding,
    folder: Path,
    calendar: Calendar,
    periods: PeriodRange | None,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[RowSource]:
    """Yield what a binding's source holds now, a part for each file or query; LoadFailed where it cannot be read."""
    source = binding.source
    secret = environment.get(source.environment) if source.environment else None
    if source.environment and not secret:
        raise LoadFailed(CONNECT, f"source {source.key} needs the environment variable {source.environment}")
    asked = ExtractRequest(binding=binding, folder=folder, secret=secret, calendar=calendar, periods=periods)
    yield from SOURCE_READERS[source.kind](asked)


def query_ranges(query: str, calendar: Calendar, periods: PeriodRange | None) -> Iterator[PeriodRange | None]:
    """Yield what a query is run for: all periods asked for at once, each of them where it takes the period's code."""
    if periods is None or PERIOD not in number_parameters(query).names:
        yield periods
    else:
        yield from (PeriodRange(period, period) for period in calendar.periods(periods))


def period_parameters(periods: PeriodRange | None) -> Mapping[str, str | date]:
    """Return the parameters of a query that say which periods are asked for."""
    if periods is None:
        return {}
    first, last = periods.span.first, periods.span.last
    return {
        "period_start": first,
        "period_end": last,
        "period_end_exclusive": last + timedelta(days=1),
        PERIOD: periods.start.code,
    }


def patterns_of(pattern: str, calendar: Calendar, periods: PeriodRange | None) -> Iterator[str]:
    """Yield the file patterns of the periods asked for, one for each where the pattern names the period."""
    if periods is None or PERIOD_PLACE not in pattern:
        yield pattern
    else:
        yield from (pattern.replace(PERIOD_PLACE, period.code) for period in calendar.periods(periods))
