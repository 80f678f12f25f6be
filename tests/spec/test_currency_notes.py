"""What a report says of amounts in several currencies: named where figures add them up, and only there.

Rules: Over members.
"""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.report.report import Report
from tests.support.books.small import codes, figure, small_books

A = {"A": "actual"}
ROWS = """
    date       scenario account currency amount cash
    2021-01-05 actual   sales   CAD      100    10
    2021-01-06 actual   sales   USD      50     0
    2021-01-07 actual   rent    USD      -20    0
    2021-02-05 actual   sales   USD      7      0
    2021-02-09 actual   rent    EUR      -3     0
    2021-03-05 actual   sales   USD      0      20
    2021-03-06 actual   rent    -        -1     0
    2021-01-05 budget   sales   USD      1      0
    2021-04-05 forecast sales   CAD      1      0
"""
DOMAIN = """
    time: {column: date}
    DIMENSIONS
    measures: {amount: {currency: currency}, cash: {currency: currency}, plain: {column: amount}}
    metrics:
      all: {measure: amount}
      sales: {measure: amount, where: {account: sales}}
      rent: {measure: amount, where: {account: rent}}
      profit: {formula: sales + rent}
      plain: {measure: plain}
      rows: {over_members: count}
      held: {measure: cash, over_time: closing}
"""
LEAF = "dimensions: {account: account, currency: currency}"
AXIS = "dimensions: {account: account}\n    axes: {currency: currency}"
SCENARIOS = """
    actual: {alias: Actuals, kind: actual, closed_through: 2021-03}
    budget: {alias: Budget, kind: budget}
    forecast: {alias: Forecast, kind: forecast}
"""
PROFILES = """
    at_home: {scenarios: {"*": {dimensions: {currency: {allow: [USD]}}}}}
"""


def books(folder: Path, dimensions: str = LEAF, *, inspects: bool = False, **more: Any) -> Door:
    """Sales and rent in three currencies."""
    leaf = "currency: {kind: leaf}" if dimensions == LEAF else ""
    return small_books(
        folder,
        facts={"gl": ROWS},
        domains={"gl": DOMAIN.replace("DIMENSIONS", dimensions) + f"    inspect_enabled: {str(inspects).lower()}\n"},
        dimensions=f"account: {{kind: leaf}}\n{leaf}",
        statements={"pnl": "- {metric: sales}\n- {metric: rent}\n- {metric: profit}\n"},
        scenarios=SCENARIOS,
        profiles=PROFILES if leaf else "",
        **more,
    )


def said(report: Report) -> list[tuple[str | tuple[str, ...], ...]]:
    """Return the notes about currencies: code, lines, scenario and currencies."""
    found = [note for note in report.notes if note.code.endswith("_currency")]
    return [(note.code, *list(dict(note.about).values())[:3]) for note in found]


@pytest.mark.parametrize("dimensions", [LEAF, AXIS], ids=["dimension", "axis"])
def test_lines_that_add_up_several_currencies_are_named_with_them(tmp_path: Path, dimensions: str) -> None:
    report = books(tmp_path, dimensions).statement("pnl", scenarios=A, period="2021-01")
    assert said(report) == [("mixed_currency", "sales, profit", "actual", "CAD, USD")]
    (note,) = (note for note in report.notes if note.code == "mixed_currency")
    assert note.message == (
        "Amounts in several currencies (CAD, USD) are added up in actual: sales, profit. Such a sum is an amount in "
        "none of them. Break down by currency to see them apart, or use a converted metric."
    )


@pytest.mark.parametrize(
    ("metric", "asked", "notes"),
    [
        ("all", {"period": "2021-01"}, [("mixed_currency", "all", "actual", "CAD, USD")]),
        ("all", {"period": "2021-01", "filters": {"account": ["rent"]}}, []),
        ("all", {"period": "2021-01", "filters": {"currency": ["USD"]}}, []),
        (
            "all",
            {"period": "2021-01", "filters": {"currency": ["CAD"]}},
            [("foreign_currency", "all", "actual", "CAD")],
        ),
        ("all", {"period": "2021-01", "dimensions": ["currency"]}, [("mixed_currency", "all", "actual", "CAD, USD")]),
        ("all", {"period": "2021-01-06"}, []),
        ("all", {"period": "2021-01-05"}, [("foreign_currency", "all", "actual", "CAD")]),
        ("all", {"period": "2021-03"}, [("mixed_currency", "all", "actual", "USD, (unassigned)")]),
        ("rent", {"period": "2021"}, [("mixed_currency", "rent", "actual", "EUR, USD, (unassigned)")]),
        ("all", {"period": "2022"}, []),
        ("plain", {"period": "2021"}, []),
        ("rows", {"period": "2021"}, []),
        # a close on one day each: CAD in January, USD in March, but also (at 0) other currencies on those days
        ("held", {"period": "2021-02", "filters": {"account": ["sales"]}}, []),
        ("held", {"period": "2021-03", "filters": {"account": ["sales"]}}, []),
    ],
)
def test_only_the_rows_that_a_figure_reads_count(
    tmp_path: Path, metric: str, asked: dict[str, Any], notes: list[tuple[str, ...]]
) -> None:
    assert said(books(tmp_path).metric(metric, scenarios=A, **asked)) == notes


def test_each_column_is_judged_by_its_own_window(tmp_path: Path) -> None:
    small = books(tmp_path)
    by_period: dict[str, Any] = {
        "filters": {"account": ["sales"]},
        "dimensions": ["period"],
        "period": ("2021-01", "2021-03"),
    }
    assert said(small.metric("held", scenarios=A, **by_period)) == [
        ("mixed_currency", "held", "actual", "CAD, USD"),
    ]
    columns = {"Year": "actual@ytd", "Plan": "budget", "Gap": "var(actual,budget)"}
    assert said(small.metric("sales", scenarios=columns, period="2021-02")) == [
        ("mixed_currency", "sales", "actual@ytd", "CAD, USD"),
    ]
    blend = small.metric("sales", scenarios={"Outlook": "actual+forecast"}, period=("2021-02", "2021-04"))
    assert said(blend) == [("mixed_currency", "sales", "actual+forecast", "CAD, USD")]


def test_currencies_that_may_not_be_seen_are_not_there(tmp_path: Path) -> None:
    small = books(tmp_path, profile="at_home")
    report = small.statement("pnl", scenarios=A, period="2021")
    assert figure(small.metric("all", scenarios=A, period="2021")) == 37
    assert said(report) == []
    assert not codes(report) & {"mixed_currency", "foreign_currency"}


def test_a_node_is_noted_the_second_time_as_the_first(tmp_path: Path) -> None:
    shown = small_books(
        tmp_path,
        facts={"gl": ROWS},
        domains={"gl": DOMAIN.replace("DIMENSIONS", AXIS)},
        dimensions="account: {kind: leaf}\ntree: {kind: ragged, leaf_dimension: account, nodes: live.tree}",
        tables={"tree": "node parent\nprofit -\nsales profit\nrent profit"},
        statements={"pnl": "- {rollup: {metric: all, dimension: tree, node: profit}}"},
        scenarios=SCENARIOS,
    )
    first, second = (shown.statement("pnl", scenarios=A, period=("2021-01", "2021-03")) for _ in range(2))
    assert "mixed_currency" in codes(first)
    assert second.notes == first.notes
