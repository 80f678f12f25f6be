"""The demo group's books, generated as a newcomer would."""

import subprocess
import sys
from pathlib import Path

from tests.support.books.loads import ROOT

DEMO = ROOT / "instances" / "demo"
ROWS = 60_000


def generate(into: Path, rows: int, seed: int = 1) -> subprocess.CompletedProcess[str]:
    """Run the generator."""
    command = [sys.executable, str(DEMO / "generate.py"), "--into", str(into), "--rows", str(rows), "--seed", str(seed)]
    return subprocess.run(command, check=False, capture_output=True, text=True)
