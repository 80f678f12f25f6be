"""Area charts: stacked series over time, each labelled at its end."""

from engine.present.charts.axes import again, apart, figure_axis, name_axis, point_tooltip, ticks_of
from engine.present.charts.grid import colours_of, course, grid_for, named, stacked
from engine.present.charts.picture import ChartInput, Picture


def area(sheet: ChartInput) -> Picture:
    """Draw an area for each series, the first at the bottom."""
    grid, unit = grid_for(sheet)
    bounds = stacked(sheet, grid)
    ticks = ticks_of([end for _, end in bounds[-1]], zero=True)
    width, height = sheet.size
    x = name_axis(grid, width, {"type": "point", "padding": 0})
    y = figure_axis(ticks, unit)
    names = [series.name for series in grid.series]
    scale = {"domain": names, "range": colours_of(sheet, grid)}
    colour = {"field": "s", "type": "nominal", "scale": scale, "legend": None}
    middles = [ticks.pixel(sum(part[-1]) / 2, height) for part in bounds]
    middles = middles if len(bounds) > 1 else [ticks.pixel(bounds[0][-1][1], height)]
    ends = [
        {
            "x": grid.xs[-1],
            "s": series.name,
            "b": ticks.value(pixel, height),
            "t": named(grid, series.name, unit.text(value)),
        }
        for series, pixel in zip(grid.series, apart(middles, height), strict=True)
        for value in series.known[-1:]
    ]
    return Picture(
        width=width,
        height=height,
        values=[
            {"x": x_value, "s": series.name, "y": value, "a": start, "b": end}
            for series, part in zip(grid.series, bounds, strict=True)
            for x_value, value, (start, end) in zip(grid.xs, series.values, part, strict=True)
        ],
        layer=[
            {
                "mark": {"type": "area", "opacity": 0.9, "line": {"color": sheet.theme.background, "strokeWidth": 1}},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "b"},
                    "y2": {"field": "a"},
                    "color": colour,
                    "tooltip": point_tooltip(sheet, unit),
                },
            },
            {
                "data": {"values": ends},
                "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 9, "fontSize": 12, "limit": 220},
                "encoding": {"x": again(x), "y": again(y, "b"), "color": colour, "text": {"field": "t"}},
            },
        ],
        unit=unit,
        sentences=course(grid, unit),
    )
