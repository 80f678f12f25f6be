"""Measures: the sums that figures are made of, planned together, and last known values."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import polars as pl

from engine.books.reader import Reader
from engine.model.aggregation import Rule
from engine.model.calendar.periods import Period, Span
from engine.model.catalogue import Base
from engine.model.fact_store import ROWS, SPAN, Aggregate, Slice
from engine.model.scenarios import Portion
from engine.model.scope import Cell
from engine.model.stopping import Stop, never, watched
from engine.plans.accumulators import TALLIES, Amount, Amounts
from engine.plans.presence import Presences
from engine.plans.weighing import VALUE, Counted, Weighing, weighings
from engine.plans.weights import Axis, Members
from engine.plans.windows import Pieces, View, Window, atoms
from engine.queries.values import Filter

# Last known values: for each leaf cell, the rows of the last period that has any, window by window.
#
# A leaf cell is a combination of members of all leaf dimensions of a domain; axes do not tell cells apart.


PERIOD, PORTION = "last_period", "portion"


class LastPieces(Pieces):
    """Pieces that each lie in one period; what is kept of them is one amount for each window."""

    def __init__(self, pieces: Pieces, windows: Sequence[Window], periods: Sequence[Period]) -> None:
        super().__init__(pieces.spans)
        self.windows = windows
        starts = [period.first for period in periods]
        self.periods = pl.Series([bisect_right(starts, piece.first) for piece in pieces.spans], dtype=pl.UInt32)
        self.read = [pieces.of(window) for window in windows]

    @classmethod
    def cut(cls, windows: Sequence[Window], boundaries: Sequence[date], periods: Sequence[Period]) -> "LastPieces":
        """Cut the days of some windows that lie in some periods, ascending."""
        inside = [
            Window(
                tuple(days for period in periods for span in window.spans if (days := span.overlap(period.span))), ""
            )
            for window in windows
        ]
        return cls(Pieces(atoms(inside, [*boundaries, *(period.first for period in periods)])), windows, periods)

    @property
    def count(self) -> int:
        """How many amounts there are of each base and member: one for each window."""
        return len(self.windows)

    def of(self, window: Window) -> Sequence[int]:
        """Return the position of a window's amount."""
        return [self.windows.index(window)]


def held_periods(view: View, base: Base, windows: Sequence[Window], reader: Reader) -> list[Period]:
    """Return the periods, at the grain of a balance's stock group, in which a view holds rows of some windows."""
    presence = Presences(reader).of(view)
    grain = reader.catalogue.domains[base.domain].stock_groups[str(base.stock_group)].grain
    spans = {span for window in windows for span in window.spans}
    days = sorted({day for span in spans for day in presence.days(span)})
    periods = (reader.catalogue.calendar.at(day, grain) for day in days)
    return list(dict.fromkeys(period for period in periods if period))


def last_of_each_leaf(
    portions: Sequence[pl.LazyFrame], leaves: Sequence[str], pieces: LastPieces
) -> list[pl.LazyFrame]:
    """Return what each portion has of the last sums of every leaf cell.

    They come with their period and, for a span, the position of their window.
    """
    sums = pl.concat(
        [frame.with_columns(pl.lit(place, pl.UInt8).alias(PORTION)) for place, frame in enumerate(portions)],
        how="vertical_relaxed",  # the sums of one portion may need 128 bits where those of another do not
    ).with_columns(pl.lit(pieces.periods).gather(pl.col(SPAN)).alias(PERIOD))
    last = pl.col(PERIOD).max()
    by_window = [
        sums.filter(pl.col(SPAN).is_in(list(read)))
        .filter(pl.col(PERIOD) == (last.over(leaves) if leaves else last))
        .with_columns(pl.lit(place, pl.UInt32).alias(SPAN))
        for place, read in enumerate(pieces.read)
    ]
    found = pl.concat(by_window)
    return [found.filter(pl.col(PORTION) == place).drop(PORTION) for place in range(len(portions))]


# Measures: the sums that a view's figures are made of, planned together.
#
# The days of all windows of a view are cut into pieces, each piece is summed once by the classes of its leaves, and a
# figure is the sum over the pieces of its window. Of balances that carry each leaf's last known value, the last rows of
# each leaf are found first, window by window.


@dataclass(frozen=True, eq=False)
class Share:
    """What one portion of a view brings to a batch: its weighing, and which of the pieces are its own."""

    weighing: Weighing
    sums: pl.LazyFrame  # by piece and class of every key


@dataclass(frozen=True, eq=False)
class Batch:
    """Bases of a view that are read alike."""

    view: View
    bases: tuple[Base, ...]
    pieces: Pieces
    shares: tuple[Share, ...]

    @property
    def frames(self) -> tuple[pl.LazyFrame, ...]:
        """What must be collected."""
        return tuple(share.sums for share in self.shares)

    def only(self, portion: int) -> "Batch":
        """Return what one portion of the view brings."""
        return Batch(self.view, self.bases, self.pieces, self.shares[portion : portion + 1])

    def collected(self, frames: Sequence[pl.DataFrame], stop: Stop = never) -> dict[Base, Amounts]:
        """Return the amounts of every base from the collected frames."""
        weighing = self.shares[0].weighing
        found = Tallying(self.pieces.count)
        for share, frame in zip(self.shares, frames, strict=True):
            found.add(share.weighing, frame, stop)
        return {
            base: Amounts(
                base,
                10**base.measure.places * weighing.denominators[position],
                [found.amounts[position, tally] for tally in range(len(TALLIES[base.over_members]))],
                self.pieces,
            )
            for position, base in enumerate(self.bases)
        }


