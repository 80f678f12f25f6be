"""Class members: the members of a breakdown that the leaf classes of a base group count in, as columns of integers."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property

import polars as pl
from msgspec import Struct

from engine.model.caching import cached_method
from engine.model.exact import ONE
from engine.model.stopping import watched
from engine.plans.base_groups import BaseGroup
from engine.plans.weights import (
    FIRST_MEMBER,
    IN_TOTAL,
    NOWHERE,
    Axis,
    LeafClass,
    MemberClasses,
    pair,
    weights_in_bases,
)

MEMBER = "member"  # the position of a member on its axis
ALIKE, FACTOR, EDGE = "alike", "factor", "edge"
INT64_LIMIT, INT128_LIMIT = 2**63, 2**127


class NotInFrames(Exception):
    """A figure that no column of integers holds: it is computed member by member."""


def type_of(bound: int) -> type[pl.DataType]:
    """Return the type of sums whose absolute amounts never pass a bound. Raises NotInFrames beyond 127 bits."""
    if bound >= INT128_LIMIT:
        raise NotInFrames
    return pl.Int64 if bound < INT64_LIMIT else pl.Int128


def factors_column(factors: Sequence[int | None]) -> pl.Series:
    """Return factors as a column. Raises NotInFrames for one of more than 63 bits."""
    if max((abs(factor) for factor in watched(factors) if factor), default=0) >= INT64_LIMIT:
        raise NotInFrames
    return pl.Series(FACTOR, factors, pl.Int64)


def largest(factors: pl.Series) -> int:
    """Return the largest absolute value of a column of factors, 1 at least."""
    return max([1, *(abs(bound) for bound in (factors.min(), factors.max()) if isinstance(bound, int))])


class MemberFactors(Struct, frozen=True):
    """The members that each leaf class counts in, each with its factor: the class, MEMBER, ALIKE and FACTOR."""

    pairs: pl.DataFrame
    by_class: pl.DataFrame | None  # a row for each class in their order, if none counts in two members
    leaf: str
    largest: int

    def joined(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return rows with the members that they count in; those that count in none are left out."""
        if self.by_class is None:
            return rows.join(self.pairs.lazy(), on=self.leaf)
        each = self.by_class.get_columns()
        chosen = [pl.lit(column).gather(pl.col(self.leaf)).alias(column.name) for column in each]
        return rows.with_columns(chosen).drop_nulls(MEMBER)


