"""Cells of workbooks: the shortest text of a number, texts as they stand, formulas without a value."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import fastexcel
import odf.opendocument
import odf.table
import odf.text
import openpyxl
import polars as pl
import pytest
import xlsxwriter
import xlwt

from server.feeds.extract_formats import NumberFormat
from server.files.amounts import multiply, read_amounts
from server.files.columns import Residues
from server.files.findings import SampleFault
from server.files.formulas import Formulas
from server.files.sampling import sample_file
from server.files.workbook_cells import sheet_cells
from server.files.workbooks import formulas_of
from server.ingest.load import BindingFailed
from tests.laws.digits.drawn import drawn
from tests.laws.digits.sources import write_workbook
from tests.laws.digits.xlsb import write_cells
from tests.unit.server.ingest.test_ingest import instance_of, run

FINE = [21693025.26, -48120377.35, 0.000037891234, 1e-12, 0.1 + 0.2, 1234.5600000000002, 100.0, -0.0, 1e20, 2**53 + 2.0]


def write_xls(path: Path, columns: list[list[Any]]) -> None:
    """Write a workbook of Excel 97."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    for at, column in enumerate(columns):
        for row, cell in enumerate(column):
            sheet.write(row, at, cell)
    book.save(str(path))


def write_ods(path: Path, columns: list[list[Any]]) -> None:
    """Write an OpenDocument spreadsheet."""
    document = odf.opendocument.OpenDocumentSpreadsheet()
    sheet = odf.table.Table(name="S")
    for line in zip(*columns, strict=True):
        row = odf.table.TableRow()
        for cell in line:
            kind = {"valuetype": "string"} if isinstance(cell, str) else {"valuetype": "float", "value": repr(cell)}
            made = odf.table.TableCell(**kind)
            made.addElement(odf.text.P(text=str(cell)))
            row.addElement(made)
        sheet.addElement(row)
    document.spreadsheet.addElement(sheet)
    document.save(str(path))


