"""The pool's side of a fork server: one process, one socket, and the exit of each job's child."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic

from sandbox import job_requests
from sandbox.job import Failure, FailureKind, Job, JobResult
from sandbox.reply import FRAMING, ForgedReply, decode

BOOT = """
import sys
sys.path.insert(0, sys.argv[1])
from importlib import import_module
import_module(sys.argv[2]).main()
"""
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "MALLOC_ARENA_MAX": "1",  # the C library reserves no address space for each thread
    "POLARS_MAX_THREADS": "1",
    "_RJEM_MALLOC_CONF": "background_thread:false",
}
STARTING = 60.0  # seconds, on a busy machine
GRACE = 5.0  # seconds for a killed child to exit
TURN = 0.1  # seconds between calls of `stop`
READ = 1 << 16
EXITED = 1  # si_code of a child that exited by itself


class ForkServerLost(Exception):
    """The fork server ended and took its children with it."""


@dataclass(frozen=True, slots=True)
class ChildExit:
    """How a child process ended, and the reply it wrote before."""

    reply: bytes
    code: int
    status: int
    late: bool = False
    loud: bool = False  # its reply exceeds the limit

    def outcome(self) -> JobResult:
        """Return the result of the child's job."""
        if self.late or self.loud:
            return JobResult(failure=Failure.of("limit", TOO_LATE if self.late else TOO_LOUD))
        if self.code != EXITED:
            return JobResult(failure=Failure.of(*BY_SIGNAL.get(self.status, ("failed", UNKNOWN))))
        if self.status != 0:
            return JobResult(failure=Failure.of("limit", NO_MEMORY))
        try:
            return decode(self.reply)
        except ForgedReply as fault:
            return JobResult(failure=Failure.of("forbidden", f"the script's process sent a malformed reply ({fault})"))


TOO_LATE = "the script exceeded its time limit: filter or aggregate first, use polars expressions instead of loops"
TOO_LOUD = "the script's reply is too long: aggregate, or take fewer rows"
NO_MEMORY = "the script exceeded its memory limit: filter or aggregate earlier, make fewer copies"
TOO_DEEP = "the script is nested too deeply for its process: build shorter chains of expressions"
UNKNOWN = "the script's process ended before it answered: make the script simpler"
FORBIDDEN = "the script tried to reach files, the network or other processes, which no script may do"
BY_SIGNAL: Mapping[int, tuple[FailureKind, str]] = {
    signal.SIGABRT: ("limit", NO_MEMORY),
    signal.SIGKILL: ("limit", NO_MEMORY),
    signal.SIGXCPU: ("limit", "the script exceeded its processor time limit: filter or aggregate first"),
    signal.SIGSYS: ("forbidden", FORBIDDEN),
    signal.SIGSEGV: ("limit", TOO_DEEP),
    signal.SIGBUS: ("limit", TOO_DEEP),
}


def spawn(module: str, link: socket.socket) -> subprocess.Popen[bytes]:
    """Run a module in a new interpreter that inherits only one socket from this process."""
    folder = str(Path(__file__).parent.parent)
    with link:
        return subprocess.Popen(  # noqa: S603 - our own program, without arguments of a caller
            [sys.executable, "-I", "-W", "ignore", "-c", BOOT, folder, module, str(link.fileno())],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[link.fileno()],
            start_new_session=True,
            cwd="/",
        )


