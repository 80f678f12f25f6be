"""The notes on sums and names that mislead, and on what a call did not ask for.

Rules: Over time.
"""

from pathlib import Path
from typing import Any

import pytest

from engine.books.books import Shelf
from engine.books.checks import data_warnings
from engine.door import Door, open_books
from engine.report.report import Report
from server.feeds.instance import read_instance
from tests.support.books.inspected import rows_of
from tests.support.books.small import LEDGER, codes, figure, figures, granting, small_books

A = {"A": "actual"}
ROWS = """
    date       scenario account region amount
    2020-01-31 actual   sales   north  100
    2020-02-29 actual   sales   north  110
    2020-03-31 actual   costs   north  40
    2020-03-30 actual   costs   south  30
    2020-01-15 budget   sales   north  90
"""
DOMAIN = """
    time: {column: date}
    dimensions: {account: account, region: region}
    measures: {amount: {places: 0}}
    inspect_enabled: true
    metrics:
      sales: {measure: amount, where: {account: sales}}
      costs: {measure: amount, where: {account: costs}, favourable: down}
      owed: {measure: amount, where: {account: costs}, sign: negate}
      margin: {formula: (sales - costs) / sales, format: percent}
"""
LINES = """
    - {metric: sales}
    - {metric: owed}
    - {rollup: {metric: costs, dimension: tree, node: Costs}, sign: negate}
    - {formula: {key: less_sales, label: Less sales, is: 0 - sales}}
    - {formula: {key: half, label: Half, is: costs * -1 / 2}}
    - {formula: {key: plus_sales, label: Sales again, is: 0 - sales * -1}}
    - {formula: {key: profit, label: Profit, is: sales - costs}}
    - {formula: {key: inverse, label: Inverse, is: -1 / sales}}
"""


def books(folder: Path, **more: Any) -> Door:
    """Sales and costs of two regions, posted at the end of the month, north's once a month."""
    return small_books(
        folder,
        facts={"gl": ROWS},
        domains={"gl": DOMAIN},
        dimensions="""
            account: {kind: leaf}
            region: {kind: leaf}
            date: {kind: leaf, grain: date}
            tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
        """,
        tables={"tree": "node parent weight\nCosts - 1\ncosts Costs 1"},
        statements={"pnl": LINES},
        **more,
    )


def said(report: Report, code: str) -> list[dict[str, Any]]:
    """Return the names in the notes of a code."""
    return [dict(note.about) for note in report.notes if note.code == code]


def test_a_line_that_shows_a_metric_with_the_other_sign_says_so(tmp_path: Path) -> None:
    report = books(tmp_path).statement("pnl", scenarios=A, period="2020-03")
    found = figures(report, "line")
    assert (found["tree.costs"], found["half"], found["owed"]) == (-70, -35, -70)
    assert said(report, "sign_reversed") == [
        {"lines": "'tree.Costs', 'tree.costs' or 'half'", "metric": "costs"},
        {"lines": "'less_sales'", "metric": "sales"},
    ]


def test_days_of_data_posted_once_a_month_say_so(tmp_path: Path) -> None:
    everyone = books(tmp_path)
    asked: dict[str, Any] = {"scenarios": A, "period": ("2020-03-01", "2020-03-31")}
    assert "coarser_postings" not in codes(everyone.metric("sales", **asked))  # 30 and 31 March
    north = granting(tmp_path, "{actual: {dimensions: {region: {allow: [north]}}}}")
    by_day = north.metric("sales", **asked)
    assert said(by_day, "coarser_postings") == [{"scenario": "actual", "domain": "gl", "grain": "date"}]
    by_week = north.metric("sales", scenarios=A, period=("2020-W01", "2020-W09"))
    assert said(by_week, "coarser_postings") == [{"scenario": "actual", "domain": "gl", "grain": "week"}]
    broken_down = north.metric("sales", scenarios=A, period="2020-03", dimensions=["date"])
    assert said(broken_down, "coarser_postings") == [{"scenario": "actual", "domain": "gl", "grain": "date"}]
    assert "coarser_postings" not in codes(north.metric("sales", scenarios=A, period="2020-03"))


