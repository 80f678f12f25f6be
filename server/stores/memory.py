"""Stores in memory: for one process, and gone with it."""

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from secrets import token_hex
from threading import Lock

from engine.calendar.periods import Span
from engine.feeds import LoadAttempt, LoadStatus
from server.ports import CapReached, LoadsAsked, LoadTally


class MemoryLoads:
    """The history of loads, as long as this process lives."""

    def __init__(self) -> None:
        self._attempts: dict[str, LoadAttempt] = {}  # in the order in which they began
        self._lock = Lock()

    def begin(self, attempt: LoadAttempt) -> None:
        """Record an attempt that starts."""
        with self._lock:
            self._attempts.setdefault(attempt.load_id, attempt)

    def finish(self, attempt: LoadAttempt) -> None:
        """Record how an attempt ended, once."""
        with self._lock:
            known = self._attempts.get(attempt.load_id)
            if known is not None and known.status is LoadStatus.RUNNING:
                self._attempts[attempt.load_id] = attempt

    def find(self, asked: LoadsAsked) -> Sequence[LoadAttempt]:
        """Return attempts, the latest first."""
        found = [attempt for attempt in reversed(self._attempts.values()) if holds(asked, attempt)]
        return found[: asked.limit]

    def get(self, load_id: str) -> LoadAttempt | None:
        """Return one attempt, None where there is none."""
        return self._attempts.get(load_id)

    def latest(self, bindings: Collection[str], statuses: Collection[LoadStatus]) -> Sequence[LoadAttempt]:
        """Return of each of some feeds the attempt that began last among those that stand so."""
        found = {attempt.binding: attempt for attempt in self._attempts.values() if attempt.status in statuses}
        return [attempt for binding, attempt in found.items() if binding in bindings]

    def running(self) -> Sequence[LoadAttempt]:
        """Return the attempts that have not ended."""
        return [attempt for attempt in self._attempts.values() if attempt.status is LoadStatus.RUNNING]

    def tally(self) -> Sequence[LoadTally]:
        """Return the attempts of every feed, counted by status."""
        ended: dict[tuple[str, LoadStatus], list[datetime | None]] = {}
        for attempt in self._attempts.values():
            ended.setdefault((attempt.binding, attempt.status), []).append(attempt.finished_at)
        return [
            LoadTally(binding=binding, status=status, attempts=len(ends), latest=max(filter(None, ends), default=None))
            for (binding, status), ends in ended.items()
        ]

    def last_due(self, binding: str) -> datetime | None:
        """Return the latest slot of a feed's schedule that some attempt answered."""
        slots = (attempt.due_at for attempt in self._attempts.values() if attempt.binding == binding)
        return max((slot for slot in slots if slot), default=None)


class MemoryLeases:
    """Places for the calls of one process, on one event loop."""

    def __init__(self, calls_per_caller: int, calls: int) -> None:
        self._calls_per_caller = calls_per_caller
        self._calls = calls
        self._held: dict[str, str] = {}  # whose each lease is
        self._of: Counter[str] = Counter()

    @property
    def held(self) -> Collection[str]:
        """The leases that are held now."""
        return tuple(self._held)

    async def take(self, subject: str) -> str:
        """Take a place and return the lease on it; CapReached where there is none."""
        self.need_room(subject)
        lease = token_hex(8)
        self.hold(lease, subject)
        return lease

    def need_room(self, subject: str) -> None:
        """Raise CapReached where there is no place for a caller."""
        if self._of[subject] >= self._calls_per_caller:
            raise CapReached("caller")
        if len(self._held) >= self._calls:
            raise CapReached("all")

    def hold(self, lease: str, subject: str) -> None:
        """Count a lease, whether or not there is a place for it."""
        self._held[lease] = subject
        self._of[subject] += 1

    async def give_back(self, lease: str) -> None:
        """Give a place back; one that was lost already is none to give."""
        subject = self._held.pop(lease, None)
        if subject is not None:
            self._of[subject] -= 1
            if not self._of[subject]:
                del self._of[subject]

    async def keep(self) -> None:
        """Keep what is held, until cancelled: nothing is lost here."""
        await asyncio.Event().wait()


def holds(asked: LoadsAsked, attempt: LoadAttempt) -> bool:
    """Tell whether an attempt is one of those asked for."""
    return (
        attempt.binding in asked.bindings
        and asked.target in (None, attempt.target)
        and attempt.status in asked.statuses
        and may_touch(told_days(asked, attempt), asked.span)
    )


def told_days(asked: LoadsAsked, attempt: LoadAttempt) -> Span | None:
    """Return the days of an attempt as far as they are told, None where they are not."""
    return None if attempt.periods is None and attempt.binding in asked.cut else attempt.span


def may_touch(span: Span | None, asked: Span | None) -> bool:
    """Tell whether a load of some days may have touched others; one of unknown days may have."""
    return span is None or asked is None or span.overlap(asked) is not None
