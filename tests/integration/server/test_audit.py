"""Every call is told of once: in an audit line, in the metrics, and without what its arguments hold."""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from server.base.interfaces import Principal
from server.base.requests import EmptyRequest
from server.caller.caller import Caller
from server.telemetry.calls import MOST_NAMED
from server.telemetry.metrics import Metrics
from server.wire.answers import Answer
from tests.support.fixtures import Lines
from tests.support.service.operations import calls, metric
from tests.support.service.servers import ERAS, KEY, Server, connected, serving
from tests.unit.server.http.test_disconnect import HEADERS, body, served
from tests.unit.server.http.test_dispatch import ANN, BOB, Gate, dispatch_of, tool, until

REPORT = {"period_start": "2021-01", "period_end": "2021-02"}


@pytest.fixture(scope="module")
def audited(small_instance: tuple[Path, Path]) -> Iterator[Server]:
    """A server that logs JSON."""
    with serving(*small_instance, SVC_LOG_FORMAT="json") as server:
        yield server


@pytest.mark.parametrize("era", ERAS)
def test_every_call_has_one_audit_line(audited: Server, era: str) -> None:
    before = len(calls(audited))
    with connected(audited.url, era) as books:
        scenarios = [{"scenario": "actual", "alias": "A"}, {"scenario": "var(actual, budget)", "alias": "V"}]
        report = books.call("run_statement", statement="pnl", scenarios=scenarios, **REPORT)
        books.call("inspect_rows", source_key="gl", scenario_id="budget/downside")
        books.call("list_kpis")
        books.call("list_kpis", nonsense=1)
        books.call("run_metric", metrics=["revenu"], scenarios=[{"scenario": "acual"}], **REPORT)
        books.call("run_metric", metrics=["revenue"], scenarios="actual")
        books.call("no_such_tool")
        books.tools()
    told = calls(audited)[before:]
    assert [(line["tool"], line["outcome"], line["scenarios"]) for line in told] == [
        ("run_statement", "ok", ["actual", "var(actual,budget)"]),
        ("inspect_rows", "unknown_name", ["?"]),
        ("list_kpis", "ok", []),
        ("list_kpis", "bad_arguments", []),
        ("run_metric", "unknown_name", ["?"]),
        ("run_metric", "bad_arguments", []),
        ("unknown", "unknown_name", []),
    ]
    assert {line["subject"] for line in told} == {"dev"}
    assert len({line["request_id"] for line in told}) == len(told)
    assert all(line["ms"] > 0 and line["level"] == "info" and line["event"] == "call" for line in told)
    assert told[0]["bytes"] == len(report.text.encode())
    assert told[0]["data_version"] == report.meta["tieout/details"]["data_version"]
    assert told[0]["rows"] == len(report.result["rows"])
    assert "rows" not in told[2]
    known = {"timestamp", "level", "logger", "event", "request_id", "subject", "tool", "outcome", "ms", "scenarios"}
    assert {key for line in told for key in line} == known | {"rows", "bytes", "data_version"}


@pytest.mark.parametrize("era", ERAS)
def test_the_metrics_count_calls_by_tool_and_outcome(audited: Server, era: str) -> None:
    def counts() -> list[float]:
        return [
            metric(audited, "tieout_calls_total", tool="list_scenarios", outcome="ok"),
            metric(audited, "tieout_calls_total", tool="list_scenarios", outcome="bad_arguments"),
            metric(audited, "tieout_calls_total", tool="unknown", outcome="unknown_name"),
            metric(audited, "tieout_call_seconds_count", tool="list_scenarios"),
            metric(audited, "tieout_answer_bytes_count", tool="list_scenarios"),
        ]

    before = counts()
    with connected(audited.url, era) as books:
        answered = books.call("list_scenarios")
        books.call("list_scenarios", nonsense=1)
        for name in ("one", "two", "three"):
            books.call(name)
    assert [after - was for after, was in zip(counts(), before, strict=True)] == [1, 1, 3, 2, 2]
    assert metric(audited, "tieout_answer_bytes_sum", tool="list_scenarios") >= len(answered.text.encode())
    assert metric(audited, "tieout_calls_in_flight") == 0
    assert metric(audited, "tieout_books_kept_bytes") > 0
    assert metric(audited, "tieout_books_version") >= 1
    assert metric(audited, "tieout_books_published_timestamp_seconds") > 1.7e9
    assert metric(audited, "process_resident_memory_bytes") > 1e6


@pytest.mark.parametrize("era", ERAS)
def test_nothing_of_what_a_call_holds_stands_in_the_log(audited: Server, era: str) -> None:
    marker = "MARK-7f3a"
    with connected(audited.url, era) as books:
        books.call("run_statement", statement=marker, filters={marker: marker}, dimensions=[marker])
        books.call("search_hierarchy", query=f"member {marker}", dimension="product")
        books.call("inspect_rows", source_key="gl", scenario_id=f"{marker}?x='1'", filters={"product": marker})
        books.call("run_metric", metrics=[marker], scenarios=[{"scenario": f"{marker}\n{{}}", "alias": marker}])
        books.call("run_metric", metrics=[marker], scenarios=[{"scenario": "a" * 1000 + marker}])
        books.call(
            "run_metric", metrics=["revenue"], scenarios=[{"scenario": marker}, {"scenario": f"var(actual,{marker})"}]
        )
        books.call(f"{marker} <script>")
        books.call(marker)
        books.call("list_kpis", **{marker: f"postgresql://tieout:{marker}@db/books"})
    wrong = httpx2.post(audited.url, json=body("list_kpis"), headers={**HEADERS, "Authorization": f"Bearer {marker}"})
    assert wrong.status_code == 401
    for garbage in (marker, f'{{"{marker}": ', json.dumps({"jsonrpc": "2.0", "id": marker, "method": marker})):
        httpx2.post(audited.url, content=garbage, headers={**HEADERS, "Content-Type": "application/json"})
        httpx2.post(audited.url, content=garbage, headers={**HEADERS, "MCP-Protocol-Version": marker})
    typed = {**body("list_kpis"), "params": {"name": {marker: marker}, "arguments": [marker]}}
    assert httpx2.post(audited.url, json=typed, headers=HEADERS).status_code < 500
    said = audited.log.read_text()
    assert marker not in said
    assert KEY not in said
    assert "1234567.89" not in said


