"""Cells of a table: columns as names and as figures."""

from datetime import date, datetime, time
from math import isfinite

import polars as pl

from engine.charts.refusing import bad_data

LONGEST = 120  # characters of a name
LEAST, MOST = 1e-9, 1e15  # of the largest figure


def names_of(frame: pl.DataFrame, name: str, part: str) -> list[str]:
    """Return a column as text, refused where a cell is missing or longer than a label."""
    column = frame[name]
    if column.null_count():
        raise bad_data(
            f"Column '{name}', the {part} of the chart, has {column.null_count()} nulls. Rows of totals have null "
            "members: leave them out, or name them.",
            f"result = df.filter(pl.col({name!r}).is_not_null())",
        )
    texts = [text_of(value) for value in column.to_list()]
    longest = max(texts, key=len)
    if len(longest) > LONGEST:
        raise bad_data(
            f"Column '{name}', the {part} of the chart, has a text of {len(longest):,} characters, {LONGEST} are the "
            "most.",
            f"result = df.with_columns(pl.col({name!r}).str.slice(0, {LONGEST}))",
            longest,
        )
    return texts


def text_of(value: object) -> str:
    """Return a cell as text; a moment at midnight is its day."""
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return value.isoformat() if isinstance(value, date) else str(value)


def plain(value: object) -> object:
    """Return a cell as JSON has it."""
    if isinstance(value, float) and not isfinite(value):
        return None
    return text_of(value) if isinstance(value, date | time) else value


def figures_of(frame: pl.DataFrame, name: str) -> list[float | None]:
    """Return a column of figures; what is no number is none, and what no axis can tell apart is refused."""
    figures = [value if value is not None and isfinite(value) else None for value in frame[name].to_list()]
    largest = max((abs(figure) for figure in figures if figure is not None), default=0)
    if largest and not LEAST <= largest <= MOST:
        raise bad_data(
            f"The largest figure of column '{name}' is {largest:.3g}: {LEAST:g} to {MOST:g} can be drawn. Scale the "
            "figures in the script, and say so in unit.",
            f"result = df.with_columns(pl.col({name!r}) / {largest:.0e})",
            largest,
        )
    return figures
