"""Last values: the rows of each leaf in its last period, for many windows of days in one pass.

A row of a leaf is read by the windows that hold its span and end before the leaf's next period has rows. Windows are
sorted by their ends, so that these stand in a row; those that begin after the span are left out.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from engine.model.fact_store import PERIOD, SPAN
from engine.model.stopping import watched

FEW_WINDOWS = 16  # which are read one by one: each filters all sums
AT_ONCE = 64  # windows whose rows are held together
WINDOW, NEXT = "window", "next"


def are_many_runs(windows: Sequence[Sequence[int]]) -> bool:
    """Tell whether windows are many, and each a run of spans."""
    return len(windows) > FEW_WINDOWS and all(isinstance(read, range) for read in watched(windows))


def last_values(sums: pl.LazyFrame, leaves: Sequence[str], windows: Sequence[Sequence[int]]) -> Iterator[pl.LazyFrame]:
    """Yield, for some windows at a time, the sums of the last period of each leaf; SPAN is the window's position.

    `sums` has SPAN, PERIOD, which grows with SPAN, and the leaves. Each window is a range of spans.
    """
    is_new = pl.col(PERIOD) != pl.col(PERIOD).shift(1)
    following = pl.when(is_new).then(pl.col(SPAN)).shift(-1).backward_fill()
    known = sums.sort(*leaves, SPAN).with_columns(
        (following.over(leaves) if leaves else following).fill_null(2**32 - 1).alias(NEXT)
    )
    ordered = sorted((read[-1] + 1, read[0], at) for at, read in watched(enumerate(windows)) if read)
    for first in range(0, len(ordered), AT_ONCE):
        yield in_windows(known, ordered[first : first + AT_ONCE])


def in_windows(known: pl.LazyFrame, ordered: Sequence[tuple[int, int, int]]) -> pl.LazyFrame:
    """Return the rows that some windows read, once a window; each window is its end, start and position, in order."""
    ends, starts, places = (pl.lit(pl.Series(values, dtype=pl.UInt32)) for values in zip(*ordered, strict=True))
    after, until = (ends.search_sorted(pl.col(bound), side="right") for bound in (SPAN, NEXT))
    return (
        known.with_columns(pl.int_ranges(after, until, dtype=pl.UInt32).alias(WINDOW))
        .filter(pl.col(WINDOW).list.len() > 0)
        .explode(WINDOW)
        .filter(starts.gather(pl.col(WINDOW)) <= pl.col(SPAN))
        .with_columns(places.gather(pl.col(WINDOW)).alias(SPAN))
        .drop(NEXT, WINDOW)
    )
