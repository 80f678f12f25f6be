"""The jail: what a process gives up before it looks at anything of a job, and never gets back.

Limits of the process bound memory and time; no_new_privs, Landlock and seccomp take away files, network, processes and
signals. Landlock only where the kernel has it; without any other part there is no jail.
"""

import ctypes
import math
import os
import platform
import resource
import struct
from collections.abc import Collection
from pathlib import Path

from sandbox.filtering import CALLS, Calls, program
from sandbox.job import Limits

NOBODY = 65534
ADDRESSES = 2_560 << 20  # bytes of addresses: what polars maps and never touches counts too
STACK = 8 << 20
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_MDWE = 1, 4, 38, 65
SIGKILL = 9
FILTER, ALL_THREADS = 1, 1
ASK_VERSION = 1
RIGHTS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 5: 0xFFFF}  # of files, by the version of Landlock that brought them
READING = 0b1100  # to read files and folders
NETWORK, SCOPES = 4, 6  # versions that brought TCP, and abstract sockets and signals


class NoJail(Exception):
    """A part of the jail that this machine does not have; says which."""


class Kernel:
    """The kernel, asked by number."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        calls = CALLS.get(platform.machine())
        if calls is None:
            raise NoJail(f"there is no table of system calls for {platform.machine()}")
        self.calls: Calls = calls

    def prctl(self, option: int, value: int) -> bool:
        """Set something of the process; tell whether it was set."""
        return int(self._libc.prctl(option, *(ctypes.c_ulong(part) for part in (value, 0, 0, 0)))) == 0

    def call(self, name: str, *values: int | ctypes.Array[ctypes.c_char] | None) -> int:
        """Make a system call; -1 is failure."""
        given = [ctypes.c_long(value) if isinstance(value, int) else value for value in values]
        return int(self._libc.syscall(ctypes.c_long(self.calls.used[name]), *given))

    def why(self) -> str:
        """Return why the last call failed."""
        return os.strerror(ctypes.get_errno())


def enter(limits: Limits, parent: int, kept: Collection[int]) -> None:
    """Give everything up but these descriptors, in the one order that works; NoJail where a part of it fails."""
    kernel = Kernel()
    die_with(kernel, parent)
    close_others(kept)
    prefer_for_killing()
    bound(limits)
    if os.geteuid() == 0:
        become_nobody()
        die_with(kernel, parent)
    require(kernel, PR_SET_DUMPABLE, 0, "undumpable")
    require(kernel, PR_SET_NO_NEW_PRIVS, 1, "no_new_privs")
    landlock(kernel)
    kernel.prctl(PR_SET_MDWE, 1)  # from kernel 6.3; the filter refuses executable memory anyway
    seccomp(kernel)


def require(kernel: Kernel, option: int, value: int, name: str) -> None:
    """Set something that a jail must have."""
    if not kernel.prctl(option, value):
        raise NoJail(f"{name}: {kernel.why()}")


def die_with(kernel: Kernel, parent: int) -> None:
    """End with the parent, also with one that ended before this was said."""
    require(kernel, PR_SET_PDEATHSIG, SIGKILL, "a signal at the end of the parent")
    if os.getppid() != parent:
        raise NoJail("the parent is gone")


def close_others(kept: Collection[int]) -> None:
    """Close every descriptor but these; the standard ones lead nowhere already."""
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def prefer_for_killing() -> None:
    """Be the first to go where the machine runs out of memory."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    except OSError:
        return  # no /proc


def bound(limits: Limits) -> None:
    """Set the limits of the process."""
    cpu = max(1, math.ceil(limits.cpu))
    for kind, soft, hard in (
        (resource.RLIMIT_AS, ADDRESSES, ADDRESSES),
        (resource.RLIMIT_DATA, limits.memory, limits.memory),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_NOFILE, 64, 64),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_STACK, STACK, STACK),
        (resource.RLIMIT_MEMLOCK, 0, 0),
    ):
        try:
            resource.setrlimit(kind, (soft, hard))
        except (OSError, ValueError) as fault:
            raise NoJail(f"limit {kind}: {fault}") from fault


def become_nobody() -> None:
    """Stop being root."""
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError as fault:
        raise NoJail(f"root cannot become nobody: {fault.strerror}") from fault


def landlock(kernel: Kernel, kept: int = 0) -> None:
    """Take away every file, TCP, abstract sockets and signals to others, as far as the kernel knows how to.

    `kept` are rights over files that stay.
    """
    version = kernel.call("landlock_create_ruleset", None, 0, ASK_VERSION)
    if version < 1:
        return
    files = max(rights for since, rights in RIGHTS.items() if since <= version) & ~kept
    network, scopes = 3 if version >= NETWORK else 0, 3 if version >= SCOPES else 0
    known = [files, *([network] if version >= NETWORK else []), *([scopes] if version >= SCOPES else [])]
    rules = ctypes.create_string_buffer(struct.pack(f"={len(known)}Q", *known), 8 * len(known))
    ruleset = kernel.call("landlock_create_ruleset", rules, 8 * len(known), 0)
    if ruleset < 0 or kernel.call("landlock_restrict_self", ruleset, 0) != 0:
        raise NoJail(f"Landlock: {kernel.why()}")
    os.close(ruleset)


def seccomp(kernel: Kernel) -> None:
    """Let the filter decide over every further system call."""
    steps = program(kernel.calls, os.getpid())
    code = ctypes.create_string_buffer(steps, len(steps))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(steps) // 8, ctypes.addressof(code)), 16)
    if kernel.call("seccomp", FILTER, ALL_THREADS, header) != 0:
        raise NoJail(f"seccomp: {kernel.why()}")
