"""DuckDB as a warehouse: a file, or a database in the memory of this process (`:memory:NAME`).

A file is open only while a session uses it, because DuckDB lets either one process write a file or several read it.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from time import sleep
from typing import Any, Final

import pyarrow as pa

from engine.model.stopping import Stop, never
from server.warehouses.dialects import DUCKDB
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

MEMORY: Final = ":memory:"
OPENING: Final = 60.0  # seconds at most until others have closed the file
BUSY: Final = ("Could not set lock", "different configuration")  # what DuckDB says while another writes the file
CLOSED: Final = {"enable_external_access": "false", "lock_configuration": "true"}  # no other file, and no host


class DuckDbWarehouse(Warehouse):
    """Facts in DuckDB."""

    engine = "DuckDB"
    dialect = DUCKDB

    def __init__(
        self, database: str, timeout: float = TIMEOUT, sessions: int = SESSIONS, *, writes: bool = False
    ) -> None:
        """`database` is a file, or `:memory:NAME`. The loader `writes`; readers open a file read-only."""
        super().__init__(timeout, sessions, keeps_sessions=database.startswith(MEMORY))
        self._database = database
        self._writes = writes
        self._lock = Lock()
        self._users = 0
        self._connection: Any = None
        self._runs = ThreadPoolExecutor(sessions, thread_name_prefix="duckdb")
        self._errors = import_module("duckdb").Error

    def close(self) -> None:
        """Close the database."""
        super().close()
        self._runs.shutdown()
        if self._connection is not None:
            self._connection.close()

    def _open(self) -> Any:
        watch = self._watch(never, OPENING)
        while True:
            try:
                with self._lock:
                    if self._connection is None:
                        self._connection = self._connect()
                    self._users += 1
                    return self._connection.cursor()
            except self._errors as fault:
                if not any(words in str(fault) for words in BUSY):
                    raise WarehouseDown(
                        f"DuckDB cannot open the file of {self.holds} ({type(fault).__name__}); see that it exists, "
                        "that this user may read it, and that this release of DuckDB wrote it or can read it"
                    ) from None
            watch()
            sleep(GLANCE)

    def _connect(self) -> Any:
        connect = import_module("duckdb").connect
        if self._database.startswith(MEMORY):
            return connect(self._database)
        return connect(self._database, read_only=not self._writes, config={} if self._writes else CLOSED)

    def _close(self, session: Any) -> None:
        session.close()
        with self._lock:
            self._users -= 1
            if not self._users and not self._database.startswith(MEMORY):
                self._connection.close()
                self._connection = None

    def _run(self, session: Any, statement: SqlStatement, watch: Stop) -> pa.Table:
        running = self._runs.submit(self._fetch, session, statement)
        try:
            while not wait([running], GLANCE).done:
                watch()
        finally:
            while not running.done():
                session.interrupt()  # which comes to nothing before the statement begins
                wait([running], GLANCE)
        return running.result()

    def _fetch(self, session: Any, statement: SqlStatement) -> pa.Table:
        with self._refusals():
            rows = session.sql(statement.text, params=list(statement.parameters))
            return pa.table({}) if rows is None else rows.to_arrow_table()

    def put(self, table: WarehouseTable, part: int, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the rows of a partition in one transaction; see Warehouse."""
        self._pool.use(lambda session: self._replace(session, table, part, batches), never, fresh=True)

    def _replace(self, session: Any, table: WarehouseTable, part: int, batches: Iterable[pa.RecordBatch]) -> None:
        name = self.dialect.name_of
        columns = ", ".join(name(each) for each in (PART, *(column.name for column in table.columns)))
        with self._refusals():
            session.begin()
            session.execute(f"delete from {name(*table.name)} where {name(PART)} = {part}")
            for batch in batches:
                session.register("tieout_batch", pa.table(batch))
                session.execute(f"insert into {name(*table.name)} ({columns}) select {columns} from tieout_batch")
                session.unregister("tieout_batch")
            session.commit()

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except self._errors as fault:
            raise StatementRefused(
                f"DuckDB refused a statement about the facts ({type(fault).__name__}); see that the tables of "
                f"{self.holds} are there and that this user may use them, or {self.mend}"
            ) from fault
