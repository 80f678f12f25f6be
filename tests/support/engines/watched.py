"""A store of facts that tells every question before another store answers it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import polars as pl

from engine.books.reader import Reader
from engine.model.fact_store import (
    DistinctSlice,
    FactStore,
    LastKnownSlice,
    Presence,
    PresenceByLoad,
    Question,
    RowSlice,
    Slice,
)
from engine.model.scope import Cell
from engine.model.stopping import Stop


@dataclass
class WatchedStore:
    """A FactStore that calls `tell` with every question; see FactStore."""

    store: FactStore
    tell: Callable[[object], None]
    reader: Reader = field(init=False)  # of the books that stand on it

    def collect(self, questions: Sequence[Question], stop: Stop) -> list[pl.DataFrame]:
        """Return the answers to all questions."""
        for question in questions:
            self.tell((question.asked, question.within))
        return self.store.collect(questions, stop)

    def sums(self, asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return sums."""
        self.tell((asked, within))
        return self.store.sums(asked, within)

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return rows."""
        self.tell((asked, within))
        return self.store.rows(asked, within)

    def last_known(self, asked: LastKnownSlice, within: Cell) -> pl.LazyFrame:
        """Return last known values."""
        self.tell((asked, within))
        return self.store.last_known(asked, within)

    def distinct(self, asked: DistinctSlice, within: Cell) -> pl.LazyFrame:
        """Return distinct members."""
        self.tell((asked, within))
        return self.store.distinct(asked, within)

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return presence."""
        self.tell(("presence", domain, scenario, within))
        return self.store.presence(domain, scenario, within)

    def presence_of_loads(self, domain: str, scenario: str, within: Cell, loads: Collection[str]) -> PresenceByLoad:
        """Return the presence of loads."""
        self.tell(("presence of loads", domain, scenario, within, frozenset(loads)))
        return self.store.presence_of_loads(domain, scenario, within, loads)

    def codes(self, domain: str, scenario: str, dimension: str, within: Cell) -> frozenset[int]:
        """Return codes."""
        self.tell(("codes", domain, scenario, dimension, within))
        return self.store.codes(domain, scenario, dimension, within)

    def unassigned(self, domain: str, scenario: str, dimensions: Sequence[str], within: Cell) -> frozenset[str]:
        """Return the dimensions without a member."""
        self.tell(("unassigned", domain, scenario, tuple(dimensions), within))
        return self.store.unassigned(domain, scenario, dimensions, within)