def test_an_audit_line_says_which_scenarios_and_how_many_rows_were_shown(demo_server: Server) -> None:
    with connected(demo_server.url, "auto") as books:
        shown = books.ask("run_statement")
        rows = books.ask("inspect_rows", source_key="gl", scenario_id="actual", period_start="2026-09", limit=7)
    lines = [line for line in demo_server.log.read_text().splitlines() if "tool=tools/list" not in line]
    of_statement, of_rows = lines[-2:]
    default = " ".join(column["scenario"] for column in shown["columns"])
    assert default
    assert f" scenarios=[{default}] rows={len(shown['rows'])} " in of_statement
    assert f" scenarios=[actual] rows={rows['row_count']} " in of_rows


def test_many_scenarios_do_not_make_a_long_line(audited: Server) -> None:
    with connected(audited.url, "auto") as books:
        books.call("run_metric", metrics=["revenue"], scenarios=[{"scenario": f"actual@pp{n}"} for n in range(2, 502)])
    assert calls(audited)[-1]["scenarios"] == [f"actual@pp{n}" for n in range(2, 2 + MOST_NAMED)]


def test_a_sane_request_id_is_kept_and_any_other_replaced(audited: Server) -> None:
    def sent(request_id: str) -> str:
        headers = {**HEADERS, "X-Request-ID": request_id}
        answer = httpx2.post(audited.url, json=body("list_kpis"), headers=headers)
        assert answer.status_code == 200
        assert calls(audited)[-1]["request_id"] == answer.headers["X-Request-ID"]
        return str(answer.headers["X-Request-ID"])

    for kept in ("r-1", "0af7651916cd43dd8448eb211c80319c", "A.b_c-9"):
        assert sent(kept) == kept
    for replaced in ("", "two words", "x" * 65, "-r", 'r"', "r;drop", "r/1"):
        made = sent(replaced)
        assert made != replaced
        assert len(made) == 16
    assert "X-Request-ID" in httpx2.post(audited.url).headers  # of a request that is refused as well
    assert "X-Request-ID" in httpx2.get(audited.url.replace("/mcp", "/health")).headers


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str]]:
    """Return who called what and how it ended, by the audit lines."""
    lines = [record for record in caplog.records if record.name == "tieout.calls"]
    return [(vars(line)["subject"], vars(line)["tool"], vars(line)["outcome"]) for line in lines]


def test_busy_late_cancelled_and_broken_calls_are_told_of_as_any_other(
    small_instance: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    gate, late, metrics = Gate(), Gate(), Metrics()
    tools = {"gate": tool(gate.run), "late": tool(late.run), "broken": tool(broken)}
    dispatch = dispatch_of(small_instance, tools, metrics, calls_per_caller=1, deadline_seconds=2)

    async def scene() -> None:
        left = asyncio.create_task(dispatch.call("gate", {}, ANN))
        await until(gate.entered)
        assert "tieout_calls_in_flight 1.0" in metrics.page().decode()
        await dispatch.call("broken", {}, ANN)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        await dispatch.call("late", {}, BOB)
        await dispatch.call("broken", {}, Principal("cy"))
        await until(late.stopped)

    with caplog.at_level(logging.INFO, logger="tieout.calls"):
        asyncio.run(scene())
    assert told(caplog) == [
        ("ann", "broken", "busy"),
        ("ann", "gate", "cancelled"),
        ("bob", "late", "timeout"),
        ("cy", "broken", "internal"),
    ]
    page = metrics.page().decode()
    assert 'tieout_calls_total{outcome="internal",tool="broken"} 1.0' in page
    assert 'tieout_calls_total{outcome="internal",tool="gate"} 0.0' in page  # or its first would be no rise
    assert 'tieout_busy_total{cap="caller"} 1.0' in page
    assert 'tieout_calls_total{outcome="cancelled",tool="gate"} 1.0' in page
    assert 'tieout_calls_total{outcome="timeout",tool="late"} 1.0' in page


def broken(_caller: Caller, _asked: EmptyRequest) -> Answer:
    """Fail as no tool should."""
    raise RuntimeError("the password is swordfish")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("lines", ["json"], indirect=True)
def test_what_a_call_logs_on_its_thread_carries_its_request_id(
    small_instance: tuple[Path, Path], lines: Lines, era: str
) -> None:
    with served(dispatch_of(small_instance, {"broken": tool(broken)})) as url, connected(url, era) as books:
        first, second = books.call("broken").result, books.call("broken").result
    said = [json.loads(line) for line in lines()]
    faults = [event for event in said if event["logger"] == "tieout"]
    audits = [event for event in said if event["logger"] == "tieout.calls"]
    assert [fault["request_id"] for fault in faults] == [audit["request_id"] for audit in audits]
    assert len({fault["request_id"] for fault in faults}) == 2
    assert [audit["error_id"] for audit in audits] == [first["error_id"], second["error_id"]]
    assert all(answer["error_id"] in fault["event"] for answer, fault in zip((first, second), faults, strict=True))
    assert all("broken" in fault["exception"] for fault in faults)
