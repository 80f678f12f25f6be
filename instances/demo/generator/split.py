"""Splitting: a whole into parts that add up to it again, exactly; for a few in Python, for many rows in Polars."""

from collections.abc import Sequence

import polars as pl


def spread(total: int, weights: Sequence[float]) -> list[int]:
    """Split a whole number by weights."""
    parts, whole = [], [round(1000 * weight) for weight in weights]
    upto = done = 0
    for weight in whole:
        upto += weight
        parts.append(total * upto // sum(whole) - done)
        done += parts[-1]
    return parts


def spread_rows(rows: int, weights: Sequence[float]) -> list[int]:
    """Split rows by weights, at least one each; where there are too few, the first have one."""
    spare = rows - len(weights)
    if spare < 0:
        return [1] * rows + [0] * -spare
    return [1 + more for more in spread(spare, weights)]


def cumulated(weight: pl.Expr, first: pl.Expr) -> pl.Expr:
    """Return the running sum of a weight within each group of neighbouring rows; `first` is where the group starts."""
    upto = weight.cum_sum()
    return upto - (upto - weight).gather(first)


def part_of(total: pl.Expr, weight: pl.Expr, upto: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Return each row's part of its group's total, by weight; the parts add up to it."""
    return total * upto // whole - total * (upto - weight) // whole
