"""The platform database: its connection pool, a circuit breaker, and dumps."""

import logging
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Protocol, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier
from psycopg_pool import ConnectionPool, PoolTimeout

from server.base.interfaces import StoreDown
from server.base.settings import BadSetting, variable_of
from server.stores.circuit_breaker import CircuitBreaker

Returned = TypeVar("Returned")

BORROWING = 3.0  # seconds that a transaction waits for a connection; covers a restart of the server
CONNECTING = 2
STATEMENT = 5.0  # seconds until the server cancels a statement
UNANSWERED = 6.0  # seconds until the client gives up on a paused or unreachable server
CHECKED = 1.0  # the same, when a connection that was idle is checked
LARGEST = 8  # connections at once
IDLE = 300.0  # seconds until an idle connection is closed
DEFAULTS = {
    "application_name": "tieout",
    "connect_timeout": str(CONNECTING),
    "keepalives_idle": "30",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}
CROWDED = "it has no connection left"
WORDS = (  # libpq's message -> ours, which names no host, user or database
    ("too many", CROWDED),  # libpq's message also names the role or the database
    ("connection slots", CROWDED),
    ("bad value", "its URI has a parameter without a valid value"),
    ("invalid integer", "its URI has a parameter without a valid value"),
    ("password authentication failed", "it refuses the password"),
    ("no password supplied", "it wants a password"),
    ("pg_hba.conf", "it does not let this user in from here"),
    ('role "', "it does not know the user"),
    ('database "', "it has no such database"),
    ("starting up", "it is starting"),
    ("recovery", "it is starting"),
    ("shutting down", "it is stopping"),
    ("refused", "nothing listens at its address"),
    ("No such file", "nothing listens at its address"),
    ("socket path", "the path of its socket has more than the 107 bytes of a system; name a shorter one"),
    ("resolve", "its host name is not known"),
    ("timeout", "it does not answer"),
    ("SSL", "no secure connection can be made"),
    ("certificate", "no secure connection can be made"),
)
TRANSACTION_FAILURES = (  # failures of a transaction that the server or the network causes
    (psycopg.errors.QueryCanceled, f"did not answer within {STATEMENT:.0f} seconds"),
    (psycopg.errors.DiskFull, "has no space left"),
    (psycopg.errors.InsufficientPrivilege, "does not let its user do this; grant it the tables of Tieout"),
    (psycopg.errors.UndefinedTable, "lacks a table of Tieout; see tieout migrate --status"),
    (psycopg.errors.ReadOnlySqlTransaction, "takes no writes; DATABASE_URL must name the primary server"),
)
EXPECTED = (psycopg.OperationalError, *(kind for kind, _ in TRANSACTION_FAILURES))
GOING = "57P"  # prefix of SQLSTATEs of a server that shuts down or starts up


class DatabaseUnreachable(StoreDown):
    """The platform database does not answer, or accepts no connection."""


class ConnectionProvider(Protocol):
    """Provides connections to the platform database."""

    def transaction(self) -> AbstractContextManager[psycopg.Connection[TupleRow]]:
        """Lend a connection for one transaction. Raises StoreDown if there is none, or if it is lost meanwhile."""


class TimeoutConnection(psycopg.Connection[TupleRow]):
    """A connection that times out if the server does not answer."""

    patience = UNANSWERED

    def wait(self, gen: PQGen[Returned], interval: float = 0.1, timeout: float | None = None) -> Returned:
        """Run a protocol generator with a timeout; a connection that timed out is unusable."""
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self.close()
            raise


class Database:
    """The platform database, connected to when it is first used."""

    def __init__(
        self, uri: str, prepare: Callable[[], None] = lambda: None, trouble: Callable[[], str | None] = lambda: None
    ) -> None:
        """`prepare` raises StoreDown if the database is not ready; `trouble` returns a known reason for that."""
        self.uri = uri
        self._prepare = prepare
        self._trouble = trouble
        logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # it logs hosts and users; StoreDown tells
        self._pool = ConnectionPool(
            connection_string(uri),
            connection_class=TimeoutConnection,
            min_size=0,
            max_size=LARGEST,
            max_idle=IDLE,
            timeout=BORROWING,
            reconnect_timeout=BORROWING,
            configure=configure,
            check=self._check,
            open=False,
            name="platform database",
        )

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[TupleRow]]:
        """Lend a connection for one transaction. Raises StoreDown if there is none, or if it is lost meanwhile."""
        self._prepare()
        try:
            self._pool.open()
            with self._pool.connection() as connection:
                yield connection
        except PoolTimeout:
            trouble = self._trouble()
            raise (DatabaseUnreachable(trouble) if trouble else explain_no_connection(self.uri)) from None
        except EXPECTED as fault:
            raise transaction_error(fault) from None

    def probe(self) -> None:
        """Open and close a separate connection. Raises StoreDown, without the wait of `transaction` for the pool."""
        connect(self.uri).close()

    def ping(self) -> None:
        """Run a statement; raises StoreDown if it fails."""
        with self.transaction() as connection:
            connection.execute("select 1")

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def _check(self, connection: TimeoutConnection) -> None:
        connection.patience = CHECKED
        try:
            ConnectionPool.check_connection(connection)
            connection.patience = UNANSWERED
        except psycopg.OperationalError:
            self._pool.drain()  # the other connections are as old, so replace them all
            raise


def connection_string(uri: str) -> str:
    """Return the connection string of a database URI, with defaults filled in; raises BadSetting if it is none."""
    try:
        return make_conninfo(
            uri, **{name: value for name, value in DEFAULTS.items() if name not in conninfo_to_dict(uri)}
        )
    except psycopg.ProgrammingError:
        raise BadSetting(  # without the value: it may contain a password
            f"{variable_of('database_url')} is no URI of a PostgreSQL database; "
            "it takes postgresql://USER:PASSWORD@HOST:5432/DATABASE, with special characters as %XX"
        ) from None


