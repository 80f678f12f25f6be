"""The daemon: loads every feed on its schedule, each load in its own process, and takes scheduled backups."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from queue import Empty, SimpleQueue
from time import monotonic

from msgspec import Struct

from server.base.interfaces import LoadHistory, LoadQuery, StoreDown
from server.daemon.backups import BackupExit, ScheduledBackups
from server.daemon.children import ChildProcess, ProcessExit
from server.daemon.schedule import RetryPolicy, ScheduledLoad, next_load, periods_of
from server.feeds.feeds import Binding, LoadAttempt, LoadStatus
from server.ingest.delivery import rank
from server.ingest.folder import InstanceWatcher

RECENT = 200  # latest attempts of a feed that are read, and latest successes
RECHECK = 10.0  # seconds after which a running attempt is read again, because another process may have ended it


class CachedAttempts(Struct, frozen=True):
    """The attempts of a feed, and when they were read."""

    attempts: Sequence[LoadAttempt]
    at: float

    @property
    def is_old(self) -> bool:
        """Whether an attempt was running and may have ended since."""
        running = any(attempt.status is LoadStatus.RUNNING for attempt in self.attempts)
        return running and monotonic() - self.at > RECHECK


class FeedHistory:
    """The attempts of each feed, the latest first: recorded ones, and those that could not be recorded."""

    def __init__(self, loads: LoadHistory, settle: Callable[[], None]) -> None:
        self._loads = loads
        self._settle = settle  # records the end of attempts whose process is gone
        self._known: dict[str, CachedAttempts] = {}
        self._unrecorded: dict[str, list[LoadAttempt]] = {}

    def settle(self) -> None:
        """Record the end of attempts whose process is gone. Raises StoreDown."""
        self._settle()
        self._known.clear()

    def of(self, binding: str) -> Sequence[LoadAttempt]:
        """Return the attempts of a feed, from the cache if it has them. Raises StoreDown."""
        known = self._known.get(binding)
        if known is not None and known.is_old:
            self.settle()
            known = None
        if known is None:
            known = self._known[binding] = CachedAttempts(self._read(binding), monotonic())
        return [*self._unrecorded.get(binding, ()), *known.attempts]

    def latest(self, binding: str) -> Sequence[LoadAttempt]:
        """Return the attempts of a feed, read again. Raises StoreDown."""
        self._known.pop(binding, None)
        return self.of(binding)

    def note(self, binding: Binding, slot: datetime, now: datetime, message: str) -> LoadAttempt:
        """Remember and return a failed attempt that recorded nothing itself."""
        others = [one for one in self._unrecorded.get(binding.key, ()) if one.due_at == slot]
        attempt = LoadAttempt(
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
        self._unrecorded[binding.key] = [attempt, *others]
        return attempt

    def _read(self, binding: str) -> Sequence[LoadAttempt]:
        recent = self._loads.find(LoadQuery(bindings=[binding], limit=RECENT))
        succeeded = self._loads.find(LoadQuery(bindings=[binding], statuses=[LoadStatus.SUCCESS], limit=RECENT))
        seen = {attempt.load_id for attempt in recent}
        return [*recent, *(attempt for attempt in succeeded if attempt.load_id not in seen)]


TICK = 1.0  # seconds between two checks of the clock and the files
GRACE = 30.0  # seconds that loads have to end after SIGTERM
log = logging.getLogger("tieout.daemon")


class DaemonCommand(Enum):
    """A command to the daemon."""

    STOP = "stop"
    REREAD = "reread"


Inbox = SimpleQueue[DaemonCommand | ProcessExit | BackupExit]


class RunningLoad(Struct, frozen=True, kw_only=True):
    """A load in progress."""

    child: ChildProcess
    binding: Binding
    turn: ScheduledLoad
    rank: int
    before: frozenset[str]  # ids of attempts known at its start


class CachedTurn(Struct, frozen=True, kw_only=True):
    """The next load of a feed and the inputs it was computed from; valid until one of them changes."""

    binding: Binding
    attempts: Sequence[LoadAttempt]
    at: datetime
    turn: ScheduledLoad | None

    def holds(self, binding: Binding, attempts: Sequence[LoadAttempt], now: datetime) -> bool:
        """Tell whether the inputs give the same result now."""
        before = self.turn is None or now < self.turn.at
        return before and self.at <= now and self.binding is binding and self.attempts == attempts


@dataclass(kw_only=True)
class Daemon:
    """Loads the feeds of one instance on their schedules."""

    watched: InstanceWatcher
    history: FeedHistory
    command: Sequence[str]  # starts a load; feed, slot and periods are appended
    at_once: int
    inbox: Inbox
    backoff: RetryPolicy = field(default_factory=RetryPolicy)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    grace: float = GRACE
    backups: ScheduledBackups | None = None
    _running: dict[str, RunningLoad] = field(default_factory=dict)
    _turns: dict[str, CachedTurn] = field(default_factory=dict)
    _logged: dict[str, str] = field(default_factory=dict)
    _failed: bool = False

    def run(self, *, once: bool = False) -> bool:
        """Load feeds on their schedules until STOP, or with `once` until none is due. Tell whether no load failed."""
        self._settle()
        while True:
            waiting = self._step()
            if once and not waiting and not self._is_busy:
                break
            try:
                message = self.inbox.get(timeout=TICK)
            except Empty:
                continue
            if message is DaemonCommand.STOP:
                self._stop()
                break
            self._receive(message)
        return not self._failed

    @property
    def _is_busy(self) -> bool:
        """Whether a load or a backup is under way."""
        return bool(self._running) or (self.backups is not None and self.backups.running)

    def _receive(self, message: DaemonCommand | ProcessExit | BackupExit) -> None:
        if isinstance(message, ProcessExit):
            self._ended(message)
        elif isinstance(message, BackupExit):
            if self.backups is not None and not self.backups.ended(message, self.now()):
                self._failed = True
        elif self.watched.reread():
            log.info("the files of %s were reloaded", self.watched.folder)

    def _step(self) -> bool:
        """Start the loads that are due; tell whether one of them must wait."""
        if self.watched.look():
            log.info("the files of %s changed and were reloaded", self.watched.folder)
        if self.backups is not None and not self.backups.step(self.now()):
            self._failed = True
        try:
            waiting = [binding for binding in self._due() if not self._begin(binding)]
        except StoreDown as down:
            self._failed = True
            self._say("", f"the load history cannot be read: {down}; no load starts until it can", logging.ERROR)
            return False
        return bool(waiting)

    def _due(self) -> list[Binding]:
        """Return the feeds that are due; feeds that others need come first."""
        now, due = self.now(), []
        for key, binding in self.watched.instance.bindings.items():
            turn = None if key in self._running else self._turn(binding, now)
            if turn is not None and turn.at <= now:
                due.append((turn, binding))
            elif turn is not None:
                self._say(key, f"next load at {format_instant(turn.at)}{describe_try(turn)}")
        self._logged.pop("", None)
        return [binding for _, binding in sorted(due, key=lambda one: (self._rank(one[1]), one[0].at, one[1].key))]

    def _turn(self, binding: Binding, now: datetime) -> ScheduledLoad | None:
        attempts, known = self.history.of(binding.key), self._turns.get(binding.key)
        if known is None or not known.holds(binding, attempts, now):
            turn = next_load(binding, attempts, now, self.backoff)
            known = self._turns[binding.key] = CachedTurn(binding=binding, attempts=attempts, at=now, turn=turn)
        return known.turn

    def _begin(self, binding: Binding) -> bool:
        """Start a load unless it must wait; return False if it must."""
        reason = self._obstacle(binding)
        if reason is not None:
            self._say(binding.key, f"due, and waits: {reason}")
            return False
        attempts, now = self.history.latest(binding.key), self.now()
        turn = next_load(binding, attempts, now, self.backoff)
        if turn is not None and turn.at <= now:
            self._start(binding, turn, attempts, now)
        return True

    def _start(self, binding: Binding, turn: ScheduledLoad, attempts: Sequence[LoadAttempt], now: datetime) -> None:
        periods = periods_of(binding, attempts, now, self.watched.instance.catalogue.calendar)
        asked = f"{periods.start.code}..{periods.end.code}" if periods else None
        command = [*self.command, binding.key, "--due", turn.slot.isoformat(), *(("--period", asked) if asked else ())]
        of_slot = describe_try(turn) or f" for the slot of {format_instant(turn.slot)}"
        self._say(binding.key, f"starts{of_slot}{f', periods {asked}' if asked else ''}")
        try:
            child = ChildProcess(binding.key, command, self.inbox.put)
        except OSError as fault:
            self._tell_end(self.history.note(binding, turn.slot, now, f"cannot be started: {fault.strerror}"))
            return
        before = frozenset(attempt.load_id for attempt in attempts)
        self._running[binding.key] = RunningLoad(
            child=child, binding=binding, turn=turn, rank=self._rank(binding), before=before
        )

    def _obstacle(self, binding: Binding) -> str | None:
        """Return the reason why a due feed must wait; None if it can start."""
        rank = self._rank(binding)
        for key, other in self._running.items():
            if other.binding.target == binding.target:
                return f"{key} loads {binding.target}"
            if other.rank < rank:
                return f"{key} loads first, others need what it brings"
        return f"{self.at_once} loads are under way" if len(self._running) >= self.at_once else None

    def _rank(self, binding: Binding) -> int:
        return rank(binding, self.watched.instance.catalogue)

    def _ended(self, ended: ProcessExit) -> None:
        """Log the end of a load, as the history records it."""
        running = self._running.pop(ended.key)
        message = ended.last_line or f"the load ended with exit status {ended.status} and recorded nothing"
        try:
            attempt = self._recorded(running)
        except StoreDown as down:
            attempt, message = None, f"the result of the load cannot be read: {down}"
        self._tell_end(attempt or self.history.note(running.binding, running.turn.slot, self.now(), message))

    def _recorded(self, running: RunningLoad) -> LoadAttempt | None:
        """Return the attempt that a load recorded; settle it first if the load died before it recorded its end."""
        for attempts in (self.history.latest, self._settled):
            answers = [one for one in attempts(running.binding.key) if one.due_at == running.turn.slot]
            new = next((one for one in answers if one.load_id not in running.before), None)
            if new is None or new.status is not LoadStatus.RUNNING:
                return new
        return None

    def _settled(self, key: str) -> Sequence[LoadAttempt]:
        self.history.settle()
        return self.history.of(key)

    def _tell_end(self, attempt: LoadAttempt) -> None:
        self._failed = self._failed or attempt.status.failed
        rows = "" if attempt.status.failed else f", {attempt.rows_landed:,} rows landed"
        rejected = f", {attempt.rows_rejected:,} rejected" if attempt.rows_rejected else ""
        why = f": {attempt.message}" if attempt.message else ""
        level = logging.ERROR if attempt.status.failed else logging.INFO
        result = f"{attempt.status.value}{rows}{rejected}{why}"
        self._say(attempt.binding, result, level, status=attempt.status.value, load_id=attempt.load_id)

    def _settle(self) -> None:
        try:
            self.history.settle()
        except StoreDown as down:
            log.warning("interrupted loads cannot be settled yet: %s", down)

    def _stop(self) -> None:
        """End running loads, and wait for them."""
        log.info("stops; %s", f"ends {', '.join(self._running)}" if self._running else "no load is under way")
        for running in self._running.values():
            running.child.terminate()
        if self.backups is not None:
            self.backups.terminate()
        deadline = monotonic() + self.grace
        while self._is_busy:
            try:
                message = self.inbox.get(timeout=max(0.0, deadline - monotonic()))
            except Empty:
                late = ", ".join(self._running) or "the backup"
                log.warning("%s did not end in %.0f s and is killed", late, self.grace)
                for running in self._running.values():
                    running.child.kill()
                if self.backups is not None:
                    self.backups.kill()
                deadline = monotonic() + self.grace
                continue
            if not isinstance(message, DaemonCommand):
                self._receive(message)

    def _say(self, key: str, decision: str, level: int = logging.INFO, **fields: str) -> None:
        """Log a decision, unless it is the last one logged for this key."""
        if self._logged.get(key) != decision:
            self._logged[key] = decision
            log.log(level, "%s%s%s", key, ": " if key else "", decision, extra=fields)


def format_instant(instant: datetime) -> str:
    """Return an instant for the log."""
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def describe_try(turn: ScheduledLoad) -> str:
    """Return the number of a retry as text; "" for a first try."""
    return f", try {turn.failures + 1} for the slot of {format_instant(turn.slot)}" if turn.failures else ""
