"""FactStore: the three questions every store of facts answers, each within a cell."""

from typing import Protocol

import polars as pl

from engine.scope import Cell
from engine.slices import Presence, RowSlice, Slice


class FactStore(Protocol):
    """Facts of one version of the books. There is no question without a cell."""

    def sums(self, asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return one row per span and key group: SPAN, the key codes, the aggregates as exact integers, ROWS.

        Aggregates are Int64, or Int128 where the rows touched could sum past 63 bits. Row order is not fixed.
        """

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return up to `limit` rows in the order of a RowSlice; dimensions as codes, measures as integers."""

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return on which days rows are held."""
