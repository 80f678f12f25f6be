"""AGGREGATIONS: how the rows of a base combine. A sum has one accumulator; an average two, the dividend and divisor.

A distinct count has none: what it counts is not put together from amounts; see `member_counts`. Nor has a median or
another percentile; see `ranked_amounts`.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import add

from msgspec import Struct

from engine.model.aggregation import MemberAggregation
from engine.model.catalogue import Base
from engine.model.fact_store import ROWS, Aggregate, AggregateFunction

Amount = int


class Accumulator(Struct, frozen=True):
    """One aggregate of the rows of a base, and how two of its amounts combine. `how` None counts rows."""

    how: AggregateFunction | None
    combine: Callable[..., Amount]
    weighs: bool = True  # whether the values are scaled as amounts are

    def aggregate(self, weight: int) -> AggregateFunction | None:
        """Return the aggregate for rows with a weight. A negative weight swaps MIN and MAX."""
        if weight >= 0 or self.how in (None, AggregateFunction.SUM):
            return self.how
        return AggregateFunction.MAX if self.how is AggregateFunction.MIN else AggregateFunction.MIN

    def column_and_factor(self, measure: str, weight: int) -> tuple[str, int]:
        """Return the column that it reads for rows with a weight, and the factor of its values."""
        how = self.aggregate(weight)
        return ROWS if how is None else Aggregate(measure, how).column, weight if self.weighs else 1


Derived = tuple[Sequence[Amount | None], Sequence[int]]  # amounts, and the units that divide them


def means(found: Sequence[Sequence[Amount | None]], denominator: int) -> Derived:
    """Return sums, which the numbers of their rows divide."""
    return found[0], [denominator * (rows or 0) for rows in found[1]]


class Aggregation(Struct, frozen=True):
    """How the rows of a base combine: the accumulators, and what makes figures of their amounts if these are none."""

    accumulators: tuple[Accumulator, ...]
    derive: Callable[[Sequence[Sequence[Amount | None]], int], Derived] | None = None


ADDED = Accumulator(AggregateFunction.SUM, add)
AGGREGATIONS: Mapping[MemberAggregation, Aggregation] = {
    MemberAggregation.SUM: Aggregation((ADDED,)),
    MemberAggregation.COUNT: Aggregation((Accumulator(None, add),)),
    MemberAggregation.AVERAGE: Aggregation((ADDED, Accumulator(None, add, weighs=False)), means),
    MemberAggregation.MIN: Aggregation((Accumulator(AggregateFunction.MIN, min),)),
    MemberAggregation.MAX: Aggregation((Accumulator(AggregateFunction.MAX, max),)),
    MemberAggregation.COUNT_DISTINCT: Aggregation(()),
    MemberAggregation.MEDIAN: Aggregation(()),
    MemberAggregation.PERCENTILE: Aggregation(()),
}


def accumulators_of(base: Base) -> tuple[Accumulator, ...]:
    """Return the accumulators of a base."""
    return AGGREGATIONS[base.over_members].accumulators
