"""Bar charts: vertical or horizontal, grouped or stacked."""

from typing import Literal

from msgspec.structs import replace

from engine.present.charts.axes import again, figure_axis, name_axis, point_tooltip, text_width, ticks_of, zero_line
from engine.present.charts.grid import Grid, colours_of, course, grid_for, ranking, stacked
from engine.present.charts.picture import ChartInput, Picture, Unit, Vega, told_apart
from engine.present.charts.refusals import bad_spec

FILLED = 0.72  # share of a step that bars fill
BAND = {"type": "band", "paddingInner": 1 - FILLED, "paddingOuter": (1 - FILLED) / 2}
BETWEEN = 0.08  # free share between grouped bars
LEAST_STEP, WIDEST_STEP, NARROWEST = 12, 110, 260
STEP, BESIDE = 26, 16  # pixels of a horizontal bar, and of each further bar of its group
MOST_LABELS = 48


def bar(sheet: ChartInput) -> Picture:
    """Draw vertical bars."""
    grid, unit = grid_for(sheet)
    grid = ordered(sheet, grid)
    width, height = sheet.size
    steps = len(grid.xs)
    width = min(max(width, LEAST_STEP * steps), max(NARROWEST, WIDEST_STEP * steps))
    bars = Bars(sheet, grid, unit, upright=True, step=width / len(grid.xs))
    return bars.picture(width, height, name_axis(grid, width, BAND))


def horizontal_bar(sheet: ChartInput) -> Picture:
    """Draw horizontal bars, the first on top."""
    grid, unit = grid_for(sheet)
    grid = ordered(sheet, grid)
    step = STEP + BESIDE * (0 if sheet.spec.stack else len(grid.series) - 1)
    axis = {"title": None, "ticks": False, "domain": False, "labelLimit": 260, "labelColor": sheet.theme.ink}
    names = {"field": "x", "type": "ordinal", "scale": {"domain": list(grid.xs), **BAND}, "axis": axis}
    bars = Bars(sheet, grid, unit, upright=False, step=step)
    return bars.picture(sheet.size[0] * 0.75, step * len(grid.xs), names)


def refuse_favourable(sheet: ChartInput, grid: Grid) -> None:
    """Refuse favourable and adverse colours for several series, which have colours of their own."""
    if sheet.spec.favourable is not None and len(grid.series) > 1:
        said = f"favourable colours one series of variances; here are {len(grid.series)}: leave it out."
        raise bad_spec(sheet.spec, "favourable", said, None)


def ordered(sheet: ChartInput, grid: Grid) -> Grid:
    """Return a grid in the order requested, by the sum of its series; periods stay in time order."""
    if sheet.spec.sort == "given" or grid.grain is not None:
        return grid
    sums = [sum(series.values[at] or 0.0 for series in grid.series) for at in range(len(grid.xs))]
    order = sorted(range(len(grid.xs)), key=lambda at: sums[at], reverse=sheet.spec.sort == "descending")
    return replace(
        grid,
        xs=tuple(grid.xs[at] for at in order),
        series=tuple(replace(series, values=tuple(series.values[at] for at in order)) for series in grid.series),
    )


