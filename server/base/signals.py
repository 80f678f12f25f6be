"""Signals that tell a command to end or to reload its files."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from threading import Thread


def interrupt_on_sigterm() -> None:
    """Make SIGTERM act as an interrupt from the keyboard.

    Polars reacts to interrupts only, and a Python handler would not run before its query ends. A thread therefore
    forwards the signal.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    Thread(target=forward_sigterm, args=(reading,), daemon=True).start()


def forward_sigterm(reading: int) -> None:
    """Interrupt this process at the first SIGTERM."""
    while os.read(reading, 1)[0] != signal.SIGTERM:
        pass
    os.kill(os.getpid(), signal.SIGINT)


PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> bool:
    """Have the kernel kill this process when its parent ends; tell whether the parent is still alive."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def on_hangup(reread: Callable[[], None]) -> None:
    """Call a function at SIGHUP; if the terminal of the command is gone, end as at SIGTERM instead."""
    had_terminal = has_terminal()

    def heed(*_: object) -> None:
        if had_terminal and not has_terminal():
            signal.raise_signal(signal.SIGTERM)
        else:
            reread()

    signal.signal(signal.SIGHUP, heed)


def has_terminal() -> bool:
    """Tell whether this process has a terminal that is there."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
