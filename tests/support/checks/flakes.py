"""One round of the search for flaky tests: `python -m tests.support.checks.flakes SEED [PATH …]`.

Runs tests in an order of their own, files and the tests of each file shuffled by the seed, beside eight processes that
do nothing but use the processor. It prints the seed; the same seed gives the same order.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

SEED = "ORDER_SEED"
BUSY = 8  # processes
SPIN = (sys.executable, "-S", "-c", "while True: pass")
PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "4", "--dist", "loadfile", "--no-loadscope-reorder")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the files, and the tests of each; every process of a run gets the same order."""
    drawn = Random(os.environ[SEED])
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    shuffled = list(files.values())
    drawn.shuffle(shuffled)
    for tests in shuffled:
        drawn.shuffle(tests)
    items[:] = [item for tests in shuffled for item in tests]


@contextmanager
def busy_processes() -> Iterator[None]:
    """Keep the processors busy until the block ends."""
    started = [subprocess.Popen(SPIN) for _ in range(BUSY)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def main() -> int:
    """Run the round; the status of pytest."""
    seed, *paths = sys.argv[1:]
    with busy_processes():
        command = [*PYTEST, "-p", "no:cacheprovider", "-p", "tests.support.checks.flakes", *paths]
        return subprocess.run(command, env={**os.environ, SEED: seed}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
