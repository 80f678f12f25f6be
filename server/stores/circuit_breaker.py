"""A circuit breaker: fails calls to a store immediately while the store does not answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import uniform
from threading import Lock
from time import monotonic

from server.base.interfaces import StoreDown, StoreFull

FAILURES = 3  # in a row, until the breaker opens
SOONEST, LATEST = 2.0, 30.0  # seconds until the next test


class CircuitBreaker:
    """Opens after repeated failures of a store; then lets one call at a time test whether the store answers again."""

    def __init__(self, words: str = "", failure: type[StoreDown] = StoreDown, latest: float = LATEST) -> None:
        """`words` is the message while open, by default the last failure; `failure` is the error that opens it."""
        self._words = words
        self._failure = failure
        self._latest = latest
        self._lock = Lock()
        self._message = ""
        self._failures = 0
        self._pause = SOONEST
        self._next = 0.0

    @property
    def is_open(self) -> bool:
        """Whether calls fail without asking the store."""
        return self._failures >= FAILURES

    @property
    def is_due(self) -> bool:
        """Whether the breaker is open and the next test of the store is due."""
        return self.is_open and monotonic() >= self._next

    @contextmanager
    def watched(self, *, trying: bool = True) -> Iterator[None]:
        """Run a block that uses the store; raises StoreDown immediately while the breaker is open.

        With `trying=False` the block never serves as the test.
        """
        with self._lock:
            trial = self.is_open
            if trial:
                if not (trying and self.is_due):
                    raise StoreDown(self._words or self._message)
                self._next = monotonic() + self._pause  # other calls fail while this one tests the store
        try:
            yield
        except StoreDown as down:
            if isinstance(down, self._failure) and not isinstance(down, StoreFull):
                self._failed(str(down), trial=trial)
            else:
                self._answered()
            raise
        else:
            self._answered()

    def _failed(self, message: str, *, trial: bool) -> None:
        with self._lock:
            self._failures += 1
            self._message = message
            if trial or self._failures == FAILURES:
                self._next = monotonic() + self._pause * uniform(0.8, 1.2)  # noqa: S311 - spreads the tests of several processes
                self._pause = min(2 * self._pause, self._latest)

    def _answered(self) -> None:
        with self._lock:
            self._failures, self._pause = 0, SOONEST
