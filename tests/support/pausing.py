"""Processes that are paused, with all that they started."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGCONT, SIGSTOP, Signals


def tree(process: int) -> list[int]:
    """Return a process and all that it started."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = path.read_text().rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            continue
        parents.setdefault(int(rest.split()[1]), []).append(int(name.split()[0]))
    found = [process]
    for known in found:
        found += parents.get(known, [])
    return found


@contextmanager
def paused(process: int) -> Iterator[None]:
    """Pause a process and all that it started until the block ends."""

    def tell(signal: Signals) -> None:
        for known in tree(process):
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(known, signal)

    tell(SIGSTOP)
    try:
        yield
    finally:
        tell(SIGCONT)
