"""Window size: how many values the windows of figures that do not add up read, from counts alone.

Sums of windows that overlap are differences of two cumulated sums. The last rows of leaves, the least and largest
amounts and closes, and percentiles are not: each window reads the values of all its days anew. A report whose windows
read too many is refused before any amount is read. Members are counted in one pass, however many windows there are:
what is read bounds them.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import prod
from operator import add

import polars as pl
from msgspec.structs import replace

from engine.books.reader import FactRead
from engine.model.calendar.periods import DAY, Span
from engine.model.errors import BadArguments
from engine.model.fact_store import MAX_MEMBERS, MOST_GROUPS, ROWS, SPAN, VALUE, LastKnownSlice, Slice
from engine.model.stopping import watched
from engine.plans.aggregations import accumulators_of
from engine.plans.base_groups import BaseGroup
from engine.plans.figures import FigurePlan
from engine.plans.measure import Batch, distinct_windows
from engine.plans.term_reads import LastKnownSplits, spans_of_term

MAX_LAST_KNOWN = 50_000_000  # leaves that the windows of a report find the last rows of, each in each window
MAX_COMPARED = 10_000_000  # the same where each leaf and window is a row, so that scenarios of a blend are compared
FEW_LAST_KNOWN = 31  # windows
MOST_COMBINED = 50_000_000  # amounts that windows put together, each in each interval of each window


def values_in_windows(batch: Batch, plan: FigurePlan) -> int:
    """Return how many values the windows of a batch read. Raises BadArguments if they are more than a report reads."""
    held = count_of(batch)(batch, plan)
    if held > most_of(batch):
        raise too_many_values(batch, held, plan)
    return held


def count_of(batch: Batch) -> Callable[[Batch, FigurePlan], int]:
    """Return what counts the values that the windows of a batch read."""
    if batch.group.ranked:
        return amounts_ranked
    return leaves_held if is_last_known(batch) else members_held


def unbounded(plan: FigurePlan) -> Iterator[Batch]:
    """Yield the batches whose windows may read too many values; the members that there are tell that most do not."""
    for batch in watched(plan.batches):
        is_above = (is_last_known(batch) or combines(batch)) and values_at_most(batch, plan) > most_of(batch)
        if batch.group.ranked or is_above:
            yield batch


def is_last_known(batch: Batch) -> bool:
    """Tell whether a batch reads last known values."""
    return isinstance(batch.splits, LastKnownSplits)


def combines(batch: Batch) -> bool:
    """Tell whether the windows of a batch put values together that do not add up; months that are kept are few."""
    if batch.memo is not None:
        return False
    parts = (part for base in batch.bases for part in accumulators_of(base))
    return any(base.over_time.choose for base in batch.bases) or any(part.combine is not add for part in parts)


def is_wide(batch: Batch) -> bool:
    """Tell whether the values that a batch reads count towards the size of its report, even where nothing counts them.

    Last known values of few windows do not: members of many dimensions bound their leaves from far above.
    """
    return combines(batch) or (is_last_known(batch) and batch.splits.count > FEW_LAST_KNOWN)


def most_of(batch: Batch) -> int:
    """Return how many values the windows of a batch may read."""
    if batch.compares:
        return MAX_COMPARED
    return MAX_LAST_KNOWN if is_last_known(batch) else MOST_COMBINED


def values_at_most(batch: Batch, plan: FigurePlan) -> int:
    """Return an upper bound of the values that the windows of a batch read."""
    if is_last_known(batch):
        return batch.splits.count * min(prod(map(plan.reader.leaf_count, batch.leaves)), MOST_GROUPS)
    values = batch.splits.count * prod(map(plan.reader.leaf_count, batch.group.keys))
    return max(times_read(batch), default=0) * len(batch.bases) * min(values, MOST_GROUPS)


def times_read(batch: Batch) -> Sequence[int]:
    """Return how many windows read each interval."""
    steps = [0] * (batch.splits.count + 1)
    for window in watched(distinct_windows(batch.shape, batch.windows)):
        for first, after in watched(batch.splits.runs(window)):
            steps[first] += 1
            steps[after] -= 1
    return list(accumulate(watched(steps[:-1])))


def leaves_held(batch: Batch, plan: FigurePlan) -> int:
    """Return how many leaves hold rows on the days of a batch, times its windows."""
    reads = [leaves_read(read, read.asked) for read in batch.term_reads if isinstance(read.asked, LastKnownSlice)]
    held: int = sum(frame.item() for frame in plan.reader.collect(reads, plan.stop))
    return batch.splits.count * held


def leaves_read(read: FactRead, last: LastKnownSlice) -> FactRead:
    """Return the read that counts the leaves with rows in any window of last known values."""
    windows = (tuple(range(len(last.spans))),)
    every = replace(last, windows=windows, keys=last.leaves, aggregates=(), groups={})
    return FactRead(every, read.cut, read.sides).pipe(lambda found: found.select(pl.len()))


def members_held(batch: Batch, plan: FigurePlan) -> int:
    """Return how many amounts the windows of a batch put together, each as often as one reads it."""
    times, found = times_read(batch), 0
    for (_, group), read in zip(batch.terms, batch.term_reads, strict=True):
        (frame,) = plan.reader.collect([read.pipe(values_by_class(group))], plan.stop)
        for at, *classes, values in watched(frame.iter_rows(), plan.stop):
            found += times[at] * values * len(group.targets(tuple(classes), subtotals=batch.subtotals))
    return found


def amounts_ranked(batch: Batch, plan: FigurePlan) -> int:
    """Return how many amounts the windows of a batch rank at most, each as often as one reads it."""
    return rows_counted(batch, plan) * max(times_read(batch), default=0)


def values_by_class(group: BaseGroup) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    """Return the step that counts the amounts of each interval and class."""
    return lambda sums: sums.select(SPAN, *group.keys, pl.lit(1).alias(VALUE))


def members_at_most(batch: Batch, plan: FigurePlan) -> int:
    """Return an upper bound of the members that a batch reads, each in each interval and class; 0 if it counts none."""
    if batch.group.counted is None:
        return 0
    leaves = dict.fromkeys((*batch.group.keys, batch.group.counted))
    return min(batch.splits.count * prod(map(plan.reader.leaf_count, leaves)), MAX_MEMBERS)


def rows_counted(batch: Batch, plan: FigurePlan) -> int:
    """Return how many rows there are on the days that a batch reads: no read of members finds more of them."""
    shape, reads = batch.shape, []
    for term_span, group in batch.terms:
        spans, _ = spans_of_term(term_span, batch.splits.spans)
        question = Slice(
            domain=shape.domain_read.domain,
            scenario=term_span.term.scenario.id,
            spans=adjoined(spans),
            keys=(),
            aggregates=(),
        )
        read = FactRead(question, group.cut, shape.domain_read.shared).within(shape.within)
        reads.append(read.pipe(lambda rows: rows.select(pl.col(ROWS).sum())))
    return sum(int(frame.item()) for frame in plan.reader.collect(reads, plan.stop))


def adjoined(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return the same days as ascending spans, no two of which adjoin."""
    wider: list[Span] = []
    for span in watched(spans):
        if wider and wider[-1].last + DAY == span.first:
            wider[-1] = Span(wider[-1].first, span.last)
        else:
            wider.append(span)
    return tuple(wider)


def too_many_values(batch: Batch, found: int, plan: FigurePlan) -> BadArguments:
    """Return the refusal of windows that read more values than one report reads."""
    what = "last known values" if is_last_known(batch) else "amounts"
    windows = len(distinct_windows(batch.shape, batch.windows))
    ways = ["choose a shorter range"]
    if plan.query.time:
        ways = [f"break down by longer periods than {plan.query.time[-1].dimension.key}, such as months", *ways]
    ways.append("filter a dimension")
    return BadArguments(
        f"The {windows:,} windows of the report would read {found:,} {what}, more than the {most_of(batch):,} that one "
        f"report reads. To get fewer, {'; or '.join(ways)}.",
        field="dimensions" if plan.query.time else "period_start",
        got=[dimension.key for dimension in plan.query.breakdown],
    )
