"""Shapes of files over HTTP: one instance that init makes of a file of each, loaded, served and asked."""

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
import xlwt
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

from tests.doors.shapes import text
from tests.laws.digits.xlsb import write_cells
from tests.support.books.loads import load_feeds
from tests.support.books.newcomer import initialised
from tests.support.service.servers import McpBooks, connected, serving

RANGE = {"period_start": "2025-01", "period_end": "2025-02"}


@dataclass
class ServedShape:
    """A file, and its figures by member and month, added up by hand."""

    files: Mapping[str, str | bytes]
    cells: Mapping[str, str]
    scenario: str = "actual"
    dimension: str = "account"
    answer: str = ""


def lines_with(day: str) -> list[list[object]]:
    """Return the rows of a workbook whose column of days has a name of its own."""
    return [[day, "Account", "Amount"], ["2025-01-05", "1200", 10.5], ["2025-02-05", "4010", 21693025.26]]


def xls() -> bytes:
    """Return a workbook of Excel 97."""
    book, held = xlwt.Workbook(), BytesIO()
    sheet = book.add_sheet("gl")
    for at, row in enumerate(lines_with("Old day")):
        for column, cell in enumerate(row):
            sheet.write(at, column, cell)
    book.save(held)
    return held.getvalue()


def ods() -> bytes:
    """Return an OpenDocument spreadsheet."""
    made, table, held = OpenDocumentSpreadsheet(), Table(name="gl"), BytesIO()
    for line in lines_with("Open day"):
        row = TableRow()
        for value in line:
            number = {"valuetype": "float", "value": repr(value)} if isinstance(value, float) else None
            cell = TableCell(**(number or {"valuetype": "string"}))
            cell.addElement(P(text=str(value)))
            row.addElement(cell)
        table.addElement(row)
    made.spreadsheet.addElement(table)
    made.save(held)
    return held.getvalue()


def xlsb(folder: Path) -> bytes:
    """Return a workbook of binary records."""
    write_cells(folder / "made.xlsb", lines_with("Binary day"))
    return (folder / "made.xlsb").read_bytes()


def zipped(name: str, content: str) -> bytes:
    """Return an archive of one file."""
    held = BytesIO()
    with ZipFile(held, "w") as archive:
        archive.writestr(name, content)
    return held.getvalue()


