"""Refusals and notes are short, whatever was sent."""

from typing import Any

import pytest

from server.base.settings import Settings
from tests.support.answers.calls import Call
from tests.support.answers.left_out import size
from tests.support.service.servers import McpBooks

BUDGET = Settings().answer_tokens
LONG = "x" * 100_000
REFUSED: dict[str, Call] = {
    "a long name": ("run_metric", {"metrics": [LONG]}),
    "a long field": ("list_kpis", {LONG: 1}),
    "a long filter": ("run_metric", {"metrics": ["revenue"], "filters": {LONG: "a"}}),
    "a nested object": ("run_metric", {"metrics": ["revenue"], "filters": {"entity": {"a": [LONG, {"b": [LONG]}]}}}),
    "an object for a list": ("run_metric", {"metrics": {"a": LONG}}),
    "a list of lists": ("run_metric", {"metrics": [[LONG[:200]] * 50] * 50}),
    "a long period": ("run_metric", {"metrics": ["revenue"], "period_start": LONG}),
    "long alternatives": ("search_hierarchy", {"query": {"a": LONG}}),
    "many columns": (
        "inspect_rows",
        {"source_key": "gl", "scenario_id": "actual", "columns": [f"column {number}" for number in range(5000)]},
    ),
    "a long view": ("inspect_rows", {"source_key": "gl", "scenario_id": "actual", "filters": {"scenario": LONG}}),
    "a long tool": (LONG, {}),
    "a long alias": ("run_metric", {"metrics": ["revenue"], "scenarios": [{"scenario": "actual", "alias": LONG}]}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_short_whatever_was_sent(demo: McpBooks, name: str) -> None:
    tool, asked = REFUSED[name]
    refused = demo.call(tool, **asked)
    assert refused.is_error
    assert refused.result["error_type"] != "internal"
    assert size(refused) < BUDGET / 2


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("list_variants", {"scenario_id": LONG}),
        ("inspect_rows", {"source_key": "gl", "scenario_id": LONG}),
        ("run_metric", {"metrics": ["revenue"], "scenarios": [{"scenario": LONG}], "period_start": "2026-01"}),
        (
            "run_metric",
            {
                "metrics": ["revenue"],
                "filters": {"entity": [f"nobody {number}" for number in range(20_000)]},
                "period_start": "2026-01",
            },
        ),
    ],
)
def test_notes_on_what_is_not_there_are_short(demo: McpBooks, tool: str, asked: dict[str, Any]) -> None:
    called = demo.call(tool, **asked)
    assert called.result["notes"]
    assert size(called) < BUDGET / 2
