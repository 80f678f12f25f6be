"""Tables made of the members of the books: made once, kept in a folder of the store, and mapped by all who read them.

The name of the folder is a digest of what the tables are made of: files that never change. So they survive publishes.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from engine.facts.files import mapped, spool, sync_folder
from engine.facts.manifest import locked
from engine.model.derived_tables import DerivedTables, Tables
from engine.model.errors import Unavailable
from engine.model.stopping import LOOK_SECONDS, look

FOLDER, LOCK, SUFFIX = "derived", "lock", ".arrow"
MAX_FOLDERS = 2  # of tables made of other members, which older versions still read


def derived_tables(root: Path, name: str, make: Callable[[], Tables]) -> DerivedTables:
    """Return tables of a store by name, mapped; makes them first if there are none or one cannot be read.

    Whoever makes them holds a lock, and others wait for it. Where the store cannot be written they stay in memory.
    """
    folder = root / FOLDER / name
    tables = read_tables(folder)
    if tables is not None:
        return DerivedTables(tables, are_mapped=True)
    try:
        folder.parent.mkdir(exist_ok=True)
        lock = (folder.parent / LOCK).open("ab")
    except OSError:
        return DerivedTables(make(), are_mapped=False)
    with lock, alone(lock.fileno()):
        tables = read_tables(folder)
        if tables is None:
            made = make()
            with suppress(OSError):
                write_tables(folder, made)
            tables = read_tables(folder)
        return DerivedTables(made, are_mapped=False) if tables is None else DerivedTables(tables, are_mapped=True)


@contextmanager
def alone(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open file; whoever waits for it looks at `stop` meanwhile. Closing the file releases it."""
    while not locked(descriptor):
        look()
        Event().wait(LOOK_SECONDS)
    yield


def read_tables(folder: Path) -> Tables | None:
    """Map the tables of a folder, None if there is no folder or one of them is damaged."""
    try:
        return {file.stem: mapped(file) for file in sorted(folder.glob(f"*{SUFFIX}"))} or None
    except Unavailable:
        return None


def write_tables(folder: Path, tables: Tables) -> None:
    """Write tables durably as a folder, and delete the oldest of the others."""
    new = folder.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for name, table in tables.items():
        spool(new / f"{name}{SUFFIX}", table)
        with (new / f"{name}{SUFFIX}").open("rb") as file:
            os.fsync(file.fileno())
    sync_folder(new)
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)
    sync_folder(folder.parent)
    folders = [path for path in folder.parent.iterdir() if path.is_dir()]
    for path in sorted(folders, key=lambda path: path.stat().st_mtime)[:-MAX_FOLDERS]:
        shutil.rmtree(path, ignore_errors=True)
