"""A warehouse: one SQL engine and one login to it, which reads answers, or writes the rows of partitions.

The loader and the readers have a `Warehouse` each, with credentials of their own. An adapter implements the methods
under `An engine implements`, and `put`; everything else is the same for all engines.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from contextvars import copy_context
from threading import BoundedSemaphore, Event, Lock, Thread
from time import monotonic
from typing import Any, Final, TypeVar

import pyarrow as pa
from msgspec import Struct

from engine.model.stopping import Stop, never
from engine.model.warehouses import PartTotals
from server.base.interfaces import StoreDown
from server.stores.circuit_breaker import CircuitBreaker
from server.warehouses.dialects import ColumnKind, SqlDialect
from server.warehouses.tables import PART, WarehouseTable

Returned = TypeVar("Returned")
TIMEOUT: Final = 20.0  # seconds that a statement may take, unless the instance says otherwise
SESSIONS: Final = 8  # statements at once, unless the instance says otherwise
GLANCE: Final = 0.1  # seconds between two looks at whether the call still waits
MOST_PARTS: Final = 1_000  # of one statement about parts
PROBE: Final = "tieout_probe"  # an empty table, by which an engine shows that it may write
LATEST: Final = 4.0  # seconds at most between two tests of an engine that did not answer


class WarehouseDown(StoreDown):
    """The engine cannot be reached or does not answer in time. The message names no credentials."""


class StatementRefused(StoreDown):
    """The engine answered that it does not run a statement. The message names the table and no credentials."""


class VersionGone(StatementRefused):
    """The engine keeps the version of a table no longer that a statement reads."""


class OtherFailed(Exception):
    """Another statement of the same answer failed."""


class SqlStatement(Struct, frozen=True, eq=False):
    """A statement: its text, its bound parameters in order, and tables of integers that travel with it."""

    text: str
    parameters: Sequence[Any] = ()
    sets: Mapping[str, Sequence[Sequence[int]]] = {}


class Warehouse(ABC):
    """One SQL engine and one login to it. Threads share it."""

    engine: str  # in messages
    dialect: SqlDialect
    holds = "`facts`"  # in messages: who names it in the files of the instance
    mend = "run tieout provision"  # about tables that are gone
    quicken = "give `timeout` of `facts` in instance.yaml more"  # about statements that take too long

    def __init__(self, timeout: float = TIMEOUT, sessions: int = SESSIONS, *, keeps_sessions: bool = True) -> None:
        """A warehouse that does not `keeps_sessions` closes each after its use, so that others can open the file."""
        self.timeout = timeout
        self.sent = 0  # statements
        self.fetched = 0  # bytes
        self._pool = SessionPool(self._open, self._close, sessions, keeps=keeps_sessions)
        self._threads = ThreadPoolExecutor(sessions, thread_name_prefix="warehouse")
        self._breaker = CircuitBreaker(failure=WarehouseDown, latest=LATEST)

    # Reading.

    def read(self, statement: SqlStatement, stop: Stop = never) -> pa.Table:
        """Return the rows of a statement.

        Calls `stop` while it waits; what `stop` raises, and the timeout, end the statement on the engine too. Raises
        WarehouseDown, at once while the engine is known not to answer, and StatementRefused.
        """
        self._test_if_due()
        with self._breaker.watched(trying=False):
            watch = self._watch(stop)
            self.sent += 1
            rows: pa.Table = self._pool.use(lambda session: self._run(session, statement, watch), watch)
            self.fetched += rows.nbytes
            return rows

    def read_all(self, statements: Sequence[SqlStatement], stop: Stop = never) -> list[pa.Table]:
        """Return the rows of each statement, sent together. The first failure ends the others."""
        if len(statements) < 2:
            return [self.read(statement, stop) for statement in statements]
        ended = Event()

        def others() -> None:
            if ended.is_set():
                raise OtherFailed

        begun = [self._threads.submit(copy_context().run, self.read, known, others) for known in statements]
        waiting = set(begun)
        try:
            while waiting:
                done, waiting = wait(waiting, GLANCE, FIRST_EXCEPTION)
                for each in done:
                    each.result()
                stop()
        finally:
            ended.set()
            wait(waiting)
        return [each.result() for each in begun]

    def together(self, work: Callable[[Callable[[SqlStatement], pa.Table]], Returned], stop: Stop = never) -> Returned:
        """Return what some work returns that reads statements, all of one state where the engine has transactions.

        Raises what `read` and the work raise.
        """
        begin = self.dialect.begin
        if not begin:
            return work(lambda statement: self.read(statement, stop))

        def run(session: Any) -> Returned:
            def read(statement: SqlStatement) -> pa.Table:
                self.sent += 1
                rows = self._run(session, statement, self._watch(stop))
                self.fetched += rows.nbytes
                return rows

            self._run(session, SqlStatement(begin), self._watch(stop))
            done = work(read)
            self._run(session, SqlStatement("commit"), self._watch(stop))
            return done

        self._test_if_due()
        with self._breaker.watched(trying=False):
            done: Returned = self._pool.use(run, self._watch(stop))
            return done

    def version(self, read: Callable[[SqlStatement], pa.Table], name: Sequence[str]) -> str:
        """Return the version of a table, as a text of which the dialect makes a clause.

        Raises what `read` raises, and StatementRefused if the table cannot be read at a version later.
        """
        found = read(SqlStatement(self.dialect.version.format(table=self.dialect.table_of(*name))))
        return str(found.column(0)[0].as_py())

    def has_version(self, version: str, stop: Stop = never) -> bool:  # noqa: ARG002 - engines that recreate tables
        """Tell whether what was read at a version is surely of the table surveyed. Raises what `read` raises."""
        return True

    def tables_named(
        self, read: Callable[[SqlStatement], pa.Table], name: Sequence[str]
    ) -> Mapping[tuple[str, ...], Mapping[str, str]]:
        """Return the tables of a name that the user sees, each with the types of its columns.

        The name may leave out its schema, and the case of its letters does not matter. Raises what `read` raises.
        """
        dialect = self.dialect
        *schema, table = (part.lower() for part in name)
        column = dialect.catalogue_schema
        of_schema = f"lower({column}) = {dialect.quote_text(schema[-1])}" if schema else f"{column} = {dialect.schema}"
        text = dialect.columns.format(schema=of_schema, table=dialect.quote_text(table))
        found: dict[tuple[str, ...], dict[str, str]] = {}
        rows = zip(*(each.to_pylist() for each in read(SqlStatement(text)).columns), strict=True)
        for of_schema, of_table, column, type_ in rows:
            found.setdefault((of_schema, of_table), {})[column] = type_
        return found

    def may_change(self, read: Callable[[SqlStatement], pa.Table], name: Sequence[str]) -> bool:
        """Tell whether the user may change a table of somebody else. Raises what `read` raises."""
        text = self.dialect.may_change
        return bool(text and read(SqlStatement(text.format(*map(self.dialect.quote_text, name)))).column(0)[0].as_py())

    def may_write(self) -> bool:
        """Tell whether an engine without users may write, which it shows with the table PROBE. Raises WarehouseDown."""
        return False

    def _test_if_due(self) -> None:
        if self._breaker.is_due:
            test = Thread(target=self._test, name=f"test of {self.engine}", daemon=True)
            test.start()
            test.join(GLANCE)

    def _test(self) -> None:
        with suppress(StoreDown), self._breaker.watched():
            self.ping()

    def ping(self) -> None:
        """Run a statement. Raises WarehouseDown or StatementRefused; pays no heed to the circuit breaker."""
        watch = self._watch(never)
        self._pool.use(lambda session: self._run(session, SqlStatement("select 1 as tieout_one"), watch), watch)

    # Writing. Every method may be repeated: after a failure, the same call completes what it began.

    def create(self, tables: Iterable[WarehouseTable]) -> None:
        """Create the tables that do not exist, and add the columns that the others lack."""
        for table in tables:
            self._create(table)

    @abstractmethod
    def put(self, table: WarehouseTable, part: int, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the rows of a partition, durably, in place of those that have its number.

        Batches are those of `WarehouseTable.batches`. Readers see all of the rows or none. Raises as `read` does.
        """

    def totals(self, table: WarehouseTable, parts: Collection[int]) -> Mapping[int, PartTotals]:
        """Return what the table holds of some parts; a part without rows is not in it."""
        found: dict[int, PartTotals] = {}
        name, dialect = self.dialect.name_of, self.dialect
        amounts = (dialect.wide.format(name(column.name)) for column in table.measures)
        sums = "".join(f", {dialect.as_text.format(f'coalesce(sum(abs({amount})), 0)')}" for amount in amounts)
        for among in in_pieces(sorted(parts)):
            rows = self.read(
                SqlStatement(
                    f"select {name(PART)}, count(*){sums} from {dialect.table_of(*table.name)} "
                    f"where {name(PART)} in ({among}) group by {name(PART)}"
                )
            )
            for part, count, *magnitudes in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                by_measure = {column.key: int(held) for column, held in zip(table.measures, magnitudes, strict=True)}
                found[part] = PartTotals(count, by_measure)
        return found

    def parts(self, table: WarehouseTable) -> frozenset[int]:
        """Return the numbers of the parts of which the table has rows."""
        name, relation = self.dialect.name_of(PART), self.dialect.table_of(*table.name)
        rows = self.read(SqlStatement(f"select distinct {name} from {relation}"))
        return frozenset(rows.column(0).to_pylist())

    def columns(self, relation: str) -> frozenset[str]:
        """Return the columns of a table in the schema of the address that the user may see, none if it is not there."""
        dialect = self.dialect
        text = (
            "select cast(column_name as varchar) as tieout_found from information_schema.columns "
            f"where table_schema = {dialect.schema} and table_name = {dialect.quote_text(relation)}"
        )
        return frozenset(self.read(SqlStatement(text)).column(0).to_pylist())

    def has(self, table: WarehouseTable) -> bool:
        """Tell whether a table exists."""
        *schema, relation = map(self.dialect.quote_text, table.name)
        where = f"table_schema = {schema[0]}" if schema else f"table_schema = {self.dialect.schema}"
        text = f"select 1 as tieout_one from information_schema.tables where {where} and table_name = {relation}"
        return bool(self.read(SqlStatement(text)).num_rows)

    def drop(self, table: WarehouseTable, parts: Collection[int]) -> None:
        """Delete the rows of some parts; those that the table lacks are fine."""
        name = self.dialect.name_of
        for among in in_pieces(sorted(parts)):
            text = f"delete from {name(*table.name)} where {name(PART)} in ({among})"
            self._execute(SqlStatement(text))

    def remove(self, table: WarehouseTable) -> None:
        """Drop a table with its rows; one that does not exist is fine."""
        self._execute(SqlStatement(f"drop table if exists {self.dialect.name_of(*table.name)}"))

    def close(self) -> None:
        """Close every session."""
        self._threads.shutdown()
        self._pool.close()

    def _create(self, table: WarehouseTable) -> None:
        """Create a table, or add the columns that it lacks, in statements that most engines take."""
        name, types = self.dialect.name_of, self.dialect.types
        columns = [f"{name(column.name)} {types[column.kind]}" for column in table.columns]
        first = f"{name(PART)} {types[ColumnKind.PART]}"
        self._execute(SqlStatement(f"create table if not exists {name(*table.name)} ({', '.join([first, *columns])})"))
        for column in columns:
            self._execute(SqlStatement(f"alter table {name(*table.name)} add column if not exists {column}"))

    def _execute(self, statement: SqlStatement) -> None:
        """Run a statement that has no rows."""
        watch = self._watch(never)
        self._pool.use(lambda session: self._run(session, statement, watch), watch)

    def _watch(self, stop: Stop, seconds: float | None = None) -> Stop:
        """Return what to call while waiting: it raises WarehouseDown past the timeout, and what `stop` raises."""
        seconds = self.timeout if seconds is None else min(seconds, self.timeout)
        latest = monotonic() + seconds

        def watch() -> None:
            stop()
            if monotonic() > latest:
                raise WarehouseDown(
                    f"{self.engine} did not answer within {seconds:g} seconds; see whether it runs and what it is "
                    f"busy with, or {self.quicken}"
                )

        return watch

    # An engine implements.

    @abstractmethod
    def _open(self) -> Any:
        """Return a new session. Raises WarehouseDown."""

    @abstractmethod
    def _close(self, session: Any) -> None:
        """Close a session, whatever state it is in, without waiting for the engine."""

    @abstractmethod
    def _run(self, session: Any, statement: SqlStatement, watch: Stop) -> pa.Table:
        """Run a statement in a session; calls `watch` every GLANCE seconds while it waits.

        What `watch` raises ends the statement on the engine, and is raised. The session is closed afterwards, as it is
        after any failure. Raises WarehouseDown and StatementRefused.
        """


