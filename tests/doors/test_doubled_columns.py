"""Columns that two headings name, and columns of validity: refused by name wherever they stand, with a way on."""

from pathlib import Path

import pytest
from openpyxl import Workbook

from server.ingest.load import BindingFailed
from tests.doors.case_books import CASES, CaseBooks, copy_case

ROWS = (("date", "account", "amount", "amount"), ("2026-01-02", "A", 10, 11.3), ("2026-01-03", "A", 4, 4.52))
FEED = "file: gl.csv"


def ledger(folder: Path, feed: str) -> Path:
    """Return the instance of two columns of amounts, whose feed says something else in place of its file."""
    books = copy_case(CASES / "reports" / "same_heading" / "instance", folder)
    path = books / "integrations.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(FEED, feed), encoding="utf-8")
    return books


@pytest.mark.parametrize(("chosen", "total"), [("amount_1", "14"), ("amount_2", "15.82")])
def test_a_feed_chooses_one_of_two_columns_of_one_name(tmp_path: Path, chosen: str, total: str) -> None:
    books = CaseBooks(ledger(tmp_path, f"{FEED}, map: {{amount: {chosen}}}"))
    assert str(books.figure("sales", "2026-01")) == total


def test_two_columns_of_one_name_in_a_workbook_are_refused_by_both(tmp_path: Path) -> None:
    folder = ledger(tmp_path, "file: gl.xlsx")
    made = Workbook()
    for row in ROWS:
        made.active.append(row)
    made.save(folder / "data" / "gl.xlsx")
    with pytest.raises(BindingFailed, match="'amount' names two columns of gl, here amount_1 and amount_2"):
        CaseBooks(folder)


def test_two_columns_of_one_name_that_no_feed_reads_are_no_fault(tmp_path: Path) -> None:
    folder = ledger(tmp_path, FEED)
    (folder / "data" / "gl.csv").write_text("date,account,amount,note,note\n2026-01-02,A,10,x,y\n", encoding="utf-8")
    assert CaseBooks(folder).figure("sales", "2026-01") == 10


@pytest.mark.parametrize("heading", ["Valid To", "effective_from", "VALID-UNTIL"])
def test_columns_of_validity_are_refused_by_name(tmp_path: Path, heading: str) -> None:
    folder = copy_case(CASES / "reports" / "moved_centre" / "instance", tmp_path)
    (folder / "data" / "org.csv").write_text(
        f"node,parent,{heading}\nOnline,,\nK1,Online,2025-09\nK2,Online,\nK7,Online,\n", encoding="utf-8"
    )
    with pytest.raises(BindingFailed, match=f"'{heading}', and validity is not read"):
        CaseBooks(folder)
