"""The notes of a report: for each code, the function that makes the notes of it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from engine.model.notes import Note
from engine.notes.absence_notes import absence_notes
from engine.notes.currency_notes import foreign_notes, mixed_notes, unit_notes
from engine.notes.days import (
    anchor_notes,
    anchors_apart,
    blend_notes,
    open_notes,
    overlap_notes,
    range_notes,
    repeat_notes,
    scopes_apart,
    short_notes,
    unmet_notes,
    variant_notes,
    whole_notes,
    window_notes,
)
from engine.notes.operand_notes import open_operand_notes, part_notes
from engine.notes.outside_notes import outside_notes
from engine.notes.partial_notes import partial_notes
from engine.notes.report_reads import ReportFigures
from engine.notes.shared_rows import shared_notes
from engine.notes.sum_notes import balance_notes, function_notes, header_notes, leap_notes, posting_notes, sign_notes
from engine.notes.unassigned_notes import unassigned_notes
from engine.notes.weight_notes import weight_notes
from engine.plans.figures import FigurePlan, Figures
from engine.plans.windows import ColumnRead

Notes = Callable[[ReportFigures], Iterable[Note]]


def of_plan(make: Callable[[FigurePlan], Iterable[Note]]) -> Notes:
    """Return what makes the notes on the plan of a report."""
    return lambda report: make(report.plan)


def of_each_read(make: Callable[[FigurePlan, ColumnRead], Iterable[Note]]) -> Notes:
    """Return what makes the notes on each column read of a report."""

    def made(report: ReportFigures) -> Iterator[Note]:
        for column_read in report.plan.distinct_reads:
            yield from make(report.plan, column_read)

    return made


def of_figures(make: Callable[[Figures], Iterable[Note]]) -> Notes:
    """Return what makes the notes on the figures of a report."""
    return lambda report: make(report.figures)


REPORT_NOTES: Mapping[str, Notes] = {
    "aggregate": of_plan(repeat_notes),
    "anchor": of_each_read(anchor_notes),
    "anchors_differ": of_plan(anchors_apart),
    "balances_summed": of_plan(balance_notes),
    "blend_switches": of_each_read(blend_notes),
    "coarser_postings": of_each_read(posting_notes),
    "condition_unmet": of_plan(unmet_notes),
    "foreign_currency": lambda report: foreign_notes(report.plan, report.currency_uses),
    "header_member": of_plan(header_notes),
    "leap_day": of_each_read(leap_notes),
    "mixed_currency": lambda report: mixed_notes(report.plan, report.currency_uses),
    "mixed_units": lambda report: unit_notes(report.plan, report.unit_uses),
    "not_summed": of_plan(function_notes),
    "open_in_range": of_each_read(open_notes),
    "open_period": of_figures(open_operand_notes),
    "operand_partial": of_figures(part_notes),
    "operand_unassigned": lambda report: unassigned_notes(report.figures, report.unassigned),
    "outside_tree": lambda report: outside_notes(report.reads.outside, report.outside, report.plan.reader),
    "own_windows": of_each_read(window_notes),
    "range_overlaps": of_each_read(overlap_notes),
    "rows_elsewhere": of_figures(absence_notes),
    "scenario_partial": of_figures(partial_notes),
    "scope_differs": of_plan(scopes_apart),
    "shared_rows": of_figures(shared_notes),
    "short_window": of_each_read(short_notes),
    "sign_reversed": of_plan(sign_notes),
    "variant_untouched": of_each_read(variant_notes),
    "weighted_rows": lambda report: weight_notes(report.figures, report.unbroken, report.rank),
    "whole": of_plan(whole_notes),
    "window_replaces_range": of_each_read(range_notes),
}


def report_notes(report: ReportFigures, but: Collection[str] = ()) -> Iterator[Note]:
    """Yield the notes of a report by code, except some; those on its blanks are made with its table."""
    for code, make in REPORT_NOTES.items():
        if code not in but:
            yield from make(report)
