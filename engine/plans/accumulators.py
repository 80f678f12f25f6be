"""Accumulators: how the sums of intervals combine to the amounts of a base, and amounts to figures."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, pairwise
from operator import add, gt, sub
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from engine.model import stopping
from engine.model.caching import GrowingTable, cached_method
from engine.model.catalogue import Base
from engine.model.evaluation import FigureColumn, KeyedFigures
from engine.model.exact import Exact
from engine.model.formulas import Figure, Nothing
from engine.model.stopping import Stop, never, watched
from engine.plans.aggregations import AGGREGATIONS, Accumulator, Amount, accumulators_of
from engine.plans.weights import Members
from engine.plans.windows import DateWindow, IntervalSplits, Run, WindowRuns

# The amounts of some members stand in the order of their intervals, and a window reads runs of them. Sums are cumulated
# once: a run of any length is then the difference of two integers, and the counts beside them tell whether it has rows.


class IntervalAmounts(Protocol):
    """The amounts of a base for some members, by interval."""

    def over(self, windows: WindowRuns) -> Sequence[Amount | None]:
        """Return the amount of each window, None if it has no rows."""

    def total(self, runs: Sequence[Run]) -> Amount | None:
        """Return the amount of some runs, None if they have no rows."""

    def by_interval(self) -> Sequence[Amount | None]:
        """Return the amount of each interval, None if it has no rows or was not read."""


class CumulatedAmounts(Struct, frozen=True):
    """Amounts that add up."""

    amounts: Sequence[int]  # the sum of all intervals before each position
    held: Sequence[int]  # the number of intervals with rows before each position, of everything that was added up
    has_all: bool  # whether every interval that was read has rows

    @classmethod
    def of(cls, by_interval: Sequence[int | None], read: Sequence[int]) -> "CumulatedAmounts":
        """Cumulate the amounts of the intervals, of which some were read."""
        amounts = accumulate((amount or 0 for amount in watched(by_interval)), initial=0)
        held = accumulate((amount is not None for amount in watched(by_interval)), initial=0)
        return cls(list(amounts), list(held), all(by_interval[at] is not None for at in watched(read)))

    @classmethod
    def added(cls, each: Sequence["IntervalAmounts"]) -> "CumulatedAmounts":
        """Add up amounts that add up, over the same intervals."""
        cumulated = [known for known in each if isinstance(known, cls)]
        columns = [(known.amounts, known.held) for known in cumulated]
        amounts, held = (list(map(sum, zip(*column, strict=True))) for column in zip(*columns, strict=True))
        return cls(amounts, held, any(known.has_all for known in cumulated))

    def over(self, windows: WindowRuns) -> Sequence[int | None]:
        """Return the sum of each window, None if it has no rows."""
        if len(windows.runs) == 1 or not windows.are_single:
            return [self.total(runs) for runs in windows.runs]
        firsts, afters = windows.firsts, windows.afters
        sums = list(map(sub, afters(self.amounts), firsts(self.amounts)))
        if self.has_all and windows.never_empty:
            return sums
        have_rows = map(gt, afters(self.held), firsts(self.held))
        return [amount if held else None for amount, held in zip(sums, have_rows, strict=True)]

    def total(self, runs: Sequence[Run]) -> int | None:
        """Return the sum of some runs, None if they have no rows."""
        amounts, held = self.amounts, self.held
        if len(runs) == 1:
            ((first, after),) = runs
            return amounts[after] - amounts[first] if held[after] > held[first] else None
        total = None
        for first, after in runs if len(runs) <= stopping.STRIDE else watched(runs):
            if held[after] > held[first]:
                total = (total or 0) + amounts[after] - amounts[first]
        return total

    def by_interval(self) -> Sequence[int | None]:
        """Return the amount of each interval, None if it has no rows or was not read."""
        pairs = zip(pairwise(self.amounts), pairwise(self.held), strict=True)
        return [b - a if rows > before else None for (a, b), (before, rows) in watched(pairs)]


class CombinedAmounts(Struct, frozen=True):
    """Amounts that do not add up."""

    amounts: Sequence[Amount | None]
    combine: Callable[..., Amount]  # of any number

    def over(self, windows: WindowRuns) -> Sequence[Amount | None]:
        """Return the combined amount of each window, None if it has no rows."""
        return [self.total(runs) for runs in windows.runs]

    def total(self, runs: Sequence[Run]) -> Amount | None:
        """Return the combined amount of some runs, None if they have no rows."""
        read = (self.amounts[interval] for run in watched(runs) for interval in watched(range(*run)))
        held = [amount for amount in read if amount is not None]
        if not held:
            return None
        return self.combine(*held) if len(held) > 1 else held[0]

    def by_interval(self) -> Sequence[Amount | None]:
        """Return the amount of each interval, None if it has no rows or was not read."""
        return self.amounts


def interval_amounts(
    accumulator: Accumulator, by_interval: Sequence[Amount | None], read: Sequence[int]
) -> IntervalAmounts:
    """Return amounts by interval, of which some were read, in the form that combines as their accumulator does."""
    if accumulator.combine is add:
        return CumulatedAmounts.of(by_interval, read)
    return CombinedAmounts(by_interval, accumulator.combine)


def joined(
    accumulator: Accumulator, a: IntervalAmounts | None, b: IntervalAmounts | None, read: Sequence[int]
) -> IntervalAmounts:
    """Return the amounts of intervals of which each was read for one of two; `read` are those of both."""
    each = [known.by_interval() for known in (a, b) if known is not None]
    pairs = watched(list(zip(each[0], each[-1], strict=True)))
    return interval_amounts(accumulator, [one if other is None else other for one, other in pairs], read)


class MemberFigures(Protocol):
    """The figures of one base that are not put together from amounts, by the members of the breakdown."""

    def over(self, members: Members, windows: WindowRuns) -> Sequence[int | None]:
        """Return the numerator of each window, None if it has no rows."""

    def holding(self, runs: Sequence[Run]) -> Iterator[Members]:
        """Yield the members that have rows in any of some runs."""


MembersAlike = tuple[Sequence[Members], tuple[int, ...]]  # in a row, and the time columns that each of them has


class FigureCells(Struct, frozen=True):
    """Some members, each over the same windows; not more of either than between two looks at `stop`."""

    members: Sequence[Members]
    windows: WindowRuns


def figure_cells(
    windows: Sequence[DateWindow], splits: IntervalSplits, places: Iterable[MembersAlike]
) -> list[FigureCells]:
    """Return the cells of some members, each over the windows at some positions, in order."""
    found: list[FigureCells] = []
    stride = stopping.STRIDE
    for members, times in watched(places):
        read = [
            splits.together(tuple([windows[time] for time in times[first : first + stride]]))
            for first in watched(range(0, len(times), stride))
        ]
        together = stride if len(read) == 1 else 1  # members that have more columns follow each other
        for first in watched(range(0, len(members), together)):
            found += [FigureCells(members[first : first + together], one) for one in watched(read)]
    return found


class Amounts(Struct, frozen=True, eq=False):
    """The amounts of one base by accumulator, members and interval, in units of 1 / `denominator`.

    A distinct count and a percentile have figures instead, which are made when a window is asked for.
    """

    base: Base
    denominator: int
    by_accumulator: Sequence[Mapping[Members, IntervalAmounts]]
    counted: MemberFigures | None = None

    def figures(self, cells: Sequence[FigureCells], stop: Stop = never) -> Sequence[Figure]:
        """Return the figures of some cells, in order."""
        if self.counted:
            return self._counts(self.counted, cells, stop)
        if choose := self.base.over_time.choose:
            return self._chosen(choose, cells, stop)
        if AGGREGATIONS[self.base.over_members].derive:
            return list(self._one_by_one(cells, stop))
        (by_member,) = self.by_accumulator
        numerators: list[int | None] = []
        for cell in cells:
            stop()
            windows = cell.windows
            if windows.is_divided:
                return list(self._one_by_one(cells, stop))
            found = map(by_member.get, cell.members)
            if len(windows.runs) == 1:
                (runs,) = windows.runs
                numerators += [None if amounts is None else amounts.total(runs) for amounts in found]
            else:
                for amounts in found:
                    numerators += [None] * len(windows.runs) if amounts is None else amounts.over(windows)
        return FigureColumn(numerators, self.denominator)

    def _counts(self, counted: MemberFigures, cells: Sequence[FigureCells], stop: Stop) -> FigureColumn:
        numerators: list[int | None] = []
        for cell in cells:
            stop()
            for members in cell.members:
                numerators += counted.over(members, cell.windows)
        return FigureColumn(numerators, self.denominator)

    def _chosen(
        self, choose: Callable[[Iterable[Amount]], Amount], cells: Sequence[FigureCells], stop: Stop
    ) -> FigureColumn:
        (by_member,) = self.by_accumulator
        numerators: list[int | None] = []
        for cell in cells:
            windows = list(zip(cell.windows.runs, cell.windows.closes, strict=True))
            for amounts in map(by_member.get, cell.members):
                stop()
                numerators += [
                    None if amounts is None else chosen_close(choose, amounts, runs, closes)
                    for runs, closes in watched(windows, stop)
                ]
        return FigureColumn(numerators, self.denominator)

    def _one_by_one(self, cells: Sequence[FigureCells], stop: Stop) -> Iterator[Figure]:
        for cell in cells:
            stop()
            for members in cell.members:
                read = [by_member[members] for by_member in self.by_accumulator if members in by_member]
                if read:
                    yield from self.column([amounts.over(cell.windows) for amounts in read], cell.windows.divisors)
                else:
                    yield from [Nothing.MISSING] * len(cell.windows.runs)

    def joined(self, other: "Amounts", read: Sequence[int]) -> "Amounts":
        """Return these amounts and those of other intervals; `read` are the intervals of both."""
        parts = zip(accumulators_of(self.base), self.by_accumulator, other.by_accumulator, strict=True)
        by_accumulator = [
            {key: joined(accumulator, a.get(key), b.get(key), read) for key in watched(dict.fromkeys((*a, *b)))}
            for accumulator, a, b in parts
        ]
        return replace(self, by_accumulator=by_accumulator)

    def added(self, some: Collection[Members], members: Members) -> "Amounts":
        """Return the amounts of some members, which add up, as those of one."""
        every = [list(filter(None, map(by_member.get, some))) for by_member in self.by_accumulator]
        by_accumulator = [{members: CumulatedAmounts.added(found)} if found else {} for found in every]
        return replace(self, by_accumulator=by_accumulator)

    def column(self, found: Sequence[Sequence[Amount | None]], divisors: Sequence[int]) -> list[Figure]:
        """Return the figures that the amounts of the accumulators make, window by window."""
        derive = AGGREGATIONS[self.base.over_members].derive
        amounts, units = (
            derive(found, self.denominator)
            if derive
            else (found[0], [self.denominator * divisor for divisor in divisors])
        )
        pairs = zip(amounts, units, strict=True)
        return [Nothing.MISSING if amount is None else Exact(amount, unit) for amount, unit in pairs]

    def divisor(self, window: DateWindow, intervals: IntervalSplits) -> int:
        """Return the divisor of a figure without breakdown: the number of rows or closings in a mean."""
        if not self.base.over_members.is_quotient:
            return window.divisor
        rows = self.by_accumulator[1].get(())
        return (rows and rows.total(intervals.runs(window))) or 1

    def members(self, runs: Sequence[Run], but: AbstractSet[Members]) -> list[Members]:
        """Return the combinations of members that hold rows in any of some runs, except some."""
        if self.counted:
            return [members for members in watched(self.counted.holding(runs)) if members not in but]
        by_member = self.by_accumulator[0]
        others = by_member.keys() - but
        return [members for members in watched(others) if by_member[members].total(runs) is not None]


def chosen_close(
    choose: Callable[[Iterable[Amount]], Amount], amounts: IntervalAmounts, runs: Sequence[Run], closes: Sequence[int]
) -> Amount | None:
    """Return the amount of the close that is chosen of some runs, None if none has rows."""
    each = (amounts.total(runs[first:after]) for first, after in watched(list(pairwise((0, *closes)))))
    held = [amount for amount in each if amount is not None]
    return choose(held) if held else None


class SumMatrix(Struct, frozen=True, eq=False):
    """The cumulated sums of some bases for all members together: a row for each position, a column for each base.

    A window of all bases is the difference of two rows.
    """

    denominators: Mapping[Base, int]
    rows: Sequence[tuple[int, ...]]

    @classmethod
    def of(cls, each: Iterable[Amounts], members: Members) -> "SumMatrix":
        """Return the matrix of those bases whose figures are sums and that have rows in every interval."""
        found = {
            known: sums
            for known in each
            if not known.counted
            and not AGGREGATIONS[known.base.over_members].derive
            and isinstance(sums := known.by_accumulator[0].get(members), CumulatedAmounts)
            and sums.has_all
        }
        denominators = {known.base: known.denominator for known in found}
        return cls(denominators, list(zip(*(sums.amounts for sums in found.values()), strict=True)))

    def numerators(self, windows: WindowRuns) -> Iterator[Sequence[int | None]]:
        """Return the sums of each base in some windows, each of which is one run; None where a run is empty."""
        rows, none = self.rows, [None] * len(self.denominators)
        if not rows:
            return iter(())
        by_window = [
            map(sub, rows[after], rows[first]) if first < after else none for ((first, after),) in windows.runs
        ]
        return zip(*by_window, strict=True)


class BatchAmounts(Struct, frozen=True, eq=False, dict=True):
    """The amounts of the bases of a batch."""

    by_base: Mapping[Base, Amounts]

    def add_to(
        self, found: KeyedFigures[Base], bases: tuple[Base, ...], cells: Sequence[FigureCells], stop: Stop = never
    ) -> None:
        """Add the figures of some bases in the same cells, in order. Sums without members are read together."""
        read: Mapping[Base, int] = {}
        if len(cells) == 1 and len(cells[0].members) == 1:
            (members,), windows = cells[0].members, cells[0].windows
            if windows.are_single and not windows.is_divided and not any(members):
                matrix = self._matrix(bases, members)
                read = matrix.denominators
                found.numerators.update(zip(read, matrix.numerators(windows), strict=True))
                found.denominators.update(read)
        if len(read) < len(bases):
            for base in bases:
                if base not in read:
                    found.add(base, self.by_base[base].figures(cells, stop))

    @cached_method
    def _matrix(self, bases: tuple[Base, ...], members: Members) -> SumMatrix:
        return SumMatrix.of(map(self.by_base.__getitem__, bases), members)


NO_AMOUNTS: tuple[int, BatchAmounts | None] = (0, None)


class AmountMemo:
    """The amounts of the bases of a batch in the months that were read: with those of sub-totals, without, or both.

    What is held stays, since a reader that found it reads nothing. A whole number holds months as bits.
    """

    def __init__(self) -> None:
        self._held: GrowingTable[bool, tuple[int, BatchAmounts]] = GrowingTable()

    def amounts(self, months: int, *, subtotals: bool) -> BatchAmounts | None:
        """Return the amounts if they hold some months; those with sub-totals answer for those without."""
        for kind in (True,) if subtotals else (True, False):
            held, amounts = self._held.at_hand(kind) or NO_AMOUNTS
            if months & ~held == 0:
                return amounts
        return None

    def lacks(self, months: int, *, subtotals: bool) -> int:
        """Return which of some months were not read."""
        if self.amounts(months, subtotals=subtotals) is not None:
            return 0
        held, _ = self._held.at_hand(subtotals) or NO_AMOUNTS
        return months & ~held

    def add(self, months: int, amounts: BatchAmounts, *, subtotals: bool) -> BatchAmounts:
        """Hold the amounts of months that were read, and return those of all months held."""

        def with_these(before: tuple[int, BatchAmounts] | None) -> tuple[int, BatchAmounts]:
            if before is None:
                return months, amounts
            every = months | before[0]
            read = [at for at in watched(range(every.bit_length())) if every >> at & 1]
            pairs = before[1].by_base.items()
            return every, BatchAmounts({base: old.joined(amounts.by_base[base], read) for base, old in pairs})

        _, every = self._held.grow(subtotals, with_these)
        return every
