"""Cells: which leaves a union, an intersection and a permission of many grants hold, and what they cost to make."""

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import product
from operator import and_, or_
from random import Random

import pytest

from engine.model.scope import ALL_CODES, EVERYTHING, NOTHING, Cell, CodeSet, Conjunction

DIMENSIONS, CODES = ("account", "entity", "product"), range(5)
LEAVES = list(product(CODES, repeat=len(DIMENSIONS)))
Leaf = tuple[int, ...]


def codes_drawn(random: Random) -> CodeSet:
    """Draw a set of codes, listed or excluded."""
    return CodeSet(frozenset(random.sample(CODES, random.randint(0, 3))), complement=random.random() < 0.4)


def parts_drawn(random: Random) -> list[Conjunction]:
    """Draw a few conjunctions."""
    return [
        Conjunction.of({key: codes_drawn(random) for key in random.sample(DIMENSIONS, random.randint(1, 3))})
        for _ in range(random.randint(0, 6))
    ]


def leaves_of(parts: Iterable[Conjunction]) -> set[Leaf]:
    """Return the leaves of some conjunctions, one by one."""
    return {
        leaf
        for part in parts
        for leaf in LEAVES
        if all(leaf[DIMENSIONS.index(key)] in codes for key, codes in part.by_dimension)
    }


def cases() -> Iterator[tuple[list[Conjunction], list[Conjunction]]]:
    """Yield two lists of conjunctions, drawn."""
    random = Random(20261128)
    for _ in range(400):
        yield parts_drawn(random), parts_drawn(random)


def test_a_cell_holds_the_leaves_of_its_conjunctions_whatever_is_united() -> None:
    for one, other in cases():
        mine, theirs = Cell.of(one), Cell.of(other)
        assert leaves_of(mine) == leaves_of(one)
        assert leaves_of(mine | theirs) == leaves_of(one) | leaves_of(other)
        assert leaves_of(mine & theirs) == leaves_of(one) & leaves_of(other)
        assert Cell.union((mine, theirs, NOTHING)) == reduce(or_, (theirs, mine), NOTHING)


def test_no_conjunction_of_a_cell_lies_in_another() -> None:
    for one, other in cases():
        united = Cell.of([*one, *other]).parts
        assert not [pair for pair in product(united, repeat=2) if pair[0] != pair[1] and pair[0].contains(pair[1])]


def test_cells_of_one_conjunction_are_intersected_at_once_as_one_by_one() -> None:
    random = Random(3)
    for _ in range(200):
        cells = [Cell.of(parts_drawn(random)[:1]) for _ in range(random.randint(0, 5))]
        assert Cell.intersection(cells) == reduce(and_, cells, EVERYTHING)


def test_sets_are_united_at_once_as_one_by_one() -> None:
    random = Random(4)
    for _ in range(300):
        sets = [codes_drawn(random) for _ in range(random.randint(0, 5))]
        united = CodeSet.union(sets)
        assert {code for code in CODES if code in united} == {
            code for code in CODES if any(code in each for each in sets)
        }
        assert CodeSet.union([*sets, ALL_CODES]).is_all


def test_conjunctions_of_one_dimension_are_one() -> None:
    cells = [Cell.where("account", CodeSet(frozenset({code}))) for code in CODES]
    assert Cell.union(cells) == Cell.where("account", CodeSet(frozenset(CODES)))


@pytest.mark.parametrize("of_all", [(), (0,)])
@pytest.mark.parametrize("more", [(), (0, 1, 2)])
def test_of_ten_times_the_grants_as_many_are_compared_with_each(
    of_all: tuple[int, ...], more: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared, contains = [0], Conjunction.contains

    def counted(self: Conjunction, other: Conjunction) -> bool:
        compared[0] += 1
        return contains(self, other)

    monkeypatch.setattr(Conjunction, "contains", counted)
    counts = []
    for size in (40, 400):
        compared[0] = 0
        pairs = (
            {"account": CodeSet(frozenset(of_all or (at,))), "entity": CodeSet(frozenset({*more, at + 3}))}
            for at in range(size)
        )
        assert len(Cell.union(Cell.of([Conjunction.of(pair)]) for pair in pairs).parts) == size
        counts.append(compared[0])
    assert counts[1] <= 10 * counts[0] + 10
