"""A result of two units drawn as it is: bars of one and lines of the other."""

from pathlib import Path

import pytest

from engine.door import Door
from engine.model.errors import ChartInvalid
from engine.model.requests import ChartSpec
from engine.present.charts.charts import Chart, chart
from engine.present.charts.results import drawn_as_it_is
from tests.support.books.small import small_books

ROWS = """date scenario account amount
2021-01-05 actual R 200
2021-02-05 actual R 250
2021-01-06 actual C 120
2021-02-06 actual C 175
2021-01-06 budget R 210"""


@pytest.fixture
def books(tmp_path: Path) -> Door:
    """Sales and costs of two months."""
    return small_books(
        tmp_path,
        facts={"gl": ROWS},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account}
            measures: {amount: {places: 2}}
            metrics:
              sales: {measure: amount, where: {account: R}}
              costs: {measure: amount, where: {account: C}}
              cost_share: {formula: costs / sales, format: percent}
            """
        },
        dimensions="account: {kind: leaf}",
    )


def drawn(books: Door, *metrics: str, lines: tuple[str, ...], by: str = "period") -> Chart:
    """Return the chart of a report as it is."""
    report = books.metric(*metrics, scenarios={"A": "actual"}, period=("2021-01", "2021-02"), dimensions=[by])
    made = drawn_as_it_is(ChartSpec(chart_type="bar", title="T", lines=lines), report)
    return chart(made.spec, made.frame, {"value": made.unit} if made.unit else {})


def test_a_result_of_two_units_is_drawn_as_bars_and_lines(books: Door) -> None:
    made = drawn(books, "sales", "cost_share", lines=("Cost share",))
    assert made.vega_lite["title"]["subtitle"] == ["bars: Sales in USD · line: Cost share in %"]
    names = [column.name for column in made.columns]
    points = [(row[names.index("label")], row[names.index("value")]) for row in made.rows]
    assert points == [("Sales", 200), ("Sales", 250), ("Cost share", 0.6), ("Cost share", 0.7)]


def test_of_one_unit_both_share_its_axis(books: Door) -> None:
    made = drawn(books, "sales", "costs", lines=("Costs",))
    assert [(column.name, column.unit) for column in made.columns if column.name == "value"] == [("value", "USD")]
    assert made.vega_lite["title"]["subtitle"] == ["bars: Sales in USD · line: Costs in USD"]


def test_over_names_there_are_no_lines(books: Door) -> None:
    with pytest.raises(ChartInvalid, match="share an axis of time"):
        drawn(books, "sales", "costs", lines=("Costs",), by="account")
