"""The laws of figures and of scope over facts in an engine, every statement of which is held to its cell as well.

The engine holds them as loads put them there, or as somebody else keeps them in a table that is attached.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.oracle.asking import ask
from tests.laws.oracle.books import OracleBooks
from tests.laws.oracle.requests import requests
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import OpenVersions, opened
from tests.laws.scoped.books import ScopedBooks
from tests.laws.scoped.calls import BudgetedCall, calls
from tests.laws.scoped.law import broken_calls, seen_books
from tests.laws.scoped.profiles import ProfileSpec
from tests.laws.test_figures import by_cell, compare
from tests.support.engines.attached_tables import ATTACHABLE, attached_versions
from tests.support.engines.clouds import CLOUDS
from tests.support.engines.warehouses import DEEP, ENGINES, versions_in_engine

pytestmark = pytest.mark.usefixtures("stores_in_warehouses", "attached_stores")
opens = [*([] if CLOUDS else map(versions_in_engine, DEEP or ENGINES)), *map(attached_versions, ATTACHABLE)]
stores = st.sampled_from(opens)


@given(data=st.data(), books=random_books(), versions=stores)
def test_every_cell_is_what_the_oracle_says(data: st.DataObject, books: OracleBooks, versions: OpenVersions) -> None:
    with opened(books, versions=versions) as door:
        for request in data.draw(st.lists(requests(books), min_size=1, max_size=2)):
            compare(books, request, by_cell(ask(door, books, request)))


@given(known=seen_books(), drawn=st.lists(calls(), min_size=4, max_size=8), versions=stores)
def test_an_answer_through_profiles_is_that_of_files_cut_to_them(
    known: tuple[ScopedBooks, tuple[ProfileSpec, ...]], drawn: list[BudgetedCall], versions: OpenVersions
) -> None:
    assert next(broken_calls(*known, drawn, versions), None) is None
