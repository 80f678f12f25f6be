"""JSON documents: the whole result object, as a model reads it and uncut, with what the file says about itself."""

from pathlib import Path

from pydantic_core import to_json

from engine.answers.figures import answer
from engine.answers.rows import rows_answer
from engine.exports.about import Made
from engine.report.inspection import Inspection
from engine.report.report import Report

UNCUT = 1 << 62  # tokens
OF_THE_CALL = ("data_ref", "dataset_available", "agent_truncated")  # parts that are none of the result


def write_document(kept: Report | Inspection, made: Made, path: Path) -> None:
    """Write a kept result as JSON: rows are arrays aligned with `columns`, figures exact, unscaled where scale is 0."""
    result = rows_answer(kept, UNCUT) if isinstance(kept, Inspection) else answer(kept, UNCUT)
    said = {key: part for key, part in result.items() if key not in OF_THE_CALL}
    head = {"books": kept.permission.books, "made_at": made.at.isoformat(timespec="seconds"), "made_for": made.subject}
    path.write_bytes(to_json({**head, **said}, inf_nan_mode="null"))
