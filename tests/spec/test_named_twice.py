"""A member that is named twice in one place counts once: in a metric's where, a filter, a variant, a profile.

Rules: Over members.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from tests.support.books.inspected import rows_of
from tests.support.books.small import figure, figures, granting, small_books

A = {"A": "actual"}
MONTH: dict[str, Any] = {"scenarios": A, "period": "2026-02"}
TREE = """
    node   parent weight
    TOTAL  -      -
    NORTH  TOTAL  1
    SOUTH  TOTAL  -1
    N      NORTH  1
    S      SOUTH  1
    SHARED NORTH  0.5
    SHARED SOUTH  0.5
"""
ONCE = {
    key: Decimal(amount)
    for key, amount in (("leaves", "870"), ("north", "555"), ("both", "1035.5"), ("kinds", "1"), ("whole", "74.5"))
}


@pytest.fixture
def books(tmp_path: Path) -> Door:
    """A cost centre that counts half in each of two departments, where each path adds."""
    return small_books(
        tmp_path,
        facts={
            "gl": """
            date       scenario cc     amount
            2026-02-10 actual   SHARED 870
            2026-02-10 actual   N      120
            2026-02-10 actual   S      45.5
            2026-02-10 budget   SHARED 100
            2026-02-10 budget   N      10
            """
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {cc: cc}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              cost: {measure: amount}
              leaves: {measure: amount, where: {cc: [SHARED, SHARED]}}
              north: {measure: amount, where: {split: [NORTH, NORTH]}}
              both: {measure: amount, where: {split: [NORTH, SOUTH, NORTH]}}
              kinds: {over_members: {count_distinct: cc}, where: {cc: [SHARED, SHARED]}}
              whole: {measure: amount, where: {split: [TOTAL, TOTAL]}}
            """
        },
        dimensions="cc: {kind: leaf}\nsplit: {kind: ragged, leaf_dimension: cc, nodes: live.split, paths: add}",
        tables={"split": TREE},
        scenarios="""
            actual: {alias: A, kind: actual}
            budget:
              alias: B
              kind: budget
              variants:
                half: {label: Half, adjust: [{where: {cc: [SHARED, SHARED]}, factor: 0.5}]}
                node: {label: Node, adjust: [{where: {split: [NORTH, NORTH]}, factor: 0.5}]}
        """,
    )


@pytest.mark.parametrize("metric", ONCE)
def test_a_member_named_twice_in_a_where_counts_once(books: Door, metric: str) -> None:
    assert figure(books.metric(metric, **MONTH)) == ONCE[metric]
    rows = rows_of(books, filters={"metric": metric}, period_start="2026-02", period_end="2026-02")
    assert Decimal(str(rows["contribution_total"])) == ONCE[metric]


@pytest.mark.parametrize(
    ("filters", "amount"),
    [
        ({"cc": ["SHARED", "SHARED"]}, "870"),
        ({"split": ["NORTH", "NORTH"]}, "555"),
        ({"split": ["NORTH", "SOUTH", "NORTH"]}, "1035.5"),
        ({"cc": {"exclude": ["SHARED", "SHARED"]}}, "165.5"),
    ],
)
def test_a_member_named_twice_in_a_filter_counts_once(books: Door, filters: dict[str, Any], amount: str) -> None:
    assert figure(books.metric("cost", **MONTH, filters=filters)) == Decimal(amount)
    rows = rows_of(books, filters={"metric": "cost", **filters}, period_start="2026-02", period_end="2026-02")
    assert Decimal(str(rows["contribution_total"])) == Decimal(amount)


@pytest.mark.parametrize("variant", ["half", "node"])
def test_a_member_named_twice_in_a_variant_is_adjusted_once(books: Door, variant: str) -> None:
    expected = {"half": Decimal(60), "node": Decimal(55)}[variant]  # 100 / 2 + 10, (100 + 10) / 2
    assert figure(books.metric("cost", scenarios={"B": f"budget/{variant}"}, period="2026-02")) == expected


@pytest.mark.usefixtures("books")
def test_a_member_named_twice_in_a_profile_is_seen_once(tmp_path: Path) -> None:
    seen = granting(tmp_path, "{'*': {dimensions: {split: {allow: [NORTH, NORTH]}}}}")
    assert figure(seen.metric("cost", **MONTH)) == Decimal(990)  # a permission does not weigh
    shown = figures(seen.metric("cost", **MONTH, dimensions=["cc"]), "cc")
    assert shown == {"N": Decimal(120), "SHARED": Decimal(870), None: Decimal(990)}
