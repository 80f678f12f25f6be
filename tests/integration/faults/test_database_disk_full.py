"""A full disk under the embedded database: what was committed stays, the reason is told, and it heals with room."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import disk_usage
from threading import Event, Thread

import pytest

from server.base.interfaces import StoreDown
from server.base.settings import Settings
from server.run.embedded.platform import Platform, platform
from tests.support.engines.disks import disk
from tests.support.service.servers import wait_for

MEGABYTE, PAGE = 1 << 20, 1 << 12


NOT_STARTED = "cannot be started: [Errno 28] No space left on device"  # its keeper has no room for a lock or a log


@pytest.fixture(name="disk")
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 90 MB: a database without rows has half of it."""
    with disk(tmp_path / "disk", 90) as folder:
        yield folder


def enlarge(disk: Path) -> None:
    """Make room."""
    subprocess.run(["mount", "-o", "remount,size=500m", disk], check=True)


@contextmanager
def kept_full(filler: Path) -> Iterator[None]:
    """Keep a disk full while the block runs, whatever is deleted on it; then make room."""
    ends = Event()

    def fill_up() -> None:
        with filler.open("wb", buffering=0) as file:
            while not ends.is_set():
                try:
                    file.write(b"x" * PAGE)
                except OSError:
                    ends.wait(0.001)

    filling = Thread(target=fill_up)
    filling.start()
    try:
        wait_for(lambda: not disk_usage(filler.parent).free)
        yield
    finally:
        ends.set()
        filling.join()
        filler.unlink()


def fill(opened: Platform) -> None:
    """Add a megabyte of rows."""
    with opened.database.transaction() as connection:
        connection.execute("insert into kept select repeat(md5(n::text), 32) from generate_series(1, 1000) as n")


def kept(opened: Platform) -> int | None:
    """Return how many rows there are, None where the database does not say."""
    try:
        with opened.database.transaction() as connection:
            ((count,),) = connection.execute("select count(*) from kept").fetchall()
    except StoreDown:
        return None
    return int(count)


def why(opened: Platform) -> str:
    """Return why the database cannot be used, nothing where it can."""
    try:
        opened.database.ping()
    except StoreDown as down:
        return str(down)
    return ""


def told(opened: Platform, *words: str) -> bool:
    """Tell whether who waits for the database is told any of these words."""
    try:
        opened.wait(0.5)
    except StoreDown as down:
        return any(each in str(down) for each in words)
    return False


def test_a_database_that_runs_out_of_space_says_so_and_heals_with_room(disk: Path) -> None:
    with platform(Settings(state=disk / "state")) as opened:
        opened.wait()
        with opened.database.transaction() as connection:
            connection.execute("create table kept (text text)")
        committed = 0
        with pytest.raises(StoreDown, match=r"has no space left|was lost"):
            while committed < 200:
                fill(opened)
                committed += 1
        enlarge(disk)
        wait_for(lambda: kept(opened) == 1000 * committed)  # it may answer once more before it starts again
        fill(opened)


def test_a_server_that_cannot_start_again_for_want_of_space_tells_why(disk: Path) -> None:
    with platform(Settings(state=disk / "state")) as opened:
        opened.wait()
    with ExitStack() as full_disk:
        full_disk.enter_context(kept_full(disk / "filler"))
        with platform(Settings(state=disk / "state")) as opened:
            wait_for(lambda: told(opened, "the embedded PostgreSQL ended: no space is left in ", NOT_STARTED))
            full_disk.close()
            wait_for(lambda: not why(opened))


def test_a_first_start_on_a_full_disk_tells_why_and_is_tried_again(disk: Path) -> None:
    filler = disk / "filler"
    filler.write_bytes(b"x" * (80 * MEGABYTE))
    with platform(Settings(state=disk / "state")) as opened:
        wait_for(lambda: told(opened, "the embedded PostgreSQL cannot be started: initdb: "))
        assert told(opened, "No space left on device")
        filler.unlink()
        wait_for(lambda: not why(opened))
