"""The daemon: loads every feed on its schedule, each load in its own process."""

import logging
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from threading import Thread
from time import monotonic
from typing import IO

from engine.model.feeds import Binding, LoadAttempt, LoadStatus
from server.base.interfaces import LoadHistory, LoadQuery, StoreDown
from server.ingest.delivery import rank
from server.ingest.folder import InstanceWatcher
from server.ingest.schedule import RetryPolicy, ScheduledLoad, next_load, periods_of

LAST_WORDS = 500  # characters of what a load printed that a log line shows


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadExit:
    """How the process of a load ended."""

    binding: str
    status: int
    last_words: str  # the last line that it printed


class LoadProcess:
    """The process of a load, so that whatever a load leaks or blocks ends with it. Reports its exit to a callback."""

    def __init__(self, binding: str, command: Sequence[str], tell: Callable[[LoadExit], None]) -> None:
        self._binding = binding
        with ExitStack() as opened:
            output = opened.enter_context(TemporaryFile())  # a pipe would break where the daemon dies
            # a session of its own: an interrupt from the keyboard reaches the daemon alone, which ends loads in order
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
            Thread(target=self._wait, args=(output, tell), daemon=True).start()
            opened.pop_all()

    def terminate(self) -> None:
        """Ask the load to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End the load."""
        self._process.kill()

    def _wait(self, output: IO[bytes], tell: Callable[[LoadExit], None]) -> None:
        status = self._process.wait()
        with output:
            output.seek(0)
            said = output.read().decode(errors="replace").strip()
        tell(LoadExit(binding=self._binding, status=status, last_words=said.rpartition("\n")[2][:LAST_WORDS]))


RECENT = 200  # attempts of a feed that are looked at, and as many that succeeded
RECHECK = 10.0  # seconds after which it is looked whether a load of some other process still runs


@dataclass(frozen=True, slots=True)
class CachedAttempts:
    """The attempts of a feed, as read at some time."""

    attempts: Sequence[LoadAttempt]
    at: float

    @property
    def is_old(self) -> bool:
        """Whether a load of another process may have ended since."""
        running = any(attempt.status is LoadStatus.RUNNING for attempt in self.attempts)
        return running and monotonic() - self.at > RECHECK


class FeedHistory:
    """The attempts of each feed, the latest first: recorded ones, and those that could not be recorded."""

    def __init__(self, loads: LoadHistory, settle: Callable[[], None]) -> None:
        self._loads = loads
        self._settle = settle  # records how attempts ended whose process is gone
        self._known: dict[str, CachedAttempts] = {}
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
            known = self._known[binding] = CachedAttempts(self._read(binding), monotonic())
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
        recent = self._loads.find(LoadQuery(bindings=[binding], limit=RECENT))
        succeeded = self._loads.find(LoadQuery(bindings=[binding], statuses=[LoadStatus.SUCCESS], limit=RECENT))
        seen = {attempt.load_id for attempt in recent}
        return [*recent, *(attempt for attempt in succeeded if attempt.load_id not in seen)]


TICK = 1.0  # seconds between two looks at the clock and at the files
GRACE = 30.0  # seconds that loads have to end in once the daemon is told to
log = logging.getLogger("tieout.daemon")


class DaemonCommand(Enum):
    """A command to the daemon."""

    STOP = "stop"
    REREAD = "reread"


