"""Books with feeds, and a daemon that loads them in a process of its own."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from server.base.interfaces import LoadHistory, LoadQuery
from server.base.settings import read_settings
from server.daemon.daemon import Daemon, DaemonCommand, FeedHistory
from server.daemon.schedule import RetryPolicy
from server.feeds.feeds import LoadAttempt
from server.feeds.instance import read_instance
from server.ingest.folder import BooksFolder, InstanceWatcher
from server.ingest.load import settle_attempts
from server.run.embedded.platform import Platform, platform
from tests.support.books.ledgers import DOMAIN
from tests.support.books.small import write_instance
from tests.support.service.forks import ForkedProcess, start_command
from tests.support.service.servers import DEADLINE, wait_for

ROWS = "date scenario account amount\n2021-01-05 actual 10 5"
ONCE_A_YEAR = "0 0 1 1 *"  # due at once if it never ran, then not again during a test


def books_with(folder: Path, facts: str = ROWS, **feeds: dict[str, Any]) -> Path:
    """Write an instance of one ledger and its accounts; `feeds` say more of theirs, or are others."""
    return write_instance(
        folder / "small",
        facts={"gl": facts},
        tables={"account": "id name\n10 Ten"},
        dimensions="account: {kind: leaf, members: live.account}",
        domains={"gl": DOMAIN},
        bindings=feeds,
    )


@dataclass(frozen=True)
class Process:
    """A running command."""

    process: ForkedProcess
    log: Path

    def said(self, words: str) -> bool:
        """Tell whether it printed something."""
        return words in self.log.read_text()

    def wait_for(self, words: str) -> None:
        """Wait until it printed something."""

        def there() -> bool:
            assert self.process.poll() is None or self.said(words), self.log.read_text()
            return self.said(words)

        wait_for(there)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=DEADLINE)


@contextmanager
def running(instance: Path, state: Path, *command: str, **environment: str) -> Iterator[Process]:
    """Run a command on an instance, forked, until the block ends."""
    known = {**os.environ, "SVC_INSTANCE": str(instance), "SVC_STATE_DIR": str(state), "TERM": "dumb", **environment}
    state.mkdir(exist_ok=True)
    log = state / f"{command[0]}-{len(list(state.glob('*.log')))}.log"
    log.touch()
    process = start_command(command, known, log, log)
    try:
        yield Process(process, log)
    finally:
        process.terminate()
        process.wait(timeout=DEADLINE)


@contextmanager
def platform_of(instance: Path, state: Path) -> Iterator[Platform]:
    """Open the platform of some books."""
    with platform(replace(read_settings(), instance=instance, state=state)) as opened:
        opened.wait()
        yield opened


SOON = RetryPolicy(first=timedelta(seconds=0.2), longest=timedelta(seconds=1))


def daemon_of(instance: Path, state: Path, loads: LoadHistory, *command: str, backoff: RetryPolicy = SOON) -> Daemon:
    """Return a daemon of some books that does not wait long; `command` is that of a load."""
    place = BooksFolder(catalogue=read_instance(instance).catalogue, folder=instance, state=state)
    known = ("env", f"SVC_STATE_DIR={state}", sys.executable, "-P", "-m", "server", "load", "--instance", str(instance))
    return Daemon(
        watched=InstanceWatcher(instance),
        history=FeedHistory(loads, lambda: settle_attempts(place, loads)),
        command=command or known,
        at_once=2,
        inbox=SimpleQueue(),
        backoff=backoff,
    )


@contextmanager
def at_work(daemon: Daemon) -> Iterator[Daemon]:
    """Run a daemon in the background while the block runs."""
    thread = Thread(target=daemon.run)
    thread.start()
    try:
        yield daemon
    finally:
        daemon.inbox.put(DaemonCommand.STOP)
        thread.join()


def attempts(instance: Path, state: Path) -> list[LoadAttempt]:
    """Return every attempt to load some books, the latest first."""
    with platform_of(instance, state) as opened:
        return list(opened.loads.find(LoadQuery(bindings=list(read_instance(instance).bindings), limit=1000)))
