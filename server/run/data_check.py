"""The check of the books when a server starts. A process of its own makes it: no member list stays in the parent.

python -m server.run.data_check PARENT FILES FOLDER STORE writes the faults as JSON.
"""

import gc
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import msgspec

from engine.books.checks import data_faults
from engine.books.search import keep_index
from engine.model.errors import Unavailable
from server.base.interfaces import StoreDown
from server.base.signals import die_with_parent
from server.feeds.instance import read_instance
from server.ops.health_checks import NO_BOOKS
from server.run.shelves import open_books
from server.warehouses.warehouse import WarehouseDown

MODULE = "server.run.data_check"
CHECKED = "checked"
GIVES_WAY = 10  # niceness: workers that start and calls go first
log = logging.getLogger("tieout")


def find_faults(files: Path, folder: Path, store: Path) -> list[str]:
    """Return what the instance names and the books lack. `files` holds the instance as it is in `folder`.

    Makes the tables of the search first, where an earlier release has left none.
    """
    instance = read_instance(files)
    try:
        with open_books(instance, folder, store) as books:
            keep_index(books)
            return list(data_faults(books, instance.bindings)) if books.version else [NO_BOOKS]
    except (WarehouseDown, StoreDown, Unavailable) as away:  # callers are told as well, until it answers
        return [f"the engine of facts: {away}"]


@contextmanager
def checked_data(files: Path, folder: Path, store: Path) -> Iterator[None]:
    """Check the books in a process of its own. Logs its faults as soon as they are there; the server does not wait.

    The process reads its own copy of `files` beside them: a reload deletes them.
    """
    own = shutil.copytree(files, files.with_name(CHECKED))
    arguments = [str(os.getpid()), *map(str, (own, folder, store))]
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-P", "-m", MODULE, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    stopping = Event()
    thread = Thread(target=log_faults, args=(process, stopping), name="check of the books", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        process.kill()
        thread.join()


def log_faults(process: "subprocess.Popen[bytes]", stopping: Event) -> None:
    """Log the faults that a check tells, or how it failed unless the server is `stopping`."""
    told, _ = process.communicate()
    if stopping.is_set():
        return
    if process.returncode == 0:
        for fault in msgspec.json.decode(told, type=list[str]):
            log.warning("%s", fault)
    elif process.returncode > 0:
        log.error("the check of the books failed with status %d", process.returncode)
    else:
        log.warning("the check of the books was ended by signal %d", -process.returncode)


def main(parent: str, *paths: str) -> None:
    """Write the faults of some books, unless the server has ended."""
    gc.disable()  # the process ends soon
    os.nice(GIVES_WAY)
    if die_with_parent(int(parent)):
        files, folder, store = map(Path, paths)
        sys.stdout.buffer.write(msgspec.json.encode(find_faults(files, folder, store)))


if __name__ == "__main__":
    main(*sys.argv[1:])
