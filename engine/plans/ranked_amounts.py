"""Ranked amounts: exact percentiles of the amounts of rows, of all members, window by window, from one ordered frame.

A percentile is that of Excel's PERCENTILE.INC: of n amounts in order it stands at 1 + share * (n - 1), between the two
amounts beside that rank in proportion. The median is the share 1/2.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import polars as pl
from msgspec import Struct

from engine.model.exact import Exact
from engine.model.fact_store import SPAN, VALUE, SumTooLarge
from engine.model.stopping import Stop, look, watched
from engine.plans.accumulators import Amounts, BatchAmounts
from engine.plans.amount_table import ClassSums
from engine.plans.member_counts import GROUP
from engine.plans.weights import Members
from engine.plans.windows import Run, WindowRuns

WEIGHT = "weight"
MAX_WEIGHT = 2**63  # of an amount of 64 bits, so that it stays within 128


class AmountRank(NamedTuple):
    """The amounts beside the rank of a percentile, and how far between them it is: `part` of `whole`."""

    low: int
    high: int
    part: int
    whole: int

    @property
    def numerator(self) -> int:
        """The percentile times `whole`."""
        return self.low * (self.whole - self.part) + self.high * self.part


class RankedAmounts:
    """The amounts of rows by group, a base and the members of a breakdown. A group is a number."""

    def __init__(self, rows: pl.DataFrame, shares: Sequence[Exact]) -> None:
        """`rows` has GROUP, SPAN and VALUE in the order of GROUP and VALUE, `shares` the share of each group."""
        self._rows = rows
        self._shares = shares
        self._ranks: dict[tuple[Run, ...], Mapping[int, AmountRank]] = {}

    def within(self, runs: Sequence[Run]) -> Mapping[int, AmountRank]:
        """Return the rank of the percentile of each group that has rows in some runs."""
        key = tuple(runs)
        if key not in self._ranks:
            look()
            self._ranks[key] = dict(self._within(key))
        return self._ranks[key]

    def _within(self, runs: Sequence[Run]) -> Iterator[tuple[int, AmountRank]]:
        inside = [pl.col(SPAN).is_between(first, after, closed="left") for first, after in watched(runs)]
        held = self._rows.filter(pl.any_horizontal(inside)) if inside else self._rows.clear()
        counts = held.group_by(GROUP, maintain_order=True).len().rows()
        groups: list[tuple[int, int, int]] = []  # with the part and whole of each
        places: list[int] = []  # of the amounts below and above each rank
        first = 0
        for group, count in watched(counts):
            share = self._shares[group]
            below, part = divmod((count - 1) * share.numerator, share.denominator)
            groups.append((group, part, share.denominator))
            places += [first + below, first + below + bool(part)]
            first += count
        beside = iter(held[VALUE].gather(places).to_list() if places else ())
        for group, part, whole in watched(groups):
            yield group, AmountRank(next(beside), next(beside), part, whole)


class RankedMembers(Struct, frozen=True, eq=False):
    """The percentiles of one base, by the members of the breakdown."""

    groups: Mapping[Members, int]
    ranked: RankedAmounts

    def over(self, members: Members, windows: WindowRuns) -> Sequence[int | None]:
        """Return the percentile in each window times the denominator of the share, None if it has no rows."""
        group = self.groups.get(members, -1)
        ranks = (self.ranked.within(runs).get(group) for runs in watched(windows.runs))
        return [None if rank is None else rank.numerator for rank in ranks]

    def holding(self, runs: Sequence[Run]) -> Iterator[Members]:
        """Yield the members of the breakdown that have rows in any of some runs."""
        groups: AbstractSet[int] = self.ranked.within(runs).keys()
        return (members for members, group in watched(self.groups.items()) if group in groups)

    def rank(self, runs: Sequence[Run]) -> AmountRank | None:
        """Return the rank of the percentile of all members together, None if there are no rows."""
        return self.ranked.within(runs).get(self.groups.get((), -1))


def ranked_amounts(amounts: Iterable[ClassSums], stop: Stop, *, subtotals: bool) -> BatchAmounts:
    """Return the percentiles of the bases of a group, from the amounts of its rows by interval and class."""
    numbers: dict[tuple[int, Members], int] = {}  # of each base, by position, and members of the axes
    frames: list[pl.LazyFrame] = []
    known = list(amounts)
    group = known[0].group
    for of, rows, _ in watched(known):
        keys = of.keys
        combinations = rows.select(keys).unique().rows() if keys else [()]
        weights = [
            (*combination, numbers.setdefault((position, members), len(numbers)), weight)
            for combination in watched(combinations, stop)
            for position, members, weight in watched(of.weighed_in(combination, subtotals=subtotals))
        ]
        schema = {key: rows.schema[key] for key in keys} | {GROUP: pl.UInt32, WEIGHT: pl.Int128}
        if any(abs(row[-1]) >= MAX_WEIGHT for row in watched(weights)):
            raise SumTooLarge("amounts to rank could pass 128 bits")
        frames.append(weighed(rows, pl.DataFrame(weights, schema, orient="row"), keys))
    ordered = pl.concat(frames).sort(GROUP, VALUE).collect(engine="in-memory")
    shares = [group.bases[position].share or Exact(0) for position, _ in watched(numbers)]
    ranked = RankedAmounts(ordered, shares)
    groups: list[dict[Members, int]] = [{} for _ in group.bases]
    for (position, members), number in watched(numbers.items(), stop):
        groups[position][members] = number
    denominators = zip(group.bases, group.denominators, groups, strict=True)
    return BatchAmounts(
        {
            base: Amounts(
                base,
                10**base.measure.places * denominator * (base.share or Exact(0)).denominator,
                (),
                RankedMembers(of_base, ranked),
            )
            for base, denominator, of_base in denominators
        }
    )


def weighed(rows: pl.DataFrame, weights: pl.DataFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return GROUP, SPAN and the weighed VALUE of rows, once for each group that they count in."""
    groups = weights.lazy()
    joined = rows.lazy().join(groups, on=keys) if keys else rows.lazy().join(groups, how="cross")
    return joined.select(GROUP, SPAN, (pl.col(VALUE).cast(pl.Int128) * pl.col(WEIGHT)).alias(VALUE))
