"""Refusals of charts: which field, what was sent, which columns would do, and a spec that works."""

from collections.abc import Iterable, Sequence

import polars as pl

from engine.errors import ChartInvalid, closest, quoted
from engine.requests import ChartSpec

FIELD = "chart_spec."
CODE = "transform_code"
SHOWN = 3  # values named in a sentence


def figures_in(frame: pl.DataFrame) -> list[str]:
    """Return the columns of figures."""
    return [name for name, dtype in frame.schema.items() if dtype.is_numeric()]


def names_in(frame: pl.DataFrame) -> list[str]:
    """Return the columns of names, periods and dates."""
    return [name for name, dtype in frame.schema.items() if not dtype.is_nested() and not dtype.is_float()]


def bad_column(spec: ChartSpec, frame: pl.DataFrame, field: str, got: str, fits: Sequence[str]) -> ChartInvalid:
    """Refuse a column that is not there, or not of the type that its part takes."""
    if got in frame.columns:
        takes = "figures" if field == "y" or (field == "x" and spec.chart_type == "scatter") else "names or periods"
        said = f"Column {quoted([got])} holds {words_of(frame.schema[got])}; {field} takes {takes}."
    else:
        said = f"result has no column {quoted([got])}."
    return ChartInvalid(
        said, field=FIELD + field, got=got, valid=fits, did_you_mean=closest(got, fits), example=example(spec, frame)
    )


def which_column(spec: ChartSpec, frame: pl.DataFrame, field: str, fits: Sequence[str]) -> ChartInvalid:
    """Refuse a spec that leaves out a column which is not certain."""
    if not fits:
        kind = "figures" if field == "y" else "text or dates"
        said = f"A {spec.chart_type} chart needs {field}, and result has no column of {kind} for it."
        return ChartInvalid(said, field=CODE, got=frame.columns, example=example(spec, frame))
    said = f"A {spec.chart_type} chart needs {field}: result has {quoted(fits)}, say which."
    return ChartInvalid(said, field=FIELD + field, valid=fits, example=example(spec, frame))


def bad_data(said: str, instead: str, got: object = None) -> ChartInvalid:
    """Refuse what the table holds; `instead` is a line of code that mends it."""
    return ChartInvalid(said, field=CODE, got=got, example=instead)


def some(values: Iterable[object]) -> str:
    """Return the first of some values as a sentence names them."""
    listed = [str(value) for value in values]
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(f"'{value[:60]}'" for value in listed[:SHOWN]) + more


def words_of(dtype: pl.DataType) -> str:
    """Return what a column holds in words."""
    if dtype.is_numeric():
        return "numbers"
    return {"String": "text", "Boolean": "true and false", "Date": "dates", "Datetime": "times", "Null": "nothing"}.get(
        str(dtype.base_type()), "lists" if dtype.is_nested() else "other values"
    )


def example(spec: ChartSpec, frame: pl.DataFrame) -> dict[str, str]:
    """Return a spec of the same chart over the columns that there are."""
    figures = figures_in(frame)
    names = [name for name in names_in(frame) if name not in figures]
    chosen = [("x", figures), ("y", figures[1:])] if spec.chart_type == "scatter" else [("x", names), ("y", figures)]
    if spec.chart_type in ("cohort_heatmap", "sparkline_row"):
        chosen.append(("series", names[1:]))
    return {
        "chart_type": spec.chart_type,
        "title": spec.title[:80],
        **{field: columns[0] for field, columns in chosen if columns},
    }
