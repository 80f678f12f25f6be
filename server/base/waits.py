"""Waits: how a thread says that it waits for something far away, and computes nothing meanwhile.

It stands alone because the lanes of calls and the warehouses far below them share it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import local


class ThreadWaits(local):
    """What this thread does around a wait: by default nothing."""

    substituted: Callable[[], AbstractContextManager[None]] = staticmethod(nullcontext)


WAITS = ThreadWaits()
