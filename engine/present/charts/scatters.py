"""Scatter charts: two figures of each member, with labels on the outliers."""

from collections.abc import Sequence

from msgspec import Struct

from engine.present.charts.axes import again, exact_format, figure_axis, text_width, ticks_of, tooltip
from engine.present.charts.columns import figures_of, names_of
from engine.present.charts.grid import in_words, unit_for
from engine.present.charts.picture import ChartInput, Picture, Unit, Vega, title_words, told_apart, unit_of
from engine.present.charts.refusals import bad_data, bad_spec

AROUND = 5  # pixels of a point on each side
TALL = 12  # pixels of a label's height
SIDES = {"r": ("left", 8, 0), "l": ("right", -8, 0), "t": ("center", 0, -11), "b": ("center", 0, 12)}
BELOW: Vega = {"labelFlush": False, "grid": True, "titlePadding": 8}
ABOVE: Vega = {
    "titleAngle": 0,
    "titleAlign": "left",
    "titleAnchor": "end",
    "titleX": 0,
    "titleY": -10,
    "titleBaseline": "bottom",
}


class Dot(Struct, frozen=True):
    """A member with its two figures."""

    x: float
    y: float
    series: str
    label: str


class Box(Struct, frozen=True):
    """A rectangle of the plot, in pixels."""

    left: float
    top: float
    width: float
    height: float

    def meets(self, other: "Box") -> bool:
        """Tell whether two boxes overlap."""
        return (
            self.left < other.left + other.width
            and other.left < self.left + self.width
            and self.top < other.top + other.height
            and other.top < self.top + self.height
        )


def scatter(sheet: ChartInput) -> Picture:
    """Draw a point for each row."""
    dots = dots_of(sheet)
    width, height = sheet.size
    unit = unit_for(sheet, [dot.y for dot in dots])
    unit_x = unit_of(sheet.units.get(sheet.columns.x), [dot.x for dot in dots])
    across = ticks_of([dot.x for dot in dots], zero=False)
    up = ticks_of([dot.y for dot in dots], zero=False)
    boxes = [
        Box(width - across.pixel(dot.x, width) - AROUND, up.pixel(dot.y, height) - AROUND, 2 * AROUND, 2 * AROUND)
        for dot in dots
    ]
    sides = sides_of(dots, boxes, width, height)
    x, y = figure_axis(across, unit_x, field="x"), figure_axis(up, unit)
    x["axis"] |= {"title": axis_words(sheet.columns.x, unit_x), **BELOW}
    y["axis"] |= {"title": axis_words(sheet.columns.y[0], unit), **ABOVE}
    told = tooltip(
        x=(title_words(sheet.columns.x), exact_format(unit_x)),
        y=(title_words(sheet.columns.y[0]), exact_format(unit)),
        **({"l": (title_words(sheet.columns.label), None)} if sheet.columns.label else {}),
    )
    return Picture(
        width=width,
        height=height,
        values=[
            {"x": dot.x, "y": dot.y, "s": dot.series, "l": dot.label} | ({"d": side} if side else {})
            for dot, side in zip(dots, sides, strict=True)
        ],
        layer=[
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.85},
                "encoding": {"x": x, "y": y, "color": colour(sheet, dots), "tooltip": told},
            },
            *(
                {
                    "transform": [{"filter": {"field": "d", "equal": side}}],
                    "mark": {"type": "text", "align": align, "baseline": "middle", "dx": dx, "dy": dy},
                    "encoding": {"x": again(x), "y": again(y), "text": {"field": "l"}},
                }
                for side, (align, dx, dy) in SIDES.items()
                if side in sides
            ),
        ],
        unit=unit,
        is_said=True,
        sentences=cloud(sheet, dots, unit_x, unit),
    )


