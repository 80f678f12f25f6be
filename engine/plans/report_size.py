"""Report size: refuses a report of too many figures from counts, before any figure is read or made."""

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from engine.model.errors import BadArguments
from engine.model.stopping import watched
from engine.plans.figures import FigurePlan
from engine.plans.weights import Members

MOST_FIGURES = 1_000_000


def refuse_too_many(plan: FigurePlan) -> None:
    """Refuse a report of more figures than anybody reads.

    A report shows the combinations of members that hold rows. All combinations are an upper bound. Where it is too
    high, the combinations that hold rows are counted, until they are too many.
    """
    places = MOST_FIGURES // max(len(plan.rows) * len(plan.query.columns), 1)  # as many fit, the total included
    periods = len(plan.times) if plan.query.time else min(len(plan.axes), 1)
    most = (places - 1) // max(periods, 1)  # combinations of members; below 0: there is no room for the total
    bound = prod(len(axis.ids) for axis in plan.axes) if periods else 0
    if bound > most and (not plan.axes or most < 0 or holds_more(plan, most)):
        raise too_many(plan)


def holds_more(plan: FigurePlan, most: int) -> bool:
    """Tell whether more combinations of members than `most` hold rows; one column often tells, and costs little."""
    return any(combinations_held(counted, most) > most for counted in (*one_column(plan), plan))


def one_column(plan: FigurePlan) -> Iterator[FigurePlan]:
    """Yield the plan of one column over the whole range: the plan of all columns and periods reads its days as well.

    A window that replaces the range depends on the last period of the breakdown, so that such columns do not qualify.
    """
    columns = plan.query.columns
    chosen = [column for column in columns if not any(side.has_window for side in column.reference.sides)]
    breakdown = tuple(dimension for dimension in plan.query.breakdown if not dimension.grain)
    if chosen and (plan.query.time or len(columns) > 1):
        query = replace(plan.query, columns=tuple(chosen[:1]), breakdown=breakdown, time=None)
        yield replace(plan, query=query)


def combinations_held(plan: FigurePlan, most: int) -> int:
    """Return how many combinations of members hold rows; the count ends once it is above `most`."""
    seen: set[Members] = set()
    for members in combinations(plan):
        seen.add(members)
        if len(seen) > most:
            break
    return len(seen)


def combinations(plan: FigurePlan) -> Iterator[Members]:
    """Yield the combinations of members that hold rows, as often as they are met."""
    for batch in plan.batches:
        if len(batch.term_sums[0].group.axes) < len(plan.axes):
            continue  # its domain lacks a dimension, so that it holds no whole combination
        for group, held in batch.classes(plan.reader, plan.stop):
            for classes in watched(held.iter_rows(), plan.stop):
                targets = group.targets(classes)
                yield from (target.members for target in targets if None not in target.members)  # None: the total


def too_many(plan: FigurePlan) -> BadArguments:
    """Return the refusal: what the report is made of, and which dimension to filter."""
    sizes = {"rows": len(plan.rows), "scenarios": len(plan.query.columns)}
    sizes |= {f"members of {axis.key}": len(axis.ids) for axis in plan.axes}
    ways = ["ask for fewer scenarios, or for fewer metrics"]
    if plan.query.time:
        key = plan.query.time.dimension.key
        sizes[f"periods of {key}"] = len(plan.times)
        ways.insert(0, f"choose a shorter range, or longer periods than those of {key}")
    dimensions = plan.reader.catalogue.dimensions
    largest = max(plan.axes, key=lambda axis: len(axis.ids), default=None)
    filtered = max(
        (axis for axis in plan.axes if not dimensions[axis.key].axis_only), key=lambda axis: len(axis.ids), default=None
    )
    if largest:
        ways.insert(0, f"leave {largest.key} out of dimensions")
    if filtered:
        ways.insert(0, f"filter {filtered.key}")
    return BadArguments(
        f"The report would have more than {MOST_FIGURES:,} figures, the most that one report shows "
        f"({'; '.join(f'{what}: {count:,}' for what, count in sizes.items())}). To get fewer, {'; or '.join(ways)}.",
        field="dimensions",
        got=[dimension.key for dimension in plan.query.breakdown],
        example={"filters": {filtered.key: list(filtered.ids[:2])}} if filtered else None,
    )
