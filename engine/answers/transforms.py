"""Transforms as a result object: what a script made, from what, and how far that can be trusted."""

import polars as pl

from engine.answers.budget import Json
from engine.answers.figures import freshness_json
from engine.answers.parts import Whole
from engine.report.inspection import Stop
from engine.report.transform import Transform

TYPES: dict[type[pl.DataType], str] = {
    pl.String: "text",
    pl.Int64: "integer",
    pl.Float64: "number",
    pl.Boolean: "boolean",
    pl.Date: "date",
    pl.Datetime: "datetime",
    pl.Time: "time",
    pl.List: "list",
}


def whole_transform(transform: Transform, _: Stop) -> Whole:
    """Return the result object of a transform with all rows, which are arrays aligned with the columns."""
    result = {
        "title": transform.label,
        "columns": columns_json(transform),
        "inputs": list(transform.inputs),
        "transform_code": transform.code,
        "chart_spec": dict(transform.chart),
        "notes": [note.as_data() for note in transform.notes],
        "freshness": freshness_json(transform.freshness),
        "catalogue_version": transform.catalogue_version,
        "data_version": transform.data_version,
    }
    return Whole(result, map(list, transform.frame.iter_rows()))


def columns_json(transform: Transform) -> list[Json]:
    """Return the columns that a script left: name, type and, where it is known, unit."""
    return [
        {
            "name": name,
            "type": TYPES[dtype.base_type()],
            **({"unit": transform.units[name]} if name in transform.units else {}),
        }
        for name, dtype in transform.frame.schema.items()
    ]
