"""Large months: the same files in bounded memory, sorted in ranges and made ready column by column."""

import random
from pathlib import Path

import polars as pl
import pytest

from engine.facts import files, sorting
from engine.facts import landing as landing_module
from engine.facts.parts import magnitudes
from engine.facts.sorting import sorted_ranges, sorted_whole
from engine.facts.writer import stage
from tests.unit.engine.facts.test_publishing import contents
from tests.unit.engine.facts.test_store import GL, facts_of, landing_of, load_of, publish

SCHEMA = {"code": pl.UInt8, "day": pl.Int32, "text": pl.String, "amount": pl.Int64}


def rows_of(seed: int, count: int) -> pl.DataFrame:
    """Return rows of few values, nulls and equal rows among them."""
    chance = random.Random(seed)
    texts = (None, "", "a", "a text of more than twelve bytes")
    rows = [
        (chance.choice((0, 1, 1, 1, 2, 7)), chance.choice((None, 5, 6)), chance.choice(texts), chance.randrange(-3, 3))
        for _ in range(count)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("at_once", [1, 20, 300])
def test_ranges_are_the_rows_in_their_order_and_few_at_once(seed: int, at_once: int) -> None:
    rows = rows_of(seed, 1_000)
    pieces = [rows[first : first + 70] for first in range(0, rows.height, 70)]
    ranges = list(sorted_ranges(pieces, at_once))
    assert pl.concat(ranges).equals(sorted_whole(pieces))
    assert all(some.height <= at_once or some.n_unique() == 1 for some in ranges)


def test_a_large_month_is_the_same_file_and_never_whole_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [fact for seed in range(6) for fact in facts_of(seed)]
    publish(tmp_path / "whole", facts, load_of())
    heights, widths = list[int](), list[int]()

    def sorted_counted(pieces: list[pl.DataFrame]) -> pl.DataFrame:
        rows = sorted_whole(pieces)
        heights.append(rows.height)
        return rows

    def column_counted(frame: pl.DataFrame) -> object:
        widths.append(frame.width if "amount" in frame.columns else 1)
        return canonical(frame)

    canonical = files.canonical
    monkeypatch.setattr(landing_module, "SORTED_BYTES", 400)
    monkeypatch.setattr(files, "LARGE_BYTES", 0)
    monkeypatch.setattr(landing_module, "sorted_whole", sorted_counted)
    monkeypatch.setattr(sorting, "sorted_whole", sorted_counted)
    monkeypatch.setattr(files, "canonical", column_counted)
    with stage(tmp_path / "ranges") as staged:
        staged.facts(GL, landing_of(tmp_path / "spool", facts[:99], facts[99:]), load_of())
        staged.publish()
    assert contents(tmp_path / "ranges") == contents(tmp_path / "whole")
    assert 0 < max(heights) < 30
    assert set(widths) == {1}
    assert not list((tmp_path / "spool").glob("*-*.arrow"))
    assert not list((tmp_path / "ranges").rglob("*.column"))


def test_amounts_of_many_rows_are_added_up_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.facts.parts.SUMMED_ROWS", 7)
    amounts = [2**63 - 1, -(2**63), None, *range(-20, 20)]
    assert magnitudes(pl.DataFrame({"amount": amounts}), ["amount"]) == {
        "amount": sum(abs(amount) for amount in amounts if amount is not None)
    }
    assert magnitudes(pl.DataFrame(schema=SCHEMA), ["amount"]) == {"amount": 0}
    assert magnitudes(rows_of(1, 5), []) == {}