class ClassMembers(Struct, frozen=True, eq=False, dict=True):
    """The members of the first axis that the leaf classes of a base group count in, as columns."""

    group: BaseGroup

    @property
    def axis(self) -> Axis:
        """The axis of the members."""
        return self.group.axes[0]

    @property
    def others(self) -> Sequence[str]:
        """The other keys of the group."""
        return [key for key in self.group.keys if key != self.axis.leaf]

    @cached_property
    def classes(self) -> Mapping[str, Sequence[LeafClass]]:
        """The classes of each key."""
        return {of_key.leaf: of_key.classes for of_key in self.group.classes}

    @cached_property
    def edges(self) -> pl.DataFrame:
        """The members of each class, with the weight of the class in each times the denominator of the axis."""
        if isinstance(self.classes[self.axis.leaf], MemberClasses):
            return self._edges_of_members
        order, unit, key = self.axis.order, self.axis.denominator, self.axis.key
        each = [
            (number, order[member], weight.numerator * (unit // weight.denominator))
            for number, leaf_class in enumerate(watched(self.classes[self.axis.leaf]))
            for member, weight in leaf_class.in_members.get(key, ())
        ]
        classes, members, weights = zip(*each, strict=True) if each else ((), (), ())
        return pl.DataFrame(
            [
                pl.Series(self.axis.leaf, classes, pl.UInt32),
                pl.Series(MEMBER, members, pl.UInt32),
                factors_column(weights).alias(EDGE),
            ]
        )

    @property
    def _edges_of_members(self) -> pl.DataFrame:
        count = len(self.axis.ids)
        return pl.DataFrame(
            [
                pl.int_range(FIRST_MEMBER, FIRST_MEMBER + count, dtype=pl.UInt32, eager=True).alias(self.axis.leaf),
                pl.int_range(count, dtype=pl.UInt32, eager=True).alias(MEMBER),
                pl.repeat(1, count, dtype=pl.Int64, eager=True).alias(EDGE),
            ]
        )

    @cached_property
    def alike(self) -> tuple[pl.Series, Sequence[LeafClass]]:
        """For each class, the number of those that weigh alike whatever the members; and the first class of each."""
        classes = self.classes[self.axis.leaf]
        if isinstance(classes, MemberClasses):
            return pl.repeat(0, len(classes), dtype=pl.UInt32, eager=True).alias(ALIKE), classes[:1]
        numbers: dict[Hashable, int] = {}
        firsts: list[LeafClass] = []
        of_class = []
        for leaf_class in watched(classes):
            number = numbers.setdefault(weights_of(leaf_class), len(firsts))
            if number == len(firsts):
                firsts.append(leaf_class)
            of_class.append(number)
        return pl.Series(ALIKE, of_class, pl.UInt32), firsts

    @cached_method
    def rest(self, leaf: str) -> pl.Series:
        """Return for each class of the leaf of an axis the first of those that count alike in the total."""
        classes = self.classes[leaf]
        if isinstance(classes, MemberClasses):
            counts = [NOWHERE, *[IN_TOTAL] * (len(classes) - 1)]
            return pl.Series(counts, dtype=pl.UInt32)
        numbers: dict[Hashable, int] = {}
        firsts = [
            numbers.setdefault((weights_of(leaf_class), *map(pair, leaf_class.in_totals.values())), at)
            for at, leaf_class in enumerate(watched(classes))
        ]
        return pl.Series(firsts, dtype=pl.UInt32)

    def classes_of(self, members: Collection[str]) -> pl.Series:
        """Return the classes that count in some members."""
        positions = [self.axis.order[member] for member in members]
        return self.edges.filter(pl.col(MEMBER).is_in(positions))[self.axis.leaf].unique()

    @cached_method
    def factors(self, position: int) -> MemberFactors:
        """Return the members that each class counts in of a base; a factor is what a sum counts times in one.

        In a group with other keys their weights are left out: `weighed` multiplies them.
        """
        leaf, group = self.axis.leaf, self.group
        of_class, firsts = self.alike
        selects = self.axis.key in group.weights[position].hierarchies
        edge = pl.lit(self.axis.denominator) if selects or group.bases[position].over_members.counts else pl.col(EDGE)
        weights = [None if self.others else self.weight({leaf: first}, position) for first in firsts]
        column = factors_column([1] * len(firsts) if self.others else weights)
        type_of(2**64 * largest(column) * largest(self.edges[EDGE]))
        pairs = (
            self.edges.filter(pl.lit(value=True) if selects else pl.col(EDGE) != 0)
            .with_columns(pl.lit(of_class).gather(pl.col(leaf)).alias(ALIKE))
            .with_columns(pl.lit(column).gather(pl.col(ALIKE)).alias(FACTOR))
            .select(leaf, MEMBER, ALIKE, (edge * pl.col(FACTOR)).alias(FACTOR))
            .drop_nulls(FACTOR)
        )
        alone = pairs[leaf].is_unique().all()
        every = pl.DataFrame(pl.Series(leaf, range(len(of_class)), pl.UInt32))
        by_class = every.join(pairs, on=leaf, how="left", maintain_order="left").drop(leaf) if alone else None
        return MemberFactors(pairs, by_class, leaf, largest(pairs[FACTOR]))

    def weight(self, of_leaves: Mapping[str, LeafClass], position: int) -> int | None:
        """Return what sums of some classes count times in a base, without edges; None where they do not count.

        The weight is over the denominator of the base, without that of the axis.
        """
        group = self.group
        base, unit = group.bases[position], group.denominators[position] // self.axis.denominator
        for at, weight, factor in weights_in_bases(of_leaves, group.weights):
            if at == position:
                amount = ONE if base.over_members.counts else weight * factor
                scaled = amount.numerator * unit // amount.denominator
                return -scaled if base.negated else scaled
        return None

    def weighed(self, rows: pl.LazyFrame, position: int) -> tuple[pl.LazyFrame, int]:
        """Return rows of sums by class with MEMBER and FACTOR, a row for each member, and the largest factor.

        Rows that do not count in a base are left out.
        """
        factors = self.factors(position)
        joined = factors.joined(rows)
        if not self.others:
            return joined, factors.largest
        keys = [*self.others, ALIKE]
        of_class, firsts = self.alike
        alike = pl.lit(of_class).gather(pl.col(self.axis.leaf)).alias(ALIKE)
        combinations = rows.with_columns(alike).select(keys).unique().collect(engine="in-memory")
        weights = [
            self.weight(
                {key: self.classes[key][number] for key, number in zip(self.others, numbers, strict=False)}
                | {self.axis.leaf: firsts[numbers[-1]]},
                position,
            )
            for numbers in watched(combinations.iter_rows())
        ]
        column = factors_column(weights)
        weighing = combinations.with_columns(column.alias("weight")).drop_nulls("weight")
        most = largest(column) * factors.largest
        type_of(2**64 * most)
        product = (pl.col(FACTOR) * pl.col("weight")).alias(FACTOR)
        return joined.join(weighing.lazy(), on=keys).with_columns(product), most


def weights_of(leaf_class: LeafClass) -> Hashable:
    """Return what the leaves of a class count in the bases, as a key."""
    return tuple((at, pair(weight)) for at, weight in leaf_class.in_bases.items()), leaf_class.in_factors
