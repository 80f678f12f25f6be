"""Grids: inspected rows as a widget renders them, the first of the answer's with every amount as text beside its value.

All that the answer says of the rows stands here too, so that a widget needs nothing else. The text is rounded for
people; the value is that of the answer.
"""

from typing import Any

from engine.answers.budget import Json
from engine.answers.rows import labels_shown
from engine.exact import Exact
from engine.report.display import ZERO, grouped
from engine.report.inspection import Inspection, RowColumn, RowValue

MOST_ROWS = 50


def grid(inspection: Inspection, answered: Json) -> dict[str, Any]:
    """Return the render block of rows that were answered; an amount is [text, value]."""
    rows = inspection.rows[:MOST_ROWS]
    cells = [[cell_json(*cell) for cell in zip(inspection.columns, row, strict=True)] for row in rows]
    return {
        **answered,
        "kind": "inspection-grid",
        "rows": cells,
        "labels": labels_shown(inspection, rows),
        "rows_answered": len(answered["rows"]),
        **contributed_cells(inspection, answered),
    }


def cell_json(column: RowColumn, value: RowValue) -> list[Any] | str | None:
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
