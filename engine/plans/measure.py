"""Measures: the batches of sums that a plan asks the store for, and the last known values of leaves."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import polars as pl

from engine.books.reader import Reader
from engine.model.aggregation import TimeRule
from engine.model.calendar.periods import Period, Span
from engine.model.catalogue import Base
from engine.model.fact_store import ROWS, SPAN, Aggregate, Slice
from engine.model.scenarios import TermSpan
from engine.model.scope import Cell
from engine.model.stopping import Stop, never, watched
from engine.plans.accumulators import ACCUMULATORS, Amount, Amounts
from engine.plans.base_groups import VALUE, AccumulatorTarget, BaseGroup, base_groups
from engine.plans.presence import Presences
from engine.plans.weights import Axis, Members
from engine.plans.windows import DateWindow, DomainRead, IntervalSplits, split_intervals
from engine.queries.values import Filter

# Last known values: for each leaf and window, the sums of the last period that holds rows of the leaf. A leaf is one
# member of each leaf dimension; axes do not distinguish leaves.


PERIOD, TERM = "last_period", "term"


class LastKnownSplits(IntervalSplits):
    """Interval splits that each lie in one period. Each base and member has one amount for each window."""

    def __init__(self, splits: IntervalSplits, windows: Sequence[DateWindow], periods: Sequence[Period]) -> None:
        super().__init__(splits.spans)
        self.windows = windows
        starts = [period.first for period in periods]
        self.periods = pl.Series([bisect_right(starts, interval.first) for interval in splits.spans], dtype=pl.UInt32)
        self.read = [splits.of(window) for window in windows]

    @classmethod
    def cut(
        cls, windows: Sequence[DateWindow], boundaries: Sequence[date], periods: Sequence[Period]
    ) -> "LastKnownSplits":
        """Split the days of some windows that lie in some ascending periods."""
        inside = [
            DateWindow(
                tuple(days for period in periods for span in window.spans if (days := span.overlap(period.span))), ""
            )
            for window in windows
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
    domain_read: DomainRead, base: Base, windows: Sequence[DateWindow], reader: Reader
) -> list[Period]:
    """Return the periods of the stock group's grain in which a domain read holds rows of some windows."""
    presence = Presences(reader).of(domain_read)
    grain = reader.catalogue.domains[base.domain].stock_groups[str(base.stock_group)].grain
    spans = {span for window in windows for span in window.spans}
    days = sorted({day for span in spans for day in presence.days(span)})
    periods = (reader.catalogue.calendar.at(day, grain) for day in days)
    return list(dict.fromkeys(period for period in periods if period))


def last_known_sums(
    term_spans: Sequence[pl.LazyFrame], leaves: Sequence[str], splits: LastKnownSplits
) -> list[pl.LazyFrame]:
    """Return the last known sums of every leaf, one frame for each term span.

    Each frame keeps the columns of its sums and adds PERIOD (UInt32, the position of the period). SPAN holds the
    position of the window instead of the interval. The order of rows is not fixed.
    """
    sums = pl.concat(
        [frame.with_columns(pl.lit(place, pl.UInt8).alias(TERM)) for place, frame in enumerate(term_spans)],
        how="vertical_relaxed",  # one term may need 128 bits where another does not
    ).with_columns(pl.lit(splits.periods).gather(pl.col(SPAN)).alias(PERIOD))
    last = pl.col(PERIOD).max()
    by_window = [
        sums.filter(pl.col(SPAN).is_in(list(read)))
        .filter(pl.col(PERIOD) == (last.over(leaves) if leaves else last))
        .with_columns(pl.lit(place, pl.UInt32).alias(SPAN))
        for place, read in enumerate(splits.read)
    ]
    found = pl.concat(by_window)
    return [found.filter(pl.col(TERM) == place).drop(TERM) for place in range(len(term_spans))]


# Batches: a batch splits the days of all its windows into intervals and sums each interval once by leaf class. A figure
# is the sum of the intervals of its window.


@dataclass(frozen=True, eq=False)
class TermSums:
    """The sums of one term span in a batch, with their base group."""

    group: BaseGroup
    sums: pl.LazyFrame  # by interval and the class of every key


