"""Results drawn as they are, without a script: what a spec leaves open, and the rows that are points."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from engine.model.catalogue import LABEL, Favourable
from engine.model.notes import Note
from engine.model.requests import ChartSpec
from engine.present.charts.charts import Chart, chart
from engine.present.charts.periods import grain_of
from engine.present.charts.picture import HUNDREDFOLD, PLAIN
from engine.present.charts.refusals import bad_data
from engine.report.explanation import Explanation
from engine.report.report import Report
from engine.report.snapshots import Kept
from engine.report.transform import Transform

WITHOUT_SERIES = ("waterfall", "scatter")  # kinds that have no series of figures by x
LONGEST_HEADING = 60  # characters of each part of a title


def drawn_as_it_is(spec: ChartSpec, given: Kept) -> tuple[ChartSpec, pl.DataFrame]:
    """Return a spec whose columns are named, and the rows to draw: of an explanation, those of its first list."""
    match given:
        case Explanation():
            return explanation_as_it_is(spec, given)
        case Report():
            return report_as_it_is(spec, given)
    return spec, given.frame


def explanation_as_it_is(spec: ChartSpec, given: Explanation) -> tuple[ChartSpec, pl.DataFrame]:
    """Return the spec and the rows of the first list of an explanation. Raises ChartInvalid if it has no rows."""
    first = given.frame.filter(pl.col("by") == pl.col("by").first())
    if not (first["kind"] == "change").any():
        raise bad_data("The explanation has no rows to draw.", "result = df", first.height)
    spec = replace(spec, x=spec.x or "label", y=spec.y or "value")
    if spec.chart_type != "waterfall":
        return spec, first.filter(pl.col("kind") == "change")
    if given.line.favourable is Favourable.DOWN and spec.favourable is None:
        spec = replace(spec, favourable="down")
    return replace(spec, kind=spec.kind or "kind"), first


def report_as_it_is(spec: ChartSpec, given: Report) -> tuple[ChartSpec, pl.DataFrame]:
    """Return the spec and the figures of a report; of a breakdown those of its members, as totals have no place."""
    frame = given.frame
    if given.breakdown:
        frame = frame.filter(pl.all_horizontal(pl.col(given.breakdown).is_not_null()))
    if len(given.time) > 1 and given.breakdown == given.time:
        return by_two_times(spec, given), frame
    first = next(iter(given.breakdown), None)
    name = "label" if first is None else first if first in given.time else first + LABEL
    if spec.chart_type in WITHOUT_SERIES:
        return spec if spec.chart_type == "scatter" else replace(spec, x=spec.x or name, y=spec.y or "value"), frame
    several = "alias" if len(given.columns) > 1 else "label" if given.breakdown and len(given.lines) > 1 else None
    return replace(spec, x=spec.x or name, y=spec.y or "value", series=spec.series or several), frame


def by_two_times(spec: ChartSpec, given: Report) -> ChartSpec:
    """Return the spec of two dimensions of time: the first has the series, the second stands along the axis."""
    first, second = given.time
    numbers = given.places[0].members[-1].id
    x = second if grain_of([numbers]) else second + LABEL
    if spec.chart_type in WITHOUT_SERIES:
        return replace(spec, x=spec.x or x, y=spec.y or "value")
    return replace(spec, x=spec.x or x, y=spec.y or "value", series=spec.series or first)


def units_for(spec: ChartSpec, transform: Transform) -> Mapping[str, str]:
    """Return the units of a table's columns; money is in the spec's currency if a note says that amounts are."""
    currency = (spec.unit or "").partition(" ")[0]
    if currency not in {known for note in transform.notes for known in currencies_of(note)}:
        return transform.units
    return {name: unit if unit in (*HUNDREDFOLD, *PLAIN) else currency for name, unit in transform.units.items()}


def currencies_of(note: Note) -> list[str]:
    """Return the currencies that a note names beside that of the books; none for other notes."""
    is_named = note.code in ("foreign_currency", "mixed_currency")
    return str(dict(note.about)["currencies"]).split(", ") if is_named else []


def bridge(given: Explanation) -> Chart:
    """Return the chart of an explanation: the waterfall of its first list. Raises ChartInvalid if there is none."""
    a, b = (side.heading[:LONGEST_HEADING] for side in given.sides)
    title = f"{given.line.label[:LONGEST_HEADING]}: {a} against {b}"
    spec, frame = explanation_as_it_is(ChartSpec(chart_type="waterfall", title=title), given)
    return chart(spec, frame, {"value": given.unit} if given.unit else {})