def test_days_between_the_closes_of_balances_say_so(tmp_path: Path) -> None:
    found = small_books(
        tmp_path,
        facts={
            "gl": """
            date       scenario account amount
            2020-01-31 actual   cash    100
            2020-02-29 actual   cash    110
            2020-02-12 actual   sales   10
            2020-02-13 actual   sales   10
            """
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account}
            measures: {amount: {places: 0}}
            balances: {bs: {where: {account: cash}}}
            metrics:
              sales: {measure: amount, where: {account: sales}}
              cash: {measure: amount, where: {account: cash}, over_time: closing}
            """
        },
        dimensions="account: {kind: leaf}",
    )
    for period, grain in (("2020-W07", "week"), ("2020-02-12", "date")):
        report = found.metric("sales", "cash", scenarios=A, period=period)
        assert figures(report, "metric")["cash"] is None
        assert said(report, "coarser_postings") == [{"scenario": "actual", "domain": "gl (bs)", "grain": grain}]
        assert "coarser_postings" not in codes(found.metric("sales", scenarios=A, period=period))
    assert "coarser_postings" not in codes(found.metric("cash", scenarios=A, period="2020-02"))


def test_what_was_not_asked_for_and_was_assumed_is_said(tmp_path: Path) -> None:
    without = books(tmp_path)
    rows = rows_of(without, source_key="gl", scenario_id="actual")
    assert [note["period"] for note in rows["notes"]] == ["all periods"]
    instance = tmp_path / "small"
    with (instance / "instance.yaml").open("a") as file:
        scenarios = "[{scenario: actual}, {scenario: 'var(actual,budget)'}]"
        file.write(f"default: {{period_start: 2020-01, period_end: 2020-02, scenarios: {scenarios}}}\n")
    found = open_books(instance, state=tmp_path / "state")
    report = found.metric("sales")
    assert list(figures(report, "scenario").values()) == [210, 120]
    assert said(report, "default_scenarios") == [{"scenarios": "actual, var(actual,budget)"}]
    assert said(report, "default_period") == [{"period": report.period.label}]
    asked = found.metric("sales", scenarios=A, period="2020-01")
    assert not codes(asked) & {"default_scenarios", "default_period"}
    rows = rows_of(found, source_key="gl", scenario_id="actual")
    assert [(note["code"], note["period"]) for note in rows["notes"]] == [("default_period", report.period.label)]
    assert rows_of(found, source_key="gl", scenario_id="actual", period_start="2020-01")["notes"] == []
    actual = granting(tmp_path, "{actual: {}}").metric("sales")
    assert said(actual, "default_scenarios") == [{"scenarios": "actual"}]


@pytest.mark.parametrize(
    ("period", "differs"),
    [
        (("2025-02-01", "2025-02-28"), "leaves out"),  # against 1 to 28 February 2024
        (("2025-01-01", "2025-12-31"), "gains"),  # against the 366 days of 2024
        (("2024-02-01", "2024-02-29"), "leaves out"),  # against 1 to 28 February 2023
        (("2025-03-01", "2025-03-31"), None),
        (("2025-02-01", "2025-02-27"), None),
        ("2025-02-28", None),
        ("2025-02", None),  # the whole of February 2024
    ],
)
def test_a_range_of_days_says_that_it_gains_or_leaves_out_29_february(
    tmp_path: Path, period: str | tuple[str, str], differs: str | None
) -> None:
    days = ("2023-02-28", "2024-02-28", "2024-02-29", "2025-02-28")
    found = small_books(
        tmp_path,
        facts={"gl": "date scenario amount\n" + "\n".join(f"{day} actual 1" for day in days)},
        domains={"gl": LEDGER},
    )
    report = found.metric("revenue", scenarios={"PY": "actual@py"}, period=period)
    assert [about["differs"] for about in said(report, "leap_day")] == ([differs] if differs else [])
    plain = found.metric("revenue", scenarios=A, period=period)
    assert "leap_day" not in codes(plain)


def test_29_february_alone_has_no_window_a_year_before(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"scenarios": {"PY": "actual@py"}, "period": ("2020-02-28", "2020-02-29")}
    report = books(tmp_path).metric("sales", dimensions=["date"], **asked)
    assert said(report, "no_window") == [{"members": ("2020-02-29",)}]


TREE = "node parent weight\nAll - 1\n1000 All 1\n1010 1000 1\n1020 1000 1\n2000 All 1"
HEADED = """
    date       scenario account amount
    2020-01-31 actual   1010    100
    2020-01-31 actual   1020    20
    2020-01-31 actual   2000    7
    2020-01-31 budget   1000    9
"""


def headed_books(folder: Path) -> Door:
    """A chart of accounts whose account 1000 heads two others; the budget alone posts on it."""
    return small_books(
        folder,
        facts={"gl": HEADED},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account}
            measures: {amount: {places: 0}}
            inspect_enabled: true
            metrics: {amount: {measure: amount}}
            """
        },
        dimensions="""
            account: {kind: leaf, members: live.account}
            chart: {kind: ragged, leaf_dimension: account, nodes: live.chart}
        """,
        tables={"chart": TREE, "account": "id name\n1000 Cash\n1010 Till\n1020 Bank\n2000 Debts\n3000 Unused"},
    )


