"""One worker as its parent sees it: a process that ends with its parent, and the pipe between the two."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from signal import Signals
from threading import Thread
from time import monotonic

from server.telemetry.shared import environment
from server.workers.messages import CountsAlone, Leave, NoScripts, Overrun, Ready


class Phase(Enum):
    """How far a worker is."""

    STARTING = "starting"
    SERVING = "serving"
    LEAVING = "leaving"


@dataclass(frozen=True, slots=True)
class Ended:
    """The process of a worker is gone."""

    status: int

    def __str__(self) -> str:
        """Say how it ended."""
        return f"by {Signals(-self.status).name}" if self.status < 0 else f"with status {self.status}"


Told = Ready | Overrun | CountsAlone | NoScripts | Ended
Tell = Callable[["Worker", Told], None]


class Worker:
    """A worker, from its start to its end; what it says is told from a thread of its own."""

    def __init__(self, program: str, listening: socket.socket, folder: Path, tell: Tell) -> None:
        self.phase = Phase.STARTING
        self.since = monotonic()  # when the phase began
        self.limit = float("inf")  # when the phase has to be over
        self.outdated = False  # there is something newer to go by
        self.counts_alone = False
        self.no_scripts: str | None = None  # why it runs none
        self._control, theirs = Pipe()
        with theirs:
            given = [theirs.fileno(), listening.fileno()]
            # a session of its own: an interrupt from the keyboard reaches the parent alone, which ends calls in order
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-P", "-m", program, *map(str, given), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                pass_fds=given,
                start_new_session=True,
                env={**os.environ, **environment(folder)},
            )
        Thread(target=self._listen, args=(self._control, tell), name=f"worker {self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    def enter(self, phase: Phase, seconds: float) -> None:
        """Begin a phase that may last so long."""
        self.phase, self.since = phase, monotonic()
        self.limit = self.since + seconds

    def tell(self, message: object) -> None:
        """Tell it something; one that is gone hears nothing."""
        with suppress(OSError):
            self._control.send(message)

    def leave(self, seconds: float, *, patiently: bool) -> None:
        """Let it answer what is under way and end, within some seconds."""
        self.enter(Phase.LEAVING, seconds)
        self.tell(Leave(patiently))

    def kill(self) -> None:
        """End it."""
        self.limit = float("inf")
        self._process.kill()

    def _listen(self, control: Connection, tell: Tell) -> None:
        with control, suppress(EOFError, OSError):
            while True:
                tell(self, control.recv())
        tell(self, Ended(self._process.wait()))
