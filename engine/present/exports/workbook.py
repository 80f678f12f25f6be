"""Workbooks: XLSX sheets, written row by row, so memory does not grow with them.

The writer stores every text as text. No member, label or alias becomes a formula, link, number or markup.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.format import Format
from xlsxwriter.utility import quote_sheetname, xl_range_abs
from xlsxwriter.worksheet import Worksheet

from engine.model.catalogue import Style
from engine.model.errors import BadArguments
from engine.model.stopping import Stop
from engine.present.exports.about import ExportStamp, about
from engine.present.exports.all_digits import MANY, ManyLongNumbersError, with_columns_beside
from engine.present.exports.cells import TEXT, Heading, Look, Role, Sheet, SheetCell, SheetRow, look_of
from engine.present.exports.kinds import kind_of
from engine.report.snapshots import Kept

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # of a sheet
MOST_LEVELS = 7  # of an outline
LONGEST_TEXT = 32_767  # UTF-16 units of a cell
LONGEST_NAME = 31  # UTF-16 units of a sheet's name
ROWS_AT_ONCE = 100  # between looks at `stop`
UNNAMEABLE = re.compile(r"[\[\]:*?/\\\x00-\x1f\ud800-\udfff\ufffe\uffff]")
UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # in XML
MARKUP = ("<r>", "</r>")  # xlsxwriter writes a text with this start and end as XML
AFTER_UNDERSCORE = re.compile("(?<=_)(?=x[0-9A-Fa-f]{4}_)")  # in a text that spreadsheets decode to one character
ABOUT = "About"
ABOUT_WIDTHS = (24, 100)
LONG = "have more digits than a spreadsheet holds"
FOOTER = "&L&A&RPage &P of &N"
OPTIONS: Final = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
    "use_zip64": True,
}

STYLES: Mapping[Style, Mapping[str, Any]] = {
    Style.PLAIN: {},
    Style.SUBTOTAL: {"bold": True, "top": 1},
    Style.TOTAL: {"bold": True, "top": 1, "bottom": 6},
    Style.RATIO: {"italic": True},
}
HEADING = {"bold": True, "valign": "bottom", "text_wrap": True}
ROLES: Mapping[Role, Mapping[str, Any]] = {
    Role.DAY: {"align": "left"},
    Role.UPPER_HEADING: {**HEADING, "align": "center"},
    Role.WORDS_HEADING: {**HEADING, "align": "left", "bottom": 1},
    Role.FIGURES_HEADING: {**HEADING, "align": "right", "bottom": 1},
    Role.HEADER_LINE: {"bold": True},
    Role.NAME: {"bold": True, "valign": "top"},
    Role.REMARK: {"valign": "top", "text_wrap": True},
}


def write_workbook(kept: Kept, made: ExportStamp, path: Path, stop: Stop, most_rows: int = MOST_ROWS) -> None:
    """Write a result as a workbook: its rows, and a sheet about the file.

    A sheet holds at most `most_rows`; further rows go to the next sheet. Temporary files stand in the folder of `path`.
    Calls `stop` between rows. Raises BadArguments if the result has more columns than a sheet, and OSError if the file
    cannot be written.
    """
    sheet = kind_of(kept).sheet
    try:
        write_sheets(kept, sheet(kept), made, path, stop, most_rows)
    except ManyLongNumbersError:
        widened = with_columns_beside(sheet(kept), sheet(kept), stop)
        write_sheets(kept, widened, made, path, stop, most_rows)


def write_sheets(kept: Kept, sheet: Sheet, made: ExportStamp, path: Path, stop: Stop, most_rows: int) -> None:
    """Write a sheet and that about the file. Raises ManyLongNumbersError if it would have too many comments."""
    refuse_too_wide(sheet)
    with opened(path, UNWRITABLE.sub("", sheet.name), made) as book:
        writer = BookWriter(book, stop)
        for at, rows in enumerate(parts_of(sheet.rows, most_rows - len(sheet.headings))):
            writer.write_sheet(sheet, at, rows)
        writer.write_about(chain(about(kept, made, kind_of(kept).question(kept)), writer.remarks()))


def parts_of(rows: Iterator[SheetRow], most: int) -> Iterator[Iterator[SheetRow]]:
    """Yield rows in parts of at most `most`; read each part before the next. No rows give one empty part."""
    yield islice(rows, most)
    for row in rows:
        yield chain((row,), islice(rows, most - 1))


@contextmanager
def opened(path: Path, title: str, made: ExportStamp) -> Iterator[Workbook]:
    """Context manager for a workbook that is written to `path` on exit, and discarded if the block raises."""
    with TemporaryDirectory(prefix=f"{path.name}.", dir=path.parent) as folder:
        book = Workbook(str(path), {**OPTIONS, "tmpdir": folder})
        book.set_properties({"title": title, "created": made.at.astimezone(UTC)})
        try:
            yield book
            book.close()
        except FileCreateError as fault:
            raise fault.args[0] from None  # the OSError that it wraps
        finally:
            for sheet in book.worksheets():
                sheet.row_data_fh.close()


class BookWriter:
    """Writes the sheets of a workbook, and counts the cells it had to change."""

    def __init__(self, book: Workbook, stop: Stop) -> None:
        self._book = book
        self._stop = stop
        self._formats: dict[Look, Format] = {}
        self._comments = 0
        self._long_texts = 0
        self._cut_texts = 0

    def write_sheet(self, sheet: Sheet, at: int, rows: Iterable[SheetRow]) -> None:
        """Write rows as sheet number `at`, with headings, a filter and named ranges."""
        levels, width = len(sheet.headings), len(sheet.widths)
        page = self._page(sheet_name(sheet.name, at), sheet.widths)
        page.set_landscape()
        page.repeat_rows(0, levels - 1)
        page.freeze_panes(levels, sheet.frozen)
        page.outline_settings(symbols_below=False)
        for level, headings in enumerate(sheet.headings):
            self._write_headings(page, level, headings, is_last=level == levels - 1)
        last = self._write_rows(page, levels, rows)
        page.autofilter(levels - 1, 0, max(levels - 1, last - sheet.totals), width - 1)
        self._name("Data", page, at, (levels - 1, 0, last, width - 1))
        if levels <= last and sheet.frozen < width:
            self._name("Figures", page, at, (levels, sheet.frozen, last, width - 1))

    def write_about(self, rows: Iterable[tuple[str, str]]) -> None:
        """Write the sheet about the workbook."""
        page = self._page(ABOUT, ABOUT_WIDTHS)
        name, remark = look_of(TEXT, role=Role.NAME), look_of(TEXT, role=Role.REMARK)
        self._write_rows(page, 0, (SheetRow([SheetCell(head, name), SheetCell(text, remark)]) for head, text in rows))

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield the remarks on cells that had to change."""
        if self._comments:
            yield "Note", f"{self._comments} figures {LONG}; comments of their cells have all digits."
        if self._long_texts:
            yield "Note", f"{self._long_texts} figures {LONG}; texts in or beside their cells have all digits."
        if self._cut_texts:
            yield "Note", f"{self._cut_texts} texts are longer than a cell holds; they end with an ellipsis."

    def _page(self, name: str, widths: Sequence[int]) -> Worksheet:
        page = self._book.add_worksheet(name)
        for column, width in enumerate(widths):
            page.set_column(column, column, width)
        page.fit_to_pages(1, 0)
        page.set_footer(FOOTER)
        page.ignore_errors({"number_stored_as_text": f"A1:XFD{MOST_ROWS}"})
        return page

    def _name(self, name: str, page: Worksheet, at: int, area: tuple[int, int, int, int]) -> None:
        suffix = f"_{at + 1}" if at else ""
        self._book.define_name(f"{name}{suffix}", f"={quote_sheetname(page.get_name())}!{xl_range_abs(*area)}")

    def _write_headings(self, page: Worksheet, row: int, headings: Sequence[Heading], *, is_last: bool) -> None:
        column = 0
        for heading in headings:
            role = heading_role(heading, is_last=is_last)
            form = self._format(look_of(TEXT, role=role))
            if heading.columns > 1:
                page.merge_range(row, column, row, column + heading.columns - 1, "", form)
            self._write_text(page, row, column, heading.words, form)
            column += heading.columns

    def _write_rows(self, page: Worksheet, first: int, rows: Iterable[SheetRow]) -> int:
        """Write rows from position `first` on, and return the position of the last."""
        at = first - 1
        for at, row in enumerate(rows, first):
            if (at - first) % ROWS_AT_ONCE == 0:
                self._stop()
            if row.level:
                page.set_row(at, None, None, {"level": min(row.level, MOST_LEVELS)})
            self._write_cells(page, at, row.cells)
        return at

    def _write_cells(self, page: Worksheet, row: int, cells: Sequence[SheetCell]) -> None:
        formats = self._formats
        for column, (value, look, digits) in enumerate(cells):
            form = formats.get(look) or self._format(look)
            if isinstance(value, float):
                page.write_number(row, column, value, form)
                if digits is not None:
                    self._write_comment(page, row, column, digits)
            elif isinstance(value, str):
                self._long_texts += digits is not None
                self._write_text(page, row, column, value, form)
            elif value is not None:
                page.write_boolean(row, column, value, form)
            elif look.style is not Style.PLAIN:  # has borders
                page.write_blank(row, column, None, form)

    def _write_comment(self, page: Worksheet, row: int, column: int, digits: str) -> None:
        self._comments += 1
        if self._comments >= MANY:
            raise ManyLongNumbersError
        page.write_comment(row, column, digits)

    def _write_text(self, page: Worksheet, row: int, column: int, text: str, form: Format) -> None:
        if not text.isprintable():
            text = UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
        if len(text) > LONGEST_TEXT // 2 and (short := cut_units(text, LONGEST_TEXT)) != text:
            self._cut_texts += 1
            text = short
        if text.startswith(MARKUP[0]) and text.endswith(MARKUP[1]):
            pieces = [text[0], *AFTER_UNDERSCORE.split(text[1:])]
            page.write_rich_string(row, column, *(part for piece in pieces for part in (form, piece)), form)
        else:
            page.write_string(row, column, text, form)

    def _format(self, look: Look) -> Format:
        form = self._formats.get(look)
        if form is None:
            role = ROLES.get(look.role)
            properties = {**(STYLES[look.style] if role is None else role), "num_format": look.number}
            if look.indent:
                properties |= {"align": "left", "indent": look.indent}
            form = self._formats[look] = self._book.add_format(properties)
        return form


