"""Direct calls: the usual call is answered without the SDK's transport, with the same words; every other reaches it."""

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

import httpx2
import pytest
from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.shared.inbound import x_mcp_header_map
from starlette.types import Receive, Scope, Send

from server.http.direct_calls import DirectCalls
from server.http.dispatch import Dispatcher
from server.http.limits import MessageMiddleware
from server.stores.leases import CacheLeases, SharedLeases
from server.stores.memory import MemoryLeases
from server.telemetry.metrics import Metrics
from server.tools.toolbox import TOOLS
from tests.unit.server.http.test_disconnect import HEADERS, body, served
from tests.unit.server.http.test_dispatch import ANN, dispatch_of

HOST, PAGE = "books.example:8768", "https://page.example"
JUDGED = 418  # what stands in for the transport answers
NEWEST = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": NEWEST, "io.modelcontextprotocol/clientCapabilities": {}}
NAMED = {"MCP-Protocol-Version": NEWEST, "Mcp-Method": "tools/call", "Mcp-Name": "list_kpis"}
FORMER: dict[str, Any] = dict(body("list_kpis"))
MODERN = {**FORMER, "params": {"name": "list_kpis", "arguments": {}, "_meta": META}}
CALLS: dict[str, dict[str, Any]] = {
    "an answer": FORMER,
    "no arguments": {**FORMER, "id": "a\u2028b", "params": {"name": "list_kpis"}},
    "an unknown tool": body("list_nothing"),
    "a wrong argument": body("list_kpis", nonsense=1),
    "faulty JSON": {**body("list_kpis"), "params": {"name": "list_kpis", "arguments": {"a" * 300: 1}}},
    "details": body("run_statement_data", statement="pnl", scenarios=[{"scenario": "actual"}], period_start="2021-01"),
    "a picture": body(
        "explain_variance",
        metric="revenue",
        scenarios=["actual", "budget"],
        by=["product"],
        period_start="2021-01",
        picture=True,
    ),
}


@pytest.fixture(scope="module")
def dispatch(small_instance: tuple[Path, Path]) -> Dispatcher:
    """A dispatch over the small books."""
    return dispatch_of(small_instance, TOOLS)


