"""tieout bench: run the benches of this checkout."""

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from server.base.settings import Settings
from server.run.commands.console import FAULTY, err

CHECKOUT = Path(__file__).parents[3]
BESIDE = "duckdb"  # what the benches stand beside is installed with the tests, never with the service


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("bench", nargs=argparse.REMAINDER, metavar="BENCH …", help="as python -m benches takes them")
    parser.set_defaults(instance=None)


def run(asked: argparse.Namespace, _: Settings) -> int:
    """Run the benches that are named, else all of them."""
    if not (CHECKOUT / "benches").is_dir() or find_spec(BESIDE) is None:
        err.print("The benches run in a checkout with what its tests need: make bench installs that and runs them all.")
        return FAULTY
    command = [sys.executable, "-m", "benches", *asked.bench]
    return subprocess.run(command, cwd=CHECKOUT, check=False).returncode  # noqa: S603 - what the operator asks for
