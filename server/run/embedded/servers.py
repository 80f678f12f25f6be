"""The embedded servers: PostgreSQL and Valkey, each on one socket that nobody else can reach."""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from signal import SIGINT, SIGTERM, Signals
from subprocess import PIPE
from typing import ClassVar

from msgspec import Struct

from server.run.embedded import launch
from server.run.embedded.binaries import PostgresBinaries, StartFailure, is_answering, socket_folder
from server.run.embedded.keeper import naming_folder, spawn_server, start_failure
from server.run.embedded.users import programs_for, server_user

# PostgreSQL: one user, one private socket, durable, small.


USER, DATABASE = "tieout", "postgres"
POSTGRES_SOCKET = ".s.PGSQL.5432"
DATA, UNFINISHED, VERSION, PID_FILE = "data", "data.new", "PG_VERSION", "postmaster.pid"
STATUS = 7  # line of the PID file with its state
READY = "ready"
INITIAL = (f"--username={USER}", "--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--locale=C")
POSTGRES_CONFIGURATION = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "shared_buffers": "32MB",
    "max_connections": "100",  # each process has up to 8, and there may be many workers
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "128MB",
    "jit": "off",
    "log_checkpoints": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
IO_METHOD_SINCE = 18
FAULT = re.compile(r"(?:error|FATAL|PANIC):\s+(.+)")


class EmbeddedPostgres(Struct, frozen=True):
    """A PostgreSQL with data, log and socket in a folder; its programs are found when it starts."""

    find: Callable[[], PostgresBinaries]
    folder: Path

    name: ClassVar[str] = "PostgreSQL"
    ending: ClassVar[Signals] = SIGINT  # ends sessions, writes a checkpoint
    unprivileged: ClassVar[bool] = True
    complaint: ClassVar[re.Pattern[str]] = FAULT

    @property
    def sockets(self) -> Path:
        """The folder of its socket."""
        return socket_folder(self.folder, POSTGRES_SOCKET)

    @property
    def uri(self) -> str:
        """The address to connect to."""
        return f"postgresql://{USER}@/{DATABASE}?host={self.sockets}"

    def prepare(self, lock: int, *, first: bool) -> Sequence[str | Path]:
        """Create its data if there are none, and return its command line. Raises StartFailure, OSError."""
        binaries = programs_for(server_user(self.folder), self.find())
        data = self.folder / DATA
        if not data.is_dir():
            self._initialise(binaries, lock)
        made_by = (data / VERSION).read_text(encoding="ascii").strip()
        if made_by != str(binaries.major):
            raise StartFailure(
                f"its data in {data} are of PostgreSQL {made_by} and {binaries.folder} has {binaries.major}; "
                f"set PG_BIN_DIR to the programs of PostgreSQL {made_by}, or restore a backup into a new state folder"
            )
        if first:  # another process may have its number by now, and PostgreSQL would wait for that
            (data / PID_FILE).unlink(missing_ok=True)
        configured = {**POSTGRES_CONFIGURATION, "unix_socket_directories": str(self.sockets)}
        if binaries.major >= IO_METHOD_SINCE:
            configured["io_method"] = "sync"  # starts no extra processes for reading
        options = [part for name, value in configured.items() for part in ("-c", f"{name}={value}")]
        return [binaries.program("postgres"), "-D", data, *options]

    def _initialise(self, binaries: PostgresBinaries, lock: int) -> None:
        """Create the data in a temporary folder, and rename it when it is complete."""
        unfinished = self.folder / UNFINISHED
        shutil.rmtree(unfinished, ignore_errors=True)
        with spawn_server(self, [binaries.program("initdb"), f"--pgdata={unfinished}", *INITIAL], PIPE, lock) as initdb:
            output = initdb.communicate()[0].decode(errors="replace").strip()
        if initdb.returncode == launch.REFUSED:
            raise start_failure(output)
        if initdb.returncode != 0:
            raise OSError(f"initdb: {naming_folder(reason(output, initdb.returncode), self.folder)}")
        unfinished.rename(self.folder / DATA)

    def answers(self) -> bool:
        """Tell whether it accepts connections: its PID file says ready, and it listens."""
        try:
            lines = (self.folder / DATA / PID_FILE).read_text(encoding="utf-8").splitlines()
        except OSError:
            return False
        return len(lines) > STATUS and lines[STATUS].strip() == READY and is_answering(self.sockets / POSTGRES_SOCKET)


def reason(output: str, status: int) -> str:
    """Return why initdb failed: the last fault that it names, else its last line, else its status."""
    faults, lines = FAULT.findall(output), output.splitlines()
    return str((faults or lines or [f"exit status {status}"])[-1])


# Valkey: a cache in memory on one private socket.


VALKEY_SOCKET = "valkey.sock"
VALKEY_CONFIGURATION = (
    *("--port", "0", "--unixsocketperm", "700"),
    *("--save", "", "--appendonly", "no"),
    *("--maxmemory-policy", "volatile-lru"),  # evicts no leases, because they have no expiry
    *("--lazyfree-lazy-user-del", "yes"),
    *("--client-output-buffer-limit", "normal 128mb 96mb 10"),  # beyond the largest snapshot
)


class EmbeddedValkey(Struct, frozen=True):
    """A Valkey with log and socket in a folder; its program is found when it starts."""

    find: Callable[[], Path]
    folder: Path
    megabytes: int  # of its memory, at which it drops what was used least recently

    name: ClassVar[str] = "Valkey"
    ending: ClassVar[Signals] = SIGTERM
    unprivileged: ClassVar[bool] = False
    complaint: ClassVar[re.Pattern[str]] = re.compile(r" # (?!WARNING)(.+)")

    @property
    def sockets(self) -> Path:
        """The folder of its socket."""
        return socket_folder(self.folder, VALKEY_SOCKET)

    @property
    def socket(self) -> Path:
        """The address to connect to."""
        return self.sockets / VALKEY_SOCKET

    def prepare(self, lock: int, *, first: bool) -> Sequence[str | Path]:  # noqa: ARG002 - it leaves nothing behind
        """Return its command line."""
        memory = ("--maxmemory", f"{self.megabytes}mb")
        return [self.find(), "--unixsocket", self.socket, "--dir", self.folder, *memory, *VALKEY_CONFIGURATION]

    def answers(self) -> bool:
        """Tell whether it accepts connections."""
        return is_answering(self.socket, b"PING\r\n", b"+PONG\r\n")
