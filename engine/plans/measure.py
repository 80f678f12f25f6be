"""Measures: the batches of sums that a plan asks the store for."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, reduce
from math import prod
from operator import add, and_, or_

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import FactRead, Reader
from engine.model.aggregation import TimeRule
from engine.model.caching import cached_method
from engine.model.calendar.periods import Span
from engine.model.catalogue import Base
from engine.model.exact import ONE, ZERO
from engine.model.scenarios import TermSpan
from engine.model.scope import EVERYTHING, Cell
from engine.model.stopping import Stop, never, watched
from engine.plans.accumulators import AmountMemo, Amounts, BatchAmounts, interval_amounts
from engine.plans.aggregations import accumulators_of
from engine.plans.amount_table import AmountTable, ClassSums
from engine.plans.base_groups import BaseGroup, base_groups
from engine.plans.member_counts import GROUP, ClassPairs, CountedMembers, MemberCounts
from engine.plans.presence import Presences
from engine.plans.ranked_amounts import ranked_amounts
from engine.plans.term_reads import (
    LastKnownSplits,
    last_known_across,
    last_known_of_term,
    last_known_splits,
    read_of_term,
    sum_by_class,
)
from engine.plans.weights import Axis, Members, axis_of_leaves
from engine.plans.windows import DateWindow, DomainRead, IntervalSplits, Run, split_intervals
from engine.queries.values import Filter

# Batches: a batch splits the days of all its windows into intervals and sums each interval once by leaf class. A figure
# is the sum of the intervals of its window. If every window is made of whole months, the intervals are all months that
# hold rows. The books memoise the amounts of those that were read, for the cell that they were read within, and a later
# batch reads only the months that it needs and they lack.


MOST_MEMOISED = 200_000  # amounts of a batch that the books memoise: bases times members times months
MOST_ADDED = 20_000  # amounts of single leaves that are added up for a filter


class LeafAmounts(Struct, frozen=True, eq=False):
    """The batch of a leaf dimension's amounts, leaf by leaf, and the leaves that a filter keeps."""

    batch: "Batch"
    leaves: Collection[Members]
    members: Members  # of the sum

    def amounts(self, frames: Sequence[pl.DataFrame], stop: Stop) -> BatchAmounts:
        """Return the amounts of every base from the collected frames of the batch."""
        each = self.batch.amounts(frames, stop).by_base.items()
        return BatchAmounts({base: known.added(self.leaves, self.members) for base, known in each})


class BatchShape(Struct, frozen=True, eq=False, dict=True):
    """Bases of a domain read that share one query to the store, whatever the days. Reports share it."""

    domain_read: DomainRead
    alike: tuple[BaseGroup, ...]  # the same bases for each term span
    by_time: Mapping[int, tuple[Base, ...]]  # those that read the same windows, by the position of these
    within: Cell = EVERYTHING  # of the filters that narrow what is read and change nothing else
    leaf: str | None = None  # the leaf dimension of these filters, if they can be answered from its amounts
    weighing: tuple[Filter, ...] = ()  # the other filters
    subtotals: bool = False  # whether it sums those of its axes

    @property
    def bases(self) -> tuple[Base, ...]:
        """The bases, in the order of the group."""
        return self.alike[0].bases

    @cached_property
    def terms(self) -> tuple[tuple[TermSpan, BaseGroup], ...]:
        """The group of each term span."""
        return tuple(zip(self.domain_read.term_spans, self.alike, strict=True))

    @cached_property
    def times(self) -> Mapping[Base, int]:
        """The position of the windows that each base reads."""
        return {base: at for at, bases in self.by_time.items() for base in bases}


