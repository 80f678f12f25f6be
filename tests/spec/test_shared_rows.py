"""Rows of a breakdown that share leaves say so, with the amount that they count twice.

Rules: Weights.
"""

from decimal import Decimal
from pathlib import Path

import pytest

from engine.door import Door
from engine.model.notes import NOTES, Severity
from engine.model.scope import OWN_WORDS
from engine.present.answers.explanations import REST
from engine.report.data import OTHERS
from engine.report.explanation import SHARED, VOLUME, WITHOUT_VOLUME
from server.ingest.load import BindingFailed
from tests.support.books.small import codes, figures, granting, small_books

GROUPS = "node parent\nExport -\nKey -\nc1 Export\nc2 Key\nc3 Export\nc3 Key"
NESTED = "node parent\nAll -\nA All\nB All\nX A\nX B\nc1 X\nc2 A\nc3 B"
ROWS = """
    date       scenario customer amount
    2026-01-02 actual   c1       70
    2026-01-02 actual   c2       20
    2026-01-02 actual   c3       33
"""
A = {"A": "actual"}


def grouped(folder: Path, groups: str = GROUPS, rows: str = ROWS) -> Door:
    """Return sales by customers in groups that share some."""
    return small_books(
        folder,
        facts={"gl": rows},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {customer: customer}
            measures: {amount: {places: 2}}
            metrics: {sales: {measure: amount}, most: {measure: amount, over_members: max}}
            """
        },
        dimensions="customer: {kind: leaf}\ngroups: {kind: ragged, leaf_dimension: customer, nodes: live.groups}",
        tables={"groups": groups},
        profiles="seen: {scenarios: {'*': {}}}",
    )


@pytest.mark.parametrize(("groups", "twice"), [(GROUPS, "33"), (NESTED, "70")])
def test_rows_that_share_leaves_say_what_they_count_twice(tmp_path: Path, groups: str, twice: str) -> None:
    report = grouped(tmp_path, groups).metric("sales", scenarios=A, period="2026-01", dimensions=["groups"])
    assert figures(report, "groups")[None] == Decimal(123)
    (said,) = (note for note in report.notes if note.code == "shared_rows")
    assert said.message.endswith(f"so they do not add up to the total: sales of actual counts {twice} twice.")


def test_other_breakdowns_carry_no_such_note(tmp_path: Path) -> None:
    books = grouped(tmp_path)
    assert "shared_rows" not in codes(books.metric("sales", scenarios=A, period="2026-01", dimensions=["customer"]))
    one = books.metric("sales", scenarios=A, period="2026-01", dimensions=["groups"], filters={"groups": ["Export"]})
    assert "shared_rows" not in codes(one)


def test_what_is_shared_is_told_of_what_the_caller_sees(tmp_path: Path) -> None:
    grouped(tmp_path)
    few = granting(tmp_path, "{'*': {dimensions: {customer: {allow: [c1, c2]}}}}")
    report = few.metric("sales", scenarios=A, period="2026-01", dimensions=["groups"])
    assert "shared_rows" not in codes(report)


def test_rows_of_no_known_scenario_share_leaves_but_count_nothing_twice(tmp_path: Path) -> None:
    report = grouped(tmp_path).metric("sales", scenarios={"X": "planned"}, period="2026-01", dimensions=["groups"])
    assert not report.columns
    (said,) = (note for note in report.notes if note.code == "shared_rows")
    assert said.message.endswith("so they do not add up to the total.")


def test_the_note_is_a_caution() -> None:
    assert NOTES["shared_rows"].severity is Severity.CAUTION


@pytest.mark.parametrize("word", [*sorted(OWN_WORDS), "X/(own)"])
def test_a_load_rejects_an_id_that_is_a_word_of_the_product(tmp_path: Path, word: str) -> None:
    with pytest.raises(BindingFailed, match="1 of 4 rows rejected"):
        grouped(tmp_path, rows=f"{ROWS}\n2026-01-02 actual {word} 5")
    with pytest.raises(BindingFailed, match="1 of 7 rows rejected"):
        grouped(tmp_path / "nodes", f"{GROUPS}\n{word} Key")


def test_every_word_is_in_the_list() -> None:
    assert {OTHERS, SHARED, VOLUME, WITHOUT_VOLUME} <= OWN_WORDS
    assert OTHERS in REST
