"""Member counts: how many members of a counted dimension have rows in each window, of all windows in one sorted pass.

A window counts a member once: at its first interval with rows of the member, the one whose interval before, with rows
of the same member, lies outside the window. In a chain of windows those that count an interval stand in a row, so each
interval is added once and taken away once, however many windows hold it.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

import polars as pl
from msgspec import Struct

from engine.model.fact_store import ROWS, SPAN, VALUE
from engine.model.members.member_sets import NULL_CODE
from engine.model.stopping import look, watched
from engine.model.window_chains import BEGIN, END, PACKED_CODES, WindowChain, chains_of, positions, window_totals
from engine.plans.weights import Members
from engine.plans.windows import Run, WindowRuns

MAX_TOGETHER = 1_000_000  # intervals of members that are sorted together, unless one group has more
GROUP, BEFORE, KNOWN, OWNER, PART = "group", "before", "known", "owner", "part"
Window = tuple[Run, ...]  # ascending runs of intervals, no two of which touch


class ClassPairs(Struct, frozen=True):
    """The intervals in which each member has rows, by leaf class, and the groups that each class counts in."""

    pairs: pl.DataFrame  # SPAN, the position of the interval, `keys`, VALUE, the code of the member
    groups: pl.DataFrame  # `keys`, GROUP
    keys: tuple[str, ...]

    def with_groups(self, frame: pl.LazyFrame, groups: pl.DataFrame) -> pl.LazyFrame:
        """Return rows once for each of some groups that they count in."""
        if not self.keys:
            return frame.join(groups.lazy().select(GROUP), how="cross")
        return frame.join(groups.lazy(), on=self.keys)


class MemberCounts:
    """The numbers of members in windows by group, a base and the members of a breakdown. A group is a number."""

    def __init__(
        self, classes: Sequence[ClassPairs], spans: int, codes: int, expected: Sequence[Sequence[Run]]
    ) -> None:
        """`spans` and `codes` are how many there are. `expected` are windows that are likely to be asked for."""
        self._classes = classes
        self._groups = 1 + max(int(known.groups[GROUP].max() or 0) for known in classes)  # type: ignore[arg-type]  # numbers
        self._codes = codes
        self._spans = spans
        self._counts: dict[int, list[int | None]] = {}  # by group, in the order of `_windows`
        self._windows: dict[Window, int] = {}
        self._places: dict[WindowRuns, Sequence[int]] = {}
        self._expected = expected

    def over(self, group: int, windows: WindowRuns) -> Sequence[int | None]:
        """Return the number of members of a group in each window, None if it has no rows."""
        places = self._places.get(windows)
        if places is None:
            places = self._places[windows] = self._placed(windows.runs)
        counts = self._counts.get(group)
        if counts is None:
            return [None] * len(places)
        return list(map(counts.__getitem__, places))

    def holding(self, runs: Sequence[Run]) -> AbstractSet[int]:
        """Return the groups that have rows in any of some runs."""
        (place,) = self._placed([runs])
        return {group for group, counts in watched(self._counts.items()) if counts[place] is not None}

    def _placed(self, windows: Sequence[Sequence[Run]]) -> Sequence[int]:
        """Return the positions of windows among all that were counted; count those that were not."""
        merged = [merged_runs(runs) for runs in watched(windows)]
        if any(window not in self._windows for window in watched(merged)):
            expected = [merged_runs(runs) for runs in watched(self._expected)]
            wanted = dict.fromkeys((*expected, *merged))
            self._count([window for window in watched(wanted) if window not in self._windows])
        return [self._windows[window] for window in watched(merged)]

    def _count(self, windows: Sequence[Window]) -> None:
        """Count the members of all groups in some windows."""
        first = len(self._windows)
        for counts in watched(self._counts.values()):
            counts.extend([None] * len(windows))
        width = first + len(windows)
        for frame in self._counted(windows):
            for group, place, members in watched(frame.iter_rows()):
                if group not in self._counts:
                    self._counts[group] = [None] * width
                counts = self._counts[group]
                counts[first + place] = members + (counts[first + place] or 0)
        self._windows.update((window, first + at) for at, window in watched(enumerate(windows)))

    def _counted(self, windows: Sequence[Window]) -> Iterator[pl.DataFrame]:
        """Yield frames of GROUP, SPAN, which is the position of the window, and KNOWN, the number of members."""
        chains = chains_of([range(*window[0]) if len(window) == 1 else () for window in watched(windows)])
        broken = [place for place, window in watched(enumerate(windows)) if len(window) > 1]
        for part in self._parts():
            look()
            pairs = self._ordered(part).collect(engine="in-memory").lazy()
            for chain in watched(chains):
                yield first_in_windows(pairs, chain, self._spans).collect(engine="in-memory")
            for place in watched(broken):
                yield in_broken_window(pairs, windows[place], place).collect(engine="in-memory")

    def _parts(self) -> Iterator[pl.LazyFrame]:
        """Yield GROUP, VALUE and SPAN of all pairs, some groups at a time, of a large group some members at a time."""
        sizes = pl.concat(
            [
                known.with_groups(known.pairs.lazy().group_by(known.keys or pl.lit(0)).len(), known.groups).select(
                    GROUP, pl.col("len").cast(pl.UInt64)
                )
                for known in self._classes
            ]
        )
        numbered = (
            sizes.group_by(GROUP)
            .agg(pl.col("len").sum())
            .sort(GROUP)
            .with_columns((pl.col("len").cum_sum() // MAX_TOGETHER).alias(PART))
            .collect(engine="in-memory")
        )
        for part in watched(numbered.partition_by(PART, maintain_order=True)):
            slices = -(-int(part["len"].sum()) // (2 * MAX_TOGETHER))
            for at in watched(range(slices)):
                pairs = (self._of_groups(known, part, slices, at) for known in self._classes)
                yield pl.concat(list(pairs))

    @staticmethod
    def _of_groups(known: ClassPairs, part: pl.DataFrame, slices: int, at: int) -> pl.LazyFrame:
        """Return the pairs of some groups, and of one slice of the members."""
        pairs = known.pairs.lazy()
        if slices > 1:
            pairs = pairs.filter(pl.col(VALUE) % slices == at)
        return known.with_groups(pairs, known.groups.join(part, on=GROUP, how="semi")).select(
            pl.col(GROUP, VALUE, SPAN).cast(pl.UInt64)
        )

    def _ordered(self, pairs: pl.LazyFrame) -> pl.LazyFrame:
        """Return pairs by GROUP, VALUE and SPAN, with BEFORE: the position after the SPAN before of the same, or 0."""
        if self._groups * self._codes * self._spans < PACKED_CODES:
            number = (pl.col(GROUP) * self._codes + pl.col(VALUE)) * self._spans + pl.col(SPAN)
            owner = pl.col(OWNER) // self._spans
            ordered = (
                pairs.select(number.alias(OWNER))
                .sort(OWNER)
                .select(
                    (owner // self._codes).alias(GROUP),
                    (owner % self._codes).alias(VALUE),
                    (pl.col(OWNER) % self._spans).alias(SPAN),
                )
            )
        else:
            ordered = pairs.sort(GROUP, VALUE, SPAN)
        is_same = (pl.col(GROUP) == pl.col(GROUP).shift(1)) & (pl.col(VALUE) == pl.col(VALUE).shift(1))
        before = pl.when(is_same).then(pl.col(SPAN).shift(1) + 1).otherwise(0)
        return ordered.select(pl.col(GROUP, VALUE, SPAN).cast(pl.UInt32), before.cast(pl.UInt32).alias(BEFORE))


class CountedMembers(Struct, frozen=True, eq=False):
    """The counts of one base, by the members of the breakdown."""

    groups: Mapping[Members, int]
    counts: MemberCounts

    def over(self, members: Members, windows: WindowRuns) -> Sequence[int | None]:
        """Return the number of members in each window, None if it has no rows."""
        group = self.groups.get(members)
        return [None] * len(windows.runs) if group is None else self.counts.over(group, windows)

    def holding(self, runs: Sequence[Run]) -> Iterator[Members]:
        """Yield the members of the breakdown that have rows in any of some runs."""
        groups = self.counts.holding(runs)
        return (members for members, group in watched(self.groups.items()) if group in groups)


def merged_runs(runs: Sequence[Run]) -> Window:
    """Return the same intervals as ascending runs, no two of which touch."""
    if len(runs) == 1 and runs[0][0] < runs[0][1]:
        return tuple(runs)
    merged: list[Run] = []
    for first, after in watched(sorted(run for run in watched(runs) if run[0] < run[1])):
        if merged and merged[-1][1] >= first:
            merged[-1] = merged[-1][0], max(merged[-1][1], after)
        else:
            merged.append((first, after))
    return tuple(merged)


def first_in_windows(pairs: pl.LazyFrame, chain: WindowChain, spans: int) -> pl.LazyFrame:
    """Return the counts in the windows of a chain: GROUP, SPAN and KNOWN.

    An interval counts in the windows that end after it, begin by it, and begin after the one before.
    """
    look()
    ended = positions(chain.ends, range(spans)).gather(pl.col(SPAN))
    begun = positions(chain.starts, range(spans)).gather(pl.col(SPAN))
    past = positions(chain.starts, range(-1, spans)).gather(pl.col(BEFORE))
    read = pairs.select(
        GROUP,
        pl.lit(1, pl.Int64).alias(ROWS),
        (pl.col(VALUE) != NULL_CODE).cast(pl.Int64).alias(KNOWN),
        pl.max_horizontal(ended, past).alias(BEGIN),
        begun.alias(END),
    ).filter(pl.col(BEGIN) < pl.col(END))
    return window_totals(read, chain, (GROUP,), (ROWS, KNOWN)).select(GROUP, SPAN, KNOWN)


def in_broken_window(pairs: pl.LazyFrame, window: Window, place: int) -> pl.LazyFrame:
    """Return the counts in a window of several runs: GROUP, SPAN and KNOWN."""
    inside = [pl.col(SPAN).is_between(first, after, closed="left") for first, after in watched(window)]
    members = pairs.filter(pl.any_horizontal(inside)).select(GROUP, VALUE).unique()
    counts = members.group_by(GROUP).agg((pl.col(VALUE) != NULL_CODE).cast(pl.Int64).sum().alias(KNOWN))
    return counts.select(GROUP, pl.lit(place, pl.UInt32).alias(SPAN), KNOWN)
