"""Facts of which some scenarios lie elsewhere, or cannot be read."""

from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

import polars as pl

from engine.model.errors import Unavailable
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


class RoutedFacts:
    """Facts of which some scenarios of domains lie in stores of their own. Implements FactStore."""

    def __init__(self, others: FactStore, routes: Mapping[tuple[str, str], FactStore]) -> None:
        """`routes` are by domain and scenario."""
        self._others = others
        self._routes = routes

    def collect(self, questions: Sequence[Question], stop: Stop) -> list[pl.DataFrame]:
        """Return the answers to all questions; each store gets its own at once. See FactStore."""
        stores = [self._of(question.asked.domain, question.asked.scenario) for question in questions]
        found: dict[int, pl.DataFrame] = {}
        for store in dict.fromkeys(stores):
            places = [place for place, known in enumerate(stores) if known is store]
            frames = store.collect([questions[place] for place in places], stop)
            found.update(zip(places, frames, strict=True))
        stop()
        return [found[place] for place in range(len(questions))]

    def sums(self, asked: Slice, within: Cell) -> pl.LazyFrame:
        """See FactStore."""
        return self._of(asked.domain, asked.scenario).sums(asked, within)

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """See FactStore."""
        return self._of(asked.domain, asked.scenario).rows(asked, within)

    def last_known(self, asked: LastKnownSlice, within: Cell) -> pl.LazyFrame:
        """See FactStore."""
        return self._of(asked.domain, asked.scenario).last_known(asked, within)

    def distinct(self, asked: DistinctSlice, within: Cell) -> pl.LazyFrame:
        """See FactStore."""
        return self._of(asked.domain, asked.scenario).distinct(asked, within)

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """See FactStore."""
        return self._of(domain, scenario).presence(domain, scenario, within)

    def presence_of_loads(self, domain: str, scenario: str, within: Cell, loads: Collection[str]) -> PresenceByLoad:
        """See FactStore."""
        return self._of(domain, scenario).presence_of_loads(domain, scenario, within, loads)

    def codes(self, domain: str, scenario: str, dimension: str, within: Cell) -> frozenset[int]:
        """See FactStore."""
        return self._of(domain, scenario).codes(domain, scenario, dimension, within)

    def unassigned(self, domain: str, scenario: str, dimensions: Sequence[str], within: Cell) -> frozenset[str]:
        """See FactStore."""
        return self._of(domain, scenario).unassigned(domain, scenario, dimensions, within)

    def _of(self, domain: str, scenario: str) -> FactStore:
        return self._routes.get((domain, scenario), self._others)


class LostFacts:
    """The facts of a scenario that cannot be read. Implements FactStore.

    No member has rows there. All other questions are refused with the reason.
    """

    def __init__(self, why: str) -> None:
        self._why = why

    def collect(self, questions: Sequence[Question], stop: Stop) -> NoReturn:  # noqa: ARG002 - as FactStore has it
        """Refuse; see FactStore."""
        raise Unavailable(self._why)

    def sums(self, asked: Slice, within: Cell) -> NoReturn:  # noqa: ARG002 - as above
        """Refuse; see FactStore."""
        raise Unavailable(self._why)

    def rows(self, asked: RowSlice, within: Cell) -> NoReturn:  # noqa: ARG002 - as above
        """Refuse; see FactStore."""
        raise Unavailable(self._why)

    def last_known(self, asked: LastKnownSlice, within: Cell) -> NoReturn:  # noqa: ARG002 - as above
        """Refuse; see FactStore."""
        raise Unavailable(self._why)

    def distinct(self, asked: DistinctSlice, within: Cell) -> NoReturn:  # noqa: ARG002 - as above
        """Refuse; see FactStore."""
        raise Unavailable(self._why)

    def presence(self, domain: str, scenario: str, within: Cell) -> NoReturn:  # noqa: ARG002 - as above
        """Refuse; see FactStore."""
        raise Unavailable(self._why)

    def presence_of_loads(self, domain: str, scenario: str, within: Cell, loads: Collection[str]) -> PresenceByLoad:  # noqa: ARG002 - as above
        """Return nothing: no load brought rows."""
        return {}

    def codes(self, domain: str, scenario: str, dimension: str, within: Cell) -> frozenset[int]:  # noqa: ARG002 - as above
        """Return nothing: no code occurs."""
        return frozenset()

    def unassigned(self, domain: str, scenario: str, dimensions: Sequence[str], within: Cell) -> frozenset[str]:  # noqa: ARG002 - as above
        """Return nothing: no row lacks a member."""
        return frozenset()
