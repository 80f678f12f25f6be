"""One worker as its parent sees it: its process, their pipe, and the folder that all processes of a server share."""

import errno
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from os import geteuid
from pathlib import Path
from signal import Signals
from tempfile import TemporaryDirectory, gettempdir
from threading import Thread
from time import monotonic, time

from msgspec import Struct

from engine.instance.documents import InstanceFaults
from engine.instance.profiles import FILE as PROFILES
from engine.instance.read import instance_files
from server.base.locks import FileLock
from server.base.settings import Settings
from server.feeds.instance import ServedInstance, read_instance
from server.telemetry.metrics import counter_environment

# A copy of the files of an instance, so that workers that start later read the same.


TRIES = 5


class InstanceCopy(Struct, frozen=True):
    """An instance and a copy of its files."""

    instance: ServedInstance
    files: Path


def copy_instance(folder: Path, into: Path) -> InstanceCopy:
    """Read an instance and copy its files. Raises InstanceFaults."""
    for _ in range(TRIES):
        instance = read_instance(folder)
        shutil.rmtree(into, ignore_errors=True)
        for file in instance_files(folder):
            if file == PROFILES:  # profiles are read where they are, and their faults never stop a server
                continue
            (into / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / file, into / file)
        try:
            if read_instance(into).catalogue.version == instance.catalogue.version:
                return InstanceCopy(instance, into)
        except InstanceFaults:  # the files changed since they were read
            continue
    raise OSError(errno.EBUSY, "its files change all the time", str(folder))


# The run folder, which the processes of one server share; it is deleted when the server ends.


PREFIX, LOCK = "tieout-run-", "lock"
SETTLING = 60.0  # seconds that a new folder may be without its lock


@contextmanager
def run_folder() -> Iterator[Path]:
    """Lend a run folder, and remove those that killed servers left."""
    for path in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)
    with (
        TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name,
        FileLock(Path(name) / LOCK) as lock,
    ):
        lock.acquire()  # always succeeds: other servers spare a folder this young
        yield Path(name)


def is_abandoned(folder: Path) -> bool:
    """Tell whether a run folder belongs to this user and its server has ended."""
    found = folder.lstat()
    if found.st_uid != geteuid() or time() - found.st_mtime < SETTLING:
        return False
    with FileLock(folder / LOCK) as lock:
        return lock.acquire()


# Messages between the parent and a worker, over a pipe.


class WorkerBrief(Struct, frozen=True, kw_only=True):
    """The first message to a worker: its settings and paths."""

    settings: Settings
    files: Path  # of the instance, as the parent read them
    health: Path  # the parent writes the state of the service here
    opening: Path | None = None  # while it is there, the one user sees everything without profiles.yaml


class Leave(Struct, frozen=True):
    """Accept no more connections, finish the calls in flight, and end.

    Patiently: also answer requests on open connections, and ask their clients to reconnect.
    """

    patiently: bool


class Ready(Struct, frozen=True):
    """The worker accepts connections."""


class CallOverrun(Struct, frozen=True):
    """A call runs far beyond its deadline; only the end of the worker stops it."""

    tool: str


class MemoryShort(Struct, frozen=True):
    """The worker holds so much memory that a report does not fit into it, which fits into a new one."""

    held: int  # bytes


class LocalCounting(Struct, frozen=True):
    """Whether the worker counts calls by itself, against its share of the limits, because the cache store is down."""

    alone: bool


class SigningKeysUnavailable(Struct, frozen=True):
    """Why the worker cannot read the keys of the identity provider; None when it can again."""

    reason: str | None


class ScriptsUnavailable(Struct, frozen=True):
    """The worker runs no scripts, because its jail does not hold."""

    reason: str


class WorkerPhase(Enum):
    """The phase of a worker's life."""

    STARTING = "starting"
    SERVING = "serving"
    LEAVING = "leaving"


class WorkerExit(Struct, frozen=True):
    """The process of a worker is gone."""

    status: int

    def __str__(self) -> str:
        """Return how it ended, in words."""
        return f"by {Signals(-self.status).name}" if self.status < 0 else f"with status {self.status}"


WorkerMessage = (
    Ready | CallOverrun | MemoryShort | LocalCounting | SigningKeysUnavailable | ScriptsUnavailable | WorkerExit
)
MessageHandler = Callable[["WorkerProcess", WorkerMessage], None]


def start_worker(
    program: str, control: Connection, listening: Sequence[socket.socket], folder: Path
) -> subprocess.Popen[bytes]:
    """Run a module as a worker, in a session of its own: Ctrl-C reaches only the parent, which stops the workers."""
    control_fd, sockets = control.fileno(), [one.fileno() for one in listening]
    return subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-P", "-m", program, *map(str, (control_fd, os.getpid(), *sockets))],
        stdin=subprocess.DEVNULL,
        pass_fds=(control_fd, *sockets),
        start_new_session=True,
        env={**os.environ, **counter_environment(folder)},
    )


class WorkerProcess:
    """A worker process and the pipe to it; a thread passes its messages on."""

    def __init__(self, program: str, listening: Sequence[socket.socket], folder: Path, tell: MessageHandler) -> None:
        self.phase = WorkerPhase.STARTING
        self.since = monotonic()  # when the phase began
        self.limit = float("inf")  # when the phase must end
        self.outdated = False  # the instance's files are newer
        self.files: Path | None = None  # of the instance that it was told to read
        self.counts_alone = False
        self.no_keys: str | None = None  # the reason, if it cannot read the identity provider's keys
        self.no_scripts: str | None = None  # the reason, if it runs no scripts
        self._control, theirs = Pipe()
        with theirs:
            self._process = start_worker(program, theirs, listening, folder)
        Thread(target=self._listen, args=(self._control, tell), name=f"worker {self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def enter(self, phase: WorkerPhase, seconds: float) -> None:
        """Begin a phase with a time limit in seconds."""
        self.phase, self.since = phase, monotonic()
        self.limit = self.since + seconds

    def tell(self, message: object) -> None:
        """Send it a message; do nothing if it is gone."""
        with suppress(OSError):
            self._control.send(message)

    def start(self, brief: WorkerBrief) -> None:
        """Let it read the instance and serve."""
        self.files = brief.files
        self.tell(brief)

    def leave(self, seconds: float, *, patiently: bool) -> None:
        """Let it finish its calls and end, within some seconds."""
        self.enter(WorkerPhase.LEAVING, seconds)
        self.tell(Leave(patiently))

    def kill(self) -> None:
        """Kill it."""
        self.limit = float("inf")
        self._process.kill()

    def _listen(self, control: Connection, tell: MessageHandler) -> None:
        with control, suppress(EOFError, OSError):
            while True:
                tell(self, control.recv())
        tell(self, WorkerExit(self._process.wait()))
