"""Noise: a number for every row that looks drawn and is computed, the same on every machine and in every version."""

import polars as pl

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of splitmix64
BITS = 2**16


def noise(row: pl.Expr, seed: int) -> pl.Expr:
    """Return 64 bits for each row number: splitmix64, whose products wrap as Polars' unsigned integers do."""
    start = pl.lit(seed * SECOND % 2**64, pl.UInt64)
    mixed = (row + start) * pl.lit(GOLDEN, pl.UInt64)
    mixed = (mixed ^ shifted(mixed, 30)) * pl.lit(FIRST, pl.UInt64)
    mixed = (mixed ^ shifted(mixed, 27)) * pl.lit(SECOND, pl.UInt64)
    return mixed ^ shifted(mixed, 31)


def shifted(number: pl.Expr, bits: int) -> pl.Expr:
    """Return a number without its last bits."""
    return number // pl.lit(2**bits, pl.UInt64)


def drawn(bits: pl.Expr, part: int, below: pl.Expr | int) -> pl.Expr:
    """Return a whole number from 0 to under a bound, evenly, from one of the four parts of 64 bits."""
    return (sixteen(bits, part) * below) // BITS


def drawn_low(bits: pl.Expr, part: int, below: pl.Expr | int) -> pl.Expr:
    """Return the same with the small ones more often: half of them lie in the first quarter."""
    even = sixteen(bits, part)
    return (even * even // BITS * below) // BITS


def sixteen(bits: pl.Expr, part: int) -> pl.Expr:
    """Return one of the four parts of 64 bits as a number below 65,536."""
    return (shifted(bits, 16 * part) % pl.lit(BITS, pl.UInt64)).cast(pl.Int64)
