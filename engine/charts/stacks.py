"""Stacks: series on top of each other, whose heights are shares of a whole and so never negative."""

from collections.abc import Iterator

from engine.charts.grid import Grid
from engine.charts.refusing import bad_data, some


def stacked(grid: Grid) -> Iterator[list[tuple[float, float]]]:
    """Yield for each series where it begins and ends at each x; refused where a part is negative or missing."""
    refuse_parts(grid)
    below = [0.0] * len(grid.xs)
    for series in grid.series:
        above = [start + (value or 0.0) for start, value in zip(below, series.values, strict=True)]
        yield list(zip(below, above, strict=True))
        below = above


def refuse_parts(grid: Grid) -> None:
    """Refuse parts that no stack can show."""
    cells = [(series.name, at, value) for series in grid.series for at, value in enumerate(series.values)]
    negative = [f"{name}, {grid.xs[at]}" for name, at, value in cells if value is not None and value < 0]
    if negative:
        raise bad_data(
            f"A stack cannot show negative parts: {some(negative)}. Draw them side by side (bar without "
            "stack), as lines, or as a waterfall.",
            "result = df.filter(pl.col('value') >= 0)",
        )
    missing = [f"{name}, {grid.xs[at]}" for name, at, value in cells if value is None]
    if missing and len(grid.series) > 1:
        raise bad_data(
            f"A stack needs each part at each x; missing: {some(missing)}. Say what is missing is zero, if it is.",
            "result = df.pivot('series', index='period', values='value').fill_null(0)",
        )
