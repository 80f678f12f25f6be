"""Bars and lines over one time axis: the lines have an axis of their own where their unit is another."""

from collections.abc import Sequence
from dataclasses import replace as respecified

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.present.charts.axes import Ticks, again, figure_axis, name_axis, text_width, ticks_of
from engine.present.charts.bars import BAND, Bars
from engine.present.charts.columns import names_of
from engine.present.charts.grid import Grid, course, grid_of, unit_for
from engine.present.charts.lines import RIGHT, End, Marks
from engine.present.charts.picture import ChartInput, Picture, Unit, Vega
from engine.present.charts.refusals import bad_spec, no_data, some

LABEL_GAP = 16  # pixels between the axis of lines and their labels, without the widest figure of the axis


class ChartPart(Struct, frozen=True):
    """The bars or the lines of a chart: their series, and the unit of these."""

    grid: Grid
    unit: Unit

    @property
    def words(self) -> str:
        """Its series and unit, for the subtitle."""
        names = ", ".join(series.name for series in self.grid.series)
        return f"{names} in {self.unit.words}" if self.unit.words else names

    @property
    def sentences(self) -> Sequence[str]:
        """Its series in words, each by its name."""
        said = course(self.grid, self.unit)
        return said if len(self.grid.series) > 1 else [f"{self.grid.series[0].name}: {said[0]}"]


class LinesOverBars(Marks):
    """Lines over bars: in the middle of their bands, and in the colours that follow those of the bars."""

    def __init__(self, sheet: ChartInput, part: ChartPart, ticks: Ticks, names: Vega, bars: int) -> None:
        super().__init__(sheet, part.grid, part.unit, ticks)
        self.x, self.bars = again(names), bars

    def end(self, end: End, height: float) -> Vega:
        """Return the label at the end of a line: always with its name, as bars have others."""
        said = f"{end.name[:30]} {self.unit.text(end.value)}"
        return {"x": self.grid.xs[end.at], "y": height, "t": said, "c": end.ink}

    def on_the_right(self) -> None:
        """Give the lines an axis of their own, and put their labels to the right of it."""
        axis = figure_axis(self.ticks, self.unit)
        self.y = {**axis, "axis": {**axis["axis"], "orient": "right", "grid": False}}
        widest = max(text_width(self.unit.text(tick)) for tick in self.ticks.values)
        half = self.sheet.size[0] / len(self.grid.xs) / 2  # of a band, in the middle of which a line ends
        self.beside = {**RIGHT, "dx": round(half + widest) + LABEL_GAP}

    def palette(self) -> list[str]:
        """Return a colour for each line that no bar has."""
        colours = self.sheet.theme.palette
        styles = [series.style for series in self.grid.series]
        return [
            self.sheet.colour(style) if style else colours[(self.bars + at) % len(colours)]
            for at, style in enumerate(styles)
        ]

    def colours(self) -> Vega:
        """Return the colour encoding of the lines."""
        return self.by_series(self.palette())

    def inks(self) -> list[str]:
        """Return the label colours of the lines."""
        return self.palette()

    def shown(self) -> list[Vega]:
        """Return the marks of the lines without a legend."""
        return [self.line(), self.dots(), *self.names()]


def bars_and_lines(sheet: ChartInput) -> Picture:
    """Draw the series that the spec names as lines, and the others as bars."""
    grid = grid_of(sheet)
    refuse_combination(sheet, grid)
    bars, lines = parts_of(sheet, grid)
    width, height = sheet.size
    has_two_axes = bars.unit.name != lines.unit.name
    names = name_axis(grid, width, BAND)
    ticks = ticks_of(lines.grid.values if has_two_axes else grid.values, zero=not has_two_axes)
    columns = Bars(sheet, bars.grid, bars.unit, upright=True, step=width / len(grid.xs))
    columns.is_labelled = False
    columns.ticks = ticks_of(bars.grid.values, zero=True) if has_two_axes else ticks
    of_bars = columns.picture(width, height, names)
    marks = LinesOverBars(sheet, lines, ticks, names, len(bars.grid.series))
    if has_two_axes:
        marks.on_the_right()
    return Picture(
        width=width,
        height=height,
        values=[*of_bars.values, *(point for series in lines.grid.series for point in marks.points(series))],
        layer=[
            {
                "layer": [only(bars.grid, of_bars.layer), only(lines.grid, marks.shown())],
                **({"resolve": {"scale": {"y": "independent"}}} if has_two_axes else {}),
            }
        ],
        unit=bars.unit,
        units=units_said(sheet, bars, lines) if has_two_axes else {},
        sentences=(*bars.sentences, *lines.sentences),
        is_said=True,
        said=(f"bars: {bars.words}", f"line{'s' * (len(lines.grid.series) > 1)}: {lines.words}"),
    )


