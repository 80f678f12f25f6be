"""Bad input through a real client, each refusal read as a model would: what was wrong, and what to send instead."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.support.service.servers import KEY, McpBooks, Server

ACTUAL = [{"scenario": "actual", "alias": "Actuals"}]


def refused(books: McpBooks, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must refuse, and return its error."""
    called = books.call(tool, **arguments)
    assert called.is_error
    assert called.result["error"].endswith(".") or "." in called.result["error"]
    return called.result


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        (
            "run_statement",
            {"statement": "pln", "scenarios": ACTUAL, "period_start": "2021"},
            {
                "error_type": "unknown_name",
                "field": "statement",
                "got": "pln",
                "did_you_mean": ["pnl"],
                "valid": ["full_pnl", "pnl"],
            },
        ),
        (
            "run_metric",
            {"metrics": ["Revenu"], "scenarios": ACTUAL, "period_start": "2021"},
            {"error_type": "unknown_name", "field": "metrics", "did_you_mean": ["revenue"]},
        ),
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": ACTUAL, "period_start": "2021", "filters": {"prodct": "P"}},
            {"error_type": "unknown_name", "field": "filters.prodct", "did_you_mean": ["product", "period"]},
        ),
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": ACTUAL, "period_start": "2021", "dimensions": ["nothing"]},
            {
                "error_type": "unknown_name",
                "field": "dimensions",
                "valid": ["month", "period", "product", "region", "tree"],
            },
        ),
        (
            "run_metric",
            {"metrics": ["revenue", "headcount"], "scenarios": ACTUAL, "period_start": "2021"},
            {"error_type": "mixed_domains", "field": "metrics"},
        ),
        (
            "run_metric",
            {"metrics": ["headcount"], "scenarios": ACTUAL, "period_start": "2021", "dimensions": ["product"]},
            {"error_type": "dimension_unavailable", "field": "dimensions", "valid": ["period", "region", "month"]},
        ),
        (
            "run_metric",
            {"metrics": ["headcount"], "scenarios": ACTUAL, "period_start": "2021-01-05"},
            {"error_type": "grain_unavailable", "field": "period_start", "valid": ["2021-01", "2021-Q1", "2021"]},
        ),
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": ACTUAL, "period_start": "2021-01", "period_end": "2021-Q2"},
            {"error_type": "mixed_grains", "field": "period_end"},
        ),
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": ACTUAL, "period_start": "2021-05", "period_end": "2021-02"},
            {"error_type": "bad_period", "example": {"period_start": "2021-02", "period_end": "2021-05"}},
        ),
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": ACTUAL},
            {"error_type": "bad_period", "field": "period_start"},
        ),
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": [], "period_start": "2021"},
            {"error_type": "bad_arguments", "field": "scenarios", "got": []},
        ),
        (
            "run_metric",
            {
                "metrics": ["revenue"],
                "scenarios": [*ACTUAL, {"scenario": "budget", "alias": "Actuals"}],
                "period_start": "2021",
            },
            {"error_type": "bad_arguments", "field": "scenarios", "got": ["Actuals"]},
        ),
        ("run_metric", {"metrics": [], "period_start": "2021"}, {"field": "metrics", "got": []}),
        ("eval_chart_transform", {"data_refs": [], "transform_code": ""}, {"field": "data_refs", "got": []}),
        ("run_metric", {"period_start": "2021"}, {"error_type": "bad_arguments", "field": "metrics"}),
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": ACTUAL, "period_start": "2021", "dimensions": ["period", "period"]},
            {"error": "dimensions has 'period' twice. Give each once.", "field": "dimensions", "got": ["period"]},
        ),
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": ACTUAL, "period_start": "2021", "filters": {"product": []}},
            {"error_type": "bad_arguments", "field": "filters.product", "got": []},
        ),
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": ACTUAL, "period_start": "2021", "scale": 2},
            {"error_type": "bad_arguments", "field": "scale", "valid": [0, 3, 6, 9]},
        ),
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": ACTUAL, "period_start": "2021", "decimals": 13},
            {"error_type": "bad_arguments", "field": "decimals", "got": 13},
        ),
        (
            "run_statement",
            {"report_id": "x"},
            {"error_type": "bad_arguments", "field": "report_id", "got": "report_id"},
        ),
        (
            "run_statement",
            {"scenarios": [{"scenario": "actual", "aliass": "A"}]},
            {"error_type": "bad_arguments", "field": "scenarios.0.aliass", "did_you_mean": ["alias"]},
        ),
        (
            "run_metric",
            {"metrics": "revenue", "scenarios": ACTUAL, "period_start": "2021"},
            {"error_type": "bad_arguments", "field": "metrics", "example": {"metrics": ["revenue"]}},
        ),
        (
            "run_statement",
            {"scale": "3", "scenarios": ACTUAL, "period_start": "2021"},
            {"error_type": "bad_arguments", "field": "scale", "example": {"scale": 3}},
        ),
        ("run_statement", {"scale": True}, {"error_type": "bad_arguments", "field": "scale"}),
        ("run_statement", {"filters": {"product": 7}}, {"error_type": "bad_arguments", "field": "filters.product"}),
        (
            "run_statement",
            {"filters": {"product": [7]}},
            {
                "error": "The argument 'filters.product.0' takes text, not a number.",
                "field": "filters.product.0",
                "got": 7,
            },
        ),
        (
            "run_statement",
            {"filters": {"product": {"in": ["P"]}}, "scenarios": ACTUAL, "period_start": "2021"},
            {"field": "filters.product", "got": {"in": ["P"]}, "example": {"filters": {"product": ["P"]}}},
        ),
        ("run_statement", {"filters": {"product": None}}, {"error_type": "bad_arguments", "field": "filters.product"}),
        ("run_statement", {"scale": 3.5}, {"error_type": "bad_arguments", "field": "scale", "got": 3.5}),
        ("run_statement", {"colour": None}, {"error_type": "bad_arguments", "field": "colour"}),
        ("run_metric", {"metrics": None}, {"error_type": "bad_arguments", "field": "metrics"}),
        (
            "eval_chart_transform",
            {
                "data_refs": ["ds_"],
                "transform_code": "",
                "chart_spec": {"chart_type": "bar", "title": "T", "stack": "yes"},
            },
            {"error": "The argument 'chart_spec.stack' takes true or false, not text."},
        ),
        (
            "list_load_history",
            {"period": "Sep"},
            {"error_type": "bad_period", "field": "period", "example": {"period": "2021-02"}},
        ),
        ("list_dimensions", {"domain": "gl"}, {"error_type": "bad_arguments", "field": "domain"}),
        ("search_hierarchy", {"limit": 0}, {"error_type": "bad_arguments", "field": "limit"}),
        ("search_hierarchy", {"dimension": "period"}, {"error_type": "dimension_unavailable", "field": "dimension"}),
        ("search_hierarchy", {"dimension": "regoin"}, {"error_type": "unknown_name", "did_you_mean": ["region"]}),
        ("inspect_row", {}, {"error_type": "unknown_name", "field": "tool"}),
    ],
)
def test_a_refusal_says_what_to_send_instead(
    books: McpBooks, tool: str, arguments: dict[str, Any], expected: dict[str, Any]
) -> None:
    error = refused(books, tool, **arguments)
    assert {key: error.get(key) for key in expected} == expected
    assert "retryable" not in error
    assert len(json.dumps(error)) < 4000


