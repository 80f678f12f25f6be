"""tieout init: what it prints when it stops, and that doing as it says works or names what the file must look like."""

from decimal import Decimal
from pathlib import Path

import pytest
import xlsxwriter

from server.feeds.instance import read_instance
from tests.support.books.newcomer import first_statement, initialised
from tests.support.service.forks import tieout

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
        (("1.234,50 €", "-2.234,50 $", "-99,99 €"), "1.234,50 €"),
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


@pytest.mark.parametrize(
    "amounts",
    [
        ("1,50", "- 2,50", "3,50"),
        ("1,50", "٢,50", "3,50"),
        ("1,50", "٢٫٥٠", "3,50"),
        ("1,50", "(١٬٢٣٤٫٥٠)", "3,50"),
        ("1,50", "１２３ 円", "3,50"),
    ],
)
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
        ("Konto;Bezeichnung;Jahr gesamt\n0400;Maschinen;1,50\n8400;Erlöse;5,00\n", "Jahr gesamt"),
        ("Datum;Konto;Betrag\n31.12.2025;0400;1,50 S\n30.12.2025;8400;2,50 H\n", "Betrag '1,50 S'"),
    ],
)
def test_a_file_of_amounts_is_never_left_out_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, numbers: str
) -> None:
    plan = tmp_path / "Plan_2025.csv"
    plan.write_text(text, encoding="utf-8")
    files = (ledger(tmp_path, DAYS, AMOUNTS), plan)
    assert initialised(tmp_path / "books", *files) == 3
    told = capsys.readouterr().err
    assert f"and its numbers ({numbers}) would not be loaded" in told
    assert "  Plan_2025.csv:\n" in told
    assert "  #- {is: members}   # they are no facts: a table of members\n  #- {is: unused}" in told
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


def test_texts_of_one_name_are_two_columns_and_no_other_separator_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "Journal.csv"
    journal.write_text("Datum;Konto;Text;Betrag;Text\n31.12.2025;0400;a;1,50;b\n30.12.2025;8400;a;2,50;c\n")
    assert initialised(tmp_path / "books", journal) == 0
    told = capsys.readouterr().out
    assert "Text_1: text" in told
    assert "Text_2: text" in told
    assert first_statement(tmp_path / "books", tmp_path / "state")["Betrag"] == 4


def test_a_load_that_fails_says_what_to_do_next(tmp_path: Path) -> None:
    file = tmp_path / "gl.csv"
    rows = [f"2025-12-{day:02},0400,1.50" for day in range(1, 20)]
    file.write_text("\n".join(["date,account,amount", *rows, "soon,0400,2.50"]) + "\n", encoding="utf-8")
    books = tmp_path / "books"
    made = tieout("init", books, "--from", file, SVC_STATE_DIR=str(tmp_path / "state"))
    assert made.returncode == 1
    assert f"Written, and not loaded. Edit {books} and run: tieout load --instance {books}; or mend" in made.stderr


PERIODS = "Belegdatum;Jahr;Periode;Konto;Betrag\n30.11.2025;2025;11;0400;-2,50\n02.01.2026;2025;12;8400;{}\n"


def test_days_and_periods_that_disagree_are_two_readings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "gl.csv"
    file.write_text(PERIODS.format("1,00"), encoding="utf-8")
    assert initialised(tmp_path / "books", file) == 3
    told = capsys.readouterr().err
    assert "# row 3 is of 2026-01 by Belegdatum ('02.01.2026') and of 2025-12 by Jahr and Periode" in told
    assert "#- {columns: {Belegdatum: time}}   # the day in Belegdatum" in told
    assert "#- {columns: {Belegdatum: text}}   # Jahr and Periode" in told
    for role, last in {"time": "2026-01", "text": "2025-12"}.items():
        books = tmp_path / role
        says = f"files: {{gl.csv: {{columns: {{Belegdatum: {role}}}}}}}\n"
        assert initialised(books, file, answers=says) == 0
        assert read_instance(books).catalogue.default.period_end == last


def test_days_and_periods_that_agree_need_no_answer(tmp_path: Path) -> None:
    file = tmp_path / "gl.csv"
    file.write_text(PERIODS.format("1,00").replace("02.01.2026", "31.12.2025"), encoding="utf-8")
    assert initialised(tmp_path / "books", file) == 0


