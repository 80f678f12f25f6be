"""Databases: queries through ADBC drivers, read-only and bound, in batches; DRIVERS has one entry a kind of driver."""

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from datetime import date, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from signal import SIGINT, siginterrupt
from threading import Thread
from typing import Any, Final, TypeVar

import polars as pl
import pyarrow as pa
from msgspec import Struct

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import PeriodRange
from server.base.credentials import passwords, redact
from server.base.drivers import install_command, packages_of
from server.feeds.feeds import Binding, LoadStatus, SourceKind
from server.feeds.query_parameters import PERIOD, number_parameters
from server.files.columns import CONNECT, EXTRACT, ExtractRequest, RowSource, with_location
from server.files.fault_words import REACHING, REFUSALS, UNREACHED, UNREFUSED, in_words
from server.files.rejects import LoadFailed
from server.files.sqlite import sqlite_rows

PIECE = 500_000  # rows in memory at once
CONNECT_SECONDS = 10
CANCEL_SECONDS = 5.0  # that a driver has to end a cancelled query; afterwards it is left to the end of the process
AGAIN_SECONDS = 0.1  # between two looks for an interrupt, and between two attempts to cancel a query
Parameter = str | date
Options = Mapping[str, str]
Done = TypeVar("Done")


class Driver(Struct, frozen=True, kw_only=True):
    """How to connect through one ADBC driver: its module, its options, and what makes a session read-only."""

    module: str
    options: Callable[[ExtractRequest], Options]
    entrypoint: str | None = None
    session: Sequence[str] = ()  # statements before the query
    binds_days: bool = True  # whether it binds days; otherwise they are bound as text


def uri_options(asked: ExtractRequest) -> Options:
    """Return the options of a source with a URI, or with options of its own."""
    return given_options(asked) if asked.binding.source.has_options else {"uri": asked.secret or ""}


def given_options(asked: ExtractRequest) -> Options:
    """Return the options that an environment variable holds. Raises LoadFailed, without them, if they are none."""
    source = asked.binding.source
    try:
        options = json.loads(asked.secret or "")
        if not all(isinstance(value, str) for value in options.values()):
            raise ValueError  # noqa: TRY301 - one end for all that is no object of texts
    except (ValueError, AttributeError):
        says = 'holds no JSON object of texts, such as {"uri": "…", "username": "…"}'
        raise LoadFailed(CONNECT, f"source {source.key}: {source.environment} {says}") from None
    return dict(options)


def database_file(asked: ExtractRequest) -> Path:
    """Return the file of a database. Raises LoadFailed if it is not there: no driver may create it."""
    path = Path(asked.secret) if asked.secret else asked.folder / (asked.binding.source.path or "")
    if not path.is_file():
        raise LoadFailed(CONNECT, f"source {asked.binding.source.key}: there is no such file")
    return path.resolve()


def postgresql_options(asked: ExtractRequest) -> Options:
    """Return the URI of a PostgreSQL server, with a timeout."""
    return {"uri": with_timeout(asked.secret or "")}


def duckdb_options(asked: ExtractRequest) -> Options:
    """Return the path of a file of DuckDB that is opened read-only; its queries reach no other file and no host."""
    closed = {"access_mode": "READ_ONLY", "enable_external_access": "false", "lock_configuration": "true"}
    return {"path": str(database_file(asked)), **closed}


DRIVERS: Final[Mapping[SourceKind, Driver]] = {
    SourceKind.POSTGRESQL: Driver(
        module="adbc_driver_postgresql",
        options=postgresql_options,
        session=("set default_transaction_read_only = on",),
    ),
    SourceKind.DUCKDB: Driver(
        module="adbc_driver_duckdb",
        options=duckdb_options,
        entrypoint="duckdb_adbc_init",
    ),
    SourceKind.FLIGHTSQL: Driver(module="adbc_driver_flightsql", options=uri_options),
    SourceKind.SNOWFLAKE: Driver(module="adbc_driver_snowflake", options=uri_options, binds_days=False),
    SourceKind.BIGQUERY: Driver(module="adbc_driver_bigquery", options=given_options),
    SourceKind.ADBC: Driver(module="", options=given_options),
}


def read_database(asked: ExtractRequest) -> Iterator[RowSource]:
    """Yield the rows of a binding's query, with its parameters bound."""
    binding = asked.binding
    for periods in query_ranges(binding.extract, asked.calendar, asked.periods):
        parameters = {**binding.parameters, **period_parameters(periods)}
        if binding.source.kind is SourceKind.SQLITE:
            yield RowSource(binding.source.key, sqlite_rows(asked, database_file(asked), parameters))
        else:
            yield RowSource(binding.source.key, query_rows(asked, parameters))


