"""Clocks of processes that can be set off by some time, while they run, by libfaketime."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class FalseClock:
    """A clock: the file that says by how much it is off, and the library that reads it."""

    file: Path
    library: Path

    @property
    def environment(self) -> dict[str, Any]:
        """What a process that goes by it has in its environment."""
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def jump(self, off: str) -> None:
        """Set it off by so much, as "+25h"."""
        self.file.write_text(off)


def sweep() -> None:
    """Remove what the library left of processes that were killed: it refuses to start one with the number of such."""
    for left in Path("/dev/shm").glob("*faketime_*_*"):  # noqa: S108 - where the kernel keeps semaphores
        if not Path("/proc", left.name.rpartition("_")[2]).exists():
            left.unlink(missing_ok=True)


def clock_in(folder: Path) -> FalseClock:
    """Return a clock that goes right."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    assert library is not None, "libfaketime is not installed; run: make ci-deps"
    sweep()
    clock = FalseClock(folder / "clock", library)
    clock.jump("+0")
    return clock
