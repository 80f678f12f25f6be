"""Bars and lines over HTTP on small books: amounts and a ratio of the same months, and a line that is not there."""

import csv
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.instance.read import STATE
from tests.doors.case_books import CASES, copy_case
from tests.support.books.loads import load_feeds
from tests.support.service.servers import McpBooks, connected, serving

INSTANCE = CASES / "reports" / "functions" / "instance"
ASKED = {
    "metrics": ["result"],
    "formulas": {"share": "result / result[budget]"},
    "scenarios": [{"scenario": "actual"}],
    "dimensions": ["period"],
    "period_start": "2026-01",
    "period_end": "2026-03",
}
Spec = dict[str, Any]


@pytest.fixture
def books(tmp_path: Path) -> Iterator[McpBooks]:
    folder = copy_case(INSTANCE, tmp_path)
    load_feeds(folder, folder / STATE)
    with serving(folder, folder / STATE) as server, connected(server.url, "auto") as asked:
        yield asked


def expected() -> dict[str, list[Fraction]]:
    """Return the amounts of the file by month, and their shares of the budget."""
    rows = list(csv.DictReader((INSTANCE / "data" / "gl.csv").read_text(encoding="utf-8").splitlines()))
    amounts = {(row["scenario"], row["date"]): Fraction(row["amount"]) for row in rows}
    months = sorted({month for _, month in amounts})
    actual = [amounts["actual", month] for month in months]
    return {
        "Result": actual,
        "share": [amount / amounts["budget", month] for amount, month in zip(actual, months, strict=True)],
    }


def test_a_ratio_of_a_report_is_a_line_over_the_bars_of_its_amounts(books: McpBooks) -> None:
    result = books.ask("run_metric", **ASKED)
    spec = {"chart_type": "bar", "title": "Result", "lines": ["share"]}
    chart = books.ask("eval_chart_transform", data_refs=[result["data_ref"]], chart_spec=spec)
    points = chart["vega_lite"]["data"]["values"]
    for name, figures in expected().items():
        drawn = [point["y"] for point in points if point.get("s") == name]
        assert drawn == pytest.approx([float(figure) for figure in figures])


def test_a_line_that_is_no_series_is_refused_with_the_series_of_the_report(books: McpBooks) -> None:
    result = books.ask("run_metric", **ASKED)
    call = {"data_refs": [result["data_ref"]]}
    refused = books.call(
        "eval_chart_transform", **call, chart_spec={"chart_type": "bar", "title": "Result", "lines": ["margin"]}
    ).result
    assert (refused["error"], refused["valid"]) == ("There is no series 'margin' to draw as a line.", [*expected()])
    chart = books.ask("eval_chart_transform", **call, **refused["example"])
    assert {"Result", "share"} <= {point.get("s") for point in chart["vega_lite"]["data"]["values"]}