def test_a_filter_by_an_account_that_heads_others_offers_its_node(tmp_path: Path) -> None:
    everyone = headed_books(tmp_path)
    offer = {"dimension": "account", "members": "'1000'", "hierarchy": "chart", "nodes": "'1000'"}

    def noted(found: Door, scenario: str, *accounts: str) -> list[dict[str, str]]:
        asked: dict[str, Any] = {"scenarios": {"X": scenario}, "period": "2020-01"}
        return said(found.metric("amount", filters={"account": list(accounts)}, **asked), "header_member")

    assert figure(everyone.metric("amount", scenarios=A, period="2020-01", filters={"chart": "1000"})) == 120
    assert noted(everyone, "actual", "1000", "2000") == [offer]
    assert noted(everyone, "actual", "1010", "3000") == []  # they head nothing
    assert noted(everyone, "budget", "1000") == []  # it posts on it
    rows = rows_of(everyone, source_key="gl", scenario_id="actual", period_start="2020-01", filters={"account": "1000"})
    assert [note["code"] for note in rows["notes"]] == ["header_member"]
    alone = granting(tmp_path, "{actual: {dimensions: {account: {allow: ['1000', '2000']}}}}")
    assert noted(alone, "actual", "1000") == []  # nothing that this caller sees lies below
    # found by the law of scope: what is compared is what is seen of both sides
    apart = granting(tmp_path, "{actual: {dimensions: {account: {deny: ['1000']}}}, budget: {}}")
    assert noted(apart, "budget", "1000") == []
    assert noted(apart, "var(budget,actual)", "1000") == [offer]
    compared = {"account": "1000", "compared_with": ["actual"]}
    rows = rows_of(apart, source_key="gl", scenario_id="budget", period_start="2020-01", filters=compared)
    assert "header_member" in [note["code"] for note in rows["notes"]]


STOCK = """
    date       scenario account amount heads hires
    2020-01-31 actual   cash    100    0     0
    2020-02-29 actual   cash    110    0     0
    2020-02-29 actual   sales   40     0     0
    2020-01-31 actual   staff   0      5     1
    2020-02-29 actual   staff   0      6     2
    2020-02-29 budget   cash    90     0     0
"""


def stock_books(folder: Path) -> Door:
    """Cash that is declared a balance, and metrics that add it up."""
    return small_books(
        folder,
        facts={"gl": STOCK},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account}
            measures: {amount: {places: 0}, heads: {type: number, places: 0}, hires: {type: number, places: 0}}
            balances: {bank: {where: {account: cash}}, people: {where: {account: staff}}}
            metrics:
              sales: {measure: amount, where: {account: sales}}
              all: {measure: amount}
              twice: {formula: all * 2}
              cash: {measure: amount, where: {account: cash}, over_time: closing, balance: bank}
              staff: {measure: heads, over_time: closing, balance: people, where: {account: staff}}
              hired: {measure: hires, where: {account: staff}}
              held: {measure: heads, where: {account: staff}}
            """
        },
        dimensions="account: {kind: leaf}",
    )


def test_balances_added_up_over_periods_say_so(tmp_path: Path) -> None:
    found = stock_books(tmp_path)
    metrics = ("sales", "all", "twice", "cash", "staff", "hired", "held")
    report = found.metric(*metrics, scenarios=A, period=("2020-01", "2020-02"))
    assert list(figures(report, "metric").values()) == [40, 250, 500, 110, 6, 3, 11]
    assert said(report, "balances_summed") == [
        {"lines": "'all' or 'twice'", "domain": "gl", "group": "bank", "scenario": "actual"},
        {"lines": "'held'", "domain": "gl", "group": "people", "scenario": "actual"},
    ]
    assert "balances_summed" not in codes(found.metric(*metrics, scenarios=A, period="2020-02"))
    sales = found.metric("all", scenarios=A, period=("2020-01", "2020-02"), filters={"account": "sales"})
    assert "balances_summed" not in codes(sales)
    budget = found.metric("all", scenarios={"B": "budget"}, period=("2020-01", "2020-02"))
    assert "balances_summed" not in codes(budget)  # one month alone
    unseen = granting(tmp_path, "{actual: {dimensions: {account: {deny: [cash]}}}}")
    assert "balances_summed" not in codes(unseen.metric("all", scenarios=A, period=("2020-01", "2020-02")))


def test_check_warns_of_balances_that_a_metric_adds_up(tmp_path: Path) -> None:
    stock_books(tmp_path)
    instance = read_instance(tmp_path / "small")
    warnings = list(data_warnings(Shelf(instance.catalogue, tmp_path / "state" / "store").current()))
    assert [warning.partition(":")[2].partition(" over")[0] for warning in warnings] == [
        " metric all adds up balances of gl (bank)",
        " metric held adds up balances of gl (people)",
    ]
