"""A breaker: what spares callers the wait for a store that did not answer the last times."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import uniform
from threading import Lock
from time import monotonic

from server.ports import StoreDown, StoreFull

FAILURES = 3  # in a row, until nobody is let through
SOONEST, LATEST = 2.0, 30.0  # seconds until one is again, to see


class Breaker:
    """Lets calls through to a store while it answers; one at a time to see whether it does again."""

    def __init__(self, words: str) -> None:
        """`words` say that the store is not asked now."""
        self._words = words
        self._lock = Lock()
        self._failures = 0
        self._pause = SOONEST
        self._next = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the store is being spared."""
        return self._failures >= FAILURES

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Run a block that asks the store; StoreDown at once while the store is being spared."""
        with self._lock:
            if self._failures >= FAILURES:
                if monotonic() < self._next:
                    raise StoreDown(self._words)
                self._spare()  # the others, while this call sees how it stands
        try:
            yield
        except StoreFull:  # it answered
            self._answered()
            raise
        except StoreDown:
            self._failed()
            raise
        else:
            self._answered()

    def _failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures == FAILURES:
                self._spare()

    def _answered(self) -> None:
        with self._lock:
            self._failures, self._pause = 0, SOONEST

    def _spare(self) -> None:
        self._next = monotonic() + self._pause * uniform(0.8, 1.2)  # noqa: S311 - so that not all servers ask at once
        self._pause = min(2 * self._pause, LATEST)
