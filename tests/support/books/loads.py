"""Books loaded for tests through the same door that `tieout load` uses."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.base.interfaces import LoadHistory
from server.base.locks import FileLock
from server.feeds.instance import ServedInstance, read_instance
from server.ingest.folder import BooksFolder
from server.ingest.load import LoadResult, load
from tests.support.engines.memory import MemoryLoads

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared" / "data"
ADVENTUREWORKS = DATA / "adventureworks"
OXFORD = DATA / "oxford_spend"


ABSENT = "the real books are not on this machine"


def needs(folder: Path) -> None:
    """Skip, visibly, where the real books are absent."""
    if not folder.is_dir():
        pytest.skip(f"{ABSENT}: {folder.name}")


def load_feeds(
    folder: Path,
    state: Path,
    *feeds: str,
    loads: LoadHistory | None = None,
    periods: str = "",
    read: ServedInstance | None = None,
) -> list[LoadResult]:
    """Load some feeds of an instance, or all, or their periods from one code to another."""
    instance = read or read_instance(folder)
    chosen = [instance.bindings[key] for key in feeds or instance.bindings]
    place = BooksFolder(catalogue=instance.catalogue, folder=folder, state=state, placement=instance.placement)
    start, _, end = periods.partition("..")
    asked = instance.catalogue.calendar.range(start, end or start) if periods else None
    return load(chosen, place, loads or MemoryLoads(), lambda *_: None, periods=asked)


def load_instance(folder: Path, state: Path, read: ServedInstance | None = None) -> None:
    """Load every feed of an instance, which may be read already."""
    load_feeds(folder, state, read=read)


@dataclass(frozen=True)
class UserLoad:
    """A load by `tieout load`: its state folder, and what it printed on either stream."""

    state: Path
    out: str
    err: str


def load_as_user(folder: Path, state: Path, **environment: str) -> UserLoad:
    """Load every feed of an instance by the command that a user types."""
    command: list[str | Path] = [Path(sys.executable).with_name("tieout"), "load", "--instance", folder]
    known = {**os.environ, **environment, "SVC_STATE_DIR": str(state)}
    loaded = subprocess.run(command, env=known, capture_output=True, text=True, check=False)
    assert loaded.returncode == 0, loaded.stderr
    return UserLoad(state, loaded.stdout, loaded.stderr)


def made_once(folders: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a copy of a folder that one process of a run makes, for which the others wait."""
    own = folders.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    made, unfinished = shared / f"{name}-made", shared / f"{name}-unfinished"
    with FileLock(shared / f"{name}.lock") as lock:
        lock.wait()
        if not made.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(made)
    return Path(shutil.copytree(made, own / name))


def edited_copy(folder: Path, into: Path, edits: dict[str, tuple[str, str]]) -> Path:
    """Return a copy of an instance with one text in each of some files replaced."""
    copy = into / folder.name
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".tieout", "data"))
    for name, (old, new) in edits.items():
        text = (copy / name).read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}"
        (copy / name).write_text(text.replace(old, new), encoding="utf-8")
    return copy
