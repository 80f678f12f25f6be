"""What the daemon knows of the attempts to load each feed: what is recorded, and what could not be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from engine.feeds import Binding, LoadAttempt, LoadStatus
from server.ports import Loads, LoadsAsked

RECENT = 200  # attempts of a feed that are looked at, and as many that succeeded
RECHECK = 10.0  # seconds after which it is looked whether a load of some other process still runs


@dataclass(frozen=True, slots=True)
class Known:
    """The attempts of a feed as they were at some time."""

    attempts: Sequence[LoadAttempt]
    at: float

    @property
    def is_old(self) -> bool:
        """Whether somebody else's load may have ended since."""
        running = any(attempt.status is LoadStatus.RUNNING for attempt in self.attempts)
        return running and monotonic() - self.at > RECHECK


class History:
    """The attempts of each feed, the latest first."""

    def __init__(self, loads: Loads, settle: Callable[[], None]) -> None:
        self._loads = loads
        self._settle = settle  # records how attempts ended whose process is gone
        self._known: dict[str, Known] = {}
        self._unrecorded: dict[str, list[LoadAttempt]] = {}

    def settle(self) -> None:
        """Record how attempts ended whose process is gone; StoreDown where that cannot be."""
        self._settle()
        self._known.clear()

    def of(self, binding: str) -> Sequence[LoadAttempt]:
        """Return the attempts of a feed, as known; StoreDown where they cannot be read."""
        known = self._known.get(binding)
        if known is not None and known.is_old:
            self.settle()
            known = None
        if known is None:
            known = self._known[binding] = Known(self._read(binding), monotonic())
        return [*self._unrecorded.get(binding, ()), *known.attempts]

    def anew(self, binding: str) -> Sequence[LoadAttempt]:
        """Return the attempts of a feed as they are now; StoreDown where they cannot be read."""
        self._known.pop(binding, None)
        return self.of(binding)

    def note(self, binding: Binding, slot: datetime, now: datetime, message: str) -> LoadAttempt:
        """Remember, and return, an attempt for a slot that could not be recorded itself."""
        others = [one for one in self._unrecorded.get(binding.key, ()) if one.due_at == slot]
        noted = LoadAttempt(
            load_id=f"{binding.key} {slot.isoformat()} {len(others) + 1}",
            binding=binding.key,
            source=binding.source.key,
            target=binding.target,
            mode=binding.mode,
            status=LoadStatus.FAILED_INTERRUPTED,
            started_at=now,
            finished_at=now,
            due_at=slot,
            message=message,
        )
        self._unrecorded[binding.key] = [noted, *others]
        return noted

    def _read(self, binding: str) -> Sequence[LoadAttempt]:
        recent = self._loads.find(LoadsAsked(bindings=[binding], limit=RECENT))
        succeeded = self._loads.find(LoadsAsked(bindings=[binding], statuses=[LoadStatus.SUCCESS], limit=RECENT))
        seen = {attempt.load_id for attempt in recent}
        return [*recent, *(attempt for attempt in succeeded if attempt.load_id not in seen)]
