"""Accumulators: what is aggregated from the rows of a base, and the figures made of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

from engine.model.aggregation import MemberAggregation
from engine.model.catalogue import Base
from engine.model.exact import Exact
from engine.model.fact_store import AggregateFunction
from engine.model.formulas import Figure, Nothing
from engine.model.members.member_sets import NULL_CODE
from engine.model.stopping import Stop, never, watched
from engine.plans.weights import Members
from engine.plans.windows import DateWindow, IntervalSplits

# Tallies: what is made of the rows of a base, and how what was made of several groups of rows goes together.
#
# A sum has one tally, an average two: what it divides and what it divides by.


Amount = Any  # an integer; of count_distinct, a set of codes


@dataclass(frozen=True, slots=True)
class Accumulator:
    """One thing that is made of the rows of a base; `how` None: their number."""

    how: AggregateFunction | None
    combine: Callable[[Amount, Amount], Amount]

    def aggregate(self, weight: int) -> AggregateFunction | None:
        """Return what to make of rows that count with a weight: the least of negated amounts is that of the most."""
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


# Amounts: what was read of one base, and the figures made of it.
#
# A figure is made of the pieces of its window; what is made of the rows of a piece, and how pieces go together, is the
# affair of tallies.


ByMember = Mapping[Members, Sequence[Amount | None]]  # amounts by piece, of each combination of members


@dataclass(frozen=True, eq=False)
class Amounts:
    """What was read of one base: amounts by tally, members and piece, in units of one over `denominator`."""

    base: Base
    denominator: int
    by_accumulator: Sequence[ByMember]
    splits: IntervalSplits

    def figures(
        self, windows: Sequence[DateWindow], cells: Iterable[tuple[Members, int]], stop: Stop = never
    ) -> list[Figure]:
        """Return the figures of some members over one of the windows each."""
        splits = [self.splits.of(window) for window in windows]
        accumulators = list(zip(self.by_accumulator, ACCUMULATORS[self.base.over_members], strict=True))
        figures: list[Figure] = []
        for members, time in watched(cells, stop):
            found = [
                combine_amounts(by_member.get(members, ()), splits[time], accumulator.combine)
                for by_member, accumulator in accumulators
            ]
            figures.append(Nothing.MISSING if found[0] is None else self.figure(found, windows[time].divisor))
        return figures

    def figure(self, found: Sequence[Amount], divisor: int) -> Exact:
        """Return the figure that the tallies make."""
        match self.base.over_members:
            case MemberAggregation.COUNT_DISTINCT:
                return Exact(len(found[0] - {NULL_CODE}))
            case MemberAggregation.AVERAGE:
                return Exact(found[0], self.denominator * found[1])
        return Exact(found[0], self.denominator * divisor)

    def divisor(self, window: DateWindow) -> int:
        """Return what a figure without breakdown is divided by: how many rows or closings it is the mean of."""
        if self.base.over_members is not MemberAggregation.AVERAGE:
            return window.divisor
        return int(combine_amounts(self.by_accumulator[1].get((), ()), self.splits.of(window), add) or 1)

    @property
    def members(self) -> Iterable[Members]:
        """The combinations of members that hold anything."""
        return self.by_accumulator[0].keys()


def combine_amounts(
    by_interval: Sequence[Amount | None], splits: Sequence[int], combine: Callable[[Amount, Amount], Amount]
) -> Amount | None:
    """Return the amounts of some pieces together, None where none holds any."""
    total = None
    for interval in splits if by_interval else ():
        amount = by_interval[interval]
        if amount is not None:
            total = amount if total is None else combine(total, amount)
    return total
