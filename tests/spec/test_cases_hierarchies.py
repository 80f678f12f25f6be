"""Finance cases T39-T46: nodes with postings of their own, operators, weights, alternate trees, unmapped leaves.

Rules: Weights, Over members.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import AmbiguousWeight
from engine.model.exact import Exact
from engine.notes.weight_notes import ROWS, TOTAL
from engine.report.report import Report
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, figure, figures, small_books

A = {"A": "actual"}
JAN = "2021-01"


def tree_books(
    folder: Path, leaves: dict[str, str], nodes: str, *, rollup: str = "", lines: str = "", bands: str = ""
) -> Door:
    """Amounts of some units, and a tree above them."""
    lines = lines or (f"- rollup: {{metric: amount, dimension: tree, node: {rollup}}}\n" if rollup else "")
    facts = "\n".join(f"2021-01-05 actual {leaf} {amount}" for leaf, amount in leaves.items())
    attributes = dict(line.split() for line in bands.splitlines()) if bands else {}
    members = "id band\n" + "\n".join(f"{leaf} {attributes.get(leaf, '-')}" for leaf in leaves)
    return small_books(
        folder,
        facts={"gl": f"date scenario branch amount\n{facts}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {branch: branch}
            measures: {amount: {places: 2}}
            metrics:
              amount: {measure: amount, favourable: up}
            """
        },
        dimensions="""
            branch: {kind: leaf, members: live.branch}
            band: {kind: derived, from: branch, attribute: band}
            tree: {kind: ragged, leaf_dimension: branch, nodes: live.tree}
        """,
        tables={"branch": members, "tree": nodes},
        statements={"pnl": lines} if lines else None,
    )


CORPORATE = "node parent\nCorporate -\nSales Corporate\nOps Corporate"


def test_t39_a_node_with_postings_of_its_own(tmp_path: Path) -> None:
    books = tree_books(tmp_path, {"Corporate": "100", "Sales": "40", "Ops": "60"}, CORPORATE)
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters={"tree": "Corporate"})) == 200
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters={"branch": "Corporate"})) == 100
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters={"tree": "Corporate/(own)"})) == 100
    report = books.metric("amount", scenarios=A, period=JAN, dimensions=["tree"])
    assert figures(report, "tree") == {"Corporate/(own)": 100, "Sales": 40, "Ops": 60, None: 200}


def test_t39_a_rollup_shows_own_postings_as_a_line(tmp_path: Path) -> None:
    books = tree_books(tmp_path, {"Corporate": "100", "Sales": "40", "Ops": "60"}, CORPORATE, rollup="Corporate")
    report = books.statement("pnl", scenarios=A, period=JAN)
    assert figures(report, "line") == {
        "tree.Corporate": 200,
        "tree.Corporate/(own)": 100,
        "tree.Sales": 40,
        "tree.Ops": 60,
    }


OPERATORS = """
node       parent weight
NetSales   -      1
Gross      NetSales 1
Returns    NetSales -1
Discounts  NetSales -1
Statistics -      0
Headcount  Statistics 0
"""


def test_t40_unary_operators(tmp_path: Path) -> None:
    leaves = {"Gross": "100", "Returns": "5", "Discounts": "3", "Headcount": "12"}
    books = tree_books(tmp_path, leaves, OPERATORS)
    report = books.metric("amount", scenarios=A, period=JAN, dimensions=["tree"])
    assert figures(report, "tree") == {"NetSales": 92, None: 92}
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters={"tree": "Statistics"})) is None
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters={"tree": "Headcount"})) == 12
    assert figure(books.metric("amount", scenarios=A, period=JAN)) == 120  # without the tree nothing is weighed


NESTED = """
node            parent          weight
NetIncome       -               1
OperatingProfit NetIncome       1
Taxes           NetIncome       -1
GrossMargin     OperatingProfit 1
Opex            OperatingProfit -1
NetSales        GrossMargin     1
COGS            GrossMargin     -1
"""


