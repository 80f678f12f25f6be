"""Scheduled backups: the daemon takes them by the clock of the test, keeps some, and one of them is restored."""

import logging
import os
import signal
import tarfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.door import open_books
from server.base.settings import BadSetting, Settings, read_settings
from server.daemon.backups import BackupFolder, BackupRecord, ScheduledBackups
from server.daemon.daemon import Daemon
from server.feeds.feeds import Schedule
from server.run.backup import BundleFault, restore, write_bundle
from server.telemetry.metrics import Metrics
from tests.support.engines.memory import MemoryLoads
from tests.support.service.daemons import at_work, attempts, books_with, daemon_of, running
from tests.support.service.servers import wait_for

pytestmark = pytest.mark.usefixtures("history")
DAILY = Schedule(cron="0 2 * * *", timezone="UTC")
TAR = ["sh", "-c", 'echo whole > "$0"; echo "$0: whole"']  # a backup that takes no time


def at(day: int, hour: int = 3) -> datetime:
    """Return an instant of a month."""
    return datetime(2021, 4, day, hour, tzinfo=UTC)


def taking(daemon: Daemon, folder: Path, state: Path, command: Sequence[str] = TAR, keep: int = 2) -> Daemon:
    """Let a daemon take backups every day."""
    state.mkdir(exist_ok=True)
    daemon.backups = ScheduledBackups(
        BackupFolder(folder=folder), DAILY, keep=keep, command=command, state=state, report=daemon.inbox.put
    )
    return daemon


def idle_daemon(tmp_path: Path, command: Sequence[str] = TAR, keep: int = 2) -> Daemon:
    """Return a daemon without scheduled feeds that takes backups into a folder."""
    (tmp_path / "backups").mkdir(exist_ok=True)
    instance = tmp_path / "small" if (tmp_path / "small").exists() else books_with(tmp_path)
    daemon = daemon_of(instance, tmp_path / "state", MemoryLoads(), "false")
    return taking(daemon, tmp_path / "backups", tmp_path / "state", command, keep)


def run_at(daemon: Daemon, instant: datetime) -> bool:
    """Do what is due at an instant; tell whether all of it succeeded."""
    daemon.now = lambda: instant
    daemon._failed = False
    return daemon.run(once=True)


def names(folder: Path) -> list[str]:
    """Return the names of the files of a folder."""
    return sorted(path.name for path in folder.iterdir())


def name(day: int) -> str:
    """Return the name of a day's backup."""
    return f"tieout-scheduled-2021-04-{day:02}T02-00-00Z.tar"


def test_a_backup_that_the_daemon_took_answers_the_same_figures_and_history_once_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL")  # each state folder has a database of its own
    instance, state, backups = (
        books_with(tmp_path),
        tmp_path / "state",
        tmp_path / "backups",
    )
    backups.mkdir()
    settings = {"SVC_BACKUP_DIR": str(backups), "SVC_BACKUP_SCHEDULE": "* * * * *"}
    with running(instance, state, "load") as load:
        assert load.process.wait(timeout=60) == 0, load.log.read_text()
    before, history = figures(instance, state), attempts(instance, state)
    with running(instance, state, "daemon", **settings) as daemon:
        daemon.wait_for("backup: starts for the slot of 20")
        daemon.wait_for("files, ")
        assert daemon.end() == 0
    taken, *_ = [path for path in sorted(backups.iterdir()) if path.suffix == ".tar"]
    assert taken.stat().st_mode & 0o777 == 0o600
    restore(Settings(), taken, tmp_path / "new")
    again = tmp_path / "new" / "instance"
    assert figures(again, tmp_path / "new") == before
    assert attempts(again, tmp_path / "new") == history
    with running(instance, state, "check", **settings) as check:
        assert check.process.wait(timeout=60) == 0
    assert check.said("scheduled backups: the latest is of 20")


def figures(instance: Path, state: Path) -> object:
    """Return the figures of the books."""
    books = open_books(instance, state=state)
    return books.metric("revenue", scenarios={"A": "actual"}, period="2021-01", dimensions=["account"]).frame.rows()


def test_each_slot_has_one_backup_and_the_oldest_of_the_schedule_are_removed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    daemon, backups = idle_daemon(tmp_path), tmp_path / "backups"
    others = ["tieout-2021-04-01.tar", "tieout-scheduled-2021-04-01.tar", "x-tieout-scheduled-2021-04-01T02-00-00Z.tar"]
    for other in others:
        (backups / other).touch()
    for day in (10, 10, 11, 12, 12):
        assert run_at(daemon, at(day))
    assert names(backups) == sorted([*others, name(11), name(12)])
    assert [record.message.partition(" for")[0] for record in caplog.records].count("backup: starts") == 3
    assert f"backup: removed {backups / name(10)}, 2 are kept" in caplog.text
    assert "backup: next one at 2021-04-13 02:00 UTC" in caplog.text
    assert run_at(idle_daemon(tmp_path), at(12, 4))  # another daemon knows by the names
    assert run_at(idle_daemon(tmp_path), at(20))  # of the slots that passed while none ran, only the latest is made
    assert names(backups) == sorted([*others, name(12), name(20)])


