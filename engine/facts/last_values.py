"""Last values: the sums of the rows of each leaf in its last period, for many windows of days in one pass.

A row of a leaf is read by the windows that hold its span and end before the leaf's next period has rows. Among windows
whose ends and starts both ascend, these stand in a row: the row is added where they begin and taken away where they
end, and the running total of these changes is the sum of each window. No row is repeated for the windows that read it.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from math import prod

import polars as pl
from msgspec import Struct

from engine.model.fact_store import PERIOD, ROWS, SPAN
from engine.model.stopping import watched

FEW_WINDOWS = 16  # which are read one by one: each filters all sums
PACKED_CODES = 2**63  # of leaves and spans, whose order is that of one number
NEXT, BEGIN, END, ORDER = "next", "begin", "end", "order"


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


def are_many_runs(windows: Sequence[Sequence[int]]) -> bool:
    """Tell whether windows are many, and each a run of spans."""
    return len(windows) > FEW_WINDOWS and all(isinstance(read, range) for read in watched(windows))


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


def in_order(sums: pl.LazyFrame, leaves: Mapping[str, int], spans: int) -> pl.LazyFrame:
    """Return sums in the order of leaves and SPAN, with NEXT: where a later period of the leaf begins, else `spans`.

    `sums` has SPAN, PERIOD, which grows with SPAN, and the leaves. `leaves` has how many codes each leaf has.
    """
    is_last = pl.any_horizontal(
        pl.lit(value=False), *(pl.col(leaf).ne_missing(pl.col(leaf).shift(-1)) for leaf in leaves)
    )
    follows = (
        pl.when(is_last | pl.col(SPAN).shift(-1).is_null())
        .then(spans)
        .when(pl.col(PERIOD) != pl.col(PERIOD).shift(-1))
        .then(pl.col(SPAN).shift(-1))
        .cast(pl.UInt32)
    )
    if prod(leaves.values()) * (spans + 1) < PACKED_CODES:
        order = pl.lit(0, pl.UInt64)
        for column, count in (*leaves.items(), (SPAN, spans + 1)):
            order = order * count + pl.col(column).cast(pl.UInt64)
        ordered = sums.sort(order)
    else:
        ordered = sums.sort(*leaves, SPAN)
    return ordered.with_columns(follows.backward_fill().alias(NEXT))


def last_sums(
    ordered: pl.LazyFrame, chain: WindowChain, spans: int, keys: Sequence[str], summed: Sequence[str]
) -> pl.LazyFrame:
    """Return the sums of the windows of a chain, by SPAN, which is the position of the window, PERIOD and keys.

    `ordered` is what `in_order` returns, with groups in place of the codes of keys. ROWS is one of `summed`.
    """
    every = range(spans + 1)
    after = positions(chain.ends, every)  # of the first window that ends after a span; also: that a next period ends
    until = positions(chain.starts, every)  # of the first window that begins after a span
    begin, end = after.gather(pl.col(SPAN)), pl.min_horizontal(after.gather(pl.col(NEXT)), until.gather(pl.col(SPAN)))
    by = (PERIOD, *keys)
    read = ordered.select(*by, *summed, begin.alias(BEGIN), end.alias(END)).filter(pl.col(BEGIN) < pl.col(END))
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
