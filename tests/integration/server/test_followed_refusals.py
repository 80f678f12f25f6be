"""Refusals followed to the letter by a real client: the call that puts the example in is answered."""

import json
import re
from typing import Any

import pytest

from server.tools.toolbox import TOOLS
from tests.support.serving import McpBooks

REPORT: dict[str, Any] = {"metrics": ["revenue"], "scenarios": [{"scenario": "actual"}], "period_start": "2026-09"}
EXPLAINED: dict[str, Any] = {
    "metric": "ebitda",
    "scenarios": ["actual", "budget"],
    "by": ["entity"],
    "period_start": "2026-09",
}


def refused(books: McpBooks, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool that must refuse, and return its error."""
    called = books.call(tool, **arguments)
    assert called.is_error, called.result
    return called.result


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("explain_variance", {**EXPLAINED, "scenarios": [{"scenario": "actual"}, {"scenario": "budget"}]}),
        ("explain_variance", {**EXPLAINED, "scenarios": "actual,budget"}),
        ("run_metric", {**REPORT, "filters": {"entity": {"include": ["DE01"]}}}),
        ("run_metric", {**REPORT, "filters": {"entity": {"include": ["DE01"], "exclude": []}, "account": "4000"}}),
        ("run_metric", {**REPORT, "filters": {"entity": {"not": ["DE01"]}}}),
        ("run_metric", {**REPORT, "filters": {"exclude": {"entity": ["DE01"]}}}),
        ("list_variants", {}),
        ("run_metric", {**REPORT, "metrics": ["revenue", "headcount"]}),
        ("run_metric", {**REPORT, "period_start": "last month"}),
        ("run_metric", {**REPORT, "period_start": "2026-01-01", "period_end": "2026-09"}),
        ("explain_variance", {**EXPLAINED, "by": []}),
        ("explain_variance", {**EXPLAINED, "scenarios": ["actual"]}),
    ],
)
def test_the_example_is_answered(demo: McpBooks, tool: str, arguments: dict[str, Any]) -> None:
    example = refused(demo, tool, arguments)["example"]
    answered = demo.call(tool, **{**arguments, **example})
    assert not answered.is_error, answered.result


def test_an_exclusion_of_nothing_is_answered_as_the_list_that_it_names(demo: McpBooks) -> None:
    filters = {"entity": {"include": ["DE01"], "exclude": []}, "organisation": {"exclude": ["ASIA"]}}
    error = refused(demo, "run_metric", {**REPORT, "filters": filters})
    assert (error["error_type"], error["field"]) == ("bad_arguments", "filters.entity.exclude")
    kept = {"entity": ["DE01"], "organisation": {"exclude": ["ASIA"], "include": []}}
    assert error["example"] == {"filters": kept}
    plain = demo.ask("run_metric", **REPORT, filters={"entity": ["DE01"]})
    assert demo.ask("run_metric", **{**REPORT, **error["example"]})["rows"] == plain["rows"]


def test_the_formula_of_the_schema_is_computed(demo: McpBooks) -> None:
    (words,) = re.findall(r"such as (\{.*?\})", TOOLS["run_metric"].schema["properties"]["formulas"]["description"])
    result = demo.ask("run_metric", **REPORT, formulas=json.loads(words))
    margin = demo.ask("run_metric", **{**REPORT, "metrics": ["ebitda_margin"]})
    assert result["rows"][0]["values"][1] == margin["rows"][0]["values"][0]


def test_a_formula_over_two_domains_is_refused_with_the_metric_that_reads_both(demo: McpBooks) -> None:
    error = refused(demo, "run_metric", {**REPORT, "formulas": {"per_head": "revenue / headcount"}})
    assert (error["error_type"], error["field"]) == ("mixed_domains", "formulas.per_head")
    (named,) = re.findall(r"read both domains: (.*?)\. Or ask", error["error"])
    for key in named.split(", "):
        answered = demo.ask("run_metric", **{**REPORT, "metrics": [key]})
        assert answered["rows"][0]["values"][0] is not None
