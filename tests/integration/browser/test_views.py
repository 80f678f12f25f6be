"""The views in a browser: each file of widgets/tests is a test, which says what it saw where it fails."""

import pytest

from tests.support.machine.browsers import WIDGETS, Environment, driven
from tests.support.service.servers import Server

FILES = sorted(path.name for path in (WIDGETS / "tests").glob("*.test.ts"))
pytestmark = pytest.mark.program("chromium")


@pytest.mark.parametrize("file", FILES)
def test_views_do_what_they_should(file: str, node: str, browser: Environment, demo_server: Server) -> None:
    ran = driven(node, file, browser, demo_server.url)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
