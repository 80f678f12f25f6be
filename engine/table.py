"""Tables: a report as a widget renders it, its answer uncut with every figure as formatted text beside its raw value.

The text is rounded and signed for people; the value is the figure of the answer. Whether a variance is good comes from
the line, never from its sign alone. Of a report of very many cells, members from the end and then the last lines are
left out and counted; totals stay.
"""

from typing import Any

from engine.answers.figures import Kept, column_json, figure_json, freshness_json, row_json
from engine.answers.parts import NOT_KEPT, DataRef
from engine.catalogue import Favourable
from engine.exact import Exact
from engine.report.data import Comparison, ReportData
from engine.report.display import display
from engine.report.layout import Cell, layout
from engine.report.text import caption, headings

MOST_CELLS = 10_000
UNAVAILABLE = "n/a"  # what can not be computed, where what is missing is blank


def table(report: ReportData, data_ref: DataRef = NOT_KEPT) -> dict[str, Any]:
    """Return the render block: headings, and for each row its cells as [text, value, good (1), bad (-1) or 0]."""
    sheet = layout(report)
    most_places = MOST_CELLS // max(1, len(report.lines) * len(report.columns))
    fits = len(report.places) <= most_places
    kept = Kept(report, sheet, data_ref, places=None if fits else max(0, most_places - 1))
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
            {**row_json(report, row), "cells": [cell_json(report, sheet.cell(row, column)) for column in across]}
            for row in down[:most]
        ],
        "left_out": {**kept.left_out, **cut},
        "notes": data_ref.notes(report.notes),
        "freshness": freshness_json(report.freshness),
        **data_ref.as_data(),
    }


def cell_json(report: ReportData, cell: Cell) -> list[Any]:
    """Return one cell: text, value, and whether a variance is good."""
    if cell.is_unavailable:
        return [UNAVAILABLE, None, 0]
    text = display(report, cell.line, cell.column.comparison, cell.figure)
    return [text, figure_json(report, cell), goodness(cell)]


def goodness(cell: Cell) -> int:
    """Return 1 for a favourable variance, -1 for an adverse one, 0 for neither."""
    is_variance = cell.column.comparison is not Comparison.FIGURE
    if not is_variance or not cell.figure or cell.line.favourable is Favourable.NONE:
        return 0
    rose = Exact(0) < cell.figure
    return 1 if rose is (cell.line.favourable is Favourable.UP) else -1