def test_t41_nested_minus_and_lines_that_foot(tmp_path: Path) -> None:
    books = tree_books(
        tmp_path, {"NetSales": "92", "COGS": "40", "Opex": "30", "Taxes": "6"}, NESTED, rollup="NetIncome"
    )
    report = books.statement("pnl", scenarios=A, period=JAN)
    found = figures(report, "line")
    assert found == {
        "tree.NetIncome": 16,
        "tree.OperatingProfit": 22,
        "tree.GrossMargin": 52,
        "tree.NetSales": 92,
        "tree.COGS": 40,
        "tree.Opex": 30,
        "tree.Taxes": 6,
    }
    into = {line.key: line.into_parent for line in report.lines}
    assert into["tree.COGS"] == Exact(-1)
    goods = {line.key: line.favourable.value for line in report.lines}
    assert (goods["tree.NetSales"], goods["tree.COGS"], goods["tree.Taxes"]) == ("up", "down", "down")


SHARES = "node parent weight\nGroup - 1\nPacific Group .75\nAustralia Pacific .50"


def test_t42_weights_multiply_along_a_path(tmp_path: Path) -> None:
    books = tree_books(tmp_path, {"Australia": "128430.15"}, SHARES)

    def node(name: str) -> Decimal | None:
        return figure(books.metric("amount", scenarios=A, period=JAN, filters={"tree": name}))

    assert node("Australia") == Decimal("128430.15")
    assert node("Pacific") == Decimal("64215.075")
    assert node("Group") == Decimal("48161.30625")
    below = books.metric("amount", scenarios=A, period=JAN, filters={"tree": "Group"}, dimensions=["tree"])
    assert figures(below, "tree") == {"Pacific": Decimal("64215.075"), None: Decimal("48161.30625")}


ALTERNATE = "node parent\nNorth -\nKey -\nX North\nY North\nX Key\nZ Key"


def test_t43_one_leaf_under_two_nodes(tmp_path: Path) -> None:
    books = tree_books(tmp_path, {"X": "70", "Y": "30", "Z": "20"}, ALTERNATE)
    both = {"tree": ["North", "Key"]}
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters=both)) == 120
    report = books.metric("amount", scenarios=A, period=JAN, filters=both, dimensions=["tree"])
    assert figures(report, "tree") == {"North": 100, "Key": 90, None: 120}
    unfiltered = books.metric("amount", scenarios=A, period=JAN, dimensions=["tree"])
    assert figures(unfiltered, "tree") == {"North": 100, "Key": 90, None: 120}


def test_t44_a_node_and_its_own_child_in_one_filter(tmp_path: Path) -> None:
    books = tree_books(tmp_path, {"X": "70", "Y": "30", "Z": "20"}, ALTERNATE)
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters={"tree": ["North", "X"]})) == 100
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters={"tree": ["X", "X"]})) == 70


def test_a_leaf_of_two_weights_in_one_filter_is_refused(tmp_path: Path) -> None:
    books = tree_books(tmp_path, {"Australia": "100"}, SHARES)
    with pytest.raises(AmbiguousWeight, match="in separate calls"):
        books.metric("amount", scenarios=A, period=JAN, filters={"tree": ["Group", "Pacific"]})


def test_filters_on_two_hierarchies_multiply(tmp_path: Path) -> None:
    nodes = "node parent weight\nGroup - 1\nA Group .5\nB Group 1"
    books = tree_books(tmp_path, {"A": "100", "B": "40"}, nodes, bands="A Small\nB Large")
    asked = {"tree": "Group", "band": "Small"}
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters=asked)) == 50


