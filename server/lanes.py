"""Lanes: threads that take the work of callers in turn, and that of each caller in order.

    lane = Lane("heavy", threads=2)
    turn = lane.submit("ann", work)  # whose result is that of the work
    turn.cancel()                    # where it still waits: it never runs, and leaves the lane at once

Who has the least running goes first, so that nobody waits behind all that somebody else asked for.
"""

from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Any, Generic, NamedTuple, TypeVar

Result = TypeVar("Result")


class Waiting(NamedTuple, Generic[Result]):
    """Work that waits for a thread."""

    work: Callable[[], Result]
    turn: Future[Result]


class Lane:
    """Some threads, and the callers who wait for them."""

    def __init__(self, name: str, threads: int) -> None:
        self._lines: dict[str, deque[Waiting[Any]]] = {}  # of each caller who waits, in the order of their turns
        self._running: Counter[str] = Counter()
        self._changed = Condition()
        self._closed = False
        for number in range(threads):
            Thread(target=self._run, name=f"{name}-{number}", daemon=True).start()

    def submit(self, caller: str, work: Callable[[], Result]) -> Future[Result]:
        """Queue some work of a caller, which must not raise: it answers its own faults."""
        waiting = Waiting(work, Future[Result]())
        with self._changed:
            self._lines.setdefault(caller, deque()).append(waiting)
            self._changed.notify()
        waiting.turn.add_done_callback(lambda _: self._withdraw(caller, waiting))
        return waiting.turn

    def close(self) -> None:
        """Take no more work and drop what waits; what runs is left to end."""
        with self._changed:
            self._closed = True
            left = [waiting for line in self._lines.values() for waiting in line]
            self._changed.notify_all()
        for waiting in left:
            waiting.turn.cancel()

    def _withdraw(self, caller: str, waiting: Waiting[Any]) -> None:
        if not waiting.turn.cancelled():
            return
        with self._changed:
            line = self._lines.get(caller)
            if line is not None and waiting in line:
                line.remove(waiting)
                if not line:
                    del self._lines[caller]

    def _run(self) -> None:
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

    def _next(self) -> tuple[str, Waiting[Any]] | None:
        with self._changed:
            while not self._lines:
                if self._closed:
                    return None
                self._changed.wait()
            caller = min(self._lines, key=self._running.__getitem__)  # of several, who has waited for a turn longest
            line = self._lines.pop(caller)
            waiting = line.popleft()
            if line:
                self._lines[caller] = line
            self._running[caller] += 1
            return caller, waiting
