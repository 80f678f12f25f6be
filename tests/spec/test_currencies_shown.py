"""The currency that is shown: that of the rows, `mixed` for several, else that of the books.

Rules: Over members.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.model.errors import ChartInvalid
from engine.model.requests import ChartSpec
from engine.model.stopping import never
from engine.present.answers.budget import NOT_KEPT
from engine.present.answers.explanations import explanation_answer
from engine.present.charts.charts import chart
from engine.present.charts.results import explanation_as_it_is, report_as_it_is
from engine.present.exports.about import asked_report
from engine.present.exports.report_sheet import report_sheet
from engine.present.exports.table_sheets import explanation_sheet
from engine.queries.explanations import LINES
from engine.report.explanation import Explanation
from engine.report.transform import ScriptOutput, transformed
from tests.spec.test_currency_notes import A, books
from tests.support.answers.reader import answer
from tests.support.books.explained import BOTH, explained
from tests.support.books.inspected import rows_of

UNCUT = 10**9


def units(result: dict[str, Any]) -> tuple[str | None, str]:
    """Return the currency in the head of an answer, and the unit of its only column."""
    (column,) = result["columns"]
    return result.get("currency"), column["unit"]


@pytest.mark.parametrize(
    ("metric", "asked", "shown"),
    [
        ("sales", {"filters": {"currency": ["CAD"]}}, ("CAD", "CAD")),
        ("sales", {"filters": {"currency": ["USD"]}}, ("USD", "USD")),
        ("sales", {}, (None, "mixed")),
        ("sales", {"scale": 3}, (None, "mixed thousands")),
        ("held", {"period": "2021-01"}, (None, "mixed")),
        ("plain", {}, ("USD", "USD")),
    ],
)
def test_the_head_of_a_report_says_the_currency_of_its_rows(
    tmp_path: Path, metric: str, asked: dict[str, Any], shown: tuple[str | None, str]
) -> None:
    report = books(tmp_path).metric(metric, scenarios=A, **{"period": "2021-01", **asked})
    assert units(answer(report, UNCUT)) == shown
    assert set(report.frame["unit"]) == {shown[1].partition(" ")[0]}
    assert dict(asked_report(report))["Currency"] == (shown[0] or "mixed")


def test_an_amount_of_the_books_beside_others_makes_the_head_mixed(tmp_path: Path) -> None:
    report = books(tmp_path).metric("sales", "plain", scenarios=A, period="2021-01", filters={"currency": ["CAD"]})
    assert "currency" not in answer(report, UNCUT)


@pytest.mark.parametrize(
    ("filters", "unit"),
    [({"currency": ["CAD"]}, "CAD"), ({"currency": ["EUR"]}, "EUR"), ({}, "mixed"), ({"account": ["rent"]}, "mixed")],
)
def test_inspected_rows_say_the_currency_of_their_amounts(tmp_path: Path, filters: dict[str, Any], unit: str) -> None:
    asked = {"period_start": "2021-01", "period_end": "2021-02", "filters": {**filters, "metric": "all"}}
    found = rows_of(books(tmp_path, inspects=True), **asked)
    shown = {column["name"]: column.get("unit") for column in found["columns"]}
    assert (shown["amount"], shown["contribution"], shown["plain"]) == (unit, unit, "USD")
    first = rows_of(books(tmp_path / "one", inspects=True), **asked, limit=1)
    assert first["columns"][-1]["unit"] == unit


def test_an_explanation_says_the_currency_of_its_rows(tmp_path: Path) -> None:
    found = explained(
        books(tmp_path),
        "sales",
        "account",
        scenarios=("actual", "forecast"),
        filters={"currency": ["CAD"]},
        period="2021",
    )
    assert (found.currency, found.unit) == ("CAD", "CAD")


def test_amounts_of_several_currencies_are_not_drawn(tmp_path: Path) -> None:
    report = books(tmp_path).metric("sales", scenarios=A, period="2021-01", dimensions=["account"])
    with pytest.raises(ChartInvalid, match="several currencies") as refused:
        report_as_it_is(ChartSpec(chart_type="bar", title="Sales"), report)
    assert refused.value.example == {"filters": {"currency": ["CAD"]}}
    one = books(tmp_path / "one").metric("sales", scenarios=A, period="2021-01", filters={"currency": ["CAD"]})
    assert report_as_it_is(ChartSpec(chart_type="bar", title="Sales"), one).unit == "CAD"


def own(parts: list[dict[str, Any]]) -> list[str | None]:
    """Return the currencies of their own that columns or rows say."""
    return [part.get("currency") for part in parts]


def test_each_row_says_its_own_currency_beside_a_metric_of_the_books(tmp_path: Path) -> None:
    report = books(tmp_path).metric("sales", "plain", scenarios=A, period="2021-01", dimensions=["currency"])
    said = answer(report, UNCUT)
    assert [metric["unit"] for metric in said["columns"]] == ["mixed", "USD"]
    assert own(said["rows"]) == ["CAD", "USD", None]
    found = {(row["metric"], row["currency"]): row["unit"] for row in report.frame.iter_rows(named=True)}
    sales = {("sales", "CAD"): "CAD", ("sales", "USD"): "USD", ("sales", None): "mixed"}
    assert found == sales | {("plain", each): "USD" for each in ("CAD", "USD", None)}


def test_each_period_scenario_line_and_others_say_their_own_currency(tmp_path: Path) -> None:
    small = books(tmp_path)
    months = small.metric("sales", scenarios=A, dimensions=["period"], period=("2021-01", "2021-03"))
    assert own(answer(months, UNCUT)["rows"]) == [None, "USD", "USD", None]
    sides = small.metric("sales", scenarios={"A": "actual", "B": "budget"}, period="2021-01")
    assert own(answer(sides, UNCUT)["scenarios"]) == [None, "USD"]
    pnl = answer(small.statement("pnl", scenarios=A, period="2021-01", dimensions=["currency"]), UNCUT)
    assert own(pnl["columns"]) == ["CAD", "USD", None]
    assert [row.get("unit") for row in pnl["rows"]] == ["mixed", "USD", "mixed"]
    asked: dict[str, Any] = {"scenarios": A, "period": "2021-01", "dimensions": ["currency"], "order_by": "all"}
    assert own(answer(small.metric("all", **asked, top=1), UNCUT)["rows"]) == ["CAD", "USD", None]


def test_a_workbook_of_several_currencies_has_a_column_of_them(tmp_path: Path) -> None:
    small = books(tmp_path)
    report = small.metric("sales", scenarios=A, period="2021-01", dimensions=["currency"])
    rows = [[cell.value for cell in row.cells] for row in report_sheet(report).rows]
    assert rows == [["CAD", "CAD", "CAD", 100], ["USD", "USD", "USD", 50], ["Total", None, "mixed", 150]]
    assert "Currency" in [heading.words for heading in report_sheet(report).headings[-1]]
    across = report_sheet(small.statement("pnl", scenarios=A, period="2021-01", dimensions=["currency"])).headings
    assert [heading.words for heading in across[-1]][-3:] == ["CAD", "USD", "mixed"]
    alone = small.metric("sales", scenarios=A, period="2021-01", filters={"currency": ["CAD"]})
    assert "Currency" not in [heading.words for heading in report_sheet(alone).headings[-1]]


def test_a_chart_of_several_currencies_draws_the_one_that_it_names(tmp_path: Path) -> None:
    report = books(tmp_path).metric("sales", scenarios=A, period="2021-01", dimensions=["currency"])
    with pytest.raises(ChartInvalid, match="several currencies"):
        report_as_it_is(ChartSpec(chart_type="bar", title="Sales"), report)
    drawn = report_as_it_is(ChartSpec(chart_type="bar", title="Sales", unit="CAD"), report)
    assert (drawn.unit, drawn.frame["value"].to_list()) == ("CAD", [100])


@pytest.mark.parametrize("key", ["CAD", "USD"])
def test_the_summary_of_a_chart_says_the_currency_of_its_rows(tmp_path: Path, key: str) -> None:
    asked: dict[str, Any] = {"scenarios": A, "period": "2021-01", "dimensions": ["account"]}
    report = books(tmp_path).metric("all", **asked, filters={"currency": [key]})
    found = report_as_it_is(ChartSpec(chart_type="bar", title="Sales"), report)
    made = chart(found.spec, found.frame, {"value": found.unit or ""})
    assert made.unit == key
    assert f" {key}" in made.summary
    assert not {"CAD", "USD", "EUR"} - {key} & {*made.summary.replace(",", " ").replace(".", " ").split()}


def own_units(found: Explanation) -> list[dict[str, str | None]]:
    """Return the units of their own that the rows of each list say, by key."""
    lists = explanation_answer(found, UNCUT, NOT_KEPT, never)["lists"]
    return [{row["key"]: row.get("unit") for row in each["rows"]} for each in lists]


def test_each_row_of_an_explanation_says_its_own_currency(tmp_path: Path) -> None:
    found = explained(books(tmp_path), "profit", "currency", "account", LINES, scenarios=BOTH, period="2021-01")
    assert found.unit == "mixed"
    assert own_units(found) == [
        {"CAD": "CAD", "USD": "USD"},  # 100 CAD of sales; 50 USD of sales, 1 of the budget, and 20 of rent
        {"sales": None, "rent": "USD"},
        {"sales": None, "rent": "USD"},
    ]
    units = dict(zip(zip(found.frame["by"], found.frame["key"], strict=True), found.frame["unit"], strict=True))
    assert units == {
        **{(by, side): "mixed" for by in ("currency", "account", LINES) for side in "ab"},
        **{("currency", each): each for each in ("CAD", "USD")},
        **{(by, key): unit for by in ("account", LINES) for key, unit in (("sales", "mixed"), ("rent", "USD"))},
    }
    cells = [[cell.value for cell in row.cells[:4]] for row in explanation_sheet(found).rows]
    assert [(by, key, unit) for by, key, _, unit in cells] == [
        (by, key, unit) for (by, key), unit in units.items() if key not in "ab"
    ]


def test_others_of_an_explanation_have_the_currency_of_the_rows_that_they_hold(tmp_path: Path) -> None:
    small = books(tmp_path)
    asked: dict[str, Any] = {"scenarios": BOTH, "period": "2021", "top": 1}
    assert own_units(explained(small, "all", "currency", **asked)) == [{"CAD": "CAD", "(others)": None}]  # EUR and USD
    january = {**asked, "period": "2021-01"}
    assert own_units(explained(small, "all", "currency", **january)) == [{"CAD": "CAD", "(others)": "USD"}]
    months = explained(small, "sales", "period", **{**asked, "period": ("2021-01", "2021-03")})
    assert own_units(months) == [{"2021-01": None, "(others)": "USD"}]


def test_operands_of_one_currency_are_in_that_of_the_figure(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"scenarios": ("actual", "forecast"), "filters": {"currency": ["CAD"]}, "period": "2021"}
    found = explained(books(tmp_path), "profit", LINES, **asked)
    assert found.unit == "CAD"
    assert own_units(found) == [{"sales": None, "rent": None}]
    assert set(found.frame["unit"]) == {"CAD"}


def test_an_explanation_of_several_currencies_is_not_drawn(tmp_path: Path) -> None:
    found = explained(books(tmp_path), "sales", "currency", scenarios=("actual", "forecast"), period="2021")
    with pytest.raises(ChartInvalid, match="several currencies"):
        explanation_as_it_is(ChartSpec(chart_type="waterfall", title="Sales"), found)


@pytest.mark.parametrize(
    ("made_by", "mixing"),
    [
        (lambda frame: frame.select(pl.col("value").sum()), ("value",)),
        (lambda frame: frame.filter(pl.col("unit") == "CAD").select("value"), ()),
        (lambda frame: frame.select("label", rows=pl.len()), ()),
    ],
)
def test_a_script_over_several_currencies_says_that_it_may_add_them_up(
    tmp_path: Path, made_by: Callable[[pl.DataFrame], pl.DataFrame], mixing: tuple[str, ...]
) -> None:
    small = books(tmp_path)
    each = [small.metric("sales", scenarios=A, period="2021-01", filters={"currency": [key]}) for key in ("CAD", "USD")]
    left = made_by(pl.concat([one.frame for one in each]))
    made = transformed(ScriptOutput("Sum", "a script", {}, left), each)
    said = [dict(note.about) for note in made.notes if note.code == "mixed_currency"]
    assert said == ([{"operands": mixing, "currencies": "CAD, USD"}] if mixing else [])
    assert {name for name, unit in made.units.items() if unit == "mixed"} == set(mixing)
    assert not [
        note for note in transformed(ScriptOutput("Sum", "a script", {}, left), each[:1]).notes if "mixed" in note.code
    ]
