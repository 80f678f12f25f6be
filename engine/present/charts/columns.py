"""Columns of a chart: the part that each column of the table plays, as names or as figures."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from math import isfinite
from typing import Final

import polars as pl
from msgspec import Struct

from engine.model.requests import ChartSpec
from engine.model.stopping import watched
from engine.present.charts.periods import is_time
from engine.present.charts.refusals import ChartRequirements, bad_data, bad_spec, figures_in, names_in
from engine.present.charts.repairs import bad_column, which_column

# Table columns as names and as figures.


LONGEST = 120  # characters of a name
LEAST, MOST = 1e-9, 1e15  # bounds of the largest figure


def names_of(frame: pl.DataFrame, name: str, part: str) -> list[str]:
    """Return a column as text. Raises ChartInvalid if a cell is missing or too long for a label."""
    column = frame[name]
    if column.null_count():
        raise bad_data(
            f"Column '{name}', the {part} of the chart, has {column.null_count()} nulls. Rows of totals have null "
            "members: leave them out, or name them.",
            f"result = result.filter(pl.col({name!r}).is_not_null())",
            mended=frame.filter(column.is_not_null()),
        )
    texts = [printable(text_of(value)) for value in watched(column.to_list())]
    longest = max(texts, key=len)
    if len(longest) > LONGEST:
        raise bad_data(
            f"Column '{name}', the {part} of the chart, has a text of {len(longest):,} characters, {LONGEST} are the "
            "most.",
            f"result = result.with_columns(pl.col({name!r}).str.slice(0, {LONGEST}))",
            longest,
        )
    return texts


def printable(text: str) -> str:
    """Return a text without control characters and ends of lines: expressions of Vega and pictures hold none."""
    return "".join(mark if mark.isprintable() else " " for mark in text)


def text_of(value: object) -> str:
    """Return a cell as text; a datetime at midnight becomes its date."""
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return value.isoformat() if isinstance(value, date) else str(value)


def plain(value: object) -> object:
    """Return a cell as a JSON value."""
    if isinstance(value, float) and not isfinite(value):
        return None
    return text_of(value) if isinstance(value, date | time) else value


def figures_of(frame: pl.DataFrame, name: str) -> list[float | None]:
    """Return a column of figures, None for non-numbers. Raises ChartInvalid if an axis cannot tell them apart."""
    figures = [value if value is not None and isfinite(value) else None for value in watched(frame[name].to_list())]
    largest = max((abs(figure) for figure in figures if figure is not None), default=0)
    if largest and not LEAST <= largest <= MOST:
        raise bad_data(
            f"The largest figure of column '{name}' is {largest:.3g}: {LEAST:g} to {MOST:g} can be drawn. Scale the "
            "figures in the script, and say so in unit.",
            f"result = result.with_columns(pl.col({name!r}) / {largest:.0e})",
            largest,
        )
    return figures


# The part of each column: named by the spec, or certain without it.


OPTIONS: Final[Mapping[str, object]] = {
    "kind": None,
    "label": None,
    "styles": {},
    "forecast_from": None,
    "favourable": None,
    "stack": False,
    "lines": (),
    "sort": "given",
}


class Columns(Struct, frozen=True, kw_only=True):
    """The columns of a chart by part."""

    x: str
    y: tuple[str, ...]
    series: str | None
    kind: str | None
    label: str | None

    @property
    def all(self) -> list[str]:
        """Every column of the chart, once."""
        parts = (self.x, self.series, self.kind, self.label, *self.y)
        return list(dict.fromkeys(part for part in parts if part is not None))


def columns_of(spec: ChartSpec, frame: pl.DataFrame, takes: ChartRequirements) -> Columns:
    """Return the columns of a spec's parts. Raises ChartInvalid, which names the columns that fit."""
    refuse_options(spec, takes)
    figures, names = figures_in(frame), names_in(frame)
    taken = [part for part in (spec.series, spec.kind, spec.label) if part is not None]
    y = figure_columns(spec, frame, takes, [name for name in figures if name not in (spec.x, *taken)])
    if len(y) > 1 and not takes.several_y:
        raise bad_spec(spec, "y", f"A {spec.chart_type} chart draws one column y.", y[0], figures)
    if takes.numeric_x:
        x = one(spec, frame, takes, "x", figures, [name for name in figures if name not in y])
    else:
        x = one(
            spec, frame, takes, "x", names, likely(frame, [name for name in names if name not in (*figures, *taken)])
        )
    return Columns(
        x=x,
        y=y,
        series=series_of(spec, frame, takes, x, y),
        kind=None if spec.kind is None else one(spec, frame, takes, "kind", names, ()),
        label=None if spec.label is None else one(spec, frame, takes, "label", names, ()),
    )


def refuse_options(spec: ChartSpec, takes: ChartRequirements) -> None:
    """Refuse an option that this kind of chart does not use."""
    for name, plain in OPTIONS.items():
        if getattr(spec, name) != plain and name not in takes.options:
            said = f"A {spec.chart_type} chart takes no {name}: leave it out."
            raise bad_spec(spec, name, said, plain, takes.options)


def one(
    spec: ChartSpec,
    frame: pl.DataFrame,
    takes: ChartRequirements,
    field: str,
    fits: Sequence[str],
    certain: Sequence[str],
) -> str:
    """Return the column of one part: the one the spec names, else the only candidate."""
    got: str | None = getattr(spec, field)
    if got is not None:
        if got not in fits:
            raise bad_column(spec, frame, takes, field, got, fits)
        return got
    if len(certain) != 1:
        raise which_column(spec, frame, takes, field, certain or fits)
    return certain[0]


def figure_columns(
    spec: ChartSpec, frame: pl.DataFrame, takes: ChartRequirements, figures: Sequence[str]
) -> tuple[str, ...]:
    """Return the figure columns."""
    asked = (spec.y,) if isinstance(spec.y, str) else spec.y
    if not asked:
        if len(figures) != 1:
            raise which_column(spec, frame, takes, "y", figures)
        return tuple(figures)
    for name in asked:
        if name not in figures_in(frame):
            raise bad_column(spec, frame, takes, "y", name, figures)
    return tuple(dict.fromkeys(asked))


def likely(frame: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the only period or date column if there is one, else every name."""
    periods = [name for name in names if is_time(frame[name])]
    return periods if len(periods) == 1 else list(names)


def series_of(spec: ChartSpec, frame: pl.DataFrame, takes: ChartRequirements, x: str, y: Sequence[str]) -> str | None:
    """Return the column that splits rows into series: the one the spec names, else the only candidate."""
    if spec.series is not None:
        no_use = (
            (takes.series == "none", f"A {spec.chart_type} chart takes no series"),
            (len(y) > 1, "Several columns y are series already"),
            (spec.series == x, "x names the bars and points already"),
        )
        for applies, why in no_use:
            if applies:
                raise bad_spec(spec, "series", f"{why}: leave series out.", None)
        return one(spec, frame, takes, "series", names_in(frame), ())
    parts = (x, *y, spec.kind, spec.label)
    rest = [name for name in names_in(frame) if name not in parts and frame.schema[name] == pl.String]
    if takes.series == "must" and len(y) == 1:
        return one(spec, frame, takes, "series", rest, rest)
    is_split = takes.series == "may" and not takes.numeric_x and len(y) == 1 and frame[x].is_duplicated().any()
    rest = [name for name in rest if not is_time(frame[name])]
    return rest[0] if is_split and len(rest) == 1 else None
