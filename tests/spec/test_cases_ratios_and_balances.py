"""Finance cases T01-T11: ratios at their own level, and balances over time.

Rules: Over members, Over time.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from tests.support.books.small import codes, figure, figures, small_books

A = {"A": "actual"}


def margins(folder: Path, rows: str) -> Door:
    """Gross profit and revenue by product."""
    return small_books(
        folder,
        facts={"gl": f"date scenario product gp rev\n{rows}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {gp: {places: 2}, rev: {places: 2}}
            metrics:
              gross_profit: {measure: gp}
              revenue: {measure: rev}
              margin: {formula: gross_profit / revenue, format: percent}
            """
        },
        dimensions="product: {kind: leaf}",
        statements={"pnl": "  - {metric: gross_profit}\n  - {metric: revenue}\n  - {metric: margin}\n"},
    )


def test_t01_ratio_with_a_subtotal_is_the_ratio_of_sums(tmp_path: Path) -> None:
    books = margins(tmp_path, "2021-01-05 actual A 50 100\n2021-01-05 actual B 90 300")
    report = books.metric("margin", scenarios=A, period="2021-01", dimensions=["product"])
    assert figures(report, "product") == {"A": Decimal("0.5"), "B": Decimal("0.3"), None: Decimal("0.35")}


def test_t02_variance_of_a_ratio_is_in_points(tmp_path: Path) -> None:
    books = margins(tmp_path, "2021-01-05 actual A 140 400\n2021-01-05 budget A 180 450")
    columns = {"A": "actual", "B": "budget", "V": "var(actual,budget)", "%": "var_pct(actual,budget)"}
    report = books.metric("margin", scenarios=columns, period="2021-01")
    shown = {"A": Decimal("0.35"), "B": Decimal("0.4"), "V": Decimal("-0.05"), "%": Decimal("-0.125")}
    assert figures(report, "alias") == shown
    units = dict(report.frame.select("alias", "unit").iter_rows())
    assert units == {"A": "fraction", "B": "fraction", "V": "pp", "%": "fraction"}
    assert "\N{MINUS SIGN}5.0 pp" in repr(report)


def test_t03_zero_or_missing_denominator_is_blank(tmp_path: Path) -> None:
    books = margins(tmp_path, "2021-01-05 actual A 40 100\n2021-01-05 actual B -5 0")
    report = books.metric("margin", scenarios=A, period="2021-01", dimensions=["product"])
    assert figures(report, "product") == {"A": Decimal("0.4"), "B": None, None: Decimal("0.35")}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("here + (gone + 5)", 8),
        ("(gone + 5) + here", 8),
        ("here - (gone - 5)", 8),
        ("here + 2 * (gone + 5) / 4", Decimal("5.5")),
        ("gone + 5", None),
        ("2 * (gone + 5)", None),
    ],
)
def test_a_missing_operand_counts_as_nothing_however_a_sum_is_bracketed(
    tmp_path: Path, formula: str, value: Decimal | None
) -> None:
    books = small_books(
        tmp_path,
        facts={"gl": "date scenario product amount\n2021-01-05 actual P 3"},
        domains={
            "gl": f"""
            time: {{column: date}}
            dimensions: {{product: product}}
            measures: {{amount: {{places: 2}}}}
            metrics:
              here: {{measure: amount}}
              gone: {{measure: amount, where: {{product: Q}}}}
              both: {{formula: {formula}}}
            """
        },
        dimensions="product: {kind: leaf}",
    )
    assert figure(books.metric("both", scenarios=A, period="2021-01")) == value


