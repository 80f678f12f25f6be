"""File locks: one holder at a time over all processes, and none after its holder ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from server.base.locks import FileLock

HOLD = """
import sys
from pathlib import Path
from server.base.locks import FileLock
with FileLock(Path(sys.argv[1]), names_owner=True) as lock:
    print(lock.acquire(), flush=True)
    sys.stdin.read()
"""


def hold(path: Path) -> subprocess.Popen[str]:
    """Start a process that holds a lock until its input ends."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_lock_has_one_holder_and_is_free_when_its_block_ends(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock") as lock, FileLock(tmp_path / "lock") as other:
        assert lock.acquire()
        assert not other.acquire()
    with FileLock(tmp_path / "lock") as other:
        assert other.acquire()


def test_a_lock_names_its_owner_and_ends_with_the_process_that_is_killed(tmp_path: Path) -> None:
    with hold(tmp_path / "lock") as holder, FileLock(tmp_path / "lock", names_owner=True) as lock:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert not lock.acquire()
        assert lock.owner() == str(holder.pid)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert lock.acquire()
        assert lock.owner() == str(os.getpid())


def test_a_child_that_inherits_a_lock_holds_it_as_well(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock") as lock:
        assert lock.acquire()
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(lock.descriptor,))
    with child, FileLock(tmp_path / "lock") as other:
        assert not other.acquire()
        child.communicate()
        assert other.acquire()


def test_a_lock_whose_file_was_deleted_is_not_current(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock") as lock:
        assert lock.is_current()
        (tmp_path / "lock").unlink()
        assert not lock.is_current()
        (tmp_path / "lock").touch()
        assert not lock.is_current()
