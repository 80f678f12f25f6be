"""tieout init: what it prints when it stops, and that doing as it says works or names what the file must look like."""

from decimal import Decimal
from pathlib import Path

import pytest
import xlsxwriter

from tests.support.forking import tieout
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


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Konto;Bezeichnung;Q1;Q2;Q3;Q4\n0400;Maschinen;1;2;3;4\n8400;Erlöse;5;6;7;8\n", "Q1, Q2, Q3, Q4"),
        ("Konto;Bezeichnung;Betrag\n0400;Maschinen;1\n8400;Erlöse;5\n", "Betrag"),
        ("Konto;Bezeichnung;Jahr gesamt\n0400;Maschinen;1,50\n8400;Erlöse;5,00\n", "Jahr gesamt '1,50'"),
        ("Datum;Konto;Betrag\n31.12.2025;0400;1,50 €\n30.12.2025;8400;2,50 €\n", "Betrag '1,50 €'"),
    ],
)
def test_a_file_of_amounts_is_never_left_out_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, numbers: str
) -> None:
    plan = tmp_path / "Plan_2025.csv"
    plan.write_text(text, encoding="utf-8")
    files = (ledger(tmp_path, DAYS, AMOUNTS), plan)
    assert initialised(tmp_path / "books", *files) == 1
    told = capsys.readouterr().err
    assert f"and its numbers ({numbers}) would not be loaded" in told
    assert "say files: {Plan_2025.csv: {is: members}} or {is: unused}" in told
    for kind in ("members", "unused"):
        says = f"files: {{Plan_2025.csv: {{is: {kind}}}}}\n"
        assert initialised(tmp_path / f"books_{kind}", *files, answers=says) == 0


def test_a_level_and_an_order_of_members_are_no_amounts_and_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = tmp_path / "accounts.csv"
    chart.write_text("Konto;Bezeichnung;Level;Sort\n0400;Maschinen;1;10\n8400;Erlöse;2;20\n", encoding="utf-8")
    assert initialised(tmp_path / "books", ledger(tmp_path, DAYS, AMOUNTS), chart) == 0
    told = capsys.readouterr().out
    assert "  Level: not loaded — a number in a table without days, which fills members\n" in told
    assert "  Sort: not loaded — a number in a table without days, which fills members\n" in told


def test_a_name_that_two_columns_have_is_refused_and_no_other_separator_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "Journal.csv"
    journal.write_text("Datum;Konto;Text;Betrag;Text\n31.12.2025;0400;a;1,50;b\n30.12.2025;8400;a;2,50;c\n")
    assert initialised(tmp_path / "books", ledger(tmp_path, DAYS, AMOUNTS), journal) == 1
    told = capsys.readouterr().err
    assert "Journal.csv: row 1 names two columns 'Text'; give each column a name of its own" in told


def test_a_sheet_with_a_name_that_two_columns_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = xlsxwriter.Workbook(tmp_path / "Journal.xlsx")
    sheet = book.add_worksheet("J")
    sheet.write_row(0, 0, ["Datum", "Konto", "Text", "Betrag", "Text"])
    sheet.write_row(1, 0, ["31.12.2025", "0400", "a", 1.5, "b"])
    book.close()
    assert initialised(tmp_path / "books", tmp_path / "Journal.xlsx") == 1
    assert "Journal.xlsx [J]: row 1 names two columns 'Text'" in capsys.readouterr().err


def test_a_load_that_fails_says_what_to_do_next(tmp_path: Path) -> None:
    file = tmp_path / "gl.csv"
    rows = [f"2025-12-{day:02},0400,1.50" for day in range(1, 20)]
    file.write_text("\n".join(["date,account,amount", *rows, "soon,0400,2.50"]) + "\n", encoding="utf-8")
    books = tmp_path / "books"
    made = tieout("init", books, "--from", file, SVC_STATE_DIR=str(tmp_path / "state"))
    assert made.returncode == 1
    assert f"Written, and not loaded. Edit {books} and run: tieout load --instance {books}; or mend" in made.stderr
