"""Render blocks: a report as the table, and inspected rows as the grid, that widgets draw."""

from typing import Any

from msgspec.json import encode

from engine.model.catalogue import Favourable
from engine.model.evaluation import UNAVAILABLE as NO_DENOMINATOR
from engine.model.exact import Exact, json_number, told_fraction
from engine.model.stopping import watched
from engine.present.answers.budget import NOT_KEPT, DataRef, Json
from engine.present.answers.full_reports import (
    column_json,
    freshness_json,
    full_period_json,
    immaterial_json,
    materiality_json,
    row_json,
    visible_part,
)
from engine.present.answers.reports import outer_lines
from engine.present.answers.rows import labels_shown
from engine.report.data import Comparison, ReportData, ReportLine
from engine.report.inspection import Inspection, RowColumn, RowValue
from engine.report.layout import ZERO, FiguresOfRow, Layout, LayoutRow, grouped
from engine.report.report import caption, headings

# Tables: a report's uncut answer, with each figure as formatted text beside its value.
#
# The text is rounded and signed; the value is the figure of the answer. The line, not the sign, decides whether a
# variance is favourable. A very large report loses members from the end, then lines, in the order of an answer; the
# block counts them. So it has the rows that the text has, and more while it is short. Totals stay.


MAX_CELLS = 10_000
MAX_ROWS = 1_000
MAX_BYTES = 3 << 19  # of a block, so that an answer with its text and details has at most 2 MB
UNAVAILABLE = "n/a"  # text of an unavailable figure; a missing figure is blank


def table(report: ReportData, data_ref: DataRef = NOT_KEPT) -> dict[str, Any]:
    """Return the render block: headings, and rows of cells [text, value, 1 favourable, -1 adverse or 0].

    A block of long digits or headings is too long with fewer cells: then half as many are tried, down to one row.
    """
    cells, block = MAX_CELLS, table_within(report, data_ref, MAX_CELLS)
    while len(encode(block)) > MAX_BYTES and cells > 1:
        cells //= 2
        block = table_within(report, data_ref, cells)
    return block


def table_within(report: ReportData, data_ref: DataRef, cells: int) -> dict[str, Any]:
    """Return the render block of about so many cells."""
    most_places = cells // max(1, len(report.lines) * len(report.columns))
    if not report.statement:
        most_places = min(most_places, MAX_ROWS)  # which are its rows
    places = min(len(report.places), max(1, most_places))
    lines = min(MAX_ROWS, cells // max(1, places * len(report.columns)))
    kept = visible_part(report, places=places - 1, without=lines_beyond(report, lines))
    sheet = kept.sheet
    return {
        "kind": "financial-table",
        "label": report.label,
        "caption": caption(report),
        "columns": [
            {
                **column_json(report, column, at),
                "heading": [part for part in headings(sheet, column) if part],
                "style": report.columns[column.column].style.value,
                "comparison": told_as(report.columns[column.column].comparison).value,
            }
            for at, column in enumerate(watched(sheet.across))
        ],
        "rows": [
            {**row_json(report, row), "cells": cells_json(sheet, row, figures)}
            for row, figures in watched(sheet.figures())
        ],
        "left_out": dict(kept.left_out),
        **materiality_json(report),
        **immaterial_json(report),
        "notes": data_ref.notes(kept.notes),
        "freshness": freshness_json(report.freshness),
        **data_ref.as_data(),
    }


def told_as(comparison: Comparison) -> Comparison:
    """Return what a widget draws a column as: the change of a share as the variance of a percentage."""
    return Comparison.VARIANCE if comparison is Comparison.POINTS else comparison


def lines_beyond(report: ReportData, most: int) -> frozenset[int]:
    """Return the lines of a statement that a block of so many rows leaves out, as an answer does: the deepest first."""
    inner = sorted((at for at, line in enumerate(report.lines) if line.level), key=lambda at: -report.lines[at].level)
    beyond = max(0, len(report.lines) - max(1, most)) if report.statement else 0
    return frozenset((*inner, *outer_lines(report))[:beyond])


def cells_json(sheet: Layout, down: LayoutRow, figures: FiguresOfRow) -> list[list[Any]]:
    """Return the cells of one row: text, value, and whether a variance is favourable."""
    report, (first, forms) = sheet.report, figures
    numerators, denominators = report.figures.numerators, report.figures.denominators
    line = None if down.line is None else report.lines[down.line]
    cells: list[list[Any]] = []
    for across, (beyond, divisor, quotient), form in zip(watched(sheet.across), forms, sheet.texts(line), strict=True):
        numerator, denominator = numerators[first + beyond], denominators[first + beyond]
        if numerator is None:
            cells.append([UNAVAILABLE if denominator == NO_DENOMINATOR else "", None, 0])
            continue
        denominator = denominator or 1
        good = goodness(line or report.lines[across.line or 0], report.columns[across.column].comparison, numerator)
        cells.append([form.text(numerator, denominator), json_number(numerator, denominator * divisor, quotient), good])
    return cells


def goodness(line: ReportLine, comparison: Comparison, figure: int) -> int:
    """Return 1 for a favourable variance, -1 for an adverse one, 0 for neither, by the sign of the figure."""
    if not comparison.differs or not figure or line.favourable is Favourable.NONE:
        return 0
    return 1 if (figure > 0) is (line.favourable is Favourable.UP) else -1


# Grids: the first inspected rows of the answer, with each amount as rounded text beside its value. The block repeats
# what the answer says of the rows, so a widget needs nothing else.


MOST_ROWS = 50


def grid(inspection: Inspection, answered: Json) -> dict[str, Any]:
    """Return the render block of an answered inspection; an amount is [text, value]."""
    rows = inspection.rows[:MOST_ROWS]
    cells = [[grid_cell_json(*cell) for cell in zip(inspection.columns, row, strict=True)] for row in watched(rows)]
    period = {} if inspection.period is None else {"period": full_period_json(inspection.period)}
    return {
        "notes": [],
        **answered,
        **period,
        "kind": "inspection-grid",
        "rows": cells,
        "labels": labels_shown(inspection, rows),
        "rows_answered": len(answered["rows"]),
        **contributed_cells(inspection, answered),
    }


def grid_cell_json(column: RowColumn, value: RowValue) -> list[Any] | str | None:
    """Return one value; an amount has its text."""
    return [amount_text(value, column.places or 0), value.as_json()] if isinstance(value, Exact) else value


def contributed_cells(inspection: Inspection, answered: Json) -> Json:
    """Return the total contribution of all rows and the resulting figure, each as [text, value]."""
    total = inspection.contribution_total
    if not isinstance(total, Exact):
        return {}
    figure = total / inspection.divisor
    told = Exact(*told_fraction(figure.numerator, figure.denominator, quotient=inspection.quotient))
    made = {"contribution_total": total, **({"figure": told} if inspection.makes_figure else {})}
    places = inspection.columns[-1].places or 0
    return {name: [amount_text(amount, places), answered[name]] for name, amount in made.items()}


def amount_text(amount: Exact, places: int) -> str:
    """Return an amount as text: an en dash for zero, parentheses for a negative amount."""
    rounded = amount.rounded(places)
    if not rounded:
        return ZERO
    digits = grouped(abs(rounded.numerator), places)
    return f"({digits})" if rounded.numerator < 0 else digits
