"""The checks of readiness: each uses what it is named after the way that calls do."""

import os
import shutil
from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from secrets import randbelow, token_hex

import pyarrow as pa
from msgspec import Struct

from engine.books.books import Shelf
from engine.model.catalogue import Catalogue
from engine.model.errors import Unavailable
from server.base.interfaces import LoadHistory, StoreDown
from server.daemon.backups import BackupRecord
from server.feeds.feeds import Binding
from server.feeds.placements import FactsPlacement
from server.stores.migrations import check_migrations
from server.stores.postgres import Database
from server.telemetry.metrics import Metrics
from server.warehouses.opening import open_source, open_warehouse

MEGABYTE = 1 << 20
BLOCK = 1 << 16
SOURCE_SECONDS = 5.0  # that a source of attached tables may take to answer
NO_BOOKS = "no books are loaded yet; run: tieout load"


def check_database(database: Database) -> None:
    """Ask the platform database something, and hold it to the migrations of this version."""
    with database.transaction() as connection:
        check_migrations(connection)


def check_facts(placement: FactsPlacement) -> None:
    """Connect to the engine of facts as readers do, and ask it something. Raises StoreDown."""
    with closing(open_warehouse(placement)) as reader:
        reader.ping()


def check_attached(bindings: Collection[Binding], folder: Path) -> None:
    """Connect to each source of an attached table, and ask it something. Raises StoreDown."""
    sources = {binding.source.key: binding.source for binding in bindings if binding.attach is not None}
    for source in sources.values():
        with closing(open_source(source, folder, seconds=SOURCE_SECONDS)) as reader:
            reader.ping()


def report_loads(loads: LoadHistory, bindings: Callable[[], Collection[str]], metrics: Metrics) -> None:
    """Take note of what became of the loads of each feed."""
    metrics.loads(loads.tally(), bindings())


def report_evictions(count: Callable[[], int], metrics: Metrics) -> None:
    """Take note of how many keys the cache store dropped for want of room. Raises StoreDown."""
    metrics.evictions(count())


def report_backups(state: Path, metrics: Metrics) -> None:
    """Take note of what became of the scheduled backups."""
    record = BackupRecord.read(state)
    metrics.backups(record.succeeded_at, record.failures)


class ArtifactsFolder:
    """The folder of files made for callers: written to the way that exports are, with room to spare."""

    def __init__(self, folder: Path, free_megabytes: int) -> None:
        self._folder = folder
        self._free_megabytes = free_megabytes
        self._name = f".readyz-{token_hex(4)}"  # of this process alone, whoever else has the folder

    def use(self) -> None:
        """Write, sync, rename, read and delete a file."""
        try:
            free = shutil.disk_usage(self._folder).free // MEGABYTE
            if free < self._free_megabytes:
                raise StoreDown(
                    f"{self._folder} has {free} MB free, fewer than the {self._free_megabytes} of SVC_FREE_MEGABYTES; "
                    "free space or enlarge its volume"
                )
            self._write_and_read()
        except FileNotFoundError as fault:
            raise StoreDown(
                f"{self._folder} is not there; mount its volume or create it, or name another with USER_DATA_DIR"
            ) from fault
        except OSError as fault:
            raise StoreDown(
                f"cannot keep files in {self._folder} ({fault.strerror}); the server's user must be able to write there"
            ) from fault

    def _write_and_read(self) -> None:
        staged, kept = self._folder / f"{self._name}.part", self._folder / self._name
        written = os.urandom(16)
        try:
            with staged.open("wb") as file:
                file.write(written)
                file.flush()
                os.fsync(file.fileno())
            staged.rename(kept)
            if kept.read_bytes() != written:
                raise StoreDown(f"{self._folder} does not give back what is written to it; check its volume")
        finally:
            for path in (staged, kept):
                with suppress(OSError):
                    path.unlink(missing_ok=True)


class OpenedBooks(Struct, frozen=True):
    """What the checks need of the books that were opened, and the stamp of before."""

    stamp: Hashable
    version: int
    published_at: datetime | None
    files: Sequence[Path]


class StoredBooks:
    """The books as a server that starts now would find them; none at all are fine, for there must be a first load.

    They are opened when their stamp has changed, and let go at once. A manifest names every load, so it may be long.
    """

    def __init__(self, catalogue: Catalogue, root: Path, tell: Callable[[int, datetime | None], None]) -> None:
        self._catalogue = catalogue
        self._root = root
        self._tell = tell
        self._shelf: Shelf | None = None
        self._opened: OpenedBooks | None = None
        self._highest = 0  # version that this process has seen
        self._whole = 0  # version whose files were all there
        self._turn = 0

    def use(self) -> str | None:
        """Open the current version if it changed, and read a block of one of its files, each time of the next one."""
        try:
            books = self._opened = self._current()
        except Unavailable as fault:
            raise StoreDown(f"the books in {self._root} cannot be opened: {fault}") from fault
        except (OSError, ValueError) as fault:
            raise StoreDown(
                f"the current version of the books in {self._root} cannot be opened ({type(fault).__name__}); "
                "restore the folder from a backup, or load its feeds again into an empty one"
            ) from fault
        self._tell(books.version, books.published_at)
        if books.version < self._highest:
            raise StoreDown(
                f"{self._root} held version {self._highest} of the books and now says {books.version}; is its volume "
                "mounted? Where an older backup was put back on purpose, restart the server"
            )
        self._highest = books.version
        if not books.version:
            return NO_BOOKS
        self._read_some(books)
        return None

    def _current(self) -> OpenedBooks:
        """Return the current version as it was opened last, unless its stamp has changed since."""
        self._shelf = self._shelf or Shelf(self._catalogue, self._root)
        stamp = self._shelf.stamp()
        if self._opened is not None and self._opened.stamp == stamp:
            return self._opened
        try:
            books = self._shelf.current()
            return OpenedBooks(stamp, books.version, books.published_at, books.files)
        finally:
            self._shelf.release()

    def _read_some(self, books: OpenedBooks) -> None:
        files = books.files
        if books.version != self._whole:  # what was lost while nobody looked, such as files that a restore left out
            for path in files:
                if not path.exists():
                    raise missing_file(path, books, "it is not there")
            self._whole = books.version
        path = files[self._turn % len(files)]
        try:
            with pa.OSFile(str(path)) as file:
                pa.ipc.open_file(file)
                file.seek(randbelow(file.size()))
                file.read(BLOCK)
        except (OSError, pa.ArrowException) as fault:
            raise missing_file(path, books, "it cannot be read") from fault
        self._turn += 1  # which stays at a file that cannot be read, until it can


def missing_file(path: Path, books: OpenedBooks, how: str) -> StoreDown:
    """Return what to say of a file that the books need and do not have."""
    return StoreDown(
        f"version {books.version} of the books needs {path} and {how}; restore it from a backup or load its feed again"
    )
