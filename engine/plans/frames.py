"""Frames: the sums of a batch by leaf class, which stay columns of integers until the members that are shown are known.

A ranking shows few of many members. Polars adds up the sums of all of them; only those that are shown become amounts.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property, partial

import polars as pl
from msgspec import Struct

from engine.books.books import MEMBER_BYTES
from engine.books.reader import FactRead
from engine.model.aggregation import MemberAggregation, TimeRule
from engine.model.catalogue import Base
from engine.model.fact_store import ROWS, SPAN
from engine.model.stopping import Stop, never, watched
from engine.plans.accumulators import BatchAmounts
from engine.plans.aggregations import accumulators_of
from engine.plans.amount_table import ClassSums
from engine.plans.base_groups import BaseGroup
from engine.plans.class_members import FACTOR, MEMBER, ClassMembers, NotInFrames, type_of
from engine.plans.measure import Batch, BatchShape, batch_of, distinct_windows, months_with_rows
from engine.plans.presence import Presences
from engine.plans.term_reads import sum_by_group
from engine.plans.windows import DateWindow, IntervalSplits, Run, split_intervals

AMOUNT = "amount"  # of a member
COMBINED = {MemberAggregation.MIN: pl.col(AMOUNT).min(), MemberAggregation.MAX: pl.col(AMOUNT).max()}  # others add up


class FramedSums(Struct, frozen=True, eq=False, dict=True):
    """The sums of a batch by leaf class: a frame for each term span that counts, SPAN the position of the interval."""

    batch: Batch
    frames: Sequence[tuple[ClassMembers, pl.DataFrame]]

    @cached_property
    def magnitudes(self) -> Mapping[str, int]:
        """Of each column of sums, the sum of the absolute amounts of all rows."""
        totals: dict[str, int] = {}
        for classes, frame in self.frames:
            columns = [column for column in frame.columns if column not in (SPAN, *classes.group.keys)]
            sums = frame.select(pl.col(columns).cast(pl.Int128).abs().sum())
            totals |= {column: totals.get(column, 0) + int(sums[column].item()) for column in columns}
        return totals

    def whole(self, stop: Stop = never) -> BatchAmounts:
        """Return the amounts of all members."""
        each = [ClassSums(classes.group, frame) for classes, frame in self.frames]
        return self.batch.amounts_in(each, range(self.batch.splits.count), stop)

    def only(self, members: Collection[str], stop: Stop = never) -> BatchAmounts:
        """Return the amounts of some members of the first axis, and of the total."""
        each = [sums for classes, frame in self.frames for sums in self._narrowed(classes, frame, members)]
        return self.batch.amounts_in(each, range(self.batch.splits.count), stop)

    def _narrowed(self, classes: ClassMembers, frame: pl.DataFrame, members: Collection[str]) -> Iterator[ClassSums]:
        """Yield the sums of the classes that count in some members, and those of the others, which the total counts.

        The others are added up, those together that count alike.
        """
        leaf, named = classes.axis.leaf, classes.classes_of(members)
        inside = pl.col(leaf).is_in(named.implode())
        yield ClassSums(classes.group, frame.filter(inside), frozenset([*members, None]))
        wide = [column for column, magnitude in self.magnitudes.items() if type_of(magnitude) is pl.Int128]
        alike = [
            pl.lit(classes.rest(of_axis)).gather(pl.col(of_axis)).alias(of_axis)
            for of_axis in dict.fromkeys(axis.leaf for axis in classes.group.axes)
        ]
        others = frame.lazy().filter(~inside).with_columns(*alike, *(pl.col(column).cast(pl.Int128) for column in wide))
        summed = sum_by_group(others, classes.group).collect(engine="in-memory")
        yield ClassSums(classes.group, summed, frozenset([None]))

    def holders(self) -> list[pl.LazyFrame]:
        """Return the members of the first axis that hold rows of each base in any of its windows."""
        return [
            self._weighed(base, self.batch.runs(base), classes, frame, columns_of(base))[0].select(MEMBER).unique()
            for base in self.batch.bases
            for classes, frame in self.frames
        ]

    def amounts(self, base: Base, window: DateWindow) -> tuple[pl.LazyFrame, int, int]:
        """Return the amounts of a base in a window by MEMBER and AMOUNT, their denominator and their bound.

        A member without rows has none. The bound is at least the sum of all absolute amounts. Those of an average are
        the sums, which the numbers of rows divide. Raises NotInFrames for what is no aggregate.
        """
        if not base.is_aggregate:
            raise NotInFrames
        columns, runs = columns_of(base), self.batch.splits.runs(window)
        each = [self._weighed(base, runs, classes, frame, columns) for classes, frame in self.frames]
        bound = sum(self.magnitudes[column] for column in columns) * max((most for _, most in each), default=1)
        kind = type_of(bound)
        first, last = (pl.col(column).cast(kind) for column in (columns[0], columns[-1]))
        column = first if len(columns) == 1 else pl.when(pl.col(FACTOR) < 0).then(last).otherwise(first)
        amount = (column * pl.col(FACTOR).cast(kind)).alias(AMOUNT)
        combined = COMBINED.get(base.over_members, pl.col(AMOUNT).sum())
        amounts = pl.concat([rows.select(MEMBER, amount) for rows, _ in each]).group_by(MEMBER).agg(combined)
        position = self.batch.bases.index(base)
        return amounts, 10**base.measure.places * self.batch.group.denominators[position] * window.divisor, bound

    def counts(self, base: Base, window: DateWindow) -> tuple[pl.LazyFrame, int, int]:
        """Return the numbers of rows of a base in a window by MEMBER and AMOUNT, their denominator and their bound."""
        runs = self.batch.splits.runs(window)
        each = [self._weighed(base, runs, classes, frame, [ROWS])[0] for classes, frame in self.frames]
        bound = self.magnitudes[ROWS] * max(1, len(self.batch.group.axes[0].ids))  # a row counts once in a member
        amount = pl.col(ROWS).cast(type_of(bound)).alias(AMOUNT)
        counts = pl.concat([rows.select(MEMBER, amount) for rows in each]).group_by(MEMBER).agg(pl.col(AMOUNT).sum())
        return counts, 1, bound

    def _weighed(
        self, base: Base, runs: Sequence[Run], classes: ClassMembers, frame: pl.DataFrame, columns: Sequence[str]
    ) -> tuple[pl.LazyFrame, int]:
        """Return the rows of some runs with the members that they count in and the factors, and the largest factor."""
        inside = [pl.col(SPAN).is_between(first, after, closed="left") for first, after in watched(runs)]
        span = pl.any_horizontal(inside) if inside else pl.lit(value=False)
        rows = frame.lazy().filter(span, pl.col(columns[0]).is_not_null()).select(*classes.group.keys, *columns)
        return classes.weighed(rows, self.batch.bases.index(base))


def columns_of(base: Base) -> Sequence[str]:
    """Return the column of the amounts of a base, or of the numbers of its rows; of MIN and MAX that of the other too.

    The other is for rows with a negative factor.
    """
    first, key = accumulators_of(base)[0], base.measure.key
    return tuple(dict.fromkeys(first.column_and_factor(key, weight)[0] for weight in (1, -1)))


# The frames of months, which the books memoise.


class FramedBatch(Batch, frozen=True, eq=False, dict=True, kw_only=True):
    """A batch whose sums stay in frames. Those of each whole month are memoised."""

    presences: Presences
    by_month: bool

    def key(self, at: int) -> Hashable:
        """Return the key of the memo of a month."""
        read, within = self.domain_read, self.shape.within
        cells = tuple(self.presences.cell(read, term_span) & within for term_span in read.term_spans)
        return "sums in frames", read, self.shape.alike, cells, self.splits.spans[at]

    @cached_property
    def kept(self) -> Mapping[int, Sequence[pl.DataFrame]]:
        """The frames of the months that the books have, by the position of the month; of each term span."""
        asked = [at for at in watched(range(self.splits.count)) if self.months >> at & 1] if self.by_month else ()
        memos = {at: self.presences.reader.kept_as_seen(self.key(at)) for at in watched(asked)}
        return {at: frames for at, frames in memos.items() if isinstance(frames, tuple)}

    @property
    def rows_kept(self) -> int:
        """How many rows the frames have that the books keep."""
        return sum(frame.height for frames in self.kept.values() for frame in frames)

    @property
    def _read_at(self) -> Sequence[int]:
        """The positions of the intervals to read."""
        every = watched(range(self.splits.count))
        if not self.by_month:
            return list(every)
        return [at for at in every if self.months >> at & 1 and at not in self.kept]

    @property
    def reads(self) -> tuple[FactRead, ...]:
        """What to collect: the months that the books do not have."""
        return self.term_reads if self._read_at or not self.by_month else ()

    def _members_of(self, group: BaseGroup) -> ClassMembers:
        count = group.leaf_counts[group.axes[0].leaf]
        return self.presences.reader.memo(("class members", group), lambda: ClassMembers(group), count)

    def amounts(self, frames: Sequence[pl.DataFrame], stop: Stop = never) -> BatchAmounts:
        """Return the amounts of all members from the collected frames of `reads`."""
        return self.framed(frames).whole(stop)

    def framed(self, frames: Sequence[pl.DataFrame]) -> FramedSums:
        """Return the sums of every month that it needs, from the collected frames of `reads`."""
        groups = [self._members_of(group) for _, group in self.terms]
        fresh = [frame for _, frame in self.by_class(frames)] if self.reads else []
        if not self.by_month:
            return FramedSums(self, list(zip(groups, fresh, strict=True)))
        months = {**self.kept, **self._memoised(fresh)}
        each = (
            pl.concat(
                [frames[place].with_columns(pl.lit(at, pl.UInt32).alias(SPAN)) for at, frames in months.items()],
                how="vertical_relaxed",  # one month may need 128 bits where another does not
            )
            for place in range(len(groups))
        )
        return FramedSums(
            self, [(classes, frame.select(SPAN, pl.exclude(SPAN))) for classes, frame in zip(groups, each, strict=True)]
        )

    def _memoised(self, frames: Sequence[pl.DataFrame]) -> Mapping[int, Sequence[pl.DataFrame]]:
        """Let the books memoise the months that were read, and return them."""
        reader, read = self.presences.reader, self._read_at
        parts = [frame.partition_by(SPAN, as_dict=True, include_key=False) for frame in frames]
        none = [frame.clear().drop(SPAN) for frame in frames]
        months = {}
        for place, at in watched(enumerate(read)):
            month = tuple(part.get((place,), empty) for part, empty in zip(parts, none, strict=True))
            months[at] = reader.memo_as_seen(self.key(at), partial(tuple, month), size_of)
        return months


def size_of(frames: Sequence[pl.DataFrame]) -> int:
    """Return the size of a memo of frames, in members."""
    return sum(int(frame.estimated_size()) for frame in frames) // MEMBER_BYTES


def framed_batch_of(shape: BatchShape, windows: Sequence[Sequence[DateWindow]], presences: Presences) -> FramedBatch:
    """Return the batch of a shape over the windows at its positions, its sums in frames."""
    distinct = distinct_windows(shape, windows)
    if shape.bases[0].over_time.rule is TimeRule.LAST_KNOWN:
        batch = batch_of(shape, windows, presences)
        splits, leaves, by_month = batch.splits, batch.leaves, False
    elif months := months_with_rows(shape.domain_read, distinct, presences):
        splits, leaves, by_month = months, (), True
    else:
        splits, leaves, by_month = IntervalSplits(split_intervals(distinct, shape.domain_read.boundaries)), (), False
    return FramedBatch(shape, windows, splits, shape.terms, leaves, presences=presences, by_month=by_month)
