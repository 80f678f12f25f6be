"""The whole suite as two runs side by side: what computes in one process, and what starts servers.

    python -m tests [options of pytest]

What computes is said when it has ended, so that the two are not read into each other.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
COMPUTES = ("engine", "instances", "laws", "oracles", "sandbox", "spec")


def folders() -> tuple[list[str], list[str]]:
    """Return the folders of tests that compute, and all others."""
    every = sorted({path.parent.relative_to(HERE).parts[0] for path in HERE.glob("*/**/test_*.py")})
    return [f"tests/{name}" for name in every if name in COMPUTES], [
        f"tests/{name}" for name in every if name not in COMPUTES
    ]


def command(paths: Sequence[str]) -> list[str]:
    """Return how some folders are run."""
    return [sys.executable, "-m", "pytest", *paths, *sys.argv[1:]]


def main() -> int:
    """Run both and return 0 where both passed."""
    computing, serving = folders()
    with tempfile.TemporaryFile() as said:
        beside = subprocess.Popen(command(computing), stdout=said, stderr=subprocess.STDOUT)
        served = subprocess.run(command(serving), check=False).returncode
        computed = beside.wait()
        said.seek(0)
        sys.stdout.buffer.write(said.read())
        sys.stdout.flush()
    return int(bool(served or computed))


if __name__ == "__main__":
    sys.exit(main())