@dataclass(frozen=True, eq=False)
class Batch:
    """Bases of a domain read that share one query to the store."""

    domain_read: DomainRead
    bases: tuple[Base, ...]
    splits: IntervalSplits
    term_sums: tuple[TermSums, ...]

    @property
    def frames(self) -> tuple[pl.LazyFrame, ...]:
        """The frames to collect."""
        return tuple(of_term.sums for of_term in self.term_sums)

    def only(self, index: int) -> "Batch":
        """Return the batch of one term span alone."""
        return Batch(self.domain_read, self.bases, self.splits, self.term_sums[index : index + 1])

    def collected(self, frames: Sequence[pl.DataFrame], stop: Stop = never) -> dict[Base, Amounts]:
        """Return the amounts of every base from the collected frames."""
        group = self.term_sums[0].group
        found = AmountTable(self.splits.count)
        for of_term, frame in zip(self.term_sums, frames, strict=True):
            found.add(of_term.group, frame, stop)
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
    reader: Reader,
) -> list[Batch]:
    """Return the batches that read some bases of a domain read, each over its windows."""
    bases = list(windows)
    variants = [term_span.term.variant for term_span in domain_read.term_spans]
    return [
        batch_of(domain_read, bases, alike, windows, reader)
        for alike in base_groups(bases, axes, places, filters, variants, reader)
    ]


def batch_of(
    domain_read: DomainRead,
    bases: Sequence[Base],
    alike: Sequence[BaseGroup],
    windows: Mapping[Base, Sequence[DateWindow]],
    reader: Reader,
) -> Batch:
    """Return one batch. `alike` holds the group of the same bases for each term span."""
    own = tuple(bases[position] for position in alike[0].positions)
    read = {id(windows[base]): windows[base] for base in own}  # most bases share their list of windows
    distinct = list(dict.fromkeys(window for listed in read.values() for window in listed))
    boundaries = domain_read.boundaries
    if own[0].over_time.rule is TimeRule.LAST_KNOWN:
        splits: IntervalSplits = LastKnownSplits.cut(
            distinct, boundaries, periods_with_rows(domain_read, own[0], distinct, reader)
        )
    else:
        splits = IntervalSplits(split_intervals(distinct, boundaries))
    sums = [
        sums_of_term(domain_read, term_span, splits.spans, group, reader)
        for term_span, group in zip(domain_read.term_spans, alike, strict=True)
    ]
    if isinstance(splits, LastKnownSplits):
        leaves = reader.catalogue.leaves_of(domain_read.domain)
        sums = last_known_sums(sums, leaves, splits)
    by_class = (TermSums(group, sum_by_class(frame, group)) for frame, group in zip(sums, alike, strict=True))
    return Batch(domain_read, own, splits, tuple(by_class))


def sums_of_term(
    domain_read: DomainRead, term_span: TermSpan, splits: Sequence[Span], group: BaseGroup, reader: Reader
) -> pl.LazyFrame:
    """Return the sums of one term span, as `term_aggregates` does, by the keys that its base group needs."""
    keys = group.keys
    if group.bases[0].counted:
        keys = tuple(dict.fromkeys((*keys, group.bases[0].counted)))
    if group.bases[0].over_time.rule is TimeRule.LAST_KNOWN:
        keys = tuple(sorted({*keys, *reader.catalogue.leaves_of(domain_read.domain)}))
    return term_aggregates(domain_read, term_span, splits, keys, group.aggregates, group.cut, reader)


def term_aggregates(
    domain_read: DomainRead,
    term_span: TermSpan,
    splits: Sequence[Span],
    keys: tuple[str, ...],
    aggregates: tuple[Aggregate, ...],
    cut: Cell,
    reader: Reader,
) -> pl.LazyFrame:
    """Return aggregates of one term span inside a cut: SPAN, the codes of `keys`, the aggregates, ROWS.

    SPAN is the position of the interval among all intervals. The order of rows is not fixed.
    """
    own = [place for place, interval in enumerate(splits) if term_span.days.holds(interval.first)]
    before = own[0] if own else 0
    asked = Slice(
        domain=domain_read.domain,
        scenario=term_span.term.scenario.id,
        spans=tuple(splits[place] for place in own),
        keys=keys,
        aggregates=aggregates,
    )
    sums = reader.sums(asked, cut, domain_read.shared)
    return sums.with_columns(pl.col(SPAN) + before) if before else sums


def sum_by_class(sums: pl.LazyFrame, group: BaseGroup) -> pl.LazyFrame:
    """Return sums by SPAN and the class of each key instead of its code; VALUE lists the codes to count, if any."""
    counted = group.bases[0].counted
    made = [getattr(pl.col(part.column), part.how.value)() for part in group.aggregates] + [pl.col(ROWS).sum()]
    if counted:
        sums = sums.with_columns(pl.col(counted).alias(VALUE))
        made.append(pl.col(VALUE).unique())
    if not group.keys and not counted and group.bases[0].over_time.rule is not TimeRule.LAST_KNOWN:
        return sums
    return sums.with_columns(group.class_columns).group_by(SPAN, *group.keys).agg(made)
