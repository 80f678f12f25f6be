"""Measures: the batches of sums that a plan asks the store for."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from operator import add, and_, or_

import polars as pl

from engine.books.reader import FactRead, Reader
from engine.model.aggregation import TimeRule
from engine.model.calendar.periods import Span
from engine.model.catalogue import Base
from engine.model.exact import ONE, ZERO
from engine.model.scenarios import TermSpan
from engine.model.scope import EVERYTHING, Cell
from engine.model.stopping import Stop, never, watched
from engine.plans.accumulators import ACCUMULATORS, Amount, AmountMemo, Amounts, BatchAmounts, interval_amounts
from engine.plans.base_groups import AccumulatorTarget, BaseGroup, base_groups
from engine.plans.presence import Presences
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


@dataclass(eq=False)
class LeafFilters:
    """The filters by one leaf dimension that were asked of a batch."""

    first: Cell | None = None

    def others(self, within: Cell) -> bool:
        """Tell whether a filter is not the first; remember the first."""
        if self.first is None:
            self.first = within
        return self.first != within


@dataclass(frozen=True, eq=False)
class LeafAmounts:
    """The batch of a leaf dimension's amounts, leaf by leaf, and the leaves that a filter keeps."""

    batch: "Batch"
    leaves: Collection[Members]
    members: Members  # of the sum

    def amounts(self, frames: Sequence[pl.DataFrame], stop: Stop) -> BatchAmounts:
        """Return the amounts of every base from the collected frames of the batch."""
        each = self.batch.amounts(frames, stop).items()
        return BatchAmounts((base, known.added(self.leaves, self.members)) for base, known in each)


@dataclass(frozen=True, eq=False)
class Batch:
    """Bases of a domain read that share one query to the store."""

    domain_read: DomainRead
    terms: tuple[tuple[TermSpan, BaseGroup], ...]
    windows: Mapping[Base, Sequence[DateWindow]]
    splits: IntervalSplits
    leaves: tuple[str, ...] = ()  # of the domain, for last known values
    index: int | None = None  # of the only term span whose sums count; None: all count
    memo: AmountMemo | None = None
    within: Cell = EVERYTHING  # of the filters that narrow what is read and change nothing else
    by_leaf: LeafAmounts | None = None  # what answers such a filter, if the books may have it
    subtotals: bool = False  # whether it sums those of its axes

    @property
    def group(self) -> BaseGroup:
        """The base group of the first term."""
        return self.terms[0][1]

    @property
    def bases(self) -> tuple[Base, ...]:
        """The bases, in the order of the group."""
        return tuple(self.windows)

    @cached_property
    def alike(self) -> Sequence[tuple[Base, ...]]:
        """The bases, those with the same windows together."""
        by_windows: dict[int, list[Base]] = defaultdict(list)
        for base, windows in self.windows.items():
            by_windows[id(windows)].append(base)
        return list(map(tuple, by_windows.values()))

    @property
    def compares(self) -> bool:
        """Whether the last known values of several terms are compared, leaf by leaf."""
        return isinstance(self.splits, LastKnownSplits) and len(self.terms) > 1

    @cached_property
    def term_reads(self) -> tuple[FactRead, ...]:
        """What each term span reads: by interval and the class of every key; by leaf if the terms are compared."""
        return tuple(self._read(*term).within(self.within) for term in self.terms)

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
        distinct = {id(listed): listed for listed in self.windows.values()}.values()
        reach = reduce(or_, (self.splits.together(tuple(listed)).reach for listed in distinct))
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
    def days(self) -> tuple[Span, ...]:
        """The days of all windows."""
        return split_intervals(distinct_windows(self.windows))

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
        read = self._read_at
        found = AmountTable(read, self.splits.count, subtotals=self.subtotals)
        for group, frame in self.by_class(frames):
            found.add(group, frame, stop)
        return BatchAmounts(
            (
                base,
                Amounts(
                    base,
                    10**base.measure.places * self.group.denominators[position],
                    [
                        {
                            members: interval_amounts(accumulator, by_interval, read)
                            for members, by_interval in watched(found.amounts[position, place].items(), stop)
                        }
                        for place, accumulator in enumerate(ACCUMULATORS[base.over_members])
                    ],
                ),
            )
            for position, base in enumerate(self.bases)
        )

    def runs(self, base: Base) -> Sequence[Run]:
        """Return the distinct runs of all windows of a base."""
        windows = self.windows[base]
        known = self._runs.get(id(windows))
        if known is None:
            every = (run for window in watched(windows) for run in self.splits.runs(window))
            known = self._runs[id(windows)] = tuple(dict.fromkeys(every))
        return known

    @cached_property
    def _runs(self) -> dict[int, Sequence[Run]]:
        return {}


