"""Processes that are paused, with all that they started, and this one interrupted."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGSTOP
from threading import Timer

from tests.support.service.keeper import children
from tests.support.service.servers import wait_for

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
        wait_for(lambda resting=each: state_of(resting) in AT_REST)  # type: ignore[misc]  # its own
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
def without_callbacks() -> Iterator[None]:
    """Let the callbacks of Python's collector of garbage rest, such as that of hypothesis, until the block ends.

    Python swallows what a signal raises in one of them, and the code in C of a query or of a reader of files leaves it
    hardly another place to fall.
    """
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    try:
        yield
    finally:
        gc.callbacks.extend(callbacks)


@contextmanager
def interrupted(seconds: float) -> Iterator[None]:
    """Interrupt the main thread some seconds after the block begins."""
    timer = Timer(seconds, os.kill, (os.getpid(), SIGINT))
    with without_callbacks():
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
