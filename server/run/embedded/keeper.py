"""A keeper keeps one embedded server running, in whichever of several processes holds its lock.

    keeper = Keeper(program)
    keeper.start()          # returns immediately
    keeper.wait(20)         # until the server answers; StoreDown gives the reason if it does not
    keeper.close()          # stops the server, if this process keeps it

The first process keeps the server. The others wait for the lock in a thread, and one of them takes over when the first
ends. The server inherits the lock, so a process that gets the lock knows that the previous server is gone. The server
is a child of that thread and ends with it, even if the process is killed.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from re import Pattern
from signal import Signals
from threading import Event, Lock, Thread
from time import monotonic
from typing import IO, Protocol

from server.base.backoff import Backoff
from server.base.interfaces import StoreDown
from server.base.locks import FileLock
from server.base.settings import variable_of
from server.run.embedded import launch
from server.run.embedded.binaries import StartFailure, private_folder
from server.run.embedded.users import ServerUser, hand_over, server_user, state_owner, way_of

LOCK, LOG, LAST_LOG = "keeper.lock", "server.log", "server.log.1"
FAILURE = "failure.txt"  # why the last attempt to start a server failed, for processes that wait for it
ASKING, QUEUEING = 0.02, 0.1  # seconds between two checks of a server, of a lock
DESCRIPTOR = re.compile(r"/proc/self/fd/\d+")
STEADY = 5.0  # seconds; a server that ran longer is restarted immediately
SOONEST, LATEST = 0.1, 10.0  # seconds until another is restarted
STOPPING = 20.0  # seconds until a server that does not stop is killed
ROOM = 1 << 20  # bytes of free space that a server needs to start
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}  # not the parent's, which may hold secrets


class ServerProgram(Protocol):
    """A server that can be embedded."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def folder(self) -> Path:
        """The folder of its data, lock and log."""

    @property
    def sockets(self) -> Path:
        """The folder of its socket: the same one, or one with a shorter path."""

    @property
    def ending(self) -> Signals:
        """The signal that stops it cleanly."""

    @property
    def unprivileged(self) -> bool:
        """Whether it refuses to run as root."""

    @property
    def complaint(self) -> Pattern[str]:
        """Matches the log line with the reason of a failure."""

    def prepare(self, lock: int, *, first: bool) -> Sequence[str | Path]:
        """Create what it needs and return its command line; `first` is true if no earlier run can be alive."""

    def answers(self) -> bool:
        """Tell whether it accepts connections."""


