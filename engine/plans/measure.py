"""Measures: the figures of one view, from sums by class to exact numbers.

A *view* is one scenario of one domain inside one scope. Everything that a report reads of a view is planned together:
the days of all its windows are cut into pieces, each piece is summed once by the classes of its leaves, and a figure
is the sum over the pieces of its window.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from engine.calendar.periods import Span
from engine.catalogue import Base
from engine.exact import Exact
from engine.formulas.figures import Figure, Nothing
from engine.plans.weighing import Weighing, weighings
from engine.plans.weights import Axis, Members
from engine.plans.windows import Window, atoms
from engine.queries.values import Filter
from engine.reader import Reader
from engine.scenarios import Variant
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
    """Bases of a view that one slice can answer, and the days it is cut into."""

    view: View
    bases: tuple[Base, ...]
    weighing: Weighing
    pieces: tuple[Span, ...]
    reader: Reader

    @cached_property
    def sums(self) -> pl.LazyFrame:
        """The plan: sums by piece and class of every key."""
        weighing = self.weighing
        asked = Slice(
            domain=self.view.domain,
            scenario=self.view.scenario,
            spans=self.pieces,
            keys=weighing.keys,
            measures=weighing.measures,
        )
        frame = self.reader.sums(asked, weighing.cut, self.view.shared)
        if not weighing.keys:
            return frame
        return (
            frame.with_columns(weighing.class_columns)
            .group_by(SPAN, *weighing.keys)
            .agg(pl.col(weighing.measures).sum())
        )

    def collected(self, sums: pl.DataFrame) -> "Amounts":
        """Return the amounts of every base and member, by piece, from rows of piece, classes and measures."""
        amounts: list[ByMember] = [{} for _ in self.bases]
        known: dict[tuple[int, ...], list[tuple[list[int | None], int, int]]] = {}
        width = 1 + len(self.weighing.keys)
        columns = {measure: width + place for place, measure in enumerate(self.weighing.measures)}
        for row in sums.iter_rows():
            classes = row[1:width]
            counted = known.get(classes)
            if counted is None:
                counted = known[classes] = [
                    (amounts[position].setdefault(members, [None] * len(self.pieces)), columns[measure], weight)
                    for position, members, measure, weight in self.weighing.counted(classes)
                ]
            piece = row[0]
            for by_piece, column, weight in counted:
                by_piece[piece] = (by_piece[piece] or 0) + row[column] * weight
        return Amounts(self, dict(zip(self.bases, amounts, strict=True)))


@dataclass(frozen=True, eq=False)
class Amounts:
    """What a batch has summed: integers by base, members and piece."""

    batch: Batch
    by_base: Mapping[Base, ByMember]

    def figures(self, base: Base, windows: Sequence[Window], cells: Iterable[tuple[Members, int]]) -> list[Figure]:
        """Return the figures of a base: of some members over one of the windows each."""
        by_member = self.by_base[base]
        denominator = 10**base.measure.places * self.batch.weighing.denominators[self.batch.bases.index(base)]
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
            starts = [piece.first for piece in self.batch.pieces]
            found = self._pieces[window] = tuple(
                place
                for span in window.spans
                for place in range(bisect_left(starts, span.first), bisect_right(starts, span.last))
            )
        return found

    @cached_property
    def _pieces(self) -> dict[Window, tuple[int, ...]]:
        return {}

    def members(self) -> set[Members]:
        """Return the combinations of members that hold anything."""
        return {members for by_member in self.by_base.values() for members in by_member}


def batches(
    view: View,
    windows: Mapping[Base, Sequence[Window]],
    axes: Sequence[Axis],
    places: int,
    filters: Sequence[Filter],
    reader: Reader,
) -> list[Batch]:
    """Return the batches that answer some bases of a view, each over its windows."""
    bases = list(windows)
    found = []
    for weighing in weighings(bases, axes, places, filters, view.variant, reader):
        own = tuple(bases[position] for position in weighing.positions)
        read = {id(windows[base]): windows[base] for base in own}  # most bases share their list of windows
        pieces = atoms(window for listed in read.values() for window in listed)
        found.append(Batch(view, own, weighing, pieces, reader))
    return found
