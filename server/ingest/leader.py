"""The one daemon of some books: whoever holds the lock of their state folder."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Self

LOCK = "daemon.lock"


class Lead:
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
