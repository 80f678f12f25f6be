"""Lanes: pools of threads that are fair to callers.

The caller with the fewest running calls goes first, and the calls of one caller keep their order. A thread that waits
for an engine far away takes no place: another runs the next call meanwhile.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Condition, Thread, current_thread
from typing import Any, Generic, NamedTuple, TypeVar

from server.base.waits import WAITS

Result = TypeVar("Result")


class QueuedCall(NamedTuple, Generic[Result]):
    """A call that waits for a thread."""

    work: Callable[[], Result]
    turn: Future[Result]


class Lane:
    """A pool of threads and the queues of the callers who wait for them."""

    def __init__(self, name: str, threads: int) -> None:
        self._lines: dict[str, deque[QueuedCall[Any]]] = {}  # of each caller who waits, in the order of their turns
        self._running: Counter[str] = Counter()
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
            self._changed.notify()
        waiting.turn.add_done_callback(lambda _: self._withdraw(caller, waiting))
        return waiting.turn

    def close(self) -> None:
        """Take no more work and drop queued work; running work continues to its end."""
        with self._changed:
            self._closed = True
            left = [waiting for line in self._lines.values() for waiting in line]
            self._changed.notify_all()
        for waiting in left:
            waiting.turn.cancel()

    def _withdraw(self, caller: str, waiting: QueuedCall[Any]) -> None:
        if not waiting.turn.cancelled():
            return
        with self._changed:
            line = self._lines.get(caller)
            if line is not None and waiting in line:
                line.remove(waiting)
                if not line:
                    del self._lines[caller]

    @contextmanager
    def _substituted(self) -> Iterator[None]:
        """Put another thread in the place of this one, which waits for an engine far away during the block."""
        Thread(target=self._run, name=f"{current_thread().name} in place", daemon=True).start()
        try:
            yield
        finally:
            with self._changed:
                self._surplus += 1
                self._changed.notify_all()

    def _run(self) -> None:
        WAITS.substituted = self._substituted
        while (taken := self._next()) is not None:
            caller, waiting = taken
            if waiting.turn.set_running_or_notify_cancel():
                waiting.turn.set_result(waiting.work())
            with self._changed:
                self._running[caller] -= 1
                if not self._running[caller]:
                    del self._running[caller]
                if caller in self._lines:  # whoever came meanwhile has waited longer for a turn
                    self._lines[caller] = self._lines.pop(caller)

    def _next(self) -> tuple[str, QueuedCall[Any]] | None:
        with self._changed:
            while not self._lines and not self._surplus:
                if self._closed:
                    return None
                self._changed.wait()
            if self._surplus:
                self._surplus -= 1
                return None
            caller = min(self._lines, key=self._running.__getitem__)  # of several, who has waited for a turn longest
            line = self._lines.pop(caller)
            waiting = line.popleft()
            if line:
                self._lines[caller] = line
            self._running[caller] += 1
            return caller, waiting
