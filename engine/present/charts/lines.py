"""Line charts over time or categories, with or without a forecast."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from engine.present.charts.axes import Ticks, again, apart, figure_axis, name_axis, point_tooltip, ticks_of
from engine.present.charts.grid import Grid, Series, colours_of, course, forecast_course, grid_for, named
from engine.present.charts.picture import ChartInput, Picture, Unit, Vega
from engine.present.charts.refusals import bad_spec

# Marks of lines over one grid: strokes, points and end labels.


DASHES = {"plan": [2, 3], "forecast": [6, 4]}
WIDTHS = {"actual": 2.75, "prior_year": 2.25, "plan": 1.75, "forecast": 2.25}
RIGHT: Vega = {"align": "left", "baseline": "middle", "dx": 9}
ABOVE: Vega = {"align": "left", "baseline": "bottom", "dx": 6, "dy": -5}
BELOW: Vega = {"align": "left", "baseline": "top", "dx": 6, "dy": 5}
ROOM = 24  # pixels of a label above a point
MANY = 40  # number of points above which dots are hidden


class End(Struct, frozen=True):
    """The end of a line."""

    name: str
    at: int
    value: float
    ink: str
    side: Vega  # position of its label if other lines continue


class Marks:
    """The marks of lines over one grid."""

    def __init__(self, sheet: ChartInput, grid: Grid, unit: Unit, ticks: Ticks) -> None:
        self.sheet, self.grid, self.unit, self.ticks = sheet, grid, unit, ticks
        self.beside = RIGHT  # position of the labels of lines that reach the end
        self.x = name_axis(grid, sheet.size[0], {"type": "point", "padding": 0.25})
        self.y = figure_axis(ticks, unit)

    def points(self, series: Series) -> list[Vega]:
        """Return the points of a series; `p` marks an isolated one."""
        own = next(one for one in self.grid.series if one.name == series.name)
        few = len(self.grid.xs) <= MANY
        return [
            {"x": x, "s": series.name, "y": value}
            | ({"p": 1} if own.values[at] is not None and (few or alone(series.values, at)) else {})
            for at, (x, value) in enumerate(zip(self.grid.xs, series.values, strict=True))
        ]

    def line(self) -> Vega:
        """Return the line marks; gaps stay gaps."""
        drawn = self.grid.series
        return {
            "mark": {"type": "line", "strokeCap": "round", "strokeJoin": "round"},
            "encoding": {
                "x": self.x,
                "y": self.y,
                "color": self.colours(),
                "strokeWidth": self.by_series([WIDTHS.get(one.style or "actual", 2.5) for one in drawn]),
                "strokeDash": self.by_series([DASHES.get(one.style or "", [1, 0]) for one in drawn]),
            },
        }

    def dots(self) -> Vega:
        """Return the point marks; plan points are hollow."""
        paper = self.sheet.theme.background
        hollow = [
            paper if one.style in ("plan", "forecast") else colour
            for one, colour in zip(self.grid.series, colours_of(self.sheet, self.grid), strict=True)
        ]
        return {
            "mark": {"type": "point", "size": 30, "strokeWidth": 1.75, "opacity": {"expr": "datum.p ? 1 : 0"}},
            "encoding": {
                "x": again(self.x),
                "y": again(self.y),
                "stroke": self.colours(),
                "fill": self.by_series(hollow),
                "tooltip": point_tooltip(self.sheet, self.unit),
            },
        }

    def names(self) -> list[Vega]:
        """Return end labels with the name and last figure of each series, without overlap.

        A line that ends early has its label beside its end, if other lines leave room.
        """
        ends = [
            End(series.name, at, series.values[at] or 0.0, ink, BELOW if self.goes_up(series, at) else ABOVE)
            for series, ink in zip(self.grid.series, self.inks(), strict=True)
            for at in last_of(series)
        ]
        height = self.sheet.size[1]
        final = [end for end in ends if end.at + 1 == len(self.grid.xs)]
        beside = apart([self.ticks.pixel(end.value, height) for end in final], height)
        return [
            self.texts(
                [self.end(end, self.ticks.value(pixel, height)) for end, pixel in zip(final, beside, strict=True)],
                self.beside,
            ),
            *(self.texts([self.end(end, end.value)], end.side) for end in ends if end not in final),
        ]

    def goes_up(self, series: Series, at: int) -> bool:
        """Tell whether most other lines continue above an end, or the top of the plot is near."""
        here = series.values[at] or 0.0
        after = [value for other in self.grid.series for value in other.values[at + 1 : at + 2] if value is not None]
        is_high = self.ticks.pixel(here, self.sheet.size[1]) < ROOM
        return is_high or 2 * sum(value >= here for value in after) > len(after)

    def end(self, end: "End", height: float) -> Vega:
        """Return the label at the end of a line."""
        said = named(self.grid, end.name, self.unit.text(end.value))
        return {"x": self.grid.xs[end.at], "y": height, "t": said, "c": end.ink}

    def texts(self, rows: list[Vega], side: Vega) -> Vega:
        """Return texts beside points, in the colours of their series."""
        colour = {"field": "c", "type": "nominal", "scale": None}
        return {
            "data": {"values": rows},
            "mark": {"type": "text", "fontSize": 12, "limit": 220, **side},
            "encoding": {"x": again(self.x), "y": again(self.y), "color": colour, "text": {"field": "t"}},
        }

    def colours(self) -> Vega:
        """Return the colour encoding of series."""
        return self.by_series(colours_of(self.sheet, self.grid))

    def inks(self) -> list[str]:
        """Return label colours that are dark enough to read."""
        theme, colours = self.sheet.theme, colours_of(self.sheet, self.grid)
        return [theme.quiet if colour == theme.prior_year else colour for colour in colours]

    def by_series(self, values: Sequence[object]) -> Vega:
        """Return an encoding by series without a legend, because labels name the lines."""
        if len(values) == 1:
            return {"value": values[0]}
        domain = [series.name for series in self.grid.series]
        return {"field": "s", "type": "nominal", "scale": {"domain": domain, "range": list(values)}, "legend": None}


def last_of(series: Series) -> list[int]:
    """Return the position of a line's last figure, in a list; an empty list for an empty line."""
    return [at for at, value in enumerate(series.values) if value is not None][-1:]


