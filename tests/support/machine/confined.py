"""What Docker's default profile leaves a process, without a container: `python confined.py [--user UID GID] COMMAND …`.

A filter refuses unshare, clone with new namespaces, mount, keyctl and setns, and the capabilities that Docker drops are
dropped. With --user the command runs as that user, who may read every file, for an interpreter may lie below /root.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from errno import ENOSYS, EPERM

CALLS = "clone clone3 unshare setns mount umount2 pivot_root add_key request_key keyctl fsopen open_tree move_mount"
NUMBERS = {  # of these, by machine
    "x86_64": (56, 435, 272, 308, 165, 166, 155, 248, 249, 250, 430, 428, 429),
    "aarch64": (220, 435, 97, 268, 40, 39, 41, 217, 218, 219, 430, 428, 429),
}
NAMESPACES = 0x7E020000  # the flags of clone that make new ones
DOCKERS = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}  # the capabilities that a container has by default
READ_ALL = 2  # CAP_DAC_READ_SEARCH
LAST = 40  # CAP_CHECKPOINT_RESTORE
PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 8, 22, 24, 38, 47
FILTER, RAISE = 2, 2
LOAD, IS, ALL_OF, RETURN = 0x20, 0x15, 0x45, 0x06  # instructions of BPF: load, equal, any bit set, return
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
VERSION_3 = 0x20080522  # of the structures of capset
LIBC = ctypes.CDLL(None, use_errno=True)


def instruction(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """Return one instruction of a filter."""
    return struct.pack("HBBI", code, yes, no, value)


def program() -> bytes:
    """Return the filter."""
    lines = [instruction(LOAD, 0)]
    for name, number in zip(CALLS.split(), NUMBERS[platform.machine()], strict=True):
        if name == "clone":
            lines += [
                instruction(IS, number, no=4),
                instruction(LOAD, 16),  # its flags
                instruction(ALL_OF, NAMESPACES, no=1),
                instruction(RETURN, ERRNO | EPERM),
                instruction(RETURN, ALLOW),
            ]
        else:  # clone3 hides its flags, so that libraries are told to use clone
            refusal = ENOSYS if name == "clone3" else EPERM
            lines += [instruction(IS, number, no=1), instruction(RETURN, ERRNO | refusal)]
    return b"".join([*lines, instruction(RETURN, ALLOW)])


def prctl(*arguments: int) -> None:
    """Call prctl. Raises OSError."""
    if LIBC.prctl(*map(ctypes.c_ulong, (*arguments, *[0] * (5 - len(arguments))))) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def drop_capabilities() -> None:
    """Take from root, from its next program on, what a container does not give it."""
    for number in set(range(LAST + 1)) - DOCKERS:
        with suppress(OSError):  # an older kernel has fewer
            prctl(PR_CAPBSET_DROP, number)


def refuse_calls() -> None:
    """Put this process, and all that it starts, under the filter."""
    code = program()
    instructions = ctypes.create_string_buffer(code)
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(instructions)))
    try:
        prctl(PR_SET_SECCOMP, FILTER, ctypes.addressof(header))
    except PermissionError:  # an ordinary user, or root in a container, who may not administer the system
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        prctl(PR_SET_SECCOMP, FILTER, ctypes.addressof(header))


def become(user: int, group: int) -> None:
    """Become an ordinary user who may read every file, where root may."""
    prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    bits = 1 << READ_ALL
    header = ctypes.create_string_buffer(struct.pack("Ii", VERSION_3, 0))
    with suppress(OSError):
        LIBC.capset(header, ctypes.create_string_buffer(struct.pack("6I", bits, bits, bits, 0, 0, 0)))
        prctl(PR_CAP_AMBIENT, RAISE, READ_ALL)


def main(arguments: Sequence[str]) -> None:
    """Become the command."""
    refuse_calls()
    if arguments[0] == "--user":
        become(int(arguments[1]), int(arguments[2]))
        arguments = arguments[3:]
    elif os.geteuid() == 0:
        drop_capabilities()
    os.execvp(arguments[0], list(arguments))  # noqa: S606 - the command of a test


if __name__ == "__main__":
    main(sys.argv[1:])
