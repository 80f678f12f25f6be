"""Functions of formulas over HTTP: the case of a tax on profits alone, and a refusal that is mended by what it says."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tests.doors.case_books import CASES, copy_case, read_case
from tests.support.books.loads import load_instance
from tests.support.service.servers import ERAS, McpBooks, connected, serving

CASE = CASES / "reports" / "functions"
ASKED: dict[str, Any] = {
    "metrics": ["result"],
    "scenarios": [{"scenario": "actual"}],
    "period_start": "2026-01",
    "period_end": "2026-03",
}


@pytest.fixture(scope="module", params=ERAS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """A client of the books of the case."""
    folder = tmp_path_factory.mktemp("functions")
    instance = copy_case(CASE / "instance", folder)
    load_instance(instance, folder / "state")
    with serving(instance, folder / "state") as server, connected(server.url, request.param) as client:
        yield client


def test_tax_falls_on_the_profit_of_the_range(case: McpBooks) -> None:
    expected = read_case(CASE / "case.json")["expected"]
    asked = {**ASKED, "formulas": {"tax": "max(result, 0) * 0.25"}}
    result = case.ask("run_metric_data", **asked, dimensions=["period"])
    *months, total = [Decimal(str(row["values"][1])) for row in result["rows"]]
    assert months == [Decimal(figure) for figure in expected["tax"].values()]
    assert total == Decimal(expected["tax of the range"])
    (note,) = (note for note in result["notes"] if note["code"] == "not_summed")
    assert "not the sum of its months" in note["message"]
    (row,) = case.ask("run_metric_data", **asked)["rows"]
    assert Decimal(str(row["values"][1])) == Decimal(expected["tax of the range"])


def test_money_a_day_is_over_the_days_of_each_column(case: McpBooks) -> None:
    result = case.ask("run_metric_data", **ASKED, formulas={"x": "result / days(period)"}, dimensions=["period"])
    expected = [Fraction(90, 31), Fraction(-20, 28), Fraction(40, 31), Fraction(110, 90)]
    for row, figure in zip(result["rows"], expected, strict=True):
        assert abs(Fraction(str(row["values"][1])) - figure) < Fraction(1, 10**12)
    assert [column["unit"] for column in result["columns"]] == ["EUR", "EUR a day"]


def test_a_refusal_says_where_and_what_works(case: McpBooks) -> None:
    refused = case.call("run_metric_data", **ASKED, formulas={"tax": "max(result * 0.25"}).told
    assert refused["field"] == "formulas.tax"
    assert "at character 18: ')' is missing: use names, decimal numbers, + - * /" in refused["error"]
