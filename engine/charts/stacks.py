"""Stacks: series on top of each other, whose heights are shares of a whole and so never negative."""

from itertools import pairwise

from engine.charts.grid import Grid
from engine.charts.picture import Sheet
from engine.charts.refusing import bad_data, bad_spec, some
from engine.charts.words import total

Bounds = list[tuple[float, float]]


def stacked(sheet: Sheet, grid: Grid) -> list[Bounds]:
    """Return for each series where it begins and ends at each x; refused where a part is negative or missing."""
    refuse_negative(sheet, grid)
    refuse_missing(sheet, grid)
    columns = [list(accumulated([series.values[at] or 0.0 for series in grid.series])) for at in range(len(grid.xs))]
    return [[column[at] for column in columns] for at in range(len(grid.series))]


def accumulated(parts: list[float]) -> Bounds:
    """Return where each part of one x begins and ends."""
    ends = [0.0, *(total(parts[: at + 1]) for at in range(len(parts)))]
    return list(pairwise(ends))


def refuse_negative(sheet: Sheet, grid: Grid) -> None:
    """Refuse what no height can show; draw it as lines or side by side instead."""
    negative = [
        f"{series.name}, {x}"
        for series in grid.series
        for x, value in zip(grid.xs, series.values, strict=True)
        if value is not None and value < 0
    ]
    if not negative:
        return
    is_area = sheet.spec.chart_type == "area"
    field, instead, so = ("chart_type", "line", "lines") if is_area else ("stack", False, "them side by side")
    said = f"A stack cannot show negative parts: {some(negative)}. Draw {so}, or a waterfall of what adds up."
    raise bad_spec(sheet.spec, field, said, instead)


def refuse_missing(sheet: Sheet, grid: Grid) -> None:
    """Refuse a gap between parts: what lies above it would fall."""
    missing = [
        f"{series.name}, {x}"
        for series in grid.series
        for x, value in zip(grid.xs, series.values, strict=True)
        if value is None
    ]
    if not missing:
        return
    x, y, series = sheet.columns.x, sheet.columns.y, sheet.columns.series
    wide = "df" if series is None else f"df.pivot({series!r}, index={x!r}, values={y[0]!r})"
    long = "" if series is None else f".unpivot(index={x!r}, variable_name={series!r}, value_name={y[0]!r})"
    raise bad_data(
        f"A stack needs each part at each x; missing: {some(missing)}. Say that what is missing is zero, if it is.",
        f"result = {wide}.fill_null(0){long}",
        got=len(missing),
    )
