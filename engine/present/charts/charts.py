"""Charts: CHARTS, one table of the kinds, with the requirements, limits and drawing function of each.

chart(spec, frame) returns plain data: the points, a Vega-Lite specification that holds them, and a summary in words.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl
from msgspec import Struct

from engine.model.errors import ChartInvalid, quoted
from engine.model.requests import ChartSpec
from engine.present.charts.areas import area
from engine.present.charts.axes import broken
from engine.present.charts.bars import bar, horizontal_bar
from engine.present.charts.columns import LONGEST, Columns, columns_of, plain, printable
from engine.present.charts.combined import bars_and_lines
from engine.present.charts.heatmaps import cohort_heatmap
from engine.present.charts.lines import forecast_line, line
from engine.present.charts.picture import SUBTITLE_SIZE, TITLE_SIZE, ChartInput, Picture
from engine.present.charts.refusals import ChartRequirements, TableInvalid, as_sent, bad_data, bad_spec, no_data
from engine.present.charts.repairs import continued
from engine.present.charts.scatters import scatter
from engine.present.charts.sparklines import sparkline_row
from engine.present.charts.waterfalls import waterfall

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
LONGEST_TITLE, LONGEST_UNIT = 160, 40
MOST_REPAIRS = 6  # refusals in succession that one example repairs
LEAST_TITLE = 300  # pixels of the narrowest title


class ChartKind(Struct, frozen=True):
    """A kind of chart: its requirements of a spec, and its drawing function."""

    takes: ChartRequirements
    draw: Callable[[ChartInput], Picture]


BARS: Final = ("styles", "favourable", "stack", "sort")
STEPS: Final = ("kind", "styles", "favourable")
CHARTS: Final[Mapping[str, ChartKind]] = {
    "line": ChartKind(ChartRequirements(several_y=True, options=("styles",), most_x=600, most_series=8), line),
    "bar": ChartKind(
        ChartRequirements(several_y=True, options=(*BARS, "lines"), most_x=60, most_series=6),
        lambda sheet: bars_and_lines(sheet) if sheet.spec.lines else bar(sheet),
    ),
    "area": ChartKind(ChartRequirements(several_y=True, options=("stack",), most_x=600, most_series=8), area),
    "waterfall": ChartKind(
        ChartRequirements(series="none", is_timed=False, options=STEPS, most_x=20, most_series=1), waterfall
    ),
    "scatter": ChartKind(ChartRequirements(numeric_x=True, options=("label",), most_x=400, most_series=8), scatter),
    "horizontal_bar": ChartKind(
        ChartRequirements(several_y=True, is_timed=False, options=BARS, most_x=60, most_series=4), horizontal_bar
    ),
    "forecast_line": ChartKind(
        ChartRequirements(several_y=True, options=("styles", "forecast_from"), most_x=300, most_series=4), forecast_line
    ),
    "cohort_heatmap": ChartKind(ChartRequirements(series="must", most_x=36, most_series=60), cohort_heatmap),
    "sparkline_row": ChartKind(
        ChartRequirements(several_y=True, series="must", most_x=120, most_series=40), sparkline_row
    ),
}


class ChartColumn(Struct, frozen=True):
    """A column of a chart's rows."""

    name: str
    unit: str | None


