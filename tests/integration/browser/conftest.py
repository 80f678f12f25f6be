"""What the browser tests share: one browser and one server of the demo for a whole run."""

from collections.abc import Iterator

import pytest

from tests.support.machine.browsers import WIDGETS, Environment, browsing
from tests.support.machine.programs import missing, needs_program


@pytest.fixture(scope="session")
def node() -> str:
    """Node, with the packages of the widgets installed and the widgets built."""
    found = needs_program("node")
    for path, made_by in {"node_modules": "npm ci --prefix widgets --ignore-scripts", "dist": "make widgets"}.items():
        if not (WIDGETS / path).is_dir():
            missing(f"widgets/{path} is not there; run: {made_by}")
    return found


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a browser."""
    return needs_program("chromium")


@pytest.fixture(scope="session")
def browser(node: str, chromium: str) -> Iterator[Environment]:
    """A browser and two origins of its pages, as the tests find them in their environment."""
    with browsing(node, chromium) as found:
        yield found
