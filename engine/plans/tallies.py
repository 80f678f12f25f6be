"""Tallies: what is made of the rows of a base, and how what was made of several groups of rows goes together.

A sum has one tally, an average two: what it divides and what it divides by.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import add
from typing import Any

from engine.adding import OverMembers
from engine.slices import How

Amount = Any  # an integer; of count_distinct, a set of codes


@dataclass(frozen=True, slots=True)
class Tally:
    """One thing that is made of the rows of a base; `how` None: their number."""

    how: How | None
    together: Callable[[Amount, Amount], Amount]

    def aggregate(self, weight: int) -> How | None:
        """Return what to make of rows that count with a weight: the least of negated amounts is that of the most."""
        if weight >= 0 or self.how in (None, How.SUM):
            return self.how
        return How.MAX if self.how is How.MIN else How.MIN


SUMMED, COUNTED = Tally(How.SUM, add), Tally(None, add)
TALLIES: Mapping[OverMembers, tuple[Tally, ...]] = {
    OverMembers.SUM: (SUMMED,),
    OverMembers.COUNT: (COUNTED,),
    OverMembers.AVERAGE: (SUMMED, COUNTED),
    OverMembers.MIN: (Tally(How.MIN, min),),
    OverMembers.MAX: (Tally(How.MAX, max),),
    OverMembers.COUNT_DISTINCT: (Tally(None, frozenset.union),),
}
