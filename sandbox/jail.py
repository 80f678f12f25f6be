"""The jail: the seccomp filter, and the rights that a process drops before it reads a job."""

import ctypes
import errno
import json
import math
import os
import platform
import resource
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from sandbox.job import JobLimits

# The seccomp filter: a BPF program that allows computation, but no opening of files, connections, forks or signals. A
# call that is not in the machine's table (syscalls.json) fails with EPERM.


ALLOW, KILL, REFUSE, ABSENT = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
FULL = 0x00050000 | errno.EAGAIN
LOAD, AND, EQUAL, ABOVE, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
NUMBER, MACHINE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
X32 = 0x40000000  # system calls of the x32 ABI carry this bit
PROT_EXEC = 4
MAP_TYPE, MAP_PRIVATE, MAP_GROWSDOWN = 0x0F, 0x02, 0x100
THREAD = 0x00010000 | 0x00000100 | 0x00000800  # CLONE_THREAD, CLONE_VM and CLONE_SIGHAND
NAMESPACES = 0x7E020000 | 0x00000080  # all CLONE_NEW… flags
FCNTL = (1, 3, 1030)  # F_GETFD, F_GETFL, F_DUPFD_CLOEXEC
PRCTL = (15, 0x53564D41)  # PR_SET_NAME, PR_SET_VMA
Step = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


@dataclass(frozen=True, slots=True)
class SystemCalls:
    """The system call numbers of one machine, by the filter's treatment."""

    machine: int
    allowed: Mapping[str, int]
    checked: Mapping[str, int]
    fatal: Mapping[str, int]
    used: Mapping[str, int]  # by the jail's own set-up


def read_system_calls() -> dict[str, SystemCalls]:
    """Return the tables of all supported machines."""
    text = files("sandbox").joinpath("syscalls.json").read_text(encoding="utf-8")
    return {machine: SystemCalls(**table) for machine, table in json.loads(text).items()}


CALLS: Mapping[str, SystemCalls] = read_system_calls()


def load_argument(place: int) -> tuple[Step, Step]:
    """Return the steps that load the low and the high half of an argument."""
    offset = ARGUMENTS + 8 * place
    return (LOAD, 0, 0, offset), (LOAD, 0, 0, offset + 4)


def allow_without_bits(place: int, bits: int) -> list[Step]:
    """Allow a call if its argument has none of these bits."""
    return [load_argument(place)[0], (AND, 0, 0, bits), (EQUAL, 0, 1, 0), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]


