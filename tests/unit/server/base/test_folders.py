"""What the server keeps is for its user alone, or others are told of."""

import os
from pathlib import Path

import pytest

from server.base.folders import private_umask, restrict

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")


def mode(path: Path) -> int:
    """Return the rights of a path."""
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("rights", [0o755, 0o750, 0o701])
def test_a_folder_of_this_user_is_closed_to_others(tmp_path: Path, rights: int) -> None:
    tmp_path.chmod(rights)
    assert restrict(tmp_path) is None
    assert mode(tmp_path) == 0o700


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert restrict(tmp_path / "state") is None
    assert not (tmp_path / "state").exists()


@NEEDS_ROOT
def test_a_folder_of_another_user_stays_as_it_is_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    os.chown(tmp_path / "state", 4711, 4711)
    assert restrict(tmp_path / "state") == (
        f"other users of this machine may read {tmp_path / 'state'}, and it cannot be closed to them (it belongs to "
        f"another user, 4711): give it to the server's user (chown -R USER {tmp_path / 'state'})"
    )
    assert mode(tmp_path / "state") == 0o755
    (tmp_path / "state").chmod(0o700)
    assert restrict(tmp_path / "state") is None


def test_what_is_made_in_the_block_is_private_and_what_is_made_after_is_not(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with private_umask():
            (tmp_path / "folder").mkdir()
            (tmp_path / "file").touch()
        (tmp_path / "later").touch()
    finally:
        os.umask(before)
    assert [mode(tmp_path / name) for name in ("folder", "file", "later")] == [0o700, 0o600, 0o644]
