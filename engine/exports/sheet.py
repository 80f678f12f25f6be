"""Sheets: a kept result as rows of cells, before any file format.

A cell is a number, a truth, a day, a text or nothing, with how it is set. Numbers are in units whatever the report's
scale: scale and decimals are number formats, so that a program that reads the file has every digit. Spreadsheets hold
15 significant digits; an exact figure of more is its digits as text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import lru_cache, partial
from itertools import chain
from typing import Any

from engine.catalogue import Style
from engine.exact import Exact
from engine.exports.cells import (
    A_DAY,
    AMOUNT,
    AN_INSTANT,
    PLAIN_TEXT,
    TEXT,
    Holds,
    Look,
    Role,
    Sheet,
    SheetCell,
    look_of,
)
from engine.report.data import Comparison, Line, ReportData
from engine.report.display import is_in_hundredths, places_shown
from engine.report.inspection import Inspection, RowColumn, RowValue
from engine.report.layout import Across, Down, Layout, layout
from engine.report.report import Report
from engine.report.transform import Transform
from engine.snapshots.snapshots import Kept

DIGITS = 15  # significant ones that spreadsheets hold
ZEROTH_DAY = date(1899, 12, 30)
FIRST_DAY = date(1900, 3, 1)  # before it spreadsheets disagree on what day a number is
DAY_CODE = 10  # characters of the code of a day
ZERO = '"\N{EN DASH}"'


def sheet_of(kept: Kept) -> Sheet:
    """Return a kept result as a sheet."""
    return SHEETS[type(kept)](kept)


def report_sheet(report: Report) -> Sheet:
    """Return a report as it was seen: a statement with its lines down, metrics with their members down."""
    sheet, looks = layout(report), Looks(report)
    heads = ("", "Unit") if report.statement is not None else tuple(chain(*map(two_columns, report.breakdown))) or ("",)
    levels = list(zip(*(headings(sheet, across) for across in sheet.across), strict=True))
    return Sheet(
        name=report.label,
        headings=[
            [*(heads if at == len(levels) - 1 else [""] * len(heads)), *level] for at, level in enumerate(levels)
        ],
        frozen=len(heads),
        widths=[*(width_of(head) for head in heads), *[16] * len(sheet.across)],
        right=[*[False] * len(heads), *[True] * len(sheet.across)],
        height=len(sheet.down),
        rows=([*head_cells(report, down), *figure_cells(sheet, down, looks)] for down in sheet.down),
    )


def two_columns(dimension: str) -> tuple[str, str]:
    """Return the headings of a dimension's ids and labels."""
    return dimension, f"{dimension} label"


def width_of(head: str) -> int:
    """Return how many characters a column at the head of rows is wide."""
    return {"": 44, "Unit": 16}.get(head, 32 if head.endswith("label") else 14)


def headings(sheet: Layout, across: Across) -> tuple[str, ...]:
    """Return the headings of a column, level by level."""
    report, heading = sheet.report, sheet.report.columns[across.column].heading
    if across.line is not None:
        line = report.lines[across.line]
        return line.label, heading, unit_shown(report, line, report.columns[across.column].comparison)
    place = report.places[across.place or 0]
    labels = {member.dimension: member.label for member in place.members}
    return heading, *(labels.get(dimension, "Total") for dimension in report.breakdown)


def unit_shown(report: ReportData, line: Line, comparison: Comparison) -> str:
    """Return the unit of a line's figures as their number format shows them."""
    unit = report.unit(line, comparison, scaled=False) or ""
    return "%" if unit == "fraction" else unit


def head_cells(report: Report, down: Down) -> Iterator[SheetCell]:
    """Yield what stands at the head of a row: a line and its unit, or ids and labels of members."""
    if down.line is not None:
        line = report.lines[down.line]
        role = Role.HEADER_LINE if line.type is None else Role.CELL
        yield SheetCell(line.label, look_of(TEXT, line.style, line.level, role))
        yield SheetCell(unit_shown(report, line, Comparison.FIGURE), look_of(TEXT, line.style))
        return
    place = report.places[down.place or 0]
    members = {member.dimension: member for member in place.members}
    look = look_of(TEXT, Style.TOTAL if place.is_total else Style.PLAIN)
    if not report.breakdown:
        yield SheetCell("Total", look)
    for at, dimension in enumerate(report.breakdown):
        member = members.get(dimension)
        yield SheetCell(member.id if member else "Total" if at == 0 else None, look)
        yield SheetCell(member.label if member else None, look)


@dataclass(frozen=True, slots=True)
class Looks:
    """How the figures of a report are set, each look made once."""

    report: ReportData
    known: dict[tuple[int, int, bool], Look] = field(default_factory=dict)

    def of(self, line: int, column: int, *, in_total: bool) -> Look:
        """Return the look of the figures of a line in a column, in a row of totals or not."""
        look = self.known.get((line, column, in_total))
        if look is None:
            of, comparison = self.report.lines[line], self.report.columns[column].comparison
            style = Style.TOTAL if in_total else of.style
            look = look_of("General" if of.type is None else number_format(self.report, of, comparison), style)
            self.known[line, column, in_total] = look
        return look


def figure_cells(sheet: Layout, down: Down, looks: Looks) -> Iterator[SheetCell]:
    """Yield the figures of a row."""
    report = sheet.report
    in_total = down.place is not None and report.places[down.place].is_total
    for across in sheet.across:
        cell = sheet.cell(down, across)
        line = down.line if across.line is None else across.line
        look = looks.of(line or 0, across.column, in_total=in_total)
        if cell.figure is None:
            yield SheetCell(None, look)
        else:
            quotient = report.is_quotient(cell.line, cell.column.comparison)
            yield number_cell(cell.figure, look, quotient=quotient)


