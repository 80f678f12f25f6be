"""The supervisor: keeps so many workers serving, replaces them one after the other, and ends them all.

    supervisor = Supervisor(settings, sockets, folder)
    supervisor.begin()      # starts a first worker in the background
    supervisor.run(duties)  # runs until a signal; returns the exit status

Workers take connections from sockets that the parent holds, so that none is refused while one of them is replaced.
A new worker is ready before an old one leaves. Where the container has no memory for both, the old one leaves first
and connections wait. One that dies is replaced, at once where it had served for a while.
"""

import logging
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from types import TracebackType
from typing import Self

from msgspec import Struct

from server.base.backoff import Backoff
from server.base.memory_ceiling import ContainerMemory, anonymous_bytes, worker_ceiling
from server.base.settings import Settings
from server.base.signals import on_hangup
from server.run.workers.process import (
    CallOverrun,
    LocalCounting,
    MemoryShort,
    Ready,
    ScriptsUnavailable,
    SigningKeysUnavailable,
    WorkerBrief,
    WorkerExit,
    WorkerMessage,
    WorkerPhase,
    WorkerProcess,
)

GRACE = 5.0  # seconds that a call may run beyond its deadline
STARTING = 60.0  # seconds for a worker's start on a slow machine
FAREWELL = 3.0  # seconds for a worker's end after its last call
RESTING = 7.0  # seconds that a worker which leaves patiently waits for idle connections
STEADY = 5.0  # seconds; a worker that served longer is replaced immediately
SOONEST, LATEST = 0.1, 10.0  # seconds until another is replaced
TICK = 0.5
WORKERS = "server.run.workers"
STATUS = {signal.SIGTERM: 143, signal.SIGINT: 130}
Heard = signal.Signals | tuple[WorkerProcess, WorkerMessage]
log = logging.getLogger("tieout.workers")


class SupervisorHooks(Struct, frozen=True, kw_only=True):
    """Functions of the parent that the supervisor calls."""

    brief: WorkerBrief
    reread: Callable[[], WorkerBrief | None]  # None if the files have faults
    serving: Callable[[], None]  # called when a worker is ready
    ended: Callable[[int], None]  # called with the process id of each ended worker


