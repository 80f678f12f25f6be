"""JSON documents: the whole result object, as a model reads it and uncut, with what the file says about itself."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from engine.answers.budget import Json
from engine.answers.figures import answer
from engine.answers.rows import rows_answer
from engine.answers.transforms import transform_answer
from engine.exports.about import Made
from engine.report.inspection import Inspection
from engine.report.report import Report
from engine.report.transform import Transform
from engine.snapshots.snapshots import Kept

UNCUT = 1 << 62  # tokens
OF_THE_CALL = ("data_ref", "dataset_available", "agent_truncated")  # parts that are none of the result

WHOLE: Mapping[type, Callable[[Any], Json]] = {
    Report: lambda report: answer(report, UNCUT),
    Inspection: lambda inspection: rows_answer(inspection, UNCUT),
    Transform: transform_answer,
}


def write_document(kept: Kept, made: Made, path: Path) -> None:
    """Write a kept result as JSON: rows are arrays aligned with `columns`, figures exact, unscaled where scale is 0."""
    result = WHOLE[type(kept)](kept)
    said = {key: part for key, part in result.items() if key not in OF_THE_CALL}
    head = {"books": kept.permission.books, "made_at": made.at.isoformat(timespec="seconds"), "made_for": made.subject}
    path.write_bytes(to_json({**head, **said}, inf_nan_mode="null"))
