"""Refusals followed to the letter by a real client: the call that puts the example in is answered."""

import json
import re
from typing import Any

import pytest

from server.tools.toolbox import TOOLS
from tests.support.service.servers import McpBooks

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
        ("run_metric", {**REPORT, "scenarios": []}),
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


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Budget", "budget"),
        ("Actuals", "actual"),
        ("ACTUAL@PY", "actual@py"),
        ("var(Actuals, Budgt)", "var(actual, budget)"),
        ("budget/downsid", "budget/downside"),
        ("Actual+Forecast", "actual+forecast"),
    ],
)
def test_a_scenario_that_is_left_out_is_noted_with_the_one_that_is_spelled_like_it(
    demo: McpBooks, written: str, meant: str
) -> None:
    asked = {**REPORT, "scenarios": [{"scenario": written}]}
    (note,) = [note for note in demo.ask("run_metric", **asked)["notes"] if note["code"] == "unknown_scenario"]
    assert note["did_you_mean"][0] == meant
    mended = demo.ask("run_metric", **{**asked, "scenarios": [{"scenario": meant}]})
    assert mended["scenarios"]
    assert not [note for note in mended["notes"] if note["code"] == "unknown_scenario"]


def test_several_unknown_scenarios_are_named_one_by_one(demo: McpBooks) -> None:
    columns = [{"scenario": name} for name in ("actual", "a1", "b2", "c3")]
    (note,) = [
        note
        for note in demo.ask("run_metric", **{**REPORT, "scenarios": columns})["notes"]
        if note["code"] == "unknown_scenario"
    ]
    assert note["message"].startswith("There is no scenario 'a1', 'b2' or 'c3', so it was left out.")
    assert "did_you_mean" not in note


def test_the_two_sides_of_an_explanation_are_suggested_with_their_shifts(demo: McpBooks) -> None:
    answer = demo.ask("explain_variance", **{**EXPLAINED, "scenarios": ["actual", "ACTUAL@PY"]})
    (note,) = [note for note in answer["notes"] if note["code"] == "unknown_scenario"]
    assert (answer["lists"], note["did_you_mean"]) == ([], ["actual@py"])


@pytest.mark.parametrize(
    ("reference", "bases"), [("budget/downside", ["budget"]), ("actual@py", ["actual"]), ("nobody", None)]
)
def test_a_variant_is_named_with_its_scenario_where_variants_are_listed(
    demo: McpBooks, reference: str, bases: list[str] | None
) -> None:
    listed = demo.ask("list_variants", scenario_id=reference)
    (note,) = listed["notes"]
    assert (listed["variants"], note.get("did_you_mean")) == ([], bases)
    assert note["code"] == ("no_base_scenario" if bases else "unknown_scenario")
    for base in bases or ():
        assert demo.ask("list_variants", scenario_id=base)["notes"] == []


def test_a_value_of_an_axis_in_another_case_is_noted_with_the_one_that_has_rows(demo: McpBooks) -> None:
    asked = {"source_key": "gl", "scenario_id": "actual", "period_start": "2026-09", "limit": 1}
    (note,) = demo.ask("inspect_rows", **asked, filters={"journal": "sales"})["notes"]
    assert note["did_you_mean"] == ["SALES"]
    assert demo.ask("inspect_rows", **asked, filters={"journal": note["did_you_mean"]})["rows"]


def test_the_formula_of_the_schema_is_computed(demo: McpBooks) -> None:
    (words,) = re.findall(r"such as (\{.*?\})", TOOLS["run_metric"].schema["properties"]["formulas"]["description"])
    formulas = {alias: text.replace("A", "ebitda").replace("B", "revenue") for alias, text in json.loads(words).items()}
    result = demo.ask("run_metric", **REPORT, formulas=formulas)
    margin = demo.ask("run_metric", **{**REPORT, "metrics": ["ebitda_margin"]})
    assert result["rows"][0]["values"][1] == margin["rows"][0]["values"][0]


def test_a_formula_over_two_domains_is_the_metric_that_reads_both(demo: McpBooks) -> None:
    result = demo.ask("run_metric", **REPORT, formulas={"per_head": "revenue / people.headcount"})
    metric = demo.ask("run_metric", **{**REPORT, "metrics": ["revenue_per_head"]})
    assert result["rows"][0]["values"][1] == metric["rows"][0]["values"][0]
