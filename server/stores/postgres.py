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

BORROWING = 3.0  # seconds until a connection must be there, a restart of the server included
CONNECTING = 2
STATEMENT = 5.0  # until the server gives a statement up
UNANSWERED = 6.0  # until the client gives the server up: it may be paused, or cut off
CHECKED = 1.0  # the same, of a connection that was idle
LARGEST = 8  # connections at once
IDLE = 300.0  # seconds until one that nobody uses is closed
DEFAULTS = {
    "application_name": "tieout",
    "connect_timeout": str(CONNECTING),
    "keepalives_idle": "30",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}
CROWDED = "it has no connection left"
WORDS = (  # what libpq says, what is told of it: names of hosts, users and databases stay out
    ("too many", CROWDED),  # which goes on to name the role or the database
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
    ("resolve", "its host name is not known"),
    ("timeout", "it does not answer"),
    ("SSL", "no secure connection can be made"),
    ("certificate", "no secure connection can be made"),
)
TOLD = (  # what can go wrong with a transaction that is no fault of ours
    (psycopg.errors.QueryCanceled, f"did not answer within {STATEMENT:.0f} seconds"),
    (psycopg.errors.DiskFull, "has no space left"),
    (psycopg.errors.InsufficientPrivilege, "does not let its user do this; grant it the tables of Tieout"),
    (psycopg.errors.UndefinedTable, "lacks a table of Tieout; see tieout migrate --status"),
    (psycopg.errors.ReadOnlySqlTransaction, "takes no writes; DATABASE_URL must name the primary server"),
)
EXPECTED = (psycopg.OperationalError, *(kind for kind, _ in TOLD))
GOING = "57P"  # class of what a server says that goes down or is not up yet


class DatabaseUnreachable(StoreDown):
    """The platform database does not answer, or accepts no connection."""


class ConnectionProvider(Protocol):
    """Provides connections to the platform database."""

    def transaction(self) -> AbstractContextManager[psycopg.Connection[TupleRow]]:
        """Lend a connection for one transaction; StoreDown where there is none, or where it is lost on the way."""


class TimeoutConnection(psycopg.Connection[TupleRow]):
    """A connection that times out if the server does not answer."""

    patience = UNANSWERED

    def wait(self, gen: PQGen[Returned], interval: float = 0.1, timeout: float | None = None) -> Returned:
        """Consume a generator of the protocol, for so long at most; then this connection is of no use any more."""
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
        """`prepare` raises StoreDown where the database cannot be used yet, `trouble` tells what its keeper knows."""
        self.uri = uri
        self._prepare = prepare
        self._trouble = trouble
        logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # it writes hosts and users; StoreDown tells
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
        """Lend a connection for one transaction; StoreDown where there is none, or where it is lost on the way."""
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

    def look(self) -> None:
        """Return where a new connection can be had; StoreDown says why it cannot, sooner than a transaction would."""
        connect(self.uri).close()

    def ping(self) -> None:
        """Return where a statement comes back; StoreDown where it does not."""
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
            self._pool.drain()  # the others are as old: the next is a new one
            raise


def connection_string(uri: str) -> str:
    """Return how to connect to a database, what is not said filled in; BadSetting where it is no URI of one."""
    try:
        return make_conninfo(
            uri, **{name: value for name, value in DEFAULTS.items() if name not in conninfo_to_dict(uri)}
        )
    except psycopg.ProgrammingError:
        raise BadSetting(  # and nothing of what was found: it may be a part of a password
            f"{variable_of('database_url')} is no URI of a PostgreSQL database; "
            "it takes postgresql://USER:PASSWORD@HOST:5432/DATABASE, with special characters as %XX"
        ) from None


def configure(connection: psycopg.Connection[TupleRow]) -> None:
    """Set what every connection is held to."""
    connection.execute(
        "select set_config('timezone', 'UTC', false), set_config('statement_timeout', %s, false), "
        "set_config('idle_in_transaction_session_timeout', %s, false)",
        (f"{STATEMENT:.0f}s", f"{10 * STATEMENT:.0f}s"),
    )
    connection.commit()


def connect(uri: str) -> psycopg.Connection[TupleRow]:
    """Return a connection of one's own, each statement a transaction, without limits of time; StoreDown where not."""
    try:
        return psycopg.connect(connection_string(uri), autocommit=True)
    except psycopg.Error as fault:
        raise connection_error(fault) from None


