"""Stopping: how long work learns that nobody waits for it any more.

Whoever asks for a piece of work hands over a `Stop`. It returns where the work should go on and raises where it should
not: the client is gone, or the deadline has passed.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Stop = Callable[[], None]
STRIDE = 1000  # items between two looks; a look reads a clock


def never() -> None:
    """Go on."""


def watched(items: Iterable[Item], stop: Stop) -> Iterator[Item]:
    """Yield items, looking at `stop` before the first and then before every thousandth."""
    for at, item in enumerate(items):
        if at % STRIDE == 0:
            stop()
        yield item
