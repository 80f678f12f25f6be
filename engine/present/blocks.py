"""Render blocks: a report as the table and inspected rows as the grid that widgets draw."""

from typing import Any

from engine.model.catalogue import Favourable
from engine.model.exact import Exact
from engine.present.answers.budget import NOT_KEPT, DataRef, Json
from engine.present.answers.reports import VisiblePart, column_json, figure_json, freshness_json, row_json
from engine.present.answers.rows import labels_shown
from engine.report.data import Comparison, ReportData
from engine.report.inspection import Inspection, RowColumn, RowValue
from engine.report.layout import ZERO, TableCell, display, grouped, layout
from engine.report.report import caption, headings

# Tables: a report as a widget renders it, its answer uncut with every figure as formatted text beside its raw value.
#
# The text is rounded and signed for people; the value is the figure of the answer. Whether a variance is good comes
# from the line, never from its sign alone. Of a report of very many cells, members from the end and then the last
# lines are left out and counted; totals stay.


MOST_CELLS = 10_000
UNAVAILABLE = "n/a"  # what can not be computed, where what is missing is blank


def table(report: ReportData, data_ref: DataRef = NOT_KEPT) -> dict[str, Any]:
    """Return the render block: headings, and for each row its cells as [text, value, good (1), bad (-1) or 0]."""
    sheet = layout(report)
    most_places = MOST_CELLS // max(1, len(report.lines) * len(report.columns))
    fits = len(report.places) <= most_places
    kept = VisiblePart(report, sheet, data_ref, places=None if fits else max(0, most_places - 1))
    across, down = kept.across, kept.down
    most = max(1, MOST_CELLS // max(1, len(across)))
    cut = {"lines": len(down) - most} if len(down) > most else {}
    return {
        "kind": "financial-table",
        "label": report.label,
        "caption": caption(report),
        "columns": [
            {
                **column_json(report, column, at),
                "heading": [part for part in headings(sheet, column) if part],
                "style": report.columns[column.column].style.value,
                "comparison": report.columns[column.column].comparison.value,
            }
            for at, column in enumerate(across)
        ],
        "rows": [
            {**row_json(report, row), "cells": [table_cell_json(report, sheet.cell(row, column)) for column in across]}
            for row in down[:most]
        ],
        "left_out": {**kept.left_out, **cut},
        "notes": data_ref.notes(report.notes),
        "freshness": freshness_json(report.freshness),
        **data_ref.as_data(),
    }


def table_cell_json(report: ReportData, cell: TableCell) -> list[Any]:
    """Return one cell: text, value, and whether a variance is good."""
    if cell.is_unavailable:
        return [UNAVAILABLE, None, 0]
    text = display(report, cell.line, cell.column.comparison, cell.figure)
    return [text, figure_json(report, cell), goodness(cell)]


def goodness(cell: TableCell) -> int:
    """Return 1 for a favourable variance, -1 for an adverse one, 0 for neither."""
    is_variance = cell.column.comparison is not Comparison.FIGURE
    if not is_variance or not cell.figure or cell.line.favourable is Favourable.NONE:
        return 0
    rose = Exact(0) < cell.figure
    return 1 if rose is (cell.line.favourable is Favourable.UP) else -1


# Grids: inspected rows as a widget renders them, the first of the answer's with every amount as text beside its
# value.
#
# All that the answer says of the rows stands here too, so that a widget needs nothing else. The text is rounded for
# people; the value is that of the answer.


MOST_ROWS = 50


def grid(inspection: Inspection, answered: Json) -> dict[str, Any]:
    """Return the render block of rows that were answered; an amount is [text, value]."""
    rows = inspection.rows[:MOST_ROWS]
    cells = [[grid_cell_json(*cell) for cell in zip(inspection.columns, row, strict=True)] for row in rows]
    return {
        **answered,
        "kind": "inspection-grid",
        "rows": cells,
        "labels": labels_shown(inspection, rows),
        "rows_answered": len(answered["rows"]),
        **contributed_cells(inspection, answered),
    }


def grid_cell_json(column: RowColumn, value: RowValue) -> list[Any] | str | None:
    """Return one value, an amount with its text."""
    return [amount_text(value, column.places or 0), value.as_json()] if isinstance(value, Exact) else value


def contributed_cells(inspection: Inspection, answered: Json) -> Json:
    """Return what all rows contribute together and the figure that makes, each as [text, value]."""
    total = inspection.contribution_total
    if not isinstance(total, Exact):
        return {}
    made = {"contribution_total": total, "figure": total / inspection.divisor}
    places = inspection.columns[-1].places or 0
    return {name: [amount_text(amount, places), answered[name]] for name, amount in made.items()}


def amount_text(amount: Exact, places: int) -> str:
    """Return an amount as text: an en dash for zero, parentheses around negative ones."""
    rounded = amount.rounded(places)
    if not rounded:
        return ZERO
    digits = grouped(abs(rounded.numerator), places)
    return f"({digits})" if rounded.numerator < 0 else digits
