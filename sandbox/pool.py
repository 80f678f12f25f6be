"""The pool: runs a limited number of jobs at once, each in its own jailed process, which is watched and never reused.

with Pool(places=2) as pool:
    pool.run(Job(code="result = df.head(5)", frames=(stream,)))     # a JobResult; PoolBusy if every slot is in use
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from threading import BoundedSemaphore, Lock
from typing import Self

from sandbox.job import MOST_CODE, MOST_FRAME_BYTES, MOST_FRAMES, Failure, Job, JobResult
from sandbox.probes import PROBES
from sandbox.server import EXITED, ForkServer, ForkServerLost

WORKER = "sandbox.worker"


class PoolBusy(Exception):
    """Every slot of the pool is in use."""


class Pool:
    """Runs a limited number of jobs at once. Starts its fork server on first use, and restarts it after it ends."""

    def __init__(self, places: int = 2, worker: str = WORKER) -> None:
        """`worker` is the module whose main() serves."""
        self._places = BoundedSemaphore(places)
        self._worker = worker
        self._starting = Lock()
        self._server: ForkServer | None = None
        self._trouble: str | None = None  # a jail that failed once is not tried again

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the fork server and all running jobs."""
        with self._starting:
            if self._server is not None:
                self._server.close()
            self._server = None

    def trouble(self) -> str | None:
        """Return the reason why no script can run here; None if the jail holds."""
        try:
            self._ready()
        except ForkServerLost as fault:
            return str(fault)
        return None

    def run(self, job: Job, stop: Callable[[], None] = lambda: None) -> JobResult:
        """Run a job to its end, or until `stop` raises. Raises PoolBusy immediately if every slot is in use."""
        refused = check_job_size(job)
        if refused is not None:
            return JobResult(failure=refused)
        if not self._places.acquire(blocking=False):
            raise PoolBusy
        try:
            return self._ready().ask(job, stop=stop).outcome()
        except ForkServerLost as fault:
            return JobResult(failure=Failure.of("unavailable", f"no script can run just now: {fault}"))
        finally:
            self._places.release()

    def _ready(self) -> ForkServer:
        with self._starting:
            if self._trouble is not None:
                raise ForkServerLost(self._trouble)
            if sys.platform != "linux":
                raise ForkServerLost("scripts run on Linux only")
            if self._server is None or not self._server.alive():
                if self._server is not None:
                    self._server.close()
                self._server = None
                self._server = self._tried()
            return self._server

    def _tried(self) -> ForkServer:
        started = ForkServer(self._worker)
        with ExitStack() as untrusted:
            untrusted.callback(started.close)
            self._trouble = find_breach(started)
            if self._trouble is not None:
                raise ForkServerLost(self._trouble)
            untrusted.pop_all()
        return started


def find_breach(server: ForkServer) -> str | None:
    """Probe the jail from inside. Return the first breach, None if it holds. Raises ForkServerLost on a timeout."""
    for probe in PROBES:
        ended = server.ask(Job(code=""), probe)
        if ended.late:
            raise ForkServerLost("the jail could not be tried in time")
        failure = ended.outcome().failure
        if failure is not None and failure.kind == "unavailable":
            return failure.message
        if failure is None or failure.kind != "forbidden" or (ended.code == EXITED and failure.message != probe):
            return f"the jail does not hold: {probe}{'' if failure is None else f' ({failure.message})'}"
    return None


def check_job_size(job: Job) -> Failure | None:
    """Return a failure if a job is too large to run, else None."""
    try:
        size = len(job.code.encode())
    except UnicodeEncodeError:
        return Failure("refused", "the script holds half a character: write it as plain Unicode text")
    if size > MOST_CODE:
        return Failure("refused", f"the script has {size:,} bytes, {MOST_CODE:,} are the most: shorten it")
    if len(job.frames) > MOST_FRAMES:
        return Failure("refused", f"{len(job.frames)} data_refs, {MOST_FRAMES} are the most")
    if (together := sum(map(len, job.frames))) > MOST_FRAME_BYTES:
        return Failure(
            "refused", f"the frames have {together:,} bytes, {MOST_FRAME_BYTES:,} are the most: filter first"
        )
    return None
