"""The table that a script leaves in `result`, as columns and rows of plain cells."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

from sandbox.job import (
    MOST_CELLS,
    MOST_CHARACTERS,
    MOST_COLUMNS,
    MOST_ROWS,
    WHOLE,
    CellValue,
    ColumnKind,
    JobResult,
    OutputColumn,
    naive_instant,
    name_fault,
)

SHAPES = "a polars DataFrame, LazyFrame or Series, a dict of lists, or a list of dicts"
Values = dict[str, Sequence[Any]]


class NotATable(Exception):
    """The result of a script is not a table; the message says what to leave instead."""


class TableTooLarge(Exception):
    """A table exceeds a limit; the message names the limit and how to make the table smaller."""


def read_table(result: object) -> JobResult:
    """Return the table of a result. Raises NotATable or TableTooLarge if there is none."""
    if result is None:
        raise NotATable(f"the script leaves no result: leave {SHAPES} in result")
    reader = READERS.get(type(result))
    if reader is None:
        raise NotATable(f"result is a {type(result).__name__}: leave {SHAPES}")
    values, hints = reader(result)
    check_size(values)
    columns, listed = [], []
    for name, cells in values.items():
        kind, plain = column_of(name, cells, hints.get(name, "text"))
        lost = sum(value is not None and cell is None for value, cell in zip(cells, plain, strict=True))
        columns.append(OutputColumn(name, kind, lost))
        listed.append(plain)
    if sum(len(cell) if isinstance(cell, tuple) else 1 for cells in listed for cell in cells) > MOST_CELLS:
        raise TableTooLarge(f"result has more than {MOST_CELLS:,} values: aggregate, or take fewer columns")
    return JobResult(columns=tuple(columns), rows=tuple(zip(*listed, strict=True)))


def check_size(values: Mapping[str, Sequence[Any]]) -> None:
    """Refuse invalid column names, and too many rows or columns."""
    if not values:
        raise NotATable(f"result has no columns: leave {SHAPES}")
    for name in values:
        if type(name) is not str:
            raise NotATable(f"result has a column named {str(name)[:40]!r}: names are short text")
        if fault := name_fault(name):
            raise NotATable(fault)
    lengths = {len(cells) for cells in values.values()}
    if len(lengths) > 1:
        raise NotATable(f"the columns of result have different lengths: {sorted(lengths)}")
    check_shape(max(lengths), len(values))


def check_shape(rows: int, columns: int) -> None:
    """Refuse too many rows or columns."""
    if rows > MOST_ROWS:
        raise TableTooLarge(
            f"result has {rows:,} rows, {MOST_ROWS:,} are the most: aggregate, or take head() or top_k()"
        )
    if columns > MOST_COLUMNS:
        raise TableTooLarge(f"result has {columns:,} columns, {MOST_COLUMNS} are the most: select or unpivot")
    if rows * columns > MOST_CELLS:
        raise TableTooLarge(f"result has {rows * columns:,} values, {MOST_CELLS:,} are the most: aggregate or select")


def read_frame(frame: pl.DataFrame) -> tuple[Values, dict[str, ColumnKind]]:
    """Return the values and kinds of a frame's columns."""
    check_shape(frame.height, frame.width)
    hints = {name: kind for name, kind in ((n, kind_of(t)) for n, t in frame.schema.items()) if kind is not None}
    return {name: series_values(frame[name]) for name in frame.columns}, hints


def series_values(series: pl.Series) -> list[Any]:
    """Return the values of a column. Refuses opaque objects."""
    if series.dtype == pl.Object:
        raise NotATable(f"column {series.name[:80]} of result holds Python objects: cast it to text or numbers")
    return series.to_list()


