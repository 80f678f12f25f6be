"""The Total of balances over periods says which close it is.

Rules: Over time.
"""

from typing import Any

import pytest

from engine.door import Door
from engine.present.answers.reports import answer
from engine.present.blocks import table
from engine.present.exports.report_sheet import report_sheet
from engine.report.snapshots import keep, opened
from tests.support.books.small import figures, small_books

FACTS = """
date scenario entity amount
2026-01-28 actual A 10
2026-02-27 actual A 20
2026-03-31 actual A 30
2026-03-31 actual B 3
2026-01-28 budget A 5
2026-02-27 budget A 6
"""
YEAR = ("2026-01", "2026-06")
BOTH = {"A": "actual", "B": "budget"}
UNCUT = 10**9


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Actuals through March and a budget through February."""
    return small_books(
        tmp_path_factory.mktemp("closes"),
        facts={"gl": FACTS},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {entity: entity}
            measures: {amount: {places: 2}}
            metrics:
              flow: {measure: amount}
              balance: {measure: amount, over_time: closing}
              known: {measure: amount, over_time: {last_known: always}}
              dated: {measure: amount, over_time: {to_date: books}}
              mean: {measure: amount, over_time: {average: {of: month}}}
              opening: {measure: amount, over_time: {opening: {to_date: books}}}
              movement: {formula: dated - opening}
              assets: {formula: 2 * balance}
            """
        },
        dimensions="entity: {kind: leaf}",
        statements={"bs": "- {metric: balance}\n- {metric: flow}", "pnl": "- {metric: flow}"},
    )


@pytest.mark.parametrize(
    ("metric", "total", "label"),
    [
        ("balance", 33, "Total (balances: close of Mar 2026)"),
        ("known", 33, "Total (balances: close of Mar 2026)"),
        ("dated", 63, "Total (balances: close of Mar 2026)"),
        ("flow", 63, "Total"),
        ("assets", 66, "Total (balances: close of Mar 2026)"),
        ("mean", 21, "Total"),
        ("movement", 63, "Total"),  # an additive figure: the movements of the months
    ],
)
def test_the_total_of_balances_by_month_says_the_close_that_it_is(
    books: Door, metric: str, total: int, label: str
) -> None:
    report = books.metric(metric, scenarios={"A": "actual"}, period=YEAR, dimensions=["period"])
    assert figures(report, "period")[None] == total
    assert answer(report, UNCUT)["rows"][-1]["label"] == label
    assert table(report)["rows"][-1]["label"] == label
    assert [row.cells[0].value for row in report_sheet(report).rows][-1] == label
    assert str(report).count(label)
    again = opened(keep(report), books.reader)
    assert str(again) == str(report)


def test_a_sub_total_over_periods_keeps_the_label_of_its_member_and_is_at_the_same_close(books: Door) -> None:
    asked: dict[str, Any] = {
        "scenarios": {"A": "actual"},
        "period": YEAR,
        "dimensions": ["entity", "period"],
        "subtotals": True,
    }
    rows = answer(books.metric("balance", **asked), UNCUT)["rows"]
    first = next(row for row in rows if row["members"] == {"entity": "A"})
    assert ("label" in first, first["values"]) == (False, [30])  # its own label, and the close of March alone
    assert rows[-1]["label"] == "Total (balances: close of Mar 2026)"


@pytest.mark.parametrize("named", [["A", "A"], ["A"]])
def test_a_member_that_a_filter_names_twice_counts_once(books: Door, named: list[str]) -> None:
    asked: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": YEAR, "filters": {"entity": named}}
    report = books.metric("flow", **asked)
    assert (figures(report)[()], report.filters) == (60, {"entity": ("A",)})


def test_scenarios_that_close_at_different_months_are_told_apart(books: Door) -> None:
    report = books.metric("balance", scenarios=BOTH, period=YEAR, dimensions=["period"])
    told = "Total (balances: close of Mar 2026 in A, Feb 2026 in B)"
    assert answer(report, UNCUT)["rows"][-1]["label"] == told
    report = books.statement("bs", scenarios=BOTH, period=YEAR, dimensions=["period"])
    totals = [column["label"] for column in answer(report, UNCUT)["columns"] if column.get("is_total")]
    assert totals == ["Total (balances: close of Mar 2026)", "Total (balances: close of Feb 2026)"]
    assert [column["heading"][1] for column in table(report)["columns"]][6::7] == totals
    headings = [heading.words for heading in report_sheet(report).headings[-1]]
    assert [words for words in headings if words.startswith("Total")] == totals


def test_a_variance_says_the_closes_of_both_sides(books: Door) -> None:
    report = books.metric("balance", scenarios={"V": "var(actual,budget)"}, period=YEAR, dimensions=["month"])
    assert answer(report, UNCUT)["rows"][-1]["label"] == "Total (balances: close of Mar 2026 and Feb 2026)"


def test_a_total_that_adds_no_periods_up_is_a_total(books: Door) -> None:
    for report in (
        books.metric("balance", scenarios=BOTH, period=YEAR, dimensions=["entity"]),
        books.metric("flow", scenarios=BOTH, period=YEAR, dimensions=["entity", "period"]),
    ):
        assert answer(report, UNCUT)["rows"][-1]["label"] == "Total"
    report = books.statement("pnl", scenarios=BOTH, period=YEAR, dimensions=["period"])
    assert [column.get("label") for column in answer(report, UNCUT)["columns"] if column.get("is_total")] == [None] * 2
