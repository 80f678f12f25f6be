"""PostgreSQL as a warehouse: psycopg reads, since it gives up on a server that hangs, and ADBC copies rows in."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from math import ceil
from threading import Lock
from typing import Any, Final, TypeVar

import psycopg
import pyarrow as pa
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from engine.model.stopping import Stop, never
from server.base.interfaces import StoreDown
from server.stores.postgres import WORDS
from server.warehouses.dialects import POSTGRESQL
from server.warehouses.tables import PART, WarehouseTable
from server.warehouses.warehouse import (
    GLANCE,
    SESSIONS,
    TIMEOUT,
    SqlStatement,
    StatementRefused,
    Warehouse,
    WarehouseDown,
)

Returned = TypeVar("Returned")
CONNECTING: Final = 5  # seconds at most
CANCELLING: Final = 1.0  # seconds that a cancelled statement may take to end
WIRE_ROWS: Final = 50_000  # that are turned into Arrow at once
ARROW: Final = {  # number of a type of PostgreSQL -> type of Arrow, for all that statements return
    16: pa.bool_(),
    20: pa.int64(),
    21: pa.int16(),
    23: pa.int32(),
    25: pa.string(),
    1043: pa.string(),
    1082: pa.date32(),
}
READ_ONLY: Final = "-c default_transaction_read_only=on"
REFUSALS: Final = (  # SQLSTATE -> what to do
    ("42501", "grant its user the tables of {holds}"),
    ("42P01", "it lacks a table; {mend}"),
    ("42703", "a table lacks a column; {mend}"),
    ("22003", "an amount has more digits than 38"),
    ("25006", "its user may only read; give the loader a login of its own"),
)
GONE: Final = ("57P", "08", "53")  # of SQLSTATE: shutting down or starting, no connection, no resources


class WatchedConnection(psycopg.Connection[TupleRow]):
    """A connection that calls `watch` while it waits for the server."""

    watch: Stop = staticmethod(never)

    def wait(self, gen: PQGen[Returned], interval: float = GLANCE, timeout: float | None = None) -> Returned:
        """Run a protocol generator; what `watch` raises cancels the statement and closes the connection."""
        with ExitStack() as failed:
            failed.callback(self._give_up)
            returned = super().wait(watched_steps(gen, self.watch), interval, timeout)
            failed.pop_all()
        return returned

    def _give_up(self) -> None:
        self.watch = never
        if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
            with suppress(psycopg.Error):  # one that does not answer at all learns it from the end of the connection
                self.cancel_safe(timeout=CANCELLING)
            self.pgconn.finish()


def watched_steps(gen: PQGen[Returned], watch: Stop) -> PQGen[Returned]:
    """Run a protocol generator that calls `watch` whenever it has waited."""
    step = next(gen)
    while True:
        ready = yield step
        watch()
        try:
            step = gen.send(ready)
        except StopIteration as end:
            returned: Returned = end.value
            return returned


class PostgresWarehouse(Warehouse):
    """Facts in PostgreSQL."""

    engine = "PostgreSQL"
    dialect = POSTGRESQL

    def __init__(self, uri: str, timeout: float = TIMEOUT, sessions: int = SESSIONS, *, writes: bool = False) -> None:
        """Readers open sessions that are read-only; the loader `writes`."""
        super().__init__(timeout, sessions)
        self._uri = uri
        self._writes = writes
        self._copies = Lock()  # one connection of ADBC copies the rows of one partition after another
        self._copier: Any = None

    def put(self, table: WarehouseTable, part: int, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the rows of a partition in one transaction; see Warehouse."""
        from adbc_driver_manager import Error as DriverError  # noqa: PLC0415 - it takes 70 ms, which readers save
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - as above

        name = self.dialect.name_of
        *schema, relation = table.name
        try:
            with self._copies, ExitStack() as failed:
                failed.callback(self._end_copies)
                self._copier = self._copier or dbapi.connect(self._parameters())
                with self._copier.cursor() as cursor:
                    cursor.execute(f"delete from {name(*table.name)} where {name(PART)} = {part}")
                    for batch in batches:
                        cursor.adbc_ingest(relation, batch, mode="append", db_schema_name=schema[0] if schema else None)
                self._copier.commit()
                failed.pop_all()
        except DriverError as fault:
            raise refusal(getattr(fault, "sqlstate", None) or "", str(fault)) from None

    def close(self) -> None:
        """Close every session."""
        super().close()
        with self._copies:
            self._end_copies()

    def _end_copies(self) -> None:
        copier, self._copier = self._copier, None
        if copier is not None:
            copier.close()

    def _create(self, table: WarehouseTable) -> None:
        """Create a table with an index of its parts, or add what it lacks."""
        super()._create(table)
        name = self.dialect.name_of
        index = name(f"{table.name[-1]}_parts")
        self._execute(SqlStatement(f"create index if not exists {index} on {name(*table.name)} ({name(PART)})"))

    def _parameters(self) -> str:
        """Return how to connect. Statements end on the server as well, should this process be gone."""
        options = f"-c timezone=UTC -c statement_timeout={0 if self._writes else int(self.timeout * 1000)}"
        given = conninfo_to_dict(self._uri)
        options = f"{given.get('options') or ''} {options}{'' if self._writes else f' {READ_ONLY}'}".strip()
        patience = ceil(min(CONNECTING, self.timeout))
        return make_conninfo(
            self._uri, **{"application_name": "tieout", "connect_timeout": patience, **given, "options": options}
        )

    def _open(self) -> WatchedConnection:
        try:
            return WatchedConnection.connect(self._parameters(), autocommit=True, prepare_threshold=None)
        except psycopg.Error as fault:
            said = str(fault.with_traceback(None))  # whose frames hold a connection that was not made in time
            raise refusal("08", said, self) from None

    def _close(self, session: WatchedConnection) -> None:
        session.close()

    def _run(self, session: WatchedConnection, statement: SqlStatement, watch: Stop) -> pa.Table:
        session.watch = watch
        try:
            with psycopg.RawCursor(session) as cursor:
                cursor.execute(statement.text, statement.parameters or None, binary=True)
                if cursor.description is None:
                    return pa.table({})
                types = {column.name: ARROW[column.type_code] for column in cursor.description}
                return pa.Table.from_batches(pieces_of(cursor, pa.schema(types)), pa.schema(types))
        except psycopg.Error as fault:
            raise refusal(fault.sqlstate or "08", str(fault), self) from None
        finally:
            session.watch = never


def pieces_of(cursor: psycopg.RawCursor[TupleRow], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of an answer, some at a time."""
    while rows := cursor.fetchmany(WIRE_ROWS):
        columns = zip(*rows, strict=True)
        arrays = [pa.array(column, known.type) for column, known in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def refusal(state: str, message: str, of: type[Warehouse] | Warehouse = Warehouse) -> StoreDown:
    """Return what to say of a failure by its SQLSTATE, without anything that the connection string holds."""
    if state == "57014":
        return WarehouseDown(f"PostgreSQL of {of.holds} ended a statement that took too long; {of.quicken}")
    if state.startswith(GONE):
        known = next((words for text, words in WORDS if text in message), "the connection was lost")
        return WarehouseDown(f"PostgreSQL of {of.holds} cannot be reached: {known}")
    known = next((words for code, words in REFUSALS if state.startswith(code)), "see its log")
    known = known.format(holds=of.holds, mend=of.mend)
    return StatementRefused(f"PostgreSQL refused a statement about the facts (SQLSTATE {state or 'unknown'}): {known}")