def heading_role(heading: Heading, *, is_last: bool) -> Role:
    """Return the role of a heading: over other headings, figures or words."""
    if is_last:
        return Role.FIGURES_HEADING if heading.figures else Role.WORDS_HEADING
    return Role.UPPER_HEADING if heading.figures else Role.HEADER_LINE


def refuse_too_wide(sheet: Sheet) -> None:
    """Refuse a result with more columns than a sheet holds. Raises BadArguments."""
    if len(sheet.widths) > MOST_COLUMNS:
        raise BadArguments(
            f"A sheet holds {MOST_COLUMNS:,} columns and this has {len(sheet.widths):,}. Export it as json, or break "
            "down a narrower report.",
            field="format",
            got="xlsx",
            valid=["json"],
        )


def cut_units(text: str, longest: int) -> str:
    """Return a text cut to `longest` UTF-16 units, with an ellipsis if it was longer."""
    units = text.encode("utf-16-le")
    if len(units) <= 2 * longest:
        return text
    return units[: 2 * (longest - 1)].decode("utf-16-le", errors="ignore") + "\N{HORIZONTAL ELLIPSIS}"


def sheet_name(label: str, at: int) -> str:
    """Return a valid sheet name for a label, different from the name of the about sheet."""
    number = f" ({at + 1})" if at else ""
    name = UNNAMEABLE.sub(" ", label).strip(" '") or "Report"
    if name.casefold() in (ABOUT.casefold(), "history"):  # Excel reserves the second name
        name = f"{name} (report)"
    units = name.encode("utf-16-le")[: 2 * (LONGEST_NAME - len(number))]
    return units.decode("utf-16-le", errors="ignore").rstrip(" '") + number
