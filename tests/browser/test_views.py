"""The views in a browser: each file of widgets/tests is a test, which says what it saw where it fails."""

import subprocess
from pathlib import Path

import pytest

from tests.browser.conftest import WIDGETS, Environment

FILES = sorted(path.name for path in Path(WIDGETS, "tests").glob("*.test.ts"))


@pytest.mark.parametrize("file", FILES)
def test_views_do_what_they_should(file: str, in_browser: Environment) -> None:
    command = [in_browser["NODE"], "tests/run.mjs", file]
    ran = subprocess.run(command, cwd=WIDGETS, env=in_browser, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