def test_a_balance_beside_debits_and_credits_is_loaded_if_it_is_answered(tmp_path: Path) -> None:
    file = tmp_path / "SuSa.csv"
    file.write_text(
        "SuSa Dezember 2025;;;;\nKonto;EB;Soll;Haben;Saldo\n0400;10;5;2;13\n8400;0;;3;-3\n", encoding="utf-8"
    )
    says = "files: {SuSa.csv: {is: facts, columns: {Saldo: amount}}}\n"
    assert initialised(tmp_path / "moved", file, answers="files: {SuSa.csv: {is: facts}}\n") == 0
    assert initialised(tmp_path / "closed", file, answers=says) == 0
    assert first_statement(tmp_path / "moved", tmp_path / "state1")["0400"] == Decimal(3)
    closed = first_statement(tmp_path / "closed", tmp_path / "state2")
    assert {label: closed[label] for label in ("0400", "8400")} == {"0400": Decimal(13), "8400": Decimal(-3)}


def test_the_column_of_currencies_is_that_of_the_amounts_whose_name_says_none(tmp_path: Path) -> None:
    file = tmp_path / "gl.csv"
    rows = ["Date,Account,Currency,Amount,Amount EUR", "2025-12-31,0400,USD,100.00,92.00", "2025-12-30,0400,EUR,50,50"]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert initialised(tmp_path / "books", file) == 0
    measures = read_instance(tmp_path / "books").catalogue.domains["gl"].measures
    assert (measures["amount"].currency, measures["amount_eur"].currency) == ("currency", None)


def test_a_formula_that_failed_is_a_figure_that_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = xlsxwriter.Workbook(tmp_path / "J.xlsx")
    sheet = book.add_worksheet("J")
    sheet.write_row(0, 0, ["Datum", "Konto", "Betrag"])
    sheet.write_row(1, 0, ["31.12.2025", "0400", 1.5])
    sheet.write_row(2, 0, ["30.12.2025", "8400"])
    sheet.write_formula(2, 2, "=X!A1", None, "#REF!")
    sheet.write_row(3, 0, ["29.12.2025", "8400", 2.5])
    book.close()
    (tmp_path / "gl.csv").write_text(
        "Datum;Konto;Betrag\n31.12.2025;0400;1,50\n30.12.2025;8400;#REF!\n29.12.2025;1;2\n"
    )
    for name, place in {"J.xlsx": "row 3: #REF!", "gl.csv": "row 3: #REF!"}.items():
        assert initialised(tmp_path / "books", tmp_path / name) == 1
        says = f"{name}: Betrag has a formula that failed ({place}), and its figure is lost; mend it in the file"
        assert says in capsys.readouterr().err


def test_a_workbook_that_is_none_is_refused_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "J.xlsx").write_text("no workbook")
    assert initialised(tmp_path / "books", tmp_path / "J.xlsx") == 1
    assert "J.xlsx cannot be read: " in capsys.readouterr().err


def computed(folder: Path, amounts: tuple[float, ...], checks: tuple[bool, ...] = ()) -> Path:
    """Return a workbook whose amounts are formulas with stored values, with a column of checks beside them."""
    path = folder / "gl.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["date", "account", "amount", *(["check"] if checks else [])])
        for row, amount in enumerate(amounts, 1):
            sheet.write_row(row, 0, [f"2026-01-{row:02}", f"A{row}", 9.5 * row])
            if not checks:
                sheet.write_formula(row, 2, f"=9.5*{row}", None, amount)
        for row, check in enumerate(checks, 1):
            sheet.write_formula(row, 3, f'=IF(C{row + 1}>0,"",1)', None, check)
    return path


def test_formulas_that_all_read_0_are_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = computed(tmp_path, (0, 0, 0))
    assert initialised(tmp_path / "books", file) == 3
    assert not (tmp_path / "books").exists()
    told = capsys.readouterr().err
    assert "# all its 3 formulas, from C2 on, read 0, as in files of programs that compute nothing" in told
    assert "and amount would hold 0 there. Open the workbook in a spreadsheet and save it; or, if they are 0:" in told
    assert "#- {formulas: zero}" in told
    assert initialised(tmp_path / "books", file, answers="files: {gl.xlsx: {formulas: zero}}\n") == 0
    assert initialised(tmp_path / "other", file, answers="files: {gl.xlsx: {formulas: none}}\n") == 1
    assert "formulas of gl.xlsx is 'none'; it takes zero" in capsys.readouterr().err


@pytest.mark.parametrize(("amounts", "checks"), [((0, 0.5, 0), ()), ((1, 2, 3), (False, False))])
def test_formulas_with_a_value_and_checks_beside_amounts_are_not_asked_about(
    tmp_path: Path, amounts: tuple[float, ...], checks: tuple[bool, ...]
) -> None:
    assert initialised(tmp_path / "books", computed(tmp_path, amounts, checks)) == 0
