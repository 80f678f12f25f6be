"""A report as text in a terminal and as HTML in a notebook."""

from collections.abc import Iterator
from html import escape

from engine.catalogue import Format
from engine.report.data import EACH, Comparison, Place, ReportData
from engine.report.display import display
from engine.report.layout import Across, Down, Layout, layout

MOST_COLUMNS = 14
MOST_ROWS = 80


def place_words(place: Place) -> str:
    """Return the members of a place in words."""
    return "Total" if place.is_total else " · ".join(member.label for member in place.members)


def headings(sheet: Layout, across: Across) -> tuple[str, str]:
    """Return the two levels of a column's heading; the second is empty where there is one only."""
    report = sheet.report
    scenario = report.columns[across.column].heading
    if across.line is not None:
        return report.lines[across.line].label, scenario
    place = report.places[across.place or 0]
    return (scenario, place_words(place)) if report.breakdown else (scenario, "")


def row_words(sheet: Layout, down: Down) -> str:
    """Return the label of a row, indented by its level."""
    report = sheet.report
    if down.line is not None:
        line = report.lines[down.line]
        return "  " * line.level + line.label
    return place_words(report.places[down.place or 0])


def caption(report: ReportData) -> str:
    """Return what a report shows, in one line; the unit of its money is said once, here.

    Where the report is scaled, largest, least and mean amounts are not: they are named with their own unit.
    """
    labels: dict[str, list[str]] = {}
    for line in report.lines:
        unit = report.unit(line, Comparison.FIGURE)
        if unit and line.format is Format.CURRENCY and not unit.endswith(EACH):
            labels.setdefault(unit, []).append(line.label)
    scaled_first = sorted(labels, key=lambda unit: unit == report.currency)
    money = [f"in {unit}" for unit in scaled_first[:1]]
    others = [f"{' and '.join(labels[unit])} in {unit}" for unit in scaled_first[1:]]
    return ", ".join([report.label, report.period.label, *money, *others])


def sheet_rows(report: ReportData) -> Iterator[list[str]]:
    """Yield the headings, then the rows of a report as text, cut to what a screen holds."""
    sheet = layout(report)
    across = sheet.across[:MOST_COLUMNS]
    found = [headings(sheet, column) for column in across]
    yield ["", *(first for first, _ in found)]
    if any(second for _, second in found):
        yield ["", *(second for _, second in found)]
    for down in sheet.down[:MOST_ROWS]:
        cells = (sheet.cell(down, column) for column in across)
        shown = [display(report, cell.line, cell.column.comparison, cell.figure) for cell in cells]
        yield [row_words(sheet, down), *shown]


def cut_words(report: ReportData) -> str:
    """Return what a screen does not hold, "" where it holds all."""
    sheet = layout(report)
    rows, columns = len(sheet.down) - MOST_ROWS, len(sheet.across) - MOST_COLUMNS
    parts = [f"{count} more {what}" for count, what in ((rows, "rows"), (columns, "columns")) if count > 0]
    return f"… {' and '.join(parts)}; .frame holds all" if parts else ""


def as_text(report: ReportData) -> str:
    """Return a report as a plain table."""
    rows = list(sheet_rows(report))
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    body = [
        "  ".join(
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    said = [f"Note: {note.message}" for note in report.notes]
    return "\n".join(part for part in (caption(report), *body, cut_words(report), *said) if part)


def as_html(report: ReportData) -> str:
    """Return a report as an HTML table."""
    rows = list(sheet_rows(report))
    heads = 2 if report.breakdown or report.statement is None else 1
    body = "".join(
        "<tr>" + "".join(f"<{tag}>{escape(cell).replace('  ', '&emsp;')}</{tag}>" for cell in row) + "</tr>"
        for place, row in enumerate(rows)
        for tag in (("th",) if place < heads else ("td",))
    )
    said = "".join(f"<p>{escape(note.message)}</p>" for note in report.notes)
    return f"<table><caption>{escape(caption(report))}</caption>{body}</table><p>{escape(cut_words(report))}</p>{said}"
