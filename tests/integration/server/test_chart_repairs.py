"""Examples of refused charts, followed to the letter until a chart is drawn, in two steps at most."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.answers.chart_cases import ACTUAL, BUDGET
from tests.support.service.servers import McpBooks

TOOL = "eval_chart_transform"
PERIOD = {"period_start": "2026-01", "period_end": "2026-09"}
TWO = {"metrics": ["revenue", "ebitda"], "scenarios": [ACTUAL, BUDGET], "dimensions": ["organisation"], **PERIOD}
PNL = {"statement": "pnl", "scenarios": [ACTUAL], **PERIOD}
ALL = "result = df"
STEPS = 2


def followed(books: McpBooks, reference: str, spec: Mapping[str, Any], code: str | None = None) -> dict[str, Any]:
    """Return the chart that the examples of refusals lead to. At least one call is refused."""
    asked: dict[str, Any] = {"data_refs": [reference], "chart_spec": {"title": "A chart", **spec}}
    if code is not None:
        asked["transform_code"] = code
    for _ in range(STEPS):
        called = books.call(TOOL, **asked)
        assert called.result.get("error_type") == "chart_invalid", called.result
        asked |= called.result["example"]
        drawn = books.call(TOOL, **asked)
        if not drawn.is_error:
            return dict(drawn.result)
    raise AssertionError(drawn.result)


def members(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of members, without the total."""
    return [row for row in result["rows"] if row.get("kind") != "total"]


@pytest.mark.parametrize("code", [None, ALL, "result = df.to_dicts()", "result = df.lazy()"])
@pytest.mark.parametrize("x", ["organisation_label", "region"])
def test_metrics_and_scenarios_are_never_added_up(demo: McpBooks, code: str | None, x: str) -> None:
    result = demo.ask("run_metric", **TWO)
    chart = followed(demo, result["data_ref"], {"chart_type": "bar", "x": x, "y": "value"}, code)
    revenue = [
        [row["label"], alias, row["values"][at]]
        for at, alias in enumerate(("Actuals", "Budget"))
        for row in members(result)
        if row["values"][at] is not None
    ]
    assert (chart["rows"], chart["unit"]) == (revenue, "EUR")


def test_ratios_are_never_added_up(demo: McpBooks) -> None:
    result = demo.ask("run_metric", **{**TWO, "metrics": ["gross_margin", "ebitda_margin"]})
    spec = {"chart_type": "horizontal_bar", "x": "organisation_label", "y": "value"}
    chart = followed(demo, result["data_ref"], spec)
    expected = [
        [row["label"], alias, row["values"][at]]
        for at, alias in enumerate(("Actuals", "Budget"))
        for row in members(result)
        if row["values"][at] is not None
    ]
    assert (chart["rows"], chart["unit"]) == (expected, "fraction")


def test_rows_of_a_ledger_are_added_up(demo: McpBooks) -> None:
    asked = {"source_key": "gl", "scenario_id": "actual", "filters": {"metric": "revenue"}, "period_start": "2026-09"}
    rows = demo.ask("inspect_rows", **asked, limit=40)
    names = [column["name"] for column in rows["columns"]]
    sums: dict[str, float] = {}
    for row in rows["rows"]:
        entity, amount = row[names.index("entity")], row[names.index("contribution")]
        sums[entity] = sums.get(entity, 0.0) + float(amount)
    chart = followed(demo, rows["data_ref"], {"chart_type": "bar", "x": "entity", "y": "contribution"})
    assert dict(chart["rows"]) == pytest.approx(sums)


@pytest.mark.parametrize("code", [None, ALL])
def test_a_column_that_is_absent_leaves_those_that_are_valid(demo: McpBooks, code: str | None) -> None:
    result = demo.ask("run_metric", **{**TWO, "metrics": ["revenue"], "scenarios": [ACTUAL]})
    spec = {"chart_type": "bar", "x": "region", "y": "value", "sort": "descending"}
    asked: dict[str, Any] = {"data_refs": [result["data_ref"]], "chart_spec": {"title": "A chart", **spec}}
    refused = demo.call(TOOL, **asked, **({} if code is None else {"transform_code": code})).result
    assert refused["example"]["chart_spec"] == {**asked["chart_spec"], "x": "organisation_label"}
    chart = followed(demo, result["data_ref"], spec, code)
    assert chart["rows"] == [[row["label"], row["values"][0]] for row in members(result)]