def number_cell(figure: Exact, look: Look, *, quotient: bool) -> SheetCell:
    """Return a number, as text where a spreadsheet would round it."""
    digits = figure.digits(quotient=quotient)
    if len(digits) <= DIGITS or len(digits.lstrip("-0.").replace(".", "").rstrip("0")) <= DIGITS:
        return SheetCell(digits, look, Holds.NUMBER)
    return SheetCell(digits, look_of(TEXT, look.style), Holds.LONG_NUMBER)


def number_format(report: ReportData, line: Line, comparison: Comparison) -> str:
    """Return the number format of figures: their scale, decimals and signs as the formatted table shows them."""
    shown = digits_format(report, line, comparison)
    if is_in_hundredths(line, comparison) or comparison is Comparison.VARIANCE:
        plus = "+" if comparison is not Comparison.FIGURE else ""
        return f"{plus}{shown};-{shown};{ZERO}"
    return f"{shown};({shown});{ZERO}"


def digits_format(report: ReportData, line: Line, comparison: Comparison) -> str:
    """Return the digits of a number format, without signs."""
    places = places_shown(report, line, comparison)
    decimals = f".{'0' * places}" if places else ""
    if is_in_hundredths(line, comparison):
        return f"0{decimals}%"
    thousands = "," * (report.scale // 3) if report.is_scaled(line, comparison) else ""
    return f"#,##0{decimals}{thousands}"


def rows_sheet(inspection: Inspection) -> Sheet:
    """Return inspected rows: a column for each, and one for the labels of members where they say more than ids."""
    columns = inspection.columns
    heads = [head for column in columns for head in column_heads(inspection, column)]
    cells = [
        partial(row_cells, column, inspection.labels.get(column.name), quotient=inspection.quotient)
        for column in columns
    ]
    return Sheet(
        name=inspection.source,
        headings=[[head.words for head in heads]],
        frozen=0,
        widths=[head.width for head in heads],
        right=[head.right for head in heads],
        height=len(inspection.rows),
        rows=([cell for of, value in zip(cells, row, strict=True) for cell in of(value)] for row in inspection.rows),
    )


@dataclass(frozen=True, slots=True)
class Head:
    """The heading of a column, how wide it is, and whether it holds figures."""

    words: str
    width: int
    right: bool = False


def column_heads(inspection: Inspection, column: RowColumn) -> Iterator[Head]:
    """Yield the headings of a column."""
    unit = f" ({column.unit})" if column.unit else ""
    yield Head(f"{column.name}{unit}", 16, column.kind == "amount")
    if column.name in inspection.labels:
        yield Head(f"{column.name} label", 32)


def row_cells(
    column: RowColumn, labels: Mapping[str, str] | None, value: RowValue, *, quotient: bool
) -> Sequence[SheetCell]:
    """Return the cells of one value: itself, and its label where its column has labels."""
    if isinstance(value, Exact):
        return (number_cell(value, AMOUNT, quotient=quotient),)
    day = day_number(value) if column.kind == "date" else None
    cell = SheetCell(value, PLAIN_TEXT) if day is None else SheetCell(day, A_DAY, Holds.NUMBER)
    return (cell,) if labels is None else (cell, SheetCell(value and labels.get(value, value), PLAIN_TEXT))


@lru_cache(1000)
def day_number(code: str | None) -> str | None:
    """Return what a spreadsheet counts a day as, None of a longer period and of a day that they do not agree on."""
    if code is None or len(code) != DAY_CODE:
        return None
    day = date.fromisoformat(code)
    return serial(day) if day >= FIRST_DAY else None


def serial(day: date) -> str:
    """Return the number that a day is to spreadsheets."""
    return str((day - ZEROTH_DAY).days)


def transform_sheet(transform: Transform) -> Sheet:
    """Return the table that a script made, each value as what it is."""
    heads = [
        f"{name} ({transform.units[name]})" if name in transform.units else name for name in transform.frame.columns
    ]
    return Sheet(
        name=transform.label,
        headings=[heads],
        frozen=0,
        widths=[16] * len(heads),
        right=[dtype.is_numeric() for dtype in transform.frame.dtypes],
        height=transform.frame.height,
        rows=([plain_cell(value) for value in row] for row in transform.frame.iter_rows()),
    )


def plain_cell(value: object) -> SheetCell:
    """Return a value of a script: its numbers are floats, which spreadsheets hold as well."""
    match value:
        case bool():
            return SheetCell(str(int(value)), look_of(), Holds.TRUTH)
        case int() | float():
            return SheetCell(repr(value), look_of(), Holds.NUMBER)
        case datetime() if value.date() >= FIRST_DAY:
            days = (value - datetime.combine(ZEROTH_DAY, time())) / timedelta(days=1)
            return SheetCell(f"{days:.10f}", AN_INSTANT, Holds.NUMBER)
        case date() if not isinstance(value, datetime) and value >= FIRST_DAY:
            return SheetCell(serial(value), A_DAY, Holds.NUMBER)
        case list():
            return SheetCell(", ".join("" if item is None else str(item) for item in value))
    return SheetCell(None if value is None else str(value))


SHEETS: Mapping[type, Callable[[Any], Sheet]] = {
    Report: report_sheet,
    Inspection: rows_sheet,
    Transform: transform_sheet,
}