def test_t45_an_unmapped_leaf_is_unassigned(tmp_path: Path) -> None:
    leaves = {"A": "10", "B": "20", "C": "70", "D": "5"}
    books = tree_books(tmp_path, leaves, "node parent\nA -", bands="A Small\nB Small\nC Large")
    report = books.metric("amount", scenarios=A, period=JAN, dimensions=["band"])
    assert figures(report, "band") == {"Large": 70, "Small": 30, "(unassigned)": 5, None: 105}
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters={"band": "(unassigned)"})) == 5
    by_tree = books.metric("amount", scenarios=A, period=JAN, dimensions=["tree"])
    assert figures(by_tree, "tree") == {"A": 10, "(unassigned)": 95, None: 105}


def test_t46_ids_identify_labels_never(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={
            "gl": """
            date       scenario account amount
            2021-01-05 actual   10      5
            2021-01-05 actual   20      7
            2021-01-05 actual   30      4
            2021-01-06 actual   30      6
            """
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account}
            measures: {amount: {places: 2}}
            metrics:
              amount: {measure: amount}
            """
        },
        dimensions="account: {kind: leaf, members: live.account}",
        tables={"account": "id name\n10 Fees\n20 Fees\n30 Rents"},
    )
    report = books.metric("amount", scenarios=A, period=JAN, dimensions=["account"])
    assert figures(report, "account") == {"10": 5, "20": 7, "30": 10, None: 22}
    assert dict(report.frame.select("account", "account_label").iter_rows())["10"] == "Fees"


def test_an_unknown_member_matches_nothing_and_is_noted(tmp_path: Path) -> None:
    books = tree_books(tmp_path, {"X": "70", "Y": "30", "Z": "20"}, ALTERNATE)
    report = books.metric("amount", scenarios=A, period=JAN, filters={"branch": ["X", "nobody"]})
    assert figure(report) == 70
    (note,) = report.notes
    assert (note.code, "'nobody'" in note.message, "search_hierarchy" in note.message) == ("unknown_member", True, True)
    nothing = books.metric("amount", scenarios=A, period=JAN, filters={"branch": "nobody"}, dimensions=["branch"])
    assert figures(nothing, "branch") == {None: None}
    assert codes(nothing) == {"unknown_member", "no_rows"}


def test_a_formula_over_a_rollup_line_means_its_node(tmp_path: Path) -> None:
    leaves = {"NetSales": "92", "COGS": "40", "Opex": "30", "Taxes": "6"}
    books = tree_books(
        tmp_path,
        leaves,
        NESTED,
        lines="""
            - {rollup: {metric: amount, dimension: tree, node: OperatingProfit, depth: 0}, key: operating}
            - {rollup: {metric: amount, dimension: tree, node: Opex}, key: opex, sign: negate}
            - {formula: {key: before, label: Before opex, is: operating - opex}}
        """,
    )
    report = books.statement("pnl", scenarios=A, period=JAN)
    assert figures(report, "line") == {"operating": 22, "opex": -30, "before": 52}


TURNING = """
node    parent weight
Net     -      1
Sales   Net    1
Costs   Net    -1
Rebates Costs  -1
Heads   Net    0
Staff   Heads  1
"""


def test_what_is_good_turns_with_every_sign_on_the_way_down(tmp_path: Path) -> None:
    books = tree_books(
        tmp_path,
        {"Sales": "100", "Costs": "40", "Rebates": "5", "Staff": "12"},
        TURNING,
        lines="""
            - {rollup: {metric: amount, dimension: tree, node: Net}}
            - {rollup: {metric: amount, dimension: tree, node: Costs, depth: 0}, key: costs, sign: negate}
        """,
    )
    report = books.statement("pnl", scenarios=A, period=JAN)
    assert figures(report, "line")["tree.Net"] == 100 - (40 - 5)
    assert {line.key: (line.kind, line.favourable.value) for line in report.lines} == {
        "tree.Net": ("node", "up"),
        "tree.Sales": ("node", "up"),
        "tree.Costs": ("node", "down"),
        "tree.Costs/(own)": ("own", "down"),
        "tree.Rebates": ("node", "up"),
        "tree.Heads": ("memo", "none"),
        "tree.Staff": ("node", "none"),
        "costs": ("node", "down"),
    }


def test_a_hierarchy_weighs_a_leaf_once(tmp_path: Path) -> None:
    leaves = {"NetSales": "92", "COGS": "40", "Opex": "30", "Taxes": "6"}
    line = "- {rollup: {metric: amount, dimension: tree, node: NetIncome, depth: 0}, key: income}"
    books = tree_books(tmp_path, leaves, NESTED, lines=line)
    under = books.statement("pnl", scenarios=A, period=JAN, filters={"tree": "GrossMargin"})
    assert figures(under, "line") == {"income": 92 - 40}
    by_node = books.statement("pnl", scenarios=A, period=JAN, dimensions=["tree"])
    assert figures(by_node, "tree") == {"OperatingProfit": 92 - 40 - 30, "Taxes": -6, None: 16}


def test_the_total_weighs_by_the_edges_of_the_roots(tmp_path: Path) -> None:
    nodes = "node parent weight\nPlus - 1\nMinus - -1\nHalf - .5"
    books = tree_books(tmp_path, {"Plus": "100", "Minus": "30", "Half": "8"}, nodes)
    report = books.metric("amount", scenarios=A, period=JAN, dimensions=["tree"])
    assert figures(report, "tree") == {"Plus": 100, "Minus": 30, "Half": 8, None: 100 - 30 + 4}


SHEET = "node parent weight\nSheet - 0\nAssets Sheet 1\nCash Assets 1\nLoans Assets .5\nDebts Sheet -1"


def sheet_books(folder: Path) -> Door:
    """A balance sheet whose root weighs 0, with rows that can be inspected."""
    return small_books(
        folder,
        facts={
            "gl": """
            date       scenario branch amount
            2021-01-05 actual   Cash   60
            2021-01-06 actual   Cash   40
            2021-01-05 actual   Loans  30
            2021-01-05 actual   Debts  80
            """
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {branch: branch}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              amount: {measure: amount}
              assets: {measure: amount, where: {tree: Assets}}
              postings: {over_members: count}
              sheet_postings: {over_members: count, where: {tree: Sheet}}
            """
        },
        dimensions="""
            branch: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: branch, nodes: live.tree}
        """,
        tables={"tree": SHEET},
    )


