"""Marks of lines: strokes, points and names at their ends, over one grid."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.charts.axes import Ticks, again, apart, figure_axis, name_axis, point_tooltip
from engine.charts.grid import Grid, Series
from engine.charts.picture import Sheet, Vega
from engine.charts.reading import colours_of
from engine.charts.units import Unit
from engine.charts.words import named

DASHES = {"plan": [2, 3], "forecast": [6, 4]}
WIDTHS = {"actual": 2.75, "prior_year": 2.25, "plan": 1.75, "forecast": 2.25}
RIGHT: Vega = {"align": "left", "baseline": "middle", "dx": 9}
ABOVE: Vega = {"align": "left", "baseline": "bottom", "dx": 6, "dy": -5}
BELOW: Vega = {"align": "left", "baseline": "top", "dx": 6, "dy": 5}
ROOM = 24  # pixels that a name above a point takes
MANY = 40  # points from which on only the line shows


@dataclass(frozen=True, slots=True)
class End:
    """The end of a line."""

    name: str
    at: int
    value: float
    ink: str
    side: Vega  # where its name stands if other lines go on


class Marks:
    """The marks of lines over one grid."""

    def __init__(self, sheet: Sheet, grid: Grid, unit: Unit, ticks: Ticks) -> None:
        self.sheet, self.grid, self.unit, self.ticks = sheet, grid, unit, ticks
        self.x = name_axis(grid, sheet.size[0], {"type": "point", "padding": 0.25})
        self.y = figure_axis(ticks, unit)

    def points(self, series: Series) -> list[Vega]:
        """Return the points of a series; `p` where one shows by itself."""
        own = next(one for one in self.grid.series if one.name == series.name)
        few = len(self.grid.xs) <= MANY
        return [
            {"x": x, "s": series.name, "y": value}
            | ({"p": 1} if own.values[at] is not None and (few or alone(series.values, at)) else {})
            for at, (x, value) in enumerate(zip(self.grid.xs, series.values, strict=True))
        ]

    def line(self) -> Vega:
        """Return the lines; a gap stays a gap."""
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
        """Return the points; those of a plan are hollow."""
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
        """Return the name and last figure of each series at the end of its line, apart from each other.

        A line that ends before the others has its name beside its end, where the others leave room.
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
                RIGHT,
            ),
            *(self.texts([self.end(end, end.value)], end.side) for end in ends if end not in final),
        ]

    def goes_up(self, series: Series, at: int) -> bool:
        """Tell whether what goes on after the end of a line lies above it, or the plot ends there."""
        here = series.values[at] or 0.0
        after = [value for other in self.grid.series for value in other.values[at + 1 : at + 2] if value is not None]
        is_high = self.ticks.pixel(here, self.sheet.size[1]) < ROOM
        return is_high or 2 * sum(value >= here for value in after) > len(after)

    def end(self, end: "End", height: float) -> Vega:
        """Return what stands at the end of a line."""
        said = named(self.grid, end.name, self.unit.text(end.value))
        return {"x": self.grid.xs[end.at], "y": height, "t": said, "c": end.ink}

    def texts(self, rows: list[Vega], side: Vega) -> Vega:
        """Return texts beside points, each in its own colour."""
        colour = {"field": "c", "type": "nominal", "scale": None}
        return {
            "data": {"values": rows},
            "mark": {"type": "text", "fontSize": 12, "limit": 220, **side},
            "encoding": {"x": again(self.x), "y": again(self.y), "color": colour, "text": {"field": "t"}},
        }

    def colours(self) -> Vega:
        """Return the colours of the series."""
        return self.by_series(colours_of(self.sheet, self.grid))

    def inks(self) -> list[str]:
        """Return the colours of their names, dark enough to be read."""
        theme, colours = self.sheet.theme, colours_of(self.sheet, self.grid)
        return [theme.quiet if colour == theme.prior_year else colour for colour in colours]

    def by_series(self, values: Sequence[object]) -> Vega:
        """Return an encoding of series; named at their lines, they need no legend."""
        if len(values) == 1:
            return {"value": values[0]}
        domain = [series.name for series in self.grid.series]
        return {"field": "s", "type": "nominal", "scale": {"domain": domain, "range": list(values)}, "legend": None}


def last_of(series: Series) -> list[int]:
    """Return where a line ends; nothing of an empty one."""
    return [at for at, value in enumerate(series.values) if value is not None][-1:]


def alone(values: Sequence[float | None], at: int) -> bool:
    """Tell whether a figure has none before it and none after it."""
    return (at == 0 or values[at - 1] is None) and (at + 1 == len(values) or values[at + 1] is None)
