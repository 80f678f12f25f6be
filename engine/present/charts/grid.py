"""The grid of a chart: figures by x and series, their stacks, and summary sentences."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import polars as pl
from msgspec import Struct

from engine.model.calendar.periods import Grain
from engine.model.errors import ChartInvalid
from engine.model.exact import Exact
from engine.model.requests import ScenarioStyle
from engine.model.stopping import watched
from engine.present.charts.columns import figures_of, names_of, printable
from engine.present.charts.periods import grain_of, in_time, words_of
from engine.present.charts.picture import HUNDREDFOLD, ChartInput, Unit, asked_unit, told_apart, unit_of
from engine.present.charts.refusals import bad_data, bad_spec, no_data, some
from engine.present.charts.repairs import SCENARIOS, filled, of_first, splitting
from engine.report.data import SCALED

# Figures by x and series, each once, in drawing order.

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


class Series(Struct, frozen=True):
    """One line, colour or member: a figure for each x, None if there is none."""

    name: str
    values: tuple[float | None, ...]
    style: ScenarioStyle | None = None

    @property
    def known(self) -> list[float]:
        """The figures that are present, in order."""
        return [value for value in self.values if value is not None]


class Grid(Struct, frozen=True):
    """Series over one axis; `grain` is the grain of period codes, None if x holds names."""

    xs: tuple[str, ...]
    grain: Grain | None
    series: tuple[Series, ...]

    @property
    def values(self) -> list[float]:
        """Every figure."""
        return [value for series in self.series for value in series.known]

    def words(self, at: int) -> str:
        """Return an x as words for a sentence."""
        return words_of(self.xs[at], self.grain)


def grid_of(sheet: ChartInput) -> Grid:
    """Return the table as a grid. Raises ChartInvalid for duplicate points, and for missing x or series."""
    frame, columns = sheet.frame, sheet.columns
    xs = names_of(frame, columns.x, "x")
    split = None if columns.series is None else names_of(frame, columns.series, "series")
    found: dict[tuple[str, str], float | None] = {}
    for name in columns.y:
        add(sheet, found, split or [printable(name)] * len(xs), xs, figures_of(frame, name))
    names = list(dict.fromkeys(map(printable, columns.y) if split is None else split))
    if split is not None and sheet.takes.series == "must" and grain_of(names) is not None:
        names.sort()  # cohorts sort by name
    order, grain = order_of(sheet, list(dict.fromkeys(xs)))
    refuse_size(sheet, order, names)
    styles = styles_of(sheet, order if sheet.takes.series == "none" else names)
    series = tuple(Series(name, tuple(found.get((name, x)) for x in order), styles.get(name)) for name in names)
    if not any(one.known for one in series):
        raise no_data(f"{some(columns.y)} holds no figures, only nulls.", "result = df.drop_nulls()")
    return Grid(tuple(order), grain, series)


def order_of(sheet: ChartInput, xs: list[str]) -> tuple[list[str], Grain | None]:
    """Return the values of x in drawing order: periods by time, numbers ascending, names as given."""
    grain = grain_of(xs) if sheet.takes.is_timed else None
    if grain is not None:
        return in_time(xs, grain), grain
    is_counted = sheet.takes.is_timed and sheet.frame.schema[sheet.columns.x].is_integer()
    return sorted(xs, key=int) if is_counted else xs, None


def refuse_size(sheet: ChartInput, xs: Sequence[str], names: Sequence[str]) -> None:
    """Refuse more points than a picture can show."""
    takes, columns = sheet.takes, sheet.columns
    x, y, series = columns.x, columns.y[0], columns.series
    points = min(takes.most_x, MOST_POINTS // len(names)) if len(names) <= MOST_POINTS else 1
    largest = f"result = result.top_k({takes.most_x}, by={y!r})"
    last = f"result = result.filter(pl.col({x!r}).cast(pl.String) >= {xs[-min(len(xs), points)]!r})"
    is_time = grain_of(xs) is not None
    leading = (
        f"largest = result.group_by({series!r}).agg(pl.col({y!r}).sum()).top_k({takes.most_series}, by={y!r})\n"
        f"result = result.filter(pl.col({series!r}).is_in(largest[{series!r}].to_list()))"
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
    sheet: ChartInput,
    found: dict[tuple[str, str], float | None],
    names: Sequence[str],
    xs: Sequence[str],
    values: Sequence[float | None],
) -> None:
    """Add the points of some rows. Refuses duplicates."""
    columns = sheet.columns
    twice: dict[str, None] = {}
    for name, x, value in watched(zip(names, xs, values, strict=True)):
        if (name, x) in found:
            twice[x if columns.series is None else f"{x}, {name}"] = None
        found[name, x] = value
    if twice:
        keys = [part for part in (columns.x, columns.series) if part is not None]
        code, mended = added_up(sheet, keys) if sheet.adds_up else apart(sheet, keys)
        raise bad_data(
            f"More than one row for {some(twice)}: leave one row for each x and series, or name in series the column "
            "that tells them apart. Never add up lines, scenarios or ratios.",
            code,
            len(twice),
            mended,
        )


def added_up(sheet: ChartInput, keys: list[str]) -> tuple[str, pl.DataFrame]:
    """Return code that adds up the rows of each x and series, and the table that it leaves."""
    y = [name for name in sheet.columns.y if name not in keys]  # a spec may name one column twice
    sums = sheet.frame.group_by(keys, maintain_order=True).agg(pl.col(y).sum())
    return f"result = result.group_by({keys!r}, maintain_order=True).agg(pl.col({y!r}).sum())", sums


def apart(sheet: ChartInput, keys: list[str]) -> tuple[str, pl.DataFrame]:
    """Return code that leaves one row for each x and series of a report, and the table that it leaves.

    What tells rows apart becomes the series if there is none; of anything else the first that has a figure is kept.
    Nothing is added up.
    """
    frame, takes, columns = sheet.frame, sheet.takes, sheet.columns
    split = splitting(frame, keys)
    if columns.series is None and takes.series != "none" and len(columns.y) == 1:
        by_use = sorted(split, key=lambda name: name not in SCENARIOS)
        keys = [*keys, *[name for name in by_use if frame[name].n_unique() <= takes.most_series][:1]]
    parts = list(dict.fromkeys((*keys[1:], *columns.y)))
    code, rows = f"result = result.drop_nulls({parts!r})", frame.drop_nulls(parts)
    for name in split:
        if name not in keys and rows.select(keys).is_duplicated().any():
            rows, kept = of_first(rows, name)
            code += kept
    if rows.select(keys).is_duplicated().any():
        code += f".unique({keys!r}, keep='first', maintain_order=True)"
        rows = rows.unique(keys, keep="first", maintain_order=True)
    left = list(dict.fromkeys((*keys, *columns.y)))  # a spec may name one column twice
    return f"{code}.select({left!r})", rows.select(left)


def styles_of(sheet: ChartInput, names: Sequence[str]) -> dict[str, ScenarioStyle]:
    """Return the scenario styles of series: from the spec, else from their usual names if all have one."""
    asked = sheet.spec.styles
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise bad_spec(sheet.spec, "styles", f"There is no series {some(unknown)} to style.", {}, names)
    known = {name: KNOWN[name.casefold()] for name in names if name.casefold() in KNOWN}
    usual = known if len(set(known.values())) == len(names) else {}
    return {**usual, **asked}


# The grid and unit of a chart input.


def grid_for(sheet: ChartInput) -> tuple[Grid, Unit]:
    """Return the grid of a chart input and the unit of its figures."""
    grid = grid_of(sheet)
    return grid, unit_for(sheet, grid.values)


def colours_of(sheet: ChartInput, grid: Grid) -> list[str]:
    """Return a colour for each series: its scenario's, else the next of the palette. A single series is actual."""
    palette = sheet.theme.palette
    if len(grid.series) == 1 and grid.series[0].style is None:
        return [sheet.theme.actual]
    return [
        sheet.colour(series.style) if series.style else palette[at % len(palette)]
        for at, series in enumerate(grid.series)
    ]


