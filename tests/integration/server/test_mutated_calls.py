"""Calls with mutated arguments over the wire: each is answered or refused with a repair, never by `internal`."""

import json
from typing import Any

import httpx2
from hypothesis import given
from hypothesis import strategies as st

from server.tools.toolbox import TOOLS
from tests.support.checks.json_mutations import CASES, ODD, arguments
from tests.support.service.servers import DEADLINE, KEY, Server

KEYS = ("product", "region", "tree", "period", "quarter", "date", "month", *ODD)
KNOWN: dict[str, Any] = {
    "metrics": (["revenue"], ["third", "margin"], ["revenue", "revenue"], [], ["headcount"], ["gl.revenue"]),
    "statement": ("pnl", "full_pnl", *ODD),
    "scenarios": (
        [{"scenario": "actual"}],
        [{"scenario": "actual", "alias": "A"}, {"scenario": "var_pct(actual,budget)", "alias": "V"}],
        [{"scenario": "actual@py@ytd"}, {"scenario": "actual+budget"}],
    ),
    "scenario_id": ("actual", "budget", "actual+budget", *ODD),
    "source_key": ("gl", "people", *ODD),
    "period_start": ("2021-01", "2021", "2021-Q1", "2021-01-05", "1900", "9999-12", *ODD),
    "period_end": ("2021-12", "2021", "2021-Q4", "2021-02-05", "9999-12-31", *ODD),
    "dimensions": (["product"], ["tree", "period"], ["region", "product", "date"], ["month"], []),
    "dimension": KEYS,
    "filters": (
        {"product": "P"},
        {"tree": ["All"], "region": {"exclude": ["EU"]}},
        {"metric": "revenue"},
        {"metric": "pnl.margin", "product": ["P", "Q"]},
        {"period": ["2021-01"]},
    ),
    "formulas": ({"f": "revenue / third"}, {"f": "((revenue))", "g": "-revenue * 0.5"}, {"f": "1 / 0"}),
    "order_by": ("revenue", "revenue@A", *ODD),
    "columns": (["product", "amount"], ["contribution"], [""]),
    "query": ("p", "prégnant", *ODD),
    "data_refs": (["ds_" + "a" * 32], []),
    "data_ref": ("ds_" + "a" * 32, *ODD),
    "transform_code": ("result = df", "result = pl.DataFrame({'a': [1]})", "import os", "while True: pass", *ODD),
    "chart_spec": ({"chart_type": "bar", "title": "T", "x": "a", "y": "b"}, {"chart_type": "line"}),
    "filename": ("a.csv", "../a", *ODD),
    "mime_type": ("text/csv", *ODD),
    "size_bytes": (1, 10**12),
    "limit": (1, 50, 10**9),
    "format": ("json", "xlsx"),
}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Any]:
    """Draw the name of a tool and arguments."""
    name = draw(st.sampled_from(sorted(TOOLS)))
    return name, draw(arguments(TOOLS[name].schema, KNOWN))


def sent(server: Server, tool: str, given: Any) -> httpx2.Response:
    """Return what the server answers to one call."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": given}}
    headers = {
        "Authorization": f"Bearer {KEY}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    return httpx2.post(server.url, content=json.dumps(body), headers=headers, timeout=DEADLINE)


@given(st.lists(calls(), min_size=CASES, max_size=CASES))
def test_mutated_calls_are_answered_or_refused_with_a_repair(
    small_server: Server, drawn: list[tuple[str, Any]]
) -> None:
    for tool, given_arguments in drawn:
        answer = sent(small_server, tool, given_arguments)
        assert "Traceback" not in answer.text
        message = answer.json()
        if "error" in message:  # what is no message of the protocol at all
            assert message["error"]["code"] in {-32600, -32602}, message
            continue
        result = message["result"]
        structured = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == structured
        if result["isError"]:
            assert structured["error_type"] != "internal", structured
            assert structured["error"].strip()
