"""What the browser tests share: one browser and one server of the demo for a whole run."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping

import pytest

from tests.support.books import ROOT
from tests.support.node import missing
from tests.support.serving import DEADLINE, KEY, Server

WIDGETS = ROOT / "widgets"
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
Environment = Mapping[str, str]


@pytest.fixture(scope="session")
def node() -> str:
    """Node, with the packages of the widgets installed and the widgets built."""
    found = shutil.which("node")
    if found is None:
        missing("node is not on the path")
    for path, made_by in {"node_modules": "npm ci --prefix widgets --ignore-scripts", "dist": "make widgets"}.items():
        if not (WIDGETS / path).is_dir():
            missing(f"widgets/{path} is not there; run: {made_by}")
    return found


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a browser."""
    found = next((path for path in map(shutil.which, CHROMIUMS) if path), None)
    return found or missing(f"none of {', '.join(CHROMIUMS)} is on the path")


@pytest.fixture(scope="session")
def browser(node: str, chromium: str) -> Iterator[Environment]:
    """A browser and two origins of its pages, as the tests find them in their environment."""
    command = [node, "tests/run.mjs", "browser.ts"]
    environment = {**os.environ, "CHROMIUM": chromium}
    with subprocess.Popen(
        command, cwd=WIDGETS, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.stdin.close()
        process.wait(DEADLINE)


@pytest.fixture(scope="session")
def in_browser(node: str, browser: Environment, demo_server: Server) -> Environment:
    """The environment of what shows views of the demo in the browser."""
    served = {"TEST_SERVER": demo_server.url, "TEST_KEY": KEY, "NODE": node}
    return {**os.environ, **browser, **served, "NODE_OPTIONS": "--test-reporter=spec"}
