"""What methods keep on their objects, and what tables of results let go of."""

import pytest
from msgspec import Struct

from engine.model.caching import MOST_KEPT, cached_method, kept


class Shop(Struct, frozen=True, dict=True):
    """Counts what is asked of it."""

    asked: list[str]

    @cached_method
    def price(self, what: str, pieces: int) -> int | None:
        """Return the price of some pieces; bread has none."""
        self.asked.append(what)
        if pieces < 0:
            raise ValueError(what)
        return None if what == "bread" else pieces


def test_a_method_computes_once_for_its_arguments_and_object_even_where_it_returns_none() -> None:
    shop, other = Shop([]), Shop([])
    assert [shop.price("milk", 2), shop.price("milk", 2), shop.price("milk", 3)] == [2, 2, 3]
    assert [shop.price("bread", 1), shop.price("bread", 1)] == [None, None]
    assert shop.asked == ["milk", "milk", "bread"]
    assert other.price("milk", 2) == 2
    assert other.asked == ["milk"]


def test_nothing_is_kept_of_a_call_that_raises() -> None:
    shop = Shop([])
    for _ in range(2):
        with pytest.raises(ValueError, match="milk"):
            shop.price("milk", -1)
    assert shop.asked == ["milk", "milk"]


def test_a_table_that_is_full_lets_go_of_all_that_it_keeps() -> None:
    known: dict[int, int] = {}
    assert [kept(known, key, lambda: 7) for key in range(MOST_KEPT)] == [7] * MOST_KEPT
    assert kept(known, 0, lambda: 8) == 7
    kept(known, -1, lambda: 9)
    assert known == {-1: 9}
