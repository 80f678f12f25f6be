"""Sparklines: a row for each member, with its line, its first and last figure, and its extremes."""

from collections.abc import Sequence

from engine.present.charts.axes import again, exact_format, text_width, tooltip
from engine.present.charts.grid import Grid, Series, change_words, grid_for, in_words, of_series
from engine.present.charts.picture import ChartInput, Picture, Unit, Vega, title_words, told_apart

ROW, INNER = 30, 18  # pixels of a row, and of the line in it
GAP = 22
HEAD = 20


def sparkline_row(sheet: ChartInput) -> Picture:
    """Draw a row for each member. Each line has its own scale, and figures beside it show its size."""
    grid, unit = grid_for(sheet)
    members = [series for series in grid.series if series.known]
    height = HEAD + ROW * len(members)
    name_width = max(text_width(series.name[:40], 12) for series in members) + GAP
    line_width = sheet.size[0] * 0.38
    rows = [figures_of(series, unit) for series in members]
    columns = columns_of(rows, name_width + line_width + GAP)
    width = columns[-1][1]
    x = place("x", width)
    y = {**place("y", height), "scale": {"domain": [height, 0], "nice": False, "zero": False}}
    values = [
        point for at, series in enumerate(members) for point in course_of(grid, series, at, name_width, line_width)
    ]
    theme = sheet.theme
    told = tooltip(
        s=(title_words(sheet.columns.series or "series"), None),
        p=(title_words(sheet.columns.x), None),
        v=(unit.name or "Value", exact_format(unit)),
    )
    texts: list[Vega] = [
        {"x": 0, "y": middle(at), "t": series.name[:40], "a": "left", "w": 1} for at, series in enumerate(members)
    ]
    texts += [
        {"x": right, "y": middle(at), "t": row[place_], "a": "right", "w": int(title == "Last")}
        for at, row in enumerate(rows)
        for place_, (title, right) in enumerate(columns)
    ]
    inks = {"Highest": theme.good, "Lowest": theme.bad}
    heads: list[Vega] = [
        {"x": right, "y": 6, "t": title, "a": "right", "c": inks.get(title, theme.quiet)} for title, right in columns
    ]
    span = f"{grid.words(0)} – {grid.words(len(grid.xs) - 1)}"
    heads.append({"x": name_width, "y": 6, "t": span, "a": "left", "c": theme.quiet})
    rules = [{"x": 0, "e": width, "y": HEAD + ROW * at} for at in range(len(members))]
    dots = {"domain": ["e", "h", "l"], "range": [theme.ink, theme.good, theme.bad]}
    aligned = {"expr": "datum.a"}
    return Picture(
        width=width,
        height=height,
        values=values,
        layer=[
            {
                "data": {"values": rules},
                "mark": {"type": "rule", "color": theme.grid},
                "encoding": {"x": x, "x2": {"field": "e"}, "y": y},
            },
            {
                "mark": {"type": "line", "color": theme.actual, "strokeWidth": 1.5, "strokeJoin": "round"},
                "encoding": {"x": again(x), "y": again(y), "detail": {"field": "r"}},
            },
            {
                "transform": [{"filter": "isValid(datum.m)"}],
                "mark": {"type": "point", "filled": True, "size": 30, "opacity": 1},
                "encoding": {
                    "x": again(x),
                    "y": again(y),
                    "color": {"field": "m", "type": "nominal", "scale": dots, "legend": None},
                    "tooltip": told,
                },
            },
            {
                "data": {"values": heads},
                "mark": {"type": "text", "align": aligned, "baseline": "middle"},
                "encoding": {
                    "x": again(x),
                    "y": again(y),
                    "text": {"field": "t"},
                    "color": {"field": "c", "type": "nominal", "scale": None},
                },
            },
            {
                "data": {"values": texts},
                "mark": {
                    "type": "text",
                    "align": aligned,
                    "baseline": "middle",
                    "fontSize": 12,
                    "fontWeight": {"expr": "datum.w ? 'bold' : 'normal'"},
                },
                "encoding": {"x": again(x), "y": again(y), "text": {"field": "t"}},
            },
        ],
        unit=unit,
        sentences=told_of(grid, members, unit),
    )


def place(field: str, last: float) -> Vega:
    """Return the encoding of plot pixels."""
    scale = {"domain": [0, last], "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": None}


def middle(row: int) -> float:
    """Return the middle of a row."""
    return HEAD + ROW * (row + 0.5)


def figures_of(series: Series, unit: Unit) -> tuple[str, ...]:
    """Return the figures beside a line: first, last, change, lowest, highest."""
    known = series.known
    change = change_words(known[0], known[-1], unit).split(", ")[-1]
    return unit.text(known[0]), unit.text(known[-1]), change, unit.text(min(known)), unit.text(max(known))


def columns_of(rows: Sequence[tuple[str, ...]], left: float) -> list[tuple[str, float]]:
    """Return the titles of the figure columns, each with its right edge."""
    columns = []
    for at, title in enumerate(("First", "Last", "Change", "Lowest", "Highest")):
        left += max(text_width(text, 12.5) for text in (title, *(row[at] for row in rows))) + GAP
        columns.append((title, round(left - GAP, 1)))
    return columns


def course_of(grid: Grid, series: Series, row: int, left: float, width: float) -> list[Vega]:
    """Return the line of a member in pixels.

    `m` marks its end and its extremes, which carry member, period and figure.
    """
    known = [(value, at) for at, value in enumerate(series.values) if value is not None]
    low, high = min(known), max(known, key=lambda found: (found[0], -found[1]))
    marks = {known[-1][1]: "e", low[1]: "l", high[1]: "h"}
    step = width / max(1, len(grid.xs) - 1)
    return [
        {
            "x": round(left + step * at, 1),
            "y": None if value is None else round(middle(row) + INNER * (0.5 - share(value, low[0], high[0])), 1),
            "r": row,
        }
        | ({"m": marks[at], "s": series.name, "p": grid.xs[at], "v": value} if at in marks else {})
        for at, value in enumerate(series.values)
    ]


def share(value: float, low: float, high: float) -> float:
    """Return the position of a figure between the lowest and the highest; the middle if they are equal."""
    return (value - low) / (high - low) if high > low else 0.5


def told_of(grid: Grid, members: Sequence[Series], unit: Unit) -> tuple[str, ...]:
    """Count the members, and describe the one with the largest last figure."""
    leading = max(members, key=lambda series: series.known[-1])
    trailing = min(members, key=lambda series: series.known[-1])
    finer = told_apart(unit, (trailing.known[-1], leading.known[-1]))
    least, most = finer.text(trailing.known[-1]), f"{finer.text(leading.known[-1])}{in_words(unit)}"
    ends = f"Last figures from {trailing.name} with {least} to {leading.name} with {most}."
    return f"{len(members)} rows.", ends, of_series(grid, leading, unit)
