"""The files of an instance while somebody edits them: read anew once they rest, kept as they were while faulty."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from engine.instance.documents import InstanceFaults
from engine.instance.read import FILES, read_instance

log = logging.getLogger("tieout.instance")
Stamp = tuple[tuple[str, int, int], ...]
Read = TypeVar("Read")


class Watched:
    """An instance that follows its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stamp = self._seen = stamp(folder)
        self.instance = read_instance(folder)

    def look(self) -> bool:
        """Read the files anew if they changed, and not since the last look as well; tell whether they were taken."""
        before, self._seen = self._seen, stamp(self.folder)
        return self._seen == before != self._stamp and self.reread()

    def reread(self) -> bool:
        """Read the files anew; tell whether they were taken."""
        self._stamp = self._seen = stamp(self.folder)
        instance = reread(self.folder, read_instance)
        self.instance = instance or self.instance
        return instance is not None


def reread(folder: Path, read: Callable[[Path], Read]) -> Read | None:
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


def stamp(folder: Path) -> Stamp:
    """Return what tells one state of an instance's files from another."""
    paths = sorted(path for pattern in FILES for path in folder.glob(pattern))
    return tuple((path.name, *times(path)) for path in paths)


def times(path: Path) -> tuple[int, int]:
    """Return when a file was last written and how long it is; nothing of one that is gone by now."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
