"""Sheets of reports, in the layout of the report.

Cells hold unscaled figures. Number formats apply scale and decimals, so a program that reads the file gets every digit.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter

from msgspec import Struct

from engine.model.catalogue import Style
from engine.model.exact import Exact
from engine.notes.currency_notes import MIXED
from engine.present.answers.full_reports import place_style
from engine.present.exports.cells import (
    ROOM,
    TEXT,
    Heading,
    Look,
    Role,
    Sheet,
    SheetCell,
    SheetRow,
    look_of,
    number_cell,
    wide_enough,
)
from engine.report.data import SCALED, Comparison, ReportColumn, ReportData, ReportLine
from engine.report.layout import Layout, LayoutColumn, LayoutRow, is_in_hundredths, layout, places_shown
from engine.report.report import Report

ZERO = '"\N{EN DASH}"'
POINTS = '" pts"'  # follows the percent sign of a difference of percents
CURRENCY = "Currency"  # heading of the rows' own currencies
Words = tuple[Hashable, str]  # the key of a heading, and its text


def report_sheet(report: Report) -> Sheet:
    """Return the sheet of a report: statements have lines as rows, metrics have members as rows."""
    sheet, looks, heads = layout(report), Looks(report), heads_of(report)
    across = [headings(sheet, across) for across in sheet.across]
    title = f"{report.label}, {report.period.label}"
    return Sheet(
        name=report.label,
        headings=heading_levels(title, [words for words, _ in heads], across),
        frozen=len(heads),
        widths=[*(width for _, width in heads), *(wide_enough([words for _, words in one[-2:]]) for one in across)],
        totals=int(report.statement is None and bool(report.breakdown)),
        rows=(
            SheetRow([*head_cells(report, down), *figure_cells(sheet, down, looks)], outline_level(report, down))
            for down in sheet.down
        ),
    )


def heads_of(report: Report) -> Sequence[tuple[str, int]]:
    """Return the headings and widths of the first columns: lines and units, or the ids and labels of members."""
    if report.statement is not None:
        return ("", 44), ("Unit", 24)
    ids = [[(dimension, 14), (f"{dimension} label", 32)] for dimension in report.breakdown]
    return (*(tuple(chain(*ids)) or (("", 44),)), *([(CURRENCY, 14)] if report.currency == MIXED else []))


def headings(sheet: Layout, across: LayoutColumn) -> Sequence[Words]:
    """Return the headings of a column of figures, level by level."""
    report, column = sheet.report, sheet.report.columns[across.column]
    scenario = across.column, column.heading
    if across.line is not None:
        line = report.lines[across.line]
        return (across.line, line.label), scenario, (None, unit_shown(report, line, column))
    place = report.places[across.place or 0]
    members = {member.dimension: (member.id, member.label) for member in place.members}
    own = [(None, column.currency or place.currency or MIXED)] if report.currency == MIXED else []
    total = report.total_words(column) if place.is_total else "Total"
    return scenario, *(members.get(dimension, (None, total)) for dimension in report.breakdown), *own


def heading_levels(title: str, heads: Sequence[str], across: Sequence[Sequence[Words]]) -> list[list[Heading]]:
    """Return the levels of headings. Above the last level, one heading spans all columns that share it."""
    last = len(across[0]) - 1 if across else 0
    levels = []
    for level in range(last + 1):
        level_heads = [Heading(words if level == last else "") for words in heads]
        if level == 0:
            level_heads[0] = Heading(level_heads[0].words or title)
        keys = [at if level == last else [key for key, _ in words[: level + 1]] for at, words in enumerate(across)]
        shared = groupby(zip(keys, across, strict=True), key=itemgetter(0))
        groups = [[words[level][1] for _, words in group] for _, group in shared]
        levels.append([*level_heads, *(Heading(group[0], len(group), figures=True) for group in groups)])
    return levels


def unit_shown(report: ReportData, line: ReportLine, column: ReportColumn | None = None) -> str:
    """Return the unit of a line's cells, in a column or in all of them, and the scale of their number format."""
    comparison = column.comparison if column else Comparison.FIGURE
    currency = report.currency_at(line, column, None) if column else None
    unit = report.unit(line, comparison, scaled=False, currency=currency) or ""
    if unit == "fraction":
        return "%"
    return f"{unit}, shown in{SCALED[report.scale]}" if report.scale and report.is_scaled(line, comparison) else unit


