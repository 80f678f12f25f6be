"""The demo books at any size, generated and loaded once and kept in out/."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, ignore_patterns

from server.base.settings import Settings
from server.feeds.instance import read_instance
from server.ingest.folder import BooksFolder
from server.ingest.load import load
from server.run.embedded.platform import platform

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "instances" / "demo"


@dataclass(frozen=True, slots=True)
class BenchBooks:
    """An instance with its data and state."""

    instance: Path
    state: Path


def demo_books(rows: int) -> BenchBooks:
    """Return the demo books with `rows` rows in the general ledger."""
    home = ROOT / "out" / "benches" / f"demo-{rows}"
    books = BenchBooks(home / "instance", home / "state")
    if not (books.state / "store" / "CURRENT").exists():
        print(f"generating and loading {rows:,} rows …")
        copytree(DEMO, books.instance, ignore=ignore_patterns("data", ".tieout", "__pycache__"), dirs_exist_ok=True)
        subprocess.run([sys.executable, books.instance / "generate.py", "--rows", str(rows)], check=True)
        read = read_instance(books.instance)
        place = BooksFolder(catalogue=read.catalogue, folder=books.instance, state=books.state)
        with platform(Settings(instance=books.instance, state=books.state)) as opened:
            opened.wait()
            load(list(read.bindings.values()), place, opened.loads, lambda *_: None)
    return books
