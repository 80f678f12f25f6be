"""Which columns are the amounts: debits and credits in pairs, openings and closings, balances and earlier years."""

from decimal import Decimal
from pathlib import Path

import pytest

from server.files.sampling import sample_file
from server.setup.answers import Answers
from server.setup.proposal import propose
from server.setup.questions import answers_file
from tests.support.books.newcomer import first_statement, initialised
from tests.unit.server.setup.test_proposals import profile

PAIRS = "Konto;EB Soll;EB Haben;Umsatz Soll;Umsatz Haben;Saldo Soll;Saldo Haben\n"
SUSA = f"SuSa Dezember 2025\n\n{PAIRS}0400;100,00;;30,50;10,00;120,50;\n8400;;5,00;;20,50;;25,50\n"


def questions(folder: Path, name: str, text: str, answers: str = "") -> str:
    """Return what init asks about a file; nothing if it writes books."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    given = Answers()
    for line in filter(None, answers.split("|")):
        given.give(name, dict([line.split(": ")]))
    propose(list(sample_file(path)), given, "books")
    assert given.open == []
    return answers_file(given.questions) if given.questions else ""


def test_of_three_pairs_the_one_that_leads_from_the_first_to_the_last_is_the_movement(tmp_path: Path) -> None:
    (tmp_path / "SuSa.csv").write_text(SUSA, encoding="utf-8")
    assert initialised(tmp_path / "books", tmp_path / "SuSa.csv", answers="files: {SuSa.csv: {is: facts}}\n") == 0
    figures = first_statement(tmp_path / "books", tmp_path / "state")
    assert (figures["0400"], figures["8400"]) == (Decimal("20.5"), Decimal("-20.5"))


def test_pairs_that_no_control_proves_are_asked_about_with_the_money_of_each(tmp_path: Path) -> None:
    told = questions(tmp_path, "SuSa.csv", SUSA.replace("120,50", "121,50"))
    assert "which pair or column is the amount: EB Soll less EB Haben; Umsatz Soll less Umsatz Haben;" in told
    assert "Umsatz Soll: debit, Umsatz Haben: credit}}   # Umsatz Soll less Umsatz Haben, sum 0.00, 20.50 of" in told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Compte Solde_initial Mouvement Solde_final\nA 1,50 2,00 3,50\nB 4,25 -1,00 3,25\nC 0,00 1,00 1,00",
            {"Solde_initial": "unused", "Mouvement": "amount", "Solde_final": "unused"},
        ),
        (  # a balance that runs on from row to row
            "Datum Konto Betrag Saldo\n2025-01-01 A 5,50 15,50\n2025-01-02 A -1,25 14,25\n2025-02-03 B 3,00 17,25",
            {"Betrag": "amount", "Saldo": "unused"},
        ),
        ("Konto Lohn Sozial Summe\nA 1,50 2,00 3,50\nB 4,25 -1,00 3,25", {"Lohn": "amount", "Summe": "amount"}),
    ],
)
def test_openings_and_closings_are_controls_if_they_hold_in_every_row(text: str, expected: dict[str, str]) -> None:
    told = {column: role.value for column, (role, _) in profile("t.csv", text).roles.items()}
    assert {column: told[column] for column in expected} == expected


def test_an_opening_and_a_closing_that_no_row_proves_are_asked_about(tmp_path: Path) -> None:
    rows = "A;1,50;2,00;3,50\nB;4,25;-1,00;3,75\n"
    told = questions(tmp_path, "Bilan 2025.csv", f"Compte;Solde initial;Mouvement;Solde final\n{rows}")
    assert "names say opening and closing, and no row-by-row control tells which moved" in told


STOCKS = "Monat;Lager;Bestand\n2025-01;Nord;10,50\n2025-01;Süd;4,00\n2025-02;Nord;11,00\n2025-02;Süd;3,00\n"


def test_balances_over_several_periods_are_asked_about_with_the_figure_of_each(tmp_path: Path) -> None:
    told = questions(tmp_path, "Lager.csv", STOCKS)
    assert "# does Bestand hold closing balances, or movements that add up from 2025-01 to 2025-02?" in told
    assert "#- {over_time: closing}   # closing balances: that of Nord is 11.00 at the end" in told
    assert "#- {over_time: sum}   # movements: those of Nord add up to 21.50" in told
    for how, total in {"closing": "14", "sum": "28.5"}.items():
        books, says = tmp_path / how, f"files: {{Lager.csv: [{{over_time: {how}}}]}}\n"
        assert initialised(books, tmp_path / "Lager.csv", answers=says) == 0
        assert first_statement(books, tmp_path / f"{how} state")["Bestand"] == Decimal(total)


@pytest.mark.parametrize(
    ("name", "text", "is_asked"),
    [
        ("Bilanz.csv", "Posten;Jan 2025;Feb 2025;Mrz 2025\nKasse;1,50;2,50;3,50\nBank;4,00;5,00;6,00\n", True),
        ("GuV.csv", "Posten;Jan 2025;Feb 2025;Mrz 2025\nErlös;1,50;2,50;3,50\nMiete;4,00;5,00;6,00\n", False),
        ("heads.csv", "month,team,headcount\n2025-01,A,10\n2025-02,A,11\n2025-02,B,3\n", True),
        ("Lager.csv", STOCKS.replace("2025-02", "2025-01"), False),  # one period: both are the same
        ("gl.csv", "date,account,amount\n2025-01-05,A,1.50\n2025-02-05,B,-1.50\n", False),
        ("gl.csv", "date,account,debit,credit,balance\n2025-01-05,A,1.5,,1.5\n2025-02-05,B,,1.5,0\n", False),
    ],
)
def test_only_amounts_that_names_call_balances_are_asked_about(
    tmp_path: Path, name: str, text: str, is_asked: bool
) -> None:
    assert ("closing balances, or movements" in questions(tmp_path, name, text)) == is_asked


def test_amounts_of_an_earlier_year_are_asked_about(tmp_path: Path) -> None:
    text = "Saldenliste 2025\n\nKonto;Jahr;Vorjahr\n0400;1,50;2,50\n8400;-3,50;-4,50\n"
    path = tmp_path / "liste.csv"
    path.write_text(text, encoding="utf-8")
    says = "files: {liste.csv: [{is: facts}, {columns: {Vorjahr: unused, Jahr: amount}}]}\n"
    assert initialised(tmp_path / "asked", path, answers="files: {liste.csv: {is: facts}}\n") == 3
    assert initialised(tmp_path / "books", path, answers=says) == 0
    assert first_statement(tmp_path / "books", tmp_path / "state")["0400"] == Decimal("1.5")
