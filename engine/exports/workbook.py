"""Workbooks: sheets as XLSX, written row by row into the file itself, so that memory does not grow with them.

Every text is a text: nothing that a member, a label or an alias says is ever a formula, a link, a number or markup.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, count, islice
from pathlib import Path
from string import ascii_uppercase
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

from engine.errors import BadArguments
from engine.exports.about import Made, about
from engine.exports.cells import TEXT, Holds, Role, Sheet, SheetCell, look_of
from engine.exports.package import DECLARATION, STYLES, parts_of, sheet_part
from engine.exports.rows_sheet import rows_sheet
from engine.exports.sheet import report_sheet
from engine.exports.styles import MAIN, Styles
from engine.exports.transform_sheet import transform_sheet
from engine.report.inspection import Inspection, Stop
from engine.report.report import Report
from engine.report.transform import Transform
from engine.snapshots.snapshots import Kept

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # of a sheet
MANY_CELLS = 20_000_000  # from which the XML of a sheet may be longer than ZIP says without its extension
LONGEST_TEXT = 32_767  # characters of a cell
LONGEST_NAME = 31  # characters of a sheet's name
ROWS_AT_ONCE = 100
DEFLATION = 1  # higher levels take twice the time for a tenth of the size
UNNAMEABLE = re.compile(r"[\[\]:*?/\\\x00-\x1f\ud800-\udfff]|^'|'$")
UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # in XML
SPECIAL = re.compile(r"[&<>\r]|_x|" + UNWRITABLE.pattern)
ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")  # what spreadsheets read as a character by its number
UPPER_WORDS, UPPER = look_of(TEXT, role=Role.HEADER_LINE), look_of(TEXT, role=Role.UPPER_HEADING)
WORDS, FIGURES = look_of(TEXT, role=Role.WORDS_HEADING), look_of(TEXT, role=Role.FIGURES_HEADING)
OPENING = f'<worksheet xmlns="{MAIN}"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>'
CLOSING = (  # printed as wide as a page, each with its number
    '<pageSetup orientation="landscape" fitToHeight="0"/>'
    "<headerFooter><oddFooter>&amp;L&amp;A&amp;RPage &amp;P of &amp;N</oddFooter></headerFooter></worksheet>"
)
ABOUT = "About"
ABOUT_WIDTHS = (24, 100)

SHEETS: Mapping[type, Callable[[Any], Sheet]] = {
    Report: report_sheet,
    Inspection: rows_sheet,
    Transform: transform_sheet,
}


@dataclass(slots=True)
class Writing:
    """A workbook while it is written: its looks, and what must be said of its cells."""

    styles: Styles = field(default_factory=Styles)
    long_numbers: int = 0
    cut_texts: int = 0

    def row(self, at: int, cells: Iterable[SheetCell]) -> str:
        """Return a row as XML."""
        return (
            f'<row r="{at}">{"".join(self.cell(f"{column_name(on)}{at}", cell) for on, cell in enumerate(cells))}</row>'
        )

    def cell(self, place: str, cell: SheetCell) -> str:
        """Return one cell as XML."""
        style = self.styles.of(cell.look)
        if cell.value is None:
            return f'<c r="{place}" s="{style}"/>'
        if cell.holds is Holds.NUMBER:
            return f'<c r="{place}" s="{style}"><v>{cell.value}</v></c>'
        if cell.holds is Holds.TRUTH:
            return f'<c r="{place}" s="{style}" t="b"><v>{cell.value}</v></c>'
        self.long_numbers += cell.holds is Holds.LONG_NUMBER
        text = cell.value
        if len(text) > LONGEST_TEXT:
            self.cut_texts += 1
            text = text[: LONGEST_TEXT - 1] + "…"
        return f'<c r="{place}" s="{style}" t="inlineStr"><is><t xml:space="preserve">{in_xml(text)}</t></is></c>'

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield what the file says of cells that are not as they were."""
        if self.long_numbers:
            yield "Note", f"{self.long_numbers} figures have more digits than a spreadsheet holds; they are texts."
        if self.cut_texts:
            yield "Note", f"{self.cut_texts} texts are longer than a cell holds; they end with an ellipsis."


