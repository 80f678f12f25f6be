"""Window chains: windows in the order of their ends, whose starts ascend too, and the totals of all of them at once.

What a run of such windows reads is added where the run begins and taken away where it ends. The running total of these
changes is the total of each window, so nothing is repeated for the windows that read it.
"""

from bisect import bisect_right
from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from engine.model.fact_store import ROWS, SPAN
from engine.model.stopping import watched

PACKED_CODES = 2**63  # combinations of codes and spans, whose order is that of one number
BEGIN, END = "begin", "end"


class WindowChain(Struct, frozen=True):
    """Windows in the order of their ends, whose starts ascend too: the positions, first spans and ends of each."""

    places: list[int]
    starts: list[int]
    ends: list[int]  # the span after the last

    def fits(self, start: int) -> bool:
        """Tell whether a window that ends no earlier than all others may follow them."""
        return self.starts[-1] <= start

    def append(self, end: int, start: int, place: int) -> None:
        """Add a window that fits."""
        self.places.append(place)
        self.starts.append(start)
        self.ends.append(end)


def chains_of(windows: Sequence[Sequence[int]]) -> list[WindowChain]:
    """Return windows that have spans in few chains, as a rule one for the columns of each grain."""
    chains: list[WindowChain] = []
    ordered = sorted((read[-1] + 1, read[0], place) for place, read in watched(enumerate(windows)) if read)
    for end, start, place in watched(ordered):
        chain = next((chain for chain in chains if chain.fits(start)), None)
        if chain is None:
            chains.append(WindowChain([place], [start], [end]))
        else:
            chain.append(end, start, place)
    return chains


def window_totals(read: pl.LazyFrame, chain: WindowChain, by: Sequence[str], summed: Sequence[str]) -> pl.LazyFrame:
    """Return the totals of the windows of a chain that read something, by SPAN, the position of the window, and `by`.

    Each row of `read` counts in the windows of the chain from BEGIN to before END. ROWS is one of `summed`.
    """
    changes = [
        read.group_by(*by, pl.col(at).alias(BEGIN)).agg(pl.col(column).sum() * sign for column in summed)
        for at, sign in ((BEGIN, 1), (END, -1))
    ]
    # what is added of a group is taken away within it, so one running total over all groups is that of each
    totals = (
        pl.concat(changes, how="vertical_relaxed")
        .group_by(*by, BEGIN)
        .agg(pl.col(column).sum() for column in summed)
        .sort(*by, BEGIN)
        .with_columns(*(pl.col(column).cum_sum() for column in summed), pl.col(BEGIN).shift(-1).alias(END))
        .filter(pl.col(ROWS) > 0)
    )
    places = pl.lit(pl.Series(chain.places, dtype=pl.UInt32))
    return (
        totals.with_columns(pl.int_ranges(BEGIN, END, dtype=pl.UInt32).alias(SPAN))
        .explode(SPAN)
        .select(places.gather(pl.col(SPAN)).alias(SPAN), *by, *summed)
    )


def positions(bounds: Sequence[int], spans: range) -> pl.Expr:
    """Return how many of some ascending bounds each span has reached."""
    return pl.lit(pl.Series([bisect_right(bounds, span) for span in watched(spans)], dtype=pl.UInt32))