def explain_no_connection(uri: str) -> StoreDown:
    """Return why no connection can be had."""
    try:
        connect(uri).close()
    except StoreDown as down:
        return down
    return StoreDown("the platform database is busy: every connection to it is in use")


def connection_error(fault: psycopg.Error) -> StoreDown:
    """Return why a connection failed, without what it was made with."""
    said = str(fault)
    known = next((told for text, told in WORDS if text in said), None)
    why = "the platform database cannot be reached" + (f": {known}" if known else "")
    return StoreDown(why) if known == CROWDED else DatabaseUnreachable(why)


def transaction_error(fault: psycopg.Error) -> StoreDown:
    """Return why a transaction failed that had begun."""
    known = next((told for kind, told in TOLD if isinstance(fault, kind)), None)
    if known:
        return StoreDown(f"the platform database {known}")
    lost = "the connection to the platform database was lost"
    return DatabaseUnreachable(lost) if (fault.sqlstate or GOING).startswith(GOING) else StoreDown(lost)


# The platform database behind a circuit breaker, for calls: while it is unreachable they fail immediately with the
# reason. A thread tests whether it is back, and calls wait for that only briefly. Loads use the database directly:
# they have time, and a load that succeeded must not be recorded as failed.


LATEST = 4.0  # seconds until somebody sees how it stands: it is asked again before long
GLANCE = 0.25  # that a caller waits for that


class CircuitBreakingDatabase:
    """A database behind a circuit breaker, which opens after it could not be reached several times."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._breaker = CircuitBreaker(failure=DatabaseUnreachable, latest=LATEST)

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[TupleRow]]:
        """Lend a connection for one transaction; StoreDown, at once where the database could not be reached lately."""
        if self._breaker.is_due:
            looking = Thread(target=self._look, name="look at the platform database", daemon=True)
            looking.start()
            looking.join(GLANCE)
        with self._breaker.watched(trying=False), self._database.transaction() as connection:
            yield connection

    def _look(self) -> None:
        with suppress(StoreDown), self._breaker.watched():
            self._database.look()


# Dumps with pg_dump, and restores with pg_restore.


NO_OWNERS = ("--no-owner", "--no-privileges")  # whoever restores it owns it
MAINTENANCE = "postgres"  # database that every server has
TABLES = "select count(*) from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'"


class DatabaseNotEmpty(StoreDown):
    """The database to restore into is not empty."""


def server_major(uri: str) -> int:
    """Return the version of the server of a database."""
    with closing(connect(uri)) as connection:
        return connection.info.server_version // 10000


def dump(uri: str, program: Path, file: Path) -> None:
    """Write a database to a file, as it is at one moment; StoreDown where that fails."""
    run([program, "--format=custom", f"--file={file}", *NO_OWNERS], uri)


def fill(uri: str, program: Path, file: Path) -> None:
    """Fill a database with what was dumped, all of it or nothing; StoreDown where that fails."""
    run([program, "--single-transaction", "--exit-on-error", *NO_OWNERS, str(file)], uri)


def run(command: list[str | Path], uri: str) -> None:
    """Run a tool of PostgreSQL on a database; its password is in the environment, where ps does not show it."""
    said = {name: str(value) for name, value in conninfo_to_dict(connection_string(uri)).items()}
    password = {"PGPASSWORD": said.pop("password")} if "password" in said else {}
    done = subprocess.run(  # noqa: S603 - the tools are those found beside the server
        [command[0], f"--dbname={make_conninfo(**said)}", *command[1:]],
        env={**os.environ, **password},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        name = Path(command[0]).name
        raise StoreDown(f"{name} failed: {done.stderr.strip().splitlines()[0] if done.stderr else done.returncode}")


def new_database(uri: str) -> None:
    """Make a database where there is none of its name; DatabaseNotEmpty where there is one that holds tables."""
    name = str(conninfo_to_dict(connection_string(uri)).get("dbname", MAINTENANCE))
    with closing(connect(make_conninfo(uri, dbname=MAINTENANCE))) as server:
        try:
            if server.execute("select from pg_database where datname = %s", (name,)).fetchone() is None:
                server.execute(SQL("create database {}").format(Identifier(name)))
        except psycopg.Error as fault:
            said = fault.diag.message_primary or "the connection was lost"
            raise StoreDown(f"the new database cannot be made ({said}); make it, empty, and restore into it") from None
    with closing(connect(uri)) as database:
        if database.execute(TABLES).fetchone() != (0,):
            raise DatabaseNotEmpty(
                "the database to restore into holds tables; name a new one, and switch to it afterwards"
            )
