"""Finance case T73: conditions on amounts in a metric's `where` hold row by row, before anything is added up.

Rules: Over members.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.instance.documents import InstanceFaults
from tests.support.books.inspected import rows_of
from tests.support.books.small import figure, figures, small_books

AMOUNTS = ("-30", "-0.01", "0", "0", "0.01", "100", "250.50", "500", "500.01")
LATER = ("2026-02-01 actual P -7", "2026-02-02 actual P 9")
METRICS = """
  total: {measure: amount}
  credits: {measure: amount, where: {amount: "< 0"}, sign: negate}
  zeros: {over_members: count, where: {amount: "= 0"}}
  others: {over_members: count, where: {amount: "!= 0"}}
  medium: {measure: amount, where: {amount: 100..500}}
  small: {measure: amount, where: {amount: "> 0 and < 100", product: P}}
  fraction: {measure: amount, where: {amount: ">= 500.005"}}
  largest: {measure: amount, over_members: max, where: {amount: "< 500"}}
  net: {formula: medium - credits}
  share: {formula: credits / total, format: percent}
  overdrawn: {measure: amount, where: {amount: "< 0"}, over_time: closing}
"""
ASKED: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2026-01"}


def books_of(folder: Path, metrics: str = METRICS) -> Door:
    """Return books with each amount on a day of its own, of two products in turn."""
    rows = [f"2026-01-{day:02} actual {'PQ'[day % 2]} {amount}" for day, amount in enumerate(AMOUNTS, 1)]
    return small_books(
        folder,
        facts={"gl": "\n".join(["date scenario product amount", *rows, *LATER])},
        domains={
            "gl": f"""
time: {{column: date}}
dimensions: {{product: product}}
measures: {{amount: {{places: 2}}}}
rollups: [[product]]
inspect_enabled: true
metrics:{metrics}"""
        },
        dimensions="product: {kind: leaf}",
    )


def test_t73_rows_are_told_apart_before_they_are_summed(tmp_path: Path) -> None:
    books = books_of(tmp_path)
    keys = ("total", "credits", "zeros", "others", "medium", "small", "fraction", "largest", "net")
    assert figures(books.metric(*keys, **ASKED), "metric") == {
        "total": Decimal("1320.51"),
        "credits": Decimal("30.01"),
        "zeros": 2,
        "others": 7,
        "medium": Decimal("850.50"),  # both bounds are included
        "small": None,  # 0.01 is posted on the other product
        "fraction": Decimal("500.01"),
        "largest": Decimal("250.50"),
        "net": Decimal("820.49"),
    }
    by_product = books.metric("credits", "zeros", **ASKED, dimensions=["product"])
    assert figures(by_product, "metric", "product") == {
        ("credits", "P"): Decimal("0.01"),
        ("credits", "Q"): 30,
        ("credits", None): Decimal("30.01"),
        ("zeros", "P"): 1,
        ("zeros", "Q"): 1,
        ("zeros", None): 2,
    }


def test_t73_a_balance_keeps_its_anchor_and_counts_its_rows(tmp_path: Path) -> None:
    books = books_of(tmp_path)
    assert figure(books.metric("overdrawn", scenarios={"A": "actual"}, period=("2026-01", "2026-02"))) == -7
    assert figure(books.metric("share", **ASKED)) == round(Decimal("30.01") / Decimal("1320.51"), 16)


@pytest.mark.parametrize(
    ("metric", "rows", "total"),
    [
        ("credits", ["30", "0.01"], "30.01"),
        ("zeros", ["1", "1"], "2"),
        ("net", ["-30", "-0.01", "100", "250.5", "500"], "820.49"),
    ],
)
def test_t73_rows_behind_a_condition_tie(tmp_path: Path, metric: str, rows: list[str], total: str) -> None:
    asked = {"source_key": "gl", "scenario_id": "actual", "period_start": "2026-01", "filters": {"metric": metric}}
    found = rows_of(books_of(tmp_path), **asked)
    assert sorted(Decimal(str(row[-1])) for row in found["rows"]) == sorted(map(Decimal, rows))
    assert Decimal(str(found["contribution_total"])) == Decimal(total)


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ('{measure: amount, where: {amount: "below 0"}}', "'below 0' is no condition on amounts"),
        ('{measure: amount, where: {amount: "= 0.005"}}', "holds for no amount of 2 decimal places"),
        ("{measure: amount, where: {amount: 5..2}}", "holds for no amount"),
        ('{measure: amount, where: {amount: ["< 0", "> 5"]}}', "a condition on amounts is one text"),
        ('{measure: amount, where: {quantity: "< 0"}}', "gl cannot be restricted by 'quantity'"),
        (
            '{measure: amount, over_time: {last_known: always}, where: {amount: "< 0"}}',
            "x reads the last known value of each member, whatever its amount",
        ),
    ],
)
def test_t73_what_cannot_be_met_is_a_fault(tmp_path: Path, part: str, fault: str) -> None:
    with pytest.raises(InstanceFaults) as found:
        books_of(tmp_path, f"\n  x: {part}\n")
    assert fault in str(found.value)


@pytest.mark.parametrize(
    "condition", ["!= 0.005", "!= 99999999999999999999", "< 99999999999999999999", "> -99999999999999999999"]
)
def test_t73_a_condition_that_holds_for_all_selects_every_amount(tmp_path: Path, condition: str) -> None:
    metrics = f"""
  all: {{measure: amount}}
  kept: {{measure: amount, where: {{amount: "{condition}"}}}}
  rows: {{over_members: count, where: {{amount: "{condition}"}}}}
"""
    found = figures(books_of(tmp_path, metrics).metric("all", "kept", "rows", **ASKED), "metric")
    assert found["kept"] == found["all"] == Decimal("1320.51")
    assert found["rows"] == len(AMOUNTS)