LONG = "x" * 201


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        (
            "run_metric",
            {"metrics": ["revenue"], "scenarios": [{"scenario": "actual", "alias": LONG}]},
            "scenarios.0.alias",
        ),
        ("run_statement", {"filters": {"entity": ["P", LONG]}}, "filters.entity"),
        ("run_statement_data", {"filters": {"period": LONG}}, "filters.period"),
        ("inspect_rows", {"source_key": "gl", "scenario_id": "actual", "filters": {"metric": LONG}}, "filters.metric"),
        ("inspect_rows", {"source_key": "gl", "scenario_id": "actual", "filters": {"entity": LONG}}, "filters.entity"),
    ],
)
def test_aliases_and_filter_values_have_200_characters_at_most(
    demo: McpBooks, tool: str, arguments: dict[str, Any], field: str
) -> None:
    error = refused(demo, tool, **arguments, period_start="2026-01")
    assert (error["error_type"], error["field"]) == ("bad_arguments", field)
    assert error["error"] == f"A text of {field} has 201 characters; 200 is the most."


REPORT: dict[str, Any] = {"metrics": ["revenue"], "scenarios": ACTUAL, "period_start": "2026-01"}
ROWS: dict[str, Any] = {"source_key": "gl", "scenario_id": "actual", "period_start": "2026-01"}


@pytest.mark.parametrize(
    ("tool", "arguments", "repair"),
    [
        ("run_metric", {**REPORT, "scale": 2}, lambda valid: {"scale": valid}),
        ("run_metric", {**REPORT, "scenarios": []}, lambda valid: {"scenarios": [valid]}),
        ("run_metric", {**REPORT, "metrics": ["revenu"]}, lambda valid: {"metrics": [valid]}),
        ("run_metric", {**REPORT, "dimensions": ["nothing"]}, lambda valid: {"dimensions": [valid]}),
        ("run_metric", {**REPORT, "period_start": "20-1"}, lambda valid: {"period_start": valid}),
        (
            "run_metric",
            {**REPORT, "metrics": ["headcount"], "period_start": "2026-01-05"},
            lambda valid: {"period_start": valid},
        ),
        ("inspect_rows", {**ROWS, "filters": {"metric": "pnl.nothing"}}, lambda valid: {"filters": {"metric": valid}}),
        ("inspect_rows", {**ROWS, "columns": ["nothing"]}, lambda valid: {"columns": [valid]}),
        ("inspect_rows", {**ROWS, "source_key": "nothing"}, lambda valid: {"source_key": valid}),
        ("search_hierarchy", {"dimension": "nothing"}, lambda valid: {"dimension": valid}),
        ("list_load_history", {"status": "nothing"}, lambda valid: {"status": valid}),
    ],
)
def test_what_a_refusal_offers_can_be_copied_back(
    demo: McpBooks, tool: str, arguments: dict[str, Any], repair: Callable[[Any], dict[str, Any]]
) -> None:
    error = refused(demo, tool, **arguments)
    assert error["valid"]
    for offered in error["valid"]:
        again = demo.call(tool, **{**arguments, **repair(offered)})
        assert again.result.get("error_type") != error["error_type"], offered