class Batch(Struct, frozen=True, eq=False, dict=True):
    """A batch shape and the days of its windows: one query to the store."""

    shape: BatchShape
    windows: Sequence[Sequence[DateWindow]]  # by position
    splits: IntervalSplits
    terms: tuple[tuple[TermSpan, BaseGroup], ...]
    leaves: tuple[str, ...] = ()  # of the domain, for last known values
    index: int | None = None  # of the only term span whose sums count; None: all count
    memo: AmountMemo | None = None
    by_leaf: LeafAmounts | None = None  # what answers a filter, if the books may have it

    @property
    def domain_read(self) -> DomainRead:
        """What it reads of its domain."""
        return self.shape.domain_read

    @property
    def group(self) -> BaseGroup:
        """The base group of the first term."""
        return self.terms[0][1]

    @property
    def bases(self) -> tuple[Base, ...]:
        """The bases, in the order of the group."""
        return self.shape.bases

    @property
    def subtotals(self) -> bool:
        """Whether it sums the sub-totals of its axes."""
        return self.shape.subtotals

    @property
    def compares(self) -> bool:
        """Whether the last known values of several terms are compared, leaf by leaf."""
        return isinstance(self.splits, LastKnownSplits) and len(self.terms) > 1

    @cached_property
    def term_reads(self) -> tuple[FactRead, ...]:
        """What each term span reads: by interval and the class of every key; by leaf if the terms are compared."""
        return tuple(self._read(*term).within(self.shape.within) for term in self.terms)

    def _read(self, term_span: TermSpan, group: BaseGroup) -> FactRead:
        if isinstance(self.splits, LastKnownSplits):
            alone = len(self.terms) == 1
            return last_known_of_term(self.domain_read, term_span, self.splits, group, self.leaves, alone=alone)
        return read_of_term(
            self.domain_read, term_span, [self.splits.spans[at] for at in watched(self._read_at)], group
        )

    @property
    def _read_at(self) -> Sequence[int]:
        """The positions of the intervals to read."""
        every = range(self.splits.count)
        return [at for at in watched(every) if self.lacking >> at & 1] if self.memo else every

    @cached_property
    def months(self) -> int:
        """The months from the first to the last that any window reads, as bits; the first if none reads any."""
        reach = reduce(or_, (self.splits.together(tuple(self.windows[at])).reach for at in self.shape.by_time))
        first = reach & -reach
        return (1 << reach.bit_length()) - first if reach else 1

    @cached_property
    def lacking(self) -> int:
        """The months that the memo does not hold: what it lacks when the batch is first asked."""
        return self.memo.lacks(self.months, subtotals=self.subtotals) if self.memo else 0

    def covers(self, windows: Sequence[DateWindow]) -> bool:
        """Tell whether the amounts of the batch answer other windows, too: those of months that it asked for do."""
        whole = all(span.is_whole_months for window in watched(windows) for span in window.spans)
        return bool(self.memo) and whole and not self.splits.together(tuple(windows)).reach & ~self.months

    @property
    def reads(self) -> tuple[FactRead, ...]:
        """What to collect: the months that the memo lacks."""
        if self.memo and not self.lacking:
            return ()
        return self.by_leaf.batch.reads if self.by_leaf else self.term_reads

    @property
    def rows_kept(self) -> int:
        """How many rows of the sums that it needs the books keep in frames."""
        return 0

    @property
    def days(self) -> tuple[Span, ...]:
        """The days of all windows."""
        return split_intervals(distinct_windows(self.shape, self.windows))

    def only(self, index: int) -> "Batch":
        """Return the batch of one term span alone. It still reads the others if the terms are compared."""
        if self.compares or len(self.terms) == 1:
            return replace(self, index=index)
        return replace(self, terms=self.terms[index : index + 1], memo=None, by_leaf=None)

    def by_class(self, frames: Sequence[pl.DataFrame]) -> list[tuple[BaseGroup, pl.DataFrame]]:
        """Return the group and the sums by class of every term span that counts, from the collected frames."""
        groups = [group for _, group in self.terms]
        if not self.compares:
            return list(zip(groups, frames, strict=True))
        last = zip(groups, last_known_across(frames, self.leaves), strict=True)
        found = [(group, sum_by_class(frame.lazy(), group).collect(engine="in-memory")) for group, frame in last]
        return found if self.index is None else found[self.index : self.index + 1]

    def amounts(self, frames: Sequence[pl.DataFrame], stop: Stop = never) -> BatchAmounts:
        """Return the amounts of every base from the collected frames of `reads`."""
        found = self.memo.amounts(self.months, subtotals=self.subtotals) if self.memo else None
        if found is None:
            found = self.by_leaf.amounts(frames, stop) if self.by_leaf else self._amounts(frames, stop)
            if self.memo:
                months = self.months if self.by_leaf else self.lacking
                found = self.memo.add(months, found, subtotals=self.subtotals)
        return found

    def _amounts(self, frames: Sequence[pl.DataFrame], stop: Stop) -> BatchAmounts:
        return self.amounts_in([ClassSums(*each) for each in self.by_class(frames)], self._read_at, stop)

    def amounts_in(self, sums: Iterable[ClassSums], read: Sequence[int], stop: Stop = never) -> BatchAmounts:
        """Return the amounts of every base from sums by class of the intervals that were read."""
        if self.group.counted:
            return counted_amounts(self, sums, stop)
        if self.group.ranked:
            return ranked_amounts(sums, stop, subtotals=self.subtotals)
        found = AmountTable(read, self.splits.count, subtotals=self.subtotals)
        for each in sums:
            found.add(each, stop)
        return BatchAmounts(
            {
                base: Amounts(
                    base,
                    10**base.measure.places * self.group.denominators[position],
                    [
                        {
                            members: interval_amounts(accumulator, by_interval, read)
                            for members, by_interval in watched(found.amounts[position, place].items(), stop)
                        }
                        for place, accumulator in enumerate(accumulators_of(base))
                    ],
                )
                for position, base in enumerate(self.bases)
            }
        )

    def runs(self, base: Base) -> Sequence[Run]:
        """Return the distinct runs of all windows of a base."""
        return self._runs_at(self.shape.times[base])

    @cached_method
    def _runs_at(self, position: int) -> Sequence[Run]:
        every = (run for window in watched(self.windows[position]) for run in self.splits.runs(window))
        return tuple(dict.fromkeys(every))


