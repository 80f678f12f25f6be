"""The seccomp filter of each machine, run by a small interpreter of its own: what is allowed, refused and fatal."""

import struct
from collections.abc import Mapping

import pytest

from sandbox.jail import ABSENT, ALLOW, CALLS, FULL, KILL, REFUSE, filter_program

PROCESS = 4711
OPENAT = {"x86_64": 257, "aarch64": 56}
THREAD = 0x3D0F00  # what the C library gives clone for a thread
PRIVATE, SHARED = 0x22, 0x21
MACHINES = pytest.mark.parametrize("machine", CALLS)


def decided(machine: str, number: int, *arguments: int, of: int | None = None) -> int:
    """Return what the filter says of a system call."""
    given = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, CALLS[machine].machine if of is None else of, 0, *given)
    steps = list(struct.iter_unpack("=HBBI", filter_program(CALLS[machine], PROCESS)))
    at = held = 0
    while True:
        code, true, false, constant = steps[at]
        at += 1
        if code == 0x06:
            return int(constant)
        if code == 0x20:
            (held,) = struct.unpack_from("=I", data, constant)
        elif code == 0x54:
            held &= constant
        else:
            at += true if (held == constant if code == 0x15 else held >= constant) else false


@MACHINES
def test_every_call_of_the_tables_is_decided(machine: str) -> None:
    calls = CALLS[machine]
    assert {decided(machine, number) for number in calls.allowed.values()} == {ALLOW}
    assert {decided(machine, number) for number in calls.fatal.values()} == {KILL}
    assert len({*calls.allowed.values(), *calls.fatal.values(), *calls.checked.values()}) == sum(
        map(len, (calls.allowed, calls.fatal, calls.checked))
    )


@MACHINES
def test_what_no_table_names_is_refused(machine: str) -> None:
    named: Mapping[str, int] = {**CALLS[machine].allowed, **CALLS[machine].fatal, **CALLS[machine].checked}
    assert OPENAT[machine] not in named.values()
    assert {decided(machine, number) for number in range(600) if number not in named.values()} == {REFUSE}


@MACHINES
def test_another_machine_and_another_abi_are_fatal(machine: str) -> None:
    (other,) = [calls.machine for name, calls in CALLS.items() if name != machine]
    assert decided(machine, CALLS[machine].allowed["read"], of=other) == KILL
    assert decided(machine, CALLS[machine].allowed["read"], of=0x40000003) == KILL
    assert decided(machine, CALLS[machine].allowed["read"] | 0x40000000) == KILL


@MACHINES
@pytest.mark.parametrize(
    ("name", "arguments", "verdict"),
    [
        ("clone", (THREAD,), FULL),
        ("clone", (17,), KILL),
        ("clone", (0x4111,), KILL),
        ("clone", (THREAD | 0x10000000,), KILL),
        ("clone", (THREAD | 0x80,), KILL),
        ("clone3", (), ABSENT),
        ("mmap", (0, 4096, 3, PRIVATE), ALLOW),
        ("mmap", (0, 4096, 3, SHARED), REFUSE),
        ("mmap", (0, 4096, 3, 0x03), REFUSE),
        ("mmap", (0, 4096, 3, PRIVATE | 0x100), REFUSE),
        ("mmap", (0, 4096, 7, PRIVATE), REFUSE),
        ("mprotect", (0, 4096, 3), ALLOW),
        ("mprotect", (0, 4096, 5), REFUSE),
        ("fcntl", (3, 1), ALLOW),
        ("fcntl", (3, 3), ALLOW),
        ("fcntl", (3, 1030), ALLOW),
        ("fcntl", (3, 4), REFUSE),
        ("fcntl", (3, 0), REFUSE),
        ("prctl", (15,), ALLOW),
        ("prctl", (0x53564D41,), ALLOW),
        ("prctl", (4, 1), REFUSE),
        ("prctl", (1, 0), REFUSE),
        ("tgkill", (PROCESS, PROCESS, 6), ALLOW),
        ("tgkill", (PROCESS + 1, 1, 6), KILL),
        ("prlimit64", (0, 2, 0, 1), ALLOW),
        ("prlimit64", (1, 2, 0, 1), REFUSE),
        ("prlimit64", (0, 2, 1, 0), REFUSE),
        ("prlimit64", (0, 2, 1 << 32, 0), REFUSE),
    ],
)
def test_a_call_is_decided_by_its_arguments(machine: str, name: str, arguments: tuple[int, ...], verdict: int) -> None:
    assert decided(machine, CALLS[machine].checked[name], *arguments) == verdict


def test_the_machines_have_the_same_calls_where_both_have_them() -> None:
    first, second = CALLS.values()
    only = {*first.fatal} ^ {*second.fatal}
    assert only == {"fork", "vfork"}  # the second makes processes by clone alone
    assert {*first.allowed} ^ {*second.allowed} == {"poll", "epoll_wait"}
    assert {*first.checked} == {*second.checked}