def unit_for(sheet: ChartInput, values: Iterable[float]) -> Unit:
    """Return the unit of y: the unit that its columns have, at the scale and by the name that the spec asks for.

    Raises ChartInvalid if the columns differ in unit, or if the spec contradicts their unit. Zeros have any unit.
    """
    figures, spec = list(values), sheet.spec
    by_column = {name: sheet.units.get(name) for name in sheet.columns.y}
    known = set(by_column.values()) - {None}
    if len(known) > 1:
        raise of_several_units(sheet, by_column)
    unit = next(iter(known)) if None not in by_column.values() else None
    if unit is None or spec.unit is None or not any(figures):
        return unit_of(spec.unit or unit, figures)
    asked = asked_unit(spec.unit, unit)
    if asked is None:
        said = f"The figures of {some(by_column)} are in {unit}, and unit says '{spec.unit}': leave unit out."
        scaled = () if unit in HUNDREDFOLD else (unit + word for word in SCALED.values() if word)
        raise bad_spec(spec, "unit", said, None, (unit, *scaled))
    return unit_of(asked.name, figures, asked.power)


def of_several_units(sheet: ChartInput, by_column: Mapping[str, str | None]) -> ChartInvalid:
    """Return the refusal of columns of several units; the example keeps those of the first unit."""
    first = next(unit for unit in by_column.values() if unit)
    said = ", ".join(f"'{name}' is in {unit}" for name, unit in by_column.items() if unit)
    kept = [name for name, unit in by_column.items() if unit == first]
    return bad_spec(
        sheet.spec, "y", f"One chart shows one unit, and {said}.", kept[0] if len(kept) == 1 else tuple(kept), by_column
    )