WRITERS = {
    "xlsx": lambda path, columns: write_workbook(path, zip(*columns, strict=True)),
    "xls": write_xls,
    "xlsb": lambda path, columns: write_cells(path, zip(*columns, strict=True)),
    "ods": write_ods,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_the_text_of_a_number_gives_its_double_back(tmp_path: Path, kind: str) -> None:
    doubles = [*FINE, *(float(value) for row in drawn(7, 200) for value in (row.fine, row.cents, row.rate))]
    doubles += [row.computed for row in drawn(8, 200)]
    path = tmp_path / f"made.{kind}"
    WRITERS[kind](path, [doubles])
    texts = sheet_cells(fastexcel.read_excel(path), 0).to_series(0)
    assert [float(text) for text in texts] == doubles
    assert [text for text in texts if "e" in text.lower()] == []
    digits = [len(Decimal(text).normalize().as_tuple().digits) for text in texts]
    assert digits == [len(Decimal(repr(double)).normalize().as_tuple().digits) for double in doubles]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_text_keeps_its_text_beside_numbers(tmp_path: Path, kind: str) -> None:
    texts = ["0010", "5e3", "1.230", "21693025.260000002", "123456789012345683968", "TRUE", "inf", " 5 ", "-0", "x"]
    path = tmp_path / f"made.{kind}"
    WRITERS[kind](path, [[*texts, 21693025.26, 1e-12]])
    found = sheet_cells(fastexcel.read_excel(path), 0).to_series(0).to_list()
    assert found == [*texts, "21693025.26", "0.000000000001"]


def test_days_truth_percents_and_failed_formulas_are_as_before(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "made.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_datetime(0, 0, date(2026, 1, 31), book.add_format({"num_format": "yyyy-mm-dd"}))
        sheet.write_boolean(1, 0, True)
        sheet.write_number(2, 0, 0.1234, book.add_format({"num_format": "0%"}))
        sheet.write_formula(3, 0, "=1/0", None, "#DIV/0!")
        sheet.write_number(4, 0, 21693025.26)
    found = sheet_cells(fastexcel.read_excel(tmp_path / "made.xlsx"), 0).to_series(0).to_list()
    assert found == ["2026-01-31 00:00:00", "true", "0.1234", "#DIV/0!", "21693025.26"]


RESIDUES = [  # a text, the places of its measure, what is loaded, what is lost of it
    ("1234.5600000000002", 2, "1234.56", "2E-13"),
    ("-0.30000000000000004", 2, "-0.3", "4E-17"),
    ("1.16415E-10", 2, "0", "1.16415E-10"),
    ("0.0000004999", 2, "0", "4.999E-7"),
    ("0.0000005", 2, None, "0"),  # half a unit of the fourth place behind the last
    ("1234.5600001", 2, None, "0"),
    ("12345678901234.567", 2, None, "0"),  # an exact text: 15 digits of it would be another amount
    ("1234567890123.4602", 2, "1234567890123.46", "0.0002"),  # one step of a double that large
    ("8801046149591.205", 2, "8801046149591.21", "0.005"),  # the text is halfway, its double is above
    ("-9598477622420.715", 2, "-9598477622420.71", "0.005"),  # below
    ("0.00000000001", 9, None, "0"),
    ("0.00000000000001", 9, "0", "1E-14"),
    ("7.5", 0, None, "0"),
]


@pytest.mark.parametrize(("text", "places", "loaded", "lost"), RESIDUES)
def test_the_residue_of_a_computation_is_left_out_and_counted(
    text: str, places: int, loaded: str | None, lost: str
) -> None:
    parsed = read_amounts(pl.Series([text, "1", None]), NumberFormat(), places)
    assert parsed.values[0] == (None if loaded is None else int(Decimal(loaded).scaleb(places)))
    assert parsed.reasons[0] == (f"has more than {places} decimal places" if loaded is None else None)
    assert parsed.residues == Residues(int(loaded is not None), Decimal(lost))


def test_a_factor_a_side_and_a_product_leave_residues_out_too() -> None:
    factor = read_amounts(pl.Series(["1.2345600000000002"]), NumberFormat(factor=Decimal(1000)), 2)
    assert (factor.values.to_list(), factor.residues.amounts) == ([123456], 1)
    made = multiply([pl.Series(["1234.5600000000002"]), pl.Series(["5E-1"])], NumberFormat(), 2)
    assert (made.read.values.to_list(), made.read.residues.amounts) == ([61728], 1)


def test_a_load_tells_how_many_residues_it_left_out(tmp_path: Path) -> None:
    rows = "date scenario account amount text\n" + "\n".join(
        f"2021-01-0{day} actual 0010 {amount} x"
        for day, amount in enumerate(("0.30000000000000004", "1.16E-10", "1"), 1)
    )
    (*_, loaded) = run(instance_of(tmp_path, rows), tmp_path / "state", "account", "gl")
    assert loaded.residues == "2 amounts were loaded without the residue of a computation, 1.16E-10 at most"


def with_formulas(path: Path, *cells: object) -> None:
    """Write a ledger whose last cells are formulas that no spreadsheet has computed, or values."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Data"
    sheet.append(["date", "scenario", "account", "amount", "text"])
    for cell in cells:
        sheet.append(["2021-01-05", "actual", "0010", cell, "x"])
    book.save(path)


def test_a_formula_without_a_value_is_refused_by_its_cell(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, bindings={"gl": {"file": "gl.xlsx"}})
    with_formulas(instance / "data" / "gl.xlsx", 1, "=D2*2", 3)
    says = (
        "gl.xlsx: cell D3 of sheet Data is a formula without a stored value, as programs write them; open the workbook "
        "in a spreadsheet and save it"
    )
    with pytest.raises(BindingFailed) as failed:
        run(instance, tmp_path / "state")
    assert failed.value.message == says
    with pytest.raises(SampleFault) as fault:
        list(sample_file(instance / "data" / "gl.xlsx"))
    assert str(fault.value) == says


def test_formulas_are_counted_whatever_their_value(tmp_path: Path) -> None:
    path = tmp_path / "made.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("A & B")
        for row in range(20_000):
            sheet.write_number(row, 0, row)
        for row, value in enumerate((0, 2.5, "", "text", "0")):
            sheet.write_formula(row, 1, '=IF(A1<2,"<v></v>",1)', None, value)
        book.add_worksheet("Empty")
    assert formulas_of(path, "A & B") == Formulas(5, "B1", "B3")
    assert formulas_of(path, "Empty") == Formulas()


def test_a_sheet_is_searched_in_blocks_of_whole_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.files.workbooks.BLOCK", Random(5).randrange(20, 90))
    with_formulas(tmp_path / "made.xlsx", 1, "=D2*2", 3, "=D4+1")
    assert formulas_of(tmp_path / "made.xlsx", "Data") == Formulas(2, "D3", "D3")


def with_values(path: Path, values: list[float]) -> None:
    """Write a ledger whose amounts are formulas with values, as a program stores them, in sheet Data."""
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("Data")
        sheet.write_row(0, 0, ["date", "scenario", "account", "amount", "text"])
        for row, value in enumerate(values, 1):
            sheet.write_row(row, 0, ["2021-01-05", "actual", "0010"])
            sheet.write_formula(row, 3, f"=ROW()*{row}", None, value)
            sheet.write_string(row, 4, "x")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([0, 0], "all its 2 formulas, from D2 on, read 0"),
        ([0.0], "its one formula, in D2, reads 0"),
        ([0, 0.5], None),
    ],
)
def test_a_load_tells_of_formulas_that_all_read_0(tmp_path: Path, values: list[float], says: str | None) -> None:
    instance = instance_of(tmp_path, bindings={"gl": {"file": "gl.xlsx", "unknown_members": "extend"}})
    with_values(instance / "data" / "gl.xlsx", values)
    (loaded,) = run(instance, tmp_path / "state", "gl")
    why = "as in files of programs that compute nothing; open it in a spreadsheet, save it and load it again"
    assert loaded.warnings == ([f"gl.xlsx, sheet Data: {says}, {why}"] if says else [])