class AmountTable:
    """Adds rows of sums up to amounts by base, accumulator, members and interval."""

    def __init__(self, read: Sequence[int], count: int, *, subtotals: bool) -> None:
        self._read, self._count, self._subtotals = read, count, subtotals
        self.amounts: dict[tuple[int, int], dict[Members, list[Amount | None]]] = defaultdict(dict)

    def add(self, group: BaseGroup, sums: pl.DataFrame, stop: Stop) -> None:
        """Add the rows of one frame."""
        width = 1 + len(group.keys)
        columns = {name: place for place, name in enumerate(sums.columns)}
        known: dict[tuple[int, ...], list[tuple[list[Amount | None], int, AccumulatorTarget]]] = {}
        for row in watched(sums.iter_rows(), stop):
            classes = row[1:width]
            counted = known.get(classes)
            if counted is None:
                counted = known[classes] = [
                    (self._by_interval(target), columns[target.column], target)
                    for target in group.targets(classes, subtotals=self._subtotals)
                ]
            interval = self._read[row[0]]
            for by_interval, column, target in counted:
                if row[column] is None:  # rows without this amount alone
                    continue
                amount = row[column] * target.weight if target.weight is not None else frozenset(row[column])
                so_far = by_interval[interval]
                by_interval[interval] = amount if so_far is None else target.combine(so_far, amount)

    def _by_interval(self, target: AccumulatorTarget) -> list[Amount | None]:
        by_member = self.amounts[target.position, target.accumulator]
        return by_member.setdefault(target.members, [None] * self._count)


def batches(
    domain_read: DomainRead,
    windows: Mapping[Base, Sequence[DateWindow]],
    axes: Sequence[Axis],
    places: int,
    filters: Sequence[Filter],
    presences: Presences,
    *,
    subtotals: bool = False,
) -> list[Batch]:
    """Return the batches that read some bases of a domain read, each over its windows, perhaps with sub-totals."""
    bases, reader = list(windows), presences.reader
    variants = [term_span.term.variant for term_span in domain_read.term_spans]
    narrowing = {known.dimension.key for known in filters if not any(variants) and narrows(known, bases, axes, reader)}
    cells = [known.cell for known in filters if known.dimension.key in narrowing]
    weighing = [known for known in filters if known.dimension.key not in narrowing]
    within = reduce(and_, cells, EVERYTHING)
    found = [
        batch_of(domain_read, {bases[at]: windows[bases[at]] for at in alike[0].positions}, alike, within, presences)
        for alike in base_groups(bases, axes, places, weighing, variants, reader)
    ]
    leaves = {known.dimension.leaf for known in filters if known.dimension.key in narrowing}
    if subtotals and len(axes) > 1:
        return [replace(batch, subtotals=True) for batch in found]
    if len(leaves) != 1 or axes:
        return found
    (leaf,) = leaves
    return [with_leaves(batch, leaf, presences) for batch in found]


def narrows(known: Filter, bases: Sequence[Base], axes: Sequence[Axis], reader: Reader) -> bool:
    """Tell whether a filter leaves all weights, classes and members as they are: nothing else uses its leaves."""
    catalogue, leaf = reader.catalogue, known.dimension.leaf

    def restricted() -> frozenset[str]:
        return frozenset(catalogue.dimensions[cut.dimension].leaf for base in bases for cut in base.where)

    return (
        leaf in catalogue.leaves_of(bases[0].domain)
        and all(axis.leaf != leaf for axis in axes)
        and leaf not in reader.memo(("restricted", tuple(bases)), restricted, len(bases))
        and all(weight is ONE or weight in (ONE, ZERO) for weight in watched(known.leaves.values()))
    )


