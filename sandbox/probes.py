"""Probes from inside the jail: forbidden operations. Each must fail or kill the process that tries it."""

import _thread
import mmap
import os
import socket
from collections.abc import Callable, Mapping

from sandbox.job import JobLimits

MAP_GROWSDOWN = 0x100
TRIED = JobLimits().memory  # bytes; a probe has the limits of a job, and its process has used some


def read_a_file() -> None:
    """Open a file that always exists."""
    os.close(os.open("/", os.O_RDONLY))


def open_a_socket() -> None:
    """Open a socket."""
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def fork() -> None:
    """Start a process."""
    if os.fork() == 0:
        os._exit(0)


def execute() -> None:
    """Execute another program."""
    os.execv("/bin/true", ["true"])  # noqa: S606 - it must not work


def signal_the_parent() -> None:
    """Test whether a signal reaches the parent."""
    os.kill(os.getppid(), 0)


def take_memory() -> None:
    """Allocate more memory than a job may have."""
    mmap.mmap(-1, TRIED, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


def reserve_memory() -> None:
    """Allocate as many addresses, which a process could make memory later."""
    mmap.mmap(-1, TRIED, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ).close()


def grow_a_stack() -> None:
    """Allocate memory that grows as a stack does, which RLIMIT_DATA does not count."""
    mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_GROWSDOWN).close()


def start_a_thread() -> None:
    """Start a thread."""
    _thread.start_new_thread(os.getpid, ())


def share_memory() -> None:
    """Allocate shared memory, which no limit counts."""
    mmap.mmap(-1, 4096, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS).close()


def make_code() -> None:
    """Allocate executable memory."""
    wanted = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, wanted).close()


PROBES: Mapping[str, Callable[[], None]] = {
    probe.__name__: probe
    for probe in (
        read_a_file,
        open_a_socket,
        fork,
        execute,
        signal_the_parent,
        take_memory,
        reserve_memory,
        grow_a_stack,
        share_memory,
        make_code,
        start_a_thread,
    )
}


def is_refused(name: str) -> bool:
    """Run a probe; tell whether it was refused. A probe that breaks a fatal rule kills the process instead."""
    try:
        PROBES[name]()
    except (OSError, MemoryError, RuntimeError):  # Python's words for "no new thread"
        return True
    return False
