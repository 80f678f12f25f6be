"""Migrations: numbered SQL files that create the tables of the platform database, forward only.

The database records each applied file with a digest of its text. One process at a time applies the pending files, each
in one transaction with its record. A file whose statement cannot run in a transaction, such as CREATE INDEX
CONCURRENTLY, has `-- migrate: no-transaction` in its first line; it holds one statement and must be safe to run again.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from enum import Enum
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from time import monotonic, sleep

import psycopg
from msgspec import Struct
from psycopg.rows import TupleRow

from server.base.interfaces import StoreDown
from server.stores.postgres import connect

MIGRATIONS = Path(__file__).parents[2] / "migrations"
SCOPE = "open"  # the only one there is
COMMAND = f"scripts/migrate.py --scope {SCOPE}"
FILE = re.compile(r"(\d{3})_\w+\.sql")
NO_TRANSACTION = "-- migrate: no-transaction"
OLDEST = 150000
LOCK = 0x7469656F7574  # "tieout": one migration at a time in a database
QUEUEING = 0.1
HISTORY = """
create table if not exists schema_migrations (
    scope       text not null,
    version     integer not null,
    name        text not null,
    checksum    text not null,
    applied_at  timestamptz not null default now(),
    duration_ms integer not null,
    app_version text not null,
    primary key (scope, version)
)
"""
RECORD = """
insert into schema_migrations (scope, version, name, checksum, duration_ms, app_version)
values (%s, %s, %s, %s, %s, %s)
"""


class MigrationFault(StoreDown):
    """A database cannot be used or migrated as it is; the message says what to do."""


class MigrationState(Enum):
    """The state of a migration in a database."""

    APPLIED = "applied"
    PENDING = "pending"
    EDITED = "CHECKSUM MISMATCH"  # the file differs from the one that was applied
    AHEAD = "unknown here"  # applied by a newer version


class Migration(Struct, frozen=True, kw_only=True):
    """One migration file."""

    version: int
    name: str
    text: str
    checksum: str

    @property
    def in_transaction(self) -> bool:
        """Whether the file runs in a transaction."""
        return not self.text.startswith(NO_TRANSACTION)


class MigrationStatus(Struct, frozen=True, kw_only=True):
    """A migration and its state in a database."""

    name: str
    version: int
    standing: MigrationState


def read_migrations(folder: Path = MIGRATIONS) -> Sequence[Migration]:
    """Return the migrations in order; raises MigrationFault if a file has no unique number."""
    found: dict[int, Migration] = {}
    for path in sorted(folder.glob("*.sql")):
        named = FILE.fullmatch(path.name)
        if named is None or int(named[1]) in found:
            raise MigrationFault(
                f"{path.name}: a migration is named as 009_what_it_makes.sql, with a number of its own"
            )
        text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        number = int(named[1])
        found[number] = Migration(version=number, name=path.name, text=text, checksum=sha256(text.encode()).hexdigest())
    return list(found.values())


def read_statuses(uri: str) -> Sequence[MigrationStatus]:
    """Return the state of each migration in a database."""
    with migration_connection(uri) as connection:
        return statuses(connection, read_migrations())


def applied_to(uri: str) -> Mapping[str, str]:
    """Return the name and digest of every migration applied to a database."""
    with migration_connection(uri) as connection:
        return dict(history(connection).values())


def statuses(connection: psycopg.Connection[TupleRow], migrations: Sequence[Migration]) -> Sequence[MigrationStatus]:
    """Return the state of each migration, including those that only the database knows; read-only."""
    check_server_version(connection)
    applied = history(connection)
    known = {migration.version: migration for migration in migrations}
    return [
        MigrationStatus(
            version=number,
            name=known[number].name if number in known else applied[number][0],
            standing=state_of(known.get(number), applied.get(number)),
        )
        for number in sorted(known.keys() | applied.keys())
    ]


def check_server_version(connection: psycopg.Connection[TupleRow]) -> None:
    """Raise MigrationFault if a server is too old."""
    if connection.info.server_version < OLDEST:
        found = connection.info.server_version // 10000
        raise MigrationFault(f"the platform database is PostgreSQL {found}; it takes {OLDEST // 10000} or newer")


def history(connection: psycopg.Connection[TupleRow]) -> Mapping[int, tuple[str, str]]:
    """Return the name and digest of every recorded migration, by number."""
    if connection.execute("select to_regclass('schema_migrations')").fetchone() == (None,):
        return {}
    rows = connection.execute("select version, name, checksum from schema_migrations where scope = %s", (SCOPE,))
    return {number: (name, checksum) for number, name, checksum in rows}


def state_of(migration: Migration | None, applied: tuple[str, str] | None) -> MigrationState:
    """Return the state of a migration from its file and its record, at least one of which exists."""
    if migration is None:
        return MigrationState.AHEAD
    if applied is None:
        return MigrationState.PENDING
    return MigrationState.APPLIED if applied[1] == migration.checksum else MigrationState.EDITED


def pending_names(found: Sequence[MigrationStatus]) -> Sequence[str]:
    """Return the names of pending migrations; raises MigrationFault if the database's state forbids applying them."""
    named = {kind: [known.name for known in found if known.standing is kind] for kind in MigrationState}
    if ahead := named[MigrationState.AHEAD]:
        raise MigrationFault(
            f"the database is ahead: {', '.join(ahead)} was applied by a newer version than {version('tieout')}; "
            "install that version, or restore the backup made before the upgrade"
        )
    if edited := named[MigrationState.EDITED]:
        raise MigrationFault(
            f"CHECKSUM MISMATCH: {', '.join(edited)} is not the file that was applied; "
            "put back the released one, and make what is to change a new migration"
        )
    last = max((known.version for known in found if known.standing is MigrationState.APPLIED), default=0)
    if late := [known.name for known in found if known.standing is MigrationState.PENDING and known.version < last]:
        raise MigrationFault(
            f"{', '.join(late)} is pending below one that was applied; give it a number above {last:03}"
        )
    return named[MigrationState.PENDING]