def test_a_scatter_of_a_result_has_a_column_for_each_metric(demo: McpBooks) -> None:
    result = demo.ask("run_metric", **{**TWO, "scenarios": [ACTUAL]})
    chart = followed(demo, result["data_ref"], {"chart_type": "scatter"})
    assert [column["name"] for column in chart["columns"]] == ["Revenue", "EBITDA"]
    assert chart["rows"] == [row["values"] for row in members(result) if None not in row["values"]]


@pytest.mark.parametrize("kind", ["sparkline_row", "cohort_heatmap"])
def test_a_chart_of_rows_takes_periods_and_values(demo: McpBooks, kind: str) -> None:
    asked = {**TWO, "metrics": ["revenue"], "scenarios": [ACTUAL], "dimensions": ["month", "organisation"]}
    result = demo.ask("run_metric", **asked)
    chart = followed(demo, result["data_ref"], {"chart_type": kind}, ALL)
    assert [column["name"] for column in chart["columns"]] == ["month", "organisation_label", "value"]
    sums: dict[str, float] = {}
    for month, _, value in chart["rows"]:
        sums[month] = sums.get(month, 0.0) + value
    by_month = demo.ask("run_metric", **{**asked, "dimensions": ["month"]})
    assert sums == pytest.approx({row["key"]: row["values"][0] for row in members(by_month)})


def test_an_area_goes_on_with_the_script_that_filters(demo: McpBooks) -> None:
    asked = {**TWO, "scenarios": [ACTUAL], "dimensions": ["month", "organisation"]}
    result = demo.ask("run_metric", **asked)
    code = "result = df.filter(pl.col('metric') == 'revenue', pl.col('month') != '2026-03')"
    spec = {"chart_type": "area", "x": "month", "y": "value", "series": "organisation_label"}
    chart = followed(demo, result["data_ref"], spec, code)
    by_month = demo.ask("run_metric", **{**asked, "metrics": ["revenue"], "dimensions": ["month"]})
    sums: dict[str, float] = {}
    for month, _, value in chart["rows"]:
        sums[month] = sums.get(month, 0.0) + value
    months = {row["key"]: row["values"][0] for row in members(by_month)} | {"2026-03": 0}
    assert sums == pytest.approx(months)
    assert chart["unit"] == "EUR"


@pytest.mark.parametrize("code", [ALL, "result = df.filter(pl.col('unit') == 'EUR')"])
@pytest.mark.parametrize("x", ["label", "line_label"])
def test_a_waterfall_of_a_statement_ends_where_its_steps_lead(demo: McpBooks, code: str, x: str) -> None:
    result = demo.ask("run_statement", **PNL)
    figures = {row["label"]: row["values"][0] for row in result["rows"]}
    chart = followed(demo, result["data_ref"], {"chart_type": "waterfall", "x": x, "y": "value"}, code)
    *steps, (last, net) = chart["rows"]
    assert (chart["chart_type"], chart["unit"]) == ("waterfall", "EUR")
    assert (steps[0][0], last, net) == ("Revenue", "Net result", figures["Net result"])
    assert {name: abs(value) for name, value in chart["rows"]} == {
        name: abs(figures[name]) for name, _ in chart["rows"]
    }
    assert sum(value for _, value in steps) == pytest.approx(net)


@pytest.mark.parametrize("code", [None, ALL])
def test_figures_that_make_no_waterfall_are_drawn_as_bars(demo: McpBooks, code: str | None) -> None:
    result = demo.ask("run_statement", **{**PNL, "statement": "kpis"})
    chart = followed(demo, result["data_ref"], {"chart_type": "waterfall", "x": "label", "y": "value"}, code)
    money = [[row["label"], row["values"][0]] for row in result["rows"] if row.get("unit") == "EUR"]
    assert (chart["chart_type"], chart["rows"], chart["unit"]) == ("bar", money, "EUR")


def test_a_script_of_several_units_keeps_those_of_the_first_scenario(demo: McpBooks) -> None:
    percent = {"scenario": "var_pct(actual,budget)", "alias": "Var %"}
    asked = {**TWO, "metrics": ["revenue", "gross_margin"], "dimensions": ["month"]}
    result = demo.ask("run_metric", **{**asked, "scenarios": [ACTUAL, percent]})
    chart = followed(demo, result["data_ref"], {"chart_type": "line", "x": "month", "y": "value"}, ALL)
    assert chart["rows"] == [[row["key"], row["values"][0]] for row in members(result)]
    assert chart["unit"] == "EUR"
