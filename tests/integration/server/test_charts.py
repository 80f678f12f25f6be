"""Charts over the wire: what realistic scripts make of results of the demo, held to sums that plain Python makes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from engine.present.answers.budget import tokens
from server.stores.memory import is_reference
from tests.support.answers.chart_cases import ACTUAL, BUDGET, BY_COMPANY, BY_MONTH, CASES, HEADS, PERIODS, close, drawn
from tests.support.answers.workbooks import grid
from tests.support.service.servers import McpBooks, connected, serving

PERIOD = {"period_start": "2026-01", "period_end": "2026-09"}
DETAILS = ("catalogue_version", "data_version", "freshness", "dataset")  # which stand in _meta


@pytest.fixture(scope="module")
def uncut(demo_folder: Path) -> Any:
    """A client of the demo whose answers are never cut."""
    with (
        serving(demo_folder, demo_folder / ".tieout", SVC_ANSWER_TOKENS="1000000") as server,
        connected(server.url, "auto") as books,
    ):
        yield books


@pytest.mark.parametrize("name", CASES)
def test_a_script_draws_what_plain_python_makes_of_the_same_result(uncut: McpBooks, name: str) -> None:
    case = CASES[name]
    result = uncut.ask(case.tool, **case.asked)
    chart = drawn(uncut, result["data_ref"], case.code, **case.spec)
    assert close(chart["rows"], case.expected(result)), (chart["rows"], case.expected(result))
    assert len(chart["vega_lite"]["data"]["values"]) >= len(chart["rows"])
    assert chart["chart_type"] == case.spec["chart_type"]
    assert chart["summary"]
    assert is_reference(chart["data_ref"])
    assert chart["notes"][-1]["code"] == "script_figures"
    assert chart["data_version"] == result["data_version"]
    assert chart.get("freshness") == result.get("freshness", {})


def test_several_results_are_joined_and_a_chart_is_drawn_of_a_chart(demo: McpBooks) -> None:
    revenue, heads = (demo.ask("run_metric", **asked) for asked in ({**BY_MONTH, "scenarios": [ACTUAL]}, HEADS))
    code = (
        "a, b = (f.filter(pl.col('period').is_not_null()).select('period', 'value') for f in frames)\n"
        "result = a.join(b, on='period', suffix='_heads').sort('period')"
    )
    spec = {"chart_type": "scatter", "x": "value_heads", "y": "value", "label": "period"}
    joined = drawn(demo, [revenue["data_ref"], heads["data_ref"]], code, **spec)
    expected = {
        row["key"]: [other["values"][0], row["values"][0]]
        for row, other in zip(revenue["rows"][:-1], heads["rows"][:-1], strict=True)
    }
    assert {period: [x, y] for x, period, y in joined["rows"]} == expected
    assert joined["freshness"].keys() == {"gl", "people"}
    assert [words.split(",")[0] for words in joined["inputs"]] == ["Revenue", "Headcount (FTE)"]
    each = "result = df.select('period', each=pl.col('value') / pl.col('value_heads'))"
    again = drawn(demo, joined["data_ref"], each, chart_type="line", x="period", y="each", unit="EUR each")
    assert close(again["rows"], [[period, y / x] for period, (x, y) in expected.items()])
    assert again["inputs"] == ["A chart"]
    assert again["freshness"] == joined["freshness"]


def test_a_unit_is_carried_on_where_figures_are_as_they_were(demo: McpBooks) -> None:
    reference = demo.ask("run_metric", **BY_COMPANY)["data_ref"]
    members = "m = df.filter(pl.col('entity').is_not_null(), pl.col('alias') == 'Budget')\n"
    for code, spec, unit in (
        ("result = m.select('entity', 'value')", {}, "EUR"),
        ("result = m.select('entity', value=pl.col('value') / 1000)", {}, None),
        ("result = m.select('entity', value=pl.col('value') / 1000)", {"unit": "EUR thousands"}, "EUR thousands"),
    ):
        chart = drawn(demo, reference, members + code, x="entity", y="value", **spec)
        assert chart["unit"] == unit
        (told,) = [column for column in chart["dataset"]["columns"] if column["name"] == "value"]
        assert told.get("unit") == (unit if not spec else None)


def test_a_scaled_unit_scales_a_result_and_another_unit_is_refused(demo: McpBooks) -> None:
    asked = {"metrics": ["revenue"], "scenarios": [ACTUAL], "period_start": "2026-09", "dimensions": ["organisation"]}
    result = demo.ask("run_metric", **asked, scale=3)
    largest = max(row["values"][0] for row in result["rows"] if row.get("kind") != "total")
    spec = {"chart_type": "bar", "title": "Revenue"}
    call = {"data_refs": [result["data_ref"]]}
    chart = demo.ask("eval_chart_transform", **call, chart_spec={**spec, "unit": "EUR thousands"})
    assert f"is largest with {round(largest):,} EUR thousands" in chart["summary"]
    assert (chart["unit"], max(row[1] for row in chart["rows"])) == ("EUR", pytest.approx(largest * 1000, rel=1e-6))
    for unit in ("USD", "fraction"):
        refused = demo.call("eval_chart_transform", **call, chart_spec={**spec, "unit": unit}).result
        assert (refused["error_type"], refused["field"]) == ("chart_invalid", "chart_spec.unit")
        assert demo.ask("eval_chart_transform", **call, **refused["example"])["unit"] == "EUR"


def test_the_table_of_a_chart_is_exported_with_its_types(demo: McpBooks, tmp_path: Path) -> None:
    reference = demo.ask("run_metric", **BY_MONTH)["data_ref"]
    code = (
        f"p = {PERIODS}.filter(pl.col('alias') == 'Actuals')\n"
        "result = p.select('value', name=pl.lit('=1+1'), day=(pl.col('period') + '-01').str.to_date(), "
        "n=pl.int_range(pl.len()), ok=pl.col('value') > 0, list=pl.concat_list('value', 'value'))"
    )
    chart = drawn(demo, reference, code, x="day", y="value")
    assert chart["dataset"]["row_count"] == 9
    types = {column["name"]: column["type"] for column in chart["dataset"]["columns"]}
    assert types == {
        "value": "number",
        "name": "text",
        "day": "date",
        "n": "integer",
        "ok": "boolean",
        "list": "list",
    }
    document = download(demo, chart["data_ref"], "json").json()
    assert (document["transform_code"], document["title"]) == (code, "A chart")
    assert document["rows"][0][1:5] == ["=1+1", "2026-01-01", 0, True]
    assert document["rows"][0][5] == [document["rows"][0][0]] * 2
    (tmp_path / "made.xlsx").write_bytes(download(demo, chart["data_ref"], "xlsx").content)
    assert grid(tmp_path / "made.xlsx")[0] == ["value (EUR)", "name", "day", "n", "ok", "list"]
    assert ["By the script", code] in [row[:2] for row in grid(tmp_path / "made.xlsx", 1)]


def download(books: McpBooks, reference: str, form: str) -> httpx2.Response:
    """Export a result and open its link."""
    made = books.ask("export_dataset", data_ref=reference, format=form)
    return httpx2.get(made["download_url"]).raise_for_status()


@pytest.mark.parametrize(
    ("form", "kind", "begins"), [("svg", "image/svg+xml", b"<svg"), ("png", "image/png", b"\x89PNG")]
)
def test_a_chart_is_made_into_a_picture_with_a_link(demo: McpBooks, form: str, kind: str, begins: bytes) -> None:
    reference = demo.ask("run_metric", **BY_MONTH)["data_ref"]
    spec = {"x": "period", "y": "value", "series": "alias", "render": "artifact", "format": form}
    chart = drawn(demo, reference, f"result = {PERIODS}", title="Revenue, by month", **spec)
    file = chart["artifact"]
    assert (file["name"], file["mime_type"]) == (f"Revenue_by_month.{form}", kind)
    answer = httpx2.get(file["download_url"])
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-disposition"] == f'attachment; filename="Revenue_by_month.{form}"'
    assert answer.content.startswith(begins)
    assert len(answer.content) == file["size_bytes"]
    again = demo.ask("get_file_download", file_id=file["file_id"])
    assert httpx2.get(again["download_url"]).content == answer.content
    assert "artifact" not in drawn(demo, reference, f"result = {PERIODS}", x="period", y="value", series="alias")


def test_a_chart_stays_within_its_budget_its_drawing_whole_or_not_at_all(demo: McpBooks, uncut: McpBooks) -> None:
    code = "result = [{'year': str(2000 + i), 'a': i / 7, 'b': i / 9} for i in range(%d)]"
    asked = {"chart_type": "line", "x": "year", "y": ["a", "b"]}
    for points, is_drawn in ((20, True), (130, True), (300, False)):
        charts = []
        for books in (demo, uncut):
            reference = books.ask("run_metric", **BY_MONTH)["data_ref"]
            charts.append(drawn(books, reference, code % points, **asked, unit="EUR"))
        cut, whole = charts
        assert tokens({name: part for name, part in cut.items() if name not in DETAILS}) <= 10_000
        assert len(whole["rows"]) == points
        assert cut["rows"] == whole["rows"][: len(cut["rows"])]
        assert cut["rows"]
        assert cut["vega_lite"] == (whole["vega_lite"] if is_drawn else None)
        assert cut["dataset"] == whole["dataset"]
        left_out = cut.get("agent_truncated", {})
        assert left_out.get("rows", 0) == points - len(cut["rows"])
        assert left_out.get("vega_lite", False) is not is_drawn
        assert ("shortened" in [note["code"] for note in cut["notes"]]) == bool(left_out)


def test_what_a_script_prints_is_told_in_part(demo: McpBooks) -> None:
    reference = demo.ask("run_metric", **BY_MONTH)["data_ref"]
    chart = drawn(
        demo,
        reference,
        f"print(df.height)\nprint('x' * 5000)\nresult = {PERIODS}",
        x="period",
        y="value",
        series="alias",
    )
    assert chart["printed"].startswith("20\nxxx")
    assert len(chart["printed"]) == 2000
    assert json.dumps(chart)


def test_an_explained_variance_is_drawn_as_a_waterfall_without_a_script(demo: McpBooks) -> None:
    asked = {"metric": "sales_amount", "scenarios": ["actual", "budget"], "by": ["product_line"], "drivers": True}
    explained = demo.call("explain_variance", **asked, period_start="2026-01", period_end="2026-09").result
    rows = explained["lists"][0]["rows"]
    assert {"(volume)"} < {row["key"] for row in rows}
    assert round(sum(row["contribution"] for row in rows) - explained["variance"], 2) == 0
    spec = {"chart_type": "waterfall", "title": "Sales against budget"}
    made = demo.call("eval_chart_transform", data_refs=[explained["data_ref"]], chart_spec=spec)
    assert not made.is_error, made.result
    assert made.result["unit"] == "EUR"
    assert [row[1] for row in made.result["rows"]] == ["total", *["change"] * len(rows), "total"]
    assert all(note["code"] != "script_figures" for note in made.result.get("notes", ()))


def charted(books: McpBooks, result: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    """Draw a result as it is."""
    asked = {"chart_type": "bar", "title": "A chart", **spec}
    return books.ask("eval_chart_transform", data_refs=[result["data_ref"]], chart_spec=asked)


def left_out(chart: Mapping[str, Any]) -> str:
    """Return what a chart leaves out as it has another unit."""
    return str(next(note["left"] for note in chart["notes"] if note["code"] == "other_units"))


def test_a_chart_of_amounts_and_their_percent_variance_draws_the_amounts(demo: McpBooks) -> None:
    percent = {"scenario": "var_pct(actual,budget)", "alias": "Var %"}
    result = demo.ask("run_metric", **{**BY_MONTH, "scenarios": [ACTUAL, BUDGET, percent]})
    chart = charted(demo, result)
    months = [row for row in result["rows"] if row.get("kind") != "total"]
    expected = [
        [row["key"], alias, row["values"][at]] for at, alias in enumerate(("Actuals", "Budget")) for row in months
    ]
    assert (chart["rows"], chart["unit"], left_out(chart)) == (expected, "EUR", "Var %")
    assert "in EUR millions" in str(chart["vega_lite"]["title"]["subtitle"])
    shares = charted(demo, result, unit="fraction")
    assert shares["rows"] == [[row["key"], row["values"][2]] for row in months]
    assert (shares["unit"], left_out(shares)) == ("fraction", "Actuals, Budget")


def test_a_chart_of_amounts_and_ratios_draws_the_amounts(demo: McpBooks) -> None:
    result = demo.ask("run_metric", **{**BY_MONTH, "metrics": ["gross_margin", "revenue"], "scenarios": [ACTUAL]})
    months = [row for row in result["rows"] if row.get("kind") != "total"]
    for asked, unit, at, left in (({}, "EUR", 1, "Gross margin"), ({"unit": "%"}, "fraction", 0, "Revenue")):
        chart = charted(demo, result, **asked)
        assert chart["rows"] == [[row["key"], row["values"][at]] for row in months]
        assert (chart["unit"], left_out(chart)) == (unit, left)


@pytest.mark.parametrize(("statement", "left"), [("pnl", "Gross margin"), ("kpis", "Equity ratio")])
def test_a_chart_of_a_statement_draws_its_money(demo: McpBooks, statement: str, left: str) -> None:
    for scenarios in ({"scenarios": [ACTUAL]}, {}):
        result = demo.ask("run_statement", statement=statement, **PERIOD, **scenarios)
        money = [row for row in result["rows"] if row.get("unit") == "EUR" and row["kind"] != "header"]
        chart = charted(demo, result)
        of_actuals = [[row[0], row[-1]] for row in chart["rows"] if len(row) == 2 or row[1] == "Actuals"]
        assert of_actuals == [[row["label"], row["values"][0]] for row in money]
        assert chart["unit"] == "EUR"
        assert left in left_out(chart)


def test_a_waterfall_of_a_statement_takes_costs_off_and_leaves_ratios_out(demo: McpBooks) -> None:
    result = demo.ask("run_statement", statement="pnl", **PERIOD, scenarios=[ACTUAL])
    figures = {row["key"]: row["values"][0] for row in result["rows"]}
    chart = charted(demo, result, chart_type="waterfall")
    costs = ("cost_of_sales", "personnel", "other_opex", "depreciation", "income_taxes")
    labels = {row["label"]: row["key"] for row in result["rows"]}
    for label, kind, value in chart["rows"]:
        key = labels[label]
        assert value == (-figures[key] if key in costs else figures[key])
        assert kind == ("change" if key in (*costs, "financial_result") else "total")
    changes = sum(value for _, kind, value in chart["rows"] if kind == "change")
    assert figures["revenue"] + changes == pytest.approx(figures["net_result"], rel=1e-9)
    assert (chart["unit"], left_out(chart)) == ("EUR", "Gross margin, EBITDA margin")