class Chart(Struct, frozen=True, kw_only=True):
    """A chart as plain data; `rows` holds the points in their own unit."""

    chart_type: str
    title: str
    unit: str | None
    columns: tuple[ChartColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    vega_lite: Mapping[str, Any]
    summary: str


def chart(
    spec: ChartSpec,
    frame: pl.DataFrame,
    units: Mapping[str, str] | None = None,
    *,
    code: str = "result = df",
    adds_up: bool = True,
) -> Chart:
    """Return the chart of a table. Raises ChartInvalid, which names the fault and a valid alternative.

    `units` are the known units of the table's columns. `code` is the script that leaves the table as a frame in
    `result`; an example that mends the table goes on with it. `adds_up`: rows of one x are parts of a sum.
    """

    def draw(spec: ChartSpec, frame: pl.DataFrame) -> Chart:
        return drawn_chart(spec, frame, units or {}, adds_up=adds_up)

    try:
        return draw(spec, frame)
    except ChartInvalid as refusal:
        refusal.example = repaired(refusal, spec, frame, code, draw)
        raise


def repaired(
    refusal: ChartInvalid,
    spec: ChartSpec,
    frame: pl.DataFrame,
    code: str,
    draw: Callable[[ChartSpec, pl.DataFrame], Chart],
) -> object:
    """Return the arguments that mend a call: the spec or the script, both where the refusals that would follow do."""
    first, asked, lines, is_drawn = refusal, spec, list[str](), False
    for _ in range(MOST_REPAIRS):
        if isinstance(refusal, TableInvalid):
            lines.append(str(refusal.example))
            if refusal.mended is None:
                break
            frame = refusal.mended
        elif isinstance(refusal.example, dict):
            spec = spec_of(refusal.example)
        else:
            break
        try:
            draw(spec, frame)
        except ChartInvalid as further:
            refusal = further
        else:
            is_drawn = True
            break
    of_table = {"transform_code": continued(code, lines)} if lines else {}
    if is_drawn:
        return {**of_table, **({} if spec == asked else {"chart_spec": as_sent(spec)})}
    return of_table if isinstance(first, TableInvalid) else whole(first.example)


def whole(example: object) -> object:
    """Return the example of a refusal as arguments of a call: a text is a script, a spec has a type."""
    if isinstance(example, str):
        return {"transform_code": example}
    return {"chart_spec": example} if isinstance(example, dict) and "chart_type" in example else example


def spec_of(example: Mapping[str, Any]) -> ChartSpec:
    """Return the spec that an example says."""
    y = example.get("y")
    return ChartSpec(**{**example, "y": tuple(y) if isinstance(y, list) else y})


def drawn_chart(spec: ChartSpec, frame: pl.DataFrame, units: Mapping[str, str], *, adds_up: bool) -> Chart:
    """Return the chart of a table. Raises ChartInvalid; a TableInvalid mends the table in `result`."""
    kind = CHARTS.get(spec.chart_type)
    if kind is None:
        raise bad_spec(spec, "chart_type", f"There is no chart {quoted([spec.chart_type])}.", "bar", CHARTS)
    refuse_words(spec, frame)
    if not frame.height:
        raise no_data("result has no rows: nothing to draw.", "result = df", frame.columns)
    columns = columns_of(spec, frame, kind.takes)
    refuse_units(spec, frame, columns, units)
    sheet = ChartInput(spec=spec, frame=frame, columns=columns, takes=kind.takes, units=units, adds_up=adds_up)
    drawn = kind.draw(sheet)
    drawn_columns = columns.all
    return Chart(
        chart_type=spec.chart_type,
        title=spec.title,
        unit=drawn.unit.name,
        columns=tuple(
            ChartColumn(name, drawn.units.get(name, drawn.unit.name) if name in columns.y else sheet.units.get(name))
            for name in drawn_columns
        ),
        rows=tuple(tuple(map(plain, row)) for row in frame.select(drawn_columns).rows()),
        vega_lite=vega_lite(sheet, drawn),
        summary=" ".join(drawn.sentences),
    )


def refuse_units(spec: ChartSpec, frame: pl.DataFrame, columns: Columns, units: Mapping[str, str]) -> None:
    """Refuse figures of a report whose rows say several units; new figures have the unit that the spec says."""
    if "value" not in columns.y or "value" in units or spec.unit is not None or frame.schema.get("unit") != pl.String:
        return
    if spec.lines:
        return  # bars and lines have a unit each
    said = frame["unit"].drop_nulls().unique(maintain_order=True).to_list()
    if len(said) > 1:
        of_first = frame.filter(pl.col("alias") == pl.col("alias").first()) if "alias" in frame.columns else frame
        counts = of_first.group_by("unit", maintain_order=True).len().drop_nulls()
        unit = max(counts.rows(), key=lambda row: row[1], default=(said[0], 0))[0]
        raise bad_data(
            f"One chart shows one unit, and the rows of result are in {quoted(said)}: keep those of one. If the script "
            "computed value anew, say its unit in chart_spec.unit.",
            f"result = result.filter(pl.col('unit') == {unit!r})",
            said,
            frame.filter(pl.col("unit") == unit),
        )


def refuse_words(spec: ChartSpec, frame: pl.DataFrame) -> None:
    """Refuse a chart without a title, and texts too long for the picture."""
    for name, text, most in (
        ("title", spec.title, LONGEST_TITLE),
        ("subtitle", spec.subtitle, LONGEST_TITLE),
        ("unit", spec.unit, LONGEST_UNIT),
    ):
        if text is not None and (len(text) > most or (name == "title" and not text.strip())):
            said = f"The {name} has {len(text)} characters: 1 to {most} are shown."
            raise bad_spec(spec, name, said, text.strip()[:most] or spec.chart_type.replace("_", " ").capitalize())
    long = next((name for name in frame.columns if len(name) > LONGEST), None)
    if long is not None:
        said = f"result has a column whose name has {len(long)} characters, {LONGEST} are the most: rename it."
        raise bad_data(said, "result = result.rename(lambda name: name[:100])", long)


def vega_lite(sheet: ChartInput, drawn: Picture) -> Mapping[str, Any]:
    """Return the picture as a self-contained Vega-Lite specification."""
    spec = sheet.spec
    unit = f"in {drawn.unit.words}" if drawn.unit.words and not drawn.is_said else None
    subtitle = " · ".join(part for part in (spec.subtitle, unit, *drawn.said) if part)
    room = max(drawn.width, LEAST_TITLE)
    picture = {
        "$schema": SCHEMA,
        "description": " ".join((f"{spec.title}.", *drawn.sentences)),
        "title": {
            "text": broken(spec.title, TITLE_SIZE, room),
            "subtitle": broken(subtitle, SUBTITLE_SIZE, room),
        },
        "background": sheet.theme.background,
        "padding": 16,
        "width": round(drawn.width, 1),
        "height": round(drawn.height, 1),
        "data": {"values": drawn.values},
        "layer": drawn.layer,
        "config": sheet.theme.config(),
    }
    return {key: without_controls(part) for key, part in picture.items()}


def without_controls(part: Any) -> Any:  # noqa: ANN401 - what JSON holds
    """Return a part of a specification whose texts hold no control characters: the program that draws aborts at one."""
    if isinstance(part, str):
        return part if part.isprintable() else "\n".join(map(printable, part.split("\n")))
    if isinstance(part, Mapping):
        return {key: without_controls(inner) for key, inner in part.items()}
    return list(map(without_controls, part)) if isinstance(part, list | tuple) else part
