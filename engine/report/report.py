"""The report: data with a tidy frame for analysts, and text or HTML for terminals and notebooks."""

from collections.abc import Iterator
from functools import cached_property
from html import escape

import polars as pl

from engine.model.catalogue import LABEL, Format
from engine.model.exact import Exact
from engine.model.notes import messages
from engine.model.stopping import watched
from engine.notes.currency_notes import MIXED
from engine.report.data import PER, Comparison, MemberTuple, ReportColumn, ReportData, ReportLine
from engine.report.layout import Layout, LayoutColumn, LayoutRow, display, layout

# The tidy frame of a report: one row for each figure, unscaled.


HEAD = ("label", "line_order", "level", "kind", "scenario", "alias", "unit")
DEPTH = "breakdown_level"


def schema_of(report: ReportData) -> dict[str, type[pl.DataType]]:
    """Return the columns of a report's tidy frame and their types, in order."""
    members = {column: pl.String for dimension in report.breakdown for column in (dimension, dimension + LABEL)}
    return {
        "metric" if report.statement is None else "line": pl.String,
        "label": pl.String,
        "line_order": pl.UInt32,
        "level": pl.UInt32,
        "kind": pl.String,
        "scenario": pl.String,
        "alias": pl.String,
        **members,
        **({DEPTH: pl.UInt32} if report.subtotals else {}),
        "value": pl.Float64,
        "exact": pl.String,
        "unit": pl.String,
    }


def height_of(report: ReportData) -> int:
    """Return the number of rows of a report's tidy frame."""
    return sum(line.type is not None for line in report.lines) * len(report.columns) * len(report.places)


def frame_of(report: ReportData) -> pl.DataFrame:
    """Return the tidy frame of a report: one row for each figure, ordered by line, column and place.

    Columns: `line` or `metric`, `label`, `line_order`, `level`, `kind`, `scenario`, `alias`; ids and labels of each
    breakdown dimension, null in totals; `value` (Float64), `exact` (the digits as String) and `unit`. Headers have no
    rows. With sub-totals, `breakdown_level` has the number of members of a row: 0 in the total, most in what adds up.
    """
    schema = schema_of(report)
    exact = [text for order, _, at, _ in blocks(report) for text in watched(digits_of(report, order, at))]
    heads = [
        (line.key, line.label, order, line.level, line.kind, column.scenario, column.heading, unit)
        for order, line, _, column in blocks(report)
        for unit in [report.unit(line, column.comparison, scaled=False)]
    ]
    names = (next(iter(schema)), *HEAD)
    described = pl.DataFrame(heads, {name: schema[name] for name in names}, orient="row")
    columns = described[each_times(len(heads), len(report.places))].get_columns()
    columns += places_of(report)[all_times(len(report.places), len(heads))].get_columns()
    columns.append(pl.Series("value", [None if text is None else float(text) for text in watched(exact)], pl.Float64))
    columns.append(pl.Series("exact", exact, pl.String))
    known = {column.name: column for column in columns}
    if report.currency == MIXED:
        known["unit"] = pl.Series("unit", list(units_of(report)), pl.String)
    return pl.DataFrame([known[name] for name in schema])


def units_of(report: ReportData) -> Iterator[str | None]:
    """Yield the unit of each figure, in its own currency."""
    for _, line, _, column in blocks(report):
        for place in watched(report.places):
            currency = report.currency_at(line, column, place)
            yield report.unit(line, column.comparison, scaled=False, currency=currency)


def each_times(rows: int, times: int) -> list[int]:
    """Return row positions, each repeated `times` times in succession."""
    return [at for at in range(rows) for _ in watched(range(times))]


def all_times(rows: int, times: int) -> list[int]:
    """Return row positions, the whole sequence repeated `times` times."""
    return list(range(rows)) * times


def blocks(report: ReportData) -> Iterator[tuple[int, ReportLine, int, ReportColumn]]:
    """Yield each pair of a line with figures and a column, with their positions."""
    for order, line in enumerate(report.lines):
        if line.type is not None:
            for at, column in enumerate(report.columns):
                yield order, line, at, column


def digits_of(report: ReportData, order: int, at: int) -> list[str | None]:
    """Return the digits of one line in one column, by place; None if there is no figure."""
    quotient = report.is_quotient(report.lines[order], report.columns[at].comparison)
    figures = report.figures[order][at]
    return [figure.digits(quotient=quotient) if isinstance(figure, Exact) else None for figure in watched(figures)]


def places_of(report: ReportData) -> pl.DataFrame:
    """Return the ids and labels of each place's members, a row for each place in order; null in the total."""
    members: dict[str, list[str | None]] = {}
    for dimension in report.breakdown:
        found = [
            next((known for known in place.members if known.dimension == dimension), None)
            for place in watched(report.places)
        ]
        members[dimension] = [None if member is None else member.id for member in watched(found)]
        members[dimension + LABEL] = [None if member is None else member.label for member in watched(found)]
    depth = pl.Series(DEPTH, [len(place.members) for place in watched(report.places)], pl.UInt32)
    return pl.DataFrame(members or None, height=len(report.places)).cast(pl.String).with_columns(depth)


