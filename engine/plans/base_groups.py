"""Base groups: bases that share one query to the store, with its keys, classes, aggregates and accumulator targets.

A base group does not depend on the days that are read, nor on who reads them. The books keep each group and use it
again for all callers, so it holds nothing of the first one.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from math import lcm, prod

import polars as pl
from msgspec import Struct

from engine.books.reader import Reader
from engine.model.aggregation import TimeRule
from engine.model.caching import LazyTable
from engine.model.catalogue import Base
from engine.model.exact import ONE
from engine.model.fact_store import Aggregate
from engine.model.scenarios import Variant
from engine.model.scope import EVERYTHING, AmountRange, Cell, CodeSet, Conjunction
from engine.model.stopping import look, watched
from engine.plans.aggregations import Amount, accumulators_of
from engine.plans.weights import (
    Axis,
    BaseWeights,
    LeafClasses,
    Members,
    base_weights,
    class_contributions,
    factors_in,
    factors_of,
)
from engine.queries.values import Filter

MemoOfClasses = Callable[[Hashable, Callable[[], LeafClasses], int], LeafClasses]
KEPT_TARGETS = 2_000  # combinations of classes whose targets a group keeps from one call to the next


class AccumulatorTarget(Struct, frozen=True):
    """Where the sums of some leaf classes go: an accumulator of a base for some members, with an integer weight."""

    position: int  # of the base
    accumulator: int  # of the base
    members: Members
    column: str  # of the frame of sums
    weight: int
    combine: Callable[..., Amount]


class BaseGroup(Struct, frozen=True, eq=False, dict=True):
    """Bases that restrict the same leaf dimensions and are broken down by the same axes."""

    positions: tuple[int, ...]  # of its bases in the list of bases
    bases: tuple[Base, ...]
    weights: tuple[BaseWeights, ...]  # of each base
    denominators: tuple[int, ...]  # for each base, a common denominator of its weights
    axes: tuple[Axis, ...]
    places: int
    leaf_counts: Mapping[str, int]
    amounts: tuple[AmountRange, ...]  # that the rows of its bases lie in
    filters: tuple[tuple[str, Hashable], ...]  # of each filter, the leaf dimension and its value as a key
    memo: MemoOfClasses
    after: frozenset[str] = frozenset()  # axes that restrict after the last rows of each leaf are found

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The leaf dimensions to group by: those whose leaves differ in weight, members or factors."""
        restricted = dict.fromkeys(self.weights[0].by_leaf)
        told_apart = dict.fromkeys(axis.leaf for axis in self.axes)
        told_apart |= dict.fromkeys(leaf for factor in factors_in(self.weights) for leaf in factor.leaves)
        told_apart |= dict.fromkeys(leaf for leaf in restricted if leaf in self.after)
        return tuple(leaf for leaf in restricted | told_apart if leaf in told_apart or not self._weighs_alike(leaf))

    def _weighs_alike(self, leaf: str) -> bool:
        first = self.weights[0].by_leaf[leaf]
        return all(
            (weights.by_leaf[leaf] is first or weights.by_leaf[leaf].keys() == first.keys())
            and all(weight is ONE or weight == ONE for weight in watched(weights.by_leaf[leaf].values()))
            for weights in self.weights
        )

    @cached_property
    def cut(self) -> Cell:
        """The leaves that any base counts, for dimensions where a filter on every row is worth its cost.

        If rows are grouped by the dimension anyway, it is cheaper to sum a few unused leaves than to test every row.
        """
        codes = {}
        for leaf in self.weights[0].by_leaf.keys() - self.after:
            counted = frozenset().union(*(weights.by_leaf[leaf] for weights in self.weights))
            if leaf not in self.keys or 2 * len(counted) < self.leaf_counts[leaf]:
                codes[leaf] = CodeSet(counted)
        return Cell.of([Conjunction.of(codes, self.amounts)]) if codes or self.amounts else EVERYTHING

    @cached_property
    def classes(self) -> tuple[LeafClasses, ...]:
        """The leaf classes of each key."""
        return tuple(map(self._classes_of, self.keys))

    def _classes_of(self, leaf: str) -> LeafClasses:
        """Return the classes of one key. A filter by another leaf dimension does not change them: the books memoise."""
        if factors_in(self.weights):
            return LeafClasses.of(leaf, self.leaf_counts[leaf], self.weights, self.axes)
        filters = tuple(value for filtered, value in self.filters if filtered == leaf)
        key = ("classes", leaf, self.bases, filters, tuple(axis for axis in self.axes if axis.leaf == leaf))
        count = self.leaf_counts[leaf]
        return self.memo(key, lambda: LeafClasses.of(leaf, count, self.weights, self.axes), count)

    @cached_property
    def class_codes(self) -> Mapping[str, pl.Series]:
        """The class of every code of each key."""
        return {known.leaf: known.of_code for known in self.classes}

    @cached_property
    def class_columns(self) -> Sequence[pl.Expr]:
        """The expressions that replace each code by its class."""
        return [pl.lit(of_code).gather(pl.col(leaf)).alias(leaf) for leaf, of_code in self.class_codes.items()]

    @property
    def counted(self) -> str | None:
        """The leaf dimension whose members its bases count, if they count members."""
        return self.bases[0].counted

    @property
    def ranked(self) -> str | None:
        """The measure whose amounts its bases rank, if they do."""
        return self.bases[0].ranked

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates to ask the store for; both MIN and MAX, because a negative factor swaps them."""
        return tuple(
            dict.fromkeys(
                Aggregate(base.measure.key, how)
                for base in self.bases
                for accumulator in accumulators_of(base)
                for weight in (1, -1)
                if (how := accumulator.aggregate(weight))
            )
        )

    def targets(self, classes: tuple[int, ...], *, subtotals: bool) -> Sequence[AccumulatorTarget]:
        """Return the accumulator targets of the sums of one combination of classes, perhaps with sub-totals."""
        return self._targets.get((classes, subtotals), lambda: tuple(self._make_targets(classes, subtotals=subtotals)))

    def _make_targets(self, classes: tuple[int, ...], *, subtotals: bool) -> Iterator[AccumulatorTarget]:
        for position, members, weight in self.weighed_in(classes, subtotals=subtotals):
            base = self.bases[position]
            for place, accumulator in enumerate(accumulators_of(base)):
                column, factor = accumulator.column_and_factor(base.measure.key, weight)
                yield AccumulatorTarget(position, place, members, column, factor, accumulator.combine)

    def weighed_in(self, classes: tuple[int, ...], *, subtotals: bool) -> Iterator[tuple[int, Members, int]]:
        """Yield the position, members and integer weight of each figure that one combination of classes counts in."""
        look()  # at each new combination: a thousand rows may have as many, each with many members
        by_leaf = {known.leaf: known.classes[number] for known, number in zip(self.classes, classes, strict=True)}
        for position, members, weight, factor in class_contributions(
            by_leaf, self.weights, self.axes, self.places, subtotals=subtotals
        ):
            base = self.bases[position]
            amount = ONE if base.over_members.counts else weight * factor  # weights never scale a count
            scaled = amount.numerator * (self.denominators[position] // amount.denominator)
            yield position, members, -scaled if base.negated else scaled

    def counted_in(self, classes: tuple[int, ...], *, subtotals: bool) -> Iterator[tuple[int, Members]]:
        """Yield the positions of the bases that count one combination of classes, each with members of the axes."""
        return ((position, members) for position, members, _ in self.weighed_in(classes, subtotals=subtotals))

    def members_in(self, classes: tuple[int, ...], *, subtotals: bool) -> Iterator[Members]:
        """Yield the members of the axes that one combination of classes counts in."""
        if self.counted or self.ranked:
            return (members for _, members in self.counted_in(classes, subtotals=subtotals))
        return (target.members for target in self.targets(classes, subtotals=subtotals))

    @cached_property
    def _targets(self) -> LazyTable[tuple[tuple[int, ...], bool], Sequence[AccumulatorTarget]]:
        return LazyTable(KEPT_TARGETS)


def base_groups(
    bases: Sequence[Base],
    axes: Sequence[Axis],
    places: int,
    filters: Sequence[Filter],
    variants: Sequence[Variant | None],
    reader: Reader,
) -> list[tuple[BaseGroup, ...]]:
    """Return the groups of some bases of one domain; each group has one BaseGroup for each variant.

    The books memoise the result.
    """
    key = (
        "base_groups",
        tuple(bases),
        tuple((axis.place, axis.key, axis.ids) for axis in axes),
        places,
        tuple(known.value for known in filters),
        tuple(variants),
    )

    def size(groups: Sequence[tuple[BaseGroup, ...]]) -> int:
        return sum(map(size_of_groups, groups))

    return reader.memo(key, lambda: make_base_groups(bases, axes, places, filters, variants, reader), size)


def size_of_groups(alike: Sequence[BaseGroup]) -> int:
    """Return the size of a memo of the groups of some bases for each variant, in members."""
    first = alike[0]
    named = sum(len(axis.ids) for axis in first.axes) + sum(map(len, first.weights[0].by_leaf.values()))
    targets = len(first.bases) * len(alike) * min(KEPT_TARGETS, prod(len(axis.ids) + 1 for axis in first.axes))
    return named + targets + sum(first.leaf_counts.values())


def make_base_groups(
    bases: Sequence[Base],
    axes: Sequence[Axis],
    places: int,
    filters: Sequence[Filter],
    variants: Sequence[Variant | None],
    reader: Reader,
) -> list[tuple[BaseGroup, ...]]:
    """Group bases by the leaf dimensions and amounts that restrict them, and by what they count, rank or know last."""
    domain = reader.catalogue.domains[bases[0].domain]
    factors = [factors_of(variant, domain, reader) for variant in variants]
    weights = [[base_weights(base, reader, filters, axes, known) for known in factors] for base in bases]
    of_axes = prod(axis.denominator for axis in axes)
    denominators = [lcm(*(weighed.denominator for weighed in by_variant)) * of_axes for by_variant in weights]
    grouped: dict[Hashable, list[int]] = {}
    for position, base in enumerate(bases):
        last_known = (base.stock_group, base.over_time) if base.over_time.rule is TimeRule.LAST_KNOWN else None
        own = base.counted, base.ranked, last_known
        alike = (frozenset(weights[position][0].by_leaf), *own, reader.ranges_of(base))
        grouped.setdefault(alike, []).append(position)
    counts = {leaf: reader.leaf_count(leaf) for leaf in domain.dimensions}
    axes_only = frozenset(domain.dimensions).difference(reader.catalogue.leaves_of(domain.key))
    return [
        tuple(
            BaseGroup(
                positions=tuple(positions),
                bases=tuple(bases[position] for position in positions),
                weights=tuple(weights[position][place] for position in positions),
                denominators=tuple(denominators[position] for position in positions),
                axes=tuple(axes),
                places=places,
                leaf_counts=counts,
                amounts=reader.ranges_of(bases[positions[0]]),
                filters=tuple((known.dimension.leaf, known.value) for known in filters),
                memo=reader.memo,
                after=axes_only if bases[positions[0]].over_time.rule is TimeRule.LAST_KNOWN else frozenset(),
            )
            for place in range(len(variants))
        )
        for positions in grouped.values()
    ]
