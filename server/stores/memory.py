"""Snapshots and leases in the memory of one process, and the references to snapshots."""

import asyncio
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from secrets import choice, token_hex
from string import ascii_lowercase
from threading import Lock
from time import monotonic

from msgspec import Struct

from server.base.interfaces import CapReached

# References to snapshots: 150 random bits in small letters, which models copy without mistakes. A digit would count for
# more than a letter in the length of an answer, so that chance would decide how many rows it shows.


LETTERS = 32  # of a reference
REFERENCE = re.compile(rf"ds_[a-z2-7]{{{LETTERS}}}")  # release 0.3.0 made them with digits


def new_reference() -> str:
    """Return a reference that nobody can guess."""
    return f"ds_{''.join(choice(ascii_lowercase) for _ in range(LETTERS))}"


def is_reference(text: str) -> bool:
    """Tell whether a text has the shape of a reference."""
    return REFERENCE.fullmatch(text) is not None


MAX_BYTES = 256 << 20  # of all snapshots together, unless a setting says otherwise


class MemorySnapshot(Struct, frozen=True):
    """A snapshot and its expiry times."""

    owner: str
    data: bytes
    idle: float  # when it expires unless it is opened
    ends: float  # when it expires in any case


class MemorySnapshots:
    """Snapshots of one process; the least recently opened are dropped when they exceed the memory limit."""

    def __init__(
        self,
        idle_seconds: float,
        seconds: float,
        clock: Callable[[], float] = monotonic,
        most_bytes: int = MAX_BYTES,
    ) -> None:
        self._most_bytes = most_bytes
        self._idle = idle_seconds
        self._longest = seconds
        self._clock = clock
        self._kept: OrderedDict[str, MemorySnapshot] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    @contextmanager
    def keeping(self, owner: str, data: bytes) -> Iterator[str]:
        """Keep bytes, and run a block with their reference."""
        reference, now = new_reference(), self._clock()
        with self._lock:
            ends = now + self._longest
            self._kept[reference] = MemorySnapshot(owner, data, min(now + self._idle, ends), ends)
            self._bytes += len(data)
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._kept)))
        yield reference

    def open(self, owner: str, reference: str) -> bytes | None:
        """Return an owner's bytes under a reference, None if there are none."""
        with self._lock:
            kept, now = self._kept.get(reference), self._clock()
            if kept is not None and now >= kept.idle:
                self._drop(reference)
            elif kept is not None and kept.owner == owner:
                self._kept[reference] = MemorySnapshot(owner, kept.data, min(now + self._idle, kept.ends), kept.ends)
                self._kept.move_to_end(reference)
                return kept.data
        return None

    def _drop(self, reference: str) -> None:
        self._bytes -= len(self._kept.pop(reference).data)


KEPT_SHARE, FEW_CALLS = 4, 2  # the last quarter of the cap of all is kept for callers with fewer than two calls


class MemoryLeases:
    """Leases of one process, on one event loop."""

    def __init__(self, calls_per_caller: int, calls: int) -> None:
        self._calls_per_caller = calls_per_caller
        self._calls = calls
        self._held: dict[str, str] = {}  # lease -> subject
        self._of: Counter[str] = Counter()

    @property
    def held(self) -> Collection[str]:
        """The current leases."""
        return tuple(self._held)

    def count(self, subject: str) -> int:
        """Return how many leases a caller holds."""
        return self._of[subject]

    async def take(self, subject: str) -> str:
        """Return a new lease; CapReached if a limit is reached."""
        self.need_room(subject)
        lease = token_hex(8)
        self.hold(lease, subject)
        return lease

    def is_full(self, subject: str) -> bool:
        """Tell whether a caller may hold no further lease."""
        try:
            self.need_room(subject)
        except CapReached:
            return True
        return False

    def need_room(self, subject: str) -> None:
        """Raise CapReached if a caller may hold no further lease."""
        if self._of[subject] >= self._calls_per_caller:
            raise CapReached("caller")
        kept = self._calls // KEPT_SHARE if self._of[subject] >= FEW_CALLS else 0
        if len(self._held) >= self._calls - kept:
            raise CapReached("all")

    def hold(self, lease: str, subject: str) -> None:
        """Count a lease, even above the limits."""
        self._held[lease] = subject
        self._of[subject] += 1

    async def give_back(self, lease: str) -> None:
        """Release a lease. No-op if it has expired."""
        subject = self._held.pop(lease, None)
        if subject is not None:
            self._of[subject] -= 1
            if not self._of[subject]:
                del self._of[subject]

    async def keep(self) -> None:
        """Wait until cancelled: leases in memory need no renewal."""
        await asyncio.Event().wait()
