"""Rollups that the store chooses from the rows: which, of which partitions, and what a declaration says instead."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine.facts import partition_writer, rollups
from engine.facts.manifest import pin_current
from engine.facts.rollups import View, choose_rollups, greedy
from engine.facts.writer import stage
from engine.model.scope import EVERYTHING
from tests.unit.engine.facts.test_rollups import asked, parts_of, publish, store_of
from tests.unit.engine.facts.test_store import GL, Fact, load_of

LARGE = 1_000
CHOSEN = replace(GL, rollups=None)


def month(number: int, count: int) -> list[Fact]:
    """Return facts of a month, each combination of 10 accounts and 5 centres in turn."""
    day = date(2021, number, 3)
    return [("actual", day, f"a{at % 10}", f"c{at // 10 % 5}", at, "") for at in range(count)]


@pytest.fixture(autouse=True)
def _small_months_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (rollups, partition_writer):
        monkeypatch.setattr(room, "LEAST_ROWS", LARGE)
    monkeypatch.setattr(rollups, "LEAST_READ", 1)


def held(root: Path) -> dict[str, set[tuple[str, ...]]]:
    """Return the rollups of each month."""
    return {part.bucket: {rollup.dimensions for rollup in part.rollups} for part in parts_of(root)}


def test_large_months_get_the_rollups_that_their_rows_are_worth(tmp_path: Path) -> None:
    publish(tmp_path, [*month(1, LARGE), *month(2, LARGE - 1)], CHOSEN)
    assert held(tmp_path) == {"2021-01": {("account",), ("account", "centre"), ("centre",)}, "2021-02": set()}


def test_a_month_that_grows_large_later_gets_what_was_chosen(tmp_path: Path) -> None:
    publish(tmp_path, month(1, LARGE), CHOSEN, load=load_of("first"))
    chosen = pin_current(tmp_path).manifest.chosen["gl"]
    publish(tmp_path, month(2, LARGE), CHOSEN, load=load_of("second", 1))
    assert held(tmp_path)["2021-02"] == set(chosen)
    assert pin_current(tmp_path).manifest.chosen["gl"] == chosen


def test_nothing_is_chosen_where_a_domain_declares(tmp_path: Path) -> None:
    publish(tmp_path, month(1, LARGE), GL)
    assert held(tmp_path) == {"2021-01": set()}
    assert pin_current(tmp_path).manifest.chosen == {}


def test_provision_chooses_anew(tmp_path: Path) -> None:
    publish(tmp_path, month(1, LARGE), GL)
    for domain, expected in ((CHOSEN, True), (GL, False)):
        with stage(tmp_path) as staged:
            staged.derive({"gl": domain})
            staged.publish()
        assert bool(held(tmp_path)["2021-01"]) is expected


def test_chosen_rollups_sum_what_the_rows_sum(tmp_path: Path) -> None:
    publish(tmp_path, [*month(1, 3 * LARGE), *month(2, LARGE)], CHOSEN)
    question = asked("account", "centre")
    by = ("account", "centre")
    found, expected = (
        store_of(tmp_path, domain).sums(question, EVERYTHING).collect().group_by(by).sum().sort(by)
        for domain in (CHOSEN, GL)
    )
    assert found.equals(expected)


# Worked by hand. 1,000 rows; 10 by a, 20 by b, 100 by a and b. Each view is as wide as a row.


WORKED: Mapping[View, int] = {frozenset("a"): 10, frozenset("b"): 20, frozenset("ab"): 100}


@pytest.mark.parametrize(
    ("first", "space", "expected"),
    [
        ("", 1_000, ["a", "b", "ab"]),  # a saves 990 / 10 = 99 a row, b 49, ab (900 + 990 + 980) / 100 = 28.7
        ("b", 1_000, ["b", "a", "ab"]),
        ("", 30, ["a", "b"]),  # ab does not fit
        ("", 109, ["a", "b"]),
        ("ab", 1_000, ["ab", "a", "b"]),  # after ab, a reads 100 rows and b reads 100: both still gain fourfold
    ],
)
def test_the_view_that_saves_most_for_its_size_comes_first(first: str, space: int, expected: list[str]) -> None:
    chosen = greedy(WORKED, dict.fromkeys(WORKED, 1), 1_000, frozenset(first), space, lambda _: 1)
    assert ["".join(sorted(view)) for view in chosen] == expected


def test_a_view_that_gains_less_than_fourfold_is_not_chosen() -> None:
    sizes = {frozenset("a"): 30, frozenset("ab"): 100, frozenset("abc"): 300}
    chosen = list(greedy(sizes, dict.fromkeys(sizes, 1), 1_000, frozenset("ab"), 10_000, lambda _: 1))
    assert chosen == [frozenset("ab")]  # abc answers from 300 of 1,000 rows, a from 30 instead of 100


@pytest.mark.parametrize(
    ("restricted", "expected"),
    [("", "a"), ("b", "b"), ("c", "a")],  # 980 / 19 = 51.6 a row of a; 975 / 25 = 39 a row of b, twice as many
)
def test_what_profiles_restrict_counts_twice(restricted: str, expected: str) -> None:
    sizes = {frozenset("a"): 19, frozenset("b"): 25}
    weights = {view: 2 if view & set(restricted) else 1 for view in sizes}
    chosen = list(greedy(sizes, weights, 1_000, frozenset(), 25, lambda _: 1))
    assert chosen == [frozenset(expected)]  # the space is enough for one


@pytest.mark.parametrize(("restricted", "expected"), [("", "centre"), ("account", "account")])
def test_a_domain_gets_the_rollups_of_what_profiles_restrict(
    restricted: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """5 centres save 995 / 5 = 199 rows each, 9 accounts 991 / 9 = 110.1, or twice that; there is space for one."""
    day = date(2021, 1, 3)
    publish(tmp_path, [("actual", day, f"a{at % 9}", f"c{at // 9 % 5}", at, "") for at in range(LARGE)], GL)
    monkeypatch.setattr(rollups, "MOST_SPACE", 100)  # 200 bytes: 9 sums of 18 bytes, or 5
    domain = replace(CHOSEN, sort=(), restricted=frozenset({restricted} - {""}))
    chosen = choose_rollups(domain, parts_of(tmp_path), lambda part: store_of(tmp_path, GL).frame("gl", part))
    assert chosen == ((expected,),)