def status(dispatch: Dispatcher, sent: Mapping[str, Any], headers: Any) -> int:
    """Return the status of a request at an endpoint whose transport answers JUDGED."""

    async def transport(_: Scope, receive: Receive, send: Send) -> None:
        assert json.loads((await receive())["body"]) == sent
        await send({"type": "http.response.start", "status": JUDGED, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    direct = DirectCalls(Server("bare"), transport, dispatch, [HOST], [PAGE])
    return asyncio.run(post(direct, sent, headers)).status_code


async def no_transport(*_: object) -> None:
    """Refuse to be a transport."""
    pytest.fail("a direct call reached the transport")


async def post(direct: DirectCalls, sent: Mapping[str, Any], headers: Any) -> httpx2.Response:
    """Send a request to direct calls as their edge does."""
    edge = MessageMiddleware(direct, 30.0)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await edge({**scope, "state": {"principal": ANN}}, receive, send)

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as client:
        return await client.post(f"http://{HOST}/mcp", json=sent, headers=headers)


@pytest.mark.parametrize(
    ("sent", "headers"),
    [
        (FORMER, {}),
        (FORMER, {"MCP-Protocol-Version": "2025-03-26"}),
        (FORMER, {"Accept": "text/event-stream;q=0.5, Application/JSON"}),
        (FORMER, {"Content-Type": "application/json; charset=utf-8"}),
        (FORMER, {"Origin": PAGE}),
        ({**FORMER, "params": {**FORMER["params"], "_meta": {"progressToken": 1}}}, {}),
        (MODERN, NAMED),
    ],
)
def test_the_usual_call_is_answered_directly(dispatch: Dispatcher, sent: Any, headers: dict[str, str]) -> None:
    assert status(dispatch, sent, headers) == 200


@pytest.mark.parametrize(
    ("sent", "headers"),
    [
        (FORMER, {"Host": "elsewhere.example"}),
        (FORMER, {"Origin": "https://elsewhere.example"}),
        (FORMER, {"Origin": ""}),
        (FORMER, {"Accept": "text/html, text/application/json"}),
        (FORMER, {"Accept": ""}),
        (FORMER, {"Content-Type": "application/jsonx"}),
        (FORMER, {"Content-Type": "text/plain"}),
        (FORMER, {"MCP-Protocol-Version": "2024-01-01"}),
        (FORMER, [("X-Anything", "1"), ("X-Anything", "2")]),
        ({**FORMER, "jsonrpc": "1.0"}, {}),
        ({**FORMER, "more": 1}, {}),
        ({**FORMER, "method": "tools/list"}, {}),
        ({name: part for name, part in FORMER.items() if name != "id"}, {}),
        ({name: part for name, part in FORMER.items() if name != "params"}, {}),
        ({**FORMER, "params": []}, {}),
        ({**FORMER, "params": None}, {}),
        ({**FORMER, "params": {"name": 1}}, {}),
        ({**FORMER, "params": {"name": "list_kpis", "_meta": {"progressToken": [1]}}}, {}),
        ({**FORMER, "params": {"name": "list_kpis", "task": 1}}, {}),
        (MODERN, {**NAMED, "Mcp-Name": "list_scenarios"}),
        (MODERN, {**NAMED, "Mcp-Method": "tools/list"}),
        (MODERN, {**NAMED, "Mcp-Param-Limit": "1"}),
        (MODERN, {"MCP-Protocol-Version": NEWEST}),
        (FORMER, NAMED),
        ({**MODERN, "params": {**MODERN["params"], "_meta": {**META, "progressToken": {}}}}, NAMED),
    ],
)
def test_a_request_that_differs_reaches_the_transport_unchanged(dispatch: Dispatcher, sent: Any, headers: Any) -> None:
    assert status(dispatch, sent, headers) == JUDGED


def test_a_direct_answer_is_that_of_the_transport(dispatch: Dispatcher) -> None:
    with served(dispatch) as url, httpx2.Client(headers=HEADERS) as client:
        for era, call in product(["2025-11-25", NEWEST], CALLS.values()):
            names = {"MCP-Protocol-Version": era, "Mcp-Method": "tools/call", "Mcp-Name": call["params"]["name"]}
            sent = {**call, "params": {**call["params"], "_meta": META}} if era == NEWEST else call
            direct = client.post(url, json=sent, headers=names)
            by_transport = client.post(url, json=sent, headers=[*names.items(), ("X-A", "1"), ("X-A", "2")])
            assert direct.status_code == by_transport.status_code == 200
            assert direct.json()["result"]["content"][1:] == by_transport.json()["result"]["content"][1:]
            assert without_reference(direct.json()) == without_reference(by_transport.json())
            text = direct.json()["result"]["content"][0]["text"]
            assert json.loads(text) == direct.json()["result"]["structuredContent"]


@pytest.mark.parametrize("era", ["2025-11-25", NEWEST])
def test_a_cap_refuses_with_the_words_of_the_transport_and_the_same_line_and_counts(
    small_instance: tuple[Path, Path], caplog: pytest.LogCaptureFixture, era: str
) -> None:
    caplog.set_level(logging.INFO, "tieout.calls")
    metrics = Metrics()
    dispatch = dispatch_of(small_instance, TOOLS, metrics, leases=MemoryLeases(0, 0))
    call = CALLS["details"]
    names = {"MCP-Protocol-Version": era, "Mcp-Method": "tools/call", "Mcp-Name": call["params"]["name"]}
    sent = {**call, "params": {**call["params"], "_meta": META}} if era == NEWEST else call
    with served(dispatch) as url, httpx2.Client(headers=HEADERS) as client:
        direct = client.post(url, json=sent, headers=names)
        by_transport = client.post(url, json=sent, headers=[*names.items(), ("X-A", "1"), ("X-A", "2")])
    assert direct.json() == by_transport.json()
    assert direct.json()["result"]["structuredContent"] == {
        "error": "Too many calls are in flight. Call again shortly, a few at a time.",
        "error_type": "busy",
        "retryable": True,
        "retry_after_ms": 250,
    }
    one, other = ({**line.__dict__, "ms": 0} for line in caplog.records if line.name == "tieout.calls")
    told = ("subject", "tool", "outcome", "scenarios", "rows", "bytes", "data_version", "error_id", "moved")
    assert [one[name] for name in told] == [other[name] for name in told]
    assert (one["outcome"], one["tool"]) == ("busy", call["params"]["name"])
    lines = metrics.page().decode().splitlines()
    assert 'tieout_busy_total{cap="caller"} 2.0' in lines
    assert f'tieout_calls_total{{outcome="busy",tool="{one["tool"]}"}} 2.0' in lines


@pytest.mark.parametrize(("collector", "runs"), [("", 0), ("http://127.0.0.1:4318", 1)])
def test_what_a_cap_refuses_does_not_enter_the_kernel_of_the_sdk_unless_spans_are_exported(
    small_instance: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, collector: str, runs: int
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
    entered: list[str] = []

    async def note(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        entered.append(ctx.method)
        return await call_next(ctx)

    server: Server[Any] = Server("bare")
    server.middleware.append(note)
    dispatch = dispatch_of(small_instance, TOOLS, leases=MemoryLeases(0, 0))
    direct = DirectCalls(server, no_transport, dispatch, [HOST], [PAGE])
    found = asyncio.run(post(direct, FORMER, {}))
    assert found.json()["result"]["structuredContent"]["error_type"] == "busy"
    assert len(entered) == runs


def without_reference(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what no two calls share."""
    answer["result"]["structuredContent"].pop("data_ref", None)
    return {**answer, "result": {**answer["result"], "content": None}}


@pytest.mark.parametrize("era", ["2025-11-25", NEWEST])
def test_a_cache_store_that_answers_nonsense_is_an_internal_error(
    small_instance: tuple[Path, Path], caplog: pytest.LogCaptureFixture, era: str
) -> None:
    async def ask(address: str) -> httpx2.Response:
        store = CacheLeases(address, 10, 10)
        dispatch = dispatch_of(small_instance, TOOLS, leases=SharedLeases(store, MemoryLeases(10, 10)))
        direct = DirectCalls(Server("bare"), no_transport, dispatch, [HOST], [PAGE])
        try:
            return await post(direct, *((MODERN, NAMED) if era == NEWEST else (FORMER, {})))
        finally:
            await store.close()

    with nonsense_store() as address:
        found = asyncio.run(ask(address))
    result = found.json()["result"]
    assert (found.status_code, result["isError"]) == (200, True)
    assert result["structuredContent"]["error_type"] == "internal"
    assert f"call of list_kpis failed, error_id={result['structuredContent']['error_id']}" in caplog.text


@contextmanager
def nonsense_store() -> Iterator[str]:
    """Listen as a store that answers every command with a number."""

    class Nonsense(BaseRequestHandler):
        def handle(self) -> None:
            while commands := self.request.recv(1 << 16):
                self.request.sendall(b":1\r\n" * commands.count(b"*"))

    with ThreadingTCPServer(("127.0.0.1", 0), Nonsense) as store:
        store.daemon_threads = True  # of connections that stay open
        Thread(target=store.serve_forever, daemon=True).start()
        host, port = store.server_address[:2]
        yield f"{host!s}:{port}"
        store.shutdown()


def test_no_tool_declares_headers_for_its_arguments() -> None:
    assert not any(x_mcp_header_map(tool.schema) for tool in TOOLS.values())
