"""The memory ceiling of a worker: what it holds of its own, and whether a large report fits below.

Memory of its own is anonymous (RssAnon). Pages of the mapped books do not count: the kernel takes them back.
"""

import os
from collections.abc import Callable
from pathlib import Path

from engine.model.errors import BadArguments
from engine.plans.report_size import ReportSize
from server.base.errors import Busy

MEGABYTE = 1 << 20
RETRY_AFTER_MS = 2000  # about what a worker takes to start


def anonymous_bytes(process: int | None = None) -> int:
    """Return the anonymous memory of a process, by default this one; 0 if it is gone or the system does not say."""
    try:
        lines = Path(f"/proc/{process or os.getpid()}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:")), 0)


class MemoryCeiling:
    """Admits large reports, one at a time, while the memory that each is estimated to take is there."""

    def __init__(self, ceiling: int, short: Callable[[int], None] = lambda _: None) -> None:
        """`short` is called with the memory that this process holds if a report would fit into a new process only."""
        self._ceiling = ceiling
        self._short = short
        self._at_start = anonymous_bytes()

    def need(self, size: ReportSize) -> None:
        """Raise Busy if a report does not fit now, BadArguments if it does not fit into a new process either."""
        held = anonymous_bytes()
        if held + size.bytes <= self._ceiling:
            return
        if self._at_start + size.bytes > self._ceiling:
            raise BadArguments(
                f"The report would take about {size.bytes // MEGABYTE:,} MB of memory, more than this server has for "
                "one call. To get less, filter a dimension, leave one out of dimensions, choose a shorter range, or "
                "ask for fewer scenarios.",
                field="dimensions",
            )
        self._short(held)
        raise Busy(
            "The server has no memory for so large a report just now. Call again shortly, or ask for less at once.",
            retry_after_ms=RETRY_AFTER_MS,
        )