def query_rows(asked: ExtractRequest, parameters: Mapping[str, Parameter]) -> Generator[pl.DataFrame]:
    """Yield the located rows of a query. Raises LoadFailed, without a secret, where it fails."""
    from adbc_driver_manager import dbapi  # noqa: PLC0415 - it takes 70 ms, which loads of files save

    source, driver = asked.binding.source, DRIVERS[asked.binding.source.kind]
    options = driver.options(asked)
    secrets = [asked.secret, with_timeout(asked.secret), *passwords(asked.secret)] if asked.secret else []
    query = number_parameters(asked.binding.extract, source.paramstyle)
    library = driver_library(asked.binding, driver)
    thread, first = DriverThread(), 0
    try:
        with driver_errors(CONNECT, f"source {source.key} cannot be reached", secrets):
            connect = partial(dbapi.connect, library, entrypoint=driver.entrypoint, db_kwargs=options, autocommit=True)
            connection = thread.open(connect)
            cursor = thread.open(connection.cursor)
        with driver_errors(EXTRACT, "the query failed", secrets):
            for statement in driver.session:
                thread.run(partial(cursor.execute, statement))
            values = (parameters[name] for name in query.names)
            bound = [value if driver.binds_days else str(value) for value in values] or None
            thread.run(partial(cursor.execute, query.text, bound), cursor.adbc_cancel)
            reader = thread.open(cursor.fetch_record_batch, cursor.adbc_cancel)
            for piece in read_batches(lambda: thread.run(lambda: next(reader, None), cursor.adbc_cancel), reader):
                yield with_location(piece, source.key, first)
                first += piece.height
    finally:
        thread.end()


def driver_library(binding: Binding, driver: Driver) -> str:
    """Return the library of a driver. Raises LoadFailed if it is not installed.

    A driver that is no Python module is one that the driver manager knows by name.
    """
    name = binding.source.driver or driver.module
    try:
        module = import_module(name)
    except ImportError:
        if binding.source.driver is not None and "." not in name and not name.startswith("adbc_driver_"):
            return name
        says = f"source {binding.source.key} needs the driver {name}, which is not installed"
        packages = packages_of(binding.source.kind.value) or [driver.module.replace("_", "-") or "PACKAGE"]
        raise LoadFailed(CONNECT, f"{says}: {install_command(packages)}", recorded=f"{says} on the server") from None
    find = getattr(module, "_driver_path", None) or module.driver_path
    return str(find())


STUCK: list[Sequence[Any]] = []  # connections that are left to the end of the process


class DriverThread:
    """The thread of one connection: an interrupt of the main thread cancels the call of the driver under way.

    Drivers block in calls that no signal ends, and some cannot cancel a query. Such a thread is left to the end of the
    process, and its connection is not closed.
    """

    def __init__(self) -> None:
        siginterrupt(SIGINT, True)  # Polars makes waits go on after an interrupt, until what they wait for is there
        self.is_stuck = False
        self._opened: list[Any] = []
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        Thread(target=self._work, name="database driver", daemon=True).start()

    def open(self, call: Callable[[], Done], cancel: Callable[[], None] | None = None) -> Done:
        """Return the handle that a call opens; `end` closes it, even if an interrupt comes while it is opened."""
        self.run(lambda: self._opened.append(call()), cancel)
        handle: Done = self._opened[-1]
        return handle

    def run(self, call: Callable[[], Done], cancel: Callable[[], None] | None = None) -> Done:
        """Return the result of a call, or raise what it raises."""
        ended: Future[Done] = Future()
        try:
            self._calls.put((call, ended))
            while not ended.done():  # a signal that comes just before a wait, or to another thread, does not end it
                wait([ended], AGAIN_SECONDS)
            return ended.result()
        except KeyboardInterrupt:
            self._give_up(ended, cancel)
            raise

    def end(self) -> None:
        """Close what was opened, the latest first, and end the thread; leaves what a stuck thread works on."""
        if self.is_stuck:
            STUCK.append(self._opened)
            return
        for handle in reversed(self._opened):
            with suppress(Exception):  # what failed or was cancelled is told already
                self.run(handle.close)
        self._calls.put(None)

    def _give_up(self, ended: Future[Any], cancel: Callable[[], None] | None) -> None:
        if cancel is not None:
            # in a thread of its own: it blocks in a driver that cannot
            Thread(target=cancel_until, args=(ended, cancel), name="cancel", daemon=True).start()
        self.is_stuck = not wait([ended], CANCEL_SECONDS).done

    def _work(self) -> None:
        while (task := self._calls.get()) is not None:
            call, ended = task
            try:
                ended.set_result(call())
            except BaseException as fault:  # noqa: BLE001 - it is raised where the call was made
                ended.set_exception(fault)


def cancel_until(ended: Future[Any], cancel: Callable[[], None]) -> None:
    """Cancel a call again and again until it ended: the first attempt may come before its query has begun."""
    while not ended.done():
        with suppress(Exception):  # what is cancelled may have ended, and its statement may be closed already
            cancel()
        wait([ended], AGAIN_SECONDS)


@contextmanager
def driver_errors(status: LoadStatus, what: str, secrets: Sequence[str]) -> Iterator[None]:
    """Turn what a driver says into a failed load, in words of our own."""
    from adbc_driver_manager import Error as DatabaseError  # noqa: PLC0415 - as above

    try:
        yield
    except (DatabaseError, pa.ArrowException, OSError) as fault:
        known, otherwise = (REACHING, UNREACHED) if status is CONNECT else (REFUSALS, UNREFUSED)
        says = redact(in_words(fault, known, otherwise), secrets)  # a name in it may be one
        raise LoadFailed(status, f"{what}: {says}") from None


def read_batches(read: Callable[[], pa.RecordBatch | None], reader: pa.RecordBatchReader) -> Iterator[pl.DataFrame]:
    """Yield the rows of a reader in larger pieces, at least one; `read` returns its next batch, None at its end."""
    batches, rows, came = [], 0, False
    while (batch := read()) is not None:
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


# The periods of a query.


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
