"""Scheduled backups: when one is due, what it is called, which ones are removed, and what became of them.

The names of the files say which slots of the schedule have their backup. Only a whole backup gets its name.
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from server.base.locks import FileLock
from server.daemon.children import ChildProcess, ProcessExit
from server.daemon.schedule import latest_slot, next_slot
from server.feeds.feeds import Schedule

NAME = re.compile(r"tieout-scheduled-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)\.tar")
STAMP = "%Y-%m-%dT%H-%M-%SZ"
UNFINISHED, DUMP = ".unfinished", ".dump"  # what is being written ends so, and the dump of the database beside it
RECORD = "backups.json"  # in the state folder
log = logging.getLogger("tieout.daemon")


class BackupFolder(Struct, frozen=True, kw_only=True):
    """The folder of scheduled backups; files of other names are left alone."""

    folder: Path

    def path(self, slot: datetime) -> Path:
        """Return the file of a slot's backup."""
        return self.folder / f"tieout-scheduled-{slot.astimezone(UTC):{STAMP}}.tar"

    def taken(self) -> Mapping[datetime, Path]:
        """Return the whole backups by their slots, the oldest first. Raises OSError."""
        named = sorted((match[1], path) for path in self.folder.iterdir() if (match := NAME.fullmatch(path.name)))
        return {datetime.strptime(stamp, STAMP).replace(tzinfo=UTC): path for stamp, path in named}

    def prune(self, keep: int, latest: datetime) -> Sequence[Path]:
        """Remove the oldest backups beyond a number, never the latest one, and return them. Raises OSError."""
        removed = [path for slot, path in list(self.taken().items())[:-keep] if slot != latest]
        for path in removed:
            path.unlink()
        return removed

    def sweep(self) -> None:
        """Remove what killed backups left; one that is still being written holds its lock. Raises OSError."""
        for left in list(self.folder.glob(f"*{UNFINISHED}")):
            if NAME.fullmatch(left.name.removesuffix(UNFINISHED)):
                with FileLock(left) as lock:
                    if lock.acquire():
                        left.with_name(left.name + DUMP).unlink(missing_ok=True)
                        left.unlink(missing_ok=True)


class BackupRecord(Struct, frozen=True, kw_only=True):
    """What became of the scheduled backups: kept in the state folder, where other commands read it."""

    succeeded_at: datetime | None = None  # when the latest whole one was finished
    failures: int = 0  # in all
    fault: str | None = None  # of the latest one, None if it succeeded

    @classmethod
    def read(cls, state: Path) -> "BackupRecord":
        """Return the record of a state folder; an empty one if there is none."""
        try:
            return decode((state / RECORD).read_bytes(), type=cls)
        except (OSError, ValueError):
            return cls()

    def write(self, state: Path) -> None:
        """Replace the record of a state folder. Raises OSError."""
        staged = state / f"{RECORD}.part"
        staged.write_bytes(encode(self))
        staged.replace(state / RECORD)


class BackupExit(Struct, frozen=True):
    """How the process of a backup ended."""

    ended: ProcessExit


class ScheduledBackups:
    """Takes backups on a schedule, one at a time, each in its own process."""

    def __init__(
        self,
        folder: BackupFolder,
        schedule: Schedule,
        *,
        keep: int,
        command: Sequence[str],
        state: Path,
        report: Callable[[BackupExit], None],
    ) -> None:
        """`command` starts a backup; the file is appended. `report` gets its exit, which belongs to `ended`."""
        self._folder = folder
        self._schedule = schedule
        self._keep = keep
        self._command = command
        self._state = state
        self._report = report
        self._child: ChildProcess | None = None
        self._tried: datetime | None = None  # the latest slot that a backup was started for
        self._idle: tuple[datetime, datetime] | None = None  # nothing is due from the first instant to the second
        self._stopping = False

    @property
    def running(self) -> bool:
        """Whether a backup is under way."""
        return self._child is not None

    def step(self, now: datetime) -> bool:
        """Start a backup if one is due; tell whether that did not fail."""
        slot = None if self.running else self._due(now)
        return slot is None or self._start(slot, now)

    def ended(self, exit_: BackupExit, now: datetime) -> bool:
        """Log and record the end of a backup, and remove the oldest beyond those kept; tell whether it succeeded."""
        self._child, slot = None, self._tried
        assert slot is not None  # noqa: S101 - a backup was started
        with suppress(OSError):
            self._folder.sweep()
        if exit_.ended.status != 0:
            if self._stopping:
                log.info("backup: given up, because the daemon stops; the next start makes it")
                return False
            return self._failed(slot, exit_.ended.last_line or f"ended with status {exit_.ended.status}", now)
        path = self._folder.path(slot)
        log.info("backup: %s", exit_.ended.last_line)
        self._record(replace(BackupRecord.read(self._state), succeeded_at=now, fault=None))
        try:
            for removed in self._folder.prune(self._keep, slot):
                log.info("backup: removed %s, %s are kept", removed, self._keep)
        except OSError as fault:
            log.error("backup: old ones beside %s cannot be removed: %s", path, fault.strerror)  # noqa: TRY400 - its traceback says no more
        return True

    def terminate(self) -> None:
        """Tell a backup to end; whatever it has written is removed."""
        self._stopping = True
        if self._child is not None:
            self._child.terminate()

    def kill(self) -> None:
        """Kill a backup."""
        if self._child is not None:
            self._child.kill()

    def _due(self, now: datetime) -> datetime | None:
        """Return the slot that a backup is due for; of several that passed, the latest."""
        if self._idle is not None and self._idle[0] <= now < self._idle[1]:
            return None
        latest, upcoming = latest_slot(self._schedule, now), next_slot(self._schedule, now)
        if latest is not None and not self._answered(latest, now):
            return latest
        if upcoming is not None and (self._idle is None or self._idle[1] != upcoming):
            log.info("backup: next one at %s", describe_slot(upcoming))
        self._idle = now, upcoming or datetime.max.replace(tzinfo=UTC)
        return None

    def _answered(self, latest: datetime, now: datetime) -> bool:
        """Tell whether a backup was made for a slot or a later one, or has failed since this daemon started."""
        try:
            slots = [*self._folder.taken()]
        except OSError:  # the backup will fail and say why
            slots = []
        return any(latest <= slot <= now for slot in (*slots, *([self._tried] if self._tried else ())))

    def _start(self, slot: datetime, now: datetime) -> bool:
        self._tried, path = slot, self._folder.path(slot)
        log.info("backup: starts for the slot of %s", describe_slot(slot))
        try:
            self._child = ChildProcess(
                str(path), [*self._command, str(path)], lambda ended: self._report(BackupExit(ended))
            )
        except OSError as fault:
            return self._failed(slot, f"cannot be started: {fault.strerror}", now)
        return True

    def _failed(self, slot: datetime, fault: str, now: datetime) -> bool:
        upcoming = next_slot(self._schedule, now)
        again = f"; tried again at {describe_slot(upcoming)}" if upcoming else ""
        log.error("backup: failed for the slot of %s: %s%s", describe_slot(slot), fault, again)
        before = BackupRecord.read(self._state)
        self._record(replace(before, failures=before.failures + 1, fault=f"{describe_slot(slot)}: {fault}"))
        return False

    def _record(self, record: BackupRecord) -> None:
        try:
            record.write(self._state)
        except OSError as fault:
            log.error("backup: what became of it cannot be recorded in %s: %s", self._state, fault.strerror)  # noqa: TRY400 - its traceback says no more


def describe_slot(slot: datetime) -> str:
    """Return a slot as text."""
    return f"{slot.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
