"""Weighings: everything about a set of bases that does not depend on who asks and for which days.

Which leaf dimensions rows must be grouped by, which leaves count alike, and what the sums of each class are added to.
One version of the books makes each of them once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import polars as pl

from engine.catalogue import Base
from engine.exact import ONE
from engine.plans.weights import (
    Axis,
    BaseWeights,
    Classes,
    Members,
    base_weights,
    contributions,
    factors_in,
    factors_of,
)
from engine.queries.values import Filter
from engine.reader import Reader
from engine.scenarios import Variant
from engine.scope import EVERYTHING, Allowed, Cell, CodeSet

Counted = tuple[int, Members, str, int]  # position of a base, members, measure, integer weight


@dataclass(frozen=True, eq=False)
class Weighing:
    """Bases restricted along the same leaf dimensions, broken down by the same axes."""

    positions: tuple[int, ...]  # of its bases among those asked for together
    measured: tuple[str, ...]  # the measure of each base
    negated: tuple[bool, ...]
    weights: tuple[BaseWeights, ...]
    axes: tuple[Axis, ...]
    places: int
    leaf_counts: Mapping[str, int]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The leaf dimensions that rows must be grouped by: those that do not weigh the same in every base."""
        restricted = dict.fromkeys(self.weights[0].by_leaf)
        told_apart = dict.fromkeys(axis.leaf for axis in self.axes)
        told_apart |= dict.fromkeys(leaf for factor in factors_in(self.weights) for leaf in factor.leaves)
        return tuple(leaf for leaf in restricted | told_apart if leaf in told_apart or not self._weighs_alike(leaf))

    def _weighs_alike(self, leaf: str) -> bool:
        first = self.weights[0].by_leaf[leaf]
        return all(
            (weights.by_leaf[leaf] is first or weights.by_leaf[leaf].keys() == first.keys())
            and all(weight is ONE or weight == ONE for weight in weights.by_leaf[leaf].values())
            for weights in self.weights
        )

    @cached_property
    def cut(self) -> Cell:
        """The leaves that any base can count, where leaving out the others is worth a test of every row.

        Of a dimension that is grouped by anyway, leaves that count nowhere cost less summed than tested.
        """
        codes = {}
        for leaf in self.weights[0].by_leaf:
            counted = frozenset().union(*(weights.by_leaf[leaf] for weights in self.weights))
            if leaf not in self.keys or 2 * len(counted) < self.leaf_counts[leaf]:
                codes[leaf] = CodeSet(counted)
        return Cell.of([Allowed.of(codes)]) if codes else EVERYTHING

    @cached_property
    def classes(self) -> tuple[Classes, ...]:
        """The classes of each key."""
        return tuple(Classes.of(leaf, self.leaf_counts[leaf], self.weights, self.axes) for leaf in self.keys)

    @cached_property
    def class_columns(self) -> Sequence[pl.Expr]:
        """The expressions that put the class of each code in its place."""
        return [pl.lit(known.of_code).gather(pl.col(known.leaf)).alias(known.leaf) for known in self.classes]

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures summed."""
        return tuple(dict.fromkeys(self.measured))

    @cached_property
    def denominators(self) -> Sequence[int]:
        """For each base, a denominator that all its weights fit."""
        of_axes = prod(axis.denominator for axis in self.axes)
        return [weights.denominator * of_axes for weights in self.weights]

    def counted(self, classes: tuple[int, ...]) -> Sequence[Counted]:
        """Return what the sums of one combination of classes are added to, each with its integer weight."""
        known = self._counted.get(classes)
        if known is None:
            found = {known.leaf: known.classes[number] for known, number in zip(self.classes, classes, strict=True)}
            known = self._counted[classes] = []
            for position, members, weight in contributions(found, self.weights, self.axes, self.places):
                scaled = weight.numerator * (self.denominators[position] // weight.denominator)
                signed = -scaled if self.negated[position] else scaled
                known.append((position, members, self.measured[position], signed))
        return known

    @cached_property
    def _counted(self) -> dict[tuple[int, ...], list[Counted]]:
        return {}


def weighings(
    bases: Sequence[Base],
    axes: Sequence[Axis],
    places: int,
    filters: Sequence[Filter],
    variant: Variant | None,
    reader: Reader,
) -> list[Weighing]:
    """Return the weighings of some bases of one domain, those made before where the same was asked."""
    key = (
        "weighings",
        tuple((base.domain, base.where, base.measure.key, base.negated) for base in bases),
        tuple((axis.key, axis.ids) for axis in axes),
        places,
        tuple((known.dimension.key, known.members) for known in filters),
        variant,
    )
    named = sum(len(axis.ids) for axis in axes) + sum(len(known.members) + len(known.leaves) for known in filters)
    size = named + sum(reader.leaf_count(leaf) for leaf in reader.catalogue.domains[bases[0].domain].dimensions)
    return reader.worked_out(key, lambda: make_weighings(bases, axes, places, filters, variant, reader), size)


def make_weighings(
    bases: Sequence[Base],
    axes: Sequence[Axis],
    places: int,
    filters: Sequence[Filter],
    variant: Variant | None,
    reader: Reader,
) -> list[Weighing]:
    """Sort bases by the leaf dimensions that restrict them."""
    factors = factors_of(variant, reader.catalogue.domains[bases[0].domain], reader)
    weights = [base_weights(base, reader, filters, axes, factors) for base in bases]
    grouped: dict[frozenset[str], list[int]] = {}
    for position, weighed in enumerate(weights):
        grouped.setdefault(frozenset(weighed.by_leaf), []).append(position)
    counts = {leaf: reader.leaf_count(leaf) for leaf in reader.catalogue.domains[bases[0].domain].dimensions}
    return [
        Weighing(
            positions=tuple(alike),
            measured=tuple(bases[position].measure.key for position in alike),
            negated=tuple(bases[position].negated for position in alike),
            weights=tuple(weights[position] for position in alike),
            axes=tuple(axes),
            places=places,
            leaf_counts=counts,
        )
        for alike in grouped.values()
    ]
