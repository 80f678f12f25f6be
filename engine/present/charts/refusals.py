"""Chart refusals: the field, the value sent, the columns that fit, and a working spec or line of code."""

from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from typing import Literal

import polars as pl
from msgspec import Struct

from engine.model.errors import ChartInvalid, closest, first_of, quoted
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
    example = changed(spec, field, instead)
    return ChartInvalid(said, field=FIELD + field, got=getattr(spec, field), valid=valid, example=example)


def changed(spec: ChartSpec, field: str, value: object) -> dict[str, object]:
    """Return a spec with another value for one field, without the field if that value is the default."""
    sent = {part.name: getattr(spec, part.name) for part in fields(spec)} | {field: value}
    plain = {part.name: {} if part.default is MISSING else part.default for part in fields(spec)}
    return {name: part for name, part in sent.items() if part != plain[name]}


def bad_column(
    spec: ChartSpec, frame: pl.DataFrame, takes: ChartRequirements, field: str, got: str, fits: Sequence[str]
) -> ChartInvalid:
    """Return the refusal of a column that is absent or of the wrong type."""
    if got in frame.columns:
        fitting = "figures" if field == "y" or (field == "x" and takes.numeric_x) else "names or periods"
        said = f"Column {quoted([got])} holds {words_of(frame.schema[got])}; {field} takes {fitting}."
    else:
        said = f"result has no column {quoted([got])}."
    close = closest(got, [name for name in fits if name != got])
    return ChartInvalid(
        said, field=FIELD + field, got=got, valid=fits, did_you_mean=close, example=example(spec, frame, takes)
    )


def which_column(
    spec: ChartSpec, frame: pl.DataFrame, takes: ChartRequirements, field: str, fits: Sequence[str]
) -> ChartInvalid:
    """Return the refusal of a spec that omits a column with several candidates."""
    kind = "figures" if field == "y" or (field == "x" and takes.numeric_x) else "text or dates"
    if not fits:
        said = f"A {spec.chart_type} chart needs {field}, and result has no column of {kind} for it."
        return ChartInvalid(said, field=CODE, got=frame.columns, example=EXAMPLES[kind])
    said = f"A {spec.chart_type} chart needs {field}, a column of {kind}: result has {quoted(fits)}, say which."
    return ChartInvalid(said, field=FIELD + field, valid=fits, example=example(spec, frame, takes))


EXAMPLES = {
    "figures": "result = df.select('alias', 'period', 'value')",
    "text or dates": "result = df.select('period', 'alias', 'value')",
}


def bad_data(said: str, instead: str, got: object = None) -> ChartInvalid:
    """Return the refusal of the table's data; `instead` is code that fixes it."""
    return ChartInvalid(said, field=CODE, got=got, example=instead)


def some(values: Iterable[object]) -> str:
    """Return the first few values as words for a sentence."""
    return first_of([f"'{str(value)[:60]}'" for value in values], SHOWN)


def words_of(dtype: pl.DataType) -> str:
    """Return a column type in words."""
    if dtype.is_numeric():
        return "numbers"
    return WORDS.get(str(dtype.base_type()), "lists" if dtype.is_nested() else "other values")


def example(spec: ChartSpec, frame: pl.DataFrame, takes: ChartRequirements) -> dict[str, str]:
    """Return a valid spec of the same chart kind over the available columns."""
    figures = figures_in(frame)
    names = [name for name in names_in(frame) if name not in figures]
    parts = {"x": names[:1], "y": figures[:1]}
    if takes.numeric_x:
        parts = {"x": figures[:1], "y": figures[1:2]}
    elif takes.series == "must":
        across = [name for name in names_in(frame) if name in figures][:1] or names[1:2]
        parts = {"series": names[:1], "x": across, "y": [name for name in figures if name not in across][:1]}
    chosen = {field: columns[0] for field, columns in parts.items() if columns}
    return {"chart_type": spec.chart_type, "title": spec.title[:80], **chosen}
