"""Lines over time or categories: as they are, and with a forecast that is told apart from what it follows."""

from dataclasses import replace

from engine.charts.axes import Ticks, again, ticks_of
from engine.charts.grid import Grid, Series
from engine.charts.line_marks import Marks
from engine.charts.picture import Picture, Sheet
from engine.charts.reading import grid_for
from engine.charts.refusing import bad_spec
from engine.charts.units import Unit
from engine.charts.words import course, forecast_course


def line(sheet: Sheet) -> Picture:
    """Draw a line for each series."""
    grid, unit = grid_for(sheet)
    ticks = ticks_of(grid.values, zero=False)
    width, height = sheet.size
    marks = Marks(sheet, grid, unit, ticks)
    return Picture(
        width=width,
        height=height,
        values=[point for series in grid.series for point in marks.points(series)],
        layer=[marks.line(), marks.dots(), *marks.names()],
        unit=unit,
        sentences=course(grid, unit),
        said=cut_words(ticks, unit),
    )


def forecast_line(sheet: Sheet) -> Picture:
    """Draw actuals, and the forecast from where it begins."""
    grid, unit = grid_for(sheet)
    grid = split(sheet, grid)
    begins = first_forecast(sheet, grid)
    ticks = ticks_of(grid.values, zero=False)
    width, height = sheet.size
    marks = Marks(sheet, grid, unit, ticks)
    values = [point for series in joined(grid, begins) for point in marks.points(series)]
    shade = {
        "data": {"values": [{"x": grid.xs[max(0, begins - 1)], "e": grid.xs[-1]}]},
        "mark": {"type": "rect", "color": sheet.theme.grid, "opacity": 0.55},
        "encoding": {"x": again(marks.x), "x2": {"field": "e"}},
    }
    said = {
        "data": {"values": [{"x": grid.xs[max(0, begins - 1)], "t": f"Forecast from {grid.words(begins)}"}]},
        "mark": {"type": "text", "align": "left", "baseline": "bottom", "y": -4, "color": sheet.theme.quiet},
        "encoding": {"x": again(marks.x), "text": {"field": "t"}},
    }
    return Picture(
        width=width,
        height=height,
        values=values,
        layer=[shade, marks.line(), marks.dots(), said, *marks.names()],
        unit=unit,
        sentences=forecast_course(grid, unit, begins),
        said=cut_words(ticks, unit),
    )


def cut_words(ticks: Ticks, unit: Unit) -> tuple[str, ...]:
    """Return what must be said of an axis that does not reach zero."""
    if ticks.first <= 0 <= ticks.last:
        return ()
    return (f"axis from {unit.text(ticks.first)}" if ticks.first > 0 else f"axis to {unit.text(ticks.last)}",)


def split(sheet: Sheet, grid: Grid) -> Grid:
    """Return a grid whose forecast is a series of its own, where the spec says from which x on."""
    first = sheet.spec.forecast_from
    if first is None:
        return grid
    if first not in grid.xs:
        said = f"There is no x '{first}' for the forecast to begin at."
        raise bad_spec(sheet.spec, "forecast_from", said, grid.xs[-1], grid.xs)
    if len(grid.series) > 1:
        said = "forecast_from splits one series. Of several, say in styles which is the forecast."
        raise bad_spec(sheet.spec, "forecast_from", said, None, [series.name for series in grid.series])
    at, whole = grid.xs.index(first), grid.series[0].values
    before = Series("Actuals", (*whole[:at], *[None] * (len(whole) - at)), "actual")
    after = Series("Forecast", (*[None] * at, *whole[at:]), "forecast")
    return replace(grid, series=(before, after))


def first_forecast(sheet: Sheet, grid: Grid) -> int:
    """Return where the forecast begins: after the last actual figure, if it reaches that far back."""
    forecasts = [series for series in grid.series if series.style == "forecast" and series.known]
    if not forecasts:
        said = "Nothing here is a forecast: say from which x on (forecast_from), or which series it is (styles)."
        if len(grid.series) == 1:
            raise bad_spec(sheet.spec, "forecast_from", said, grid.xs[-1], grid.xs)
        names = [series.name for series in grid.series]
        raise bad_spec(sheet.spec, "styles", said, {names[0]: "actual", names[-1]: "forecast"}, names)
    starts = min(at for series in forecasts for at, value in enumerate(series.values) if value is not None)
    actuals = [
        at
        for series in grid.series
        if series.style == "actual"
        for at, value in enumerate(series.values)
        if value is not None
    ]
    after = max(actuals, default=-1) + 1
    if sheet.spec.forecast_from is None and starts < after < len(grid.xs):
        return after
    return starts


def joined(grid: Grid, begins: int) -> list[Series]:
    """Return the series, the forecast beginning where the actuals end, so that one line runs through."""
    actual = next((series for series in grid.series if series.style == "actual"), None)
    before = None if actual is None or not begins else actual.values[begins - 1]
    return [
        replace(series, values=(*series.values[: begins - 1], before, *series.values[begins:]))
        if series.style == "forecast" and before is not None and not any(v is not None for v in series.values[:begins])
        else series
        for series in grid.series
    ]
