"""The platform database as callers ask it: while it is away they are told so at once, and why, without a wait.

    spared = Spared(database)
    PostgresFiles(spared)    # and whatever else holds up who calls

Who sees how it stands does that in a thread, and is waited for no longer than a database takes that is back. What runs
beside calls asks the database itself: it has the time, and a load that ended must not be taken for one that failed.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import psycopg
from psycopg.rows import TupleRow

from server.ports import StoreDown
from server.stores.breaker import Breaker
from server.stores.postgres import Database, Unreachable

LATEST = 4.0  # seconds until somebody sees how it stands: it is asked again before long
GLANCE = 0.25  # that a caller waits for that


class Spared:
    """A database that is not asked for a moment once it could not be reached several times."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._breaker = Breaker(failure=Unreachable, latest=LATEST)

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