def configure(connection: psycopg.Connection[TupleRow]) -> None:
    """Set the session settings of a connection."""
    connection.execute(
        "select set_config('timezone', 'UTC', false), set_config('statement_timeout', %s, false), "
        "set_config('idle_in_transaction_session_timeout', %s, false)",
        (f"{STATEMENT:.0f}s", f"{10 * STATEMENT:.0f}s"),
    )
    connection.commit()


def connect(uri: str) -> psycopg.Connection[TupleRow]:
    """Return a separate connection in autocommit mode, without timeouts; raises StoreDown."""
    try:
        return psycopg.connect(connection_string(uri), autocommit=True)
    except psycopg.Error as fault:
        raise connection_error(fault.with_traceback(None)) from None  # its frames hold what was not made in time


def explain_no_connection(uri: str) -> StoreDown:
    """Return the reason why no connection is possible."""
    try:
        connect(uri).close()
    except StoreDown as down:
        return down
    return StoreDown("the platform database is busy: every connection to it is in use")


def connection_error(fault: psycopg.Error) -> StoreDown:
    """Return the reason why a connection failed, without its parameters."""
    message = str(fault)
    known = next((words for text, words in WORDS if text in message), None)
    why = "the platform database cannot be reached" + (f": {known}" if known else "")
    return StoreDown(why) if known == CROWDED else DatabaseUnreachable(why)


def transaction_error(fault: psycopg.Error) -> StoreDown:
    """Return the reason why a started transaction failed."""
    known = next((words for kind, words in TRANSACTION_FAILURES if isinstance(fault, kind)), None)
    if known:
        return StoreDown(f"the platform database {known}")
    lost = "the connection to the platform database was lost"
    return DatabaseUnreachable(lost) if (fault.sqlstate or GOING).startswith(GOING) else StoreDown(lost)


# The platform database behind a circuit breaker, for calls: while it is unreachable, calls fail immediately with the
# reason. A thread tests whether it answers again, and calls wait only briefly for that. Loads use the database
# directly: they have time, and a load that succeeded must not be recorded as failed.


LATEST = 4.0  # seconds at most between two tests
GLANCE = 0.25  # seconds that a call waits for a test


class CircuitBreakingDatabase:
    """A database behind a circuit breaker, which opens after repeated connection failures."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._breaker = CircuitBreaker(failure=DatabaseUnreachable, latest=LATEST)

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[TupleRow]]:
        """Lend a connection for one transaction; raises StoreDown, at once while the breaker is open."""
        if self._breaker.is_due:
            test = Thread(target=self._test, name="test of the platform database", daemon=True)
            test.start()
            test.join(GLANCE)
        with self._breaker.watched(trying=False), self._database.transaction() as connection:
            yield connection

    def _test(self) -> None:
        with suppress(StoreDown), self._breaker.watched():
            self._database.probe()


# Dumps with pg_dump, and restores with pg_restore.


NO_OWNERS = ("--no-owner", "--no-privileges")  # the restoring role becomes the owner
MAINTENANCE = "postgres"  # a database that every server has
TABLES = "select count(*) from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'"


class DatabaseNotEmpty(StoreDown):
    """The database to restore into is not empty."""


def server_major(uri: str) -> int:
    """Return the major version of a database's server."""
    with closing(connect(uri)) as connection:
        return connection.info.server_version // 10000


def dump(uri: str, program: Path, file: Path) -> None:
    """Write a consistent dump of a database to a file; raises StoreDown if that fails."""
    run([program, "--format=custom", f"--file={file}", *NO_OWNERS], uri)


def fill(uri: str, program: Path, file: Path) -> None:
    """Restore a dump into a database in one transaction; raises StoreDown if that fails."""
    run([program, "--single-transaction", "--exit-on-error", *NO_OWNERS, str(file)], uri)


def run(command: list[str | Path], uri: str) -> None:
    """Run a PostgreSQL tool on a database; the password goes in the environment, where ps does not show it."""
    parameters = {name: str(value) for name, value in conninfo_to_dict(connection_string(uri)).items()}
    password = {"PGPASSWORD": parameters.pop("password")} if "password" in parameters else {}
    done = subprocess.run(  # noqa: S603 - the programs come from the server's own folder
        [command[0], f"--dbname={make_conninfo(**parameters)}", *command[1:]],
        env={**os.environ, **password},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        name = Path(command[0]).name
        raise StoreDown(f"{name} failed: {done.stderr.strip().splitlines()[0] if done.stderr else done.returncode}")


def new_database(uri: str) -> None:
    """Create a database unless it exists; raises DatabaseNotEmpty if it holds tables."""
    name = str(conninfo_to_dict(connection_string(uri)).get("dbname", MAINTENANCE))
    with closing(connect(make_conninfo(uri, dbname=MAINTENANCE))) as server:
        try:
            if server.execute("select from pg_database where datname = %s", (name,)).fetchone() is None:
                server.execute(SQL("create database {}").format(Identifier(name)))
        except psycopg.Error as fault:
            cause = fault.diag.message_primary or "the connection was lost"
            raise StoreDown(
                f"the new database cannot be created ({cause}); create it yourself, empty, and restore into it"
            ) from None
    with closing(connect(uri)) as database:
        if database.execute(TABLES).fetchone() != (0,):
            raise DatabaseNotEmpty(
                "the database to restore into holds tables; name a new one, and switch to it afterwards"
            )
