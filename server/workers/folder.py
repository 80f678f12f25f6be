"""The run folder: what the processes of one running server share, gone when it ends."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import geteuid
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import time

PREFIX, LOCK = "tieout-run-", "lock"
SETTLING = 60.0  # seconds that a new folder may be without its lock


@contextmanager
def run_folder() -> Iterator[Path]:
    """Lend a folder of this process; one that was left by a process that was killed is removed."""
    for path in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if is_left(path):
                shutil.rmtree(path, ignore_errors=True)
    with (
        TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name,
        (Path(name) / LOCK).open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def is_left(folder: Path) -> bool:
    """Tell whether a run folder is of this user and nobody's any more."""
    found = folder.lstat()
    if found.st_uid != geteuid() or time() - found.st_mtime < SETTLING:
        return False
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
