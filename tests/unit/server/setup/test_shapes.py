"""Shapes of files: periods across, files alike, texts of any ending, and formats that are no tables."""

from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

import pytest
import xlsxwriter

from server.feeds.instance import read_instance
from server.files.findings import SampleFault
from server.files.sampling import sample_file
from server.setup.alike import FILE, with_parts
from server.setup.months import month_columns
from tests.support.books.newcomer import first_statement, initialised


@pytest.mark.parametrize(
    ("names", "codes"),
    [
        (["janvier_2025", "février_2025", "mars_2025"], ["2025-01", "2025-02", "2025-03"]),
        (["Jan'25", "Feb'25", "Mar'25"], ["2025-01", "2025-02", "2025-03"]),
        (["2025 Sept", "2025 Okt", "2025 Nov"], ["2025-09", "2025-10", "2025-11"]),
        (["2025M01", "2025M02", "2025M03"], ["2025-01", "2025-02", "2025-03"]),
        (["P01 2025", "P02 2025", "P03 2025"], ["2025-01", "2025-02", "2025-03"]),
        (["Q1-2023", "Q2-2023", "Q3-2023", "Q4-2023"], ["2023-Q1", "2023-Q2", "2023-Q3", "2023-Q4"]),
        (["2023Q1", "2023Q2"], ["2023-Q1", "2023-Q2"]),
        (["1Q23", "2Q23"], ["2023-Q1", "2023-Q2"]),
        (["Q1 FY25", "FY25 Q2"], ["2025-Q1", "2025-Q2"]),
        (["H1 2024", "2H24", "2025-H1", "FY25 H2"], ["2024-Q2", "2024-Q4", "2025-Q2", "2025-Q4"]),
        (["1. Halbjahr 2024", "2. Halbjahr 2024"], ["2024-Q2", "2024-Q4"]),
        (["FY2019", "FY2020"], ["2019", "2020"]),
        (["2019", "2020"], ["2019", "2020"]),
    ],
)
def test_periods_across_are_known_by_their_names(names: list[str], codes: list[str]) -> None:
    found = month_columns(["Konto", *names])
    assert found is not None
    assert found.names == tuple(names)
    assert list(found.codes.values()) == codes


@pytest.mark.parametrize(
    "names", [["2025M13", "Q5-2023", "abc 2025"], ["2025M01", "2025-01", "jan 2025"], ["Team1 20"]]
)
def test_other_names_are_no_periods(names: list[str]) -> None:
    assert month_columns(["Konto", *names]) is None


@pytest.mark.parametrize(
    ("heading", "period"),
    [("Q1-2025;Q2-2025", "2025-Q2"), ("FY2024;FY2025", "2025"), ("mars_2025;avril_2025;mai_2025", "2025-05")],
)
def test_periods_across_load(tmp_path: Path, heading: str, period: str) -> None:
    path = tmp_path / "report.tsv"
    count = heading.count(";") + 1
    rows = [f"Poste{at};" + ";".join(f"{at * column},50" for column in range(1, count + 1)) for at in (1, 2)]
    path.write_text("\n".join([f"Poste;{heading}", *rows]).replace(";", "\t") + "\n", encoding="utf-8")
    assert initialised(tmp_path / "books", path) == 0
    assert read_instance(tmp_path / "books").catalogue.default.period_end == period
    assert first_statement(tmp_path / "books", tmp_path / "state")  # the figures of the last year


def ledger(path: Path, *amounts: str, heading: str = "dato,konto,beløb") -> Path:
    """Write a ledger of two accounts in January."""
    rows = [f"2025-01-{at:02},K{4000 + at % 2},{amount}" for at, amount in enumerate(amounts, 1)]
    path.write_text("\n".join([heading, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        (("Bogføring Nord.csv", "Bogføring Syd.csv"), ["Nord", "Syd"]),
        (("FI_kirjanpito.csv", "SE_kirjanpito.csv"), ["FI", "SE"]),
        (("gl.csv", "gl_old.csv"), ["gl", "gl_old"]),
        (("gl_2024.csv", "gl_2025.csv"), []),
        (("gl_2025-01.csv", "gl_2025-02.csv"), []),
        (("actual.csv", "budget.csv"), []),
    ],
)
def test_files_alike_are_told_apart_by_what_differs_in_their_names(
    tmp_path: Path, names: tuple[str, str], parts: list[str]
) -> None:
    tables = with_parts([next(iter(sample_file(ledger(tmp_path / name, "1.50", "2.50")))) for name in names])
    assert [table.constants[FILE] for table in tables if table.constants] == parts


def test_an_actual_and_a_budget_alike_but_for_the_amount_are_one_table_in_two_scenarios(tmp_path: Path) -> None:
    actual = ledger(tmp_path / "Ist 2025.csv", "1.50", "2.50", heading="datum,afdeling,Istbetrag")
    plan = ledger(tmp_path / "Plan 2025.csv", "1.25", "2.25", heading="datum,afdeling,Planbetrag")
    assert initialised(tmp_path / "books", actual, plan) == 0
    catalogue = read_instance(tmp_path / "books").catalogue
    assert (len(catalogue.domains), list(catalogue.metrics)) == (1, ["amount"])
    assert first_statement(tmp_path / "books", tmp_path / "state")["Istbetrag"] == Decimal(4)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("gl.csv", '"EXTF";700;21;"Buchungsstapel";13\nUmsatz;Konto\n1;2\n', "a DATEV batch (EXTF)"),
        ("audit.txt", '<?xml version="1.0"?>\n<n1:AuditFile xmlns:n1="x"/>\n', "a SAF-T file"),
        ("konto.txt", ":20:ABC\n:25:12345678/00\n:28C:1\n:60F:C250101EUR1,00\n", "a bank statement in MT940"),
        ("bok.txt", '#FLAGGA 0\n#PROGRAM "X"\n', "a SIE file"),
        ("bank.csv", "!Type:Bank\nD1/1'25\nT5.00\n^\n", "a QIF file"),
        ("main.beancount", "2025-01-01 open Assets:Bank\n", "a ledger of beancount"),
        ("report.csv", "%PDF-1.7\n", "a PDF"),
    ],
)
def test_a_format_that_is_not_read_is_named_with_what_can_be_exported(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SampleFault) as told:
        list(sample_file(tmp_path / name))
    assert str(told.value).startswith(f"{name} is {says}, which is not read: export ")


def without_value(path: Path, part: str) -> None:
    """Take the values of formulas out of a part of a workbook."""
    with ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    held[part] = held[part].replace(b"<v>0</v></c>", b"</c>")
    with ZipFile(path, "w") as archive:
        for name, content in held.items():
            archive.writestr(name, content)


def test_a_sheet_that_is_not_used_blocks_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gl.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name, first in {"GL": 1.5, "Notes": "=1+1"}.items():
            sheet = book.add_worksheet(name)
            sheet.write_row(0, 0, ["date", "account", "amount"])
            sheet.write_row(1, 0, ["2025-01-05", "A", first])
            sheet.write_row(2, 0, ["2025-01-06", "B", 2.5])
    without_value(path, "xl/worksheets/sheet2.xml")
    assert initialised(tmp_path / "books", path) == 1
    told = capsys.readouterr().err
    assert "cell C2 of sheet Notes is a formula without a stored value" in told
    assert "or say files: {'gl.xlsx [Notes]': {is: unused}} with --answers FILE" in told
    assert initialised(tmp_path / "books", path, answers='files: {"gl.xlsx [Notes]": {is: unused}}\n') == 0
    assert first_statement(tmp_path / "books", tmp_path / "state")["Amount"] == Decimal(4)