def test_a_result_that_cannot_be_opened_is_named_with_its_field(books: McpBooks) -> None:
    reference = f"ds_{'a' * 32}"
    error = refused(books, "export_dataset", data_ref=reference, format="json")
    assert (error["error_type"], error["field"], error["got"]) == ("expired_reference", "data_ref", reference)
    assert "retryable" not in error


OPTIONAL: dict[str, Any] = {
    **dict.fromkeys(("statement", "filters", "dimensions", "decimals")),
    "scenarios": [{"scenario": "actual", "alias": None}],
    "period_start": "2021-01",
    "period_end": None,
}


@pytest.mark.parametrize("scale", [None, 0.0])
def test_null_leaves_an_argument_out_and_a_whole_number_may_have_a_point(books: McpBooks, scale: float | None) -> None:
    asked = {"scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}
    assert (
        books.call("run_statement_data", **OPTIONAL, scale=scale).told == books.call("run_statement_data", **asked).told
    )
    assert books.ask("run_statement_data", **asked, scale=3.0)["scale"] == 3


def test_unknown_scenarios_and_members_are_notes_beside_an_answer(books: McpBooks) -> None:
    columns = [*ACTUAL, {"scenario": "plan", "alias": "Plan"}, {"scenario": "var(actual,plan)", "alias": "V"}]
    result = books.ask(
        "run_metric_data",
        metrics=["revenue"],
        scenarios=columns,
        period_start="2021-01",
        filters={"product": ["P", "nobody"]},
    )
    assert [column["alias"] for column in result["columns"]] == ["Actuals"]
    assert result["rows"][0]["values"] == [1234567.89]
    notes = {note["code"]: note["message"] for note in result["notes"]}
    assert "'nobody'" in notes["unknown_member"]
    assert "list_scenarios" in notes["unknown_scenario"]


def test_ten_thousand_filter_ids_are_answered_and_the_unknown_ones_counted(books: McpBooks) -> None:
    ids = ["P", *(f"X{at}" for at in range(10_000))]
    result = books.ask(
        "run_metric_data", metrics=["revenue"], scenarios=ACTUAL, period_start="2021-01", filters={"product": ids}
    )
    assert result["rows"][0]["values"] == [1234567.89]
    (note,) = [note for note in result["notes"] if note["code"] == "unknown_member"]
    assert "and 9995 more" in note["message"]


def test_a_long_refused_value_is_echoed_in_part(books: McpBooks) -> None:
    error = refused(books, "run_metric", metrics=["x" * 100_000], scenarios=ACTUAL, period_start="2021")
    assert "(100000 characters)" in error["got"]
    assert len(json.dumps(error)) < 4000


HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-11-25",
}


def call_body(arguments: str) -> str:
    """Return the body of a call with raw JSON arguments."""
    return (
        f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"run_statement","arguments":{arguments}}}}}'
    )


@pytest.mark.parametrize("body", ["", "{", "run_statement", '{"jsonrpc":"2.0"', "\x00\xff"])
def test_a_body_that_is_no_json(small_server: Server, body: str) -> None:
    answer = httpx2.post(small_server.url, content=body, headers=HEADERS)
    assert answer.status_code == 400
    assert "Traceback" not in answer.text


def test_an_argument_of_five_megabytes(small_server: Server) -> None:
    answer = httpx2.post(
        small_server.url, content=call_body(json.dumps({"statement": "x" * 5_000_000})), headers=HEADERS
    )
    assert answer.status_code == 413


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_that_is_none(small_server: Server, number: str) -> None:
    answer = httpx2.post(small_server.url, content=call_body(f'{{"scale": {number}}}'), headers=HEADERS)
    said = answer.json()
    if answer.status_code == 200:
        assert said["result"]["isError"] is True
        assert said["result"]["structuredContent"]["field"] == "scale"
    else:
        assert answer.status_code == 400


def test_arguments_nested_a_thousand_deep(small_server: Server) -> None:
    deep = '{"filters": {"product": ' + "[" * 1000 + "]" * 1000 + "}}"
    answer = httpx2.post(small_server.url, content=call_body(deep), headers=HEADERS)
    assert answer.status_code in (200, 400)
    assert "Traceback" not in answer.text
    assert httpx2.get(small_server.url.replace("/mcp", "/health")).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {KEY}"}, 401),
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
    ],
)
def test_who_may_call(small_server: Server, headers: dict[str, str], status: int) -> None:
    answer = httpx2.post(small_server.url, content=call_body("{}"), headers=HEADERS | headers)
    assert answer.status_code == status
    if status == 401:
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_no_stream_is_opened(small_server: Server) -> None:
    assert httpx2.get(small_server.url, headers=HEADERS, timeout=5).status_code == 405
