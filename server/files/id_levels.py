"""Levels of ids: which ids stand above others by their digits, as 41 above 4100, and 4000 above 4100.

It stands alone because init and the controls of a load must take the same ids for parents.
"""

from collections.abc import Collection
from itertools import pairwise

import polars as pl


def heading_digits(one: str) -> str:
    """Return an id without the zeros that fill it up to the length of those below it."""
    return (one.rstrip("0") if one.isdecimal() else one) or one


def below(ids: pl.Expr, heading: str) -> pl.Expr:
    """Tell of ids whether they stand below a heading."""
    filled_up = (ids.str.len_chars() == len(heading)) & ids.str.starts_with(heading_digits(heading))
    return (ids.str.starts_with(heading) | filled_up) & (ids != heading)


def headings_among(ids: Collection[str]) -> list[str]:
    """Return the ids that stand above others, the deepest first."""
    above = [
        one
        for one, later in pairwise(sorted(ids))
        if later.startswith(one) or (len(later) == len(one) and later.startswith(heading_digits(one)))
    ]
    return sorted(above, key=lambda one: (-len(heading_digits(one)), one))
