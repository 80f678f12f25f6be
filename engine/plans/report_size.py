"""Report size: what a report will hold, from counts; a report of too much is refused before any amount is read."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import prod
from operator import mul

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import FactRead
from engine.model.calendar.periods import WITHOUT_DATE, Span
from engine.model.errors import BadArguments
from engine.model.fact_store import DistinctSlice, Presence, Slice
from engine.model.stopping import watched
from engine.plans.base_groups import BaseGroup
from engine.plans.figures import FigurePlan
from engine.plans.measure import Batch
from engine.plans.member_counts import MAX_TOGETHER
from engine.plans.places import is_place
from engine.plans.term_reads import distinct_keys
from engine.plans.weights import Members
from engine.plans.window_size import (
    is_wide,
    members_at_most,
    rows_counted,
    unbounded,
    values_at_most,
    values_in_windows,
)
from engine.queries.values import MAX_MET, Ranking

MOST_FIGURES = 1_000_000  # that a report shows
MOST_COMPUTED = 4 * MOST_FIGURES  # that a ranking chooses from
MOST_GROUPS = 250_000  # combinations of members and periods in all scenarios, unless the caller of `run` decides
FIRST_DAYS = 31  # with rows, of which combinations are counted first; then twice as many each time
COUNTED = 20_000  # a report of fewer places is not counted more exactly than by its members and periods
MAX_UNCOUNTED = 1_000_000  # values that windows put together at most, where they are bounded and not counted
BYTES_A_PLACE, BYTES_A_FIGURE = 3_000, 300  # of memory while a report is made and answered
BYTES_A_COUNT = 200  # of a combination that is counted
BYTES_A_VALUE, BYTES_OF_MORE = 40, 14  # of a value that a window reads, and of each beyond MANY_VALUES
MANY_VALUES = 8_000_000
BYTES_A_SUM = 32
FEW_MEMBERS = 20_000  # a report that reads fewer members is not counted more exactly
BYTES_A_MEMBER, BYTES_SORTED = 30, 150  # of a member that is counted, and of those that are sorted together
MANY_MEMBERS = 2 * MAX_TOGETHER


class ReportSize(Struct, frozen=True):
    """How many figures a report is made of, and at how many places; all are upper bounds."""

    figures: int
    places: int
    values: int = 0  # that its windows read beyond sums; see window_size
    counted: int = 0  # combinations that are counted in each column before the size is known
    members: int = 0  # that a distinct count reads, each in each interval and class
    sums: int = 0  # of members and months that stay in frames

    @property
    def bytes(self) -> int:
        """The memory that the report takes while it is made, rounded high."""
        shown = self.places * BYTES_A_PLACE + self.figures * BYTES_A_FIGURE
        many = max(0, self.values - MANY_VALUES)
        read = (self.values - many) * BYTES_A_VALUE + many * BYTES_OF_MORE
        members = self.members * BYTES_A_MEMBER + min(self.members, MANY_MEMBERS) * BYTES_SORTED
        return shown + read + self.counted * BYTES_A_COUNT + self.sums * BYTES_A_SUM + members


def report_size(
    plan: FigurePlan,
    ranking: Ranking | None = None,
    most_groups: int = MOST_GROUPS,
    admit: Callable[[ReportSize], None] = lambda _: None,
) -> ReportSize:
    """Return the size of a report. Raises BadArguments if it is too large to show, or too large to compute.

    A report shows the combinations of members that hold rows. All combinations are an upper bound. Where it is too
    high, the combinations that hold rows are counted, until they are too many. What `top` leaves out is not shown, but
    it is computed. `admit` is called before anything is counted, with how much; what it raises ends the count.
    """
    if plan.framed and ranking is not None:
        return framed_size(plan, ranking.top or MAX_MET, admit)
    figures, columns = len(plan.rows) * plan.query.width, read_count(plan)
    groups = most_groups // max(columns, 1)
    folds = ranking is not None and (ranking.top is not None or bool(ranking.conditions))
    shown = (MOST_COMPUTED if folds else MOST_FIGURES) // max(figures, 1)
    most, each = min(groups, shown), places_of_each(plan)  # as many places fit, the total included
    totals = each if plan.query.nests else 1
    combinations = most_combinations(plan) if each else 0
    room = (most - totals) // max(each, 1)  # for combinations of members; below 0: there is no room for the total
    if combinations > room or (plan.axes and combinations * each > COUNTED):
        is_counted = plan.axes and room >= 0
        if is_counted:
            admit(ReportSize(0, 0, counted=min(combinations, room) * columns))
        known = combinations_within(plan, room) if is_counted else None
        if known is None:
            raise too_many(plan) if shown < groups else too_much_work(plan, most_groups)
        combinations = known
    places = combinations * each + totals
    size = ReportSize(places * figures, places)
    read = sum(min(values_at_most(batch, plan), MAX_UNCOUNTED) for batch in watched(plan.batches) if is_wide(batch))
    size = replace(size, values=read)
    for batch in unbounded(plan):
        admit(replace(size, counted=MOST_GROUPS))
        size = replace(size, values=size.values + values_in_windows(batch, plan))
    for batch in watched(plan.batches):
        members = members_at_most(batch, plan)
        if members > FEW_MEMBERS:
            admit(replace(size, counted=FEW_MEMBERS))
            members = min(members, rows_counted(batch, plan))
        size = replace(size, members=size.members + members)
    return size


def read_count(plan: FigurePlan) -> int:
    """Return how many columns are read: those of the query, and the sides that only operands of formulas read."""
    return len(plan.query.columns) + len(plan.reads.operand_sides)


def framed_size(plan: FigurePlan, top: int, admit: Callable[[ReportSize], None]) -> ReportSize:
    """Return the size of a ranked report whose sums stay in frames: what it shows, and the sums of all members.

    Of several dimensions most combinations hold no rows: where they are many, those that do are counted.
    """
    inner = prod(len(axis.ids) + plan.query.nests for axis in plan.axes[1:])
    places = (top + 1) * inner * places_of_each(plan) + 1
    size = ReportSize(places * len(plan.rows) * plan.query.width, places)
    combinations = prod(len(axis.ids) for axis in plan.axes)
    sums = sum(batch.splits.count * combinations * len(batch.bases) for batch in watched(plan.batches))
    if len(plan.axes) == 1 or sums <= MAX_UNCOUNTED:
        return replace(size, sums=sums)
    columns = read_count(plan)
    admit(ReportSize(0, 0, counted=min(combinations, MOST_GROUPS // columns - 1) * columns))
    return replace(size, sums=sum(sums_of(batch, plan) for batch in watched(plan.batches)))


def sums_of(batch: Batch, plan: FigurePlan) -> int:
    """Return how many sums of members and months a batch in frames holds: those that are kept, and those it reads."""
    counts = plan.reader.collect([read.pipe(lambda sums: sums.select(pl.len())) for read in batch.reads], plan.stop)
    read: int = sum(count.item() for count in counts)
    return (batch.rows_kept + read) * len(batch.bases)


def most_combinations(plan: FigurePlan) -> int:
    """Return how many combinations of members there are, those of sub-totals included."""
    sizes = [len(axis.ids) for axis in plan.axes]
    return sum(accumulate(sizes, mul)) if plan.query.nests else prod(sizes)


def places_of_each(plan: FigurePlan) -> int:
    """Return how many places each combination of members has at most; sub-totals also have one over all periods."""
    return periods_of(plan) + (plan.query.nests and bool(plan.query.time))


def periods_of(plan: FigurePlan) -> int:
    """Return how many periods each combination of members has, 1 without a breakdown by time; 0 without any."""
    return len(plan.times) if plan.query.time else min(len(plan.axes), 1)


def combinations_within(plan: FigurePlan, most: int) -> int | None:
    """Return how many combinations of members hold rows, None if more than `most`; one column often tells the latter.

    The count never exceeds the number of all combinations.
    """
    for counted in one_column(plan):
        if combinations_held(counted, most) > most:
            return None
    held = combinations_held(plan, most)
    return held if held <= most else None


def one_column(plan: FigurePlan) -> Iterator[FigurePlan]:
    """Yield the plan of one column over the whole range: the plan of all columns and periods reads its days as well.

    A window that replaces the range depends on the last period of the breakdown, so that such columns do not qualify.
    Operands with sides of their own may have such windows.
    """
    columns = plan.query.columns
    chosen = [column for column in columns if not any(side.has_window for side in column.reference.sides)]
    breakdown = tuple(dimension for dimension in plan.query.breakdown if not dimension.grain)
    if chosen and not plan.reads.operand_sides and (plan.query.time or len(columns) > 1):
        query = replace(plan.query, columns=tuple(chosen[:1]), breakdown=breakdown, time=())
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
    """Yield the combinations of members that hold rows, those of sub-totals included, as often as they are met."""
    for batch in plan.batches:
        if len(batch.group.axes) < len(plan.axes) and not plan.query.nests:
            continue  # its domain lacks a dimension, so that it holds no whole combination
        for group, held in classes_held(batch, plan):
            for classes in watched(held.iter_rows(), plan.stop):
                counted = group.members_in(classes, subtotals=batch.subtotals)
                yield from (members for members in counted if is_place(members, plan.query))


def classes_held(batch: Batch, plan: FigurePlan) -> Iterator[tuple[BaseGroup, pl.DataFrame]]:
    """Read and yield, some days of each term span at a time, its group and the combinations of classes with rows."""
    if batch.leaves:
        for group, sums in batch.by_class(plan.reader.collect(batch.term_reads, plan.stop)):
            yield group, sums.select(group.keys).unique()
        return
    presence, asked = plan.presences.of(batch.domain_read), batch.days
    for (term_span, group), read in zip(batch.terms, batch.term_reads, strict=True):
        days = [inside for span in asked if (inside := span.overlap(term_span.days))]
        for part in parts_of(read, days, presence):
            (held,) = plan.reader.collect([part.pipe(distinct_keys(group))], plan.stop)
            yield group, held


def parts_of(read: FactRead, inside: Sequence[Span], presence: Presence) -> Iterator[FactRead]:
    """Yield a read of sums or codes in parts of some days, each part about twice as long as the one before."""
    asked, count = read.asked, FIRST_DAYS
    if not isinstance(asked, Slice | DistinctSlice) or WITHOUT_DATE in asked.spans:
        yield read
        return
    days = [day for span in inside for day in presence.days(span)]
    while days:
        part = Span(days[0], days[min(count, len(days)) - 1])
        spans = tuple(overlap for span in inside if (overlap := span.overlap(part)))
        yield replace(read, asked=replace(asked, spans=spans))
        days, count = days[count:], 2 * count


def refuse_too_many_shown(plan: FigurePlan, places: int) -> None:
    """Raise BadArguments if a ranking shows more figures at its places than a report shows."""
    if places * len(plan.rows) * plan.query.width > MOST_FIGURES:
        raise too_many(plan)


def too_many(plan: FigurePlan) -> BadArguments:
    """Return the refusal of more figures than a report shows."""
    return too_large(plan, f"The report would have more than {MOST_FIGURES:,} figures, the most that one report shows")


def too_much_work(plan: FigurePlan, most: int) -> BadArguments:
    """Return the refusal of more groups of facts than a report computes."""
    said = f"The report would compute more than {most:,} combinations of members and periods, the most of one report"
    return too_large(plan, said)


def too_large(plan: FigurePlan, said: str) -> BadArguments:
    """Return a refusal: what the report is made of, and which dimension to filter."""
    sizes = {"rows": len(plan.rows), "scenarios": len(plan.query.columns)}
    sizes |= {f"members of {axis.key}": len(axis.ids) for axis in plan.axes}
    ways = ["ask for fewer scenarios, or for fewer metrics"]
    if plan.query.time:
        key = " and ".join(axis.dimension.key for axis in plan.query.time)
        sizes[f"periods of {key}"] = periods_of(plan)
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
        f"{said} ({'; '.join(f'{what}: {count:,}' for what, count in sizes.items())}). To get fewer, "
        f"{'; or '.join(ways)}.",
        field="dimensions",
        got=[dimension.key for dimension in plan.query.breakdown],
        example={"filters": {filtered.key: list(filtered.ids[:2])}} if filtered else None,
    )
