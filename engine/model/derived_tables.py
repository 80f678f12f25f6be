"""Tables that are made of others and kept, as the store hands them to the books.

The module stands alone because the protocol of stores needs it and one of the stores implements it.
"""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

Tables = Mapping[str, pl.DataFrame]


class DerivedTables(NamedTuple):
    """Some tables, and whether they are mapped from files."""

    tables: Tables
    are_mapped: bool
