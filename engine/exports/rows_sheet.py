"""Sheets of inspected rows: a column for each, days as days, amounts with the decimals that they were posted with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache, partial

from engine.exact import POWERS_OF_TEN, Exact
from engine.exports.cells import ROOM, Head, Look, Sheet, SheetCell, day_cell, look_of, number_cell, wide_enough
from engine.report.inspection import Inspection, RowColumn, RowValue

DAY_CODE = 10  # characters of the code of a day
MOST_PLACES = 10


def rows_sheet(inspection: Inspection) -> Sheet:
    """Return inspected rows: a column for each, and one for the labels of members where they say more than ids."""
    heads = [head for column in inspection.columns for head in column_heads(inspection, column)]
    cells = [cells_of(inspection, at) for at in range(len(inspection.columns))]
    return Sheet(
        name=inspection.source,
        headings=[[head.words for head in heads]],
        frozen=0,
        widths=[head.width for head in heads],
        right=[head.right for head in heads],
        height=len(inspection.rows),
        rows=([cell for of, value in zip(cells, row, strict=True) for cell in of(value)] for row in inspection.rows),
    )


def column_heads(inspection: Inspection, column: RowColumn) -> Iterator[Head]:
    """Yield the headings of a column."""
    unit = f" ({column.unit})" if column.unit else ""
    words = f"{column.name}{unit}"
    yield Head(words, wide_enough([words]), column.kind == "amount")
    if column.name in inspection.labels:
        yield Head(f"{column.name} label", 32)


def cells_of(inspection: Inspection, at: int) -> Callable[[RowValue], Sequence[SheetCell]]:
    """Return what makes the values of a column cells."""
    column = inspection.columns[at]
    if column.kind == "amount":
        return partial(amount_cells, look_of(amount_format(inspection, at)), quotient=inspection.quotient)
    return partial(word_cells, column, inspection.labels.get(column.name))


def amount_format(inspection: Inspection, at: int) -> str:
    """Return the number format of a column of amounts: with the decimals that they were posted with."""
    known = {value.denominator for row in inspection.rows if isinstance(value := row[at], Exact)}
    places = max((POWERS_OF_TEN[denominator] for denominator in known if denominator in POWERS_OF_TEN), default=2)
    shown = f"#,##0.{'0' * min(places, MOST_PLACES)}" if places else "#,##0"
    return f"{shown}{ROOM};-{shown}{ROOM}"


def amount_cells(look: Look, value: RowValue, *, quotient: bool) -> Sequence[SheetCell]:
    """Return the cell of an amount."""
    return (number_cell(value, look, quotient=quotient) if isinstance(value, Exact) else SheetCell(None, look),)


def word_cells(column: RowColumn, labels: Mapping[str, str] | None, value: RowValue) -> Sequence[SheetCell]:
    """Return the cells of a day, a member or a text: itself, and its label where its column has labels."""
    code = value if isinstance(value, str) else None
    cell = day_or_code(code) if code and column.kind == "date" else SheetCell(code)
    return (cell,) if labels is None else (cell, SheetCell(code and labels.get(code, code)))


@lru_cache(1000)
def day_or_code(code: str) -> SheetCell:
    """Return a day as a day, and a longer period as its code."""
    return day_cell(date.fromisoformat(code)) if len(code) == DAY_CODE else SheetCell(code)
