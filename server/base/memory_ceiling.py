"""The memory ceiling of a worker: what it holds of its own, and whether a large report fits below.

Memory of its own is anonymous (RssAnon). Pages of the mapped books do not count: the kernel takes them back. Where the
container has less memory than the settings allow, the ceiling follows the container's limit.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Condition

from msgspec import Struct

from engine.model.errors import BadArguments
from engine.model.stopping import Stop, never
from engine.plans.report_size import ReportSize
from server.base.errors import Busy

MEGABYTE = 1 << 20
RETRY_AFTER_MS = 2000  # about what a worker takes to start
PARENT_BYTES = 192 * MEGABYTE  # of a container, for all that is no worker
STARTING_BYTES = 192 * MEGABYTE  # what a new worker takes before its first call
LOOK_SECONDS = 0.1  # between two looks at `stop` of a call that waits for memory
LEAST_CEILING = 256 * MEGABYTE  # below it a worker would be replaced as soon as it serves
UNLIMITED = 1 << 62  # the first version of control groups writes about 2**63
CONTROL_GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def anonymous_bytes(process: int | None = None) -> int:
    """Return the anonymous memory of a process, by default this one; 0 if it is gone or the system does not say."""
    try:
        lines = Path(f"/proc/{process or os.getpid()}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:")), 0)


class ContainerMemory(Struct, frozen=True):
    """The limit of memory that the container of this process has, and the control group that has it."""

    limit: int
    group: Path

    @property
    def held(self) -> int:
        """The anonymous memory of all processes of the container; 0 if the system does not say."""
        try:
            lines = (self.group / "memory.stat").read_text(encoding="ascii").splitlines()
        except OSError:
            return 0
        told = dict(line.split(" ", 1) for line in lines)
        return int(told.get("anon") or told.get("total_rss") or 0)

    def holds_another(self) -> bool:
        """Tell whether a new worker fits beside what the container holds now."""
        return self.held + STARTING_BYTES <= self.limit


def container_memory(root: Path = CONTROL_GROUPS, own: Path = OWN_GROUPS) -> ContainerMemory | None:
    """Return the lowest limit of memory of the control groups that this process is in; None without a limit.

    A container sees its own group as the root, so that its path below the root may not exist.
    """
    try:
        lines = own.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers in {"", "memory"}:
            top = root / controllers
            inner = top / path.lstrip("/")
            groups = [group for group in (inner, *inner.parents) if group.is_relative_to(top)]
            found += [ContainerMemory(limit, group) for group in groups if (limit := limit_of(group)) is not None]
    return min(found, key=lambda memory: memory.limit, default=None)


def limit_of(group: Path) -> int | None:
    """Return the limit of memory of a control group of either version; None without one."""
    for name in ("memory.max", "memory.limit_in_bytes"):
        try:
            text = (group / name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        return int(text) if text.isdigit() and int(text) < UNLIMITED else None
    return None


def worker_ceiling(megabytes: int, workers: int, container: ContainerMemory | None) -> int:
    """Return the bytes of its own that each worker may hold, of a setting and of the container that it runs in."""
    allowed = megabytes * MEGABYTE
    if container is None:
        return allowed
    return min(allowed, max(LEAST_CEILING, (container.limit - PARENT_BYTES) // workers))


class MemoryCeiling:
    """Admits large reports while the memory that each is estimated to take is there."""

    def __init__(
        self, ceiling: int, short: Callable[[int], None] = lambda _: None, container: ContainerMemory | None = None
    ) -> None:
        """`short` is called with the memory that this process holds if a report would fit into a new process only."""
        self._ceiling = ceiling
        self._short = short
        self._container = container
        self._at_start = anonymous_bytes()
        self._promised: dict[object, int] = {}  # of each large call that runs: what this process may come to hold
        self._changed = Condition()

    @contextmanager
    def admitting(self, stop: Stop = never) -> Iterator[Callable[[ReportSize], None]]:
        """Lend what admits the reports of one large call: it raises Busy or BadArguments, or waits for other calls."""
        call = object()
        try:
            yield partial(self._admit, call, stop)
        finally:
            with self._changed:
                self._promised.pop(call, None)
                self._changed.notify_all()

    def _admit(self, call: object, stop: Stop, size: ReportSize) -> None:
        """Admit a report of a call. A call that others run beside waits for one to end, if it has read nothing yet."""
        if self._at_start + size.bytes > self._ceiling:
            raise BadArguments(
                f"The report would take about {size.bytes // MEGABYTE:,} MB of memory, more than this server has for "
                "one call. To get less, filter a dimension, leave one out of dimensions, choose a shorter range, or "
                "ask for fewer scenarios.",
                field="dimensions",
            )
        with self._changed:
            while not self._promises(call, size):
                others = self._promised.keys() - {call}
                if not others or call in self._promised:
                    break
                stop()
                self._changed.wait(LOOK_SECONDS)
            else:
                return
        if not others and self._fits_container(size):
            self._short(anonymous_bytes())
        raise Busy(
            "The server has no memory for so large a report just now. Call again shortly, or ask for less at once.",
            retry_after_ms=RETRY_AFTER_MS,
        )

    def _promises(self, call: object, size: ReportSize) -> bool:
        """Promise the memory of a report to a call, if it is there beside what is promised to others."""
        others = (promise for other, promise in self._promised.items() if other is not call)
        reached = max(anonymous_bytes(), *others, 0) + size.bytes
        if reached > self._ceiling or not self._fits_container(size):
            return False
        self._promised[call] = reached
        return True

    def _fits_container(self, size: ReportSize) -> bool:
        """Tell whether a report fits beside what the container holds: a worker that leaves holds memory as well."""
        return self._container is None or self._container.held + size.bytes <= self._container.limit