def outline_level(report: ReportData, down: LayoutRow) -> int:
    """Return the outline level of a row: that of its line, or how many sub-totals it stands below."""
    if down.line is None:
        return report.depth(report.places[down.place or 0])
    return report.lines[down.line].level


def head_cells(report: Report, down: LayoutRow) -> Iterator[SheetCell]:
    """Yield the first cells of a row: a line and its unit, or the ids and labels of members."""
    if down.line is not None:
        line = report.lines[down.line]
        role = Role.HEADER_LINE if line.type is None else Role.CELL
        yield SheetCell(line.label, look_of(TEXT, line.style, line.level, role))
        yield SheetCell(unit_shown(report, line), look_of(TEXT, line.style))
        return
    place = report.places[down.place or 0]
    members = {member.dimension: member for member in place.members}
    look = look_of(TEXT, place_style(place, report))
    if not report.breakdown:
        yield SheetCell("Total", look)
    for at, dimension in enumerate(report.breakdown):
        member = members.get(dimension)
        yield SheetCell(member.id if member else report.total_words() if at == 0 else None, look)
        yield SheetCell(member.label if member else None, look)
    if report.currency == MIXED:
        yield SheetCell(place.currency or MIXED, look)


class Looks(Struct, frozen=True):
    """The looks of a report's figures, each made once."""

    report: ReportData
    known: dict[tuple[int, int, Style], Look] = {}

    def of(self, line: int, column: int, style: Style) -> Look:
        """Return the look of a line's figures in a column, in a row of members of some style."""
        look = self.known.get((line, column, style))
        if look is None:
            of, comparison = self.report.lines[line], self.report.columns[column].comparison
            known = of.style if style is Style.PLAIN else style
            look = look_of("General" if of.type is None else number_format(self.report, of, comparison), known)
            self.known[line, column, style] = look
        return look


def figure_cells(sheet: Layout, down: LayoutRow, looks: Looks) -> Iterator[SheetCell]:
    """Yield the figures of a row."""
    report = sheet.report
    style = Style.PLAIN if down.place is None else place_style(report.places[down.place], report)
    for across in sheet.across:
        cell = sheet.cell(down, across)
        line = down.line if across.line is None else across.line
        look = looks.of(line or 0, across.column, style)
        if cell.figure is None:
            yield SheetCell(None, look)
        else:
            quotient = report.is_quotient(cell.line, cell.column.comparison)
            yield number_cell(cell.figure, look, quotient=quotient)


def number_format(report: ReportData, line: ReportLine, comparison: Comparison) -> str:
    """Return the number format of figures, with the scale, decimals and signs of the formatted table.

    A figure that rounds to zero must show as zero, not as (0). The positive and negative sections therefore name the
    values where they begin.
    """
    shown, least = digits_format(report, line, comparison), least_shown(report, line, comparison)
    plus, minus = "", f"({shown})"
    if is_in_hundredths(line, comparison) or comparison.differs:
        plus, minus = "+" if comparison.differs else "", f"-{shown}{ROOM}"
    return f"[>={least}]{plus}{shown}{ROOM};[<=-{least}]{minus};{ZERO}{ROOM}"


def least_shown(report: ReportData, line: ReportLine, comparison: Comparison) -> str:
    """Return the smallest amount that does not round to zero: half a unit of the last decimal place."""
    places = places_shown(report, line, comparison) + (2 if is_in_hundredths(line, comparison) else 0)
    scale = report.scale if report.is_scaled(line, comparison) else 0
    return Exact(5 * 10**scale, 10 ** (places + 1)).digits()


def digits_format(report: ReportData, line: ReportLine, comparison: Comparison) -> str:
    """Return the digits of a number format, without signs."""
    places = places_shown(report, line, comparison)
    decimals = f".{'0' * places}" if places else ""
    if is_in_hundredths(line, comparison):
        return f"#,##0{decimals}%{POINTS if comparison.is_in_points else ''}"
    thousands = "," * (report.scale // 3) if report.is_scaled(line, comparison) else ""
    return f"#,##0{decimals}{thousands}"