def counted_amounts(batch: Batch, codes: Iterable[ClassSums], stop: Stop) -> BatchAmounts:
    """Return the amounts of bases that count members, from the codes that have rows by interval and class."""
    numbers: dict[tuple[int, Members], int] = {}  # of each base, by position, and members of the axes
    classes = []
    for group, pairs, _ in watched(codes):
        keys = group.keys
        combinations = pairs.select(keys).unique() if keys else pairs.select(pl.lit(0)).head(1)
        counts_in: list[tuple[int, ...]] = []
        for combination in watched(combinations.iter_rows(), stop):
            own = combination if keys else ()
            places = group.counted_in(own, subtotals=batch.subtotals)
            counts_in += [(*own, numbers.setdefault(place, len(numbers))) for place in watched(places, stop)]
        schema = {key: pairs.schema[key] for key in keys} | {GROUP: pl.UInt32}
        classes.append(ClassPairs(pairs, pl.DataFrame(counts_in, schema, orient="row"), keys))
    windows = [batch.splits.runs(window) for window in watched(distinct_windows(batch.shape, batch.windows))]
    windows += [batch.runs(bases[0]) for bases in batch.shape.by_time.values()] if batch.group.axes else []
    counts = MemberCounts(classes, batch.splits.count, batch.group.leaf_counts[str(batch.group.counted)], windows)
    groups: list[dict[Members, int]] = [{} for _ in batch.bases]
    for (position, members), number in watched(numbers.items(), stop):
        groups[position][members] = number
    each = zip(batch.bases, groups, strict=True)
    return BatchAmounts({base: Amounts(base, 1, (), CountedMembers(of_base, counts)) for base, of_base in each})


def batch_shapes(
    domain_read: DomainRead,
    by_time: Sequence[tuple[Base, ...]],
    axes: Sequence[Axis],
    places: int,
    filters: Sequence[Filter],
    reader: Reader,
    *,
    subtotals: bool = False,
) -> list[BatchShape]:
    """Return the shapes of the batches that read some bases of a domain read, perhaps with sub-totals.

    `by_time` holds together the bases that read the same windows.
    """
    bases = [base for alike in by_time for base in alike]
    variants = [term_span.term.variant for term_span in domain_read.term_spans]
    narrowing = {known.dimension.key for known in filters if not any(variants) and narrows(known, bases, axes, reader)}
    within = reduce(and_, (known.cell for known in filters if known.dimension.key in narrowing), EVERYTHING)
    weighing = [known for known in filters if known.dimension.key not in narrowing]
    leaves = {known.dimension.leaf for known in filters if known.dimension.key in narrowing}
    nested = subtotals and len(axes) > 1
    found = []
    for alike in base_groups(bases, axes, places, weighing, variants, reader):
        own = set(alike[0].bases)
        times = {at: kept for at, known in enumerate(by_time) if (kept := tuple(filter(own.__contains__, known)))}
        leaf = next(iter(leaves)) if len(leaves) == 1 and not axes else None
        found.append(BatchShape(domain_read, alike, times, within, leaf, tuple(weighing), nested))
    return found


def narrows(known: Filter, bases: Sequence[Base], axes: Sequence[Axis], reader: Reader) -> bool:
    """Tell whether a filter leaves all weights, classes and members as they are: nothing else uses its leaves."""
    catalogue, leaf = reader.catalogue, known.dimension.leaf

    def restricted() -> frozenset[str]:
        return frozenset(catalogue.dimensions[cut.dimension].leaf for base in bases for cut in base.where)

    return (
        leaf in catalogue.leaves_of(bases[0].domain)
        and all(axis.leaf != leaf for axis in axes)
        and leaf not in reader.memo(("restricted", tuple(bases)), restricted, len(bases))
        and (known.weighs_alike or all(weight in (ONE, ZERO) for weight in watched(known.leaves.values())))
    )


