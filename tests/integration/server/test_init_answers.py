"""tieout init: what it prints when it stops, and that doing as it says works or names what the file must look like."""

from decimal import Decimal
from pathlib import Path

import pytest

from tests.support.newcomer import first_statement, initialised

OF_ONE_NUMBER = "write amounts in the file as 1234.50 or -1234.50, with a hyphen in front as the minus"


def ledger(folder: Path, days: tuple[str, str, str], amounts: tuple[str, str, str]) -> Path:
    """Return a file of three postings."""
    rows = zip(days, ("0400", "0400", "8400"), amounts, strict=True)
    path = folder / "gl.csv"
    path.write_text("\n".join(["Datum;Konto;Betrag", *map(";".join, rows)]) + "\n", encoding="utf-8")
    return path


DAYS = ("31.12.2025", "30.11.2025", "30.12.2025")
AMOUNTS = ("1.234,50", "-2.234,50", "-99,99")


@pytest.mark.parametrize(
    ("amounts", "strange"),
    [
        (("1.234,50 S", "2.234,50 H", "99,99 H"), "1.234,50 S"),
        (("1.234,50 €", "-2.234,50 €", "-99,99 €"), "1.234,50 €"),
        (("1.234,50", "–2.234,50", "–99,99"), "–2.234,50"),
    ],
)
def test_amounts_that_no_load_reads_are_refused_by_their_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], amounts: tuple[str, str, str], strange: str
) -> None:
    file = ledger(tmp_path, DAYS, amounts)
    assert initialised(tmp_path / "books", file) == 1
    told = capsys.readouterr().err
    assert f"gl.csv has no column of amounts (Datum: time, Konto: account, Betrag: text): Betrag '{strange}'" in told
    assert OF_ONE_NUMBER in told
    says = "files: {gl.csv: {is: facts, columns: {Betrag: amount}}}\n"
    assert initialised(tmp_path / "books", file, answers=says) == 1
    assert f"'{strange}' is no number that a load reads: {OF_ONE_NUMBER}" in capsys.readouterr().err


@pytest.mark.parametrize("amounts", [("1,50", "−2,50", "3,50"), ("1,50", "- 2,50", "3,50")])
def test_amounts_that_only_detection_reads_are_not_proposed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], amounts: tuple[str, str, str]
) -> None:
    assert initialised(tmp_path / "books", ledger(tmp_path, DAYS, amounts)) == 1
    assert f"gl.csv: Betrag, row 3: '{amounts[1]}' is no number that a load reads" in capsys.readouterr().err


@pytest.mark.parametrize(
    "days",
    [
        ("31.12.2025 00:00", "30.11.2025 00:00", "30.12.2025 00:00"),
        ("31. Dezember 2025", "30. November 2025", "30. Dezember 2025"),
        ("012.2025", "011.2025", "012.2025"),
    ],
)
def test_days_in_the_forms_of_other_systems_are_read(tmp_path: Path, days: tuple[str, str, str]) -> None:
    assert initialised(tmp_path / "books", ledger(tmp_path, days, AMOUNTS)) == 0
    figures = first_statement(tmp_path / "books", tmp_path / "state")
    assert figures["Betrag"] == Decimal("-1099.99")  # 1234.50 - 2234.50 - 99.99, November and December


def test_days_that_nothing_reads_are_answered_with_a_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ledger(tmp_path, ("31~12~2025", "30~11~2025", "30~12~2025"), AMOUNTS)
    assert initialised(tmp_path / "books", file) == 1
    assert "say files: {gl.csv: {is: facts, columns: {COLUMN: time}}}" in capsys.readouterr().err
    assert initialised(tmp_path / "books", file, answers="files: {gl.csv: {columns: {Datum: time}}}\n") == 1
    told = capsys.readouterr().err
    assert "gl.csv: Datum is no column of days, months or years: '31~12~2025' is none; say files:" in told
    says = 'files: {gl.csv: {dates: {format: "%d~%m~%Y"}, columns: {Datum: time}}}\n'
    assert initialised(tmp_path / "books", file, answers=says) == 0
    assert first_statement(tmp_path / "books", tmp_path / "state")["Betrag"] == Decimal("-1099.99")
