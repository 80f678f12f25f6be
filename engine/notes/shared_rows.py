"""The note on rows of a breakdown that share leaves: what they count twice beside the total."""

from collections.abc import Iterator
from functools import partial
from itertools import product

from engine.books.reader import Reader
from engine.model.errors import quoted
from engine.model.exact import ONE, ZERO, Exact
from engine.model.notes import Note
from engine.model.stopping import watched
from engine.plans.expressions import MeasureExpression
from engine.plans.figures import FigurePlan, Figures
from engine.plans.weights import Axis
from engine.plans.windows import ColumnRead


def shared_notes(figures: Figures) -> Iterator[Note]:
    """Yield the note on each dimension of a breakdown whose rows share leaves that the caller sees."""
    plan = figures.plan
    for axis in plan.axes:
        sharing = plan.reader.memo_as_seen(("sharing", axis), partial(members_sharing, axis, plan.reader))
        if sharing:
            says = amount_twice(plan, figures, axis) if len(plan.axes) == 1 and not plan.times else ""
            yield Note.of("shared_rows", dimension=axis.key, sharing=quoted(sharing), says=says)


def amount_twice(plan: FigurePlan, figures: Figures, axis: Axis) -> str:
    """Return in words what the rows of the first sum hold more than its total, in the first scenario; or nothing."""
    for read, row in product(plan.distinct_reads[:1], plan.rows):  # no read where every scenario is unknown
        expression = row.expression
        if isinstance(expression, MeasureExpression) and expression.type.additive:
            twice = surplus(figures, expression, axis, read)
            amount = expression.type.written(twice, plan.query.scale)
            return f": {row.key} of {read.side.key} counts {amount} twice" if twice else ""
    return ""


def surplus(figures: Figures, expression: MeasureExpression, axis: Axis, read: ColumnRead) -> Exact:
    """Return the sum of the rows of a figure, each as it counts in the total, less the total."""
    *rows, total = zip(figures.of(expression, read), figures.places, strict=True)
    weights = figures.plan.into_total(axis)
    counted = ZERO - total[0] if isinstance(total[0], Exact) else ZERO
    for figure, place in watched(rows):
        if isinstance(figure, Exact):
            counted += figure * weights.get(str(place.members[axis.place]), ONE)
    return counted


def members_sharing(axis: Axis, reader: Reader) -> tuple[str, str] | None:
    """Return two members of an axis that have a visible leaf in common, None if no two do."""
    sees = reader.sees_leaf(axis.key)
    owners: dict[int, str] = {}
    for member in watched(axis.ids if reader.members(axis.key).top() is not None else ()):
        for code in watched(axis.members[member]):
            if (axis.kept is None or code in axis.kept) and sees(code) and owners.setdefault(code, member) != member:
                return owners[code], member
    return None
