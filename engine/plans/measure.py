"""Measures: the batches of sums that a plan asks the store for, and the last known values of leaves."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import polars as pl

from engine.books.reader import FactRead
from engine.model.aggregation import TimeRule
from engine.model.calendar.periods import Period, Span
from engine.model.catalogue import Base
from engine.model.fact_store import (
    PERIOD,
    ROWS,
    SPAN,
    VALUE,
    Aggregate,
    DistinctSlice,
    LastKnownSlice,
    Slice,
    unchanged,
)
from engine.model.scenarios import TermSpan
from engine.model.scope import Cell
from engine.model.stopping import Stop, never, watched
from engine.plans.accumulators import ACCUMULATORS, Amount, Amounts
from engine.plans.base_groups import AccumulatorTarget, BaseGroup, base_groups
from engine.plans.presence import Presences
from engine.plans.weights import Axis, Members
from engine.plans.windows import DateWindow, DomainRead, IntervalSplits, split_intervals
from engine.queries.values import Filter

# Last known values: for each leaf and window, the sums of the last period that holds rows of the leaf. A leaf is one
# member of each leaf dimension; axes do not distinguish leaves.


TERM = "term"


class LastKnownSplits(IntervalSplits):
    """Interval splits that each lie in one period. Each base and member has one amount for each window."""

    def __init__(self, splits: IntervalSplits, windows: Sequence[DateWindow], periods: Sequence[Period]) -> None:
        super().__init__(splits.spans)
        self.windows = windows
        starts = [period.first for period in periods]
        self.periods = tuple(bisect_right(starts, interval.first) for interval in watched(splits.spans))
        self.read = [splits.of(window) for window in watched(windows)]

    @classmethod
    def cut(
        cls, windows: Sequence[DateWindow], boundaries: Sequence[date], periods: Sequence[Period]
    ) -> "LastKnownSplits":
        """Split the days of some windows that lie in some ascending periods."""
        inside = [
            DateWindow(
                tuple(
                    days for period in watched(periods) for span in window.spans if (days := span.overlap(period.span))
                ),
                "",
            )
            for window in watched(windows)
        ]
        return cls(
            IntervalSplits(split_intervals(inside, [*boundaries, *(period.first for period in periods)])),
            windows,
            periods,
        )

    @property
    def count(self) -> int:
        """How many amounts each base and member has: one for each window."""
        return len(self.windows)

    def of(self, window: DateWindow) -> Sequence[int]:
        """Return the position of a window's amount."""
        return [self.windows.index(window)]


def periods_with_rows(
    domain_read: DomainRead, base: Base, windows: Sequence[DateWindow], presences: Presences
) -> list[Period]:
    """Return the periods of the stock group's grain in which a domain read holds rows of some windows."""
    presence, reader = presences.of(domain_read), presences.reader
    grain = reader.catalogue.domains[base.domain].stock_groups[str(base.stock_group)].grain
    spans = {span for window in watched(windows) for span in window.spans}
    days = sorted({day for span in watched(spans) for day in watched(presence.days(span))})
    periods = (reader.catalogue.calendar.at(day, grain) for day in watched(days))
    return list(dict.fromkeys(period for period in periods if period))


def last_known_across(frames: Sequence[pl.DataFrame], leaves: Sequence[str]) -> list[pl.DataFrame]:
    """Return those rows of the term spans' last-known answers that are in the last period of their leaf in any term.

    The frames hold SPAN, PERIOD and the codes of the leaves; they keep their columns.
    """
    sums = pl.concat(
        [frame.with_columns(pl.lit(place, pl.UInt8).alias(TERM)) for place, frame in enumerate(frames)],
        how="diagonal_relaxed",  # one term may need 128 bits, or a key, where another does not
    )
    found = sums.filter(pl.col(PERIOD) == pl.col(PERIOD).max().over(SPAN, *leaves))
    return [found.filter(pl.col(TERM) == place).select(frame.columns) for place, frame in enumerate(frames)]


# Batches: a batch splits the days of all its windows into intervals and sums each interval once by leaf class. A figure
# is the sum of the intervals of its window.


@dataclass(frozen=True, eq=False)
class TermSums:
    """What one term span of a batch reads, with its base group."""

    group: BaseGroup
    read: FactRead  # by interval and the class of every key; by leaf if the batch compares its terms


