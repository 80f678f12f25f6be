"""The code of the views without a browser: each file of widgets/tests/code, on the goldens that Python wrote."""

import subprocess

import pytest

from tests.support.browsing import WIDGETS

FILES = sorted(path.name for path in (WIDGETS / "tests" / "code").glob("*.test.ts"))


@pytest.mark.parametrize("file", FILES)
def test_what_views_compute_is_what_the_server_says(file: str, node: str) -> None:
    command = [node, "tests/run.mjs", f"code/{file}"]
    ran = subprocess.run(command, cwd=WIDGETS, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    assert "# fail 0" in ran.stdout
