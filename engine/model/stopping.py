"""Stopping: how a long computation learns that nobody waits for it any more.

The caller passes a `Stop`. A call of it returns if the work should continue, and raises if the client is gone or the
deadline has passed. The module stands alone because every room of the engine uses it and it needs none of them.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Stop = Callable[[], None]
STRIDE = 1000  # items between two calls of `stop`, which reads a clock


def never() -> None:
    """Continue, always."""


def watched(items: Iterable[Item], stop: Stop) -> Iterator[Item]:
    """Yield items; call `stop` before the first and before every thousandth after it."""
    for at, item in enumerate(items):
        if at % STRIDE == 0:
            stop()
        yield item