@dataclass(frozen=True, eq=False)
class Batch:
    """Bases of a domain read that share one query to the store."""

    domain_read: DomainRead
    bases: tuple[Base, ...]
    splits: IntervalSplits
    term_sums: tuple[TermSums, ...]
    leaves: tuple[str, ...] | None = None  # by which the terms are compared: last known values of several terms
    index: int | None = None  # of the only term span whose sums count; None: all count

    @property
    def reads(self) -> tuple[FactRead, ...]:
        """What to collect."""
        return tuple(of_term.read for of_term in self.term_sums)

    def only(self, index: int) -> "Batch":
        """Return the batch of one term span alone. It still reads the others if the terms are compared."""
        if self.leaves is not None:
            return replace(self, index=index)
        return replace(self, term_sums=self.term_sums[index : index + 1])

    def by_class(self, frames: Sequence[pl.DataFrame]) -> list[tuple[BaseGroup, pl.DataFrame]]:
        """Return the group and the sums by class of every term span that counts, from the collected frames."""
        groups = [of_term.group for of_term in self.term_sums]
        if self.leaves is None:
            return list(zip(groups, frames, strict=True))
        last = zip(groups, last_known_across(frames, self.leaves), strict=True)
        found = [(group, sum_by_class(frame.lazy(), group).collect(engine="in-memory")) for group, frame in last]
        return found if self.index is None else found[self.index : self.index + 1]

    def amounts(self, frames: Sequence[pl.DataFrame], stop: Stop = never) -> dict[Base, Amounts]:
        """Return the amounts of every base from the collected frames."""
        group = self.term_sums[0].group
        found = AmountTable(self.splits.count)
        for of_term, frame in self.by_class(frames):
            found.add(of_term, frame, stop)
        return {
            base: Amounts(
                base,
                10**base.measure.places * group.denominators[position],
                [found.amounts[position, accumulator] for accumulator in range(len(ACCUMULATORS[base.over_members]))],
                self.splits,
            )
            for position, base in enumerate(self.bases)
        }


class AmountTable:
    """Adds rows of sums up to amounts by base, accumulator, members and interval."""

    def __init__(self, count: int) -> None:
        self._count = count
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
                    (self._by_interval(target), columns[target.column], target) for target in group.targets(classes)
                ]
            interval = row[0]
            for by_interval, column, target in counted:
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
) -> list[Batch]:
    """Return the batches that read some bases of a domain read, each over its windows."""
    bases = list(windows)
    variants = [term_span.term.variant for term_span in domain_read.term_spans]
    return [
        batch_of(domain_read, bases, alike, windows, presences)
        for alike in base_groups(bases, axes, places, filters, variants, presences.reader)
    ]


def batch_of(
    domain_read: DomainRead,
    bases: Sequence[Base],
    alike: Sequence[BaseGroup],
    windows: Mapping[Base, Sequence[DateWindow]],
    presences: Presences,
) -> Batch:
    """Return one batch. `alike` holds the group of the same bases for each term span."""
    own = tuple(bases[position] for position in alike[0].positions)
    read = {id(windows[base]): windows[base] for base in own}  # most bases share their list of windows
    distinct = list(dict.fromkeys(window for listed in read.values() for window in watched(listed)))
    terms = list(zip(domain_read.term_spans, alike, strict=True))
    if own[0].over_time.rule is TimeRule.LAST_KNOWN:
        last_splits = last_known_splits(domain_read, own[0], distinct, presences)
        leaves, alone = presences.reader.catalogue.leaves_of(domain_read.domain), len(terms) == 1
        last_known = (
            TermSums(group, last_known_of_term(domain_read, span, last_splits, group, leaves, alone=alone))
            for span, group in terms
        )
        return Batch(domain_read, own, last_splits, tuple(last_known), None if alone else leaves)
    splits = IntervalSplits(split_intervals(distinct, domain_read.boundaries))
    sums = (TermSums(group, read_of_term(domain_read, span, splits.spans, group)) for span, group in terms)
    return Batch(domain_read, own, splits, tuple(sums))


def last_known_splits(
    domain_read: DomainRead, base: Base, windows: Sequence[DateWindow], presences: Presences
) -> LastKnownSplits:
    """Return the interval splits of the windows of a last known value, by the periods that hold rows."""
    periods = periods_with_rows(domain_read, base, windows, presences)
    return LastKnownSplits.cut(windows, domain_read.boundaries, periods)