def kind_of(dtype: pl.DataType) -> ColumnKind | None:
    """Return the kind of a column from its type, for columns without values."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric() or dtype == pl.Duration:
        return "number"
    return next((kind for plain, kind in OF_DTYPE.items() if dtype == plain), None)


def read_rows(rows: Sequence[Any]) -> tuple[Values, dict[str, ColumnKind]]:
    """Return the columns of a list of dicts; a missing key is null."""
    check_shape(len(rows), 1)
    keys: dict[str, None] = {}
    for row in rows:
        if type(row) is not dict:
            raise NotATable(f"result is a list with a {type(row).__name__} in it: leave a list of dicts")
        keys |= dict.fromkeys(row)
        check_shape(len(rows), len(keys))
    return {key: [row.get(key) for row in rows] for key in keys}, {}


def read_columns(columns: Mapping[str, Any]) -> tuple[Values, dict[str, ColumnKind]]:
    """Return the columns of a dict of lists."""
    check_shape(0, len(columns))
    for name, cells in columns.items():
        if type(cells) not in (list, tuple, pl.Series):
            raise NotATable(f"result[{str(name)[:40]!r}] is a {type(cells).__name__}: leave a dict of lists")
        check_shape(len(cells), 1)
    return {
        name: series_values(cells) if isinstance(cells, pl.Series) else cells for name, cells in columns.items()
    }, {}


READERS: Mapping[type, Callable[[Any], tuple[Values, dict[str, ColumnKind]]]] = {
    pl.DataFrame: read_frame,
    pl.LazyFrame: lambda frame: read_frame(frame.collect()),
    pl.Series: lambda series: read_frame(series.alias(series.name or "value").to_frame()),
    dict: read_columns,
    list: read_rows,
    tuple: read_rows,
}
OF_DTYPE: Mapping[Any, ColumnKind] = {
    pl.Boolean: "boolean",
    pl.Date: "date",
    pl.Datetime: "datetime",
    pl.Time: "time",
    pl.List: "list",
    pl.Array: "list",
}


def column_of(name: str, values: Sequence[Any], empty: ColumnKind) -> tuple[ColumnKind, list[CellValue]]:
    """Return the kind and the plain cells of a column."""
    kinds = {OF_TYPE.get(type(value)) for value in values if value is not None}
    if None in kinds:
        odd = next(value for value in values if value is not None and type(value) not in OF_TYPE)
        raise NotATable(
            f"column {name[:80]} of result holds a {type(odd).__name__}: leave numbers, text, dates or lists"
        )
    kinds = {"number"} if kinds == {"integer", "number"} else kinds
    if len(kinds) > 1:
        raise NotATable(f"column {name[:80]} of result mixes {' and '.join(sorted(map(str, kinds)))}: leave one kind")
    kind = next(iter(kinds), empty) or empty
    if kind == "list":
        return kind, [None if value is None else list_of(name, value) for value in values]
    if kind in ("integer", "number") and any(type(value) is int and abs(value) > WHOLE for value in values):
        return "text", [None if (cell := scalar_of(name, value)) is None else str(cell) for value in values]
    return kind, [scalar_of(name, value) for value in values]


def list_of(name: str, values: Sequence[Any]) -> tuple[str | int | float | bool | None, ...]:
    """Return a cell that is a list of scalars of one kind."""
    if len(values) > MOST_CELLS:
        raise TableTooLarge(f"a list in column {name[:80]} of result has more than {MOST_CELLS:,} items")
    kind, cells = column_of(name, values, "text")
    if kind == "list":
        raise NotATable(f"column {name[:80]} of result holds lists of lists: leave flat lists, or explode them")
    return tuple(cells)  # type: ignore[arg-type]  # a column that is no list holds none


def scalar_of(name: str, value: Any) -> str | int | float | bool | None:  # noqa: ANN401 - whatever a script made
    """Return a value as a JSON scalar, without infinities, long integers and lone surrogates."""
    if value is None:
        return None
    try:
        plain = PLAIN[type(value)](value)
    except OverflowError:
        raise NotATable(
            f"column {name[:80]} of result holds a time outside the years 1 to 9999 in UTC: leave it out"
        ) from None
    if type(plain) is float and not math.isfinite(plain):
        return None
    if type(plain) is str:
        if len(plain) > MOST_CHARACTERS:
            raise TableTooLarge(
                f"a text in column {name[:80]} of result has over {MOST_CHARACTERS:,} characters: cut it"
            )
        return plain.encode("utf-8", "replace").decode("utf-8")
    return plain


def instant_text(instant: datetime) -> str:
    """Return a timestamp in ISO form. Raises OverflowError if UTC has no such time."""
    naive_instant(instant)
    return instant.isoformat()


def json_integer(value: int) -> int | str:
    """Return an integer, as digits if it is long."""
    return value if abs(value) <= WHOLE else str(value)


OF_TYPE: Mapping[type, ColumnKind] = {
    str: "text",
    bool: "boolean",
    int: "integer",
    float: "number",
    Decimal: "number",
    timedelta: "number",
    date: "date",
    datetime: "datetime",
    time: "time",
    list: "list",
    tuple: "list",
    pl.Series: "list",
}
PLAIN: Mapping[type, Callable[[Any], str | int | float | bool]] = {
    str: str,
    bool: bool,
    int: json_integer,
    float: float,
    Decimal: float,
    timedelta: timedelta.total_seconds,
    date: date.isoformat,
    datetime: instant_text,
    time: time.isoformat,
}
