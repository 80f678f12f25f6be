"""The order of figures: that of their fractions, compared by whole numbers."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model import exact
from engine.model.exact import Exact, sort_keys

WHOLE = st.integers(-(10**30), 10**30)
NEAR = st.builds(lambda part: (10**40 + part, 3 * 10**40), st.integers(-3, 3))  # apart by less than 2**-64
FIGURES = st.lists(
    st.one_of(st.tuples(WHOLE, st.sampled_from([1, 2, 100, 700])), NEAR, st.tuples(WHOLE, st.integers(1, 10**30)))
)


@given(drawn=FIGURES)
def test_the_order_of_figures_is_that_of_their_fractions_and_equal_ones_keep_theirs(
    drawn: list[tuple[int, int]],
) -> None:
    figures = [Exact(*pair) for pair in drawn]
    keys, places = sort_keys(figures), range(len(figures))
    for reverse in (False, True):
        expected = sorted(places, key=lambda at: Fraction(*drawn[at]), reverse=reverse)
        assert sorted(places, key=keys.__getitem__, reverse=reverse) == expected


def test_figures_over_one_small_denominator_are_compared_by_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = list[Any]()

    def equal(*pair: Any) -> bool:
        compared.append(pair)
        return False

    monkeypatch.setattr(exact.Exact, "__eq__", equal)
    sorted(sort_keys([Exact(at % 7, 10 ** (at % 3)) for at in range(1000)]))
    assert not compared
