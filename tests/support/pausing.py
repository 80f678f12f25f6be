"""Processes that are paused, with all that they started, and this one interrupted."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGSTOP
from threading import Event, Thread

from tests.support.keeping import children
from tests.support.serving import wait_for

AGAIN = 15.0  # seconds between two interrupts
AT_REST = {"T", "t", "Z"}  # stopped, traced, or ended and not reaped


def state_of(process: int) -> str:
    """Return the letter of a process's state."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def tree(process: int) -> list[int]:
    """Return a process and all that it started, as far as it runs."""
    processes = [process]
    for each in processes:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            processes += children(each)
    return processes


def pause(process: int) -> list[int]:
    """Pause a process and all that it started; return them.

    Parents rest before their children are listed: then none starts or reaps another, so that each id stays that of a
    child, even of one that has ended.
    """
    processes = [process]
    for each in processes:
        os.kill(each, SIGSTOP)
        wait_for(lambda resting=each: state_of(resting) in AT_REST)
        processes += children(each)
    return processes


def resume(processes: list[int]) -> None:
    """Let processes that were paused go on, children before their parents."""
    for process in reversed(processes):
        os.kill(process, SIGCONT)


@contextmanager
def paused(process: int) -> Iterator[None]:
    """Pause a process and all that it started until the block ends."""
    processes = pause(process)
    try:
        yield
    finally:
        resume(processes)


@contextmanager
def interrupted(seconds: float) -> Iterator[None]:
    """Interrupt the main thread some seconds after the block begins, and again as long as the block does not end.

    An interrupt is lost where it falls into a callback of the collector of garbage, such as that of hypothesis.
    """
    ended = Event()

    def interrupt() -> None:
        wait = seconds
        while not ended.wait(wait):
            os.kill(os.getpid(), SIGINT)
            wait = AGAIN

    thread = Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