CENTS = {"1200|2025-01": "10.5", "4010|2025-02": "21693025.26"}
SHAPES: dict[str, ServedShape] = {
    "quickbooks": ServedShape(
        text(
            "quickbooks.csv", "My Firm", "General Ledger", "January - March 2025", "", ",Date,Type,Num,Amount,Balance",
            "House bank,,,,,", "Beginning Balance,,,,,100.00", ",01/05/2025,Deposit,1,10.50,110.50",
            ",01/25/2025,Check,2,-4.25,106.25", "Total for House bank,,,,6.25,", "Sales,,,,,",
            ",02/05/2025,Deposit,1,-10.50,-10.50", "Total for Sales,,,,-10.50,",
        ),
        {"House bank|2025-01": "6.25", "Sales|2025-02": "-10.5"},
    ),
    "across": ServedShape(
        text(
            "across.csv", "Cost centre,Jan 2025 Actual,Jan 2025 Budget,Feb 2025 Actual,Feb 2025 Budget",
            "A,10.50,11.00,20.50,21.00", "B,-1.10,-1.00,-2.10,-2.00",
        ),
        {"A|2025-01": "11", "A|2025-02": "21", "B|2025-01": "-1", "B|2025-02": "-2"},
        scenario="budget",
    ),
    "headings": ServedShape(
        text(
            "headings.csv", "Region,Jan 2025,,Feb 2025,", ",Actual,Budget,Actual,Budget", "N,10.50,11.00,20.50,21.00",
            "S,-1.10,-1.00,-2.10,-2.00",
        ),
        {"N|2025-01": "10.5", "N|2025-02": "20.5", "S|2025-01": "-1.1", "S|2025-02": "-2.1"},
    ),
    "bare": ServedShape(
        text("bare.csv", "2025-01-05,1200,Bank,10.50", "2025-01-06,4010,Sales,-10.50", "2025-02-05,1200,Bank,7.25"),
        {"1200|2025-01": "10.5", "4010|2025-01": "-10.5", "1200|2025-02": "7.25"},
        dimension="b",
        answer="{csv: {header_row: none}}",
    ),
    "sides": ServedShape(
        text(
            "sides.csv", "Day,Account,Amount", '2025-01-05,1200,"1,234.50 Dr"', '2025-01-05,4010,"1,234.50 Cr"',
            "2025-02-05,1200,10.00 Dr",
        ),
        {"1200|2025-01": "1234.5", "4010|2025-01": "-1234.5", "1200|2025-02": "10"},
    ),
    "lakhs": ServedShape(
        text(
            "lakhs.csv", "Entry date,Account,Amount", '2025-01-05,1200,"12,34,567.89"',
            '2025-01-06,4010,"-12,34,567.89"', '2025-02-05,1200,"1,00,000.00"',
        ),
        {"1200|2025-01": "1234567.89", "4010|2025-01": "-1234567.89", "1200|2025-02": "100000"},
    ),
    "packed": ServedShape(
        {"packed.csv.gz": gzip.compress(b"Booked,Account,Amount\n2025-01-05,1200,10.50\n2025-02-05,4010,7.25\n")},
        {"1200|2025-01": "10.5", "4010|2025-02": "7.25"},
    ),
    "inside": ServedShape(
        {"box.zip": zipped("inside.csv", "Posted,Account,Amount\n2025-01-06,1200,1.50\n2025-02-07,4010,2.25\n")},
        {"1200|2025-01": "1.5", "4010|2025-02": "2.25"},
    ),
    "pages": ServedShape(
        text(
            "pages.csv", "Account,Valued,Amount", "1200,2025-01-05,10.50", "1201,2025-01-06,1.00", "Total,,11.50",
            "Account,Valued,Amount", "4010,2025-02-05,-7.25", "4011,2025-02-06,-1.00", "Total,,-8.25",
        ),
        {"1200|2025-01": "10.5", "1201|2025-01": "1", "4010|2025-02": "-7.25", "4011|2025-02": "-1"},
    ),
    "statistics": ServedShape(
        text("statistics.csv", "Month code,Account,Amount", "2025M01,1200,1.50", "2025M02,4010,2.25"),
        {"1200|2025-01": "1.5", "4010|2025-02": "2.25"},
    ),
    "units": ServedShape(
        text("units.csv", "Paid day,Account,Amount", "2025-01-05,1,950K", "2025-01-06,2,-1.25M", "2025-02-07,1,500"),
        {"1|2025-01": "950000", "2|2025-01": "-1250000", "1|2025-02": "500"},
        answer="{units: factors}",
    ),
    "old": ServedShape({"old.xls": xls()}, CENTS),
    "open": ServedShape({"open.ods": ods()}, CENTS),
    "binary": ServedShape({}, CENTS),
}  # fmt: skip


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """A client of a server of one instance with a domain for each shape."""
    folder = tmp_path_factory.mktemp("shapes")
    SHAPES["binary"].files = {"binary.xlsb": xlsb(folder)}
    files, answers = [], ["files:"]
    for shape in SHAPES.values():
        for name, content in shape.files.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
            files.append(folder / name)
            answers += [f"  {name}: {shape.answer}"] * bool(shape.answer)
    instance, state = folder / "books", folder / "state"
    assert initialised(instance, *files, answers="\n".join(answers)) == 0
    load_feeds(instance, state)
    with serving(instance, state) as server, connected(server.url, "auto") as client:
        yield client


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_served_with_its_figures(books: McpBooks, name: str) -> None:
    shape = SHAPES[name]
    column = [{"scenario": shape.scenario, "alias": "A"}]
    told = books.ask(
        "run_metric_data",
        metrics=[f"{name}.amount"],
        scenarios=column,
        dimensions=[shape.dimension, "period"],
        **RANGE,
    )
    figures = {
        "|".join(row["members"].values()): Decimal(str(row["values"][0]))
        for row in told["rows"]
        if len(row.get("members", ())) == 2 and row["values"][0]
    }
    assert figures == {key: Decimal(amount) for key, amount in shape.cells.items()}