class ForkServer:
    """A running fork server."""

    def __init__(self, module: str) -> None:
        """Start the process. Raises ForkServerLost if it does not come up."""
        self._sending = Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.process = spawn(module, theirs)
        except OSError as fault:
            self._control.close()
            raise ForkServerLost(f"the fork server did not start: {fault.strerror}") from fault
        self._control.settimeout(STARTING)
        try:
            ready = self._control.recv(16)
        except OSError as fault:
            self.close()
            raise ForkServerLost("the fork server did not start in time") from fault
        if not ready:
            self.close()
            raise ForkServerLost(f"the fork server did not start: {self.process.returncode}")

    def alive(self) -> bool:
        """Tell whether the process is running."""
        return self.process.poll() is None

    def close(self) -> None:
        """Stop the process and its children."""
        self._control.close()
        self.end()

    def end(self) -> None:
        """Kill the process, and wait for its exit."""
        self.process.kill()
        self.process.wait()

    def ask(self, job: Job, probe: str = "", stop: Callable[[], None] = lambda: None) -> ChildExit:
        """Run one job to its end, or until `stop` raises. Raises ForkServerLost if the fork server ends first."""
        with ExitStack() as descriptors:
            done, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            descriptors.callback(done.close)
            reading, writing = os.pipe()
            descriptors.callback(os.close, reading)
            try:
                with self._sending:
                    job_requests.send(self._control, job, probe, theirs.fileno(), writing)
            except OSError as fault:
                raise ForkServerLost("the fork server is gone") from fault
            finally:
                theirs.close()
                os.close(writing)
            try:
                with closing(ChildMonitor(done, reading, job.limits.output + FRAMING)) as watch:
                    return watch.until(monotonic() + job.limits.wall, stop)
            except ForkServerLost:
                self.end()
                raise


class ChildMonitor:
    """Watches one child: collects its reply, enforces its deadline and learns how it ended."""

    def __init__(self, done: socket.socket, reading: int, most: int) -> None:
        self._done, self._reading, self._most = done, reading, most
        self._pidfd = -1
        self._silent = self._killed = self._over = False  # the reply is complete; the child was killed; it exited
        self._reply = bytearray()
        self._poll = select.poll()
        self._poll.register(done, select.POLLIN)
        self._poll.register(reading, select.POLLIN)

    def until(self, deadline: float, stop: Callable[[], None]) -> ChildExit:
        """Return how the child ended; kill it if it is late or loud. Raises ForkServerLost if no exit is reported.

        If `stop` raises, the answer is no longer wanted, and close() kills the child.
        """
        late = False
        while True:
            left, loud = deadline - monotonic(), self._loud()
            if left <= 0 and self._killed:
                self._over = True
                raise ForkServerLost("the fork server no longer reports the exit of its children")
            if not self._killed and (left <= 0 or loud):
                late, deadline = not loud, monotonic() + GRACE
                self._kill()
                continue
            if not self._killed:
                stop()
            for descriptor, _ in self._poll.poll(min(left, TURN) * 1000):
                if descriptor == self._reading:
                    self._read()
                elif (status := self._exit_status()) is not None:
                    while not self._loud() and self._read():
                        pass  # keep what the child wrote before it ended
                    return ChildExit(bytes(self._reply), *status, late=late, loud=self._loud())

    def _loud(self) -> bool:
        return len(self._reply) > self._most

    def _read(self) -> bool:
        part = b"" if self._silent else os.read(self._reading, READ)
        if not part and not self._silent:
            self._silent = True
            self._poll.unregister(self._reading)
        elif not self._loud():
            self._reply += part
        return bool(part)

    def _exit_status(self) -> tuple[int, int] | None:
        text, descriptors, _, _ = socket.recv_fds(self._done, 64, 1)
        if descriptors:
            (self._pidfd,) = descriptors
            if self._killed:
                self._kill()
            return None
        self._over = True
        if not text:
            raise ForkServerLost("the fork server ended")
        code, status = text.split()
        return int(code), int(status)

    def _kill(self) -> None:
        self._killed = True
        if self._pidfd >= 0:
            with suppress(ProcessLookupError):  # it has just ended
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Kill the child if it still runs. Raises ForkServerLost if no exit is reported."""
        try:
            if not self._over:
                self._kill()
                self.until(monotonic() + GRACE, lambda: None)
        finally:
            if self._pidfd >= 0:
                os.close(self._pidfd)
