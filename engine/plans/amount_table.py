"""The amount table: sums by interval and leaf class, added up by base, accumulator and members."""

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import polars as pl

from engine.model.stopping import Stop, watched
from engine.plans.aggregations import Amount
from engine.plans.base_groups import AccumulatorTarget, BaseGroup
from engine.plans.weights import Members


class ClassSums(NamedTuple):
    """Sums by interval and class, and the members of the first axis that they count in, None the total; None: all."""

    group: BaseGroup
    sums: pl.DataFrame
    members: AbstractSet[str | None] | None = None


class AmountTable:
    """Adds rows of sums up to amounts by base, accumulator, members and interval."""

    def __init__(self, read: Sequence[int], count: int, *, subtotals: bool) -> None:
        self._read, self._count, self._subtotals = read, count, subtotals
        self.amounts: dict[tuple[int, int], dict[Members, list[Amount | None]]] = defaultdict(dict)

    def add(self, of: ClassSums, stop: Stop) -> None:
        """Add the rows of one frame."""
        group, sums, members = of.group, of.sums, of.members
        width = 1 + len(group.keys)
        columns = {name: place for place, name in enumerate(sums.columns)}
        known: dict[tuple[int, ...], list[tuple[list[Amount | None], int, AccumulatorTarget]]] = {}
        for row in watched(sums.iter_rows(), stop):
            classes = row[1:width]
            counted = known.get(classes)
            if counted is None:
                counted = known[classes] = [
                    (self._by_interval(target), columns[target.column], target)
                    for target in group.targets(classes, subtotals=self._subtotals)
                    if members is None or target.members[0] in members
                ]
            interval = self._read[row[0]]
            for by_interval, column, target in counted:
                if row[column] is None:  # rows without this amount alone
                    continue
                so_far = by_interval[interval]
                amount = row[column] * target.weight
                by_interval[interval] = amount if so_far is None else target.combine(so_far, amount)

    def _by_interval(self, target: AccumulatorTarget) -> list[Amount | None]:
        by_member = self.amounts[target.position, target.accumulator]
        return by_member.setdefault(target.members, [None] * self._count)
