"""`tieout` and its workers, forked from a process that has imported all of it: a start takes no seconds of imports.

    process = ForkedProcess(run_command, ["serve"], environment, Path.cwd(), out, log)

They run the same functions as in interpreters of their own; only starting those is left out, and initdb: a new
database is a copy of one that was made once. multiprocessing's fork server forks them: it is started once in a run of
tests, runs nothing, and so has no threads of Python's, of an event loop or of Polars' pool.
"""

import atexit
import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partialmethod
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from runpy import run_path
from socket import socket
from tempfile import TemporaryDirectory, mkdtemp

from prometheus_client import values

from server.base.locks import FileLock
from server.run.cli import COMMANDS, main
from server.run.embedded.binaries import PostgresBinaries, StartFailure, known_binaries
from server.run.embedded.servers import DATA, UNFINISHED, EmbeddedPostgres
from server.run.workers import process
from server.run.workers.supervisor import WORKERS
from server.telemetry.metrics import counter_environment

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "server.run.workers.worker",
        "server.run.parent",
        *("anyio._backends._asyncio", "rich._emoji_codes", "uvicorn.lifespan.on", "uvicorn.loops.auto"),
        *("uvicorn.protocols.http.auto", "uvicorn.protocols.websockets.auto"),
        *(f"server.run.commands.{name}" for name in COMMANDS),
    ]
)


@dataclass(frozen=True, slots=True)
class NewDatabase:
    """The data of a database that nothing was written to, and the programs that made them."""

    data: Path
    made_by: PostgresBinaries


LONGEST = 120.0  # seconds of a command that ends by itself, on a machine that does more besides
UMASK = 0o022  # of most shells: others may read what a command does not close
INITIALISE = EmbeddedPostgres._initialise


@cache
def new_database() -> NewDatabase | None:
    """Make the data of a new database; None if this machine has or starts no PostgreSQL."""
    binaries = next(known_binaries(), None)
    if binaries is None:
        return None
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    with FileLock(folder / "lock") as lock, suppress(StartFailure, OSError):
        assert lock.acquire()
        EmbeddedPostgres(lambda: binaries, folder).prepare(lock.descriptor, first=True)
        return NewDatabase(folder / DATA, binaries)
    return None


@dataclass(frozen=True, slots=True)
class ForkMeans:
    """What a forked command takes from the process of the tests: a new database, and the key of the fork server."""

    database: NewDatabase | None
    key: bytes | None  # None before Python 3.14, whose fork server asks for it


def fork_means() -> ForkMeans:
    """Return what a forked command takes."""
    forkserver.ensure_running()
    return ForkMeans(new_database(), getattr(forkserver._forkserver, "_forkserver_authkey", None))


def copy_database(program: EmbeddedPostgres, new: NewDatabase, binaries: PostgresBinaries, lock: int) -> None:
    """Create the data of a server, as `EmbeddedPostgres._initialise` does."""
    if binaries != new.made_by:
        return INITIALISE(program, binaries, lock)
    shutil.rmtree(program.folder / UNFINISHED, ignore_errors=True)
    shutil.copytree(new.data, program.folder / UNFINISHED)
    (program.folder / UNFINISHED).rename(program.folder / DATA)
    return None


class ForkedProcess:
    """A forked process, with the methods of a Popen that tests and the parent of workers call."""

    def __init__(self, run: Callable[..., None], *given: object) -> None:
        self._process = FORKS.Process(target=run, args=given)
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit status, negative after a signal; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return its exit status; None while it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, and return its exit status. Raises TimeoutExpired."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("tieout", timeout or 0.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal; do nothing if it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Tell it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


def tieout(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a forked command and return what it printed."""
    return ended(run_command, arguments, {**os.environ, **environment})


def script(file: Path, *arguments: str | Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a forked script and return what it printed."""
    return ended(run_script, [file, *arguments], environment)


def ended(
    run: Callable[..., None], arguments: Sequence[str | Path], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command or script to its end and return what it printed."""
    with TemporaryDirectory() as name:
        out, log = Path(name, "out"), Path(name, "log")
        for file in (out, log):
            file.touch()
        known = {"COLUMNS": "300", "TERM": "dumb", **environment}
        forked = ForkedProcess(run, list(map(str, arguments)), known, Path.cwd(), out, log, fork_means())
        return subprocess.CompletedProcess(arguments, forked.wait(LONGEST), out.read_text(), log.read_text())


def start_command(
    arguments: Sequence[str | Path], environment: Mapping[str, str], out: Path, log: Path
) -> ForkedProcess:
    """Fork a command that writes to two files."""
    given = [str(argument) for argument in arguments]
    return ForkedProcess(run_command, given, environment, Path.cwd(), out, log, fork_means())


def run_command(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    out: Path,
    log: Path,
    means: ForkMeans,
) -> None:
    """Run a command in this process, which writes to two files."""
    settle(environment, folder, out, log, means.database)

    def start_forked(program: str, control: Connection, listening: Sequence[socket], shared: Path) -> ForkedProcess:
        assert program == WORKERS
        known = {**os.environ, **counter_environment(shared)}
        return ForkedProcess(run_worker, control, listening, known, folder, out, log)

    process.start_worker = start_forked  # type: ignore[assignment]  # it does what the processes of workers do
    server = forkserver._forkserver  # workers are forked by the server that forked this process
    server.ensure_running = lambda: None  # type: ignore[method-assign]  # it runs
    server._forkserver_authkey = means.key  # type: ignore[attr-defined]  # since Python 3.14
    sys.exit(main(arguments))


def run_script(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    out: Path,
    log: Path,
    means: ForkMeans,
) -> None:
    """Run a script in this process, which writes to two files."""
    settle(environment, folder, out, log, means.database)
    sys.argv[:] = arguments
    sys.path.insert(0, str(Path(arguments[0]).parent))
    run_path(arguments[0], run_name="__main__")


def run_worker(
    control: Connection, listening: Sequence[socket], environment: Mapping[str, str], folder: Path, out: Path, log: Path
) -> None:
    """Run a worker in this process."""
    # they take a second, which the process of the tests is spared
    from server.run.workers import worker  # noqa: PLC0415 - see above
    from server.tools.toolbox import TOOLS  # noqa: PLC0415 - see above
    from tests.support.service.blocked_tools import GATE, MISBEHAVING  # noqa: PLC0415 - see above

    os.setsid()
    settle(environment, folder, out, log)
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]  # prometheus_client takes it by the environment
    tools = {**TOOLS, **MISBEHAVING} if GATE in environment else TOOLS
    worker.main(os.dup(control.fileno()), os.getppid(), *(one.detach() for one in listening), tools=tools)


def settle(
    environment: Mapping[str, str], folder: Path, out: Path, log: Path, database: NewDatabase | None = None
) -> None:
    """Give this process the environment, folder and output of a new one; later collections pass over its imports."""
    if database is not None:
        EmbeddedPostgres._initialise = partialmethod(copy_database, database)  # type: ignore[method-assign, assignment]  # a method
    gc.freeze()
    os.umask(UMASK)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for file, descriptor in ((out, 1), (log, 2)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), descriptor)
