"""Sorting: the rows of a large month in ranges of their keys, so that no more than one range is sorted in memory."""

from collections.abc import Iterator, Sequence

import polars as pl

SORTED_BYTES = 64 << 20  # of rows that are sorted at once
LARGE_MONTH = 100_000  # rows that are sorted on every core; fewer are sorted beside others
ROWS = "_rows"


def sorted_whole(pieces: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of some pieces, sorted by all their columns."""
    rows = pl.concat(pieces, rechunk=True)
    return rows.sort(rows.columns, maintain_order=True, multithreaded=rows.height >= LARGE_MONTH)


def sorted_ranges(pieces: Sequence[pl.DataFrame], rows_at_once: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of some pieces, sorted by all their columns, about so many at once. Pieces may be mapped files.

    Ranges of the first column are sorted after each other. Many rows that have one value there are cut by the next.
    """
    return ranges_by(pieces, [], pieces[0].columns, rows_at_once)


def ranges_by(
    pieces: Sequence[pl.DataFrame], within: Sequence[pl.Expr], order: Sequence[str], rows_at_once: int
) -> Iterator[pl.DataFrame]:
    """Yield the rows that meet all conditions, sorted by some columns; they have one value in the others."""
    if not order:  # all rows are equal
        yield from (piece.filter(*within) for piece in pieces)
        return
    key, *others = order
    counted = [piece.lazy().filter(*within).group_by(key).agg(pl.len().alias(ROWS)).collect() for piece in pieces]
    counts = pl.concat(counted).group_by(key).agg(pl.col(ROWS).sum()).sort(key)  # nulls first, as rows are sorted
    for some in value_ranges(counts, rows_at_once):
        conditions = [*within, is_in_range(key, some[key])]
        if some.height == 1 and some[ROWS][0] > rows_at_once:
            yield from ranges_by(pieces, conditions, others, rows_at_once)
        else:
            yield sorted_whole([piece.filter(*conditions) for piece in pieces])


def value_ranges(counts: pl.DataFrame, rows_at_once: int) -> Iterator[pl.DataFrame]:
    """Yield consecutive values with their counts, about so many rows at once."""
    first, rows = 0, 0
    for at, count in enumerate(counts[ROWS]):
        if rows and rows + count > rows_at_once:
            yield counts[first:at]
            first, rows = at, 0
        rows += count
    yield counts[first:]


def is_in_range(key: str, values: pl.Series) -> pl.Expr:
    """Return whether a column holds a value between the least and the greatest of some, or null where they do."""
    first, last = values.min(), values.max()
    inside = pl.lit(value=False) if first is None else pl.col(key).is_between(pl.lit(first), pl.lit(last))
    return inside.fill_null(value=False) | pl.col(key).is_null() if values.null_count() else inside
