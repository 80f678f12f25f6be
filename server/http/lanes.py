"""Lanes: pools of threads that are fair to callers.

The caller who used the fewest seconds in the last minute goes first, and the calls of one caller keep their order.
Lanes may count seconds together. A thread that waits for an engine far away takes no place: another runs the next call
meanwhile.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from threading import Condition, Lock, Thread, current_thread, get_ident
from time import monotonic_ns
from typing import Any, Generic, NamedTuple, TypeVar

from server.base.waits import WAITS

Result = TypeVar("Result")
SECOND = 1_000_000_000  # in nanoseconds
REMEMBERED = 60 * SECOND  # for which a call counts against its caller after its end
EQUAL = SECOND // 10  # callers whose use differs by less take turns
MAX_PAUSE = 60.0  # seconds after which a thread looks again, though nothing told it to


class LaneUse:
    """How long the calls of each caller held threads in the last minute."""

    def __init__(self, clock: Callable[[], int] = monotonic_ns) -> None:
        """`clock` counts nanoseconds."""
        self.clock = clock
        self._ended: deque[tuple[int, str, int]] = deque()  # when, of whom, how long
        self._spent: Counter[str] = Counter()
        self._begun: dict[object, tuple[str, int]] = {}
        self._lock = Lock()

    def begin(self, caller: str) -> object:
        """Count a call of a caller from now on; return what ends it."""
        call = object()
        with self._lock:
            self._begun[call] = caller, self.clock()
        return call

    def end(self, call: object) -> None:
        """Count a call no further."""
        with self._lock:
            now = self.clock()
            caller, begun = self._begun.pop(call)
            self._ended.append((now, caller, now - begun))
            self._spent[caller] += now - begun
            self._forget(now)

    def spent(self, callers: Collection[str]) -> Mapping[str, int]:
        """Return what each of some callers used in the last minute, in tenths of a second."""
        with self._lock:
            now = self.clock()
            self._forget(now)
            spent = {caller: self._spent[caller] for caller in callers}
            for caller, begun in self._begun.values():
                if caller in spent:
                    spent[caller] += now - begun
        return {caller: used // EQUAL for caller, used in spent.items()}

    def _forget(self, now: int) -> None:
        while self._ended and self._ended[0][0] < now - REMEMBERED:
            _, caller, used = self._ended.popleft()
            self._spent[caller] -= used
            if self._spent[caller] <= 0:
                del self._spent[caller]


class QueuedCall(NamedTuple, Generic[Result]):
    """A call that waits for a thread."""

    work: Callable[[], Result]
    turn: Future[Result]


async def outcome_of(turn: Future[Result]) -> Result:
    """Return the result of a turn; who stops waiting cancels it.

    asyncio.wrap_future leaves each turn in a cycle with itself, so that its answer stays until the collector comes.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[Result] = loop.create_future()
    turn.add_done_callback(partial(arrive, loop, arrived))
    try:
        return await arrived
    except asyncio.CancelledError:
        turn.cancel()
        raise