def colour(sheet: ChartInput, dots: Sequence[Dot]) -> Vega:
    """Return the colour encoding of the series, with a legend above the axis title."""
    names = list(dict.fromkeys(dot.series for dot in dots))
    scale = {"domain": names, "range": sheet.theme.palette[: len(names)]}
    return {"field": "s", "type": "nominal", "scale": scale, "legend": {"offset": 26} if any(names) else None}


def dots_of(sheet: ChartInput) -> list[Dot]:
    """Return the rows as points. Refuses a row with a missing figure instead of dropping it."""
    columns, frame = sheet.columns, sheet.frame
    xs, ys = figures_of(frame, columns.x), figures_of(frame, columns.y[0])
    if len(xs) > sheet.takes.most_x:
        raise bad_data(
            f"{len(xs):,} points, {sheet.takes.most_x} are the most of a scatter: aggregate, or keep the largest.",
            f"result = result.top_k({sheet.takes.most_x}, by={columns.y[0]!r})",
            got=len(xs),
        )
    names = [""] * len(xs) if columns.series is None else names_of(frame, columns.series, "series")
    labels = [""] * len(xs) if columns.label is None else names_of(frame, columns.label, "label")
    if len(set(names)) > sheet.takes.most_series:
        said = f"{len(set(names))} series, {sheet.takes.most_series} colours are the most that can be told apart."
        raise bad_spec(sheet.spec, "series", said, None)
    dots = [
        Dot(x, y, name, label)
        for x, y, name, label in zip(xs, ys, names, labels, strict=True)
        if x is not None and y is not None
    ]
    if not dots or len(dots) < len(xs):
        raise bad_data(
            f"{len(xs) - len(dots)} of {len(xs)} rows have no {columns.x} or no {columns.y[0]}: leave them out.",
            f"result = result.drop_nulls([{columns.x!r}, {columns.y[0]!r}])",
        )
    return dots


def sides_of(dots: Sequence[Dot], boxes: Sequence[Box], width: float, height: float) -> list[str]:
    """Return the side of each label; "" if it would cover another label or a point."""
    taken, sides = list(boxes), [""] * len(dots)
    for at in sorted(range(len(dots)), key=lambda at: boxes[at].top):
        places = beside(boxes[at], text_width(dots[at].label)) if dots[at].label else {}
        for side, place in places.items():
            is_inside = 0 <= place.left <= width - place.width and 0 <= place.top <= height - place.height
            if is_inside and not any(place.meets(other) for other in taken if other is not boxes[at]):
                taken.append(place)
                sides[at] = side
                break
    return sides


def beside(box: Box, wide: float) -> dict[str, Box]:
    """Return the box of a label of this width on each side of a point."""
    x, y = box.left + AROUND, box.top + AROUND
    starts = {"left": 0.0, "center": wide / 2, "right": wide}
    return {side: Box(x + dx - starts[align], y + dy - TALL / 2, wide, TALL) for side, (align, dx, dy) in SIDES.items()}


def axis_words(name: str, unit: Unit) -> str:
    """Return the title of an axis: its figure and unit."""
    return f"{title_words(name)}, {unit.words}" if unit.words else title_words(name)


def cloud(sheet: ChartInput, dots: Sequence[Dot], unit_x: Unit, unit: Unit) -> tuple[str, ...]:
    """Describe the range of the points, and name the outliers."""
    columns = sheet.columns
    said = []
    for name, scale, figures in (
        (columns.x, unit_x, [(dot.x, dot.label) for dot in dots]),
        (columns.y[0], unit, [(dot.y, dot.label) for dot in dots]),
    ):
        (high, at_high), (low, at_low) = max(figures), min(figures)
        of_low, of_high = (f" ({label})" if label else "" for label in (at_low, at_high))
        finer = told_apart(scale, (low, high))
        said.append(
            f"{title_words(name)} from {finer.text(low)}{of_low} to {finer.text(high)}{of_high}{in_words(scale)}."
        )
    return (f"{len(dots)} points.", *said)
