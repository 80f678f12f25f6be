"""Doubtful files: what a file shows that may not be meant - a cut end, a hidden sheet, days or amounts of one name."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from server.files.files import is_doubled
from server.files.findings import Findings
from server.files.notation import NumberColumn
from server.setup.answers import WHOLE, FileAnswers
from server.setup.column_profiles import ColumnRole
from server.setup.figures import exact_figures, largest, volume
from server.setup.nominations import NominatedFigure
from server.setup.questions import Choice, OpenQuestion
from server.setup.roles import TableProfile, time_score

CONTROLS: Final = tuple(f"control_totals.{key}" for key in ("balanced", "parents", "closing"))
TOTALS: Final = "control_totals.totals"


def cut_end(
    found: TableProfile, findings: Findings, amounts: Sequence[NumberColumn], said: FileAnswers
) -> Iterator[OpenQuestion]:
    """Yield the question about a text file whose last row looks cut, and whose sums do not show that it is whole."""
    cut = found.table.cut
    if cut is None or said.end == WHOLE or (not cut.is_short and any(findings.value(key) for key in CONTROLS)):
        return
    rows = found.table.sample.rows
    if not cut.is_short and findings.value(TOTALS) and rows.len() and cut.row > rows[-1]:
        return  # the last row is a total, and agrees
    held = exact_figures(found.table.sample.frame.tail(1), amounts)
    sums = ", ".join(volume(held[name]) for name in held.columns) or "no amount"
    says = f"{cut.says}, as where a file is cut. Have it written again if rows are missing"
    yield OpenQuestion(
        found.name,
        says,
        (Choice({"end": WHOLE}, f"it is whole: the last row holds {sums}"),),
        max(map(largest, held), default=Decimal(0)),
    )


def day_ties(found: TableProfile) -> Iterator[OpenQuestion]:
    """Yield the question which of two columns of days is the time, where their names say it of both alike."""
    time = found.first(ColumnRole.TIME)
    if time is None or time in found.overrides or found.columns[time].day is None:
        return
    score = time_score(found.columns[time])
    frame = found.table.sample.frame
    alike = [
        name
        for name, one in found.columns.items()
        if name != time and one.day is not None and name not in found.overrides and len(one.values) > 1
        if time_score(one) == score and not frame[name].equals(frame[time], null_equal=True)
    ]
    if alike:
        names = [time, *alike]
        differ = int((frame[time] != frame[alike[0]]).sum())
        says = f"{' and '.join(names)} are days, and their names do not tell which is the time of the rows"
        choices = tuple(
            Choice({"columns": {name: "time"}}, f"{name}, as {found.columns[name].values[0]}; {differ:,} rows differ")
            for name in names
        )
        yield OpenQuestion(found.name, says, choices)


def repeated_names(found: TableProfile, amounts: Sequence[NumberColumn]) -> Iterator[OpenQuestion]:
    """Yield the question which of several amounts of one name are meant."""
    if found.nomination.questions or found.nomination.pair:
        return
    names = [one.name for one in amounts if one.name not in found.overrides]
    for stem in dict.fromkeys(name.rpartition("_")[0] for name in names):
        same = [name for name in names if name.rpartition("_")[0] == stem and is_doubled(stem, found.table.columns)]
        if len(same) > 1:
            held = exact_figures(found.table.sample.frame, [one for one in amounts if one.name in same])
            figures = [NominatedFigure((name,), name) for name in same]
            choices = [
                one.choice([other for other in figures if other is not one], f"{one}, {volume(held[one.columns[0]])}")
                for one in figures
            ]
            choices.append(Choice({"columns": dict.fromkeys(same, "amount")}, "load all, each as a measure of its own"))
            says = f"{len(same)} columns are named '{stem}', here {', '.join(same)}: which is the amount?"
            yield OpenQuestion(found.name, says, tuple(choices), max(map(largest, held)))


def hidden_sheet(found: TableProfile, amounts: Sequence[NumberColumn], said: FileAnswers) -> Iterator[OpenQuestion]:
    """Yield the question whether the rows of a hidden sheet count."""
    if not found.table.formulas.is_hidden_sheet or said.kind is not None:
        return
    held = exact_figures(found.table.sample.frame, amounts)
    sums = ", ".join(volume(held[name]) for name in held.columns)
    choices = (
        Choice({"is": "unused"}, f"no: {sums} is not loaded"),
        Choice({"is": "facts"}, f"yes: {sums} is loaded"),
    )
    yield OpenQuestion(
        found.name, "the sheet is hidden; do its rows count?", choices, max(map(largest, held), default=Decimal(0))
    )
