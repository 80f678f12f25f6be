"""Term reads: what one term span of a domain read asks the store for, and the last known values of leaves."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import date

import polars as pl

from engine.books.reader import FactRead
from engine.model.calendar.periods import DAY, WITHOUT_DATE, Period, Span
from engine.model.catalogue import Base
from engine.model.errors import BadArguments
from engine.model.fact_store import (
    DATE,
    PERIOD,
    ROWS,
    SPAN,
    VALUE,
    Aggregate,
    DistinctSlice,
    LastKnownSlice,
    RowSlice,
    Slice,
    unchanged,
)
from engine.model.scenarios import TermSpan
from engine.model.scope import Cell
from engine.model.stopping import watched
from engine.plans.base_groups import BaseGroup
from engine.plans.presence import Presences
from engine.plans.windows import DateWindow, DomainRead, IntervalSplits, Run, split_intervals

# Last known values: for each leaf and window, the sums of the last period that holds rows of the leaf. A leaf is one
# member of each leaf dimension; axes do not distinguish leaves.


TERM = "term"
FIRST, LAST = "first_day", "last_day"  # of a span
MAX_RANKED = 2_000_000  # rows of a scenario whose amounts are ranked together


class LastKnownSplits(IntervalSplits):
    """Interval splits that each lie in one period. Each base and member has one amount for each window."""

    def __init__(self, splits: IntervalSplits, windows: Sequence[DateWindow], periods: Sequence[Period]) -> None:
        super().__init__(splits.spans)
        self._positions = {window: at for at, window in enumerate(watched(windows))}
        starts = [period.first for period in periods]
        self.periods = tuple(bisect_right(starts, interval.first) for interval in watched(splits.spans))
        self.read = tuple(splits.of(window) for window in watched(windows))  # the intervals of each

    @classmethod
    def cut(
        cls, windows: Sequence[DateWindow], boundaries: Sequence[date], periods: Sequence[Period]
    ) -> "LastKnownSplits":
        """Split the days of some windows that lie in some ascending periods."""
        lasts = [period.last for period in watched(periods)]
        bounds = {period.first for period in watched(periods)} | {day + DAY for day in lasts if day < date.max}
        inside = [
            interval
            for interval in watched(split_intervals(windows, [*boundaries, *bounds]))
            if (at := bisect_left(lasts, interval.first)) < len(lasts) and periods[at].first <= interval.first
        ]
        return cls(IntervalSplits(inside), windows, periods)

    @property
    def count(self) -> int:
        """How many amounts each base and member has: one for each window."""
        return len(self._positions)

    def runs(self, window: DateWindow) -> Sequence[Run]:
        """Return the position of a window's amount, as a run."""
        at = self._positions[window]
        return [(at, at + 1)]


def periods_with_rows(
    domain_read: DomainRead, base: Base, windows: Sequence[DateWindow], presences: Presences
) -> list[Period]:
    """Return the periods of the stock group's grain in which a domain read holds rows of some windows."""
    grain = presences.reader.catalogue.domains[base.domain].stock_groups[str(base.stock_group)].grain
    spans = {span for window in watched(windows) for span in window.spans}
    held = presences.periods(domain_read, watched(spans), grain)
    return sorted(held, key=lambda period: period.ordinal)


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


# Reads of one term span, by interval and leaf class.


def last_known_splits(
    domain_read: DomainRead, base: Base, windows: Sequence[DateWindow], presences: Presences
) -> LastKnownSplits:
    """Return the interval splits of the windows of a last known value, by the periods that hold rows."""
    periods = periods_with_rows(domain_read, base, windows, presences)
    return LastKnownSplits.cut(windows, domain_read.boundaries, periods)


def read_of_term(domain_read: DomainRead, term_span: TermSpan, splits: Sequence[Span], group: BaseGroup) -> FactRead:
    """Return the read of one term span, by interval and class: its sums, or the codes or amounts of its rows."""
    if group.ranked:
        return ranked_read(domain_read, term_span, splits, group, group.ranked)
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
    return FactRead(asked, group.cut, domain_read.shared).pipe(moved_by(before))