Inbox = SimpleQueue[DaemonCommand | LoadExit]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningLoad:
    """A load in progress."""

    child: LoadProcess
    binding: Binding
    turn: ScheduledLoad
    rank: int
    before: frozenset[str]  # the attempts known when it was started


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedTurn:
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
    command: Sequence[str]  # that loads; the feed, its slot and its periods are added to it
    at_once: int
    inbox: Inbox
    backoff: RetryPolicy = field(default_factory=RetryPolicy)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    grace: float = GRACE
    _running: dict[str, RunningLoad] = field(default_factory=dict)
    _decided: dict[str, CachedTurn] = field(default_factory=dict)
    _said: dict[str, str] = field(default_factory=dict)
    _failed: bool = False

    def run(self, *, once: bool = False) -> bool:
        """Load feeds in their turns until told to stop, or until none is due; tell whether no load failed."""
        self._settle()
        while True:
            waiting = self._step()
            if once and not waiting and not self._running:
                break
            try:
                told = self.inbox.get(timeout=TICK)
            except Empty:
                continue
            if told is DaemonCommand.STOP:
                self._stop()
                break
            self._heed(told)
        return not self._failed

    def _heed(self, told: DaemonCommand | LoadExit) -> None:
        if isinstance(told, LoadExit):
            self._ended(told)
        elif self.watched.reread():
            log.info("the files of %s were read anew", self.watched.folder)

    def _step(self) -> bool:
        """Start the loads whose turn it is; tell whether others are due and wait."""
        if self.watched.look():
            log.info("the files of %s changed and were read anew", self.watched.folder)
        try:
            waiting = [binding for binding in self._due() if not self._begin(binding)]
        except StoreDown as down:
            self._failed = True
            self._say("", f"the history of loads cannot be read: {down}; nothing starts until it can", logging.ERROR)
            return False
        return bool(waiting)

    def _due(self) -> list[Binding]:
        """Return the feeds whose turn it is, those that others need first."""
        now, due = self.now(), []
        for key, binding in self.watched.instance.bindings.items():
            turn = None if key in self._running else self._turn(binding, now)
            if turn is not None and turn.at <= now:
                due.append((turn, binding))
            elif turn is not None:
                self._say(key, f"next load at {format_instant(turn.at)}{describe_try(turn)}")
        self._said.pop("", None)
        return [binding for _, binding in sorted(due, key=lambda one: (self._rank(one[1]), one[0].at, one[1].key))]

    def _turn(self, binding: Binding, now: datetime) -> ScheduledLoad | None:
        attempts, known = self.history.of(binding.key), self._decided.get(binding.key)
        if known is None or not known.holds(binding, attempts, now):
            turn = next_load(binding, attempts, now, self.backoff)
            known = self._decided[binding.key] = CachedTurn(binding=binding, attempts=attempts, at=now, turn=turn)
        return known.turn

    def _begin(self, binding: Binding) -> bool:
        """Start a load unless it has to wait; tell whether it had not."""
        reason = self._obstacle(binding)
        if reason is not None:
            self._say(binding.key, f"due, and waits: {reason}")
            return False
        attempts, now = self.history.anew(binding.key), self.now()
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
            child = LoadProcess(binding.key, command, self.inbox.put)
        except OSError as fault:
            self._tell_end(self.history.note(binding, turn.slot, now, f"cannot be started: {fault.strerror}"))
            return
        before = frozenset(attempt.load_id for attempt in attempts)
        self._running[binding.key] = RunningLoad(
            child=child, binding=binding, turn=turn, rank=self._rank(binding), before=before
        )

    def _obstacle(self, binding: Binding) -> str | None:
        """Return why a feed that is due cannot start yet, None where it can."""
        rank = self._rank(binding)
        for key, other in self._running.items():
            if other.binding.target == binding.target:
                return f"{key} loads {binding.target}"
            if other.rank < rank:
                return f"{key} loads first, others need what it brings"
        return f"{self.at_once} loads are under way" if len(self._running) >= self.at_once else None

    def _rank(self, binding: Binding) -> int:
        return rank(binding, self.watched.instance.catalogue)

    def _ended(self, ended: LoadExit) -> None:
        """Note how a load ended, by what it recorded."""
        running = self._running.pop(ended.binding)
        said = ended.last_words or f"the load ended with exit status {ended.status} and recorded nothing"
        try:
            attempt = self._recorded(running)
        except StoreDown as down:
            attempt, said = None, f"how the load ended cannot be read: {down}"
        self._tell_end(attempt or self.history.note(running.binding, running.turn.slot, self.now(), said))

    def _recorded(self, running: RunningLoad) -> LoadAttempt | None:
        """Return the attempt that a load recorded, settled where the load did not live to say how it ended."""
        for attempts in (self.history.anew, self._settled):
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
        rows = f", {attempt.rows_landed:,} rows landed" if attempt.rows_landed is not None else ""
        rejected = f", {attempt.rows_rejected:,} rejected" if attempt.rows_rejected else ""
        why = f": {attempt.message}" if attempt.message else ""
        level = logging.ERROR if attempt.status.failed else logging.INFO
        said = f"{attempt.status.value}{rows}{rejected}{why}"
        self._say(attempt.binding, said, level, status=attempt.status.value, load_id=attempt.load_id)

    def _settle(self) -> None:
        try:
            self.history.settle()
        except StoreDown as down:
            log.warning("interrupted loads cannot be settled yet: %s", down)

    def _stop(self) -> None:
        """End the loads under way, and wait until they have."""
        log.info("stops; %s", f"ends {', '.join(self._running)}" if self._running else "no load is under way")
        for running in self._running.values():
            running.child.terminate()
        deadline = monotonic() + self.grace
        while self._running:
            try:
                told = self.inbox.get(timeout=max(0.0, deadline - monotonic()))
            except Empty:
                log.warning("%s did not end in %.0f s and is killed", ", ".join(self._running), self.grace)
                for running in self._running.values():
                    running.child.kill()
                deadline = monotonic() + self.grace
                continue
            if isinstance(told, LoadExit):
                self._ended(told)

    def _say(self, key: str, decision: str, level: int = logging.INFO, **fields: str) -> None:
        """Log a decision, once."""
        if self._said.get(key) != decision:
            self._said[key] = decision
            log.log(level, "%s%s%s", key, ": " if key else "", decision, extra=fields)


def format_instant(instant: datetime) -> str:
    """Return an instant for the log."""
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def describe_try(turn: ScheduledLoad) -> str:
    """Return which try of its slot a turn is, where it is not the first."""
    return f", try {turn.failures + 1} for the slot of {format_instant(turn.slot)}" if turn.failures else ""
