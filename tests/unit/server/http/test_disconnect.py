"""A client that goes away: its call stops computing and its slot is free again."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import httpx2
import pytest

from engine.door import open_books
from engine.model.exact import Exact
from engine.model.formulas import Nothing
from engine.report.inspection import Inspection, RowColumn
from engine.report.snapshots import keep
from server.auth.bearer import DevKey
from server.base.interfaces import Principal
from server.base.settings import Settings
from server.base.sockets import listen
from server.caller.exporter import SOURCE
from server.http.app import BOUNDS, HttpServer, application
from server.http.dispatch import Dispatcher
from server.http.limits import ConnectionLimits
from server.ops.readiness import Readiness
from server.stores.disk import WORK
from server.telemetry.metrics import Metrics
from server.tools.toolbox import TOOLS
from tests.support.books.holders import keeping_in, kept_in
from tests.support.service.servers import KEY, free_port, wait_for
from tests.unit.server.http.test_dispatch import DEADLINE, Gate, dispatch_of, tool

HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


ASKED = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}
ROWS = 500_000  # more than any machine writes while the test waits


def body(name: str, **arguments: object) -> dict[str, object]:
    """Return the body of a call."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@contextmanager
def served(dispatch: Dispatcher, bounds: ConnectionLimits = BOUNDS) -> Iterator[str]:
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


@pytest.mark.parametrize("padding", [0, 10])  # texts; uvicorn pauses at the last part of a body that is as long
def test_a_call_stops_when_its_client_goes_away(small_instance: tuple[Path, Path], padding: int) -> None:
    gate = Gate()
    asked = body("gate")
    asked["params"] = {"name": "gate", "arguments": {}, "_meta": {"padding": ["x" * 100_000] * padding}}
    dispatch = dispatch_of(small_instance, {"gate": tool(gate.run, lane="heavy"), **TOOLS}, calls_per_caller=1)
    with served(dispatch) as url:
        leave(url, asked, gate.entered.is_set)
        assert gate.stopped.wait(DEADLINE)
        wait_for(lambda: not httpx2.post(url, json=body("list_kpis"), headers=HEADERS).json()["result"]["isError"])


@pytest.fixture(scope="module")
def large(small_instance: tuple[Path, Path]) -> bytes:
    """Many rows as they are kept."""
    report = open_books(small_instance[0], state=small_instance[1]).statement(
        "pnl", scenarios={"Actuals": "actual"}, period="2021-01"
    )
    rows = Inspection(
        source="gl",
        source_label="General ledger",
        scenario="actual",
        period=None,
        filters={},
        read=(),
        columns=(RowColumn("text", "Text", "text"), RowColumn("amount", "Amount", "amount")),
        rows=[("said", Exact(123_456_789, 100))] * ROWS,
        labels={},
        truncated=False,
        figure=None,
        figure_label=None,
        contribution_total=Nothing.MISSING,
        divisor=Exact(1),
        quotient=False,
        notes=(),
        catalogue_version="",
        data_version="",
        permission=report.permission,
    )
    return keep(rows)


def staged(folder: Path) -> bool:
    """Tell whether a file is being written."""
    return any(path.name != SOURCE for path in folder.glob(f"*{WORK}/*"))


@pytest.mark.parametrize("form", ["json", "xlsx"])
def test_an_export_stops_when_its_client_goes_away_and_leaves_nothing(
    small_instance: tuple[Path, Path], large: bytes, tmp_path: Path, form: str
) -> None:
    keeping = keeping_in(tmp_path)
    dispatch = dispatch_of(small_instance, TOOLS, keeping=keeping, calls_per_caller=1, workers=1000)
    reference = kept_in(keeping.snapshots, "dev", large)
    with served(dispatch) as url, httpx2.Client(headers=HEADERS) as others:
        leave(url, body("export_dataset", data_ref=reference, format=form), partial(staged, tmp_path))
        wait_for(lambda: not list(tmp_path.iterdir()))
        wait_for(lambda: not others.post(url, json=body("list_kpis")).json()["result"]["isError"])  # the only place
        assert not others.post(url, json=body("run_statement", **ASKED)).json()["result"]["isError"]  # the only thread
    assert not list(tmp_path.iterdir())


def leave(url: str, asked: dict[str, object], when: Callable[[], bool]) -> None:
    """Ask for something, and go away when something has happened."""
    place = urlsplit(url)
    sent = json.dumps(asked).encode()
    head = [f"POST {place.path} HTTP/1.1", f"Host: {place.netloc}", "Content-Type: application/json"]
    head += [f"{name}: {value}" for name, value in HEADERS.items()]
    head += [f"Content-Length: {len(sent)}", "", ""]
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall("\r\n".join(head).encode() + sent)
        wait_for(when)


@pytest.mark.parametrize("form", ["json", "xlsx"])
def test_an_export_that_is_late_says_so_stops_and_leaves_nothing(
    small_instance: tuple[Path, Path], large: bytes, tmp_path: Path, form: str
) -> None:
    keeping = keeping_in(tmp_path)
    dispatch = dispatch_of(small_instance, TOOLS, keeping=keeping, workers=1000, deadline_seconds=1)
    reference = kept_in(keeping.snapshots, "dev", large)
    asked = {"data_ref": reference, "format": form}
    outcome = asyncio.run(dispatch.call("export_dataset", asked, Principal("dev")))
    assert outcome.result["error_type"] == "timeout"
    wait_for(lambda: not list(tmp_path.iterdir()))
    wait_for(lambda: not asyncio.run(dispatch.call("run_statement", ASKED, Principal("dev"))).is_error)
    dispatch.close()
