"""The law of scope: what a tool answers through profiles is what it answers to everyone on books cut to them.

The cut is made by plain Python over the rows, members, nodes and the catalogue as they were written; nothing of the
engine decides what is visible. What two scenarios differ by is held to books in which both are cut to what is seen of
both. `make test-deep PARTS=scope` holds two thousand books to it.
"""

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.scoped.books import ScopedBooks
from tests.laws.scoped.calls import BudgetedCall, calls, comparing
from tests.laws.scoped.law import broken_calls, broken_comparisons, seen_apart, seen_books
from tests.laws.scoped.profiles import ProfileSpec


@given(known=seen_books(), drawn=st.lists(calls(), min_size=8, max_size=16))
def test_an_answer_through_profiles_is_that_of_books_cut_to_them(
    known: tuple[ScopedBooks, tuple[ProfileSpec, ...]], drawn: list[BudgetedCall]
) -> None:
    assert next(broken_calls(*known, drawn), None) is None


@given(data=st.data(), known=seen_books())
def test_scenarios_are_compared_inside_what_is_seen_of_both(
    data: st.DataObject, known: tuple[ScopedBooks, tuple[ProfileSpec, ...]]
) -> None:
    pairs = seen_apart(*known)
    assume(pairs)
    pair = data.draw(st.sampled_from(pairs))
    drawn = data.draw(st.lists(comparing(pair), min_size=6, max_size=12))
    assert next(broken_comparisons(*known, pair, drawn), None) is None
