"""Notes on the rows and the total of a breakdown by a weighted tree."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from engine.model.catalogue import Base
from engine.model.errors import first_of
from engine.model.formulas import Nothing
from engine.model.notes import NAMED, Note
from engine.model.scenarios import Side
from engine.model.stopping import watched
from engine.plans.figures import FigurePlan, Figures
from engine.plans.framed_figures import MemberRank
from engine.plans.rows import Row
from engine.plans.weights import Axis

ROWS = "its rows do not add up to the total as they stand; each counts times its into_parent"
TOTAL = "the total is not the figure without the breakdown"
MEMBERS = "members below a line do not add up to it"


def is_weighed(base: Base, axis: Axis, plan: FigurePlan) -> bool:
    """Tell whether an axis weighs the rows of a base; it never weighs a count."""
    return plan.availability.is_topped(base, axis) and not base.over_members.counts


def weight_notes(figures: Figures, unbroken: Figures | None, rank: MemberRank | None) -> Iterator[Note]:
    """Yield the note on weighted rows: that they do not add up as they stand, or that their total is another figure."""
    yield from uneven_rows(figures, rank)
    if unbroken is None:
        return
    differing = [said for row in figures.plan.rows for said in differences(row, figures, unbroken)]
    if differing:
        yield differing_total(figures.plan.reads.topped, differing)


def member_notes(figures: Figures, lines: Figures) -> Iterator[Note]:
    """Yield the notes on weighted members below lines: they do not add up as they stand, or not to their line."""
    plan = figures.plan
    if any(map(plan.into_total, plan.axes)):
        yield from uneven_rows(figures)
        differing = [said for row in plan.rows for said in differences(row, figures, lines)]
        if differing:
            yield differing_total(plan.reads.topped, differing, MEMBERS)


def uneven_rows(figures: Figures, rank: MemberRank | None = None) -> Iterator[Note]:
    """Yield the note that the rows of a breakdown do not add up as they stand.

    `rank` are the members of the first axis that are shown, where the figures are those of these alone.
    """
    plan = figures.plan
    uneven = [
        axis.key
        for axis in plan.axes
        if (weights := plan.into_total(axis))
        and any(is_weighed(base, axis, plan) for base in plan.bases)
        and (rank.weighs if rank else any(members[axis.place] in weights for members in watched(figures.members)))
    ]
    if uneven:
        yield Note.of("weighted_rows", dimensions=" and ".join(uneven), says=ROWS)


def differing_total(topped: Sequence[str], differing: Sequence[str], words: str = TOTAL) -> Note:
    """Return the note that the total of a breakdown is not the figure without it."""
    says = f"{words} ({first_of(differing, NAMED)})"
    return Note.of("weighted_rows", dimensions=" and ".join(topped), says=says)


def unbroken_plan(plan: FigurePlan) -> FigurePlan | None:
    """Return the plan of a report without its breakdown by members, None if its total is the figure without it."""
    if not plan.reads.topped:
        return None
    breakdown = tuple(dimension for dimension in plan.query.breakdown if dimension.grain)
    return replace(plan, query=replace(plan.query, breakdown=breakdown))


def differences(row: Row, figures: Figures, alone: Figures) -> Iterator[str]:
    """Yield each column in which the total of a row is not the figure without the breakdown, with both."""
    if row.expression is None:
        return
    columns = zip(figures.plan.query.columns, figures.plan.columns, alone.plan.columns, strict=True)
    for column, broken_down, plain in columns:
        if not isinstance(column.reference, Side):
            continue
        total = figures.of(row.expression, broken_down[0])[-1]
        figure = alone.of(row.expression, plain[0])[-1]
        if total != figure and Nothing.UNAVAILABLE not in (total, figure):
            both = [row.expression.type.written(each, figures.plan.query.scale) for each in (total, figure)]
            yield f"{row.key} of {column.heading}: {' against '.join(both)}"