class Tallying:
    """Rows of piece, classes and aggregates on their way into amounts by base, tally, members and piece."""

    def __init__(self, pieces: int) -> None:
        self._pieces = pieces
        self.amounts: dict[tuple[int, int], dict[Members, list[Amount | None]]] = defaultdict(dict)

    def add(self, weighing: Weighing, sums: pl.DataFrame, stop: Stop) -> None:
        """Add the rows of one frame."""
        width = 1 + len(weighing.keys)
        columns = {name: place for place, name in enumerate(sums.columns)}
        known: dict[tuple[int, ...], list[tuple[list[Amount | None], int, Counted]]] = {}
        for row in watched(sums.iter_rows(), stop):
            classes = row[1:width]
            counted = known.get(classes)
            if counted is None:
                counted = known[classes] = [
                    (self._by_piece(part), columns[part.column], part) for part in weighing.counted(classes)
                ]
            piece = row[0]
            for by_piece, column, part in counted:
                amount = row[column] * part.weight if part.weight is not None else frozenset(row[column])
                so_far = by_piece[piece]
                by_piece[piece] = amount if so_far is None else part.together(so_far, amount)

    def _by_piece(self, part: Counted) -> list[Amount | None]:
        by_member = self.amounts[part.position, part.tally]
        return by_member.setdefault(part.members, [None] * self._pieces)


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
    variants = [portion.part.variant for portion in view.portions]
    return [
        batch_of(view, bases, alike, windows, reader)
        for alike in weighings(bases, axes, places, filters, variants, reader)
    ]


def batch_of(
    view: View,
    bases: Sequence[Base],
    alike: Sequence[Weighing],
    windows: Mapping[Base, Sequence[Window]],
    reader: Reader,
) -> Batch:
    """Return one batch from the weighings of the same bases, one for each portion of a view."""
    own = tuple(bases[position] for position in alike[0].positions)
    read = {id(windows[base]): windows[base] for base in own}  # most bases share their list of windows
    distinct = list(dict.fromkeys(window for listed in read.values() for window in listed))
    boundaries = [portion.days.first for portion in view.portions[1:]]
    if own[0].over_time.rule is Rule.LAST_KNOWN:
        pieces: Pieces = LastPieces.cut(distinct, boundaries, held_periods(view, own[0], distinct, reader))
    else:
        pieces = Pieces(atoms(distinct, boundaries))
    sums = [
        portion_sums(view, portion, pieces.spans, weighing, reader)
        for portion, weighing in zip(view.portions, alike, strict=True)
    ]
    if isinstance(pieces, LastPieces):
        leaves = reader.catalogue.leaves_of(view.domain)
        sums = last_of_each_leaf(sums, leaves, pieces)
    shares = (Share(weighing, by_class(frame, weighing)) for frame, weighing in zip(sums, alike, strict=True))
    return Batch(view, own, pieces, tuple(shares))


def portion_sums(
    view: View, portion: Portion, pieces: Sequence[Span], weighing: Weighing, reader: Reader
) -> pl.LazyFrame:
    """Return the sums of one portion on its own pieces: by piece and by the codes its rows must be told apart by."""
    keys = weighing.keys
    if weighing.bases[0].counted:
        keys = tuple(dict.fromkeys((*keys, weighing.bases[0].counted)))
    if weighing.bases[0].over_time.rule is Rule.LAST_KNOWN:
        keys = tuple(sorted({*keys, *reader.catalogue.leaves_of(view.domain)}))
    return own_sums(view, portion, pieces, keys, weighing.aggregates, weighing.cut, reader)


def own_sums(
    view: View,
    portion: Portion,
    pieces: Sequence[Span],
    keys: tuple[str, ...],
    aggregates: tuple[Aggregate, ...],
    cut: Cell,
    reader: Reader,
) -> pl.LazyFrame:
    """Return aggregates of one portion on its own pieces, numbered among all, by some keys inside a cut."""
    own = [place for place, piece in enumerate(pieces) if portion.days.holds(piece.first)]
    before = own[0] if own else 0
    asked = Slice(
        domain=view.domain,
        scenario=portion.part.scenario.id,
        spans=tuple(pieces[place] for place in own),
        keys=keys,
        aggregates=aggregates,
    )
    sums = reader.sums(asked, cut, view.shared)
    return sums.with_columns(pl.col(SPAN) + before) if before else sums


def by_class(sums: pl.LazyFrame, weighing: Weighing) -> pl.LazyFrame:
    """Return sums by the classes of their keys instead of their codes."""
    counted = weighing.bases[0].counted
    made = [getattr(pl.col(part.column), part.how.value)() for part in weighing.aggregates] + [pl.col(ROWS).sum()]
    if counted:
        sums = sums.with_columns(pl.col(counted).alias(VALUE))
        made.append(pl.col(VALUE).unique())
    if not weighing.keys and not counted and weighing.bases[0].over_time.rule is not Rule.LAST_KNOWN:
        return sums
    return sums.with_columns(weighing.class_columns).group_by(SPAN, *weighing.keys).agg(made)
