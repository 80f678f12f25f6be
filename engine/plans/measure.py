"""Measures: the figures of one view, from sums by class to exact numbers.

A *view* is one scenario of one domain inside one scope. Everything that a report reads of a view is planned together:
the days of all its windows are cut into pieces, each piece is summed once by the classes of its leaves, and a figure
is the sum over the pieces of its window.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import polars as pl

from engine.calendar.periods import Span
from engine.catalogue import Base
from engine.exact import ONE, Exact
from engine.formulas.figures import Figure, Nothing
from engine.plans.weights import (
    Axis,
    BaseWeights,
    Classes,
    LeafClass,
    Members,
    base_weights,
    contributions,
    factors_in,
    factors_of,
)
from engine.plans.windows import Window, atoms
from engine.queries.values import Filter
from engine.reader import Reader
from engine.scenarios import Variant
from engine.scope import EVERYTHING, Allowed, Cell, CodeSet
from engine.slices import SPAN, Slice

ByMember = dict[Members, list[int | None]]  # amounts by piece, of each combination of members


@dataclass(frozen=True, slots=True)
class View:
    """One scenario of one domain, inside what may be seen of it and of the scenarios it is compared with."""

    domain: str
    scenario: str
    shared: frozenset[str] = frozenset()
    variant: Variant | None = None


@dataclass(frozen=True, eq=False)
class Batch:
    """Bases of a view that one slice can answer: they are restricted along the same leaf dimensions."""

    view: View
    bases: tuple[Base, ...]
    weights: tuple[BaseWeights, ...]
    axes: tuple[Axis, ...]
    places: int
    pieces: tuple[Span, ...]
    reader: Reader

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The leaf dimensions that rows must be grouped by: those that do not weigh the same in every base."""
        restricted = dict.fromkeys(leaf for weights in self.weights for leaf in weights.by_leaf)
        told_apart = dict.fromkeys(axis.leaf for axis in self.axes)
        told_apart |= dict.fromkeys(leaf for factor in factors_in(self.weights) for leaf in factor.leaves)
        return tuple(leaf for leaf in restricted | told_apart if leaf in told_apart or not self._is_cut(leaf))

    def _is_cut(self, leaf: str) -> bool:
        """Tell whether every base has the same leaves of a dimension, each once: then a cut is enough."""
        first = self.weights[0].by_leaf.get(leaf)
        return first is not None and all(
            (other := weights.by_leaf.get(leaf)) is not None
            and (other is first or other.keys() == first.keys())
            and all(weight is ONE or weight == ONE for weight in other.values())
            for weights in self.weights
        )

    @cached_property
    def cut(self) -> Cell:
        """The leaves that any base can count."""
        codes = {}
        for leaf in self.weights[0].by_leaf:
            listed = [weights.by_leaf[leaf].keys() for weights in self.weights if leaf in weights.by_leaf]
            if len(listed) == len(self.weights):
                codes[leaf] = CodeSet(frozenset().union(*listed))
        return Cell.of([Allowed.of(codes)]) if codes else EVERYTHING

    @cached_property
    def classes(self) -> tuple[Classes, ...]:
        """The classes of each key."""
        return tuple(Classes.of(leaf, self.reader.leaf_count(leaf), self.weights, self.axes) for leaf in self.keys)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures summed."""
        return tuple(dict.fromkeys(base.measure.key for base in self.bases))

    @cached_property
    def sums(self) -> pl.LazyFrame:
        """The plan: sums by piece and class of every key."""
        asked = Slice(
            domain=self.view.domain,
            scenario=self.view.scenario,
            spans=self.pieces,
            keys=self.keys,
            measures=self.measures,
        )
        frame = self.reader.sums(asked, self.cut, self.view.shared)
        if not self.keys:
            return frame
        of_code = [pl.lit(known.of_code).gather(pl.col(known.leaf)).alias(known.leaf) for known in self.classes]
        return frame.with_columns(of_code).group_by(SPAN, *self.keys).agg(pl.col(self.measures).sum())

    def collected(self, sums: pl.DataFrame) -> "Amounts":
        """Return the amounts of every base and member, by piece, from rows of piece, classes and measures."""
        amounts: list[ByMember] = [{} for _ in self.bases]
        known: dict[tuple[int, ...], list[tuple[list[int | None], int, int]]] = {}
        width = len(self.keys)
        columns = {measure: 1 + width + place for place, measure in enumerate(self.measures)}
        for row in sums.iter_rows():
            classes = row[1 : 1 + width]
            counted = known.get(classes)
            if counted is None:
                counted = known[classes] = self._counted(classes, columns, amounts)
            piece = row[0]
            for by_piece, column, weight in counted:
                by_piece[piece] = (by_piece[piece] or 0) + row[column] * weight
        return Amounts(self, dict(zip(self.bases, amounts, strict=True)))

    def _counted(
        self, classes: tuple[int, ...], columns: Mapping[str, int], amounts: Sequence[ByMember]
    ) -> list[tuple[list[int | None], int, int]]:
        """Return what the sums of some classes are added to: pieces, the column added, and its weight."""
        found: dict[str, LeafClass] = {
            known.leaf: known.classes[number] for known, number in zip(self.classes, classes, strict=True)
        }
        counted = []
        for position, members, weight in contributions(found, self.weights, self.axes, self.places):
            base = self.bases[position]
            by_piece = amounts[position].setdefault(members, [None] * len(self.pieces))
            scaled = weight.numerator * (self.denominators[position] // weight.denominator)
            counted.append((by_piece, columns[base.measure.key], -scaled if base.negated else scaled))
        return counted

    @cached_property
    def denominators(self) -> Sequence[int]:
        """For each base, a denominator that all its weights fit."""
        of_axes = prod(axis.denominator for axis in self.axes)
        return [weights.denominator * of_axes for weights in self.weights]


@dataclass(frozen=True, eq=False)
class Amounts:
    """What a batch has summed: integers by base, members and piece."""

    batch: Batch
    by_base: Mapping[Base, ByMember]

    def figures(self, base: Base, windows: Sequence[Window], cells: Iterable[tuple[Members, int]]) -> list[Figure]:
        """Return the figures of a base: of some members over one of the windows each."""
        by_member = self.by_base[base]
        denominator = 10**base.measure.places * self.batch.denominators[self.batch.bases.index(base)]
        pieces = [self.pieces(window) for window in windows]
        figures: list[Figure] = []
        for members, time in cells:
            by_piece = by_member.get(members, ())
            total = None
            for piece in pieces[time] if by_piece else ():
                amount = by_piece[piece]
                if amount is not None:
                    total = amount if total is None else total + amount
            figures.append(Nothing.MISSING if total is None else Exact(total, denominator))
        return figures

    def pieces(self, window: Window) -> tuple[int, ...]:
        """Return the positions of the pieces a window is made of."""
        found = self._pieces.get(window)
        if found is None:
            found = self._pieces[window] = tuple(
                place
                for place, piece in enumerate(self.batch.pieces)
                if any(span.overlap(piece) for span in window.spans)
            )
        return found

    @cached_property
    def _pieces(self) -> dict[Window, tuple[int, ...]]:
        return {}

    def members(self) -> set[Members]:
        """Return the combinations of members that hold anything."""
        return {members for by_member in self.by_base.values() for members in by_member}


def distinct(windows: Iterable[Sequence[Window]]) -> Iterable[Sequence[Window]]:
    """Return lists of windows, the same list once: most bases share theirs."""
    return {id(read): read for read in windows}.values()


def batches(
    view: View,
    windows: Mapping[Base, Sequence[Window]],
    axes: Sequence[Axis],
    places: int,
    filters: Sequence[Filter],
    reader: Reader,
) -> list[Batch]:
    """Return the batches that answer some bases of a view, each over its windows."""
    grouped: dict[frozenset[str], list[tuple[Base, BaseWeights]]] = defaultdict(list)
    factors = factors_of(view.variant, reader.catalogue.domains[view.domain], reader)
    for base in windows:
        weights = base_weights(base, reader, filters, axes, factors)
        grouped[frozenset(weights.by_leaf)].append((base, weights))
    return [
        Batch(
            view=view,
            bases=tuple(base for base, _ in alike),
            weights=tuple(weights for _, weights in alike),
            axes=tuple(axes),
            places=places,
            pieces=atoms(
                window for read in {id(windows[base]): windows[base] for base, _ in alike}.values() for window in read
            ),
            reader=reader,
        )
        for alike in grouped.values()
    ]
