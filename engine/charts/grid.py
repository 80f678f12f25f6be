"""Grid of a chart: figures by x and series, each once, in the order in which they are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.calendar.periods import Grain
from engine.charts.cells import figures_of, names_of
from engine.charts.periods import grain_of, in_time, words_of
from engine.charts.picture import Sheet
from engine.charts.refusing import bad_data, bad_spec, some
from engine.requests import ScenarioStyle

MOST_POINTS: Final = 600
KNOWN: Final[dict[str, ScenarioStyle]] = {
    "actual": "actual",
    "actuals": "actual",
    "ac": "actual",
    "prior year": "prior_year",
    "prior_year": "prior_year",
    "previous year": "prior_year",
    "last year": "prior_year",
    "py": "prior_year",
    "actual@py": "prior_year",
    "budget": "plan",
    "plan": "plan",
    "target": "plan",
    "forecast": "forecast",
    "fc": "forecast",
    "outlook": "forecast",
}


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


def grid_of(sheet: Sheet) -> Grid:
    """Return the table as a grid; ChartInvalid where two rows would be one point, or x or series are missing."""
    frame, columns = sheet.frame, sheet.columns
    xs = names_of(frame, columns.x, "x")
    split = None if columns.series is None else names_of(frame, columns.series, "series")
    found: dict[tuple[str, str], float | None] = {}
    for name in columns.y:
        add(sheet, found, split or [name] * len(xs), xs, figures_of(frame, name))
    names = list(dict.fromkeys(columns.y if split is None else split))
    if split is not None and sheet.takes.series == "must" and grain_of(names) is not None:
        names.sort()  # cohorts
    order, grain = order_of(sheet, list(dict.fromkeys(xs)))
    refuse_size(sheet, order, names)
    styles = styles_of(sheet, order if sheet.takes.series == "none" else names)
    series = tuple(Series(name, tuple(found.get((name, x)) for x in order), styles.get(name)) for name in names)
    if not any(one.known for one in series):
        raise bad_data(f"{some(columns.y)} holds no figures, only nulls.", "result = df.drop_nulls()")
    return Grid(tuple(order), grain, series)


def order_of(sheet: Sheet, xs: list[str]) -> tuple[list[str], Grain | None]:
    """Return the values of x as they are drawn: periods in time, other numbers ascending, names as given."""
    grain = grain_of(xs) if sheet.takes.is_timed else None
    if grain is not None:
        return in_time(xs, grain), grain
    is_counted = sheet.takes.is_timed and sheet.frame.schema[sheet.columns.x].is_integer()
    return sorted(xs, key=int) if is_counted else xs, None


def refuse_size(sheet: Sheet, xs: Sequence[str], names: Sequence[str]) -> None:
    """Refuse more than a picture shows."""
    takes, columns = sheet.takes, sheet.columns
    x, y, series = columns.x, columns.y[0], columns.series
    points = min(takes.most_x, MOST_POINTS // len(names)) if len(names) <= MOST_POINTS else 1
    largest = f"result = df.top_k({takes.most_x}, by={y!r})"
    last = f"result = df.filter(pl.col({x!r}).cast(pl.String) >= {xs[-min(len(xs), points)]!r})"
    is_time = grain_of(xs) is not None
    leading = (
        f"largest = df.group_by({series!r}).agg(pl.col({y!r}).sum()).top_k({takes.most_series}, by={y!r})\n"
        f"result = df.filter(pl.col({series!r}).is_in(largest[{series!r}].to_list()))"
    )
    for count, most, what, instead, code in (
        (len(names), takes.most_series, "series", "keep the largest, or sum the others as 'Other'", leading),
        (len(xs), takes.most_x, "values of x", "aggregate, or keep some", last if is_time else largest),
        (len(xs) * len(names), MOST_POINTS, "points", "aggregate to longer periods, or keep some", last),
    ):
        if count > most:
            said = f"{count:,} {what}, {most} are the most of a {sheet.spec.chart_type} chart: {instead}."
            raise bad_data(said, code, got=count)


def add(
    sheet: Sheet,
    found: dict[tuple[str, str], float | None],
    names: Sequence[str],
    xs: Sequence[str],
    values: Sequence[float | None],
) -> None:
    """Add the points of some rows, each once."""
    columns = sheet.columns
    twice: dict[str, None] = {}
    for name, x, value in zip(names, xs, values, strict=True):
        if (name, x) in found:
            twice[x if columns.series is None else f"{x}, {name}"] = None
        found[name, x] = value
    if twice:
        keys = ", ".join(repr(part) for part in (columns.x, columns.series) if part is not None)
        raise bad_data(
            f"More than one row for {some(twice)}: aggregate to one row for each x and series, or name in series the "
            "column that tells them apart.",
            f"result = df.group_by({keys}, maintain_order=True).agg(pl.col({', '.join(map(repr, columns.y))}).sum())",
            got=len(twice),
        )


def styles_of(sheet: Sheet, names: Sequence[str]) -> dict[str, ScenarioStyle]:
    """Return how series are drawn: as the spec says, else by their usual names where all of them have one."""
    asked = sheet.spec.styles
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise bad_spec(sheet.spec, "styles", f"There is no series {some(unknown)} to style.", {}, names)
    known = {name: KNOWN[name.casefold()] for name in names if name.casefold() in KNOWN}
    usual = known if len(set(known.values())) == len(names) else {}
    return {**usual, **asked}
