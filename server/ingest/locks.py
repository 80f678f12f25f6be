"""Locks: one load of a live table at a time, over all processes that share a state folder.

A lock is that of an open file, so it ends with the process that holds it, however that ends.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from engine.store.writer import locked

FOLDER = "loading"


class TargetBusy(Exception):
    """Another load of a live table is under way."""

    def __init__(self, target: str, holder: str) -> None:
        super().__init__(f"another load of {target} is under way{f' (process {holder})' if holder else ''}")
        self.target = target


@contextmanager
def holding(state: Path, targets: Collection[str]) -> Iterator[None]:
    """Hold some live tables; TargetBusy where one of them is held already."""
    folder = state / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        for target in sorted(targets):
            file = held.enter_context((folder / f"{target}.lock").open("a+", encoding="ascii"))
            if not locked(file.fileno()):
                file.seek(0)
                raise TargetBusy(target, file.read().strip())
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        yield


def is_free(state: Path, target: str) -> bool:
    """Tell whether no load of a live table is under way."""
    try:
        with (state / FOLDER / f"{target}.lock").open("a+") as file:
            return locked(file.fileno())
    except FileNotFoundError:
        return True
