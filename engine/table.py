"""Tables: a report as formatted text with its raw values, for the widget beside the answer.

The text is rounded and signed for people; the value is the figure of the answer. Whether a variance is good comes from
the line, never from its sign alone.
"""

from typing import Any

from engine.answers.figures import figure_json
from engine.catalogue import Favourable
from engine.exact import Exact
from engine.report.data import Comparison, ReportData
from engine.report.display import display
from engine.report.layout import Across, Cell, Down, layout
from engine.report.text import caption, headings, place_words

MOST_CELLS = 10_000


def table(report: ReportData) -> dict[str, Any]:
    """Return the render block: headings, and for each row its cells as [text, value, good (1), bad (-1) or 0]."""
    sheet = layout(report)
    most = max(1, MOST_CELLS // max(1, len(sheet.across)))
    return {
        "kind": "financial-table",
        "title": report.label,
        "caption": caption(report),
        "columns": [
            {
                "heading": [part for part in headings(sheet, across) if part],
                "scenario": report.columns[across.column].scenario,
                "comparison": report.columns[across.column].comparison.value,
                "is_total": is_total(report, across),
            }
            for across in sheet.across
        ],
        "rows": [
            {**row_head(report, down), "cells": [cell_json(report, cell) for cell in sheet.cells(down)]}
            for down in sheet.down[:most]
        ],
        "rows_left_out": max(0, len(sheet.down) - most),
        "notes": [note.message for note in report.notes],
    }


def is_total(report: ReportData, across: Across) -> bool:
    """Tell whether a column shows all members together."""
    return across.place is not None and bool(report.breakdown) and report.places[across.place].is_total


def row_head(report: ReportData, down: Down) -> dict[str, Any]:
    """Return what stands at the head of a row."""
    if down.line is None:
        place = report.places[down.place or 0]
        return {"label": place_words(place), "level": 0, "style": "total" if place.is_total else "plain"}
    line = report.lines[down.line]
    return {"key": line.key, "label": line.label, "level": line.level, "kind": line.kind, "style": line.style.value}


def cell_json(report: ReportData, cell: Cell) -> list[Any]:
    """Return one cell: text, value, and whether a variance is good."""
    text = display(report, cell.line, cell.column.comparison, cell.figure)
    return [text, figure_json(report, cell), goodness(cell)]


def goodness(cell: Cell) -> int:
    """Return 1 for a favourable variance, -1 for an adverse one, 0 for neither."""
    is_variance = cell.column.comparison is not Comparison.FIGURE
    if not is_variance or not cell.figure or cell.line.favourable is Favourable.NONE:
        return 0
    rose = Exact(0) < cell.figure
    return 1 if rose is (cell.line.favourable is Favourable.UP) else -1