def write_workbook(kept: Kept, made: Made, path: Path, stop: Stop) -> None:
    """Write a kept result as a workbook: its rows, looking at `stop` between them, and a sheet that says what it is."""
    sheet, writing = SHEETS[type(kept)](kept), Writing()
    refuse_too_wide(sheet)
    levels = len(sheet.headings)
    room = MOST_ROWS - levels
    names = [sheet_name(sheet.name, at) for at in range(max(1, -(-sheet.height // room)))]
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=DEFLATION) as file:
        title = UNWRITABLE.sub("", sheet.name)
        for part, text in parts_of(title, [*names, ABOUT], [f"$1:${levels}"] * len(names), made.at):
            write(file, part, [text])
        for at in range(len(names)):
            rows = chain(heading_rows(sheet), islice(sheet.rows, room))
            write(file, sheet_part(at), sheet_xml(writing, sheet, rows, stop), many=is_large(sheet))
        write(file, sheet_part(len(names)), about_xml(writing, chain(about(kept, made), writing.remarks()), stop))
        write(file, STYLES, [writing.styles.sheet()])


def refuse_too_wide(sheet: Sheet) -> None:
    """Refuse what has more columns than a sheet of a spreadsheet."""
    if len(sheet.widths) > MOST_COLUMNS:
        raise BadArguments(
            f"A sheet holds {MOST_COLUMNS:,} columns and this has {len(sheet.widths):,}. Export it as json, or break "
            "down a narrower report.",
            field="format",
            got="xlsx",
            valid=["json"],
        )


def write(file: ZipFile, part: str, xml: Iterable[str], *, many: bool = False) -> None:
    """Write one part of a workbook, piece by piece."""
    with file.open(part, "w", force_zip64=many) as opened:
        opened.write(DECLARATION.encode())
        for piece in xml:
            opened.write(piece.encode())


def is_large(sheet: Sheet) -> bool:
    """Tell whether the XML of a sheet may be longer than ZIP says without its extension."""
    return min(sheet.height, MOST_ROWS) * len(sheet.widths) > MANY_CELLS


def heading_rows(sheet: Sheet) -> Iterator[Sequence[SheetCell]]:
    """Yield the headings of a sheet."""
    *upper, last = sheet.headings
    for level in upper:
        yield [SheetCell(text, UPPER if right else UPPER_WORDS) for text, right in zip(level, sheet.right, strict=True)]
    yield [SheetCell(text, FIGURES if right else WORDS) for text, right in zip(last, sheet.right, strict=True)]


def sheet_xml(writing: Writing, sheet: Sheet, rows: Iterable[Sequence[SheetCell]], stop: Stop) -> Iterator[str]:
    """Yield the XML of a sheet of figures: headings in sight, printed on pages as wide as it is."""
    levels, frozen = len(sheet.headings), sheet.frozen
    corner, split = f"{column_name(frozen)}{levels + 1}", f'xSplit="{frozen}" ' if frozen else ""
    pane = "bottomRight" if frozen else "bottomLeft"
    yield (
        f"{OPENING}<sheetViews>"
        f'<sheetView workbookViewId="0"><pane {split}ySplit="{levels}" topLeftCell="{corner}" activePane="{pane}" '
        f'state="frozen"/><selection pane="{pane}"/></sheetView></sheetViews>{columns_xml(sheet.widths)}'
    )
    yield from data_xml(writing, rows, stop)
    yield CLOSING


def about_xml(writing: Writing, rows: Iterable[tuple[str, str]], stop: Stop) -> Iterator[str]:
    """Yield the XML of the sheet that says what a file is."""
    name, remark = look_of(TEXT, role=Role.NAME), look_of(TEXT, role=Role.REMARK)
    yield f"{OPENING}{columns_xml(ABOUT_WIDTHS)}"
    yield from data_xml(writing, ([SheetCell(head, name), SheetCell(text, remark)] for head, text in rows), stop)
    yield CLOSING


def columns_xml(widths: Sequence[int]) -> str:
    """Return the XML of the widths of columns."""
    found = (f'<col min="{at}" max="{at}" width="{width}" customWidth="1"/>' for at, width in enumerate(widths, 1))
    return f"<cols>{''.join(found)}</cols>"


def data_xml(writing: Writing, rows: Iterable[Sequence[SheetCell]], stop: Stop) -> Iterator[str]:
    """Yield the XML of rows, looking at `stop` before each few."""
    yield "<sheetData>"
    numbered = zip(count(1), rows, strict=False)
    while some := [writing.row(at, cells) for at, cells in islice(numbered, ROWS_AT_ONCE)]:
        stop()
        yield "".join(some)
    yield "</sheetData>"


@lru_cache(MOST_COLUMNS)
def column_name(at: int) -> str:
    """Return the letters of a column, counted from 0."""
    left, last = divmod(at, len(ascii_uppercase))
    return f"{column_name(left - 1) if left else ''}{ascii_uppercase[last]}"


def in_xml(text: str) -> str:
    """Return a text as it stands in a cell; what no file can hold is replaced."""
    if not SPECIAL.search(text):
        return text
    return escape(ESCAPE.sub("_x005F_", UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text))).replace("\r", "_x000D_")


def sheet_name(label: str, at: int) -> str:
    """Return a name that a sheet may have, by its label; never that of the sheet about the file."""
    number = f" ({at + 1})" if at else ""
    name = UNNAMEABLE.sub(" ", label).strip() or "Report"
    if name.casefold() in (ABOUT.casefold(), "history"):  # the second is Excel's own
        name = f"{name} (report)"
    return name[: LONGEST_NAME - len(number)] + number
