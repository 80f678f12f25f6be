"""Answers: charts as result objects within the token budget.

`vega_lite` holds its own points, so any client can show it; `rows` holds the same points for a model. A chart over its
budget loses rows from the end. If that is not enough, it loses the whole drawing instead: a drawing of some of the
points would be another chart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from engine.model.errors import BadArguments
from engine.model.notes import Note
from engine.model.requests import ChartSpec
from engine.model.stopping import Stop
from engine.present.answers.budget import DataRef, Json, LeftOut, fitted
from engine.present.answers.full_reports import freshness_json
from engine.present.answers.rows import columns_json
from engine.present.charts.charts import Chart
from engine.report.transform import Transform

MOST_PRINTED = 2000  # characters of a script's output in an answer
REST = "export_dataset with this data_ref gives every row; chart_spec with render: artifact gives the whole picture."


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture file as JSON, or a note that says why there is none; neither if the caller asked for none."""

    file: Json | None = None
    note: Note | None = None


def spec_json(spec: ChartSpec) -> Mapping[str, Any]:
    """Return the fields of a spec that are set, as JSON."""
    asked = {part.name: getattr(spec, part.name) for part in fields(spec)}
    return {name: value for name, value in asked.items() if value not in (None, {}, ())}


def chart_answer(
    chart: Chart, transform: Transform, data_ref: DataRef, printed: str, picture: PictureFile, budget: int, stop: Stop
) -> Json:
    """Return a chart within its budget; raises BadArguments if no cut makes it fit."""
    whole = chart_result(chart, transform, data_ref, printed, picture)
    axes = {"rows": len(chart.rows)}

    def drawn(left: LeftOut) -> Json:
        return cut_chart(whole, left["rows"], draws=True) if left["rows"] else whole

    def undrawn(left: LeftOut) -> Json:
        return cut_chart(whole, left["rows"], draws=False)

    result = fitted(drawn, axes, budget, stop) or fitted(undrawn, axes, budget, stop)
    if result is None:
        raise BadArguments(
            f"Even without its points this chart is longer than {budget} tokens. Give fewer data_refs, or results of "
            "fewer scenarios.",
            field="data_refs",
            got=len(transform.inputs),
        )
    return result


def chart_result(chart: Chart, transform: Transform, data_ref: DataRef, printed: str, picture: PictureFile) -> Json:
    """Return the whole result object."""
    notes = (*transform.notes, *([picture.note] if picture.note else ()))
    return {
        "chart_type": chart.chart_type,
        "title": chart.title,
        "unit": chart.unit,
        "summary": chart.summary,
        "columns": [{"name": column.name, "unit": column.unit} for column in chart.columns],
        "rows": [list(row) for row in chart.rows],
        "vega_lite": dict(chart.vega_lite),
        "inputs": list(transform.inputs),
        "notes": data_ref.notes(notes),
        "freshness": freshness_json(transform.freshness),
        "catalogue_version": transform.catalogue_version,
        "data_version": transform.data_version,
        **data_ref.as_data(),
        "dataset": {"row_count": transform.frame.height, "columns": columns_json(transform)},
        **({"printed": printed[:MOST_PRINTED]} if printed else {}),
        **({"artifact": picture.file} if picture.file else {}),
    }


def cut_chart(whole: Json, missing: int, *, draws: bool) -> Json:
    """Return a result without its last `missing` rows and perhaps its drawing; counts and a note say so."""
    parts = [*([f"{missing} rows"] if missing else []), *([] if draws else ["vega_lite"])]
    note = Note.of("shortened", left_out=" and ".join(parts), rest=REST).as_data()
    return {
        **whole,
        "rows": whole["rows"][: len(whole["rows"]) - missing],
        "vega_lite": whole["vega_lite"] if draws else None,
        "notes": [*whole["notes"], note],
        "agent_truncated": {**({"rows": missing} if missing else {}), **({} if draws else {"vega_lite": True})},
    }
