"""Answers: charts and computed rows as result objects within the token budget.

`vega_lite` holds its own points, so any client can show it; `rows` holds the same points for a model. A chart over its
budget loses rows from the end. If that is not enough, it loses the whole drawing instead: a drawing of some of the
points would be another chart. With a picture neither the specification nor the points are a part of the result.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from msgspec import Struct

from engine.model.errors import BadArguments
from engine.model.notes import Note
from engine.model.requests import ChartSpec
from engine.model.stopping import Stop
from engine.present.answers.budget import DataRef, Json, LeftOut, fitted, with_cuts
from engine.present.answers.full_reports import freshness_json
from engine.present.answers.reports import short_freshness
from engine.present.answers.rows import columns_json
from engine.present.charts.charts import Chart
from engine.present.charts.columns import plain
from engine.report.transform import Transform

MOST_PRINTED = 2000  # characters of a script's output in an answer
MOST_ROWS = 200  # of computed rows in an answer
REST = "export_dataset with this data_ref gives every row; chart_spec with render: artifact gives the whole picture."
REST_OF_ROWS = "export_dataset with this data_ref gives every row; a script can keep or sum those that matter."


class ChartPictures(Struct, frozen=True):
    """The pictures of a chart: a file as JSON, a PNG beside the answer, and notes that say why there is none."""

    file: Json | None = None
    shown: bytes | None = None
    notes: tuple[Note, ...] = ()


def spec_json(spec: ChartSpec) -> Mapping[str, Any]:
    """Return the fields of a spec that are set, as JSON."""
    asked = {part.name: getattr(spec, part.name) for part in fields(spec)}
    return {name: value for name, value in asked.items() if value not in (None, {}, ())}


def chart_answer(
    chart: Chart,
    transform: Transform,
    data_ref: DataRef,
    printed: str,
    pictures: ChartPictures,
    budget: int,
    stop: Stop,
) -> Json:
    """Return a chart within its budget; raises BadArguments if no cut makes it fit."""
    drawing = {} if pictures.shown else {"vega_lite": dict(chart.vega_lite)}
    points = {} if pictures.shown else {"rows": [list(row) for row in chart.rows]}
    whole = {
        "chart_type": chart.chart_type,
        "title": chart.title,
        "unit": chart.unit,
        "summary": chart.summary,
        "columns": [{"name": column.name, "unit": column.unit} for column in chart.columns],
        **points,
        **drawing,
        **beside(transform, data_ref, printed, pictures.notes),
        **({"artifact": pictures.file} if pictures.file else {}),
    }
    axes = {"rows": len(points.get("rows", ()))}

    def drawn(left: LeftOut) -> Json:
        return cut_chart(whole, left["rows"], {}) if left["rows"] else whole

    def undrawn(left: LeftOut) -> Json:
        return cut_chart(whole, left["rows"], dict.fromkeys(drawing))

    result = fitted(drawn, axes, budget, stop) or fitted(undrawn, axes, budget, stop)
    if result is None:
        raise too_long("points this chart is", transform, budget)
    return result


def too_long(what: str, transform: Transform, budget: int) -> BadArguments:
    """Return the refusal of an answer that is too long even without its rows."""
    return BadArguments(
        f"Even without its {what} longer than {budget} tokens. Give fewer data_refs, or results of fewer scenarios.",
        field="data_refs",
        got=len(transform.inputs),
    )


def beside(transform: Transform, data_ref: DataRef, printed: str, notes: tuple[Note, ...] = ()) -> Json:
    """Return the fields that charts and computed rows have beside their rows."""
    said = data_ref.notes((*transform.notes, *notes))
    return {
        "inputs": list(transform.inputs),
        **({"notes": said} if said else {}),
        "freshness": short_freshness(transform.freshness),
        **data_ref.as_data(),
        **({"printed": printed[:MOST_PRINTED]} if printed else {}),
    }


def cut_chart(whole: Json, missing: int, undrawn: Mapping[str, None]) -> Json:
    """Return a result without its last `missing` rows and perhaps its drawing; counts and a note say so."""
    parts = [*([f"{missing} rows"] if missing else []), *undrawn]
    note = Note.of("shortened", left_out=" and ".join(parts), rest=REST).as_data()
    points = {"rows": whole["rows"][: len(whole["rows"]) - missing]} if "rows" in whole else {}
    return {
        **whole,
        **points,
        **undrawn,
        "notes": [*whole.get("notes", ()), note],
        "agent_truncated": {**({"rows": missing} if missing else {}), **dict.fromkeys(undrawn, True)},
    }


def computed_answer(transform: Transform, data_ref: DataRef, printed: str, budget: int, stop: Stop) -> Json:
    """Return the rows that a script left, at most 200 and within the budget; a script computes in floats."""
    rows = [[plain(cell) for cell in row] for row in transform.frame.head(MOST_ROWS).iter_rows()]
    beyond = transform.frame.height - len(rows)

    def build(left: LeftOut) -> Json:
        result = {
            "computed": True,
            "columns": columns_json(transform),
            "rows": rows[: len(rows) - left["rows"]],
            **beside(transform, data_ref, printed),
        }
        return with_cuts(result, {"rows": beyond + left["rows"]}, REST_OF_ROWS)

    result = fitted(build, {"rows": len(rows)}, budget, stop)
    if result is None:
        raise too_long("rows this result is", transform, budget)
    return result


def details(transform: Transform, chart: Chart | None = None) -> Json:
    """Return what only programs need: versions, loads, the dataset's schema, of a picture its specification."""
    return {
        "catalogue_version": transform.catalogue_version,
        "data_version": transform.data_version,
        "freshness": freshness_json(transform.freshness),
        "dataset": {"row_count": transform.frame.height, "columns": columns_json(transform)},
        **({"vega_lite": dict(chart.vega_lite)} if chart else {}),
    }
