"""The others of a ranking by a tree: over which leaves they are, and how many members they hold.

Rules: Ranking.
"""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from tests.spec.test_ranking import ASKED, shown
from tests.support.books.small import small_books


@pytest.fixture
def accounts(tmp_path: Path) -> Door:
    """Accounts by area below a tree that subtracts costs and leaves out two nodes, by an edge of weight 0 each."""
    return small_books(
        tmp_path,
        facts={
            "gl": "date scenario account area amount\n2021-01-05 actual Sales N 100\n2021-01-05 actual Costs N 30\n"
            "2021-01-05 actual Heads N 12\n2021-01-05 actual Floor S 5\n2021-01-05 actual Costs S 7\n"
            "2021-01-05 actual Sales S 7"
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account, area: area}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              net: {measure: amount}
              own: {measure: amount, where: {tree: [Heads, Floor]}}
              north: {measure: amount, where: {area: [N]}}
              largest: {measure: amount, over_members: max}
            """
        },
        dimensions="""
            account: {kind: leaf}
            area: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
        """,
        tables={
            "tree": "node parent weight\nNet - 1\nSales Net 1\nSub Net 1\nCosts Sub -1\nStat Sub 0\nHeads Stat 1\n"
            "Floor Costs 0"
        },
    )


def test_others_are_over_the_leaves_of_the_other_members_alone(accounts: Door) -> None:
    asked: dict[str, Any] = {**ASKED, "order_by": "net", "top": 1}
    report = accounts.metric("net", "own", dimensions=["tree"], **asked)
    assert shown(report) == [("Sales", 107), ("(others)", -37), ("total", 70)]
    assert shown(report, line=1) == [("Sales", None), ("(others)", None), ("total", 17)]  # no leaf of Sub
    left = {"tree": {"exclude": ["Sales", "Floor", "Stat"]}}
    assert report.drill.at(report.places[1].members)["filters"] == left
    nested = accounts.metric("net", "own", dimensions=["tree", "area"], subtotals=True, **asked)
    assert [(key, figure) for key, figure in shown(nested, line=1) if figure] == [("total", 17)]
    of_tree = [place.members for place in nested.places if len(place.members) == 1]
    assert [nested.drill.at(members)["filters"] for members in of_tree][1:] == [left]


def test_a_member_whose_own_figure_is_blank_has_the_rows_below_it(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={
            "gl": "date scenario account area amount\n2021-01-05 actual Heads N 5\n2021-01-05 actual Sales N 2\n"
            "2021-01-05 actual Heads S 3"
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account, area: area}
            measures: {amount: {places: 2}}
            metrics: {net: {measure: amount}}
            """
        },
        dimensions="""
            account: {kind: leaf}
            area: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
        """,
        tables={"tree": "node parent weight\nMemo - 0\nHeads Memo 1\nNet - 1\nSales Net 1"},
    )
    asked: dict[str, Any] = {**ASKED, "dimensions": ["area", "tree"], "order_by": "net"}
    rows = [("N/Memo", 5), ("N/Net", 2), ("S/Memo", 3), ("total", 2)]  # S counts nothing in the total: blank, last
    assert shown(books.metric("net", **asked)) == rows
    assert shown(books.metric("net", **asked, top=2)) == rows
    folded = [*rows[:2], ("(others)/Memo", 3), rows[-1]]
    assert shown(books.metric("net", **asked, top=1)) == folded
    nested = books.metric("net", **asked, top=1, subtotals=True)
    below = [("N/Memo", 5), ("N/(others)", 2), ("(others)/Memo", 3)]
    assert [(key, figure) for key, figure in shown(nested) if figure is not None and "/" in key] == below


def test_a_figure_that_cannot_be_asked_makes_no_member_of_others(accounts: Door) -> None:
    left = {"tree": {"exclude": ["Sub", "Floor", "Stat"]}}
    plain = accounts.metric("north", "largest", **ASKED, dimensions=["area"], filters=left)  # Sales weigh 1
    assert shown(plain, line=1) == [("N", 100), ("S", 7), ("total", 100)]
    asked: dict[str, Any] = {**ASKED, "dimensions": ["tree", "area"], "order_by": "north", "asc": True}
    whole = accounts.metric("north", "largest", **asked)
    assert shown(whole) == [("Sub/N", -30), ("Sales/N", 100), ("total", 70)]
    ranked = accounts.metric("north", "largest", **asked, top=1)
    assert shown(ranked) == [("Sub/N", -30), ("(others)/N", 100), ("total", 70)]  # and none for S
    assert ranked.drill.at(ranked.places[1].members)["filters"]["tree"] == left["tree"]
    nested = accounts.metric("north", "largest", **asked, subtotals=True, top=1)
    rows = [("/".join(member.id for member in place.members), place.holds) for place in nested.places]
    assert rows == [("Sub", None), ("Sub/N", None), ("(others)", 1), ("(others)/N", None), ("", None)]


