"""The platform: the database and the cache store of one process, embedded where the settings name no server.

with platform(settings) as platform_:
    platform_.start()          # in the background, for who serves beside it
    platform_.wait()           # for who cannot go on without the database
    platform_.loads.find(…)    # StoreDown where it is out of reach, and why
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock, Thread
from time import monotonic, sleep

from server.base.interfaces import LoadHistory, Snapshots, StoreDown
from server.base.settings import BadSetting, Settings, variable_of
from server.run.embedded.binaries import postgres_binaries, valkey_binary, valkey_of_the_wheel
from server.run.embedded.keeper import Keeper
from server.run.embedded.servers import EmbeddedPostgres, EmbeddedValkey
from server.stores.loads import PostgresLoadHistory
from server.stores.memory import MemorySnapshots
from server.stores.migrations import MigrationFault, check, migrate, read_migrations
from server.stores.postgres import Database
from server.stores.valkey import ANSWERING_WITH_BYTES, Cache, CacheSnapshots

STARTING = 60.0  # seconds that an embedded server may take at its first start, on a slow machine
PATIENCE = 10.0  # that the first calls wait for a database that is starting
CACHE_PATIENCE = 2.0  # for a cache: without it figures are answered all the same, and only not kept
AGAIN = 0.1
log = logging.getLogger("tieout")


class Platform:
    """The platform database and the cache store, started by their first use."""

    def __init__(self, settings: Settings, *, keeps: bool = True) -> None:
        """Without `keeps` an embedded server is used that another process keeps, and never started."""
        self._postgres = self._valkey = None
        uri, address = settings.database_url, settings.cache_host
        if uri is None:
            postgres = EmbeddedPostgres(partial(postgres_binaries, settings), settings.state_folder / "postgres")
            self._postgres, uri = Keeper(postgres, keeps=keeps), postgres.uri
        if address is None and valkey_of_the_wheel() is not None:
            valkey = EmbeddedValkey(valkey_binary, settings.state_folder / "valkey")
            self._valkey, address = Keeper(valkey, keeps=keeps), str(valkey.socket)
        self._checking = Lock()
        self._checked = self._cached = self._closed = False  # what needs no second look
        self.database = Database(uri, self._prepare_database, self._trouble)
        self.loads: LoadHistory = PostgresLoadHistory(self.database)
        self.cache_address = address
        self.cache = self._blobs = None  # where there is no cache store, this process keeps results in its memory
        terms = settings.snapshot_idle_seconds, settings.snapshot_seconds
        if address is None:
            self.snapshots: Snapshots = MemorySnapshots(*terms)
        else:
            self.cache = Cache(address, self._prepare_cache)
            self._blobs = Cache(address, self._prepare_cache, answering=ANSWERING_WITH_BYTES, again=0)
            self.snapshots = CacheSnapshots(self.cache, self._blobs, *terms)

    def start(self) -> None:
        """Start what is embedded, in the background; MigrationFault where DATABASE_URL is not ready for this version.

        A database that is out of reach keeps nobody from serving figures; the log says so.
        """
        if self._valkey is not None:
            self._valkey.start()
        if self._postgres is not None:
            Thread(target=self._open, name="platform", daemon=True).start()
        else:
            self._open()

    def wait(self, seconds: float = STARTING) -> None:
        """Return once the database can be used; StoreDown says why it cannot."""
        deadline = monotonic() + seconds
        while True:
            self.reach(deadline - monotonic())
            try:
                return self.database.ping()
            except StoreDown as down:  # an embedded server may be changing hands
                if self._postgres is None or isinstance(down, MigrationFault) or monotonic() > deadline:
                    raise
            sleep(AGAIN)

    def reach(self, seconds: float = STARTING) -> str:
        """Return the URI of the database once an embedded server is up, whatever tables it has."""
        if self._postgres is not None:
            self._postgres.start()
            self._postgres.wait(seconds)
        return self.database.uri

    def close(self) -> None:
        """Close every connection and stop what this process keeps."""
        self._closed = True
        self.database.close()
        for held in (self.cache, self._blobs, self._postgres, self._valkey):
            if held is not None:
                held.close()

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
            else:  # nobody else would
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
    """Raise BadSetting where several workers would have no cache store: what one keeps no other would open."""
    if settings.workers > 1 and settings.cache_host is None and valkey_of_the_wheel() is None:
        raise BadSetting(
            f"{variable_of('workers')} is {settings.workers} and there is no Valkey to embed on this machine; set "
            f"{variable_of('cache_host')} to the address of one, or have one worker"
        )


@contextmanager
def platform(settings: Settings, *, keeps: bool = True) -> Iterator[Platform]:
    """Lend the platform of a process; at the end its connections are closed and what it keeps is stopped."""
    opened = Platform(settings, keeps=keeps)
    try:
        yield opened
    finally:
        opened.close()
