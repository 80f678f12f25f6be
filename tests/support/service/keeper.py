"""A process that uses a platform until it is told to end, and its servers: its argument is the state folder."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from server.base.settings import Settings
from server.run.embedded.platform import Platform, platform
from server.stores.valkey import Cache
from tests.support.books.loads import ROOT

DEADLINE = 30.0


@contextmanager
def using(state: Path, *before: str) -> Iterator[subprocess.Popen[str]]:
    """Run a process that uses the platform of a state folder; `before` is what starts it."""
    command = [*before, sys.executable, "-m", "tests.support.service.keeper", str(state)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(DEADLINE)


def said(process: subprocess.Popen[str]) -> str:
    """Return the next line that the process prints, waiting for it."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def reached_by(*before: str) -> None:
    """Skip a test unless who `before` runs a command as can run one of this checkout.

    Root lends the right to read every file (`confined`), which it has not in a container.
    """
    tried = subprocess.run([*before, sys.executable, "-c", "import engine"], cwd=ROOT, capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("another user does not reach this checkout, and root may not read every file")


def sees_into(process: int) -> bool:
    """Tell whether this process may look into another: root may not in a container, where the other is of a user."""
    try:
        Path(f"/proc/{process}/environ").read_bytes()
    except PermissionError:
        return False
    return True


def postmaster(state: Path) -> int:
    """Return the process id of the embedded PostgreSQL."""
    return int((state / "postgres" / "data" / "postmaster.pid").read_text().split()[0])


def cache_of(opened: Platform) -> Cache:
    """Return the cache store of a platform that has one."""
    assert opened.results.cache is not None
    return opened.results.cache


def children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended meanwhile
            found += map(int, (task / "children").read_text().split())
    return found


def kept(state: Path, process: int | None = None) -> list[int]:
    """Return the servers of a state folder that a process keeps, this one where none is named."""
    found = []
    for child in children(os.getpid() if process is None else process):
        with suppress(FileNotFoundError, ProcessLookupError):  # one that ended meanwhile
            if is_in(state, child):
                found.append(child)
    return found


def is_in(state: Path, process: int) -> bool:
    """Tell whether a process runs in a state folder."""
    try:
        return Path(f"/proc/{process}/cwd").readlink().is_relative_to(state)
    except PermissionError:  # root in a container does not see into a process of another user
        return process == postmaster(state)


def program_of(process: int) -> Path:
    """Return the program that a process runs, as its command line names it."""
    return Path(Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0].decode())


def alive(process: int) -> bool:
    """Tell whether a process is running, and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def main() -> None:
    """Use a platform until told to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with platform(Settings(state=Path(sys.argv[1]))) as opened:
        opened.wait()
        cache_of(opened).ping()
        print("up", flush=True)  # noqa: T201 - what the test waits for
        signal.pause()


if __name__ == "__main__":
    main()
