"""tieout daemon: load every feed on its schedule."""

import argparse
import logging
import signal
import sys
from queue import Empty, SimpleQueue

from server.base.folders import naming_state
from server.base.locks import FileLock
from server.base.settings import BadSetting, Settings, variable_of
from server.base.signals import on_hangup
from server.daemon.backups import BackupFolder, ScheduledBackups
from server.daemon.daemon import TICK, Daemon, DaemonCommand, FeedHistory, Inbox
from server.feeds.feeds import Schedule
from server.ingest.folder import DAEMON_LOCK, BooksFolder, InstanceWatcher
from server.ingest.load import settle_attempts
from server.run.commands.console import DONE, FAULTY, takes_instance
from server.run.embedded.platform import platform
from server.telemetry.logs import log_to

log = logging.getLogger("tieout.daemon")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--once", action="store_true", help="load what is due, and end")
    takes_instance(parser)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Load feeds on their schedules until told to stop."""
    log_to(sys.stderr, settings.log_format, [settings.database_url or ""])
    require_backup_folder(settings)
    inbox: Inbox = SimpleQueue()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: inbox.put(DaemonCommand.STOP))
    on_hangup(lambda: inbox.put(DaemonCommand.REREAD))
    watched = InstanceWatcher(settings.instance)
    with naming_state(settings.state_folder):
        settings.state_folder.mkdir(parents=True, exist_ok=True)
    with FileLock(settings.state_folder / DAEMON_LOCK, names_owner=True) as lock:
        if not leads(lock, inbox, waits=not asked.once):
            return FAULTY if asked.once else DONE
        log.info("%s: %s", watched.instance.catalogue.name, scheduled(watched))
        with platform(settings) as opened:
            place = BooksFolder(
                catalogue=watched.instance.catalogue, folder=settings.instance, state=settings.state_folder
            )
            daemon = Daemon(
                watched=watched,
                history=FeedHistory(opened.loads, lambda: settle_attempts(place, opened.loads)),
                command=[sys.executable, "-P", "-m", "server", "load", "--instance", str(settings.instance)],
                at_once=settings.loads_at_once,
                inbox=inbox,
                backups=backups_of(settings, inbox),
            )
            done = daemon.run(once=asked.once)
    return DONE if done or not asked.once else FAULTY


def require_backup_folder(settings: Settings) -> None:
    """Raise BadSetting if the folder of scheduled backups is not there; a disk may not be mounted."""
    if settings.backup_dir is not None and not settings.backup_dir.is_dir():
        raise BadSetting(
            f"{variable_of('backup_dir')} is '{settings.backup_dir}', which is no folder; make it or mount its disk, "
            "or name another that exists"
        )


def backups_of(settings: Settings, inbox: Inbox) -> ScheduledBackups | None:
    """Return the backups that the settings ask for, None if they ask for none."""
    if settings.backup_dir is None:
        return None
    log.info(
        "backup: '%s' UTC, into %s, %s are kept", settings.backup_schedule, settings.backup_dir, settings.backup_keep
    )
    return ScheduledBackups(
        BackupFolder(folder=settings.backup_dir.absolute()),
        Schedule(cron=settings.backup_schedule, timezone="UTC"),
        keep=settings.backup_keep,
        command=[sys.executable, "-P", "-m", "server", "backup", "--instance", str(settings.instance)],
        state=settings.state_folder,
        report=inbox.put,
    )


def leads(lock: FileLock, inbox: Inbox, *, waits: bool) -> bool:
    """Tell whether this daemon is the one that loads, as soon as it is; a second one stands by until told to stop."""
    if lock.acquire():
        return True
    log.info(
        "another daemon (process %s) loads these books; %s", lock.owner() or "unknown", "stands by" if waits else "ends"
    )
    while waits:
        try:
            if inbox.get(timeout=TICK) is DaemonCommand.STOP:
                return False
        except Empty:
            if lock.acquire():
                log.info("the other daemon is gone; takes over")
                return True
    return False


def scheduled(watched: InstanceWatcher) -> str:
    """Return how many feeds the daemon loads, and how many it does not."""
    feeds = watched.instance.bindings.values()
    without = [binding.key for binding in feeds if binding.schedule is None]
    others = f"; without one, and never loaded by the daemon: {', '.join(without)}" if without else ""
    return f"{len(feeds) - len(without)} feeds have a schedule{others}"