class SessionPool:
    """The sessions of a warehouse: some at most, those that are idle used again."""

    def __init__(
        self, open_one: Callable[[], Any], close_one: Callable[[Any], None], most: int, *, keeps: bool
    ) -> None:
        self._open, self._close, self._keeps = open_one, close_one, keeps
        self._free = BoundedSemaphore(most)
        self._lock = Lock()
        self._idle: list[Any] = []

    def use(self, work: Callable[[Any], Any], watch: Stop, *, fresh: bool = False) -> Any:
        """Return what some work in a session returns.

        A session that idled may be dead: the work is then done again in another, unless it wants a `fresh` one.
        """
        with self._turn(watch):
            session = None if fresh else self._idle_one()
            if session is not None:
                with suppress(WarehouseDown):
                    return self._used(session, work)
                watch()
                self.close()  # the others are as old
            return self._used(self._open(), work)

    def close(self) -> None:
        """Close the idle sessions."""
        while (session := self._idle_one()) is not None:
            self._close(session)

    def _idle_one(self) -> Any | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _used(self, session: Any, work: Callable[[Any], Any]) -> Any:
        with ExitStack() as failed:
            failed.callback(self._close, session)
            done = work(session)
            if not self._keeps:
                return done
            failed.pop_all()
        with self._lock:
            self._idle.append(session)
        return done

    @contextmanager
    def _turn(self, watch: Stop) -> Iterator[None]:
        while not self._free.acquire(timeout=GLANCE):
            watch()
        try:
            yield
        finally:
            self._free.release()


def in_pieces(parts: Sequence[int]) -> Iterator[str]:
    """Yield the numbers of parts, as lists for statements."""
    for first in range(0, len(parts), MOST_PARTS):
        yield ", ".join(map(str, parts[first : first + MOST_PARTS]))
