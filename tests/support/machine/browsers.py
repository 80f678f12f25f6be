"""A browser for pages of the widgets, driven by Node, with the two origins that its pages come from."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.support.books.loads import ROOT
from tests.support.service.servers import DEADLINE, KEY

WIDGETS = ROOT / "widgets"
Environment = Mapping[str, str]


@contextmanager
def browsing(node: str, chromium: str) -> Iterator[Environment]:
    """Start a browser until the block ends; yields how what drives it finds it."""
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


def driven(node: str, file: str, browser: Environment, server: str, key: str = KEY) -> subprocess.CompletedProcess[str]:
    """Run one file of widgets/tests on a browser and the server of an address."""
    served = {"TEST_SERVER": server, "TEST_KEY": key, "NODE_OPTIONS": "--test-reporter=spec"}
    return subprocess.run(
        [node, "tests/run.mjs", file],
        cwd=WIDGETS,
        env={**os.environ, **browser, **served},
        capture_output=True,
        text=True,
        check=False,
    )
