"""Workbooks: sheets as XLSX, written row by row so that memory does not grow with them.

Every text is a text: nothing that a member, a label or an alias says is ever a formula, a link or a number.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from engine.catalogue import Style
from engine.exports.about import Made, about
from engine.exports.sheet import TEXT, Look, Sheet, SheetCell, sheet_of
from engine.snapshots.snapshots import Kept

MOST_ROWS = 1_048_576  # of a sheet
LONGEST_TEXT = 32_767  # characters of a cell
LONGEST_NAME = 31  # characters of a sheet's name
UNNAMEABLE = re.compile(r"[\[\]:*?/\\\x00-\x1f\ud800-\udfff]|^'|'$")
UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # in XML
ABOUT = "About"
SAFE = {
    "constant_memory": True,
    "strings_to_numbers": False,
    "strings_to_formulas": False,
    "strings_to_urls": False,
}
SET: Mapping[Style, Mapping[str, Any]] = {
    Style.PLAIN: {},
    Style.SUBTOTAL: {"bold": True, "top": 1},
    Style.TOTAL: {"bold": True, "top": 1, "bottom": 6},
    Style.RATIO: {"italic": True},
}
HEADING = {"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom"}


@dataclass(slots=True)
class Writing:
    """A workbook while it is written: its formats, each made once, and what must be said of its cells."""

    book: Workbook
    formats: dict[Look, Format] = field(default_factory=dict)
    exact_texts: int = 0
    cut_texts: int = 0

    def format(self, look: Look) -> Format:
        """Return the format of a look."""
        if look not in self.formats:
            heading = HEADING if look.is_heading else {}
            set_ = {"num_format": look.number, "indent": look.indent, "text_wrap": look.wraps}
            self.formats[look] = self.book.add_format({**set_, **SET[look.style], **heading})
        return self.formats[look]

    def put(self, sheet: Worksheet, row: int, column: int, cell: SheetCell) -> None:
        """Write one cell."""
        look = self.format(cell.look)
        match cell.value:
            case None:
                sheet.write_blank(row, column, None, look)
            case bool():
                sheet.write_boolean(row, column, cell.value, look)
            case Decimal():
                sheet.write_number(row, column, cell.value, look)
            case date():
                sheet.write_datetime(row, column, cell.value, look)
            case str():
                self.exact_texts += cell.is_exact
                sheet.write_string(row, column, self.text(cell.value), look)

    def text(self, text: str) -> str:
        """Return a text as a cell can hold it."""
        written = UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
        if len(written) > LONGEST_TEXT:
            self.cut_texts += 1
            written = written[: LONGEST_TEXT - 1] + "…"
        return written

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield what the file says of cells that are not as they were."""
        if self.exact_texts:
            yield "Note", f"{self.exact_texts} figures have more digits than a spreadsheet holds; they are texts."
        if self.cut_texts:
            yield "Note", f"{self.cut_texts} texts are longer than a cell holds; they end with an ellipsis."


def write_workbook(kept: Kept, made: Made, path: Path) -> None:
    """Write a kept result as a workbook: its rows, and a sheet that says what it is."""
    sheet = sheet_of(kept)
    with Workbook(str(path), {**SAFE, "tmpdir": str(path.parent)}) as book:
        book.set_properties({"title": UNWRITABLE.sub("", sheet.name), "created": made.at.replace(tzinfo=None)})
        writing = Writing(book)
        for at, rows in enumerate(pieces(sheet.rows, MOST_ROWS - len(sheet.headings))):
            write_sheet(writing, book.add_worksheet(sheet_name(sheet.name, at)), sheet, rows)
        write_about(writing, book.add_worksheet(ABOUT), list(about(kept, made)))


def pieces(rows: Iterator[Sequence[SheetCell]], most: int) -> Iterator[Iterator[Sequence[SheetCell]]]:
    """Yield rows in pieces of what one sheet holds; one without rows where there are none."""
    yield islice(rows, most)
    for first in rows:
        yield chain([first], islice(rows, most - 1))


def write_sheet(writing: Writing, sheet: Worksheet, of: Sheet, rows: Iterator[Sequence[SheetCell]]) -> None:
    """Write headings and rows to an empty sheet."""
    for at, width in enumerate(of.widths):
        sheet.set_column(at, at, width)
    sheet.freeze_panes(len(of.headings), of.frozen)
    sheet.repeat_rows(0, len(of.headings) - 1)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    headings = ([SheetCell(text, Look(TEXT, is_heading=True)) for text in level] for level in of.headings)
    for at, row in enumerate(chain(headings, rows)):
        for column, cell in enumerate(row):
            writing.put(sheet, at, column, cell)


def write_about(writing: Writing, sheet: Worksheet, rows: Sequence[tuple[str, str]]) -> None:
    """Write what a file says about itself."""
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 100)
    for at, (name, text) in enumerate(chain(rows, writing.remarks())):
        writing.put(sheet, at, 0, SheetCell(name, Look(TEXT, is_heading=True)))
        writing.put(sheet, at, 1, SheetCell(text, Look(TEXT, wraps=True)))


def sheet_name(label: str, at: int) -> str:
    """Return a name that a sheet may have, by its label; never that of the sheet about the file."""
    number = f" ({at + 1})" if at else ""
    name = UNNAMEABLE.sub(" ", label).strip() or "Report"
    if name.casefold() in (ABOUT.casefold(), "history"):  # the second is Excel's own
        name = f"{name} (report)"
    return name[: LONGEST_NAME - len(number)] + number
