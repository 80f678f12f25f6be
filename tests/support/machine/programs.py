"""The programs that tests run beside Python: where each is, and what becomes of a test on a machine without it.

A test that runs one of NEEDED is marked with it: `@pytest.mark.program("nginx")`. It is skipped where the program is
not installed, and the reason names the program. `.ci/bare` runs the marked tests where none is installed.
"""

import os
import shutil
from collections.abc import Collection
from typing import NoReturn

import pytest

NEEDED = {  # what `make ci-deps` installs, and the names that the executable may have
    "nginx": ("nginx",),
    "openssl": ("openssl",),
    "redis-server": ("redis-server",),
    "soffice": ("soffice", "libreoffice"),
    "faketime": ("faketime",),
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
}
SYSTEM = "/usr/sbin"  # where Debian installs nginx; not on every user's PATH
MARKED: set[str] = set()  # the programs that the running test is marked with


def find_program(name: str) -> str | None:
    """Return the path of a program; None where it is not installed."""
    path = f"{os.environ['PATH']}{os.pathsep}{SYSTEM}"
    found = (shutil.which(executable, path=path) for executable in NEEDED.get(name, (name,)))
    return next(filter(None, found), None)


def needs_program(name: str) -> str:
    """Return the path of a program; skip the test where it is not installed."""
    found = find_program(name) or missing(f"not installed: {name}; run: make ci-deps")
    assert name not in NEEDED or name in MARKED, f'mark the test: @pytest.mark.program("{name}")'
    return found


def mark(names: Collection[str]) -> None:
    """Note the programs of the test that runs next, and skip it where one is not installed."""
    MARKED.clear()
    MARKED.update(names)
    if absent := [name for name in sorted(names) if find_program(name) is None]:
        missing(f"not installed: {', '.join(absent)}; run: make ci-deps")


def missing(reason: str) -> NoReturn:
    """Skip what cannot run here; fail it in CI, where everything has to run."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason} (in CI a skip is a failure)", pytrace=False)
    pytest.skip(reason)


if __name__ == "__main__":
    for name, executables in NEEDED.items():
        print(name, *executables)  # noqa: T201 - for .ci/bare