# A report as text for a terminal and as HTML for a notebook.


MOST_COLUMNS = 14
MOST_ROWS = 80


def place_words(place: MemberTuple) -> str:
    """Return the member labels of a place that is not the total."""
    return " · ".join(member.label for member in place.members)


def row_label(place: MemberTuple, report: ReportData) -> str:
    """Return the label of a row of members: below a sub-total that of its last member."""
    return " · ".join(member.label for member in place.members[-1 if report.subtotals else 0 :])


def headings(sheet: Layout, across: LayoutColumn) -> tuple[str, str]:
    """Return the two levels of a column's heading; the second is empty if there is one level."""
    report = sheet.report
    column = report.columns[across.column]
    scenario = column.heading
    if across.line is not None:
        return report.lines[across.line].label, with_currency(scenario, column.currency)
    place = report.places[across.place or 0]
    words = (report.total_words(column) if place.is_total else place_words(place)) if report.breakdown else ""
    return scenario, with_currency(words, column.currency or place.currency)


def with_currency(words: str, currency: str | None) -> str:
    """Return words on a row or column with its own currency, if they do not end with that."""
    return words if currency is None or words.endswith(currency) else f"{words} ({currency})".strip()


def row_words(sheet: Layout, down: LayoutRow) -> str:
    """Return the label of a row, indented by its level."""
    report = sheet.report
    if down.line is not None:
        line = report.lines[down.line]
        return "  " * line.level + line.label
    place = report.places[down.place or 0]
    words = report.total_words() if place.is_total else row_label(place, report)
    return "  " * report.depth(place) + with_currency(words, place.currency)


def caption(report: ReportData) -> str:
    """Return the title of a report in one line, with the unit of its money.

    Minimum, maximum and mean amounts are never scaled. In a scaled report the title names their unit too.
    """
    labels: dict[str, list[str]] = {}
    for line in report.lines:
        unit = report.unit(line, Comparison.FIGURE)
        if unit and line.format is Format.CURRENCY and not unit.endswith(PER):
            labels.setdefault(unit, []).append(line.label)
    scaled_first = sorted(labels, key=lambda unit: unit == report.currency)
    money = [f"in {unit}" for unit in scaled_first[:1]]
    others = [f"{' and '.join(labels[unit])} in {unit}" for unit in scaled_first[1:]]
    return ", ".join([report.label, report.period.label, *money, *others])


def sheet_rows(report: ReportData) -> Iterator[list[str]]:
    """Yield the headings, then the rows of a report as text, cut to the size of a screen."""
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
    """Return a note on the rows and columns left out; "" if there are none."""
    sheet = layout(report)
    rows, columns = len(sheet.down) - MOST_ROWS, len(sheet.across) - MOST_COLUMNS
    parts = [f"{count} more {what}" for count, what in ((rows, "rows"), (columns, "columns")) if count > 0]
    return f"… {' and '.join(parts)}; .frame holds all" if parts else ""


def left_out_words(report: ReportData) -> Iterator[str]:
    """Yield a sentence on each group of lines that are not material."""
    material = report.materiality
    comparison = report.columns[material.column].comparison if material and material.left_out else Comparison.FIGURE
    for group in material.left_out if material else ():
        line = group.largest
        where = f"below {group.below}" if group.below else f"in {report.unit(line, comparison)}"
        total, figure = (
            None if amount is None else display(report, line, comparison, amount)
            for amount in (group.total, group.figure)
        )
        in_sum = f" {total} in sum." if total else ""
        largest = f" The largest: {line.label}, {figure}." if figure else ""
        yield f"Lines {where} that are not material and not shown: {group.lines}.{in_sum}{largest}"


def as_text(report: ReportData) -> str:
    """Return a report as a plain-text table."""
    rows = list(sheet_rows(report))
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    body = [
        "  ".join(
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    notes = [f"Note: {message}" for message in (*left_out_words(report), *messages(report.notes))]
    return "\n".join(part for part in (caption(report), *body, cut_words(report), *notes) if part)


def as_html(report: ReportData) -> str:
    """Return a report as an HTML table."""
    rows = list(sheet_rows(report))
    heads = 2 if report.breakdown or report.statement is None else 1
    body = "".join(
        "<tr>" + "".join(f"<{tag}>{escape(cell).replace('  ', '&emsp;')}</{tag}>" for cell in row) + "</tr>"
        for place, row in enumerate(rows)
        for tag in (("th",) if place < heads else ("td",))
    )
    words = (*left_out_words(report), *messages(report.notes))
    notes = "".join(f"<p>{escape(message)}</p>" for message in words)
    return f"<table><caption>{escape(caption(report))}</caption>{body}</table><p>{escape(cut_words(report))}</p>{notes}"


class Report(ReportData, frozen=True, dict=True):
    """The answer to a statement or metrics request.

    `frame` is a tidy Polars frame with one row for each figure: `value` in units as Float64, and `exact` as digits.
    """

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The figures, one row each; frame_of describes its columns."""
        return frame_of(self)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)
