"""File locks that hold across processes."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Self


class FileLock:
    """A lock on a file, exclusive or shared. The kernel releases it when its process ends, however that ends.

    with FileLock(path) as lock:
        if lock.acquire():
            …               # nobody else holds it until the block ends
    """

    def __init__(self, path: Path, *, names_owner: bool = False) -> None:
        """`names_owner` writes the id of the process that holds the lock into the file."""
        self._path = path
        self._names_owner = names_owner
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        self._file = self._path.open("a+", encoding="ascii")
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def file(self) -> IO[str]:
        """The open file: a child process that inherits it holds the lock as well."""
        assert self._file is not None  # noqa: S101 - entered
        return self._file

    @property
    def descriptor(self) -> int:
        """The descriptor of the open file."""
        return self.file.fileno()

    def acquire(self) -> bool:
        """Take the lock if it is free; tell whether this process holds it. Never waits."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        if self._names_owner and self._file is not None:
            self._file.truncate(0)
            self._file.write(str(os.getpid()))
            self._file.flush()
        return True

    def wait(self) -> None:
        """Take the lock as soon as it is free."""
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)

    def share(self) -> bool:
        """Take the lock together with others, unless one holds it alone; tell whether this process holds it."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def owner(self) -> str:
        """Return the id of the process that holds the lock, empty if it has not written one."""
        return self._path.read_text(encoding="ascii").strip()

    def is_current(self) -> bool:
        """Tell whether the file is still at its path: its last holder may have deleted it after this one opened it."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self.descriptor))
        except FileNotFoundError:
            return False