def test_the_backup_that_was_just_made_is_never_removed(tmp_path: Path) -> None:
    daemon, backups = idle_daemon(tmp_path, keep=1), tmp_path / "backups"
    assert run_at(daemon, at(12))
    assert run_at(daemon, at(11))  # the clock was set back: a slot of later days answers none of today's
    assert names(backups) == [name(11), name(12)]


def test_a_backup_that_fails_is_logged_counted_shown_and_tried_at_the_next_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    broken, backups = ["sh", "-c", "echo 'Nothing was backed up: the disk is full' >&2; exit 1"], tmp_path / "backups"
    daemon = idle_daemon(tmp_path, broken, keep=1)
    (backups / name(9)).touch()
    assert not run_at(daemon, at(10))
    assert run_at(daemon, at(10, 4))  # not before the next time
    errors = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    why = "Nothing was backed up: the disk is full; tried again at 2021-04-11 02:00 UTC"
    assert errors == [f"backup: failed for the slot of 2021-04-10 02:00 UTC: {why}"]
    assert names(backups) == [name(9)]  # a failure removes nothing
    record = BackupRecord.read(tmp_path / "state")
    assert (record.failures, record.succeeded_at) == (1, None)
    metrics = Metrics()
    metrics.backups(record.succeeded_at, record.failures)
    assert "tieout_backup_failures 1.0" in metrics.page().decode()
    with running(tmp_path / "small", tmp_path / "state", "check", SVC_BACKUP_DIR=str(backups)) as check:
        assert check.process.wait(timeout=60) == 0
    assert check.said(
        "the latest scheduled backup failed: 2021-04-10 02:00 UTC: Nothing was backed up: the disk is full"
    )
    assert check.said("of whole ones there is none yet")
    mended = idle_daemon(tmp_path, keep=1)
    assert run_at(mended, at(11))
    assert names(backups) == [name(11)]
    record = BackupRecord.read(tmp_path / "state")
    assert (record.failures, record.succeeded_at, record.fault) == (1, at(11), None)


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with running(
        books_with(tmp_path), tmp_path / "state", "daemon", "--once", SVC_BACKUP_DIR=str(tmp_path / "away")
    ) as daemon:
        assert daemon.process.wait(timeout=60) == 1
    assert daemon.said(f"SVC_BACKUP_DIR is '{tmp_path / 'away'}', which is no folder; make it or mount its disk")
    assert not (tmp_path / "away").exists()


def test_without_a_folder_nothing_is_backed_up(tmp_path: Path) -> None:
    with running(books_with(tmp_path), tmp_path / "state", "daemon", "--once") as daemon:
        assert daemon.process.wait(timeout=60) == 0
    assert not daemon.said("backup")
    assert not list(tmp_path.rglob("*.tar"))


STUCK = ["sh", "-c", 'echo half > "$0.unfinished"; echo dump > "$0.unfinished.dump"; exec sleep 600']


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_backup_that_is_killed_midway_leaves_nothing_and_is_made_at_the_next_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    daemon, backups = idle_daemon(tmp_path, STUCK), tmp_path / "backups"
    daemon.now = lambda: at(10)
    with at_work(daemon):
        taken = daemon.backups
        assert taken is not None
        wait_for(lambda: taken.running and (backups / f"{name(10)}.unfinished.dump").exists())
        assert taken._child is not None
        os.kill(taken._child._process.pid, number)
        wait_for(lambda: BackupRecord.read(tmp_path / "state").failures == 1)
    assert names(backups) == []
    assert f"ended with status -{int(number)}" in caplog.text
    daemon = idle_daemon(tmp_path)
    assert run_at(daemon, at(11))
    assert names(backups) == [name(11)]


def test_a_daemon_that_stops_ends_its_backup_and_the_next_one_makes_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    daemon, backups = idle_daemon(tmp_path, STUCK), tmp_path / "backups"
    daemon.now = lambda: at(10)
    with at_work(daemon):
        wait_for((backups / f"{name(10)}.unfinished.dump").exists)
    assert names(backups) == []
    assert "backup: given up, because the daemon stops; the next start makes it" in caplog.text
    assert BackupRecord.read(tmp_path / "state").failures == 0
    assert run_at(idle_daemon(tmp_path), at(10))
    assert names(backups) == [name(10)]


def test_of_two_processes_that_write_one_backup_the_second_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    path = tmp_path / name(10)
    with write_bundle(path) as bundle:
        bundle.add_text("a", "whole")
        with pytest.raises(BundleFault, match=r"another process is writing .*; wait for it"), write_bundle(path):
            pass
        BackupFolder(folder=tmp_path).sweep()  # which leaves alone what is being written
    assert names(tmp_path) == [name(10)]
    with tarfile.open(path) as tar:
        assert tar.getnames() == ["a"]


@pytest.mark.parametrize(
    ("variable", "value", "takes"),
    [
        ("SVC_BACKUP_SCHEDULE", "daily", r"it has 1 parts, not 5\); it takes a cron expression, as 0 2 \* \* \*"),
        ("SVC_BACKUP_SCHEDULE", "0 25 * * *", "it takes a cron expression"),
        ("SVC_BACKUP_KEEP", "0", "it takes a whole number above 0"),
    ],
)
def test_a_setting_of_backups_that_does_not_hold_is_refused(variable: str, value: str, takes: str) -> None:
    with pytest.raises(BadSetting, match=f"{variable} is .*{takes}"):
        read_settings({variable: value})
