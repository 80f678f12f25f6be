"""Chart refusals: the field, the value sent, what fits, and a working spec or line of code."""

from collections.abc import Iterable
from dataclasses import MISSING, fields, replace
from typing import Any, Literal

import polars as pl
from msgspec import Struct

from engine.model.errors import ChartInvalid, first_of
from engine.model.requests import ChartSpec

FIELD = "chart_spec."
CODE = "transform_code"
SHOWN = 3  # values named in a sentence
WORDS = {"String": "text", "Boolean": "true and false", "Date": "dates", "Datetime": "times", "Null": "only nulls"}


class ChartRequirements(Struct, frozen=True, kw_only=True):
    """The requirements of a chart kind for a spec."""

    numeric_x: bool = False
    several_y: bool = False
    series: Literal["none", "may", "must"] = "may"
    is_timed: bool = True  # sort periods along x by time
    options: tuple[str, ...] = ()  # spec fields that the kind uses
    most_x: int
    most_series: int


class TableInvalid(ChartInvalid):
    """The table of a chart is invalid; the example is code that leaves `mended`, if that is known, in `result`."""

    mended: pl.DataFrame | None = None


def figures_in(frame: pl.DataFrame) -> list[str]:
    """Return the figure columns."""
    return [name for name, dtype in frame.schema.items() if dtype.is_numeric()]


def names_in(frame: pl.DataFrame) -> list[str]:
    """Return the columns of names, periods and dates; integer columns count as names too."""
    return [
        name
        for name, dtype in frame.schema.items()
        if dtype.is_integer() or dtype.is_temporal() or dtype in (pl.String, pl.Boolean)
    ]


def bad_spec(spec: ChartSpec, field: str, said: str, instead: object, valid: Iterable[str] = ()) -> ChartInvalid:
    """Return the refusal of a field of the spec; its example is the spec with `instead` for that field."""
    change: dict[str, Any] = {field: instead}
    example = as_sent(replace(spec, **change))
    return ChartInvalid(said, field=FIELD + field, got=getattr(spec, field), valid=valid, example=example)


def as_sent(spec: ChartSpec) -> dict[str, object]:
    """Return a spec as a call sends it: without the fields that have their default."""
    plain = {part.name: {} if part.default is MISSING else part.default for part in fields(spec)}
    return {name: value for name, default in plain.items() if (value := getattr(spec, name)) != default}


def bad_data(said: str, instead: str, got: object = None, mended: pl.DataFrame | None = None) -> TableInvalid:
    """Return the refusal of the table's data; `instead` is code that leaves `mended` in `result`."""
    refusal = TableInvalid(said, field=CODE, got=got, example=instead)
    refusal.mended = mended
    return refusal


def no_data(said: str, instead: str, got: object = None) -> ChartInvalid:
    """Return the refusal of a table without figures; `instead` is a script to begin with."""
    return ChartInvalid(said, field=CODE, got=got, example=instead)


def some(values: Iterable[object]) -> str:
    """Return the first few values as words for a sentence."""
    return first_of([f"'{str(value)[:60]}'" for value in values], SHOWN)


def words_of(dtype: pl.DataType) -> str:
    """Return a column type in words."""
    if dtype.is_numeric():
        return "numbers"
    return WORDS.get(str(dtype.base_type()), "lists" if dtype.is_nested() else "other values")
