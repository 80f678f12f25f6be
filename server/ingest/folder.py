"""The folder of some books: where its files are, its locks, and its files watched for changes."""

import fcntl
import logging
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeVar

from engine.door import STORE
from engine.facts.writer import locked
from engine.instance.documents import InstanceFaults
from engine.instance.read import FILES, read_instance
from engine.model.catalogue import Catalogue

# The place of some books: their catalogue, where their files are, and where what is loaded is kept.


@dataclass(frozen=True, slots=True, kw_only=True)
class BooksFolder:
    """Where some books are loaded from and to."""

    catalogue: Catalogue
    folder: Path  # of the instance, which relative paths start from
    state: Path  # folder of what is not written by hand

    @property
    def store(self) -> Path:
        """The folder of the fact store."""
        return self.state / STORE

    @property
    def rejects(self) -> Path:
        """The folder of the reports of rejected rows."""
        return self.state / "rejects"

    @property
    def spool(self) -> Path:
        """The folder of rows that are on their way."""
        return self.state / "spool"


# Locks: one load of a live table at a time, over all processes that share a state folder.
#
# A lock is that of an open file, so it ends with the process that holds it, however that ends.


FOLDER = "loading"


class TargetBusy(Exception):
    """Another load of a live table is under way."""

    def __init__(self, target: str, holder: str) -> None:
        super().__init__(f"another load of {target} is under way{f' (process {holder})' if holder else ''}")
        self.target = target


@contextmanager
def lock_targets(state: Path, targets: Collection[str]) -> Iterator[None]:
    """Hold some live tables; TargetBusy where one of them is held already."""
    folder = state / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        for target in sorted(targets):
            file = held.enter_context((folder / f"{target}.lock").open("a+", encoding="ascii"))
            if not locked(file.fileno()):
                file.seek(0)
                raise TargetBusy(target, file.read().strip())
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        yield


def is_free(state: Path, target: str) -> bool:
    """Tell whether no load of a live table is under way."""
    try:
        with (state / FOLDER / f"{target}.lock").open("a+") as file:
            return locked(file.fileno())
    except FileNotFoundError:
        return True


# The one daemon of some books: whoever holds the lock of their state folder.


LOCK = "daemon.lock"


class DaemonLock:
    """The lock that makes a daemon the one that loads; it ends with the process, however that ends.

    with Lead(state) as lead:
        while not lead.taken():
            …
    """

    def __init__(self, state: Path) -> None:
        self._path = state / LOCK
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a+", encoding="ascii")
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def taken(self) -> bool:
        """Take the lead if nobody has it; tell whether it is ours."""
        assert self._file is not None  # noqa: S101 - entered
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()
        return True

    def holder(self) -> str:
        """Return the id of the process that has the lead, as far as it has said so."""
        return self._path.read_text(encoding="ascii").strip() or "unknown"


# The files of an instance while somebody edits them: read anew once they rest, kept as they were while faulty.


log = logging.getLogger("tieout.instance")
Stamp = tuple[tuple[str, int, int], ...]
Read = TypeVar("Read")


class InstanceWatcher:
    """An instance that follows its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stamp = self._seen = fingerprint(folder)
        self.instance = read_instance(folder)

    def look(self) -> bool:
        """Read the files anew if they changed, and not since the last look as well; tell whether they were taken."""
        before, self._seen = self._seen, fingerprint(self.folder)
        return self._seen == before != self._stamp and self.reread()

    def reread(self) -> bool:
        """Read the files anew; tell whether they were taken."""
        self._stamp = self._seen = fingerprint(self.folder)
        instance = reload_files(self.folder, read_instance)
        self.instance = instance or self.instance
        return instance is not None


def reload_files(folder: Path, read: Callable[[Path], Read]) -> Read | None:
    """Return an instance as it is read now; None, with every fault in the log, where it cannot be taken."""
    try:
        return read(folder)
    except InstanceFaults as faults:
        for fault in faults.faults:
            log.error("%s", fault)  # noqa: TRY400 - its traceback says no more
    except OSError as fault:
        log.error("%s: %s", fault.filename, fault.strerror)  # noqa: TRY400 - its traceback says no more
    log.error("the files of %s were not taken; what was read before stays", folder)
    return None


def fingerprint(folder: Path) -> Stamp:
    """Return what tells one state of an instance's files from another."""
    paths = sorted(path for pattern in FILES for path in folder.glob(pattern))
    return tuple((path.name, *file_times(path)) for path in paths)


def file_times(path: Path) -> tuple[int, int]:
    """Return when a file was last written and how long it is; nothing of one that is gone by now."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
