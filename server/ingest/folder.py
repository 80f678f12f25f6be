"""The folder of the books: its paths, its locks, and a watcher of its files."""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from engine.instance.documents import InstanceFaults
from engine.instance.read import STORE, instance_files
from engine.model.catalogue import Catalogue
from server.base.locks import FileLock
from server.feeds.instance import read_instance
from server.feeds.placements import FactsPlacement


class BooksFolder(Struct, frozen=True, kw_only=True):
    """The catalogue of the books, and the folders that they are loaded from and to."""

    catalogue: Catalogue
    folder: Path  # of the instance; relative paths start here
    state: Path  # folder of the store, rejects and other generated files
    placement: FactsPlacement | None = None  # the engine that holds the rows of facts; None: files do

    @property
    def store(self) -> Path:
        """The folder of the fact store."""
        return self.state / STORE

    @property
    def rejects(self) -> Path:
        """The folder of the reports of rejected rows."""
        return self.state / "rejects"

    @property
    def controls(self) -> Path:
        """The folder of the control tables of loads."""
        return self.state / "controls"

    @property
    def spool(self) -> Path:
        """The folder of rows that a load has read and not yet published."""
        return self.state / "spool"


# Locks: one load of a live table at a time, across all processes that share a state folder.


FOLDER = "loading"


class TargetBusy(Exception):
    """Another load fills the same live table."""

    def __init__(self, target: str, holder: str) -> None:
        super().__init__(f"another load of {target} is under way{f' (process {holder})' if holder else ''}")
        self.target = target


@contextmanager
def lock_targets(state: Path, targets: Collection[str]) -> Iterator[None]:
    """Lock live tables while the block runs. Raises TargetBusy if another load has locked one of them."""
    folder = state / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as locks:
        for target in sorted(targets):
            lock = locks.enter_context(FileLock(folder / f"{target}.lock", names_owner=True))
            if not lock.acquire():
                raise TargetBusy(target, lock.owner())
        yield


def is_free(state: Path, target: str) -> bool:
    """Tell whether no load fills a live table."""
    try:
        with FileLock(state / FOLDER / f"{target}.lock") as lock:
            return lock.acquire()
    except FileNotFoundError:
        return True


DAEMON_LOCK = "daemon.lock"  # in the state folder; the daemon that holds it loads


# Watching the files of an instance: they are reloaded once edits pause, and faulty files are ignored.


log = logging.getLogger("tieout.instance")
Stamp = tuple[tuple[str, int, int], ...]
Read = TypeVar("Read")


class InstanceWatcher:
    """Keeps an instance up to date with its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stamp = self._seen = fingerprint(folder)
        self.instance = read_instance(folder)

    def look(self) -> bool:
        """Reload the files if they changed and rested since the last call; tell whether they were accepted."""
        before, self._seen = self._seen, fingerprint(self.folder)
        return self._seen == before != self._stamp and self.reread()

    def reread(self) -> bool:
        """Reload the files; tell whether they were accepted."""
        self._stamp = self._seen = fingerprint(self.folder)
        instance = reload_files(self.folder, read_instance)
        self.instance = instance or self.instance
        return instance is not None


def reload_files(folder: Path, read: Callable[[Path], Read]) -> Read | None:
    """Read an instance. Logs every fault and returns None if it is faulty."""
    try:
        return read(folder)
    except InstanceFaults as faults:
        for fault in faults.faults:
            log.error("%s", fault)  # noqa: TRY400 - its traceback says no more
    except OSError as fault:
        log.error("%s: %s", fault.filename, fault.strerror)  # noqa: TRY400 - its traceback says no more
    log.error("the files of %s have faults; the previous ones stay in use", folder)
    return None


def fingerprint(folder: Path) -> Stamp:
    """Return the names, times and sizes of an instance's files; nothing while they may not be read.

    Reading them names what may not be read.
    """
    try:
        return tuple((file, *file_times(folder / file)) for file in instance_files(folder))
    except PermissionError:
        return ()


def file_times(path: Path) -> tuple[int, int]:
    """Return the time and size of a file; zeros if it is gone."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