def batch_of(
    domain_read: DomainRead,
    windows: Mapping[Base, Sequence[DateWindow]],
    alike: Sequence[BaseGroup],
    within: Cell,
    presences: Presences,
) -> Batch:
    """Return one batch inside a cell. `alike` holds the group of the same bases for each term span."""
    reader, first = presences.reader, next(iter(windows))
    terms, distinct = tuple(zip(domain_read.term_spans, alike, strict=True)), distinct_windows(windows)
    if first.over_time.rule is TimeRule.LAST_KNOWN:
        last_known = last_known_splits(domain_read, first, distinct, presences)
        leaves = reader.catalogue.leaves_of(domain_read.domain)
        return Batch(domain_read, terms, windows, last_known, leaves, within=within)
    months = months_with_rows(domain_read, distinct, presences)
    amounts = len(windows) * prod(len(axis.ids) + 1 for axis in alike[0].axes) * (months.count if months else 0)
    if not months or first.counted or amounts > MOST_MEMOISED:
        splits = IntervalSplits(split_intervals(distinct, domain_read.boundaries))
        return Batch(domain_read, terms, windows, splits, within=within)
    memo = amount_memo(domain_read, alike, within, months, amounts, presences)
    return Batch(domain_read, terms, windows, months, memo=memo, within=within)


def amount_memo(
    domain_read: DomainRead,
    alike: Sequence[BaseGroup],
    within: Cell,
    months: IntervalSplits,
    amounts: int,
    presences: Presences,
) -> AmountMemo:
    """Return the memo of the amounts of a batch inside a cell by month, for all who see the same of it.

    Who sees more outside the cell may see rows in more months: their amounts are others.
    """
    cells = tuple(presences.cell(domain_read, term_span) & within for term_span in domain_read.term_spans)
    return presences.reader.memo(("amounts", domain_read, tuple(alike), cells, months), AmountMemo, amounts)


def with_leaves(batch: Batch, leaf: str, presences: Presences) -> Batch:
    """Return a batch that adds up the amounts of the leaves that its filter keeps, if that is less than to read them.

    The first filter by a leaf dimension reads its own rows. From the second one on, the amounts of all leaves are read
    and kept once. Then any filter by the dimension is a sum of amounts that the books have.
    """
    count, amounts = presences.reader.leaf_count(leaf), len(batch.windows) * batch.splits.count
    codes = batch.within.granted(leaf).codes
    if not batch.lacking or not codes:
        return batch
    if count * amounts > MOST_MEMOISED or len(codes) * amounts > MOST_ADDED:
        return batch
    if not all(part.combine is add for base in batch.bases for part in ACCUMULATORS[base.over_members]):
        return batch
    read, groups, reader = batch.domain_read, tuple(group for _, group in batch.terms), presences.reader
    asked = reader.memo(("filters asked", read, groups, leaf), LeafFilters)
    if not asked.others(batch.within):
        return batch
    axis = reader.memo(("each leaf", leaf), lambda: axis_of_leaves(leaf, count), count)
    known = batch.group
    variants = [term_span.term.variant for term_span, _ in batch.terms]
    (alike,) = base_groups(batch.bases, [axis], 1, known.filters, variants, reader)
    memo = amount_memo(read, alike, EVERYTHING, batch.splits, count * amounts, presences)
    terms = tuple(zip(read.term_spans, alike, strict=True))
    whole = Batch(read, terms, batch.windows, batch.splits, memo=memo)
    members = [(str(code),) for code in codes]
    return replace(batch, by_leaf=LeafAmounts(whole, members, (None,) * known.places))


def distinct_windows(windows: Mapping[Base, Sequence[DateWindow]]) -> list[DateWindow]:
    """Return the distinct windows of some bases, most of which share their list of windows."""
    read = {id(listed): listed for listed in windows.values()}
    return list(dict.fromkeys(window for listed in read.values() for window in watched(listed)))


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
