"""tieout stdio: speak MCP over standard input and output, for hosts that start their servers themselves."""

import argparse
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic, sleep

from server.base.locks import FileLock
from server.base.settings import BadSetting, Settings
from server.run.commands.console import DONE, TERMINATED, err, takes_instance
from server.run.demo import chosen_instance, takes_demo
from server.run.stdio.bridge import Bridge, ServerFailed
from server.run.stdio.exchange import Exchange
from server.run.stdio.private_socket import BRIDGES, LOG, connected, folder_of, start_server

STARTING = 60.0  # seconds for a server's start on a slow machine, and for the end of the one before it
PUBLISHED = "CURRENT"  # in the store, once something is loaded
ASKING = 0.02
ANSWERING = 30.0  # seconds beyond the deadline of a call after which a server that says nothing is given up
TAIL = 4000  # bytes of a log that are told
TRACEBACK = "Traceback (most recent call last)"  # for operators alone


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    takes_instance(parser)
    takes_demo(parser)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Pass messages on until the host closes standard input."""
    if settings.many_users:
        raise BadSetting(
            f"tieout stdio serves the one user of this machine, and SVC_OIDC_ISSUER makes this a server of many; "
            f"connect to {settings.resource} instead, or leave SVC_OIDC_ISSUER out"
        )
    with wire() as (incoming, outgoing):
        chosen = chosen_instance(settings, demo=asked.demo, named=asked.instance)
        folder = folder_of(chosen)
        with FileLock(folder / BRIDGES) as lock:
            share(lock, folder)
            if not (chosen.store / PUBLISHED).exists():
                err.print(f"no books are loaded yet; run: tieout load --instance {chosen.instance}", markup=False)
            server, writing = InstanceServer(chosen, folder), Lock()

            def write(line: bytes) -> None:
                with writing:
                    write_whole(outgoing, line)

            with suppress(ServerFailed):  # the answer to the first message says it
                server.connect().close()  # so that it starts while the host still prepares
            Bridge(server.connect, write).run(incoming)
    return DONE


@contextmanager
def wire() -> Iterator[tuple[int, int]]:
    """Lend standard input and output to the messages alone: whatever else prints, prints to standard error."""
    incoming, outgoing = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is wanted
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        yield incoming, outgoing
    finally:
        os.close(outgoing)


def write_whole(outgoing: int, line: bytes) -> None:
    """Write a line; end this process if the host reads no more."""
    left = memoryview(line)
    try:
        while left:
            left = left[os.write(outgoing, left) :]
    except BrokenPipeError:
        os._exit(TERMINATED)  # from whichever thread: nobody is left to tell


def share(lock: FileLock, folder: Path) -> None:
    """Hold the lock of bridges together with others. Raises ServerFailed if a server that ends does not."""
    deadline = monotonic() + STARTING
    while not lock.share():
        if monotonic() > deadline:
            raise BadSetting(f"the server of the last bridge does not end; see {folder / LOG}, and end it")
        sleep(ASKING)


@dataclass(eq=False)
class InstanceServer:
    """The server of an instance as a bridge sees it: one that runs, or one that this bridge starts."""

    settings: Settings
    folder: Path
    _process: subprocess.Popen[bytes] | None = None
    _told: int = 0  # bytes of its log that were told
    _starting: Lock = field(default_factory=Lock)

    def connect(self) -> Exchange:
        """Return a connection to the server, started if none runs. Raises ServerFailed."""
        with self._starting:
            deadline = monotonic() + STARTING
            while (connection := connected(self.folder)) is None:
                self._hold_alive()
                if monotonic() > deadline:
                    raise ServerFailed(f"The server of {self.settings.instance} does not start; see {self._log}.")
                if self._process is None:
                    self._start()
                else:
                    sleep(ASKING)
        connection.settimeout(STARTING + self.settings.deadline_seconds + ANSWERING)
        return Exchange(connection)

    @property
    def _log(self) -> Path:
        return self.folder / LOG

    def _start(self) -> None:
        self._told = self._log.stat().st_size if self._log.exists() else 0
        self._process = start_server(self.settings, self.folder)
        if self._process is None:
            sleep(ASKING)
        else:
            err.print(f"started a server of {self.settings.instance}; its log is {self._log}", markup=False)

    def _hold_alive(self) -> None:
        """Raise ServerFailed once if the server that this bridge started has failed; the next call starts another."""
        if self._process is None or self._process.poll() is None:
            return
        status, self._process = self._process.returncode, None
        if status in (DONE, TERMINATED, -signal.SIGKILL, -signal.SIGTERM):
            return
        said = self._said()
        err.print(said, markup=False)
        why = f"see {self._log}" if not said or TRACEBACK in said else said
        raise ServerFailed(f"The server of {self.settings.instance} cannot start: {why}")

    def _said(self) -> str:
        with self._log.open("rb") as log:
            log.seek(self._told)
            return log.read()[-TAIL:].decode(errors="replace").strip()
