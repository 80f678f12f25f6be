"""The embedded Valkey: a cache in memory on one socket that nobody else can reach."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM, Signals
from typing import ClassVar

from server.embedded.sockets import answers, socket_folder

SOCKET = "valkey.sock"
CONFIGURED = (
    *("--port", "0", "--unixsocketperm", "700"),
    *("--save", "", "--appendonly", "no"),
    *("--maxmemory", "256mb", "--maxmemory-policy", "volatile-lru"),  # never a lease: leases do not expire
    *("--lazyfree-lazy-user-del", "yes"),
    *("--client-output-buffer-limit", "normal 64mb 32mb 10"),
)


@dataclass(frozen=True, slots=True)
class EmbeddedValkey:
    """A Valkey whose log and socket are in a folder, and whose program is looked for when it starts."""

    find: Callable[[], Path]
    folder: Path

    name: ClassVar[str] = "Valkey"
    ending: ClassVar[Signals] = SIGTERM
    unprivileged: ClassVar[bool] = False
    complaint: ClassVar[re.Pattern[str]] = re.compile(r" # (?!WARNING)(.+)")

    @property
    def sockets(self) -> Path:
        """Where its socket is."""
        return socket_folder(self.folder, SOCKET)

    @property
    def socket(self) -> Path:
        """How to connect to it."""
        return self.sockets / SOCKET

    def prepare(self, lock: int, *, first: bool) -> Sequence[str | Path]:  # noqa: ARG002 - nothing of it outlives it
        """Return its command line."""
        return [self.find(), "--unixsocket", self.socket, "--dir", self.folder, *CONFIGURED]

    def answers(self) -> bool:
        """Tell whether it takes connections."""
        return answers(self.socket, b"PING\r\n", b"+PONG\r\n")
