"""The currency that is shown: that of the rows, `mixed` for several, else that of the books."""

from pathlib import Path
from typing import Any

import pytest

from engine.model.errors import ChartInvalid
from engine.model.requests import ChartSpec
from engine.present.charts.results import report_as_it_is
from engine.present.exports.about import asked_report
from tests.spec.test_currency_notes import A, books
from tests.support.explaining import explained
from tests.support.inspecting import rows_of
from tests.support.reading import answer

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
