"""One load in a process of its own: what a loader leaks, breaks or blocks ends with it."""

import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryFile
from threading import Thread
from typing import IO

LAST_WORDS = 500  # characters of what a load printed that a log line shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A load whose process is gone."""

    binding: str
    status: int
    last_words: str  # the last line that it printed


class Child:
    """A load of a feed that runs; whoever started it is told when its process is gone."""

    def __init__(self, binding: str, command: Sequence[str], tell: Callable[[Ended], None]) -> None:
        self._binding = binding
        with ExitStack() as opened:
            output = opened.enter_context(TemporaryFile())  # a pipe would break where the daemon dies
            # a session of its own: an interrupt from the keyboard reaches the daemon alone, which ends loads in order
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
            Thread(target=self._wait, args=(output, tell), daemon=True).start()
            opened.pop_all()

    def terminate(self) -> None:
        """Ask the load to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End the load."""
        self._process.kill()

    def _wait(self, output: IO[bytes], tell: Callable[[Ended], None]) -> None:
        status = self._process.wait()
        with output:
            output.seek(0)
            said = output.read().decode(errors="replace").strip()
        tell(Ended(binding=self._binding, status=status, last_words=said.rpartition("\n")[2][:LAST_WORDS]))