class Keeper:
    """Keeps one server running, or waits for one that another process keeps."""

    def __init__(self, program: ServerProgram, *, keeps: bool = True) -> None:
        self._program = program
        self._keeps = keeps
        self._thread: Thread | None = None
        self._starting = Lock()
        self._stop = Event()
        self._server: subprocess.Popen[bytes] | None = None
        self._failure: str | None = None
        self._stalled = False  # it could not be prepared, and a second attempt comes late

    def start(self) -> None:
        """Start to keep the server, in a thread."""
        with self._starting:
            if self._thread is None and self._keeps and not self._stop.is_set():
                self._thread = Thread(target=self._keep, name=f"keeper of {self._program.name}", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until the server accepts connections. Raises StoreDown after `seconds`."""
        deadline = monotonic() + seconds
        try:
            own_folder(self._program, self._program.sockets)  # so that no other user can listen there
        except (StartFailure, OSError) as failure:
            raise StoreDown(f"the embedded {self._program.name} cannot be started: {failure}") from failure
        while not self._program.answers():
            has_ended = self._stalled or not (self._thread and self._thread.is_alive())
            if monotonic() > deadline or (has_ended if self._keeps else self._failure_of_other()):
                raise StoreDown(self.trouble() or f"the embedded {self._program.name} is not up yet")
            self._stop.wait(ASKING)

    def trouble(self) -> str | None:
        """Return why the server is down; None if it is up or the reason is unknown to this process."""
        failure = self._failure if self._keeps else self._failure_of_other()
        if failure is None or self._program.answers():
            return None
        return f"the embedded {self._program.name} {failure}"

    def close(self) -> None:
        """Stop the server if this process keeps it; return when it is gone."""
        self._stop.set()
        with self._starting:  # another thread may be starting it
            if self._thread is None:
                return
        self._thread.join(STOPPING if self._signal(self._program.ending) else None)
        if self._thread.is_alive():
            self._signal(Signals.SIGKILL)
            self._thread.join()
        with suppress(OSError):
            (self._program.folder / FAILURE).unlink()

    def _signal(self, signal: Signals) -> bool:
        server = self._server
        if server is not None:
            server.send_signal(signal)
        return server is not None

    def _keep(self) -> None:
        while not self._stop.is_set():
            try:
                self._keep_once()
            except StartFailure as failure:
                self._fail(failure)
                return
            except OSError as failure:
                self._fail(failure)
                self._stalled = True
                self._stop.wait(LATEST)
                self._stalled = False

    def _fail(self, failure: Exception) -> None:
        self._failure = f"cannot be started: {failure}"
        with suppress(OSError):  # which may be the failure
            (self._program.folder / FAILURE).write_text(self._failure, encoding="utf-8")

    def _failure_of_other(self) -> str | None:
        """Return why the process that keeps the server could not start it; None if it could, or is about to try."""
        try:
            return (self._program.folder / FAILURE).read_text(encoding="utf-8") or None
        except OSError:
            return None

    def _keep_once(self) -> None:
        folder = own_folder(self._program, self._program.folder)
        with FileLock(folder / LOCK) as lock:
            if not self._acquire(lock):
                return
            self._run(lock.descriptor)
            if self._program.sockets != folder:
                shutil.rmtree(self._program.sockets, ignore_errors=True)

    def _acquire(self, lock: FileLock) -> bool:
        while not self._stop.is_set():
            if lock.acquire():
                return True
            self._stop.wait(QUEUEING)
        return False

    def _run(self, lock: int) -> None:
        backoff, first, folder = Backoff(SOONEST, LATEST), True, self._program.folder
        while not self._stop.wait(backoff.delay):
            (folder / FAILURE).unlink(missing_ok=True)
            for own in (folder, own_folder(self._program, self._program.sockets)):
                hand_over(own, user_of(self._program))
            command = self._program.prepare(lock, first=first)
            hand_over(folder, user_of(self._program))  # what it has made
            if self._stop.is_set():
                return
            began = monotonic()
            with log_of(folder) as log:
                self._server = spawn_server(self._program, command, log, lock)
                if self._stop.is_set():
                    self._signal(self._program.ending)
                status = self._server.wait()
            if status == launch.REFUSED:
                raise start_failure(last_line(folder))
            self._failure = f"ended: {describe_exit(self._program, status)}"
            if monotonic() - began > STEADY:
                backoff.reset()
            else:
                backoff.fail()
            first = False


def user_of(program: ServerProgram) -> ServerUser | None:
    """Return the user to whom root gives the files of a program; None if they are this process's own."""
    return server_user(program.folder) if program.unprivileged else state_owner(program.folder)


def own_folder(program: ServerProgram, folder: Path) -> Path:
    """Make a folder of a program, for its user alone. Raises StartFailure."""
    user = user_of(program)
    return private_folder(folder, user.uid if user else None)


def spawn_server(
    program: ServerProgram, command: Sequence[str | Path], output: IO[bytes] | int, lock: int
) -> subprocess.Popen[bytes]:
    """Start a program that ends with this thread. It has a session of its own, so Ctrl-C does not reach it."""
    how = [str(os.getpid()), str(int(program.ending)), way_of(program.folder, unprivileged=program.unprivileged)]
    return subprocess.Popen(  # noqa: S603 - programs that this package found
        [sys.executable, "-I", "-S", launch.__file__, *how, *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=ENVIRONMENT,
        cwd=program.folder,
        pass_fds=(lock,),
        start_new_session=True,
    )


@contextmanager
def log_of(folder: Path) -> Iterator[IO[bytes]]:
    """Open a new log for a server; keep the previous one."""
    if (folder / LOG).exists():
        (folder / LOG).replace(folder / LAST_LOG)
    with (folder / LOG).open("wb") as log:
        yield log


def describe_exit(program: ServerProgram, status: int) -> str:
    """Return the reason why a server ended, from its log if it says one."""
    reasons = program.complaint.findall((program.folder / LOG).read_text(encoding="utf-8", errors="replace"))
    if reasons:
        return naming_folder(str(reasons[-1]), program.folder)
    if shutil.disk_usage(program.folder).free < ROOM:  # then its log could not be written either
        return f"no space is left in {program.folder}; free some, and it is started again"
    return f"exit status {status}; see {program.folder / LOG}"


def last_line(folder: Path) -> str:
    """Return the last line of a server's log."""
    lines = (folder / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line for line in reversed(lines) if line), "it said nothing")


def naming_folder(text: str, folder: Path) -> str:
    """Return a text of a server with the path of its folder, which it may know as an open descriptor alone."""
    return DESCRIPTOR.sub(str(folder), text)


def start_failure(why: str) -> StartFailure:
    """Return the error of a machine that does not allow this user to start the server."""
    return StartFailure(
        f"{why}; run Tieout as another user than root, or set {variable_of('database_url')} to a database"
    )
