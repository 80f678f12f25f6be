"""Sheets: a kept result as rows of cells, before any file format.

A cell is a decimal number, a truth, a day, a text or nothing, with how it is set. Numbers are in units whatever the
report's scale: scale and decimals are number formats, so that a program that reads the file has every digit.
Spreadsheets hold 15 significant digits; an exact figure of more is its digits as text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from typing import Any

from engine.catalogue import Style
from engine.exact import Exact
from engine.report.data import Comparison, Line, ReportData
from engine.report.display import is_in_hundredths, places_shown
from engine.report.inspection import Inspection, RowColumn
from engine.report.layout import Across, Cell, Down, Layout, layout
from engine.report.report import Report
from engine.report.transform import Transform
from engine.snapshots.snapshots import Kept

Value = Decimal | bool | date | str | None
DIGITS = 15  # significant ones that spreadsheets hold
FIRST_DAY = date(1900, 3, 1)  # before it spreadsheets disagree on what day a number is
DAY_CODE = 10  # characters of the code of a day
ZERO = '"\N{EN DASH}"'
TEXT, DAY, INSTANT = "@", "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"
PLAIN = "#,##0.##########"


@dataclass(frozen=True, slots=True)
class Look:
    """How a cell is set."""

    number: str = "General"  # a number format
    style: Style = Style.PLAIN
    is_heading: bool = False
    indent: int = 0
    wraps: bool = False


@dataclass(frozen=True, slots=True)
class SheetCell:
    """A value and how it is set; `is_exact` where it is a number as text."""

    value: Value
    look: Look = Look()
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows of cells under their headings; the first columns and the headings stay in sight."""

    name: str
    headings: Sequence[Sequence[str]]  # level by level
    frozen: int  # columns
    widths: Sequence[int]  # in characters
    rows: Iterator[Sequence[SheetCell]]


def sheet_of(kept: Kept) -> Sheet:
    """Return a kept result as a sheet."""
    return SHEETS[type(kept)](kept)


def report_sheet(report: Report) -> Sheet:
    """Return a report as it was seen: a statement with its lines down, metrics with their members down."""
    sheet = layout(report)
    heads = ("", "Unit") if report.statement is not None else tuple(chain(*map(two_columns, report.breakdown))) or ("",)
    levels = list(zip(*(headings(sheet, across) for across in sheet.across), strict=True))
    return Sheet(
        name=report.label,
        headings=[
            [*(heads if at == len(levels) - 1 else [""] * len(heads)), *level] for at, level in enumerate(levels)
        ],
        frozen=len(heads),
        widths=[*(width_of(head) for head in heads), *[16] * len(sheet.across)],
        rows=([*head_cells(report, down), *figure_cells(sheet, down)] for down in sheet.down),
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
        is_header = line.type is None
        yield SheetCell(line.label, Look(TEXT, line.style, is_heading=is_header, indent=line.level))
        yield SheetCell(unit_shown(report, line, Comparison.FIGURE), Look(TEXT, line.style))
        return
    place = report.places[down.place or 0]
    members = {member.dimension: member for member in place.members}
    look = Look(TEXT, Style.TOTAL if place.is_total else Style.PLAIN)
    if not report.breakdown:
        yield SheetCell("Total", look)
    for at, dimension in enumerate(report.breakdown):
        member = members.get(dimension)
        yield SheetCell(member.id if member else "Total" if at == 0 else None, look)
        yield SheetCell(member.label if member else None, look)


def figure_cells(sheet: Layout, down: Down) -> Iterator[SheetCell]:
    """Yield the figures of a row."""
    report = sheet.report
    for cell in sheet.cells(down):
        is_total = cell.place.is_total and down.place is not None
        style = Style.TOTAL if is_total else cell.line.style
        if cell.figure is None:
            yield SheetCell(None, Look(style=style))
            continue
        quotient = report.is_quotient(cell.line, cell.column.comparison)
        yield number_cell(cell.figure.decimal(quotient=quotient), Look(number_format(report, cell), style))


def number_cell(number: Decimal, look: Look) -> SheetCell:
    """Return a number, as text where a spreadsheet would round it."""
    digits = number.normalize().as_tuple().digits
    if len(digits) <= DIGITS:
        return SheetCell(number, look)
    return SheetCell(f"{number:f}", replace(look, number=TEXT), is_exact=True)


def number_format(report: ReportData, cell: Cell) -> str:
    """Return the number format of a figure: its scale, decimals and signs as the formatted table shows them."""
    comparison, line = cell.column.comparison, cell.line
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
    return Sheet(
        name=inspection.source,
        headings=[[words for words, _ in heads]],
        frozen=0,
        widths=[width for _, width in heads],
        rows=(list(chain(*map(row_cells, [inspection] * len(columns), columns, row))) for row in inspection.rows),
    )


def column_heads(inspection: Inspection, column: RowColumn) -> Iterator[tuple[str, int]]:
    """Yield the headings of a column with their widths."""
    unit = f" ({column.unit})" if column.unit else ""
    yield f"{column.name}{unit}", 16
    if column.name in inspection.labels:
        yield f"{column.name} label", 32


def row_cells(inspection: Inspection, column: RowColumn, value: Exact | str | None) -> Iterator[SheetCell]:
    """Yield the cells of one value: itself, and its label where its column has labels."""
    if isinstance(value, Exact):
        yield number_cell(value.decimal(quotient=inspection.quotient), Look(PLAIN))
        return
    day = day_of(value) if column.kind == "date" else None
    yield SheetCell(value, Look(TEXT)) if day is None else SheetCell(day, Look(DAY))
    if column.name in inspection.labels:
        yield SheetCell(value and inspection.labels[column.name].get(value, value), Look(TEXT))


def day_of(code: str | None) -> date | None:
    """Return the day of a code, None where it is a longer period's or a day that spreadsheets do not agree on."""
    if code is None or len(code) != DAY_CODE:
        return None
    day = date.fromisoformat(code)
    return day if day >= FIRST_DAY else None


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
        rows=([plain_cell(value) for value in row] for row in transform.frame.iter_rows()),
    )


def plain_cell(value: object) -> SheetCell:
    """Return a value of a script: its numbers are floats, which spreadsheets hold as well."""
    match value:
        case None | bool() | str():
            return SheetCell(value, Look(TEXT) if isinstance(value, str) else Look())
        case int() | float():
            return SheetCell(Decimal(repr(value)))
        case datetime() if value.date() >= FIRST_DAY:
            return SheetCell(value, Look(INSTANT))
        case date() if not isinstance(value, datetime) and value >= FIRST_DAY:
            return SheetCell(value, Look(DAY))
        case list():
            return SheetCell(", ".join("" if item is None else str(item) for item in value), Look(TEXT))
    return SheetCell(str(value), Look(TEXT))


SHEETS: Mapping[type, Callable[[Any], Sheet]] = {
    Report: report_sheet,
    Inspection: rows_sheet,
    Transform: transform_sheet,
}