class Supervisor:
    """Keeps workers running. One thread does all of it; signals and workers reach it through one queue."""

    def __init__(
        self,
        settings: Settings,
        listening: Sequence[socket.socket],
        folder: Path,
        program: str = WORKERS,
        container: ContainerMemory | None = None,
    ) -> None:
        self._wanted = settings.workers
        self._answering = settings.deadline_seconds + GRACE + FAREWELL
        self._container = container
        self._ceiling = worker_ceiling(settings.worker_megabytes, settings.workers, container)
        self._listening = listening
        self._folder = folder
        self._program = program
        self._inbox: SimpleQueue[Heard] = SimpleQueue()
        self._workers: list[WorkerProcess] = []
        self._brief: WorkerBrief | None = None
        self._backoff, self._next_start = Backoff(SOONEST, LATEST), 0.0
        self._status: int | None = None  # exit status, set by the signal to stop

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        for worker in self._workers:
            worker.kill()

    @property
    def processes(self) -> list[int]:
        """The process ids of the workers."""
        return [worker.pid for worker in self._workers]

    @property
    def starting_from(self) -> set[Path]:
        """The instances that workers which start may still read."""
        starting = [worker for worker in self._workers if worker.phase is WorkerPhase.STARTING]
        return {worker.files for worker in starting if worker.files is not None}

    @property
    def serves(self) -> bool:
        """Whether a worker accepts connections."""
        return any(worker.phase is WorkerPhase.SERVING for worker in self._workers)

    @property
    def counting_alone(self) -> int:
        """The number of workers that count calls by themselves."""
        return sum(worker.counts_alone for worker in self._workers)

    @property
    def no_keys(self) -> Sequence[str]:
        """The reasons of the workers that cannot read the identity provider's keys."""
        return [worker.no_keys for worker in self._workers if worker.no_keys is not None]

    @property
    def no_scripts(self) -> Sequence[str]:
        """The reasons of the workers that run no scripts."""
        return [worker.no_scripts for worker in self._workers if worker.no_scripts is not None]

    def begin(self) -> None:
        """Start a worker; it waits for its brief."""
        worker = WorkerProcess(self._program, self._listening, self._folder, lambda *told: self._inbox.put(told))
        worker.enter(WorkerPhase.STARTING, STARTING)
        self._workers.append(worker)
        if self._brief is not None:
            worker.start(self._brief)

    def run(self, duties: SupervisorHooks) -> int:
        """Keep workers running until a signal stops them; return the exit status after the last has ended."""
        for number in STATUS:
            signal.signal(number, lambda told, _: self._inbox.put(signal.Signals(told)))
        on_hangup(lambda: self._inbox.put(signal.SIGHUP))
        self._brief = duties.brief
        for worker in self._workers:
            worker.start(self._brief)
        while self._workers or self._status is None:
            self._settle()
            with suppress(Empty):
                self._heed(self._inbox.get(timeout=TICK), duties)
        return self._status

    def _settle(self) -> None:
        """Take one step towards the wanted number of up-to-date workers."""
        now = monotonic()
        for worker in self._workers:
            if now > worker.limit:
                log.warning("worker %d is %s for too long and is killed", worker.pid, worker.phase.value)
                worker.kill()
        if self._status is not None:
            return
        serving = [worker for worker in self._workers if worker.phase is WorkerPhase.SERVING]
        for worker in serving:
            if (held := anonymous_bytes(worker.pid)) > self._ceiling:
                self._replace_full(worker, held)
        starting = any(worker.phase is WorkerPhase.STARTING for worker in self._workers)
        fresh = sum(not worker.outdated for worker in serving)
        room = len(self._workers) <= 2 * self._wanted  # limits workers that leave slowly
        starts = fresh < self._wanted and room and not starting and now >= self._next_start
        fits = not self._workers or self._container is None or self._container.holds_another()
        leaving = any(worker.phase is WorkerPhase.LEAVING for worker in self._workers)
        if starts and fits:
            self.begin()
        outdated = [worker for worker in serving if worker.outdated]
        if outdated and (len(serving) > self._wanted or (starts and not fits and not leaving)):
            outdated[0].leave(self._answering + RESTING, patiently=True)

    def _heed(self, heard: Heard, duties: SupervisorHooks) -> None:
        match heard:
            case worker, told:
                self._hear(worker, told, duties)
            case signal.SIGHUP:
                brief = duties.reread()
                if brief is not None:
                    self._brief = brief
                    for worker in self._workers:
                        worker.outdated = True
            case _ if self._status is None:
                self._stop(STATUS[heard])
            case _:
                log.warning("told to stop again; calls in flight are cut")
                for worker in self._workers:
                    worker.kill()

    def _hear(self, worker: WorkerProcess, told: WorkerMessage, duties: SupervisorHooks) -> None:
        match told:
            case Ready():
                self._serves(worker)
                duties.serving()
            case LocalCounting(alone):
                worker.counts_alone = alone
            case SigningKeysUnavailable(reason):
                worker.no_keys = reason
            case ScriptsUnavailable(reason):
                worker.no_scripts = reason
            case CallOverrun(tool):
                log.error("a call of %s does not end; worker %d is replaced", tool, worker.pid)
                worker.outdated = True
            case MemoryShort(held):
                self._replace_full(worker, held)
            case WorkerExit():
                self._workers.remove(worker)
                duties.ended(worker.pid)
                self._gone(worker, told)

    def _replace_full(self, worker: WorkerProcess, held: int) -> None:
        """Replace a worker that holds too much memory: it is asked to leave once another serves."""
        if not worker.outdated:
            log.warning("worker %d holds %d MB of its own and is replaced", worker.pid, held >> 20)
            worker.outdated = True

    def _serves(self, worker: WorkerProcess) -> None:
        log.info("worker %d serves", worker.pid)
        if self._status is None:
            worker.enter(WorkerPhase.SERVING, float("inf"))

    def _gone(self, worker: WorkerProcess, ended: WorkerExit) -> None:
        if worker.phase is WorkerPhase.LEAVING:
            log.info("worker %d left", worker.pid)
            return
        log.error("worker %d ended while it was %s, %s", worker.pid, worker.phase.value, ended)
        steady = worker.phase is WorkerPhase.SERVING and monotonic() - worker.since > STEADY
        if steady:
            self._backoff.reset()
        else:
            self._backoff.fail()
        self._next_start = monotonic() + self._backoff.delay

    def _stop(self, status: int) -> None:
        log.info("stops; calls in flight are answered first")
        self._status = status
        for shared in self._listening:
            shared.close()
        for worker in self._workers:
            if worker.phase is WorkerPhase.STARTING:
                worker.kill()
            worker.leave(self._answering, patiently=False)
