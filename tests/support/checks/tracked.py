"""The files of the checkout."""

import subprocess
from pathlib import Path

from tests.support.books.loads import ROOT


def tracked(*patterns: str) -> list[Path]:
    """Return the files of the checkout that match."""
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