def allow_values(place: int, values: tuple[int, ...]) -> list[Step]:
    """Allow a call if its argument is one of these values."""
    tests = [(EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [load_argument(place)[0], *tests, (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]


def check_mmap(_: int) -> list[Step]:
    """Allow private memory without execution; RLIMIT_DATA counts neither shared memory nor stacks that grow."""
    private: list[Step] = [
        load_argument(3)[0],
        (AND, 0, 0, MAP_TYPE | MAP_GROWSDOWN),
        (EQUAL, 1, 0, MAP_PRIVATE),
        (RETURN, 0, 0, REFUSE),
    ]
    return [*private, *allow_without_bits(2, PROT_EXEC)]


def check_clone(_: int) -> list[Step]:
    """Refuse a new thread as a full machine does, which polars survives; a new process kills the child."""
    return [
        load_argument(0)[0],
        (AND, 0, 0, THREAD | NAMESPACES),
        (EQUAL, 0, 1, THREAD),
        (RETURN, 0, 0, FULL),
        (RETURN, 0, 0, KILL),
    ]


def check_tgkill(process: int) -> list[Step]:
    """Allow a signal to a thread of the process itself, as abort() sends; any other kills the child."""
    return [load_argument(0)[0], (EQUAL, 0, 1, process), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, KILL)]


def check_prlimit(_: int) -> list[Step]:
    """Allow a process to read its own limits."""
    low, high = load_argument(2)
    steps: list[Step] = [load_argument(0)[0], (EQUAL, 1, 0, 0), (RETURN, 0, 0, REFUSE)]
    steps += [low, (EQUAL, 1, 0, 0), (RETURN, 0, 0, REFUSE), high, (EQUAL, 1, 0, 0), (RETURN, 0, 0, REFUSE)]
    return [*steps, (RETURN, 0, 0, ALLOW)]


CHECKS: Mapping[str, Callable[[int], list[Step]]] = {
    "mmap": check_mmap,
    "mprotect": lambda _: allow_without_bits(2, PROT_EXEC),
    "clone": check_clone,
    "clone3": lambda _: [(RETURN, 0, 0, ABSENT)],  # the filter cannot read its flags; the C library falls back to clone
    "fcntl": lambda _: allow_values(1, FCNTL),
    "prctl": lambda _: allow_values(0, PRCTL),
    "tgkill": check_tgkill,
    "prlimit64": check_prlimit,
}


def filter_program(calls: SystemCalls, process: int) -> bytes:
    """Return the filter of a process in the kernel's format."""
    return b"".join(struct.pack("=HBBI", *step) for step in filter_steps(calls, process))


def filter_steps(calls: SystemCalls, process: int) -> Iterator[Step]:
    """Yield the steps of the filter: check the machine, load the number, then test each call."""
    yield from ((LOAD, 0, 0, MACHINE), (EQUAL, 1, 0, calls.machine), (RETURN, 0, 0, KILL))
    yield from ((LOAD, 0, 0, NUMBER), (ABOVE, 0, 1, X32), (RETURN, 0, 0, KILL))
    for number in calls.allowed.values():
        yield from ((EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW))
    for number in calls.fatal.values():
        yield from ((EQUAL, 0, 1, number), (RETURN, 0, 0, KILL))
    for name, number in calls.checked.items():
        check = CHECKS[name](process)
        yield (EQUAL, 0, len(check), number)
        yield from check
    yield (RETURN, 0, 0, REFUSE)


# The jail. Resource limits bound memory and time. no_new_privs, Landlock and seccomp remove files, network, processes
# and signals. Landlock is optional, because older kernels lack it; every other part is required.


NOBODY = 65534
STACK = 8 << 20
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_MDWE = 1, 4, 38, 65
SIGKILL = 9
FILTER, ALL_THREADS = 1, 1
ASK_VERSION = 1
RIGHTS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 5: 0xFFFF}  # file rights by Landlock version
READING = 0b1100  # the rights to read files and folders
NETWORK, SCOPES = 4, 6  # versions that added TCP, and abstract sockets and signals


class JailUnavailable(Exception):
    """This machine lacks a part of the jail; the message names it."""


class Kernel:
    """System calls by number."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        calls = CALLS.get(platform.machine())
        if calls is None:
            raise JailUnavailable(f"there is no table of system calls for {platform.machine()}")
        self.calls: SystemCalls = calls

    def prctl(self, option: int, value: int) -> bool:
        """Set an attribute of the process; tell whether it succeeded."""
        return int(self._libc.prctl(option, *(ctypes.c_ulong(part) for part in (value, 0, 0, 0)))) == 0

    def call(self, name: str, *values: int | ctypes.Array[ctypes.c_char] | None) -> int:
        """Make a system call and return its result, -1 on failure."""
        arguments = [ctypes.c_long(value) if isinstance(value, int) else value for value in values]
        return int(self._libc.syscall(ctypes.c_long(self.calls.used[name]), *arguments))

    def why(self) -> str:
        """Return the reason why the last call failed."""
        return os.strerror(ctypes.get_errno())


def enter(limits: JobLimits, parent: int, kept: Collection[int], start_threads: Callable[[], object]) -> None:
    """Drop every right and descriptor except `kept`, in the required order. Raises JailUnavailable if a part fails.

    `start_threads` starts the threads of polars: Landlock holds for threads that start after it, and the filter lets
    none start.
    """
    kernel = Kernel()
    die_with(kernel, parent)
    close_others(kept)
    prefer_for_killing()
    set_limits(limits)
    if os.geteuid() == 0:
        become_nobody()
        die_with(kernel, parent)
    require(kernel, PR_SET_DUMPABLE, 0, "undumpable")
    require(kernel, PR_SET_NO_NEW_PRIVS, 1, "no_new_privs")
    landlock(kernel)
    kernel.prctl(PR_SET_MDWE, 1)  # from kernel 6.3; the filter refuses executable memory anyway
    start_threads()
    seccomp(kernel)


def require(kernel: Kernel, option: int, value: int, name: str) -> None:
    """Set a required attribute of the process. Raises JailUnavailable if it fails."""
    if not kernel.prctl(option, value):
        raise JailUnavailable(f"{name}: {kernel.why()}")


def die_with(kernel: Kernel, parent: int) -> None:
    """Make the kernel kill this process when its parent ends. Raises JailUnavailable if the parent is gone."""
    require(kernel, PR_SET_PDEATHSIG, SIGKILL, "a signal at the end of the parent")
    if os.getppid() != parent:
        raise JailUnavailable("the parent is gone")


def close_others(kept: Collection[int]) -> None:
    """Close every descriptor except `kept` and the standard ones, which lead nowhere."""
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def prefer_for_killing() -> None:
    """Make this process the first that the kernel kills when memory runs out."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    except OSError:
        return  # no /proc


def set_limits(limits: JobLimits) -> None:
    """Set the resource limits of the process."""
    cpu = max(1, math.ceil(limits.cpu))
    addresses = constant_addresses() + limits.memory
    for kind, soft, hard in (
        (resource.RLIMIT_AS, addresses, addresses),
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
            raise JailUnavailable(f"limit {kind}: {fault}") from fault


def constant_addresses() -> int:
    """Return the bytes of address space that hold no data.

    Beside RLIMIT_DATA, which the kernel does not check where the address space is full, the address space itself is
    limited: to these and the memory of a job.
    """
    try:
        size, *_, data, _ = map(int, Path("/proc/self/statm").read_text(encoding="ascii").split())
    except OSError as fault:
        raise JailUnavailable(f"the size of the process: {fault.strerror}") from fault
    return (size - data) * resource.getpagesize()


def become_nobody() -> None:
    """Drop root."""
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError as fault:
        raise JailUnavailable(f"root cannot become nobody: {fault.strerror}") from fault


def landlock(kernel: Kernel, kept: int = 0) -> None:
    """Deny files, TCP, abstract sockets and signals to other processes, as far as the kernel supports it.

    `kept` holds the file rights that remain.
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
        raise JailUnavailable(f"Landlock: {kernel.why()}")
    os.close(ruleset)


def seccomp(kernel: Kernel) -> None:
    """Install the filter for all further system calls."""
    steps = filter_program(kernel.calls, os.getpid())
    code = ctypes.create_string_buffer(steps, len(steps))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(steps) // 8, ctypes.addressof(code)), 16)
    if kernel.call("seccomp", FILTER, ALL_THREADS, header) != 0:
        raise JailUnavailable(f"seccomp: {kernel.why()}")
