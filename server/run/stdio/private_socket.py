"""The private sockets of an instance: where bridges find its server, and who holds that server up.

    tieout serve               listens on `served.sock` beside its port, if nobody else does
    the first bridge           binds `started.sock` and hands it to a server that it starts
    every bridge               holds `bridges.lock` together with the others
    a server that was started  ends when it gets `bridges.lock` alone

A socket has a lock, which its server holds as long as it lives, however it ends. A bridge that finds the socket of no
server takes the lock and binds the socket before it starts the server, so that two bridges never start two servers, and
requests wait in the socket until the server answers.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from signal import SIGTERM
from threading import Event, Thread
from typing import IO

from msgspec import Struct

from server.base.locks import FileLock
from server.base.settings import BadSetting, Settings
from server.run.embedded.binaries import StartFailure, private_folder, socket_folder

FOLDER = "stdio"  # in the state folder
SERVED, STARTED = "served", "started"  # by tieout serve, by a bridge
BRIDGES = "bridges.lock"
LOG, LOG_BYTES = "server.log", 1 << 20  # of the server that a bridge started
BACKLOG = 256
LOOKS = 0.5  # seconds between two looks whether a bridge is left
HANDED = "--for-bridges"


class PrivateSocket(Struct, frozen=True):
    """A listening private socket, and the lock of its server."""

    lock: IO[str]
    listening: socket.socket


def folder_of(settings: Settings) -> Path:
    """Return the folder of locks and logs, made where there is none; raises BadSetting if it cannot be."""
    folder = settings.state_folder / FOLDER
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        private_folder(folder)
        (folder / BRIDGES).touch()
    except StartFailure as failure:
        raise BadSetting(str(failure)) from failure
    except OSError as fault:
        raise BadSetting(
            f"{folder} cannot be written ({fault.strerror}); make it writable, or choose another SVC_STATE_DIR"
        ) from fault
    return folder


def path_of(folder: Path, name: str) -> Path:
    """Return the path of a private socket."""
    file = f"{name}.sock"
    return private_folder(socket_folder(folder, file)) / file


@contextmanager
def bound(folder: Path, name: str) -> Iterator[PrivateSocket | None]:
    """Bind a private socket while the block runs; None if another server has it."""
    with FileLock(folder / f"{name}.lock") as lock, ExitStack() as opened:
        if not lock.acquire():
            yield None
            return
        listening = opened.enter_context(bind_private(path_of(folder, name)))
        yield PrivateSocket(lock.file, listening)


def bind_private(path: Path) -> socket.socket:
    """Return a listening socket at a path; what a killed server left there is replaced."""
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen(BACKLOG)
    return listening


def connected(folder: Path) -> socket.socket | None:
    """Return a connection to the server of an instance, the one of tieout serve first; None if none listens."""
    for name in (SERVED, STARTED):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path_of(folder, name)))
        except OSError:
            connection.close()
        else:
            return connection
    return None


def start_server(settings: Settings, folder: Path) -> subprocess.Popen[bytes] | None:
    """Start a server on the private socket of bridges; None if another bridge does, or its server still ends."""
    with bound(folder, STARTED) as private:
        if private is None:
            return None
        log = folder / LOG
        with suppress(FileNotFoundError):
            if log.stat().st_size > LOG_BYTES:
                log.replace(log.with_suffix(".log.1"))
        handed = private.lock.fileno(), private.listening.fileno()
        named = ",".join(map(str, handed))
        with log.open("ab") as sink:
            return subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-P", "-m", "server", "serve", "--instance", settings.instance, HANDED, named],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=sink,
                pass_fds=handed,
                start_new_session=True,  # a host ends the whole group of its program
            )


@contextmanager
def ended_without_bridges(settings: Settings) -> Iterator[None]:
    """End this server as SIGTERM does when no bridge is left, while the block runs."""
    over = Event()

    def watch(lock: FileLock) -> None:
        while not over.wait(LOOKS):
            if lock.acquire():  # and held from here to the end, so that a new bridge waits for that
                os.kill(os.getpid(), SIGTERM)
                return

    with FileLock(folder_of(settings) / BRIDGES) as lock:
        watching = Thread(target=watch, args=(lock,), name="bridges", daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join()
