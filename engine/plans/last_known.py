"""Last known values: for each leaf cell, the rows of the last period that has any, window by window.

A leaf cell is a combination of members of all leaf dimensions of a domain; axes do not tell cells apart.
"""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import date

import polars as pl

from engine.calendar.periods import Period
from engine.catalogue import Base
from engine.plans.pieces import Pieces, atoms
from engine.plans.presences import Presences
from engine.plans.view import View
from engine.plans.windows import Window
from engine.reader import Reader
from engine.slices import SPAN

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
