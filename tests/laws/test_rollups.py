"""The law of rollups: books that have them answer as they would without, figure by figure and row by row."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.door import Door
from engine.facts import partition_writer, rollups
from engine.facts.manifest import UNDATED, Partition
from engine.model.catalogue import Domain
from tests.laws.oracle.asking import ask, behind, told
from tests.laws.oracle.books import GL, LEAVES, PEOPLE, OracleBooks
from tests.laws.oracle.figures import UNAVAILABLE
from tests.laws.oracle.requests import requests
from tests.laws.oracle.strategies import random_books, rollups_by
from tests.laws.oracle.writing import opened
from tests.laws.test_figures import REQUESTS
from tests.support.books.inspected import rows_of

Read = Callable[[Partition], pl.DataFrame]
VERSIONS = ("catalogue_version", "data_version")


@given(data=st.data(), books=random_books())
def test_books_with_rollups_answer_as_those_without(data: st.DataObject, books: OracleBooks) -> None:
    declared = {domain: data.draw(rollups_by(LEAVES[domain], 1)) for domain in (GL, PEOPLE)}
    with (
        opened(replace(books, rollups=declared), parts=data.draw(st.sampled_from((1, 2)))) as rolled_up,
        opened(replace(books, rollups={})) as plain,
    ):
        answer_alike(data, books, rolled_up, plain)


@given(data=st.data(), books=random_books())
def test_books_answer_with_all_or_each_of_the_chosen_rollups_as_without(
    data: st.DataObject, books: OracleBooks
) -> None:
    place = data.draw(st.none() | st.integers(0, 5))
    with (
        small_months_are_large(place) as built,
        opened(replace(books, rollups=dict.fromkeys((GL, PEOPLE))), parts=data.draw(st.sampled_from((1, 2)))) as chosen,
        opened(replace(books, rollups={})) as plain,
    ):
        assert all(built)
        answer_alike(data, books, chosen, plain)


@contextmanager
def small_months_are_large(place: int | None) -> Iterator[list[tuple[tuple[str, ...], ...]]]:
    """Let the store choose rollups of months of any size, all or the one at a place; yield what each choice is."""
    built = []

    def choose(domain: Domain, parts: Sequence[Partition], read: Read) -> tuple[tuple[str, ...], ...]:
        found = rollups.choose_rollups(domain, parts, read)
        at = 0 if place is None else place % max(len(found), 1)
        found = found if place is None else found[at : at + 1]
        if any(part.bucket != UNDATED and part.rows for part in parts):
            built.append(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_writer, "choose_rollups", choose)
        patch.setattr(partition_writer, "LEAST_ROWS", 1)
        for least in ("LEAST_ROWS", "LEAST_READ", "LEAST_GAIN", "MOST_SPACE"):
            patch.setattr(rollups, least, 1)
        yield built


def answer_alike(data: st.DataObject, books: OracleBooks, door: Door, plain: Door) -> None:
    """Ask books with rollups and those without the same; compare figures, notes, and the rows behind some cells."""
    for request in data.draw(st.lists(requests(books), min_size=REQUESTS[0], max_size=REQUESTS[1])):
        report, expected = ask(door, books, request), ask(plain, books, request)
        assert told(report) == told(expected), request
        pairs = zip(behind(report), behind(expected), strict=True)
        cells = [pair for pair in pairs if pair[0].figure is not UNAVAILABLE]
        for cell, other in data.draw(st.randoms()).sample(cells, min(len(cells), 3)):
            assert cell == other
            assert [drilled(door, call) for *_, call in cell.calls] == [
                drilled(plain, call) for *_, call in other.calls
            ]


def drilled(door: Door, call: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the rows behind a cell, in any order, and what is said of them; versions aside."""
    result = rows_of(door, **call)
    rows = result.pop("rows")
    return sorted(map(str, rows)), {key: part for key, part in result.items() if key not in VERSIONS}