def totals_and_rows(books: Door, metric: str, **asked: Any) -> tuple[Decimal | None, Decimal | None, list[float]]:
    """Return the total of a breakdown by the tree, what its drill call ties to, and what each row contributes."""
    report = books.metric(metric, scenarios=A, period=JAN, dimensions=["tree"], **asked)
    result = answer(report, 10**9)
    ((_, _, call),) = calls(result["rows"][-1], result["columns"][0])
    behind = figure_behind(call, lambda asked: rows_of(books, **asked))
    return figures(report, "tree")[None], behind, [row[-1] for row in rows_of(books, **call)["rows"]]


def test_the_nodes_of_a_metric_are_the_top_of_a_breakdown(tmp_path: Path) -> None:
    books = sheet_books(tmp_path)
    assert figure(books.metric("assets", scenarios=A, period=JAN)) == 60 + 40 + 15
    by_tree = books.metric("assets", scenarios=A, period=JAN, dimensions=["tree"])
    assert figures(by_tree, "tree") == {"Assets": 115, None: 115}  # the edge of weight 0 above Sheet does not count
    assert totals_and_rows(books, "assets") == (115, 115, [60, 15, 40])
    assert totals_and_rows(books, "assets", filters={"tree": "Sheet"}) == (115, 115, [60, 15, 40])
    assert totals_and_rows(books, "assets", filters={"tree": "(all)"}) == (115, 115, [60, 15, 40])
    assert totals_and_rows(books, "assets", filters={"tree": {"exclude": ["Loans"]}}) == (100, 100, [60, 40])