def check(uri: str) -> None:
    """Raise MigrationFault unless every migration is applied to a database."""
    with migration_connection(uri) as connection:
        check_migrations(connection)


def check_migrations(connection: psycopg.Connection[TupleRow]) -> None:
    """Raise MigrationFault unless every migration is applied to the database of a connection."""
    if pending := pending_names(statuses(connection, read_migrations())):
        raise MigrationFault(f"migrations of the platform database are pending ({', '.join(pending)}); run {COMMAND}")


def migrate(uri: str, migrations: Sequence[Migration], tell: Callable[[str], None]) -> None:
    """Apply pending migrations and report each file's name; raises MigrationFault if that fails."""
    with migration_connection(uri) as connection:
        if not pending_names(statuses(connection, migrations)):
            return
        with migration_lock(connection):
            connection.execute(HISTORY)
            pending = pending_names(statuses(connection, migrations))  # another process may have applied them meanwhile
            for migration in migrations:
                if migration.name in pending:
                    apply(connection, migration)
                    tell(migration.name)


@contextmanager
def migration_connection(uri: str) -> Iterator[psycopg.Connection[TupleRow]]:
    """Lend a connection for migrations; raises StoreDown if there is none, MigrationFault if it lacks privileges."""
    with closing(connect(uri)) as connection:
        try:
            yield connection
        except psycopg.Error as fault:
            said = fault.diag.message_primary or "the connection was lost"
            raise MigrationFault(f"the platform database does not let migrations be read or applied: {said}") from None


@contextmanager
def migration_lock(connection: psycopg.Connection[TupleRow]) -> Iterator[None]:
    """Hold the migration lock.

    It polls. A statement that waits for the lock is an open transaction; the holder's CREATE INDEX CONCURRENTLY would
    wait for that transaction, and both would deadlock.
    """
    while connection.execute("select pg_try_advisory_lock(%s)", (LOCK,)).fetchone() != (True,):
        sleep(QUEUEING)
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("select pg_advisory_unlock(%s)", (LOCK,))


def apply(connection: psycopg.Connection[TupleRow], migration: Migration) -> None:
    """Apply a migration and record it."""
    began = monotonic()
    try:
        with connection.transaction() if migration.in_transaction else nullcontext():
            if migration.in_transaction:
                connection.execute("set local lock_timeout = '5s'")
            connection.execute(migration.text.encode())
            took = round(1000 * (monotonic() - began))
            record = (SCOPE, migration.version, migration.name, migration.checksum, took, version("tieout"))
            connection.execute(RECORD, record)
    except psycopg.Error as fault:
        raise MigrationFault(failure(migration, fault)) from None


def failure(migration: Migration, fault: psycopg.Error) -> str:
    """Return why a migration failed and what remains of it."""
    left = "nothing of it was applied" if migration.in_transaction else "see what is left of it"
    if isinstance(fault, psycopg.errors.LockNotAvailable):
        return f"{migration.name}: {left}, because somebody holds a table that it changes; try again later"
    place = fault.diag.statement_position
    line = f", line {migration.text.count(chr(10), 0, int(place)) + 1}" if place else ""
    said = ". ".join(part for part in (fault.diag.message_primary, fault.diag.message_hint) if part)
    return f"{migration.name}{line}: {left}: {said or 'the connection to the platform database was lost'}"
