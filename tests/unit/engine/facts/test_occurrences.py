"""What occurs in the rows of a permission: days and codes, told by samples where they can."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.facts import mapped
from engine.facts.arrow import ArrowFacts
from engine.model.scope import Cell, CodeSet
from tests.unit.engine.facts.test_store import FIRST, Fact, cells, facts_of, load_of, opened, publish


@pytest.mark.parametrize("sampled", [1, 5, 40])
@pytest.mark.parametrize("seed", range(3))
def test_days_and_codes_are_those_of_plain_python_however_few_rows_are_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, sampled: int
) -> None:
    monkeypatch.setattr(mapped, "SAMPLED_ROWS", sampled)
    first, second = facts_of(seed), [(*fact[:5], f"later {fact[5]}") for fact in facts_of(seed + 10, 90)]
    publish(tmp_path, first, load_of("one"))
    publish(tmp_path, second, load_of("two", 1))
    _, store, codes = opened(tmp_path)
    for cell, allowed in cells(codes):
        mine = [fact for fact in (*first, *second) if fact[0] == "actual" and allowed(fact[2], fact[3])]
        presence = store.presence("gl", "actual", cell)
        assert presence.dates == tuple(sorted({fact[1] for fact in mine if fact[1]}))
        assert presence.undated == sum(fact[1] is None for fact in mine)
        assert store.codes("gl", "actual", "account", cell) == {codes["account"][fact[2]] for fact in mine}
        assert store.codes("gl", "actual", "centre", cell) == {codes["centre"][fact[3]] for fact in mine}


@pytest.fixture
def read_whole(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The columns of which values were looked for in every row of the partitions."""
    told: list[str] = []
    plain: Callable[..., Any] = ArrowFacts.values

    def values(self: ArrowFacts, *args: Any) -> Any:
        told.append(args[2])
        return plain(self, *args)

    monkeypatch.setattr(ArrowFacts, "values", values)
    return told


def test_every_row_is_read_only_for_what_neither_the_sample_nor_rare_rows_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_whole: list[str]
) -> None:
    monkeypatch.setattr(mapped, "SAMPLED_ROWS", 100)
    days = [FIRST + timedelta(days=number % 20) for number in range(1_000)]
    usual: list[Fact] = [("actual", day, "ABCD"[at % 4], "xyz"[at % 3], 1, "") for at, day in enumerate(days)]
    rare: list[Fact] = [("actual", FIRST, "R", "x", 1, "")]
    hidden: list[Fact] = [("actual", FIRST, "H", "x", 1, "") for _ in range(300)]
    publish(tmp_path, [*usual, *rare, *hidden], load_of())
    _, store, codes = opened(tmp_path)
    account = codes["account"]
    without_x = Cell.where("centre", CodeSet(frozenset({codes["centre"]["x"]}), complement=True))
    without_y = Cell.where("centre", CodeSet(frozenset({codes["centre"]["y"]}), complement=True))
    every = store.codes("gl", "actual", "account", Cell.where("centre", CodeSet(frozenset(), complement=True)))
    assert every == {account[key] for key in "ABCDRH"}
    assert store.presence("gl", "actual", without_x).dates
    read_whole.clear()  # the first question makes no sample
    assert store.codes("gl", "actual", "account", without_y) == every
    assert store.presence("gl", "actual", without_y).dates == tuple(FIRST + timedelta(days=day) for day in range(20))
    assert read_whole == []
    assert store.codes("gl", "actual", "account", without_x) == every - {account["R"], account["H"]}
    assert read_whole == ["account"]  # for what the sample has outside the cell alone
