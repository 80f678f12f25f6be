"""Cohort heatmaps: a row for each cohort, a column for each age, a figure in each cell."""

from msgspec import Struct

from engine.present.charts.axes import again, exact_format, text_width, tooltip
from engine.present.charts.grid import Grid, grid_for, in_words
from engine.present.charts.picture import (
    ChartInput,
    Picture,
    Theme,
    Unit,
    Vega,
    contrast,
    mixed,
    title_words,
    told_apart,
)

ROW, WIDEST = 26, 64  # pixels of a cell
MARGIN = 12  # pixels beside the text of a cell
ON_TOP = {"labelAngle": 0, "labelAlign": "center", "labelBaseline": "bottom"}


def cohort_heatmap(sheet: ChartInput) -> Picture:
    """Draw a cell for each figure; a missing figure leaves it empty."""
    grid, unit = grid_for(sheet)
    shades = Shades.of(grid.values, sheet.theme)
    least = max(text_width(unit.text(value)) for value in grid.values) + MARGIN
    plain = {"title": None, "ticks": False, "domain": False}
    x: Vega = {
        "field": "x",
        "type": "ordinal",
        "scale": {"type": "band", "padding": 0.03, "domain": list(grid.xs)},
        "axis": {**plain, "orient": "top", "title": title_words(sheet.columns.x), "titleAnchor": "start", **ON_TOP},
    }
    y: Vega = {
        "field": "s",
        "type": "ordinal",
        "scale": {"type": "band", "padding": 0.05, "domain": [series.name for series in grid.series]},
        "axis": {**plain, "labelColor": sheet.theme.ink, "labelLimit": 220},
    }
    told = tooltip(
        s=(title_words(sheet.columns.series or "series"), None),
        x=(title_words(sheet.columns.x), None),
        y=(unit.name or "Value", exact_format(unit)),
    )
    inks = {"domain": [0, 1], "range": [sheet.theme.ink, sheet.theme.background]}
    return Picture(
        width=max(least, min(WIDEST, sheet.size[0] / len(grid.xs))) * len(grid.xs),
        height=ROW * len(grid.series),
        values=[
            {"x": at, "s": series.name, "y": value}
            | ({} if value is None else {"t": unit.text(value), "c": shades.ink(value)})
            for series in grid.series
            for at, value in zip(grid.xs, series.values, strict=True)
        ],
        layer=[
            {
                "mark": "rect",
                "transform": [{"filter": "isValid(datum.y)"}],
                "encoding": {"x": x, "y": y, "color": shades.encoding(), "tooltip": told},
            },
            {
                "mark": {"type": "text", "baseline": "middle"},
                "transform": [{"filter": "isValid(datum.y)"}],
                "encoding": {
                    "x": again(x),
                    "y": again(y),
                    "text": {"field": "t"},
                    "color": {"field": "c", "type": "nominal", "scale": inks, "legend": None},
                },
            },
        ],
        unit=unit,
        sentences=extremes(grid, unit),
    )


class Shades(Struct, frozen=True):
    """The colour scale of figures: pale to strong, or diverging around zero if some are negative."""

    domain: tuple[float, ...]
    colours: tuple[str, ...]
    theme: Theme

    @classmethod
    def of(cls, values: list[float], theme: Theme) -> "Shades":
        """Return the colour scale of some figures."""
        low, high = min(values), max(values)
        if low < 0:
            reach = max(-low, high)
            return cls((-reach, 0.0, reach), (theme.bad, theme.background, theme.good), theme)
        return cls((low, high if low < high else low + 1), (theme.least, theme.most), theme)

    def encoding(self) -> Vega:
        """Return the colour encoding of cells."""
        scale = {"domain": list(self.domain), "range": list(self.colours), "interpolate": "rgb"}
        return {"field": "y", "type": "quantitative", "scale": scale, "legend": None}

    def ink(self, value: float) -> int:
        """Return the text colour that is easier to read on a figure's cell: 0 for ink, 1 for paper."""
        at = 1 if len(self.domain) == 3 and value > 0 else 0
        start, end = self.domain[at], self.domain[at + 1]
        cell = mixed(self.colours[at], self.colours[at + 1], (value - start) / (end - start))
        return int(contrast(self.theme.background, cell) > contrast(self.theme.ink, cell))


def extremes(grid: Grid, unit: Unit) -> tuple[str, ...]:
    """Name the size of the map, and its highest and lowest figure."""
    cells = [
        (value, f"{series.name} at {x}")
        for series in grid.series
        for x, value in zip(grid.xs, series.values, strict=True)
        if value is not None
    ]
    (high, at_high), (low, at_low) = max(cells), min(cells)
    unit = told_apart(unit, (high, low))
    return (
        f"{len(grid.series)} cohorts by {len(grid.xs)} columns, {len(cells)} figures.",
        f"Highest {unit.text(high)}{in_words(unit)} ({at_high}), lowest {unit.text(low)} ({at_low}).",
    )