# Summaries: one to three plain sentences. Their figures are exact before rounding.


MOST_SERIES = 3
PERCENT = unit_of("fraction", (1.0,))


def exact(value: float) -> Exact:
    """Return a figure from its shortest digits, so that 0.3 − 0.1 is 0.2."""
    return Exact.of(repr(value))


def number(figure: Exact) -> float:
    """Return the double of a figure, rounded to 15 digits; further digits are noise."""
    return float(f"{figure.decimal():.15g}")


def total(values: Iterable[float]) -> float:
    """Return the exact sum of figures as a double."""
    return number(sum(map(exact, values), Exact(0)))


def points_words(change: Exact, unit: Unit) -> str:
    """Return a signed change as text; that of percents is in percentage points."""
    said = unit.words_of(change, signed=True)
    return f"{said.removesuffix('%')} pp" if unit.sign else said


def change_words(first: float, last: float, unit: Unit) -> str:
    """Return a change in the unit and, if the base is positive, in percent: "+1.8, +14.6%"."""
    change = exact(last) - exact(first)
    said = points_words(change, unit)
    if unit.sign or unit.name == "pp":
        return said if unit.sign else f"{said} pp"
    return said if first <= 0 else f"{said}, {PERCENT.words_of(change / exact(first), signed=True)}"


def in_words(unit: Unit) -> str:
    """Return the unit as the end of a sentence."""
    return f" {unit.words}" if unit.words and not unit.sign else ""


def of_series(grid: Grid, series: Series, unit: Unit) -> str:
    """Describe one series: first, last, change, highest, lowest."""
    known = [(at, value) for at, value in enumerate(series.values) if value is not None]
    (at_first, first), (at_last, last) = known[0], known[-1]
    name = heading(grid, series)
    if len(known) == 1:
        return f"{name}{unit.text(first)}{in_words(unit)} in {grid.words(at_first)}."
    at_high, high = max(known, key=lambda found: found[1])
    at_low, low = min(known, key=lambda found: found[1])
    unit = told_apart(unit, (first, last, high, low))
    begun = f"{name}{unit.text(first)}{in_words(unit)} in {grid.words(at_first)}"
    ended = f"{unit.text(last)} in {grid.words(at_last)} ({change_words(first, last, unit)})"
    extremes = f"highest {unit.text(high)} in {grid.words(at_high)}, lowest {unit.text(low)} in {grid.words(at_low)}"
    return f"{begun}, {ended}; {extremes}."


