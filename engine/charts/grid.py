"""Grid of a chart: figures by x and series, each once, in the order in which they are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from math import isfinite

import polars as pl

from engine.calendar.periods import Grain
from engine.charts.columns import Columns, Takes
from engine.charts.periods import grain_of, in_time, words_of
from engine.charts.refusing import CODE, bad_data, some
from engine.errors import ChartInvalid
from engine.requests import ChartSpec, ScenarioStyle

MOST_POINTS = 600
KNOWN: dict[str, ScenarioStyle] = {
    **dict.fromkeys(("actual", "actuals", "ac"), "actual"),
    **dict.fromkeys(
        ("prior year", "prior_year", "previous year", "last year", "py", "ly", "actual@py"), "prior_year"
    ),
    **dict.fromkeys(("budget", "budgets", "plan", "target", "bu", "pl"), "plan"),
    **dict.fromkeys(("forecast", "fc", "outlook"), "forecast"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Series:
    """One line, colour or member: a figure for each x, None where there is none."""

    name: str
    values: tuple[float | None, ...]
    style: ScenarioStyle | None = None

    @property
    def known(self) -> list[float]:
        """The figures that there are, in order."""
        return [value for value in self.values if value is not None]


@dataclass(frozen=True, slots=True)
class Grid:
    """Series over one axis; `grain` is of period codes, None where x are names."""

    xs: tuple[str, ...]
    grain: Grain | None
    series: tuple[Series, ...]

    @property
    def values(self) -> list[float]:
        """Every figure."""
        return [value for series in self.series for value in series.known]

    def words(self, at: int) -> str:
        """Return an x as a sentence says it."""
        return words_of(self.xs[at], self.grain)


def grid_of(spec: ChartSpec, frame: pl.DataFrame, columns: Columns, takes: Takes) -> Grid:
    """Return the table as a grid; ChartInvalid where two rows would be one point, or x or series are missing.

    The steps of a waterfall stay as they are given, whatever they are called.
    """
    xs = names_of(frame, columns.x, "x")
    found: dict[tuple[str, str], float | None] = {}
    if columns.series is None:
        for name in columns.y:
            add(found, [name] * len(xs), xs, figures_of(frame, name))
        names = list(columns.y)
    else:
        split = names_of(frame, columns.series, "series")
        add(found, split, xs, figures_of(frame, columns.y[0]))
        names = list(dict.fromkeys(split))
    order = list(dict.fromkeys(xs))
    is_waterfall = spec.chart_type == "waterfall"
    grain = None if is_waterfall else grain_of(order)
    order = order if grain is None else in_time(order, grain)
    refuse_size(spec, takes, len(order), len(names))
    styles = styles_of(spec, order if is_waterfall else names)
    series = tuple(Series(name, tuple(found.get((name, x)) for x in order), styles.get(name)) for name in names)
    if not any(one.known for one in series):
        raise ChartInvalid(
            f"Column {some(columns.y)} holds no figures, only nulls.", field=CODE, example="result = df.drop_nulls()"
        )
    return Grid(tuple(order), grain, series)


def refuse_size(spec: ChartSpec, takes: Takes, xs: int, series: int) -> None:
    """Refuse more than a picture shows."""
    for count, most, what, instead in (
        (xs, takes.most_x, "values of x", "aggregate to longer periods, or keep the largest"),
        (series, takes.most_series, "series", "keep the largest and sum the others as 'Other'"),
        (xs * series, MOST_POINTS, "points", "aggregate to longer periods, or keep the largest series"),
    ):
        if count > most:
            raise bad_data(
                f"{count:,} {what}, {most} are the most of a {spec.chart_type} chart: {instead}.",
                "result = df.group_by('period').agg(pl.col('value').sum()).top_k(12, by='value')",
                got=count,
            )


def add(
    found: dict[tuple[str, str], float | None],
    names: Sequence[str],
    xs: Sequence[str],
    values: Sequence[float | None],
) -> None:
    """Add the points of some rows, each once."""
    twice: list[str] = []
    for name, x, value in zip(names, xs, values, strict=True):
        if (name, x) in found:
            twice.append(f"{x} of {name}")
        found[name, x] = value
    if twice:
        raise bad_data(
            f"More than one row for {some(dict.fromkeys(twice))}: aggregate to one row for each x and series, or name "
            "the column that splits them in series.",
            "result = df.group_by('period', 'alias').agg(pl.col('value').sum())",
        )


def names_of(frame: pl.DataFrame, name: str, part: str) -> list[str]:
    """Return a column as text, refused where a cell is missing."""
    column = frame[name]
    if column.null_count():
        raise bad_data(
            f"Column '{name}', the {part} of the chart, has {column.null_count()} nulls. Rows of totals have null "
            "members: leave them out, or name them.",
            f"result = df.filter(pl.col({name!r}).is_not_null())",
        )
    return [text_of(value) for value in column.to_list()]


def text_of(value: object) -> str:
    """Return a cell as text; a moment at midnight is its day."""
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return value.isoformat() if isinstance(value, date) else str(value)


def figures_of(frame: pl.DataFrame, name: str) -> list[float | None]:
    """Return a column of figures; what is no number is none."""
    return [value if value is not None and isfinite(value) else None for value in frame[name].to_list()]


def styles_of(spec: ChartSpec, names: Sequence[str]) -> dict[str, ScenarioStyle]:
    """Return how series are drawn: as the spec says, else by their usual names where all of them have one."""
    known = {name: KNOWN[name.casefold()] for name in names if name.casefold() in KNOWN}
    unknown = [name for name in spec.styles if name not in names]
    if unknown:
        raise ChartInvalid(
            f"There is no series {some(unknown)} to style.", field="chart_spec.styles", got=unknown, valid=names
        )
    usual = known if len(set(known.values())) == len(names) or len(names) == 1 else {}
    return {**usual, **spec.styles}
