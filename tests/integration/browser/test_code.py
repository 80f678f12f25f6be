"""The code of the views without a browser: each file of widgets/tests/code, on the goldens that Python wrote."""

import re
import subprocess

import pytest

from server.tools.tool import WIDGETS as EVERY
from server.tools.tool import Widget, built
from tests.support.machine.browsers import WIDGETS

FILES = sorted(path.name for path in (WIDGETS / "tests" / "code").glob("*.test.ts"))
MAX_BYTES = 48_000


@pytest.mark.parametrize("file", FILES)
def test_what_views_compute_is_what_the_server_says(file: str, node: str) -> None:
    command = [node, "tests/run.mjs", f"code/{file}"]
    ran = subprocess.run(command, cwd=WIDGETS, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    assert "# fail 0" in ran.stdout


@pytest.mark.parametrize("widget", EVERY, ids=lambda widget: widget.name)
def test_a_widget_is_one_small_file_that_brings_all_it_needs(widget: Widget, node: str) -> None:
    assert node
    page = built()[widget]
    assert len(page.encode()) <= MAX_BYTES
    assert not re.findall(r"""(?:src|href)=["'][^"'#]|@import|url\((?!["']?data:)""", page)
