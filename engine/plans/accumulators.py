"""Accumulators: how the sums of intervals combine to the amounts of a base, and amounts to figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

from engine.model import stopping
from engine.model.aggregation import MemberAggregation
from engine.model.catalogue import Base
from engine.model.exact import Exact
from engine.model.fact_store import AggregateFunction
from engine.model.formulas import Figure, Nothing
from engine.model.members.member_sets import NULL_CODE
from engine.model.stopping import Stop, never, watched
from engine.plans.weights import Members
from engine.plans.windows import DateWindow, IntervalSplits

# A sum has one accumulator. An average has two: the dividend and the divisor.


Amount = Any  # an integer, or a set of codes for COUNT_DISTINCT


@dataclass(frozen=True, slots=True)
class Accumulator:
    """One aggregate of the rows of a base, and how two of its amounts combine. `how` None counts rows."""

    how: AggregateFunction | None
    combine: Callable[[Amount, Amount], Amount]

    def aggregate(self, weight: int) -> AggregateFunction | None:
        """Return the aggregate for rows with a weight. A negative weight swaps MIN and MAX."""
        if weight >= 0 or self.how in (None, AggregateFunction.SUM):
            return self.how
        return AggregateFunction.MAX if self.how is AggregateFunction.MIN else AggregateFunction.MIN


SUM_ACCUMULATOR, COUNT_ACCUMULATOR = Accumulator(AggregateFunction.SUM, add), Accumulator(None, add)
ACCUMULATORS: Mapping[MemberAggregation, tuple[Accumulator, ...]] = {
    MemberAggregation.SUM: (SUM_ACCUMULATOR,),
    MemberAggregation.COUNT: (COUNT_ACCUMULATOR,),
    MemberAggregation.AVERAGE: (SUM_ACCUMULATOR, COUNT_ACCUMULATOR),
    MemberAggregation.MIN: (Accumulator(AggregateFunction.MIN, min),),
    MemberAggregation.MAX: (Accumulator(AggregateFunction.MAX, max),),
    MemberAggregation.COUNT_DISTINCT: (Accumulator(None, frozenset.union),),
}


ByMember = Mapping[Members, Sequence[Amount | None]]  # amounts by interval, for each combination of members


@dataclass(frozen=True, eq=False)
class Amounts:
    """The amounts of one base by accumulator, members and interval, in units of 1 / `denominator`."""

    base: Base
    denominator: int
    by_accumulator: Sequence[ByMember]

    def figures(
        self,
        windows: Sequence[DateWindow],
        intervals: IntervalSplits,
        cells: Sequence[tuple[Members, int]],
        stop: Stop = never,
    ) -> list[Figure]:
        """Return the figure of each cell: its members over the window at its position."""
        splits = intervals.of_all(windows)
        accumulators = list(zip(self.by_accumulator, ACCUMULATORS[self.base.over_members], strict=True))
        figures: list[Figure] = []
        for members, time in watched(cells, stop) if len(cells) > stopping.STRIDE else cells:
            found = [
                combine_amounts(by_member.get(members, ()), splits[time], accumulator.combine)
                for by_member, accumulator in accumulators
            ]
            figures.append(Nothing.MISSING if found[0] is None else self.figure(found, windows[time].divisor))
        return figures

    def figure(self, found: Sequence[Amount], divisor: int) -> Exact:
        """Return the figure that the amounts of the accumulators make."""
        match self.base.over_members:
            case MemberAggregation.COUNT_DISTINCT:
                return Exact(len(found[0] - {NULL_CODE}))
            case MemberAggregation.AVERAGE:
                return Exact(found[0], self.denominator * found[1])
        return Exact(found[0], self.denominator * divisor)

    def divisor(self, window: DateWindow, intervals: IntervalSplits) -> int:
        """Return the divisor of a figure without breakdown: the number of rows or closings in a mean."""
        if self.base.over_members is not MemberAggregation.AVERAGE:
            return window.divisor
        return int(combine_amounts(self.by_accumulator[1].get((), ()), intervals.of(window), add) or 1)

    def members(self, intervals: Sequence[int]) -> Iterator[Members]:
        """Yield the combinations of members that hold rows in any of some intervals."""
        for members, amounts in watched(self.by_accumulator[0].items()):
            if any(amounts[interval] is not None for interval in intervals):
                yield members


def combine_amounts(
    by_interval: Sequence[Amount | None], splits: Sequence[int], combine: Callable[[Amount, Amount], Amount]
) -> Amount | None:
    """Combine the amounts of some intervals; None if all are empty."""
    total = None
    splits = splits if by_interval else ()
    for interval in watched(splits) if len(splits) > stopping.STRIDE else splits:
        amount = by_interval[interval]
        if amount is not None:
            total = amount if total is None else combine(total, amount)
    return total
