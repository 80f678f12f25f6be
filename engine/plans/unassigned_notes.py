"""Notes on operands of formulas that have no rows under a filter or a member, but have rows without a member of it."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from engine.model.evaluation import FigureColumn
from engine.model.exact import Exact
from engine.model.notes import Note
from engine.model.scope import UNASSIGNED
from engine.model.stopping import watched
from engine.plans.figures import FigurePlan, Figures
from engine.plans.rows import FormulaExpression, MeasureExpression, Row
from engine.plans.windows import ColumnRead
from engine.queries.filters import filter_of

Uses = Mapping[MeasureExpression, Sequence[Row]]  # the formulas of each operand


def unassigned_notes(figures: Figures) -> Iterator[Note]:
    """Yield the note on each operand that a formula counts as 0 where only rows without a member hold it."""
    plan = figures.plan
    filtered = tuple(known.dimension.key for known in plan.query.filters)
    by_filter = [*((key,) for key in filtered), *([filtered] if len(filtered) > 1 else [])]
    uses = operand_rows(plan)
    for column_read in plan.distinct_reads if uses else ():
        told: set[MeasureExpression] = set()
        for at, axis in enumerate(plan.axes):
            lines = {operand: blank_members(figures, operand, uses[operand], column_read, at) for operand in uses}
            yield from amount_notes(plan, (axis.key,), lines, column_read, told)
        totals = {operand: blank_totals(figures, operand, uses[operand], column_read) for operand in uses}
        for keys in by_filter:
            yield from amount_notes(plan, keys, totals, column_read, told)


def operand_rows(plan: FigurePlan) -> Uses:
    """Return the formulas of a plan by operand, one operand for each base."""
    firsts: dict[object, MeasureExpression] = {}
    uses: dict[MeasureExpression, list[Row]] = {}
    for row in plan.rows if plan.axes or plan.query.filters else ():
        for operand in row.expression.operands if isinstance(row.expression, FormulaExpression) else ():
            uses.setdefault(firsts.setdefault(operand.base, operand), []).append(row)
    return uses


def blank_members(
    figures: Figures, operand: MeasureExpression, rows: Sequence[Row], column_read: ColumnRead, axis: int
) -> list[str]:
    """Return the formulas that are there at a member where an operand is blank, and is not at `(unassigned)`."""
    column = figures.of(operand, column_read)
    if isinstance(column, FigureColumn) and column.is_whole:
        return []
    unassigned, blank = set(), []
    for at, place in enumerate(watched(figures.places)):
        member = place.members[axis]
        others = (place.members[:axis], place.members[axis + 1 :], place.time)
        if member == UNASSIGNED and isinstance(column[at], Exact):
            unassigned.add(others)
        elif member not in (None, UNASSIGNED) and not isinstance(column[at], Exact):
            blank.append((at, others))
    places = [at for at, others in watched(blank) if others in unassigned]
    return [row.key for row in rows if places and is_there(figures, row, column_read, places)]


def blank_totals(
    figures: Figures, operand: MeasureExpression, rows: Sequence[Row], column_read: ColumnRead
) -> list[str]:
    """Return the formulas that are there in the total, where an operand is blank."""
    total = len(figures.places) - 1
    if isinstance(figures.of(operand, column_read)[total], Exact):
        return []
    return [row.key for row in rows if is_there(figures, row, column_read, [total])]


def is_there(figures: Figures, row: Row, column_read: ColumnRead, places: Sequence[int]) -> bool:
    """Tell whether a formula has a figure in one of some places."""
    column = figures.of(row.expression, column_read) if row.expression else ()
    return any(isinstance(column[at], Exact) for at in watched(places))


def amount_notes(
    plan: FigurePlan,
    keys: Sequence[str],
    lines: Mapping[MeasureExpression, Sequence[str]],
    column_read: ColumnRead,
    told: set[MeasureExpression],
) -> Iterator[Note]:
    """Yield the notes on operands that have rows without a member of some dimensions; add these operands to `told`."""
    asked = [operand for operand, keys_of_lines in lines.items() if keys_of_lines and operand not in told]
    if not asked:
        return
    unassigned = without_members(plan, keys)
    read = unassigned.plan.column_read(column_read.side, column_read.shared)
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


def without_members(plan: FigurePlan, keys: Sequence[str]) -> Figures:
    """Return the totals of the rows that have no member of some dimensions, under the other filters of a plan."""
    others = [known for known in plan.query.filters if known.dimension.key not in keys]
    own = [filter_of(plan.reader.dimensions[key], (UNASSIGNED,), plan.reader) for key in keys]
    return replace(
        plan, query=replace(plan.query, filters=(*others, *own), breakdown=(), time=()), before_close=False
    ).collect()
