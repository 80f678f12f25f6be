"""Last values: the sums of the rows of each leaf in its last period, for many windows of days in one pass.

A row of a leaf is read by the windows that hold its span and end before the leaf's next period has rows. Among windows
whose ends and starts both ascend, these stand in a row: the row is added where they begin and taken away where they
end, and the running total of these changes is the sum of each window. No row is repeated for the windows that read it.
"""

from collections.abc import Mapping, Sequence
from math import prod

import polars as pl

from engine.model.fact_store import PERIOD, SPAN
from engine.model.stopping import watched
from engine.model.window_chains import BEGIN, END, PACKED_CODES, WindowChain, positions, window_totals

FEW_WINDOWS = 16  # which are read one by one: each filters all sums
NEXT = "next"


def are_many_runs(windows: Sequence[Sequence[int]]) -> bool:
    """Tell whether windows are many, and each a run of spans."""
    return len(windows) > FEW_WINDOWS and all(isinstance(read, range) for read in watched(windows))


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
    return window_totals(read, chain, by, summed)
