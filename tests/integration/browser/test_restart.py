"""The playground under a server that is stopped and started: the file of widgets/tests/switched holds the switch."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.support.machine.browsers import WIDGETS, Environment
from tests.support.service.servers import KEY, free_port, serving

FILE = "switched/restart.test.ts"
pytestmark = pytest.mark.program("chromium")


@contextmanager
def switched(instance: Path) -> Iterator[Environment]:
    """Serve an instance until /off is posted to a switch, and again after /on, always at one address."""
    port = free_port()
    with ExitStack() as served:

        class Switch(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                served.close()
                if self.path == "/on":
                    served.enter_context(serving(instance, instance / ".tieout", SVC_PORT=str(port)))
                self.send_response(200)
                self.end_headers()

        served.enter_context(serving(instance, instance / ".tieout", SVC_PORT=str(port)))
        with HTTPServer(("127.0.0.1", 0), Switch) as switch:
            thread = Thread(target=switch.serve_forever)
            thread.start()
            try:
                yield {
                    "TEST_SERVER": f"http://127.0.0.1:{port}/mcp",
                    "TEST_SWITCH": f"http://127.0.0.1:{switch.server_port}",
                    "TEST_KEY": KEY,
                }
            finally:
                switch.shutdown()
                thread.join()


def test_an_open_page_outlives_its_server(node: str, browser: Environment, demo_folder: Path) -> None:
    with switched(demo_folder) as served:
        environment = {**os.environ, **browser, **served, "NODE_OPTIONS": "--test-reporter=spec"}
        command = [node, "tests/run.mjs", FILE]
        ran = subprocess.run(command, cwd=WIDGETS, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
