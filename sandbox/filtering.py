"""The seccomp filter: a BPF program that lets a process compute, and neither open, connect, fork nor signal.

A call that no table names gets EPERM. syscalls.json has a table for each machine; its numbers are the kernel's.
"""

import errno
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

ALLOW, KILL, REFUSE, ABSENT = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
LOAD, AND, EQUAL, ABOVE, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
NUMBER, MACHINE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
X32 = 0x40000000  # calls of the x32 ABI carry this bit
PROT_EXEC = 4
MAP_TYPE, MAP_PRIVATE = 0x0F, 0x02
THREAD = 0x00010000 | 0x00000100 | 0x00000800  # CLONE_THREAD, CLONE_VM and CLONE_SIGHAND
NAMESPACES = 0x7E020000 | 0x00000080  # every CLONE_NEW… flag
FCNTL = (1, 3, 1030)  # F_GETFD, F_GETFL, F_DUPFD_CLOEXEC
PRCTL = (15, 0x53564D41)  # PR_SET_NAME, PR_SET_VMA
Step = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


@dataclass(frozen=True, slots=True)
class Calls:
    """The system calls of one machine by what becomes of them."""

    machine: int
    allowed: Mapping[str, int]
    checked: Mapping[str, int]
    fatal: Mapping[str, int]
    used: Mapping[str, int]  # those that make a jail


def read_calls() -> dict[str, Calls]:
    """Return the tables there are."""
    text = files("sandbox").joinpath("syscalls.json").read_text(encoding="utf-8")
    return {machine: Calls(**table) for machine, table in json.loads(text).items()}


CALLS: Mapping[str, Calls] = read_calls()


def argument(place: int) -> tuple[Step, Step]:
    """Return how the halves of an argument are read, the low one and the high one."""
    offset = ARGUMENTS + 8 * place
    return (LOAD, 0, 0, offset), (LOAD, 0, 0, offset + 4)


def without(place: int, bits: int) -> list[Step]:
    """Allow a call whose argument has none of the bits."""
    return [argument(place)[0], (AND, 0, 0, bits), (EQUAL, 0, 1, 0), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]


def among(place: int, values: tuple[int, ...]) -> list[Step]:
    """Allow a call whose argument is one of a few."""
    tests = [(EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [argument(place)[0], *tests, (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]


def mapping(_: int) -> list[Step]:
    """Allow private memory that is no code: shared memory would not count."""
    private: list[Step] = [argument(3)[0], (AND, 0, 0, MAP_TYPE), (EQUAL, 1, 0, MAP_PRIVATE), (RETURN, 0, 0, REFUSE)]
    return [*private, *without(2, PROT_EXEC)]


def threads(_: int) -> list[Step]:
    """Allow new threads; a new process is fatal."""
    return [
        argument(0)[0],
        (AND, 0, 0, THREAD | NAMESPACES),
        (EQUAL, 0, 1, THREAD),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, KILL),
    ]


def own_signals(process: int) -> list[Step]:
    """Allow a signal to a thread of the process itself, as abort() sends; any other is fatal."""
    return [argument(0)[0], (EQUAL, 0, 1, process), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, KILL)]


def own_limits(_: int) -> list[Step]:
    """Allow to read the limits of the process itself."""
    low, high = argument(2)
    steps: list[Step] = [argument(0)[0], (EQUAL, 1, 0, 0), (RETURN, 0, 0, REFUSE)]
    steps += [low, (EQUAL, 1, 0, 0), (RETURN, 0, 0, REFUSE), high, (EQUAL, 1, 0, 0), (RETURN, 0, 0, REFUSE)]
    return [*steps, (RETURN, 0, 0, ALLOW)]


CHECKS: Mapping[str, Callable[[int], list[Step]]] = {
    "mmap": mapping,
    "mprotect": lambda _: without(2, PROT_EXEC),
    "clone": threads,
    "clone3": lambda _: [(RETURN, 0, 0, ABSENT)],  # its flags cannot be read here; the C library falls back to clone
    "fcntl": lambda _: among(1, FCNTL),
    "prctl": lambda _: among(0, PRCTL),
    "tgkill": own_signals,
    "prlimit64": own_limits,
}


def program(calls: Calls, process: int) -> bytes:
    """Return the filter of a process, as the kernel takes it."""
    return b"".join(struct.pack("=HBBI", *step) for step in steps_of(calls, process))


def steps_of(calls: Calls, process: int) -> Iterator[Step]:
    """Yield the program: machine, number, then one test a call."""
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