class Bars:
    """The marks of bars over one grid. In vertical bars names run along x and figures along y."""

    def __init__(self, sheet: ChartInput, grid: Grid, unit: Unit, *, upright: bool, step: float) -> None:
        self.sheet, self.grid, self.upright = sheet, grid, upright
        self.unit = told_apart(unit, grid.values)
        self.along: Literal["x", "y"] = "x" if upright else "y"
        self.high: Literal["x", "y"] = "y" if upright else "x"
        self.is_single = len(grid.series) == 1
        refuse_favourable(sheet, grid)
        self.bounds = stacked(sheet, grid) if sheet.spec.stack and not self.is_single else None
        beside = 1 if self.bounds or self.is_single else len(grid.series)
        self.thick = FILLED * step * (1 if beside == 1 else (1 - BETWEEN) / (beside - BETWEEN))
        self.is_labelled = self.bounds is None and self.labels_fit()
        ends = grid.values if self.bounds is None else [end for _, end in self.bounds[-1]]
        self.ticks = ticks_of(ends, zero=True, room=(0.08 if upright else 0.14) if self.is_labelled else 0)

    def labels_fit(self) -> bool:
        """Tell whether each bar has room for its label."""
        widest = max(text_width(self.unit.text(value)) for value in self.grid.values)
        room = self.thick + (8 if self.is_single else -1)
        return len(self.grid.values) <= MOST_LABELS and (not self.upright or widest <= room)

    def picture(self, width: float, height: float, names: Vega) -> Picture:
        """Return the picture with this axis of names."""
        names = {**names, "axis": {**names["axis"], "domain": False}}
        figures = figure_axis(self.ticks, self.unit, shown=not self.is_labelled)
        first = {self.along: names, self.high: figures, **self.offset()}
        if self.bounds is not None:
            first |= {self.high: {**figures, "field": "b"}, f"{self.high}2": {"field": "a"}}
        places = {self.along: again(names), self.high: again(figures), **self.offset()}
        return Picture(
            width=width,
            height=height,
            values=[self.point(at, x) for at in range(len(self.grid.series)) for x in range(len(self.grid.xs))],
            layer=[
                self.bars(first),
                *self.hatches(places),
                zero_line(self.high, figures, self.sheet.theme),
                *self.figures(places),
            ],
            unit=self.unit,
            sentences=course(self.grid, self.unit) if self.grid.grain else ranking(self.grid, self.unit),
        )

    def point(self, at: int, x: int) -> Vega:
        """Return one point: `a` and `b` are its bounds in a stack, `t` its text, `g` whether it is favourable."""
        series = self.grid.series[at]
        value = series.values[x]
        point: Vega = {"x": self.grid.xs[x], "s": series.name, "y": value}
        if self.bounds is not None:
            point["a"], point["b"] = self.bounds[at][x]
        if self.is_labelled and value is not None:
            point["t"] = self.unit.text(value)
        if self.is_coloured and value is not None:
            point["g"] = "good" if (value >= 0) == (self.sheet.spec.favourable == "up") else "bad"
        return point

    @property
    def is_coloured(self) -> bool:
        """Tell whether favourable and adverse bars differ in colour."""
        return self.sheet.spec.favourable is not None

    def offset(self) -> Vega:
        """Return the encoding that groups series side by side."""
        if self.is_single or self.bounds is not None:
            return {}
        scale = {"domain": self.names, "paddingInner": BETWEEN, "paddingOuter": 0}
        return {f"{self.along}Offset": {"field": "s", "scale": scale}}

    @property
    def names(self) -> list[str]:
        """The series."""
        return [series.name for series in self.grid.series]

    def bars(self, places: Vega) -> Vega:
        """Return the bars; plan bars are outlined."""
        return {
            "mark": {"type": "bar", "strokeWidth": 1.25},
            "encoding": {**places, **self.colours(), "tooltip": point_tooltip(self.sheet, self.unit)},
        }

    def colours(self) -> Vega:
        """Return the fill and outline of the series."""
        if self.is_coloured:
            theme = self.sheet.theme
            scale = {"domain": ["good", "bad"], "range": [theme.good, theme.bad]}
            return {"fill": {"field": "g", "type": "nominal", "scale": scale, "legend": None}}
        legend: Vega = {"legend": None} if self.is_single else {}
        paper = self.sheet.theme.background
        styles = [series.style or "" for series in self.grid.series]
        fills = {"plan": paper, "forecast": self.sheet.theme.tint}
        lines = colours_of(self.sheet, self.grid)
        looks = [
            ("fill", [fills.get(style, line) for style, line in zip(styles, lines, strict=True)]),
            ("stroke", [paper] * len(lines) if self.bounds else lines),
        ]
        return {
            channel: {"field": "s", "type": "nominal", "scale": {"domain": self.names, "range": ranged}, **legend}
            for channel, ranged in looks
        }

    def hatches(self, places: Vega) -> list[Vega]:
        """Return the hatching of forecasts: a dashed rule as thick as the bar."""
        forecasts = [series.name for series in self.grid.series if series.style == "forecast"]
        if not forecasts or self.bounds is not None:
            return []
        return [
            {
                "transform": [{"filter": {"field": "s", "oneOf": forecasts}}],
                "mark": {
                    "type": "rule",
                    "strokeWidth": round(self.thick, 2),
                    "strokeDash": [1.25, 3],
                    "color": self.sheet.theme.forecast,
                },
                "encoding": {**places, f"{self.high}2": {"datum": 0}},
            }
        ]

    def figures(self, places: Vega) -> list[Vega]:
        """Return the label at the end of each bar."""
        if not self.is_labelled:
            return []
        side = (
            {"baseline": {"expr": "datum.y < 0 ? 'top' : 'bottom'"}, "dy": {"expr": "datum.y < 0 ? 4 : -4"}}
            if self.upright
            else {
                "align": {"expr": "datum.y < 0 ? 'right' : 'left'"},
                "baseline": "middle",
                "dx": {"expr": "datum.y < 0 ? -5 : 5"},
            }
        )
        return [{"mark": {"type": "text", **side}, "encoding": {**places, "text": {"field": "t"}}}]
