"""Finance cases T52-T56: what a profile hides is not there, in any figure, row, hit or note."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door, open_books
from engine.errors import Refusal
from engine.requests import SearchRequest
from engine.search.search import search
from tests.support.books import load_instance
from tests.support.small import codes, figure, figures, write_instance

JAN = "2021-01"
A = {"A": "actual"}


def books_of(folder: Path, rows: str, grant: str, **parts: Any) -> Door:
    """Amounts by product as the profile `seen` sees them."""
    instance = write_instance(
        folder / "small",
        facts={"gl": f"date scenario product amount\n{rows}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount}
            """
        },
        dimensions="""
            product: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
        """,
        tables={"tree": "node parent\nNorth -\nSouth -\nWest -\nX North\nY North\nZ South\nW West"},
        profiles=f"seen: {{scenarios: {grant}}}\nwhole: {{scenarios: {{'*': {{}}}}}}\n",
        **parts,
    )
    load_instance(instance, folder / "state")
    return open_books(instance, state=folder / "state", profile="seen")


def test_t52_a_hidden_member_is_not_there(tmp_path: Path) -> None:
    rows = "2021-01-05 actual A 100\n2021-01-05 actual B 50"
    books = books_of(tmp_path, rows, "{'*': {dimensions: {product: {deny: [B]}}}}")
    report = books.metric("revenue", scenarios=A, period=JAN, dimensions=["product"])
    assert figures(report, "product") == {"A": 100, None: 100}
    assert search(SearchRequest(query="B", dimension="product"), books.reader).records == ()
    hidden = books.metric("revenue", scenarios=A, period=JAN, filters={"product": "B"})
    unknown = books.metric("revenue", scenarios=A, period=JAN, filters={"product": "Q"})
    assert figure(hidden) is figure(unknown) is None
    assert [note.message.replace("'B'", "'Q'") for note in hidden.notes] == [note.message for note in unknown.notes]


def test_t53_shifted_view_and_variance_inside_the_scope(tmp_path: Path) -> None:
    rows = """
        2021-01-05 actual A 100
        2021-01-05 actual B 50
        2020-01-05 actual A 80
        2020-01-05 actual B 50
        2021-01-05 budget A 90
        2021-01-05 budget B 70
    """
    books = books_of(tmp_path, rows.strip(), "{'*': {dimensions: {product: {allow: [A]}}}}")
    columns = {
        "PY": "actual@py",
        "growth": "var_pct(actual,actual@py)",
        "V": "var(actual,budget)",
        "%": "var_pct(actual,budget)",
    }
    found = figures(books.metric("revenue", scenarios=columns, period=JAN), "alias")
    assert (found["PY"], found["growth"], found["V"]) == (80, Decimal("0.25"), 10)
    assert found["%"] == Decimal("0.111111111111111")


def test_t54_a_scenario_that_is_not_granted_does_not_exist(tmp_path: Path) -> None:
    rows = "2021-01-05 actual A 100\n2021-01-05 budget A 90"
    books = books_of(tmp_path, rows, "{actual: {}}")
    assert list(books.reader.scenarios) == ["actual"]
    columns = {"A": "actual", "V": "var(actual,budget)", "PY": "budget@py", "N": "nobody"}
    report = books.metric("revenue", scenarios=columns, period=JAN)
    assert [column.heading for column in report.columns] == ["A"]
    assert {note.message for note in report.notes if note.code == "unknown_scenario"} == {
        f"There is no scenario '{key}', so it was left out. list_scenarios names those that exist."
        for key in ("var(actual,budget)", "budget@py", "nobody")
    }
    none_left = books.metric("revenue", scenarios={"B": "budget"}, period=JAN)
    assert (none_left.columns, codes(none_left)) == ((), {"unknown_scenario"})


def test_t55_a_node_partly_or_wholly_hidden(tmp_path: Path) -> None:
    rows = "2021-01-05 actual X 70\n2021-01-05 actual Y 30\n2021-01-05 actual Z 20\n2021-01-05 actual W 1"
    books = books_of(tmp_path, rows, "{'*': {dimensions: {product: {deny: [Y, Z]}}}}")
    report = books.metric("revenue", scenarios=A, period=JAN, dimensions=["tree"])
    assert figures(report, "tree") == {"North": 70, "West": 1, None: 71}
    found = search(SearchRequest(dimension="tree"), books.reader)
    assert [hit.id for hit in found.hierarchy_nodes] == ["North", "X", "West", "W"]
    south = books.metric("revenue", scenarios=A, period=JAN, filters={"tree": "South"})
    assert (figure(south), codes(south)) == (None, {"unknown_member"})


@pytest.mark.parametrize(("restriction", "total"), [("allow: [A]", 100), ("deny: [C]", 105)])
def test_t56_the_null_member_is_outside_allow_and_inside_deny(tmp_path: Path, restriction: str, total: int) -> None:
    rows = "2021-01-05 actual A 100\n2021-01-05 actual C 20\n2021-01-05 actual - 5"
    books = books_of(tmp_path, rows, f"{{'*': {{dimensions: {{product: {{{restriction}}}}}}}}}")
    assert figure(books.metric("revenue", scenarios=A, period=JAN)) == total


def test_a_deny_by_node_hides_leaves_that_no_node_holds(tmp_path: Path) -> None:
    rows = "2021-01-05 actual X 70\n2021-01-05 actual Z 20\n2021-01-05 actual stray 7\n2021-01-05 actual - 5"
    books = books_of(tmp_path, rows, "{'*': {dimensions: {tree: {deny: [South]}}}}")
    assert figure(books.metric("revenue", scenarios=A, period=JAN)) == 70


@pytest.mark.parametrize("grant", ["{'*': {dimensions: {product: {deny: [nobody]}}}}"])
def test_a_profile_that_denies_what_does_not_exist_closes(tmp_path: Path, grant: str) -> None:
    books = books_of(tmp_path, "2021-01-05 actual A 100", grant)
    assert list(books.reader.scenarios) == []
    with pytest.raises(Refusal, match="There is no metric 'revenue'"):
        books.metric("revenue", scenarios=A, period=JAN)


def test_sides_of_different_scope_are_compared_inside_both(tmp_path: Path) -> None:
    rows = "2021-01-05 actual A 100\n2021-01-05 actual B 50\n2021-01-05 budget A 90\n2021-01-05 budget B 70"
    books = books_of(tmp_path, rows, "{actual: {}, budget: {dimensions: {product: {allow: [A]}}}}")
    columns = {"A": "actual", "B": "budget", "V": "var(actual,budget)"}
    report = books.metric("revenue", scenarios=columns, period=JAN)
    assert figures(report, "alias") == {"A": 150, "B": 90, "V": 10}
    assert "scope_differs" in codes(report)
