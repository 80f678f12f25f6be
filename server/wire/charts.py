"""Charts on their way out: the points, a drawing that stands by itself, and what can be trusted of them.

The drawing holds its points, so that any client can show it as it is; `rows` are the same points for a model to read.
Where both are longer than an answer may be, rows go first, from the end; where the drawing alone is too long, it goes
instead, whole: a drawing of some of the points would be another chart.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from engine.answers.budget import tokens
from engine.answers.figures import freshness_json
from engine.answers.parts import DataRef
from engine.answers.transforms import columns_json
from engine.charts.charts import Chart
from engine.errors import BadArguments
from engine.notes import Note
from engine.report.transform import Transform
from engine.requests import ChartSpec
from server.files import Given
from server.wire.answer import Answer, Json
from server.wire.files import given_json

MOST_PRINTED = 2000  # characters that an answer shows of what a script printed
REST = "export_dataset with this data_ref gives every row; chart_spec with render: artifact gives the whole picture."


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as a file, or the note that says why there is none, or neither where none was asked for."""

    given: Given | None = None
    note: Note | None = None


def spec_json(spec: ChartSpec) -> Mapping[str, Any]:
    """Return what was asked of a spec, as JSON."""
    asked = {part.name: getattr(spec, part.name) for part in fields(spec)}
    return {name: value for name, value in asked.items() if value not in (None, {}, ())}


def charted(
    chart: Chart, transform: Transform, data_ref: DataRef, printed: str, picture: Picture, answer_tokens: int
) -> Answer:
    """Return a chart as an answer within its budget."""
    whole = result_of(chart, transform, data_ref, printed, picture)
    if tokens(whole) <= answer_tokens:
        return Answer(whole)
    every = len(chart.rows)
    for draws in (True, False):
        tried = range(every + 1)
        left = bisect_left(tried, True, key=lambda left: tokens(cut(whole, every - left, draws=draws)) <= answer_tokens)
        if left in tried:
            return Answer(cut(whole, every - left, draws=draws))
    raise BadArguments(
        f"Even without its points this chart is longer than {answer_tokens} tokens. Give fewer data_refs, or results "
        "of fewer scenarios.",
        field="data_refs",
        got=len(transform.inputs),
    )


def result_of(chart: Chart, transform: Transform, data_ref: DataRef, printed: str, picture: Picture) -> Json:
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
        **({"artifact": given_json(picture.given)} if picture.given else {}),
    }


def cut(whole: Json, shown: int, *, draws: bool) -> Json:
    """Return a result with so many rows, with or without its drawing; what is left out is counted and said."""
    missing = len(whole["rows"]) - shown
    parts = [*([f"{missing} rows"] if missing else []), *([] if draws else ["vega_lite"])]
    note = Note.of("shortened", left_out=" and ".join(parts), rest=REST).as_data()
    return {
        **whole,
        "rows": whole["rows"][:shown],
        "vega_lite": whole["vega_lite"] if draws else None,
        "notes": [*whole["notes"], note],
        "agent_truncated": {**({"rows": missing} if missing else {}), **({} if draws else {"vega_lite": True})},
    }
