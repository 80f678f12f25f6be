"""Answers on their way out: a JSON object, once as data and once as text."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_core import to_json

from engine.answers.figures import answer
from engine.answers.parts import DataRef
from engine.answers.rows import rows_answer
from engine.grid import grid
from engine.report.inspection import Inspection
from engine.report.report import Report
from engine.table import table

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool returns: a JSON object, and how the block beside it is made that a widget renders."""

    result: Json
    rendered: Callable[[], Json] | None = None

    def render_block(self) -> Json | None:
        """Return what a widget shows, where there is something to show."""
        return None if self.rendered is None else self.rendered()


def reported(report: Report, data_ref: DataRef, answer_tokens: int) -> Answer:
    """Return a report as an answer within its budget."""
    return Answer(answer(report, answer_tokens, data_ref), partial(table, report, data_ref))


def inspected(inspection: Inspection, data_ref: DataRef, answer_tokens: int) -> Answer:
    """Return rows as an answer within its budget."""
    answered = rows_answer(inspection, answer_tokens, data_ref)
    return Answer(answered, partial(grid, inspection, answered))


def as_text(result: Json) -> str:
    """Return a result as JSON text."""
    return to_json(result, inf_nan_mode="null").decode()