def test_the_nodes_of_a_filter_are_the_top_of_a_breakdown(tmp_path: Path) -> None:
    books = sheet_books(tmp_path)
    under = {"tree": "Sheet"}
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters=under)) == 115 - 80
    by_tree = books.metric("amount", scenarios=A, period=JAN, dimensions=["tree"], filters=under)
    assert figures(by_tree, "tree") == {"Assets": 115, "Debts": 80, None: 35}
    without = books.metric("amount", scenarios=A, period=JAN, dimensions=["tree"])
    assert figures(without, "tree") == {"Assets": 115, "Debts": 80, None: None}  # weighted to the root


def test_weights_never_scale_a_count(tmp_path: Path) -> None:
    books = sheet_books(tmp_path)
    for metric in ("postings", "sheet_postings"):
        by_tree = books.metric(metric, scenarios=A, period=JAN, dimensions=["tree"], filters={"tree": "Sheet"})
        assert figures(by_tree, "tree") == {"Assets": 3, "Debts": 1, None: 4}
        assert totals_and_rows(books, metric, filters={"tree": "Sheet"}) == (4, 4, [1, 1, 1, 1])
    assert figures(books.metric("postings", scenarios=A, period=JAN, dimensions=["tree"]), "tree")[None] is None


def weighted(report: Report) -> list[dict[str, Any]]:
    """Return the names in the notes on weighted rows."""
    return [dict(note.about) for note in report.notes if note.code == "weighted_rows"]


def into_parent(report: Report) -> dict[str, Any]:
    """Return what each row of an answer counts for in the total, where it says so."""
    return {row["key"]: row["into_parent"] for row in answer(report, 10**9)["rows"] if "into_parent" in row}


def test_rows_of_a_weighted_tree_say_what_they_count_for_in_the_total(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"scenarios": A, "period": JAN, "dimensions": ["tree"]}
    books = sheet_books(tmp_path)
    under = books.metric("amount", filters={"tree": "Sheet"}, **asked)
    assert figures(under, "tree") == {"Assets": 115, "Debts": 80, None: 115 - 80}
    assert into_parent(under) == {"Debts": -1}
    assert weighted(under) == [{"dimensions": "tree", "says": ROWS}]
    whole = books.metric("amount", "postings", **asked)
    assert into_parent(whole) == {"Assets": 0, "Debts": 0}
    both = "amount of A: blank against 210, postings of A: blank against 4"
    assert weighted(whole) == [
        {"dimensions": "tree", "says": ROWS},
        {"dimensions": "tree", "says": f"{TOTAL} ({both})"},
    ]
    assets = books.metric("assets", **asked)
    assert (into_parent(assets), weighted(assets)) == ({}, [])  # its own node is the top
    below = books.metric("amount", filters={"tree": "Assets"}, **asked)
    assert figures(below, "tree") == {"Cash": 100, "Loans": 30, None: 115}
    assert into_parent(below) == {"Loans": 0.5}
    branches = books.metric("amount", scenarios=A, period=JAN, dimensions=["branch"])
    assert (into_parent(branches), weighted(branches)) == ({}, [])


def test_weights_of_two_hierarchies_multiply(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={"gl": "date scenario branch amount\n2021-01-05 actual A 100\n2021-01-05 actual B 40"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {branch: branch}
            measures: {amount: {places: 2}}
            metrics:
              amount: {measure: amount}
            """
        },
        dimensions="""
            branch: {kind: leaf}
            share: {kind: ragged, leaf_dimension: branch, nodes: live.share}
            sign: {kind: ragged, leaf_dimension: branch, nodes: live.sign}
        """,
        tables={
            "share": "node parent weight\nGroup - 1\nA Group .5\nB Group .25",
            "sign": "node parent weight\nNet - 1\nA Net -1\nB Net 3",
        },
    )
    asked = {"share": "Group", "sign": "Net"}
    assert figure(books.metric("amount", scenarios=A, period=JAN, filters=asked)) == -50 + 30
    crossed = books.metric("amount", scenarios=A, period=JAN, filters={"share": "Group"}, dimensions=["sign"])
    assert figures(crossed, "sign") == {"A": 50, "B": 10, None: -50 + 30}
