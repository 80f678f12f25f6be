"""Reading of a sheet: its grid within the bounds of its kind, and the unit that its figures are shown in."""

from collections.abc import Iterable

from engine.charts.grid import Grid, grid_of
from engine.charts.picture import Sheet
from engine.charts.units import Unit, unit_of


def grid_for(sheet: Sheet) -> tuple[Grid, Unit]:
    """Return the grid of a sheet and the unit of its figures."""
    grid = grid_of(sheet)
    return grid, unit_for(sheet, grid.values)


def colours_of(sheet: Sheet, grid: Grid) -> list[str]:
    """Return a colour for each series: of its scenario, else the next of the palette; one alone is actual."""
    palette = sheet.theme.palette
    if len(grid.series) == 1 and grid.series[0].style is None:
        return [sheet.theme.actual]
    return [
        sheet.colour(series.style) if series.style else palette[at % len(palette)]
        for at, series in enumerate(grid.series)
    ]


def unit_for(sheet: Sheet, values: Iterable[float]) -> Unit:
    """Return the unit of y: as the spec says, else as the data came, where all its columns have one."""
    came = {sheet.units.get(name) for name in sheet.columns.y}
    return unit_of(sheet.spec.unit or (came.pop() if len(came) == 1 else None), values)
