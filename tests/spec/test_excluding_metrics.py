"""Metrics whose `where` excludes members: every other row counts, weighed as if the exclusion were not there.

Rules: Over members, Weights.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.books.books import Shelf
from engine.books.checks import data_faults
from engine.books.completeness import completeness
from engine.door import Door, open_books
from engine.instance.documents import InstanceFaults
from engine.instance.read import STORE
from engine.present.answers.catalogue import metric_json
from server.feeds.instance import read_instance
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, figure, figures, small_books

TREE = """node parent weight
Net - 1
Gross Net 1
Returns Net -1
Discounts Net -1"""
POSTED = {"Gross": 100, "Returns": 5, "Discounts": 3, "Late": 12, "-": 1}
METRICS = """
  all: {measure: amount}
  kept: {measure: amount, where: {tree: {exclude: [Returns]}}}
  beside: {measure: amount, where: {account: {exclude: [Gross, Nobody]}, tree: [Net]}}
  largest: {measure: amount, over_members: max, where: {account: {exclude: Gross}}}
  lost: {measure: amount, where: {account: {exclude: [Nobody]}}}
"""
FEW = "few: {scenarios: {'*': {dimensions: {account: {allow: [Gross, Discounts]}}}}}"
ASKED: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2026-01"}


def ledger(folder: Path, metrics: str = METRICS, profiles: str = "") -> Door:
    """Return books of a weighted tree, an account outside of it, and a row without an account."""
    rows = [f"2026-01-09 actual {account} {amount}" for account, amount in POSTED.items()]
    return small_books(
        folder,
        facts={"gl": "\n".join(["date scenario account amount", *rows])},
        domains={
            "gl": f"""
time: {{column: date}}
dimensions: {{account: account}}
measures: {{amount: {{places: 2}}}}
inspect_enabled: true
metrics:{metrics}"""
        },
        dimensions="""
            account: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
        """,
        tables={"tree": TREE},
        profiles=profiles,
    )


def test_an_exclusion_only_selects_and_the_call_weighs(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    assert figures(books.metric("all", "kept", "beside", "largest", **ASKED), "metric") == {
        "all": sum(POSTED.values()),
        "kept": 100 + 3 + 12 + 1,
        "beside": -5 - 3,
        "largest": 12,
    }
    assert figure(books.metric("kept", **ASKED, filters={"tree": ["Net"]})) == 100 - 3
    by_tree = figures(books.metric("kept", **ASKED, dimensions=["tree"]), "tree")
    assert by_tree == {"Gross": 100, "Discounts": 3, "(unassigned)": 13, None: 100 - 3 + 13}


def test_a_filter_that_excludes_the_same_members_changes_nothing(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    kept = figure(books.metric("kept", **ASKED))
    assert figure(books.metric("kept", **ASKED, filters={"account": {"exclude": ["Returns"]}})) == kept
    assert figure(books.metric("all", **ASKED, filters={"account": {"exclude": ["Returns"]}})) == kept


@pytest.mark.parametrize("metric", ["kept", "beside", "lost"])
def test_the_rows_behind_an_exclusion_tie(tmp_path: Path, metric: str) -> None:
    books = ledger(tmp_path)
    result = answer(books.metric(metric, **ASKED), 10**9)
    ((_, _, call),) = calls(result["rows"][0], result["columns"][0])
    assert figure_behind(call, lambda asked: rows_of(books, **asked)) == figure(books.metric(metric, **ASKED))


def test_a_permission_cuts_and_hides_what_it_cuts(tmp_path: Path) -> None:
    ledger(tmp_path, profiles=FEW)
    few = open_books(tmp_path / "small", state=tmp_path / "state", profile="few")
    assert figure(few.metric("kept", **ASKED)) == 100 + 3
    assert "where" not in metric_json(few.reader.metrics["kept"], few.reader)
    assert metric_json(few.reader.metrics["beside"], few.reader)["where"]["account"] == {"exclude": ["Gross"]}


def test_an_excluded_member_that_is_not_loaded_is_named(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    read = read_instance(tmp_path / "small")
    current = Shelf(read.catalogue, tmp_path / "state" / STORE).current()
    faults = [fault for fault in data_faults(current, ["gl"]) if "Nobody" in fault]
    assert [fault.partition(": ")[2] for fault in faults] == [
        "metric beside: account has no 'Nobody'",
        "metric lost: account has no 'Nobody'",
    ]
    remarks = [remark for remark in completeness(current, ["gl"]) if "no longer has" in remark]
    assert [remark.partition(": ")[2] for remark in remarks] == [
        "metric lost names 'Nobody', which account no longer has"
    ]
    assert figure(books.metric("lost", **ASKED)) == Decimal(sum(POSTED.values()))
    assert "condition_unmet" not in codes(books.metric("lost", **ASKED))


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("{account: {exclude: []}}", "where.account.exclude is too short: it takes 1 at least"),
        ("{account: {without: [Gross]}}", "unknown key 'metrics.x.where.account.without'"),
        ("{account: {}}", "where.account.exclude is missing"),
        ("{amount: {exclude: [5]}}", "x: amount has amounts, not members to exclude"),
        ("{centre: {exclude: [A]}}", "gl cannot be restricted by 'centre'"),
        ("{account: [[Gross]]}", "where.account.0 is no text"),
    ],
)
def test_an_exclusion_that_cannot_be_read_is_a_fault(tmp_path: Path, where: str, fault: str) -> None:
    with pytest.raises(InstanceFaults) as found:
        ledger(tmp_path, f"\n  x: {{measure: amount, where: {where}}}\n")
    assert fault in str(found.value)
