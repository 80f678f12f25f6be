"""Folders that only this user can enter, and sockets in them."""

import os
import socket
import stat
from hashlib import sha256
from pathlib import Path

from server.embedded.binaries import CannotStart

LONGEST = 107  # bytes of a socket's path
BRIEFLY = 0.5  # seconds
SPECIAL = set(",\"'\\ %?&=#@")  # mean something in a list of folders or in a URI


def private_folder(folder: Path) -> Path:
    """Make a folder that only this user can enter, or hold the one that is there to it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError, PermissionError) as fault:
        raise CannotStart(f"{folder} cannot be made ({fault.strerror}); choose another SVC_STATE_DIR") from fault
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise CannotStart(f"{folder} is not a folder of this user; remove it, or choose another SVC_STATE_DIR")
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def socket_folder(folder: Path, name: str) -> Path:
    """Return where a server keeps a socket of some name: in its folder, else in a short one that its path decides.

    Every process that uses the same folder finds the same answer, whatever its environment.
    """
    folder = folder.absolute()
    if len(os.fsencode(folder / name)) <= LONGEST and not SPECIAL & set(str(folder)):
        return folder
    digest = sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    return Path("/tmp") / f"tieout-{os.geteuid()}-{digest}"  # noqa: S108 - private_folder holds it to this user


def answers(path: Path, question: bytes = b"", answer: bytes = b"") -> bool:
    """Tell whether somebody listens on a socket, and answers a question if there is one."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(BRIEFLY)
        try:
            asking.connect(str(path))
            asking.sendall(question)
            return not answer or asking.recv(len(answer)) == answer
        except OSError:
            return False
