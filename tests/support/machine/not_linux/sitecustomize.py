"""A Python without what only Linux has: prctl, /proc, seccomp, and the name. A test puts its folder on PYTHONPATH.

It stands for a Mac as far as a Linux machine can: code that needs one of them fails here as it would there.
"""

import ctypes.util  # before the name: some Pythons have no modules of other systems
import os
import sys
import sysconfig
import urllib.request  # noqa: F401 - Python's own modules are those of this system
from typing import Any

sysconfig.get_config_vars()  # read once, by the name of this system
sys.platform = "darwin"
LINUX_ONLY = ("prctl", "seccomp", "unshare", "syscall")
LIBRARY = ctypes.CDLL


class WithoutLinux(LIBRARY):
    """The C library of another system."""

    def __getattr__(self, name: str) -> Any:
        """Return a function, unless only Linux has it."""
        if name in LINUX_ONLY:
            raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
        return super().__getattr__(name)


def without_proc(event: str, given: tuple[object, ...]) -> None:
    """Refuse to open what lies in /proc."""
    if event == "open" and isinstance(given[0], str) and given[0].startswith("/proc/"):
        raise FileNotFoundError(2, "No such file or directory", given[0])


ctypes.CDLL = WithoutLinux  # type: ignore[misc]  # in the place of the class, for whoever loads a library
sys.addaudithook(without_proc)
for missing in ("memfd_create", "pidfd_open", "waitid"):
    delattr(os, missing)
