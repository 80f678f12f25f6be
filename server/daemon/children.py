"""The processes that the daemon starts: one for each load, and one for a backup."""

import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from threading import Thread
from typing import IO

from msgspec import Struct

LAST_LINE = 500  # characters of a process's last line that the log shows


class ProcessExit(Struct, frozen=True, kw_only=True):
    """How a process of the daemon ended."""

    key: str  # of the feed or the backup that it was started for
    status: int
    last_line: str  # that it printed


class ChildProcess:
    """A process of the daemon; its memory and locks end with it. Reports its exit to a callback."""

    def __init__(self, key: str, command: Sequence[str], report: Callable[[ProcessExit], None]) -> None:
        """Start it. Raises OSError."""
        self._key = key
        with ExitStack() as opened:
            output = opened.enter_context(TemporaryFile())  # a pipe would break if the daemon dies
            # a session of its own: Ctrl-C reaches only the daemon, which then ends its processes
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
            Thread(target=self._wait, args=(output, report), daemon=True).start()
            opened.pop_all()

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL."""
        self._process.kill()

    def _wait(self, output: IO[bytes], report: Callable[[ProcessExit], None]) -> None:
        status = self._process.wait()
        with output:
            output.seek(0)
            printed = output.read().decode(errors="replace").strip()
        report(ProcessExit(key=self._key, status=status, last_line=printed.rpartition("\n")[2][:LAST_LINE]))