def read_of_term(domain_read: DomainRead, term_span: TermSpan, splits: Sequence[Span], group: BaseGroup) -> FactRead:
    """Return the read of one term span, by interval and class: its sums, or the lists of the codes that it counts."""
    if not group.counted:
        read = sums_read(domain_read, term_span, splits, group.keys, group.aggregates, group.cut)
        return read.pipe(lambda sums: sum_by_class(sums, group))
    spans, before = spans_of_term(term_span, splits)
    asked = DistinctSlice(
        domain=domain_read.domain,
        scenario=term_span.term.scenario.id,
        spans=spans,
        keys=group.keys,
        counted=group.counted,
        groups=group.class_codes,
    )
    read = FactRead(asked, group.cut, domain_read.shared).pipe(moved_by(before))
    return read.pipe(lambda found: found.group_by(SPAN, *group.keys).agg(VALUE))


def sums_read(
    domain_read: DomainRead,
    term_span: TermSpan,
    splits: Sequence[Span],
    keys: tuple[str, ...],
    aggregates: tuple[Aggregate, ...],
    cut: Cell,
) -> FactRead:
    """Return the read of aggregates of one term span inside a cut: SPAN, the codes of `keys`, the aggregates, ROWS.

    SPAN is the position of the interval among all intervals. The order of rows is not fixed.
    """
    spans, before = spans_of_term(term_span, splits)
    asked = Slice(
        domain=domain_read.domain,
        scenario=term_span.term.scenario.id,
        spans=spans,
        keys=keys,
        aggregates=aggregates,
    )
    return FactRead(asked, cut, domain_read.shared).pipe(moved_by(before))


def last_known_of_term(
    domain_read: DomainRead,
    term_span: TermSpan,
    splits: LastKnownSplits,
    group: BaseGroup,
    leaves: tuple[str, ...],
    *,
    alone: bool,
) -> FactRead:
    """Return the read of the last known values of one term span: by class if it stands alone, else by leaf."""
    counted = (group.counted,) if group.counted else ()
    in_codes = counted or not alone
    keys = (*group.keys, *counted, *(() if alone else leaves))
    groups = {} if in_codes else group.class_codes
    read = last_known_read(domain_read, term_span, splits, leaves, keys, group, groups)
    if not alone:
        return read
    return read.pipe(lambda sums: sum_by_class(sums, group) if in_codes else sum_by_group(sums, group))


def last_known_read(
    domain_read: DomainRead,
    term_span: TermSpan,
    splits: LastKnownSplits,
    leaves: tuple[str, ...],
    keys: Sequence[str],
    group: BaseGroup,
    groups: Mapping[str, pl.Series],
) -> FactRead:
    """Return the read of the last known values of one term span; SPAN is the position of the window.

    `groups` holds the group of every code of the keys that are grouped.
    """
    spans, before = spans_of_term(term_span, splits.spans)
    asked = LastKnownSlice(
        domain=domain_read.domain,
        scenario=term_span.term.scenario.id,
        spans=spans,
        periods=splits.periods[before : before + len(spans)],
        windows=tuple(
            tuple(place - before for place in watched(read) if before <= place < before + len(spans))
            for read in watched(splits.read)
        ),
        leaves=leaves,
        keys=tuple(dict.fromkeys(keys)),
        aggregates=group.aggregates,
        groups=groups,
    )
    return FactRead(asked, group.cut, domain_read.shared)


def spans_of_term(term_span: TermSpan, splits: Sequence[Span]) -> tuple[tuple[Span, ...], int]:
    """Return the intervals of a term span, and the position of the first."""
    own = [place for place, interval in watched(enumerate(splits)) if term_span.days.holds(interval.first)]
    return tuple(splits[place] for place in watched(own)), own[0] if own else 0


def distinct_keys(group: BaseGroup) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    """Return the step that keeps the distinct keys of sums."""
    return lambda sums: sums.select(group.keys).unique()


def moved_by(before: int) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    """Return the step that turns positions in a term span into positions among all intervals."""
    return (lambda sums: sums.with_columns(pl.col(SPAN) + before)) if before else unchanged


def sum_by_class(sums: pl.LazyFrame, group: BaseGroup) -> pl.LazyFrame:
    """Return sums by SPAN and the class of each key instead of its code; VALUE lists the codes to count, if any."""
    if group.counted:
        sums = sums.with_columns(pl.col(group.counted).alias(VALUE))
    elif not group.keys and PERIOD not in sums.collect_schema():
        return sums
    return sum_by_group(sums.with_columns(group.class_columns), group)


def sum_by_group(sums: pl.LazyFrame, group: BaseGroup) -> pl.LazyFrame:
    """Return sums by SPAN and key; VALUE lists the codes to count, if any."""
    made = [getattr(pl.col(part.column), part.how.value)() for part in group.aggregates] + [pl.col(ROWS).sum()]
    if group.counted:
        made.append(pl.col(VALUE).unique())
    return sums.group_by(SPAN, *group.keys).agg(made)
