"""Axes: round ticks, labels that do not collide, and the encodings that all charts share."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil, floor, log10
from typing import Literal

from msgspec import Struct

from engine.present.charts.columns import printable
from engine.present.charts.grid import Grid
from engine.present.charts.periods import labels_of
from engine.present.charts.picture import HUNDREDFOLD, ChartInput, Theme, Unit, Vega, title_words

WIDE = "mwMW@%—ABCDEFGHKNOPQRSUVXYZ&"
NARROW = "iljtfrI.,:;|!()[]' "
GAP = 14  # pixels between the lines of labels
NARROW_STEP = 18  # pixels between labels; closer labels are vertical instead of slanted
LEVEL = {"labelAngle": 0, "labelAlign": "center", "labelBaseline": "top"}
UPRIGHT = {
    "labelAngle": -90,
    "labelAlign": "right",
    "labelBaseline": "middle",
    "labelLimit": 130,
    "labelOverlap": False,
}
SLANTED = {**UPRIGHT, "labelAngle": -40}
MOST_TICKS = 6
SAME = 1e-9  # relative difference below which figures are equal on an axis


class Ticks(Struct, frozen=True):
    """A domain with round ticks."""

    first: float
    last: float
    step: float

    @property
    def values(self) -> list[float]:
        """The ticks inside the domain."""
        start = ceil(self.first / self.step - 1e-9)
        return [clean(at * self.step) for at in range(start, floor(self.last / self.step + 1e-9) + 1)]

    def pixel(self, value: float, height: float) -> float:
        """Return the distance of a value from the top, in pixels."""
        return (self.last - value) / (self.last - self.first) * height

    def value(self, pixel: float, height: float) -> float:
        """Return the value at a distance from the top."""
        return self.last - pixel / height * (self.last - self.first)


def ticks_of(values: Iterable[float], *, zero: bool, room: float = 0.0) -> Ticks:
    """Return an axis domain for all values. It starts at zero, or at a round figure if zero flattens the values.

    `room` is the share left free beyond the largest value and a negative smallest one, for labels.
    """
    figures = list(values)
    low, high = min(figures, default=0.0), max(figures, default=0.0)
    if zero or 0 <= low <= 0.6 * high or 0.6 * low <= high <= 0:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= SAME * max(high, -low):
        low, high = (min(0.0, 2 * low), max(0.0, 2 * high)) if high else (0.0, 1.0)
    step = round_step((high - low) / MOST_TICKS)
    if room:
        free = room * (high - low)
        return Ticks(low - free if low < 0 else low, high + free if high > 0 else high, step)
    return Ticks(clean(floor(low / step + 1e-9) * step), clean(ceil(high / step - 1e-9) * step), step)


def round_step(least: float) -> float:
    """Return the smallest round step that is at least `least`: 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(least))
    return next(clean(factor * power) for factor in (1, 2, 2.5, 5, 10) if factor * power >= least * (1 - 1e-9))


def clean(value: float) -> float:
    """Return a value without floating-point noise."""
    return float(f"{value:.12g}")


def text_width(text: str, size: float = 11) -> float:
    """Return the approximate width of a text, in pixels."""
    return size * sum(0.78 if sign in WIDE else 0.31 if sign in NARROW else 0.56 for sign in text)


def figure_axis(ticks: Ticks, unit: Unit, *, shown: bool = True, field: str = "y") -> Vega:
    """Return the encoding of figures: few thin grid lines, and a stronger zero line."""
    axis: Vega | None = {
        "title": None,
        "values": ticks.values,
        "labelExpr": unit.ticks(ticks.step),
        "domain": False,
        "ticks": False,
    }
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [ticks.first, ticks.last], "nice": False, "zero": False},
        "axis": axis if shown else None,
    }


