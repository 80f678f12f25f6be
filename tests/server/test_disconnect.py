"""A client that goes away: its call stops computing and its slot is free again."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx2
import pytest

from server.app import BOUNDS, HttpServer, application
from server.bounds import Bounds
from server.dispatch import Dispatch
from server.listening import listen
from server.ops.readiness import Readiness
from server.settings import Settings
from server.telemetry.metrics import Metrics
from server.tokens.dev import DevKey
from server.toolbox import TOOLS
from tests.server.test_dispatch import DEADLINE, Gate, dispatch_of, tool
from tests.support.serving import KEY, free_port, wait_for

HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


def body(name: str) -> dict[str, object]:
    """Return the body of a call without arguments."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}


@contextmanager
def served(dispatch: Dispatch, bounds: Bounds = BOUNDS) -> Iterator[str]:
    """Serve a dispatch from a thread of this process."""
    settings = Settings(port=free_port())
    with listen(settings) as listening:
        app = application(dispatch, DevKey(KEY), settings, Readiness([], Metrics()), Metrics(), bounds)
        server = HttpServer(app, settings, bounds=bounds)
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_for(lambda: server.started)
            yield f"{settings.base_url}/mcp"
        finally:
            server.should_exit = True
            thread.join(DEADLINE)


def test_a_call_stops_when_its_client_goes_away(small_instance: tuple[Path, Path]) -> None:
    gate = Gate()
    dispatch = dispatch_of(small_instance, {"gate": tool(gate.run, heavy=True), **TOOLS}, calls_per_caller=1)
    with served(dispatch) as url:
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(url, json=body("gate"), headers=HEADERS, timeout=0.5)
        assert gate.entered.is_set()
        assert gate.stopped.wait(DEADLINE)
        wait_for(lambda: not httpx2.post(url, json=body("list_kpis"), headers=HEADERS).json()["result"]["isError"])
