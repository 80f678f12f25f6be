"""A program that ends with the process that keeps it: `python -I -S launch.py PARENT SIGNAL NAMESPACE PROGRAM …`.

A script of its own and not a `preexec_fn`, which may hang where the process that forks has threads. It imports nothing
of the service. With NAMESPACE 1 the program runs in a user namespace as a user without privileges, which owns there
what root owns outside: PostgreSQL refuses to run as root, and no file has to change its owner for it.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

REFUSED = 125  # exit status if the machine does not allow this start
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
UNPRIVILEGED = 1000  # any id but root's


def launch(parent: int, ending: int, namespace: bool, program: list[str]) -> int:
    """Execute the program. Returns an exit status only if that fails."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an early Ctrl-C ends it without a traceback
    libc = ctypes.CDLL(None, use_errno=True)
    if namespace:
        user, group = os.getuid(), os.getgid()
        with suppress(PermissionError):
            os.setgroups([])
        if libc.unshare(CLONE_NEWUSER) != 0:
            return refuse(f"no user namespace: {os.strerror(ctypes.get_errno())}")
        try:
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"{UNPRIVILEGED} {user} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"{UNPRIVILEGED} {group} 1", encoding="ascii")
        except OSError as fault:
            return refuse(f"no user namespace: {fault.strerror}")
    # after the change of user, which clears the setting
    if libc.prctl(PR_SET_PDEATHSIG, ending) != 0:
        return refuse(f"no signal at the end of its parent: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        return 0  # the parent ended meanwhile
    try:
        os.execv(program[0], program)  # noqa: S606 - the program is one that the keeper found
    except OSError as fault:
        return refuse(f"{program[0]}: {fault.strerror}")


def refuse(why: str) -> int:
    """Print why the program cannot be started, and return the exit status."""
    print(why, file=sys.stderr)  # noqa: T201 - a script whose caller reads its errors
    return REFUSED


if __name__ == "__main__":
    parent, ending, namespace, *program = sys.argv[1:]
    sys.exit(launch(int(parent), int(ending), namespace == "1", program))
