"""RESULT_KINDS: how each kind of result is answered whole, described and laid out; one entry adds one kind.

The report room has the other half: KINDS of `engine/report/snapshots.py` says how each kind is kept as bytes and opened
again, INPUTS of `engine/report/transform.py` how a script is given it. A test holds that the three have the same kinds.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from engine.model.stopping import Stop
from engine.present.answers.budget import UncutAnswer
from engine.present.answers.explanations import whole_explanation
from engine.present.answers.full_reports import whole_report
from engine.present.answers.rows import whole_rows, whole_transform
from engine.present.exports.about import Row, asked_explanation, asked_report, asked_rows, asked_transform
from engine.present.exports.cells import Sheet
from engine.present.exports.report_sheet import report_sheet
from engine.present.exports.table_sheets import explanation_sheet, rows_sheet, transform_sheet
from engine.report.explanation import Explanation
from engine.report.inspection import Inspection
from engine.report.report import Report
from engine.report.snapshots import Kept
from engine.report.transform import Transform


class ResultKind(Struct, frozen=True):
    """How one kind of result is presented: its whole answer, what it was asked for, and its sheet."""

    answer: Callable[[Any, Stop], UncutAnswer]
    question: Callable[[Any], Iterator[Row]]
    sheet: Callable[[Any], Sheet]


RESULT_KINDS: Final[Mapping[type, ResultKind]] = {
    Report: ResultKind(whole_report, asked_report, report_sheet),
    Inspection: ResultKind(whole_rows, asked_rows, rows_sheet),
    Explanation: ResultKind(whole_explanation, asked_explanation, explanation_sheet),
    Transform: ResultKind(whole_transform, asked_transform, transform_sheet),
}


def kind_of(kept: Kept) -> ResultKind:
    """Return the kind of a kept result."""
    return RESULT_KINDS[type(kept)]
