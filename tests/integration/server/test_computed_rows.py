"""Pictures, computed rows and summaries over the wire, as a model and its host read them."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.present.answers.budget import tokens
from tests.support.answers.chart_cases import ACTUAL, BY_MONTH, MONTHS, PERIODS, PNL
from tests.support.answers.charts import size_of
from tests.support.service.servers import McpBooks

TOOL = "eval_chart_transform"
BUDGET = 10_000
VARIANCE = {"metric": "sales_amount", "scenarios": ["actual", "budget"], "by": ["product_line"], **MONTHS}


@pytest.fixture(scope="module")
def reference(demo: McpBooks) -> str:
    """Revenue by month, kept."""
    return demo.keep("run_metric", **BY_MONTH)


@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_a_picture_is_image_content_and_its_specification_goes_into_meta(
    demo: McpBooks, reference: str, size: str
) -> None:
    asked = {"data_refs": [reference], "chart_spec": {"chart_type": "line", "title": "Revenue", "size": size}}
    shown, plain = demo.call(TOOL, **asked, picture=True), demo.call(TOOL, **asked)
    (picture,) = shown.pictures
    assert 500 < size_of(picture)[0] <= 1200
    assert len(picture) <= 500_000
    assert plain.pictures == []
    points = {part: plain.result[part] for part in ("rows", "vega_lite")}
    assert not points.keys() & shown.told.keys()
    assert shown.told | points == plain.told
    assert shown.meta["tieout/details"]["vega_lite"] == plain.result["vega_lite"]
    assert "vega_lite" not in plain.meta["tieout/details"]


def test_a_picture_and_a_file_are_both_made(demo: McpBooks, reference: str) -> None:
    spec = {"chart_type": "bar", "title": "Revenue", "render": "artifact", "format": "svg"}
    both = demo.call(TOOL, data_refs=[reference], chart_spec=spec, picture=True)
    assert (len(both.pictures), both.result["artifact"]["mime_type"]) == (1, "image/svg+xml")
    alone = demo.call(TOOL, data_refs=[reference], chart_spec=spec)
    assert (alone.pictures, alone.result["artifact"]["mime_type"]) == ([], "image/svg+xml")
    assert "vega_lite" in alone.result


def test_an_explained_variance_shows_its_bridge(demo: McpBooks) -> None:
    shown, plain = demo.call("explain_variance", **VARIANCE, picture=True), demo.call("explain_variance", **VARIANCE)
    (picture,) = shown.pictures
    assert size_of(picture)[0] <= 1200
    assert len(picture) <= 500_000
    assert shown.told == plain.told
    drawn = shown.meta["tieout/details"]["vega_lite"]
    assert [point["x"] for point in drawn["data"]["values"]] == [
        "budget",
        *(row.get("label", row["key"]) for row in plain.result["lists"][0]["rows"]),
        "actual",
    ]
    assert "in EUR" in str(drawn["title"]["subtitle"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"by": ["customer"], "top": 30}, "a smaller top folds more rows into (others)"),
        ({"period_start": "2031-01", "period_end": "2031-01"}, "has no rows to draw"),
    ],
)
def test_a_bridge_that_cannot_be_drawn_is_a_note_beside_the_figures(
    demo: McpBooks, asked: dict[str, Any], words: str
) -> None:
    called = demo.call("explain_variance", **{**VARIANCE, **asked}, picture=True)
    assert (called.is_error, called.pictures) == (False, [])
    (note,) = [note for note in called.result["notes"] if note["code"] == "not_drawn"]
    assert words in note["message"]


def test_figures_that_are_not_finite_are_blank_with_one_note(demo: McpBooks, reference: str) -> None:
    value = "pl.col('value')"
    code = (
        f"p = {PERIODS}.filter(pl.col('alias') == 'Actuals')\n"
        f"result = p.select('period', inverse={value} / 0, none=({value} - {value}) / 0, half={value} / 2)"
    )
    months = len({row["key"] for row in demo.ask("run_metric", **BY_MONTH)["rows"]}) - 1
    for spec in ({}, {"chart_spec": {"chart_type": "line", "title": "Half", "x": "period", "y": ["half", "inverse"]}}):
        result = demo.call(TOOL, data_refs=[reference], transform_code=code, **spec).result
        assert all(row[2 if spec else 1] is None and row[1 if spec else 3] is not None for row in result["rows"])
        (note,) = [note for note in result["notes"] if note["code"] == "not_finite"]
        assert (note["columns"], note["count"], note["severity"]) == ("inverse, none", str(2 * months), "caution")
    fine = demo.call(TOOL, data_refs=[reference], transform_code="result = df.select('value')").result
    assert [note["code"] for note in fine["notes"]] == ["script_figures"]


def test_a_script_alone_returns_its_rows(demo: McpBooks, reference: str) -> None:
    code = (
        f"result = {PERIODS}.filter(pl.col('alias') == 'Actuals').select('period', 'value', half=pl.col('value') / 2)"
    )
    called = demo.call(TOOL, data_refs=[reference], transform_code=code)
    report = demo.ask("run_metric", **BY_MONTH)
    figures = {row["key"]: row["values"][0] for row in report["rows"][:-1]}
    result = called.result
    assert result["rows"] == [[period, value, value / 2] for period, value in figures.items()]
    assert result["columns"] == [
        {"name": "period", "type": "text"},
        {"name": "value", "type": "number", "unit": "EUR"},
        {"name": "half", "type": "number"},
    ]
    assert result["computed"] is True
    assert [note["code"] for note in result["notes"]] == ["script_figures"]
    assert not {"drill", "chart_type", "vega_lite", "agent_truncated"} & result.keys()
    assert called.pictures == []
    again = demo.call(TOOL, data_refs=[result["data_ref"]], transform_code="result = df.select('half').sum()")
    assert again.result["rows"] == [[pytest.approx(sum(figures.values()) / 2)]]


@pytest.mark.parametrize(("columns", "most"), [(1, 200), (40, 199)])
def test_computed_rows_keep_to_200_and_to_the_budget(demo: McpBooks, reference: str, columns: int, most: int) -> None:
    code = f"result = [{{f'c{{j}}': i + j / 7 for j in range({columns})}} for i in range(300)]"
    called = demo.call(TOOL, data_refs=[reference], transform_code=code)
    shown = len(called.result["rows"])
    assert 0 < shown <= most
    assert called.result["agent_truncated"] == {"rows": 300 - shown}
    assert called.meta["tieout/details"]["dataset"]["row_count"] == 300
    assert tokens(called.result) <= BUDGET
    assert "300" not in called.text or shown == 200
    (note,) = [note for note in called.result["notes"] if note["code"] == "shortened"]
    assert f"{300 - shown} rows left out. export_dataset" in note["message"]


def test_a_chart_alone_draws_the_members_of_a_report(demo: McpBooks, reference: str) -> None:
    made = demo.call(TOOL, data_refs=[reference], chart_spec={"chart_type": "line", "title": "Revenue"}).result
    report = demo.ask("run_metric", **BY_MONTH)
    assert made["rows"] == [
        [row["key"], alias, row["values"][at]]
        for at, alias in enumerate(("Actuals", "Budget"))
        for row in report["rows"][:-1]
    ]
    assert made["unit"] == "EUR"
    assert "script_figures" not in [note["code"] for note in made.get("notes", ())]
    ranked = demo.ask(
        "run_metric", metrics=["sales_amount"], scenarios=[ACTUAL], dimensions=["customer"], top=10, **MONTHS
    )
    spec = {"chart_type": "horizontal_bar", "title": "Customers"}
    bars = demo.call(TOOL, data_refs=[ranked["data_ref"]], chart_spec=spec).result
    assert [row[0] for row in bars["rows"]] == [row["label"] for row in ranked["rows"][:-1]]


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ({}, "transform_code", "Neither transform_code nor chart_spec is given"),
        ({"transform_code": ""}, "transform_code", "Neither transform_code nor chart_spec is given"),
        (
            {"transform_code": f"result = {PERIODS}.select('period', 'alias', 'value')", "picture": True},
            "chart_spec",
            "there is no chart_spec",
        ),
    ],
)
def test_a_call_that_asks_for_nothing_gets_an_example_that_works(
    demo: McpBooks, reference: str, asked: dict[str, Any], field: str, words: str
) -> None:
    refused = demo.call(TOOL, data_refs=[reference], **asked)
    assert (refused.is_error, refused.result["error_type"], refused.result["field"]) == (True, "bad_arguments", field)
    assert words in refused.result["error"]
    assert not demo.call(TOOL, data_refs=[reference], **(asked | refused.result["example"])).is_error


def test_a_script_without_a_result_gets_an_example_that_works(demo: McpBooks, reference: str) -> None:
    refused = demo.call(TOOL, data_refs=[reference], transform_code="x = df.head(3)").result
    assert (refused["error_type"], refused["field"]) == ("transform_failed", "transform_code")
    assert "leaves no result" in refused["error"]
    made = demo.call(TOOL, data_refs=[reference], **refused["example"])
    assert made.result["columns"][0]["name"] == "metric"


@pytest.mark.parametrize(
    ("tool", "asked", "kept"),
    [
        ("run_statement", {**PNL, "dimensions": ["entity"]}, lambda column: column.get("is_total")),
        ("run_statement_data", PNL, lambda _: True),
    ],
)
def test_a_summary_of_a_statement_has_its_totals_notes_and_reference(
    demo: McpBooks, tool: str, asked: dict[str, Any], kept: Callable[[Any], bool]
) -> None:
    whole, short = demo.call(tool, **asked), demo.call(tool, **asked, summary=True)
    at = [place for place, column in enumerate(whole.result["columns"]) if kept(column)]
    assert [row["values"] for row in short.result["rows"] if "values" in row] == [
        [row["values"][place] for place in at]
        for row in whole.result["rows"]
        if "values" in row and not row.get("level")
    ]
    assert short.result.get("notes") == whole.result.get("notes")
    assert not {"drill", "freshness", "agent_truncated"} & short.result.keys()
    assert "tieout/table" not in short.meta
    made = demo.call("export_dataset", data_ref=short.result["data_ref"], format="json")
    assert not made.is_error


@pytest.mark.parametrize("tool", ["run_metric", "run_metric_data"])
def test_a_summary_of_metrics_has_one_row(demo: McpBooks, tool: str) -> None:
    whole, short = demo.call(tool, **BY_MONTH), demo.call(tool, **BY_MONTH, summary=True)
    assert short.result["rows"] == [{"label": "Total", "values": whole.result["rows"][-1]["values"]}]
    assert short.result.keys() == {"period", "currency", "metrics", "scenarios", "dimensions", "rows", "data_ref"}
    kept = demo.call(TOOL, data_refs=[short.result["data_ref"]], transform_code=f"result = {PERIODS}.select('value')")
    assert len(kept.result["rows"]) == 18
