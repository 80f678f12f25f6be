"""Sheets of reports: as they were seen, before any file format.

Numbers are in units whatever the report's scale: scale and decimals are number formats, so that a program that reads
the file has every digit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from engine.catalogue import Style
from engine.exact import Exact
from engine.exports.cells import ROOM, TEXT, Head, Look, Role, Sheet, SheetCell, look_of, number_cell, wide_enough
from engine.report.data import Comparison, Line, ReportData
from engine.report.display import is_in_hundredths, places_shown
from engine.report.layout import Across, Down, Layout, layout
from engine.report.report import Report

ZERO = '"\N{EN DASH}"'
POINTS = '" pts"'  # behind the percent sign of a difference of percents


def report_sheet(report: Report) -> Sheet:
    """Return a report as it was seen: a statement with its lines down, metrics with their members down."""
    sheet, looks = layout(report), Looks(report)
    heads = heads_of(report)
    across = list(zip(*(headings(sheet, across) for across in sheet.across), strict=True)) or [()]  # no columns at all
    beside = [[head.words if level is across[-1] else "" for head in heads] for level in across]
    beside[0][0] = beside[0][0] or f"{report.label}, {report.period.label}"
    return Sheet(
        name=report.label,
        headings=[[*words, *level] for words, level in zip(beside, across, strict=True)],
        frozen=len(heads),
        widths=[*(head.width for head in heads), *(wide_enough(level) for level in zip(*across, strict=True))],
        right=[*[False] * len(heads), *[True] * len(sheet.across)],
        height=len(sheet.down),
        rows=([*head_cells(report, down), *figure_cells(sheet, down, looks)] for down in sheet.down),
    )


def heads_of(report: Report) -> Sequence[Head]:
    """Return the headings at the head of rows: of lines and their units, or of the ids and labels of members."""
    if report.statement is not None:
        return Head("", 44), Head("Unit", 16)
    ids = [[Head(dimension, 14), Head(f"{dimension} label", 32)] for dimension in report.breakdown]
    return tuple(chain(*ids)) or (Head("", 44),)


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
    unit = report.unit(line, comparison) or ""
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


def number_format(report: ReportData, line: Line, comparison: Comparison) -> str:
    """Return the number format of figures: their scale, decimals and signs as the formatted table shows them.

    What rounds to zero is shown as zero. The sections for plus and minus would show it as (0), so they say where they
    begin.
    """
    shown, least = digits_format(report, line, comparison), least_shown(report, line, comparison)
    plus, minus = "", f"({shown})"
    if is_in_hundredths(line, comparison) or comparison is Comparison.VARIANCE:
        plus, minus = "+" if comparison is not Comparison.FIGURE else "", f"-{shown}{ROOM}"
    return f"[>={least}]{plus}{shown}{ROOM};[<=-{least}]{minus};{ZERO}{ROOM}"


def least_shown(report: ReportData, line: Line, comparison: Comparison) -> str:
    """Return the least amount that does not round to zero: half of the last decimal place."""
    places = places_shown(report, line, comparison) + (2 if is_in_hundredths(line, comparison) else 0)
    scale = report.scale if report.is_scaled(line, comparison) else 0
    return Exact(5 * 10**scale, 10 ** (places + 1)).digits()


def digits_format(report: ReportData, line: Line, comparison: Comparison) -> str:
    """Return the digits of a number format, without signs."""
    places = places_shown(report, line, comparison)
    decimals = f".{'0' * places}" if places else ""
    if is_in_hundredths(line, comparison):
        return f"#,##0{decimals}%{POINTS if comparison is Comparison.VARIANCE else ''}"
    thousands = "," * (report.scale // 3) if report.is_scaled(line, comparison) else ""
    return f"#,##0{decimals}{thousands}"