def batch_of(shape: BatchShape, windows: Sequence[Sequence[DateWindow]], presences: Presences) -> Batch:
    """Return the batch of a shape over the windows at its positions."""
    domain_read, reader, first = shape.domain_read, presences.reader, shape.bases[0]
    distinct = distinct_windows(shape, windows)
    if first.over_time.rule is TimeRule.LAST_KNOWN:
        last_known = last_known_splits(domain_read, first, distinct, presences)
        return Batch(shape, windows, last_known, shape.terms, reader.catalogue.leaves_of(domain_read.domain))
    months = months_with_rows(domain_read, distinct, presences)
    each = prod(len(axis.ids) + 1 for axis in shape.alike[0].axes) * (months.count if months else 0)
    if not months or first.counted or first.ranked or len(shape.bases) * each > MOST_MEMOISED:
        splits = IntervalSplits(split_intervals(distinct, domain_read.boundaries))
        return Batch(shape, windows, splits, shape.terms)
    memo = amount_memo(shape, months, len(shape.bases) * each, presences)
    batch = Batch(shape, windows, months, shape.terms, memo=memo)
    return batch if shape.leaf is None or not batch.lacking else with_leaves(batch, shape.leaf, presences)


def amount_memo(shape: BatchShape, months: IntervalSplits, amounts: int, presences: Presences) -> AmountMemo:
    """Return the memo of the amounts of a batch inside a cell by month, for all who see the same of it.

    Who sees more outside the cell may see rows in more months: their amounts are others.
    """
    read, within = shape.domain_read, shape.within
    cells = tuple(presences.cell(read, term_span) & within for term_span in read.term_spans)
    return presences.reader.memo(("amounts", read, shape.alike, cells, months), AmountMemo, amounts)


def with_leaves(batch: Batch, leaf: str, presences: Presences) -> Batch:
    """Return a batch that adds up the amounts of the leaves that its filter keeps, if that is less than to read them.

    The first filter by a leaf dimension reads its own rows. From the second one on, the amounts of all leaves are read
    and kept once. Then any filter by the dimension is a sum of amounts that the books have.
    """
    shape, reader = batch.shape, presences.reader
    count, amounts = reader.leaf_count(leaf), len(batch.bases) * batch.splits.count
    codes = shape.within.granted(leaf).codes
    if not codes:
        return batch
    if count * amounts > MOST_MEMOISED or len(codes) * amounts > MOST_ADDED:
        return batch
    if not all(part.combine is add for base in batch.bases for part in accumulators_of(base)):
        return batch
    first = reader.memo(("first filter", shape.domain_read, shape.alike, leaf), lambda: shape.within)
    if shape.within == first:
        return batch
    axis = reader.memo(("each leaf", leaf), lambda: axis_of_leaves(leaf, count), count)
    variants = [term_span.term.variant for term_span, _ in batch.terms]
    (alike,) = base_groups(batch.bases, [axis], 1, shape.weighing, variants, reader)
    each = BatchShape(shape.domain_read, alike, shape.by_time)
    memo = amount_memo(each, batch.splits, count * amounts, presences)
    whole = Batch(each, batch.windows, batch.splits, each.terms, memo=memo)
    members = [(str(code),) for code in watched(codes)]
    return replace(batch, by_leaf=LeafAmounts(whole, members, (None,) * batch.group.places))


def distinct_windows(shape: BatchShape, windows: Sequence[Sequence[DateWindow]]) -> list[DateWindow]:
    """Return the distinct windows that a shape reads of those at some positions."""
    return list(dict.fromkeys(window for at in shape.by_time for window in watched(windows[at])))


def months_with_rows(
    domain_read: DomainRead, windows: Sequence[DateWindow], presences: Presences
) -> IntervalSplits | None:
    """Return all calendar months that hold rows of a domain read, None if there are none.

    Nor are there any if a window or a term cuts a month, or if none lasts.
    """
    spans = (span for window in watched(windows) for span in window.spans)
    if any(day.day != 1 for day in domain_read.boundaries) or not all(span.is_whole_months for span in spans):
        return None
    found = presences.of(domain_read)
    return presences.months(domain_read) if found.lasts and found.months else None


def held_members(amounts: Iterable[tuple[Batch, BatchAmounts]]) -> AbstractSet[Members]:
    """Return the combinations of members that hold rows in the amounts of some batches."""
    found: set[Members] = set()
    for batch, held in amounts:
        for base, known in held.by_base.items():
            found.update(known.members(batch.runs(base), found))
    return found
