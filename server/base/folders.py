"""Folders of the books: what the server keeps is for its user alone.

The module stands alone because the command line, the check and the parent of the workers all use it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.base.interfaces import StoreDown

PRIVATE, OTHERS = 0o700, 0o077


@contextmanager
def private_umask() -> Iterator[None]:
    """Let only this user read what this process and its children create in the block."""
    previous = os.umask(OTHERS)
    try:
        yield
    finally:
        os.umask(previous)


@contextmanager
def naming_state(path: Path) -> Iterator[None]:
    """Turn OSError into StoreDown, which names a path of the state folder and the setting."""
    try:
        yield
    except OSError as fault:
        raise StoreDown(
            f"{path} cannot be made or read ({fault.strerror}); let the server's user read and write it, or choose "
            "another SVC_STATE_DIR"
        ) from fault


def restrict(folder: Path) -> str | None:
    """Close a folder of this user to other users; return a remark if others can enter it nevertheless.

    A folder of another user stays as it is, because its owner may need the other rights.
    """
    try:
        status = folder.stat()
        if not status.st_mode & OTHERS:
            return None
        if status.st_uid == os.geteuid():
            folder.chmod(PRIVATE)
            return None
        why = f"it belongs to another user, {status.st_uid}"
        cure = f"give it to the server's user (chown -R USER {folder})"
    except FileNotFoundError:
        return None
    except OSError as fault:
        why, cure = f"{fault.strerror}", "chmod 700 it"
    return f"other users of this machine may read {folder}, and it cannot be closed to them ({why}): {cure}"
