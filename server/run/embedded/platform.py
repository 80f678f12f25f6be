"""The platform: the database and the cache store of one process, embedded where the settings name no server.

with platform(settings) as platform_:
    platform_.start()          # in the background, for a server
    platform_.wait()           # for commands that need the database
    platform_.loads.find(…)    # StoreDown gives the reason if the database is unreachable
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from threading import Lock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

from msgspec import Struct

from server.base.interfaces import LoadHistory, Snapshots, StoreDown
from server.base.settings import BadSetting, Settings, variable_of
from server.run.embedded.binaries import postgres_binaries, valkey_binary, valkey_of_the_wheel
from server.run.embedded.keeper import Keeper
from server.run.embedded.servers import EmbeddedPostgres, EmbeddedValkey
from server.stores.loads import PostgresLoadHistory
from server.stores.memory import MemorySnapshots
from server.stores.migrations import MigrationFault, check, migrate, read_migrations
from server.stores.postgres import Database

if TYPE_CHECKING:
    from server.stores.valkey import Cache

STARTING = 60.0  # seconds for the first start of an embedded server on a slow machine
PATIENCE = 10.0  # seconds that the first calls wait for a starting database
CACHE_PATIENCE = 2.0  # the same for the cache store; without it, figures are answered and not kept
AGAIN = 0.1
log = logging.getLogger("tieout")


class ResultStores(Struct, frozen=True):
    """Where results are kept: this process's memory, or the cache store, with a short timeout and with a long one."""

    snapshots: Snapshots
    cache: "Cache | None" = None
    blobs: "Cache | None" = None

    def evicted(self) -> int:
        """Return how many keys the cache store dropped for want of room; 0 without one. Raises StoreDown."""
        return 0 if self.cache is None else self.cache.evicted()

    def close(self) -> None:
        """Close every connection."""
        for cache in (self.cache, self.blobs):
            if cache is not None:
                cache.close()


class Platform:
    """The platform database and the cache store, started by their first use."""

    def __init__(self, settings: Settings, *, keeps: bool = True) -> None:
        """With `keeps=False` this process uses embedded servers that another one keeps, and starts none."""
        self._postgres = self._valkey = None
        uri, address = settings.database_url, settings.cache_host
        if uri is None:
            postgres = EmbeddedPostgres(partial(postgres_binaries, settings), settings.state_folder / "postgres")
            self._postgres, uri = Keeper(postgres, keeps=keeps), postgres.uri
        if address is None and valkey_of_the_wheel() is not None:
            valkey = EmbeddedValkey(valkey_binary, settings.state_folder / "valkey", settings.cache_megabytes)
            self._valkey, address = Keeper(valkey, keeps=keeps), str(valkey.socket)
        self._checking = Lock()
        self._checked = self._cached = self._closed = False  # done once
        self.database = Database(uri, self._prepare_database, self._trouble)
        self.loads: LoadHistory = PostgresLoadHistory(self.database)
        self.cache_address = address
        self._terms = settings.snapshot_idle_seconds, settings.snapshot_seconds
        self._cache_megabytes = settings.cache_megabytes

    @cached_property
    def results(self) -> ResultStores:
        """The stores of kept results, made when they are first asked for. Raises BadSetting for a wrong address."""
        if self.cache_address is None:
            return ResultStores(MemorySnapshots(*self._terms, most_bytes=self._cache_megabytes << 20))
        from server.stores import valkey  # noqa: PLC0415 - a load keeps no results; redis is a sixth of its imports

        cache = valkey.Cache(self.cache_address, self._prepare_cache)
        blobs = valkey.Cache(self.cache_address, self._prepare_cache, valkey.ANSWERING_WITH_BYTES, again=0)
        return ResultStores(valkey.CacheSnapshots(cache, blobs, *self._terms), cache, blobs)

    def start(self) -> None:
        """Start the embedded servers in the background. Raises MigrationFault if DATABASE_URL lacks migrations.

        If the database is unreachable, a warning is logged and figures are served all the same.
        """
        _ = self.results  # a wrong address is told at once
        if self._valkey is not None:
            self._valkey.start()
        if self._postgres is not None:
            Thread(target=self._open, name="platform", daemon=True).start()
        else:
            self._open()

    def start_database(self) -> None:
        """Start an embedded database in the background. What needs it waits for it all the same."""
        if self._postgres is not None:
            self._postgres.start()

    def wait(self, seconds: float = STARTING) -> None:
        """Wait until the database can be used. Raises StoreDown with the reason if it cannot."""
        deadline = monotonic() + seconds
        while True:
            self.reach(deadline - monotonic())
            try:
                return self.database.ping()
            except StoreDown as down:  # another process may be taking over an embedded server
                if self._postgres is None or isinstance(down, MigrationFault) or monotonic() > deadline:
                    raise
            sleep(AGAIN)

    def reach(self, seconds: float = STARTING) -> str:
        """Wait for an embedded server, and return the URI of the database. Checks no tables. Raises StoreDown."""
        self.start_database()
        if self._postgres is not None:
            self._postgres.wait(seconds)
        return self.database.uri

    def close(self) -> None:
        """Close every connection, and stop the servers that this process keeps."""
        self._closed = True
        self.database.close()
        for part in (vars(self).get("results"), self._postgres, self._valkey):
            if part is not None:
                part.close()

    def _open(self) -> None:
        try:
            self.wait()
        except StoreDown as down:
            if self._postgres is None and isinstance(down, MigrationFault):
                raise
            if not self._closed:
                log.warning("%s; figures are served, the history of loads is not", down)

    def _prepare_database(self) -> None:
        if self._checked:
            return
        uri = self.reach(PATIENCE)
        with self._checking:
            if self._checked:
                return
            if self._postgres is None:
                check(uri)
            else:  # an embedded database is migrated here alone
                migrate(uri, read_migrations(), partial(log.info, "applied %s"))
            self._checked = True

    def _trouble(self) -> str | None:
        return None if self._postgres is None else self._postgres.trouble()

    def _prepare_cache(self) -> None:
        if self._valkey is not None and not self._cached:
            self._valkey.start()
            self._valkey.wait(CACHE_PATIENCE)
            self._cached = True


def hold_to_cache(settings: Settings) -> None:
    """Raise BadSetting for several workers without a cache store; they could not open each other's results."""
    if settings.workers > 1 and settings.cache_host is None and valkey_of_the_wheel() is None:
        raise BadSetting(
            f"{variable_of('workers')} is {settings.workers} and there is no Valkey to embed on this machine; set "
            f"{variable_of('cache_host')} to the address of one, or have one worker"
        )


@contextmanager
def platform(settings: Settings, *, keeps: bool = True) -> Iterator[Platform]:
    """Lend the platform of a process, and close it at the end."""
    opened = Platform(settings, keeps=keeps)
    try:
        yield opened
    finally:
        opened.close()