def test_t04_average_price_is_weighted(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={
            "sales": "date scenario product units amount\n2021-01-05 actual Core 10 50\n2021-01-06 actual Pro 40 280"
        },
        domains={
            "sales": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}, units: {type: number, places: 0}}
            metrics:
              sold: {measure: units}
              turnover: {measure: amount}
              price: {formula: turnover / sold}
            """
        },
        dimensions="product: {kind: leaf}",
    )
    report = books.metric("price", scenarios=A, period="2021-01", dimensions=["product"])
    assert figures(report, "product") == {"Core": 5, "Pro": 7, None: Decimal("6.6")}
    assert set(report.frame["unit"]) == {"USD each"}


def balances(folder: Path, rows: str, **more: Any) -> Door:
    """A balance by entity at month grain, with the movements beside it."""
    return small_books(
        folder,
        facts={"bs": f"date scenario entity nature amount\n{rows}"},
        domains={
            "bs": """
            time: {column: date, grain: month}
            dimensions: {entity: entity, nature: nature}
            measures: {amount: {places: 2}}
            balances: {stock: {where: {nature: stock}, grain: month}}
            metrics:
              balance: {measure: amount, where: {nature: stock}, over_time: closing}
              movement: {measure: amount, where: {nature: flow}}
            """
        },
        dimensions="entity: {kind: leaf}\nnature: {kind: leaf}",
        **more,
    )


def test_t05_balance_over_a_quarter_is_the_closing_one(tmp_path: Path) -> None:
    books = balances(tmp_path, "2021-01 actual E stock 100\n2021-02 actual E stock 120\n2021-03 actual E stock 90")
    assert figure(books.metric("balance", scenarios=A, period="2021-Q1")) == 90


def test_t06_balance_over_an_incomplete_quarter(tmp_path: Path) -> None:
    books = balances(tmp_path, "2021-04 actual E stock 95\n2021-05 actual E stock 80")
    report = books.metric("balance", scenarios=A, period="2021-Q2")
    assert figure(report) == 80
    assert [dict(note.about)["anchor"] for note in report.notes if note.code == "anchor"] == ["2021-05"]
    assert figure(books.metric("balance", scenarios=A, period="2021-06")) is None


def test_t07_one_anchor_for_all_members_so_that_they_add_up(tmp_path: Path) -> None:
    books = balances(tmp_path, "2021-04 actual E1 stock 50\n2021-05 actual E1 stock 40\n2021-04 actual E2 stock 30")
    report = books.metric("balance", scenarios=A, period=("2021-04", "2021-05"), dimensions=["entity"])
    assert figures(report, "entity") == {"E1": 40, "E2": None, None: 40}
    late = next(note for note in report.notes if note.code == "incomplete_close")
    assert dict(late.about) == {"members": ("E2",), "anchor": "2021-05"}
    assert "rows in the range but none at the close" in late.message


@pytest.mark.parametrize("metrics", [("debts", "cash"), ("cash", "debts")])
def test_t07_members_without_a_close_are_named_whichever_balance_lacks_it(
    tmp_path: Path, metrics: tuple[str, ...]
) -> None:
    books = small_books(
        tmp_path,
        facts={
            "bs": """
            date    scenario account entity amount
            2021-01 actual   cash    E1     10
            2021-01 actual   debt    E1     7
            2021-01 actual   debt    E2     7
            2021-02 actual   cash    E1     20
            2021-02 actual   debt    E2     20
            """,
            "people": """
            date    scenario entity heads
            2021-01 actual   E1     3
            2021-02 actual   E2     3
            """,
        },
        domains={
            "bs": """
            time: {column: date, grain: month}
            dimensions: {account: account, entity: entity}
            measures: {amount: {places: 0}}
            metrics:
              debts: {measure: amount, where: {account: debt}, over_time: closing}
              cash: {measure: amount, where: {account: cash}, over_time: closing}
            """,
            "people": """
            time: {column: date, grain: month}
            dimensions: {entity: entity}
            measures: {heads: {type: number, places: 0}}
            metrics: {headcount: {measure: heads, over_time: closing}}
            """,
        },
        dimensions="account: {kind: leaf}\nentity: {kind: leaf}",
        statements={"all": "\n".join(f"- {{metric: {key}}}" for key in (*metrics, "people.headcount"))},
    )
    asked: dict[str, Any] = {"scenarios": A, "period": ("2021-01", "2021-02")}
    report = books.metric(*metrics, **asked, dimensions=["entity"])
    late = [dict(note.about) for note in report.notes if note.code == "incomplete_close"]
    assert late == [{"lines": ("debts",), "members": ("E1",), "anchor": "2021-02"}]
    statement = books.statement("all", **asked, dimensions=["account", "entity"])
    late = [dict(note.about) for note in statement.notes if note.code == "incomplete_close"]
    assert late == [
        {"lines": ("debts",), "members": ("debt/E1",), "anchor": "2021-02"},
        {"lines": ("headcount",), "members": ("*/E1",), "anchor": "2021-02"},
    ]


def test_t07_one_anchor_for_all_metrics_so_that_assets_equal_liabilities(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={
            "bs": """
            date    scenario nature    amount
            2021-04 actual   asset     50
            2021-04 actual   liability 50
            2021-05 actual   asset     40
            2021-06 actual   flow      7
            """
        },
        domains={
            "bs": """
            time: {column: date, grain: month}
            dimensions: {nature: nature}
            measures: {amount: {places: 2}}
            metrics:
              assets: {measure: amount, where: {nature: asset}, over_time: closing}
              liabilities: {measure: amount, where: {nature: liability}, over_time: closing}
              movement: {measure: amount, where: {nature: flow}}
            """
        },
        dimensions="nature: {kind: leaf}",
    )
    shown = books.metric("assets", "liabilities", "movement", scenarios=A, period="2021-Q2")
    assert figures(shown, "metric") == {"assets": 40, "liabilities": None, "movement": 7}
    (anchor,) = [dict(note.about)["anchor"] for note in shown.notes if note.code == "anchor"]
    assert anchor == "2021-05"  # June holds no balance


def test_t08_balance_adds_up_over_other_dimensions(tmp_path: Path) -> None:
    january = "2021-01 actual Sales stock 10\n2021-01 actual Ops stock 20"
    february = "2021-02 actual Sales stock 12\n2021-02 actual Ops stock 18"
    books = balances(tmp_path, f"{january}\n{february}")
    report = books.metric("balance", scenarios=A, period=("2021-01", "2021-02"), dimensions=["entity"])
    assert figures(report, "entity") == {"Sales": 12, "Ops": 18, None: 30}


def test_t10_prior_year_of_a_balance_closes_inside_the_shifted_window(tmp_path: Path) -> None:
    books = balances(tmp_path, "2020-02 actual E stock 70\n2021-03 actual E stock 84")
    columns = {"A": "actual", "PY": "actual@py", "V": "var(actual,actual@py)", "%": "var_pct(actual,actual@py)"}
    report = books.metric("balance", scenarios=columns, period="2021-Q1")
    assert figures(report, "alias") == {"A": 84, "PY": 70, "V": 14, "%": Decimal("0.2")}
    assert "anchors_differ" in codes(report)


def test_a_filter_does_not_move_the_anchor(tmp_path: Path) -> None:
    books = balances(tmp_path, "2021-04 actual E1 stock 50\n2021-05 actual E1 stock 40\n2021-04 actual E2 stock 30")
    asked: dict[str, Any] = {"scenarios": A, "period": ("2021-04", "2021-05")}
    assert figure(books.metric("balance", filters={"entity": "E2"}, **asked)) is None
    assert figure(books.metric("balance", filters={"entity": "E1"}, **asked)) == 40


def test_a_balance_that_a_scenario_does_not_hold_is_unknown_not_zero(tmp_path: Path) -> None:
    books = balances(tmp_path, "2021-01 actual E stock 100\n2021-01 actual E flow 8\n2021-01 budget E flow 5")
    shown = books.metric("balance", "movement", scenarios={"V": "var(actual,budget)"}, period="2021-01")
    assert figures(shown, "metric") == {"balance": None, "movement": 3}


def test_a_balance_beside_a_flow_leaves_the_flow_alone(tmp_path: Path) -> None:
    rows = "2021-01 actual E stock 100\n2021-01 actual E flow 5\n2021-02 actual E stock 120\n2021-02 actual E flow 20"
    books = balances(tmp_path, rows)
    report = books.metric("balance", "movement", scenarios=A, period="2021-Q1")
    assert figures(report, "metric") == {"balance": 120, "movement": 25}