def alone(values: Sequence[float | None], at: int) -> bool:
    """Tell whether a figure has no neighbour before or after it."""
    return (at == 0 or values[at - 1] is None) and (at + 1 == len(values) or values[at + 1] is None)


# Line charts and forecast charts.


def line(sheet: ChartInput) -> Picture:
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


def forecast_line(sheet: ChartInput) -> Picture:
    """Draw actuals, and the forecast from its first period on."""
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
    """Return the subtitle note for an axis that does not start at zero."""
    if ticks.first <= 0 <= ticks.last:
        return ()
    return (f"axis from {unit.text(ticks.first)}" if ticks.first > 0 else f"axis to {unit.text(ticks.last)}",)


def split(sheet: ChartInput, grid: Grid) -> Grid:
    """Return a grid with the forecast as a series of its own, split where the spec says."""
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


def first_forecast(sheet: ChartInput, grid: Grid) -> int:
    """Return where the forecast begins: at its first figure, or after the last actual figure if the two overlap."""
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
    """Return the series with each forecast joined to the last actual figure."""
    actual = next((series for series in grid.series if series.style == "actual"), None)
    before = None if actual is None or not begins else actual.values[begins - 1]
    return [
        replace(series, values=(*series.values[: begins - 1], before, *series.values[begins:]))
        if series.style == "forecast" and before is not None and not any(v is not None for v in series.values[:begins])
        else series
        for series in grid.series
    ]