WEEKLY = "t scenario product amount\n2025-W07 actual P 5\n2025-W08 actual S 3\n2025-W20 actual Q 9"
MONTHLY = "t scenario product amount\n2025-02 actual R 4"


def test_rows_in_a_window_that_cuts_a_period_of_their_domain_make_no_member(tmp_path: Path) -> None:
    """Q has rows in the fiscal year alone, which begins inside a week, and R in February, which the weeks cut."""
    of_product = "dimensions: {product: product}\nmeasures: {amount: {places: 2}}\nmetrics:\n  "
    books = small_books(
        tmp_path,
        facts={"gl": WEEKLY, "people": MONTHLY},
        domains={
            "gl": f"time: {{column: t, grain: week}}\n{of_product}sales: {{measure: amount}}\n"
            "  both: {formula: sales + people.held}",
            "people": f"time: {{column: t, grain: month}}\n{of_product}held: {{measure: amount, over_time: closing}}",
        },
        dimensions="product: {kind: leaf}",
    )
    asked: dict[str, Any] = {
        "scenarios": {"A": "actual", "Y": "actual@fy"},
        "period": ("2025-W06", "2025-W09"),
        "dimensions": ["product"],
        "order_by": "sales@A",
    }
    assert shown(books.metric("sales", "both", **asked)) == [("P", 5), ("S", 3), ("total", 8)]
    assert [place.holds for place in books.metric("sales", "both", **asked, top=1).places] == [None, 1, None]


def test_others_over_an_edge_of_weight_0_have_their_extremes_and_counts(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={
            "gl": "date scenario customer amount\n2021-01-05 actual C1 1\n2021-01-05 actual C2 20\n"
            "2021-01-05 actual C3 50\n2021-01-05 actual C4 100"
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {customer: customer}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount}
              least: {measure: amount, over_members: min}
              customers: {over_members: {count_distinct: customer}}
            """
        },
        dimensions="""
            customer: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: customer, nodes: live.tree}
        """,
        tables={"tree": "node parent weight\nK - 1\nC1 K 0\nL - 1\nC2 L 1\nC3 L 1"},
    )
    asked: dict[str, Any] = {**ASKED, "dimensions": ["tree"], "order_by": "revenue", "top": 1}
    report = books.metric("revenue", "least", "customers", **asked)
    assert shown(report, 0) == [("(unassigned)", 100), ("(others)", 70), ("total", 170)]
    assert shown(report, 1) == [("(unassigned)", 100), ("(others)", 20), ("total", 20)]  # C1 is no leaf of K
    assert shown(report, 2) == [("(unassigned)", 1), ("(others)", 2), ("total", 3)]
    left = books.metric("least", **ASKED, filters={"tree": {"exclude": ["(unassigned)"]}})
    assert shown(left) == [("total", 20)]


@pytest.mark.parametrize(
    "dimensions",
    [["product", "tree"], ["product", "region", "tree"], ["product", "tree", "period"], ["product", "region"]],
)
@pytest.mark.parametrize("asc", [False, True])
def test_the_figure_that_ranks_a_member_is_its_subtotal_in_the_answer(
    tmp_path: Path, dimensions: list[str], asc: bool
) -> None:
    rows = {"P": (10, 9), "Q": (8, 1), "R": (30, 28), "S": (5, 0)}  # 1, 7, 2 and 5 where returns are subtracted
    books = small_books(
        tmp_path,
        facts={
            "gl": "date scenario product account region amount\n"
            + "\n".join(
                f"2021-01-10 actual {product} {account} {region} {amount}"
                for product, amounts in rows.items()
                for account, region, amount in zip(("Sales", "Returns"), ("EU", "US"), amounts, strict=True)
            )
        },
        domains={
            "gl": "time: {column: date}\ndimensions: {product: product, account: account, region: region}\n"
            "measures: {amount: {places: 2}}\nmetrics: {revenue: {measure: amount}, twice: {formula: 2 * revenue}}\n"
        },
        dimensions="""
            product: {kind: leaf}
            account: {kind: leaf}
            region: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
        """,
        tables={"tree": "node parent weight\nNet - 1\nSales Net 1\nReturns Net -1"},
    )
    weigh = "tree" in dimensions
    expected = ["Q", "S", "R", "P"] if weigh else ["R", "P", "Q", "S"]
    for metric, top in (("revenue", 1), ("revenue", 3), ("twice", 2)):
        asked: dict[str, Any] = {"order_by": f"{metric}@A", "asc": asc, "top": top, "dimensions": dimensions}
        report = books.metric(metric, **asked, **ASKED)
        shown = list(dict.fromkeys(place.members[0].id for place in report.places if place.members))
        ordered = expected[::-1] if asc else expected
        assert shown == [*ordered[:top], "(others)"]
        nested = books.metric(metric, subtotals=True, **asked, **ASKED)
        assert list(dict.fromkeys(place.members[0].id for place in nested.places if place.members)) == shown
