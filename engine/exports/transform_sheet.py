"""Sheets of tables that a script made: each value as what it is."""

from datetime import date, datetime, time, timedelta

from engine.exports.cells import (
    AN_INSTANT,
    FIRST_DAY,
    ZEROTH_DAY,
    Holds,
    Sheet,
    SheetCell,
    day_cell,
    look_of,
    wide_enough,
)
from engine.report.transform import Transform


def transform_sheet(transform: Transform) -> Sheet:
    """Return the table that a script made, each value as what it is."""
    units = transform.units
    heads = [f"{name} ({units[name]})" if name in units else name for name in transform.frame.columns]
    return Sheet(
        name=transform.label,
        headings=[heads],
        frozen=0,
        widths=[wide_enough([head]) for head in heads],
        right=[dtype.is_numeric() for dtype in transform.frame.dtypes],
        height=transform.frame.height,
        rows=([plain_cell(value) for value in row] for row in transform.frame.iter_rows()),
    )


def plain_cell(value: object) -> SheetCell:
    """Return a value of a script: its numbers are floats, which spreadsheets hold as well."""
    match value:
        case bool():
            return SheetCell(str(int(value)), look_of(), Holds.TRUTH)
        case int() | float():
            return SheetCell(repr(value), look_of(), Holds.NUMBER)
        case datetime() if value.date() >= FIRST_DAY:
            days = (value - datetime.combine(ZEROTH_DAY, time())) / timedelta(days=1)
            return SheetCell(f"{days:.10f}", AN_INSTANT, Holds.NUMBER)
        case date() if not isinstance(value, datetime):
            return day_cell(value)
        case list():
            return SheetCell(", ".join("" if item is None else str(item) for item in value))
    return SheetCell(None if value is None else str(value))
