"""Notes on operands of formulas that have no rows under a filter or a member, but have rows without a member of it."""

from collections.abc import Hashable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from engine.model.evaluation import absent
from engine.model.exact import Exact
from engine.model.formulas import Figure
from engine.model.notes import Note
from engine.model.scope import UNASSIGNED
from engine.model.stopping import watched
from engine.notes.operand_notes import column_reads, is_used
from engine.plans.expressions import MeasureExpression
from engine.plans.figures import FigurePlan, Figures
from engine.plans.places import Coordinates
from engine.plans.rows import Row
from engine.plans.windows import ColumnRead
from engine.queries.filters import filter_of

Keys = tuple[str, ...]  # of dimensions


def unassigned_plans(plan: FigurePlan) -> Mapping[Keys, FigurePlan]:
    """Return the plans of the totals of the rows without a member, by the dimensions of it, where there are such rows.

    Each is under the other filters of the report.
    """
    filtered = tuple(known.dimension.key for known in plan.query.filters)
    by_axis = [(axis.key,) for axis in plan.axes]
    each = [*by_axis, *((key,) for key in filtered), *([filtered] if len(filtered) > 1 else [])]
    asked = dict.fromkeys(each) if each and plan.reads.uses else ()
    held = [keys for keys in asked if all(UNASSIGNED in plan.reader.visible(key) for key in keys)]
    return {keys: without_members(plan, keys) for keys in held}


def unassigned_notes(figures: Figures, unassigned: Mapping[Keys, Figures]) -> Iterator[Note]:
    """Yield the note on each operand that a formula counts as 0 where only rows without a member hold it."""
    plan = figures.plan
    uses = plan.reads.uses if unassigned else {}
    by_axis = {axis: unassigned_places(figures, axis.place) for axis in plan.axes if (axis.key,) in unassigned}
    filtered = {known.dimension.key for known in plan.query.filters}
    by_filter = [keys for keys in unassigned if filtered.issuperset(keys)]
    for column_read in column_reads(plan) if uses else ():
        told: set[MeasureExpression] = set()
        for axis, places in by_axis.items():
            if places:
                lines = {
                    operand: [row.key for row in rows if is_there(figures, row, operand, column_read, blank)]
                    for operand, rows in uses.items()
                    if (blank := blank_members(figures.of(operand, column_read), figures.places, axis.place, places))
                }
                yield from amount_notes(unassigned[axis.key,], (axis.key,), lines, column_read, told)
        if by_filter:
            totals = {operand: blank_totals(figures, operand, uses[operand], column_read) for operand in uses}
            for keys in by_filter:
                yield from amount_notes(unassigned[keys], keys, totals, column_read, told)


def unassigned_places(figures: Figures, axis: int) -> Mapping[Hashable, int]:
    """Return the positions of the places without a member of an axis, by what else these places are of."""
    places = enumerate(watched(figures.places))
    return {others_of(place, axis): at for at, place in places if place.members[axis] == UNASSIGNED}


def others_of(place: Coordinates, axis: int) -> Hashable:
    """Return the members of a place in the other axes, and its time."""
    return place.members[:axis], place.members[axis + 1 :], place.time


def blank_members(
    column: Sequence[Figure], places: Sequence[Coordinates], axis: int, unassigned: Mapping[Hashable, int]
) -> Sequence[int]:
    """Return the places of members at which an operand is blank, where it has a figure of no member."""
    blank = absent(column, tuple(range(len(places))))
    lacking = frozenset(blank)
    there = {others for others, at in unassigned.items() if at not in lacking} if blank else ()
    named = [at for at in watched(blank) if places[at].members[axis] not in (None, UNASSIGNED)] if there else ()
    return [at for at in watched(named) if others_of(places[at], axis) in there]


def blank_totals(
    figures: Figures, operand: MeasureExpression, rows: Sequence[Row], column_read: ColumnRead
) -> list[str]:
    """Return the formulas that are there in the total, where an operand is blank."""
    total = len(figures.places) - 1
    if isinstance(figures.of(operand, column_read)[total], Exact):
        return []
    return [row.key for row in rows if is_there(figures, row, operand, column_read, [total])]


def is_there(
    figures: Figures, row: Row, operand: MeasureExpression, column_read: ColumnRead, places: Sequence[int]
) -> bool:
    """Tell whether a formula has a figure in one of some places that is made of an operand."""
    return row.expression is not None and is_used(figures, row.expression, operand.base, column_read, places)


def amount_notes(
    unassigned: Figures,
    keys: Sequence[str],
    lines: Mapping[MeasureExpression, Sequence[str]],
    column_read: ColumnRead,
    told: set[MeasureExpression],
) -> Iterator[Note]:
    """Yield the notes on operands that have rows without a member of some dimensions; add these operands to `told`."""
    asked = [operand for operand, keys_of_lines in lines.items() if keys_of_lines and operand not in told]
    read = unassigned.plan.column_read(column_read.side, column_read.shared, None)
    for operand in asked:
        amount = unassigned.of(operand, read)[-1]
        if isinstance(amount, Exact):
            told.add(operand)
            yield Note.of(
                "operand_unassigned",
                lines=tuple(lines[operand]),
                operand=operand.name,
                amount=amount.digits(quotient=operand.type.quotient),
                scenario=column_read.side.key,
                dimension=" and no ".join(keys),
            )


def without_members(plan: FigurePlan, keys: Sequence[str]) -> FigurePlan:
    """Return the plan of the totals of the rows without a member of some dimensions, under the other filters."""
    others = [known for known in plan.query.filters if known.dimension.key not in keys]
    own = [filter_of(plan.reader.dimensions[key], (UNASSIGNED,), plan.reader) for key in keys]
    query = replace(plan.query, filters=(*others, *own), breakdown=(), time=())
    return replace(plan, query=query, before_close=False)
