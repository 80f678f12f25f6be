"""The law of rollups: books that declare them answer as they would without, figure by figure and row by row."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.door import Door
from tests.laws.oracle.asking import ask, behind, told
from tests.laws.oracle.books import GL, LEAVES, PEOPLE, Books
from tests.laws.oracle.requests import requests
from tests.laws.oracle.strategies import random_books, rollups_by
from tests.laws.test_figures import REQUESTS, loaded
from tests.support.inspecting import rows_of

VERSIONS = ("catalogue_version", "data_version")


@given(data=st.data(), books=random_books())
def test_books_with_rollups_answer_as_those_without(data: st.DataObject, books: Books) -> None:
    declared = {domain: data.draw(rollups_by(LEAVES[domain], 1)) for domain in (GL, PEOPLE)}
    with (
        loaded(replace(books, rollups=declared), parts=data.draw(st.sampled_from((1, 2)))) as rolled_up,
        loaded(replace(books, rollups={})) as plain,
    ):
        for request in data.draw(st.lists(requests(books), min_size=REQUESTS[0], max_size=REQUESTS[1])):
            report, expected = ask(rolled_up, books, request), ask(plain, books, request)
            assert told(report) == told(expected), (declared, request)
            cells = list(zip(behind(report), behind(expected), strict=True))
            for cell, other in data.draw(st.randoms()).sample(cells, min(len(cells), 3)):
                assert cell == other
                assert [drilled(rolled_up, call) for *_, call in cell.calls] == [
                    drilled(plain, call) for *_, call in other.calls
                ]


def drilled(door: Door, call: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the rows behind a cell, in any order, and what is said of them; versions aside."""
    result = rows_of(door, **call)
    rows = result.pop("rows")
    return sorted(map(str, rows)), {key: part for key, part in result.items() if key not in VERSIONS}