def ranked_read(
    domain_read: DomainRead, term_span: TermSpan, splits: Sequence[Span], group: BaseGroup, measure: str
) -> FactRead:
    """Return the read of the amounts of one term span: SPAN, the classes of the keys, VALUE, a row each."""
    spans, before = spans_of_term(term_span, splits)
    asked = RowSlice(
        domain=domain_read.domain,
        scenario=term_span.term.scenario.id,
        span=Span(spans[0].first, spans[-1].last) if spans else Span(date.min, date.min),
        columns=(DATE, *group.keys, measure),
        limit=MAX_RANKED + 1,
    )

    def by_interval(rows: pl.LazyFrame) -> pl.LazyFrame:
        known = rows.map_batches(refuse_too_many, predicate_pushdown=False, slice_pushdown=False)
        value = pl.col(measure).alias(VALUE)
        return in_spans(known, spans).with_columns(group.class_columns).select(SPAN, *group.keys, value)

    return FactRead(asked, group.cut, domain_read.shared).pipe(by_interval).pipe(moved_by(before))


def refuse_too_many(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows to rank; BadArguments if they are more than one report ranks."""
    if rows.height > MAX_RANKED:
        raise BadArguments(
            f"The report would rank more than {MAX_RANKED:,} amounts of one scenario. To get fewer, choose a shorter "
            "range, filter a dimension, or ask for earlier periods in a call of their own.",
            field="period_start",
        )
    return rows


def in_spans(rows: pl.LazyFrame, spans: Sequence[Span]) -> pl.LazyFrame:
    """Return the rows of some ascending spans, with SPAN, the position of their span."""
    if WITHOUT_DATE in spans:
        return rows.with_columns(pl.lit(0, pl.UInt32).alias(SPAN))
    schema = {FIRST: pl.Date, LAST: pl.Date, SPAN: pl.UInt32}
    bounds = [(span.first, span.last, at) for at, span in enumerate(watched(spans))]
    begun = pl.LazyFrame(bounds, schema, orient="row").set_sorted(FIRST)
    joined = rows.sort(DATE).join_asof(begun, left_on=DATE, right_on=FIRST)
    return joined.filter(pl.col(DATE) <= pl.col(LAST))


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
    keys, groups = (group.keys, group.class_codes) if alone else ((*group.keys, *leaves), {})
    read = last_known_read(domain_read, term_span, splits, leaves, keys, group, groups)
    return read.pipe(lambda sums: sum_by_group(sums, group)) if alone else read


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
        windows=tuple(intervals_within(read, before, len(spans)) for read in watched(splits.read)),
        leaves=leaves,
        keys=tuple(dict.fromkeys(keys)),
        aggregates=group.aggregates,
        groups=groups,
    )
    return FactRead(asked, group.cut, domain_read.shared)


def intervals_within(read: Sequence[int], before: int, count: int) -> Sequence[int]:
    """Return the positions, among `count` intervals after the first `before`, of those that a window reads."""
    if isinstance(read, range):
        return range(max(read.start - before, 0), max(min(read.stop - before, count), 0))
    return [place - before for place in watched(read) if before <= place < before + count]


def spans_of_term(term_span: TermSpan, splits: Sequence[Span]) -> tuple[tuple[Span, ...], int]:
    """Return the intervals of a term span, and the position of the first."""
    own = [place for place, interval in enumerate(watched(splits)) if term_span.days.holds(interval.first)]
    return tuple(splits[place] for place in watched(own)), own[0] if own else 0


def distinct_keys(group: BaseGroup) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    """Return the step that keeps the distinct keys of sums."""
    return lambda sums: sums.select(group.keys).unique()


def moved_by(before: int) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    """Return the step that turns positions in a term span into positions among all intervals."""
    return (lambda sums: sums.with_columns(pl.col(SPAN) + before)) if before else unchanged


def sum_by_class(sums: pl.LazyFrame, group: BaseGroup) -> pl.LazyFrame:
    """Return sums by SPAN and the class of each key instead of its code."""
    if not group.keys and PERIOD not in sums.collect_schema():
        return sums
    return sum_by_group(sums.with_columns(group.class_columns), group)


def sum_by_group(sums: pl.LazyFrame, group: BaseGroup) -> pl.LazyFrame:
    """Return sums by SPAN and key."""
    made = [getattr(pl.col(part.column), part.how.value)() for part in group.aggregates] + [pl.col(ROWS).sum()]
    return sums.group_by(SPAN, *group.keys).agg(made)