def arrive(loop: asyncio.AbstractEventLoop, arrived: "asyncio.Future[Result]", turn: Future[Result]) -> None:
    """Hand the result of a turn to the event loop that waits for it, from whatever thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(settle, arrived, turn)


def settle(arrived: "asyncio.Future[Result]", turn: Future[Result]) -> None:
    """Give what a turn came to to who waits, if somebody still does."""
    if arrived.done():
        return
    if turn.cancelled():
        arrived.cancel()
    else:
        arrived.set_result(turn.result())


class Lane:
    """A pool of threads and the queues of the callers who wait for them."""

    def __init__(self, name: str, threads: int, use: LaneUse | None = None, alone: float = 0.0) -> None:
        """`alone` is for how many seconds a call runs before one of another caller may begin beside it."""
        self._lines: dict[str, deque[QueuedCall[Any]]] = {}  # of each caller who waits, in the order of their turns
        self._running: Counter[str] = Counter()
        self._alone = int(alone * SECOND)
        self._computing: dict[int, tuple[str, int]] = {}  # of each thread: its caller, and since when
        self._use = use or LaneUse()
        self._changed = Condition()
        self._closed = False
        self._surplus = 0  # threads to end: as many stood in for others that are back
        for number in range(threads):
            Thread(target=self._run, name=f"{name}-{number}", daemon=True).start()

    def submit(self, caller: str, work: Callable[[], Result]) -> Future[Result]:
        """Queue work of a caller; the work must not raise, but return its errors as answers."""
        waiting = QueuedCall(work, Future[Result]())
        with self._changed:
            self._lines.setdefault(caller, deque()).append(waiting)
            self._wake()
        waiting.turn.add_done_callback(partial(self._withdraw, caller))
        return waiting.turn

    def others_wait(self, caller: str) -> bool:
        """Tell whether a call of somebody else waits for a thread."""
        with self._changed:
            return len(self._lines) > (caller in self._lines)

    def close(self) -> None:
        """Take no more work and drop queued work; running work continues to its end."""
        with self._changed:
            self._closed = True
            left = [waiting for line in self._lines.values() for waiting in line]
            self._changed.notify_all()
        for waiting in left:
            waiting.turn.cancel()

    def _wake(self) -> None:
        if self._alone:
            self._changed.notify_all()  # whichever thread may take the call
        else:
            self._changed.notify()

    def _withdraw(self, caller: str, turn: Future[Any]) -> None:
        """Take a call that was cancelled out of its line; a turn keeps this, so that it must not keep the turn."""
        if not turn.cancelled():
            return
        with self._changed:
            left = deque(waiting for waiting in self._lines.get(caller, ()) if waiting.turn is not turn)
            if left:
                self._lines[caller] = left
            else:
                self._lines.pop(caller, None)

    @contextmanager
    def _substituted(self) -> Iterator[None]:
        """Put another thread in the place of this one, which waits for an engine far away during the block."""
        with self._changed:
            computing = self._computing.pop(get_ident())
            self._wake()
        Thread(target=self._run, name=f"{current_thread().name} in place", daemon=True).start()
        try:
            yield
        finally:
            with self._changed:
                self._computing[get_ident()] = computing
                self._surplus += 1
                self._changed.notify_all()

    def _run(self) -> None:
        WAITS.substituted = self._substituted
        while (taken := self._next()) is not None:
            caller, waiting = taken
            call = self._use.begin(caller)
            if waiting.turn.set_running_or_notify_cancel():
                waiting.turn.set_result(waiting.work())
            del taken, waiting  # a thread that waits holds no answer
            self._use.end(call)
            with self._changed:
                del self._computing[get_ident()]
                self._running[caller] -= 1
                if not self._running[caller]:
                    del self._running[caller]
                if caller in self._lines:  # whoever came meanwhile has waited longer for a turn
                    self._lines[caller] = self._lines.pop(caller)
                if self._alone:
                    self._changed.notify_all()

    def _next(self) -> tuple[str, QueuedCall[Any]] | None:
        with self._changed:
            while not self._surplus:
                pause = self._pause() if self._lines else None
                if pause == 0:
                    return self._take()
                if pause is None and self._closed:
                    return None
                self._changed.wait(pause)
            self._surplus -= 1
            return None

    def _pause(self) -> float:
        """Return the seconds until a call may begin beside those that run, 0 if one may now."""
        if not self._alone or not self._computing:
            return 0.0
        if not self._lines.keys() - {caller for caller, _ in self._computing.values()}:
            return MAX_PAUSE  # the end of a call that runs ends it
        since = max(begun for _, begun in self._computing.values())
        return max(0, since + self._alone - self._use.clock()) / SECOND

    def _take(self) -> tuple[str, QueuedCall[Any]]:
        """Return the next call: of callers who used as much, that of whom least runs, then of who waits longest."""
        beside = {caller for caller, _ in self._computing.values()} if self._alone else ()
        callers = [caller for caller in self._lines if caller not in beside]
        spent = self._use.spent(callers)
        caller = min(callers, key=lambda waiting: (spent[waiting], self._running[waiting]))
        line = self._lines.pop(caller)
        waiting = line.popleft()
        if line:
            self._lines[caller] = line
        self._running[caller] += 1
        self._computing[get_ident()] = caller, self._use.clock()
        return caller, waiting
