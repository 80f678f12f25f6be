"""Controls that init writes: debits and credits that are equal in the rows of a table, and in each journal."""

from pathlib import Path

from server.files.sampling import sample_file
from server.setup.answers import Answers
from server.setup.facts import facts_table
from server.setup.proposal import profile_of

JOURNALS = """date,journal,account,debit,credit
2026-01-05,J1,4000,12.50,
2026-01-05,J1,1200,,12.50
2026-01-06,J2,4100,7.25,
2026-01-06,J2,1200,,5.00
2026-02-09,J2,1000,,2.25
2026-02-09,J3,4000,1.00,
2026-02-09,J3,1200,,1.00
"""
SIGNED = """date,account,amount
2026-01-05,4000,12.50
2026-01-05,1200,-12.50
2026-01-06,4100,7.25
2026-02-06,1200,-7.25
"""


def controls(folder: Path, text: str) -> object:
    """Return the control totals that init would write for a file."""
    (folder / "gl.csv").write_text(text, encoding="utf-8")
    (table,) = sample_file(folder / "gl.csv")
    return facts_table(profile_of(table, Answers()), Answers(), []).findings.keys.get("control_totals")


def test_debits_and_credits_that_are_equal_are_written_with_the_column_of_journals(tmp_path: Path) -> None:
    assert controls(tmp_path, JOURNALS) == {"balanced": True, "per": "journal"}


def test_what_does_not_hold_in_the_rows_is_not_written(tmp_path: Path) -> None:
    assert controls(tmp_path, JOURNALS.replace(",2.25", ",2.26")) is None
    assert controls(tmp_path, JOURNALS.replace("J2,1000", "J1,1000")) == {"balanced": True}


def test_signed_amounts_that_add_up_to_zero_balance_though_no_column_of_journals_does(tmp_path: Path) -> None:
    assert controls(tmp_path, SIGNED) == {"balanced": True}


def test_amounts_that_are_no_ledger_of_two_sides_have_no_control(tmp_path: Path) -> None:
    assert controls(tmp_path, SIGNED.replace("-7.25", "7.25")) is None
    assert controls(tmp_path, SIGNED.replace("12.50", "0").replace("7.25", "0")) is None
