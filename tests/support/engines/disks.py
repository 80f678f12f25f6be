"""Small disks that a test fills: never one on which others write."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def mount(folder: Path, megabytes: int, options: str = "rw") -> str | None:
    """Mount a disk on a folder, which is made if it is absent; return why this process may not, None if it may."""
    folder.mkdir(exist_ok=True)
    command: list[str | Path] = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,{options}", "tmpfs", folder]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    return run.stderr.strip().splitlines()[0] if run.returncode else None  # the others say where the kernel says more


def unmount(folder: Path) -> None:
    """Unmount a disk, once no process uses it."""
    subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def disk(folder: Path, megabytes: int, options: str = "rw") -> Iterator[Path]:
    """Lend a disk of its own in a folder; skip where this process may not mount one."""
    refused = mount(folder, megabytes, options)
    if refused is not None:
        pytest.skip(f"no small disk can be mounted: {refused}")
    try:
        yield folder
    finally:
        unmount(folder)
