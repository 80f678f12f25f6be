"""Stopping: how a long computation learns that nobody waits for it any more.

A `Stop` returns if the work should continue, and raises if the client is gone or the deadline has passed. A call runs
within `stopped_by`, so that loops deep inside find its `Stop` without being handed it. The module stands alone because
every room of the engine uses it and it needs none of them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from threading import Lock
from typing import Any, TypeVar

Item = TypeVar("Item")
Stop = Callable[[], None]
LOOK_SECONDS = 0.05  # between two looks of whoever waits for another thread
STRIDE = 1000  # items between two calls of `stop`, which reads a clock
FEW = 64  # times shorter than a stride: so few items are gone through without a look
VIEWED = dict[str, str]()
VIEWS = (type(VIEWED.keys()), type(VIEWED.values()), type(VIEWED.items()))
COUNTED: tuple[type[Collection[Any]], ...] = (list, tuple, range, dict, set, frozenset, *VIEWS)  # of a known length


def never() -> None:
    """Continue, always."""


CURRENT: ContextVar[Stop] = ContextVar("stop", default=never)  # of the call that runs


def look() -> None:
    """Call the `Stop` of the call that runs."""
    CURRENT.get()()


@contextmanager
def locked(lock: Lock) -> Iterator[None]:
    """Hold a lock during a block; whoever waits for it looks at `stop` meanwhile."""
    while not lock.acquire(timeout=LOOK_SECONDS):
        look()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def stopped_by(stop: Stop) -> Iterator[None]:
    """Run a block whose loops look at `stop`."""
    token = CURRENT.set(stop)
    try:
        yield
    finally:
        CURRENT.reset(token)


def watched(items: Iterable[Item], stop: Stop | None = None) -> Iterator[Item]:
    """Yield items; call `stop` before the first and before every thousandth after it; by default the call's own.

    A few items are not worth a look: whoever loops over many lists of a few watches that loop.
    """
    if isinstance(items, COUNTED):
        if len(items) <= STRIDE // FEW:
            return iter(items)
        if len(items) <= STRIDE:
            (stop or CURRENT.get())()
            return iter(items)
    return each_watched(items, stop or CURRENT.get())


def each_watched(items: Iterable[Item], stop: Stop) -> Iterator[Item]:
    """Yield items, a stride between two looks."""
    remaining = iter(items)
    for first in remaining:
        stop()
        yield first
        yield from islice(remaining, STRIDE - 1)


def taken(ahead: list[Item]) -> Iterator[Item]:
    """Take items off the end of a list, to which the loop over them may add, until it is empty."""
    while ahead:
        yield ahead.pop()
