"""What methods keep on their objects, and what tables of results let go of."""

from threading import Thread

import pytest
from msgspec import Struct

from engine.model.caching import MOST_KEPT, GrowingTable, LazyTable, cached_method


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
    table = LazyTable[int, int]()
    assert [table.get(key, lambda: 7) for key in range(MOST_KEPT)] == [7] * MOST_KEPT
    assert table.get(0, lambda: 8) == 7
    table.get(-1, lambda: 9)
    assert (len(table), table.at_hand(-1), table.at_hand(0)) == (1, 9, None)


def test_none_is_a_value_and_nothing_is_kept_of_what_raises() -> None:
    table = LazyTable[str, int | None]()
    with pytest.raises(ZeroDivisionError):
        table.get("share", lambda: 1 // 0)
    assert len(table) == 0
    assert table.get("share", lambda: None) is None
    assert table.get("share", lambda: 7) is None


def test_who_asks_while_another_makes_a_value_gets_the_one_that_is_kept() -> None:
    table, got = LazyTable[str, list[int]](), list[list[int]]()

    def make() -> list[int]:
        asking = Thread(target=lambda: got.append(table.get("primes", lambda: [2, 3, 5])))
        asking.start()
        asking.join()
        return [7]

    assert table.get("primes", make) is got[0] is table.at_hand("primes")
    assert got == [[2, 3, 5]]


def test_a_table_keeps_what_it_is_told_to() -> None:
    table = LazyTable[str, int]()
    for key in ("a", "b", "c"):
        table.get(key, lambda: 1)
    table.keep(frozenset("bd"))
    assert [table.at_hand(key) for key in ("a", "b", "c")] == [None, 1, None]


def test_a_value_that_grows_is_seen_before_and_after() -> None:
    table, seen = GrowingTable[str, tuple[int, ...]](), list[tuple[int, ...] | None]()

    def larger(before: tuple[int, ...] | None) -> tuple[int, ...]:
        seen.append(table.at_hand("primes"))
        return (*(before or ()), 7)

    assert [table.grow("primes", larger), table.grow("primes", larger)] == [(7,), (7, 7)]
    assert seen == [None, (7,)]