def only(grid: Grid, layer: list[Vega]) -> Vega:
    """Return a layer of the points of a part."""
    names = [series.name for series in grid.series]
    return {"transform": [{"filter": {"field": "s", "oneOf": names}}], "layer": layer}


def units_said(sheet: ChartInput, *parts: ChartPart) -> dict[str, str | None]:
    """Return the unit of each column of figures; one that holds figures of two has none."""
    if sheet.columns.series is not None:
        return dict.fromkeys(sheet.columns.y)
    return {series.name: part.unit.name for part in parts for series in part.grid.series}


def parts_of(sheet: ChartInput, grid: Grid) -> tuple[ChartPart, ChartPart]:
    """Return the bars and the lines of a grid. Raises ChartInvalid if the figures of one of both are in two units."""
    bars = [series.name for series in grid.series if series.name not in sheet.spec.lines]
    lines = [series.name for series in grid.series if series.name in sheet.spec.lines]
    known = [one_unit(sheet, names, what) for names, what in ((bars, "bars"), (lines, "lines"))]
    asked = (sheet.spec.unit, sheet.spec.unit if known[0] == known[1] else None)
    grids = [replace(grid, series=tuple(one for one in grid.series if one.name in names)) for names in (bars, lines)]
    for of, names in zip(grids, (bars, lines), strict=True):
        if not of.values:
            raise no_data(f"{some(names)} hold no figures, only nulls.", "result = df.drop_nulls()")
    each = [
        ChartPart(of, unit_for(of_unit(sheet, unit, said), of.values))
        for of, unit, said in zip(grids, known, asked, strict=True)
    ]
    return each[0], each[1]


def of_unit(sheet: ChartInput, unit: str | None, said: str | None) -> ChartInput:
    """Return a chart input whose figures are all in one unit, and whose spec asks for another or for none."""
    y = sheet.columns.y[:1]
    units = {name: unit for name in y if unit is not None}
    return replace(sheet, spec=respecified(sheet.spec, unit=said), columns=replace(sheet.columns, y=y), units=units)


def one_unit(sheet: ChartInput, names: Sequence[str], what: str) -> str | None:
    """Return the unit of some series, None if it is not known. Raises ChartInvalid for several."""
    units = sorted(series_units(sheet, names))
    if len(units) > 1:
        said = f"The {what} of one chart show one unit, and {some(names)} are in {some(units)}. Draw a chart for each."
        raise bad_spec(sheet.spec, "lines", said, ())
    return units[0] if units else None


def series_units(sheet: ChartInput, names: Sequence[str]) -> set[str]:
    """Return the known units of some series: of their columns, else those that the rows of a report say."""
    frame, series = sheet.frame, sheet.columns.series
    if series is None:
        return {unit for name in names if (unit := sheet.units.get(name))}
    if (unit := sheet.units.get(sheet.columns.y[0])) is not None or frame.schema.get("unit") != pl.String:
        return {unit} if unit else set()
    members = pl.Series(names_of(frame, series, "series"))
    return set(frame["unit"].filter(members.is_in(list(names))).drop_nulls().to_list())


def refuse_combination(sheet: ChartInput, grid: Grid) -> None:
    """Refuse lines over names, lines that are no series, lines without bars, and what belongs to bars alone."""
    spec, names = sheet.spec, [series.name for series in grid.series]
    unknown = [name for name in spec.lines if name not in names]
    alone = names[-1:] if len(names) > 1 else ()
    refusals = (
        (bool(unknown), "lines", f"There is no series {some(unknown)} to draw as a line.", tuple(alone)),
        (grid.grain is None, "lines", f"Bars and lines share an axis of time, and {sheet.columns.x} holds names.", ()),
        (set(names) <= set(spec.lines), "chart_type", "Every series is a line: draw a line chart.", "line"),
        (spec.stack, "stack", "Beside lines bars are not stacked: they stand side by side.", False),
        (spec.favourable is not None, "favourable", "Beside lines bars have the colours of their series.", None),
    )
    for applies, field, said, instead in refusals:
        if applies:
            raise bad_spec(spec, field, said, instead, names if field == "lines" else ())
