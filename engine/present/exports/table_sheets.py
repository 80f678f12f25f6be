"""Sheets of tables: inspected rows with their posted decimals, and script tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache, partial
from math import isfinite, isnan

from engine.model.calendar.periods import parse_day
from engine.model.exact import Exact
from engine.model.stopping import watched
from engine.present.exports.cells import (
    FIRST_DAY,
    INSTANT,
    ROOM,
    ZEROTH_DAY,
    Heading,
    Look,
    Sheet,
    SheetCell,
    SheetRow,
    day_cell,
    digits_cell,
    look_of,
    number_cell,
    wide_enough,
)
from engine.report.explanation import ExplainedList, ExplainedRow, Explanation
from engine.report.inspection import Inspection, RowColumn, RowValue
from engine.report.transform import Transform

MOST_PLACES = 10
LABEL_WIDTH = 32


def rows_sheet(inspection: Inspection) -> Sheet:
    """Return the sheet of inspected rows. A column whose labels differ from its ids gets a label column."""
    heads = [head for column in inspection.columns for head in column_heads(inspection, column)]
    cells = [cells_of(inspection, column) for column in inspection.columns]
    return Sheet(
        name=inspection.source,
        headings=[[heading for heading, _ in heads]],
        widths=[width for _, width in heads],
        rows=(
            SheetRow([cell for of, value in zip(cells, row, strict=True) for cell in of(value)])
            for row in inspection.rows
        ),
    )


def column_heads(inspection: Inspection, column: RowColumn) -> Iterator[tuple[Heading, int]]:
    """Yield the headings of a column, each with its width."""
    words = f"{column.name} ({column.unit})" if column.unit else column.name
    yield Heading(words, figures=column.kind == "amount"), wide_enough([words])
    if column.name in inspection.labels:
        yield Heading(f"{column.name} label"), LABEL_WIDTH


def cells_of(inspection: Inspection, column: RowColumn) -> Callable[[RowValue], Sequence[SheetCell]]:
    """Return the function that turns a value of a column into its cells."""
    if column.kind == "amount":
        return partial(amount_cells, look_of(amount_format(column)), quotient=inspection.quotient)
    return partial(word_cells, column, inspection.labels.get(column.name))


def amount_format(column: RowColumn) -> str:
    """Return the number format of an amount column, with its posted decimals."""
    places = min(2 if column.places is None else column.places, MOST_PLACES)
    shown = f"#,##0.{'0' * places}" if places else "#,##0"
    return f"{shown}{ROOM};-{shown}{ROOM}"


def amount_cells(look: Look, value: RowValue, *, quotient: bool) -> Sequence[SheetCell]:
    """Return the cell of an amount."""
    return (number_cell(value, look, quotient=quotient) if isinstance(value, Exact) else SheetCell(None, look),)


def word_cells(column: RowColumn, labels: Mapping[str, str] | None, value: RowValue) -> Sequence[SheetCell]:
    """Return the cells of a date, member or text: the value, and its label if the column has labels."""
    code = value if isinstance(value, str) else None
    cell = day_or_code(code) if code and column.kind == "date" else SheetCell(code)
    return (cell,) if labels is None else (cell, SheetCell(code and labels.get(code, code)))


@lru_cache(1000)
def day_or_code(code: str) -> SheetCell:
    """Return the cell of a period: a date for a day, else the code."""
    day = parse_day(code)
    return SheetCell(code) if day is None else day_cell(day)


def transform_sheet(transform: Transform) -> Sheet:
    """Return the sheet of a script's table."""
    units, frame = transform.units, transform.frame
    heads = [f"{name} ({units[name]})" if name in units else name for name in frame.columns]
    figures = [dtype.is_numeric() for dtype in frame.dtypes]
    return Sheet(
        name=transform.label,
        headings=[[Heading(head, figures=right) for head, right in zip(heads, figures, strict=True)]],
        widths=[wide_enough([head]) for head in heads],
        rows=(SheetRow([plain_cell(value) for value in row]) for row in watched(frame.iter_rows())),
    )


EXPLAINED = ("by", "key", "label", "unit", "a", "b", "difference", "contribution", "mix", "rate", "price", "share")
WORDS = 4  # columns of text before the figures


def explanation_sheet(explanation: Explanation) -> Sheet:
    """Return the sheet of an explanation: the rows of all lists, with exact figures."""
    return Sheet(
        name=explanation.line.label,
        headings=[[Heading(head, figures=at >= WORDS) for at, head in enumerate(EXPLAINED)]],
        widths=[LABEL_WIDTH if head == "label" else wide_enough([head]) for head in EXPLAINED],
        rows=(
            SheetRow(list(explained_cells(explanation, known, row)))
            for known in explanation.lists
            for row in known.rows
        ),
    )


def explained_cells(explanation: Explanation, known: ExplainedList, row: ExplainedRow) -> Iterator[SheetCell]:
    """Yield the cells of one row."""
    variance = known.variance
    parts = {"mix": row.mix, known.rest: row.rest}
    share = row.contribution / variance if variance else None
    figures = [(figure, explanation.quotient) for figure in (row.a, row.b, row.difference, row.contribution)]
    quotients = [(figure, True) for figure in (*(parts.get(part) for part in EXPLAINED[8:11]), share)]
    yield from map(SheetCell, (known.by, row.key, row.label, row.unit or explanation.unit))
    for figure, is_quotient in (*figures, *quotients):
        yield SheetCell(None) if figure is None else number_cell(figure, look_of(), quotient=is_quotient)


def plain_cell(value: object) -> SheetCell:
    """Return the cell of a script's value."""
    match value:
        case bool():
            return SheetCell(value, look_of())
        case int():
            return digits_cell(str(value), look_of())
        case float():
            return SheetCell(value, look_of()) if isfinite(value) else SheetCell(no_number(value))
        case datetime() if value.date() >= FIRST_DAY:
            return SheetCell((value - datetime.combine(ZEROTH_DAY, time())) / timedelta(days=1), INSTANT)
        case date() if not isinstance(value, datetime):
            return day_cell(value)
        case list():
            return SheetCell(", ".join("" if item is None else str(item) for item in value))
    return SheetCell(None if value is None else str(value))


def no_number(value: float) -> str:
    """Return the text of a float that spreadsheets cannot hold."""
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
