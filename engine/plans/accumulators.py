"""Accumulators: what is aggregated from the rows of a base, and the figures made of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

from engine.model.aggregation import OverMembers
from engine.model.catalogue import Base
from engine.model.exact import Exact
from engine.model.fact_store import How
from engine.model.formulas import Figure, Nothing
from engine.model.members.member_sets import NULL_CODE
from engine.model.stopping import Stop, never, watched
from engine.plans.weights import Members
from engine.plans.windows import Pieces, Window

# Tallies: what is made of the rows of a base, and how what was made of several groups of rows goes together.
#
# A sum has one tally, an average two: what it divides and what it divides by.


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
    by_tally: Sequence[ByMember]
    pieces: Pieces

    def figures(
        self, windows: Sequence[Window], cells: Iterable[tuple[Members, int]], stop: Stop = never
    ) -> list[Figure]:
        """Return the figures of some members over one of the windows each."""
        pieces = [self.pieces.of(window) for window in windows]
        tallies = list(zip(self.by_tally, TALLIES[self.base.over_members], strict=True))
        figures: list[Figure] = []
        for members, time in watched(cells, stop):
            found = [joined(by_member.get(members, ()), pieces[time], tally.together) for by_member, tally in tallies]
            figures.append(Nothing.MISSING if found[0] is None else self.figure(found, windows[time].divisor))
        return figures

    def figure(self, found: Sequence[Amount], divisor: int) -> Exact:
        """Return the figure that the tallies make."""
        match self.base.over_members:
            case OverMembers.COUNT_DISTINCT:
                return Exact(len(found[0] - {NULL_CODE}))
            case OverMembers.AVERAGE:
                return Exact(found[0], self.denominator * found[1])
        return Exact(found[0], self.denominator * divisor)

    def divisor(self, window: Window) -> int:
        """Return what a figure without breakdown is divided by: how many rows or closings it is the mean of."""
        if self.base.over_members is not OverMembers.AVERAGE:
            return window.divisor
        return int(joined(self.by_tally[1].get((), ()), self.pieces.of(window), add) or 1)

    @property
    def members(self) -> Iterable[Members]:
        """The combinations of members that hold anything."""
        return self.by_tally[0].keys()


def joined(
    by_piece: Sequence[Amount | None], pieces: Sequence[int], together: Callable[[Amount, Amount], Amount]
) -> Amount | None:
    """Return the amounts of some pieces together, None where none holds any."""
    total = None
    for piece in pieces if by_piece else ():
        amount = by_piece[piece]
        if amount is not None:
            total = amount if total is None else together(total, amount)
    return total