def heading(grid: Grid, series: Series) -> str:
    """Return the start of a sentence on a series: its name, unless it is the only one."""
    return f"{series.name}: " if len(grid.series) > 1 else ""


def named(grid: Grid, name: str, figure: str) -> str:
    """Return the label at the end of a line or area: the figure, with the series name unless it is the only one."""
    return f"{name[:30]} {figure}" if len(grid.series) > 1 else figure


def described(grid: Grid) -> list[Series]:
    """Return the series that have a figure, of which sentences speak."""
    return [series for series in grid.series if series.known]


def course(grid: Grid, unit: Unit) -> tuple[str, ...]:
    """Describe the first series, and count the others."""
    told = described(grid)
    said = [of_series(grid, series, unit) for series in told[:MOST_SERIES]]
    return (
        (*said[:-1], f"{said[-1]} {len(told) - MOST_SERIES} more series.") if len(told) > MOST_SERIES else tuple(said)
    )


def forecast_course(grid: Grid, unit: Unit, begins: int) -> tuple[str, ...]:
    """Describe every series, and say where the forecast begins."""
    return (f"The forecast begins in {grid.words(begins)}.", *course(grid, unit)[:2])


def ranking(grid: Grid, unit: Unit) -> tuple[str, ...]:
    """Name the largest and smallest figure of each series."""
    said = []
    for series in described(grid)[:MOST_SERIES]:
        known = [(value, at) for at, value in enumerate(series.values) if value is not None]
        (high, at_high), (low, at_low) = max(known), min(known)
        finer = told_apart(unit, (high, low))
        most = f"{grid.words(at_high)} is largest with {finer.text(high)}{in_words(unit)}"
        said.append(f"{heading(grid, series)}{most}, {grid.words(at_low)} smallest with {finer.text(low)}.")
    return tuple(said)


# Stacks: series on top of each other. Heights are shares of a whole, so they cannot be negative.


Bounds = list[tuple[float, float]]


def stacked(sheet: ChartInput, grid: Grid) -> list[Bounds]:
    """Return the bounds of each series at each x. Raises ChartInvalid if a part is negative or missing."""
    refuse_negative(sheet, grid)
    refuse_missing(sheet, grid)
    columns = [list(accumulated([series.values[at] or 0.0 for series in grid.series])) for at in range(len(grid.xs))]
    return [[column[at] for column in columns] for at in range(len(grid.series))]


def accumulated(parts: list[float]) -> Bounds:
    """Return the bounds of each part at one x."""
    ends = [0.0, *(total(parts[: at + 1]) for at in range(len(parts)))]
    return list(pairwise(ends))


def refuse_negative(sheet: ChartInput, grid: Grid) -> None:
    """Refuse negative parts, which a stack cannot show; suggest lines or grouped bars."""
    negative = [
        f"{series.name}, {x}"
        for series in grid.series
        for x, value in zip(grid.xs, series.values, strict=True)
        if value is not None and value < 0
    ]
    if not negative:
        return
    stack = ("stack", False, "them side by side")
    field, instead, so = stack if sheet.spec.stack else ("chart_type", "line", "lines")
    said = f"A stack cannot show negative parts: {some(negative)}. Draw {so}, or a waterfall of what adds up."
    raise bad_spec(sheet.spec, field, said, instead)


def refuse_missing(sheet: ChartInput, grid: Grid) -> None:
    """Refuse missing parts, which would shift the parts above them."""
    missing = [
        f"{series.name}, {x}"
        for series in grid.series
        for x, value in zip(grid.xs, series.values, strict=True)
        if value is None
    ]
    if not missing:
        return
    x, series = sheet.columns.x, sheet.columns.series
    there = set(names_of(sheet.frame, x, "x"))
    code, mended = filled(sheet.frame, x, sheet.columns.y[0], series, [name for name in grid.xs if name not in there])
    raise bad_data(
        f"A stack needs each part at each x; missing: {some(missing)}. Say that what is missing is zero, if it is.",
        code,
        len(missing),
        mended,
    )