def name_axis(grid: Grid, width: float, scale: Vega) -> Vega:
    """Return the encoding of periods or names along x, with labels that fit."""
    return {
        "field": "x",
        "type": "ordinal",
        "scale": {"domain": list(grid.xs), **scale},
        "axis": across(grid, width),
    }


def again(channel: Vega, field: str | None = None) -> Vega:
    """Return an encoding for a further layer, which shares scale and axis with the first."""
    return {"field": field or channel["field"], "type": channel["type"]}


def across(grid: Grid, width: float) -> Vega:
    """Return the axis of periods or names. Periods get fewer labels; names are wrapped, else slanted."""
    axis: Vega = {"title": None, "ticks": False, "grid": False, **LEVEL}
    if grid.grain is not None:
        labels = labels_of(grid.xs, grid.grain, max(2, int(width // 44)))
        return {**axis, "values": list(labels), "labelExpr": f"({json.dumps(labels)})[datum.value]"}
    fits = width / len(grid.xs) / 6.2
    longest = max(len(word) for x in grid.xs for word in x.split() or [x])
    if longest <= fits and max(lines_of(x, int(fits)) for x in grid.xs) <= 3:
        return {**axis, "labelExpr": wrapped(int(fits)), "labelLimit": 400}
    return {**axis, **(SLANTED if width / len(grid.xs) > NARROW_STEP else UPRIGHT)}


def broken(text: str, size: float, width: float) -> list[str]:
    """Return a text wrapped to `width` pixels; a longer word keeps its line."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def lines_of(text: str, most: int) -> int:
    """Return the number of lines of a text wrapped at `most` characters."""
    lines, left = 1, most
    for word in text.split():
        if len(word) > left and left < most:
            lines, left = lines + 1, most
        left -= len(word) + 1
    return lines


def wrapped(most: int) -> str:
    """Return the Vega expression that wraps a label at `most` characters; it contains no user text."""
    broken = f"replace(datum.label, regexp('(.{{1,{most}}})( +|$)', 'g'), '$1\\n')"
    return f"split(replace({broken}, regexp('\\\\n$'), ''), '\\n')"


def apart(pixels: Sequence[float], height: float, gap: float = GAP) -> list[float]:
    """Return label positions at least `gap` apart, in order and as near as possible to the originals."""
    order = sorted(range(len(pixels)), key=lambda at: pixels[at])
    placed = list(pixels)
    for before, at in pairwise(order):
        placed[at] = max(placed[at], placed[before] + gap)
    floor_at = max(height, gap * (len(pixels) - 1))
    for at in reversed(order):
        placed[at] = min(placed[at], floor_at)
        floor_at = placed[at] - gap
    return placed


def tooltip(**titles: tuple[str, str | None]) -> list[Vega]:
    """Return the tooltip encoding: a title and a number format by field."""
    return [
        {"field": name, "type": "nominal", "title": quotable(title)}
        if shape is None
        else {"field": name, "type": "quantitative", "title": quotable(title), "format": shape}
        for name, (title, shape) in titles.items()
    ]


def quotable(text: str) -> str:
    """Return a title as Vega-Lite writes it between quotes into an expression, where it escapes quotes alone."""
    return printable(text).replace("\\", "\\\\")


def point_tooltip(sheet: ChartInput, unit: Unit) -> list[Vega]:
    """Return the tooltip of a grid point: x, series and figure."""
    return tooltip(
        x=(title_words(sheet.columns.x), None), s=("Series", None), y=(unit.name or "Value", exact_format(unit))
    )


def zero_line(channel: Literal["x", "y"], figures: Vega, theme: Theme) -> Vega:
    """Return the zero line of bars."""
    return {
        "data": {"values": [{"z": 0}]},
        "mark": {"type": "rule", "color": theme.line},
        "encoding": {channel: again(figures, "z")},
    }


def exact_format(unit: Unit) -> str:
    """Return the tooltip format of a figure: all digits, in the unit of the rows."""
    return ",.2~%" if unit.name in HUNDREDFOLD else ",.4~f"
