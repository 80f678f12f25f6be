"""Completeness: what trees and statements leave out of the books, reach twice or weigh with 0 is told with amounts."""

from pathlib import Path

import pytest

from engine.books import books as books_module
from engine.books.books import Shelf
from engine.books.completeness import completeness
from server.feeds.instance import read_instance
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

DOMAIN = """
    time: {column: date}
    dimensions: {account: account}
    measures: {hours: {type: number, places: 0}, amount: {places: 2}}
    metrics:
      revenue: {measure: amount, where: {pnl: REV}}
      costs: {measure: amount, where: {pnl: COST}}
      profit: {formula: revenue - costs}
"""
FACTS = """
    date       scenario account hours amount
    2021-01-05 actual   4000    1     1000.50
    2021-01-05 budget   4000    1     900
    2021-01-05 actual   5000    1     -400
    2021-02-05 actual   6000    1     -0.25
    2021-02-05 actual   9998    1     1000000
    2021-02-05 budget   9999    1     -3
    2021-02-05 actual   -       1     7
"""
NODES = "node parent weight\nRESULT - 1\nREV RESULT 1\nCOST RESULT 1\n4000 REV 1\n5000 COST 1\n6000 COST 1"
TREE = """
    account: {{kind: leaf}}
    pnl: {{kind: ragged, leaf_dimension: account, nodes: live.pnl, paths: {paths}}}
"""
OUTSIDE = "actual 1,000,007.00; budget -3.00 (9998, (unassigned), 9999)"


def remarks(
    folder: Path,
    nodes: str = NODES,
    lines: str = "- {metric: profit}",
    paths: str = "refuse",
    facts: str = FACTS,
    domain: str = DOMAIN,
) -> list[str]:
    """Return what completeness says of a small ledger with one tree and one statement."""
    instance = write_instance(
        folder / "small",
        facts={"gl": facts},
        domains={"gl": domain},
        dimensions=TREE.format(paths=paths),
        tables={"pnl": nodes},
        statements={"pnl": lines},
    )
    load_instance(instance, folder / "state")
    books = Shelf(read_instance(instance).catalogue, folder / "state" / "store").current()
    return [remark.removeprefix("dimensions.yaml:3: ") for remark in completeness(books, ["gl"])]


def test_members_with_postings_that_no_tree_holds_are_told_with_their_amounts(tmp_path: Path) -> None:
    of_tree, of_statement = remarks(tmp_path)
    assert of_tree == f"gl: no node of pnl holds 3 members of account with postings: {OUTSIDE}"
    assert of_statement == (
        f"statement pnl reaches 3 of 6 members of account with postings of gl; the others hold {OUTSIDE}; "
        "covers: {TREE: NODE} says which part it should reach"
    )


def test_amounts_are_those_of_all_months_and_loads(tmp_path: Path) -> None:
    later = "2021-03-05 actual 9998 1 -0.75\n    2021-03-05 actual - 1 1\n    2022-01-05 actual 9998 1 30"
    of_tree, _ = remarks(tmp_path, facts=f"{FACTS.rstrip()}\n    {later}")
    said = "actual 1,000,037.25; budget -3.00 (9998, (unassigned), 9999)"
    assert of_tree == f"gl: no node of pnl holds 3 members of account with postings: {said}"


def test_a_statement_that_says_what_it_covers_is_held_to_that(tmp_path: Path) -> None:
    (_, said) = remarks(tmp_path, lines="- {metric: revenue}\ncovers: {pnl: RESULT}")
    assert said == (
        "statement pnl reaches 1 of 3 members of account with postings of gl below RESULT; the others hold "
        "actual -400.25 (5000, 6000)"
    )
    assert len(remarks(tmp_path / "whole", lines="- {metric: profit}\ncovers: {pnl: RESULT}")) == 1


def test_a_root_of_weight_0_is_told(tmp_path: Path) -> None:
    assert remarks(tmp_path, NODES.replace("RESULT - 1", "RESULT - 0"))[1] == (
        "pnl: the weight of the root RESULT is 0, so totals by pnl leave out gl of actual 600.25; budget 900.00 "
        "(4000, 5000, 6000)"
    )


@pytest.mark.parametrize(("paths", "counts"), [("add", "counts by each path"), ("refuse", "counts once in a total")])
def test_members_reached_by_several_paths_are_told(tmp_path: Path, paths: str, counts: str) -> None:
    said = remarks(tmp_path, f"{NODES}\n5000 REV 1", paths=paths)[1]
    assert said.startswith(f"pnl reaches 1 member of account by several paths; each {counts}")
    assert said.endswith("gl actual -400.00 (5000)")


def test_rows_without_a_date_are_told_with_their_amounts(tmp_path: Path) -> None:
    facts = f"{FACTS.rstrip()}\n    - actual 4000 1 2500.25\n    - actual 5000 1 -0.25\n    - budget 4000 1 12"
    keeping = DOMAIN.replace("{column: date}", "{column: date, missing: keep}")
    instance = write_instance(
        tmp_path / "small",
        facts={"gl": facts},
        domains={"gl": keeping},
        dimensions=TREE.format(paths="refuse"),
        tables={"pnl": NODES},
    )
    load_instance(instance, tmp_path / "state")
    books = Shelf(read_instance(instance).catalogue, tmp_path / "state" / "store").current()
    assert next(completeness(books, ["gl"])) == (
        "gl: rows without a date are in no period; (undated) asks for them: "
        "actual 2 rows of 2,500.00; budget 1 row of 12.00"
    )


def test_a_tree_in_which_one_path_leads_to_each_leaf_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load beside a tree of a million nodes would wait for it; what is told is the same."""
    simple = DOMAIN.split("      revenue:", maxsplit=1)[0] + "      hours_of_all: {measure: hours}\n"
    asked = {"lines": "- {metric: hours_of_all}", "domain": simple}
    weighed = NODES.replace("RESULT - 1", "RESULT - 2")
    expected = remarks(tmp_path / "opened", weighed, **asked)
    assert any(OUTSIDE in remark for remark in expected)

    def opens(*_: object, **__: object) -> None:
        raise AssertionError("the tree is opened")

    monkeypatch.setattr(books_module, "ragged_nodes", opens)
    plain = NODES.replace(" weight", "").replace(" 1", "")
    assert remarks(tmp_path / "without", plain, **asked) == remarks(tmp_path / "one", **asked) == expected
    with pytest.raises(AssertionError, match="the tree is opened"):
        remarks(tmp_path / "weighed", weighed, **asked)
