"""A program that ends with the process that keeps it: `python -I -S launch.py PARENT SIGNAL HOW PROGRAM …`.

A script of its own and not a `preexec_fn`, which may hang where the process that forks has threads. It imports nothing
of the service. HOW is one of
`plain`;
`user:UID:GID:FOLDER`, for root: the program runs as a user without privileges, which owns the folder and need not be
able to reach it: the program gets it as an open descriptor;
`namespace:UID`, for a root that may not change its user: the program runs in a user namespace as that user, which owns
there what root owns outside;
`watched`, on systems whose kernel sends no signal at the end of a parent: this process stays and sends it.
"""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

REFUSED = 125  # exit status if the machine does not allow this start
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
LOOKS = 0.1  # seconds between two looks at parent and program
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


def launch(parent: int, ending: int, how: str, program: list[str]) -> int:
    """Execute the program. Returns an exit status if that fails, or if the program is watched and has ended."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an early Ctrl-C ends it without a traceback
    if how == "watched":
        return watch(parent, ending, program)
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if how.startswith("user:"):
            _, user, group, folder = how.split(":", 3)
            opened = f"/proc/self/fd/{open_folder(folder)}"
            program = [program[0], *(part.replace(folder, opened) for part in program[1:])]
            become(int(user), int(group))
        elif how.startswith("namespace:"):
            enter_namespace(libc, int(how.partition(":")[2]))
    except OSError as fault:
        return refuse(f"no {how.partition(':')[0]} without privileges: {fault.strerror}")
    # after the change of user, which clears the setting
    if libc.prctl(PR_SET_PDEATHSIG, ending) != 0:
        return refuse(f"no signal at the end of its parent: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        return 0  # the parent ended meanwhile
    return execute(program)


def open_folder(folder: str) -> int:
    """Return a descriptor of a folder that programs inherit, and which leads to it past the folders above it."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    os.set_inheritable(descriptor, True)
    return descriptor


def become(user: int, group: int) -> None:
    """Become a user, for good."""
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def enter_namespace(libc: ctypes.CDLL, user: int) -> None:
    """Enter a user namespace in which this process is a user. Raises OSError."""
    owner, group = os.getuid(), os.getgid()
    with suppress(PermissionError):
        os.setgroups([])
    if libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {owner} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{user} {group} 1", encoding="ascii")


def execute(program: list[str]) -> int:
    """Become the program. Returns an exit status only if that fails."""
    try:
        os.execv(program[0], program)  # noqa: S606 - the program is one that the keeper found
    except OSError as fault:
        return refuse(f"{program[0]}: {fault.strerror}")


def watch(parent: int, ending: int, program: list[str]) -> int:
    """Run the program, send it the signal when the parent is gone, and return its exit status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # one that comes before its handler stands waits for it
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        os._exit(execute(program))
    for number in FORWARDED:
        signal.signal(number, lambda told, _: os.kill(child, told))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    is_told = False
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return max(os.waitstatus_to_exitcode(status), 0) or os.WTERMSIG(status)
        if not is_told and os.getppid() != parent:
            os.kill(child, ending)
            is_told = True
        time.sleep(LOOKS)


def refuse(why: str) -> int:
    """Print why the program cannot be started, and return the exit status."""
    print(why, file=sys.stderr)  # noqa: T201 - a script whose caller reads its errors
    return REFUSED


if __name__ == "__main__":
    parent, ending, how, *program = sys.argv[1:]
    sys.exit(launch(int(parent), int(ending), how, program))
