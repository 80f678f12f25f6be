"""Conditions that no member meets any more: a note on every figure that uses the metric, and a word at the load.

Rules: Over members.
"""

from decimal import Decimal
from pathlib import Path

from engine.books.books import Shelf
from engine.books.completeness import completeness
from engine.door import Door, open_books
from engine.instance.read import STORE
from engine.model.notes import NOTES, Severity
from server.feeds.instance import read_instance
from tests.support.books.inspected import rows_of
from tests.support.books.loads import load_instance
from tests.support.books.small import codes, figures, small_books

ACCOUNTS = "id name class\n10 x Fees\n20 y Other"
FEW = "few: {scenarios: {'*': {dimensions: {class: {allow: [Other]}}}}}"
A = {"A": "actual"}


def fee_books(folder: Path, accounts: str = ACCOUNTS, profiles: str = "") -> Door:
    """Return books of fees and the rest."""
    return small_books(
        folder,
        facts={"gl": "date scenario account amount\n2026-01-09 actual 10 940\n2026-01-09 actual 20 310"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              everything: {measure: amount}
              part: {measure: amount, where: {class: [Fees, Charges]}}
              known: {measure: amount, where: {class: [Other, Charges]}}
              rest: {formula: everything - part}
            """
        },
        dimensions="""
            account: {kind: leaf, members: live.account}
            class: {kind: derived, from: account, attribute: class}
        """,
        tables={"account": accounts},
        profiles=profiles,
    )


def renamed(folder: Path) -> Door:
    """Return the same books once another load has renamed the class."""
    instance = folder / "small"
    (instance / "data" / "account.csv").write_text("id,name,class\n10,x,Service fees\n20,y,Other\n")
    load_instance(instance, folder / "state")
    return open_books(instance, state=folder / "state")


def test_a_figure_says_that_no_member_meets_the_condition_of_a_metric(tmp_path: Path) -> None:
    before = fee_books(tmp_path).metric("rest", "part", "known", scenarios=A, period="2026-01")
    assert (figures(before, "metric")["rest"], codes(before)) == (Decimal(310), set())
    after = renamed(tmp_path).metric("rest", "part", "known", scenarios=A, period="2026-01")
    assert figures(after, "metric") == {"rest": Decimal(1250), "part": None, "known": Decimal(310)}
    (said,) = (note for note in after.notes if note.code == "condition_unmet")
    assert dict(said.about) == {"lines": ("rest", "part"), "metrics": ("part",)}


def test_rows_of_such_a_metric_say_so_too(tmp_path: Path) -> None:
    fee_books(tmp_path)
    month = {"period_start": "2026-01", "period_end": "2026-01"}
    rows = rows_of(renamed(tmp_path), filters={"metric": "rest"}, **month)
    assert "condition_unmet" in [said["code"] for said in rows["notes"]]


def test_a_load_says_which_metric_names_what_is_no_longer_there(tmp_path: Path) -> None:
    fee_books(tmp_path)
    renamed(tmp_path)
    read = read_instance(tmp_path / "small")
    remarks = list(completeness(Shelf(read.catalogue, tmp_path / "state" / STORE).current(), ["gl"]))
    (said,) = (remark for remark in remarks if "names" in remark)
    assert said.endswith("metric part names 'Fees' or 'Charges', which class no longer has")


def test_a_member_that_is_hidden_is_one_that_is_not_there(tmp_path: Path) -> None:
    fee_books(tmp_path, profiles=FEW)
    few = open_books(tmp_path / "small", state=tmp_path / "state", profile="few")
    hidden = few.metric("part", scenarios=A, period="2026-01").notes
    renamed(tmp_path)
    few = open_books(tmp_path / "small", state=tmp_path / "state", profile="few")
    (gone,) = [
        note for note in few.metric("part", scenarios=A, period="2026-01").notes if note.code == "condition_unmet"
    ]
    assert gone in hidden
    assert "Fees" not in gone.message


def test_the_note_is_a_caution() -> None:
    assert NOTES["condition_unmet"].severity is Severity.CAUTION
