"""The time of rows that have no days: what the name of a file, its titles and its columns say of it."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.model.calendar.periods import Grain
from server.files.dates import in_format
from server.files.period_names import codes_in
from server.files.sampling import sample_file
from server.files.written_days import HOW_DAYS
from server.setup.answers import Answers, FileAnswers
from server.setup.column_profiles import ColumnRole
from server.setup.facts import FactsTable
from server.setup.proposal import NoBooks, propose
from server.setup.questions import answers_file

BALANCES = "Konto;Soll;Haben\n0400;500,00;200,00\n1200;50,00;0,00\n"
BUDGET = "Konto;Jan;Feb;Mrz\n0400;1,50;2,50;3,50\n8400;4,50;5,50;6,50\n"


def proposed(folder: Path, name: str, text: str, answers: Answers) -> FactsTable:
    """Return how a file becomes facts."""
    (folder / name).write_text(text, encoding="utf-8")
    books = propose(list(sample_file(folder / name)), answers, "books")
    return books.domains[0].tables[0]


def open_lines(answers: Answers) -> str:
    """Return what is open, and the one question that is."""
    assert len(answers.open) + len(answers.questions) == 1
    return "\n".join(answers.open) or answers_file(answers.questions)


def said(name: str, **keys: str) -> Answers:
    """Return answers for one file of facts."""
    return Answers(files={name: FileAnswers(keys, kind="facts")})


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("SuSa_2025-12.csv", {"2025-12", "2025"}),
        ("zum 31.12.2025", {"2025-12"}),
        ("as of 12/31/2025", {"2025-12"}),
        ("as of 05/11/2025", {"2025-05", "2025-11"}),
        ("Periode 12/2025", {"2025-12", "2025"}),
        ("Gedruckt am 5. Januar 2026", {"2026-01", "2026"}),
        ("Mai 2025", {"2025-05", "2025"}),
        ("Januar bis Dezember 2025", {"2025-01", "2025-12", "2025"}),
        ("Budget 2025/26", {"2025", "2026"}),
        ("Konto 4000", set()),
    ],
)
def test_a_text_says_months_and_years(text: str, codes: set[str]) -> None:
    assert set(codes_in(text)) == codes


@pytest.mark.parametrize(
    ("title", "constants"),
    [
        ("Summen- und Saldenliste Dezember 2025", {"month": "2025-12"}),
        ("Summen- und Saldenliste zum 31.12.2025", {"month": "2025-12"}),
        ("Abschluss 2025", {"year": "2025"}),
    ],
)
def test_one_period_in_the_titles_is_that_of_the_rows(tmp_path: Path, title: str, constants: Mapping[str, str]) -> None:
    answers = said("SuSa.csv")
    table = proposed(tmp_path, "SuSa.csv", f"{title};;\n{BALANCES}", answers)
    assert (table.constants, answers.open) == (constants, [])
    assert table.period is not None
    assert table.period.evidence == f"row 1: '{title}'"


@pytest.mark.parametrize(
    "titles",
    ["Gedruckt am 5. Januar 2026;;\nSaldenliste Dezember 2025;;\n", "Saldenliste Dezember 2025 bis Januar 2026;;\n"],
)
def test_two_periods_in_the_titles_are_two_readings(tmp_path: Path, titles: str) -> None:
    answers = said("SuSa.csv")
    proposed(tmp_path, "SuSa.csv", titles + BALANCES, answers)
    question = open_lines(answers)
    assert "{period: 2025-12}" in question
    assert "{period: 2026-01}" in question
    answered = said("SuSa.csv", period="2025-12")
    assert proposed(tmp_path, "SuSa.csv", titles + BALANCES, answered).constants == {"month": "2025-12"}
    assert answered.open == []


def test_two_years_in_the_titles_are_two_readings_of_months_across(tmp_path: Path) -> None:
    answers = Answers()
    titles = "Erstellt am 05.11.2024;;;\nPlanjahr 2025;;;\n"
    proposed(tmp_path, "Budget.csv", titles + BUDGET, answers)
    question = open_lines(answers)
    assert "#- {unpivot: {year: \"2024\"}}   # 2024 (row 1: 'Erstellt am 05.11.2024')" in question
    assert "#- {unpivot: {year: \"2025\"}}   # 2025 (row 2: 'Planjahr 2025')" in question
    answered = Answers(every={"unpivot.year": "2025"})
    table = proposed(tmp_path, "Budget.csv", titles + BUDGET, answered)
    assert (answered.open, f"{table.first:%Y-%m}", f"{table.last:%Y-%m}") == ([], "2025-01", "2025-03")


@pytest.mark.parametrize(
    ("heading", "books", "message"),
    [
        ("Konto;Jul;Dez;Jan", {}, "the columns Jul to Jan run from one year into the next"),
        ("Konto;P01;P02;P03", {"fiscal_year": {"starts": 7}}, "the columns P01 to P03 may count from January or from"),
    ],
)
def test_months_of_a_fiscal_year_take_no_year_of_the_name(
    tmp_path: Path, heading: str, books: dict[str, Any], message: str
) -> None:
    answers = Answers(books=books)
    proposed(tmp_path, "Budget 2025-26.csv", f"{heading}\n0400;1;2;3\n8400;4;5;6\n", answers)
    question = open_lines(answers)
    assert message in question
    assert '#- {unpivot: {year: "…"}}' in question


def test_rows_without_any_time_say_how_to_give_one(tmp_path: Path) -> None:
    answers = said("SuSa.csv")
    proposed(tmp_path, "SuSa.csv", BALANCES, answers)
    question = open_lines(answers)
    assert question.endswith("{columns: {COLUMN: time}}}, or {SuSa.csv: {period: 2026-01}} for all its rows")


def by_row(*periods: str) -> str:
    """Return rows of two accounts with periods."""
    return "Zeit;Konto;Betrag\n" + "".join(f"{text};{400 + at % 2};{at}.50\n" for at, text in enumerate(periods, 1))


UNREAD = [
    ("2026 Q1", "2026Q1"),
    ("Q1 2026", "2026-Q2"),
    ("FY2025-26", "FY2026-27"),
    ("2025/26", "2026/27"),
    ("FY26", "FY27"),
    ("H1 2026", "H2 2026"),
    ("2026 P01", "2026 P13"),
    ("٢٠٢٦-٠١-٣١", "2026-02-28"),
    ("۳۱/۰۱/۲۰۲۶", "۲۸/۰۲/۲۰۲۶"),
]


@pytest.mark.parametrize("periods", UNREAD)
def test_a_period_that_is_not_read_is_refused_by_its_row(tmp_path: Path, periods: tuple[str, ...]) -> None:
    refused = f"gl.csv: Zeit, row 2: '{periods[0]}' is a period in a form that is not read: {HOW_DAYS}"
    with pytest.raises(NoBooks) as told:
        proposed(tmp_path, "gl.csv", by_row(*periods), Answers())
    assert refused in str(told.value)
    answers = said("gl.csv")
    proposed(tmp_path, "gl.csv", by_row(*periods), answers)
    assert answers.open == [refused]


def test_periods_of_a_fiscal_year_are_no_months_of_the_calendar(tmp_path: Path) -> None:
    rows = by_row("2026 P01", "2026 P02")
    table = proposed(tmp_path, "gl.csv", rows, Answers())
    assert (table.time_column, table.grain) == ("Zeit", Grain.MONTH)
    with pytest.raises(NoBooks, match="'2026 P01' is a period in a form that is not read"):
        proposed(tmp_path, "gl.csv", rows, Answers(books={"fiscal_year": {"starts": 7}}))


@pytest.mark.parametrize("periods", UNREAD)
def test_the_year_of_a_name_is_not_that_of_rows_with_other_periods(tmp_path: Path, periods: tuple[str, ...]) -> None:
    answers = said("gl 2026.csv")
    proposed(tmp_path, "gl 2026.csv", by_row(*periods), answers)
    question = open_lines(answers)
    assert f"  # Zeit, row 2: '{periods[0]}' is a period in a form that is not read" in question
    for answered in (
        Answers(files={"gl 2026.csv": FileAnswers(columns={"Zeit": ColumnRole.TEXT}, kind="facts")}),
        said("gl 2026.csv", period="2026"),
    ):
        table = proposed(tmp_path, "gl 2026.csv", by_row(*periods), answered)
        assert (answered.open, table.constants) == ([], {"year": "2026"})


def test_months_across_take_no_year_beside_fiscal_years(tmp_path: Path) -> None:
    rows = "Konto;GJ;Jan;Feb;Mrz\n0400;FY2025-26;1,50;2,50;3,50\n8400;FY2026-27;4,50;5,50;6,50\n"
    answers = Answers()
    proposed(tmp_path, "Budget 2026.csv", rows, answers)
    question = open_lines(answers)
    assert "GJ, row 2: 'FY2025-26' is a period" in question


@pytest.mark.parametrize("texts", [("INV-2026-1", "INV-2026-2"), ("2026Q1", "rent"), ("P10/15", "T4-20"), ("S", "H")])
def test_other_texts_beside_the_year_of_a_name_are_no_periods(tmp_path: Path, texts: tuple[str, ...]) -> None:
    answers = said("gl 2026.csv")
    assert proposed(tmp_path, "gl 2026.csv", by_row(*texts), answers).constants == {"year": "2026"}
    assert answers.open == []


@pytest.mark.parametrize("name", ["FISCAL_YEAR", "Jahr", "year"])
def test_a_column_of_years_is_the_time_whatever_its_name(tmp_path: Path, name: str) -> None:
    text = f"{name};Konto;Betrag\n2025;4000;1.50\n2026;4010;2.50\n"
    table = proposed(tmp_path, "gl.csv", text, Answers())
    assert (table.time_column, table.grain, table.constants) == (name, Grain.YEAR, {})


@pytest.mark.parametrize(
    ("texts", "format_"),
    [
        (("2025-03-31T00:00:00Z", "2025-04-01T23:59:59Z"), "%Y-%m-%dT%H:%M:%SZ"),
        (("2025-03-31T00:30:00+02:00", "2025-04-01T23:30:00-05:00"), "%Y-%m-%dT%H:%M:%S%z"),
        (("2025-03-31 08:15:00.123456", "2025-04-01 00:00:00.000000"), "%Y-%m-%d %H:%M:%S.%f"),
        (("3/31/2025 12:00:00 AM", "4/1/2025 11:59:59 PM"), "%m/%d/%Y %I:%M:%S %p"),
        (("31.3.2025 08:15", "1.4.2025 00:30"), "%d.%m.%Y %H:%M"),
        (("31. März 2025 08:15", "1. April 2025 00:30"), None),
    ],
)
def test_a_day_with_a_time_is_read_as_it_is_written(
    tmp_path: Path, texts: tuple[str, str], format_: str | None
) -> None:
    answers = said("gl.csv")
    table = proposed(tmp_path, "gl.csv", by_row(*texts), answers)
    assert table.findings.value("dates.format") == format_
    if format_ is not None:
        assert (table.first, table.last) == (date(2025, 3, 31), date(2025, 4, 1))
        assert in_format(pl.Series(texts), format_).to_list() == ["2025-03-31", "2025-04-01"]  # as a load reads them


def test_days_with_times_that_fit_two_formats_are_asked_with_their_times(tmp_path: Path) -> None:
    answers = said("gl.csv")
    proposed(tmp_path, "gl.csv", by_row("01/02/2025 12:00 AM", "02/03/2025 11:00 PM"), answers)
    question = open_lines(answers)
    for order in ("%d/%m", "%m/%d"):
        assert f'{{dates: {{format: "{order}/%Y %I:%M %p"}}}}' in question


MIXED = [
    (
        ("2025-01-05", "06.01.2025", "07.02.2025", "08/02/2025"),
        (
            "Zeit mixes forms of days: 2 rows as %d.%m.%Y (row 3 '06.01.2025', row 4 '07.02.2025'); 1 row as %Y-%m-%d "
            "(row 2 '2025-01-05'); 1 row as %d/%m/%Y (row 5 '08/02/2025')"
        ),
    ),
    (
        ("13/01/2025", "14/01/2025", "01/31/2025", "31/02/2025"),
        (
            "Zeit mixes forms of days: 2 rows as %d/%m/%Y (row 2 '13/01/2025', row 3 '14/01/2025'); 1 row as %m/%d/%Y "
            "(row 4 '01/31/2025'); no day is row 5 '31/02/2025'"
        ),
    ),
    (
        (*(f"2025-01-{day:02}" for day in range(1, 29)), "31/01/2025", "Jan 30, 2025"),
        (
            "Zeit mixes forms of days: 28 rows as %Y-%m-%d (row 2 '2025-01-01', row 3 '2025-01-02', row 4 "
            "'2025-01-03'); 1 row as %d/%m/%Y (row 30 '31/01/2025'); 1 row as %b %d, %Y (row 31 'Jan 30, 2025')"
        ),
    ),
]


@pytest.mark.parametrize(("days", "says"), MIXED)
def test_mixed_formats_of_days_are_named_with_the_rows_of_each(
    tmp_path: Path, days: tuple[str, ...], says: str
) -> None:
    told = ""
    try:
        proposed(tmp_path, "gl.csv", by_row(*days), answers := Answers())
        (told,) = answers.open
    except NoBooks as refused:
        told = str(refused)
    assert f"gl.csv: {says}. Have days written alike; or, if it is not the time, say files:" in told


def test_a_column_whose_name_says_time_better_is_not_left_for_a_readable_one(tmp_path: Path) -> None:
    rows = ["date,due date,account,amount", "05/01/2025,2025-02-01,A,1.50", "06.01.2025,2025-02-02,B,2.50"]
    proposed(tmp_path, "gl.csv", "\n".join(rows) + "\n", answers := Answers())
    (told,) = answers.open
    assert "date mixes forms of days: " in told
    rows = ["date,due date,account,amount", "2025-01-05,05/01/2025,A,1.50", "2025-01-06,06.01.2025,B,2.50"]
    proposed(tmp_path, "gl.csv", "\n".join(rows) + "\n", answers := Answers())
    assert answers.open == []
