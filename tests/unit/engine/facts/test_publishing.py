"""Publishing: what a load replaces, and that the same rows are the same files whoever brings them in whatever order."""

import random
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from engine.facts import files
from engine.facts import landing as landing_module
from engine.facts.arrow import ArrowFacts
from engine.facts.backend import ArrowVersions
from engine.facts.files import MappedFiles, mapped
from engine.facts.landing import Landing
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import current_version, pin_current
from engine.facts.writer import stage
from engine.model.calendar.periods import Span
from engine.model.errors import Unavailable
from engine.model.fact_store import Slice
from engine.model.scope import EVERYTHING, Cell, CodeSet
from tests.unit.engine.facts.test_store import AMOUNT, FIRST, GL, Fact, facts_of, landing_of, load_of, opened, publish

JANUARY, FEBRUARY = Span(FIRST, date(2021, 1, 31)), Span(date(2021, 2, 1), date(2021, 2, 28))
REPLACE, APPEND = LoadMode.REPLACE_PERIODS, LoadMode.APPEND


def fact(day: date | None, amount: int) -> Fact:
    """Return one fact."""
    return ("actual", day, "A", "x", amount, "")


def dated(root: Path, span: Span) -> int:
    """Return the sum of some days."""
    asked = Slice(domain="gl", scenario="actual", spans=(span,), keys=(), aggregates=AMOUNT)
    return int(opened(root)[1].sums(asked, EVERYTHING).collect()["amount"].sum())


def contents(root: Path) -> dict[str, bytes]:
    """Return every file that the current version needs, with its bytes."""
    return {file: (root / file).read_bytes() for file in pin_current(root).manifest.files()}


@pytest.mark.parametrize("held", [0, 20_000, 1 << 20])  # bytes in memory: nothing, some of the pieces, everything
@pytest.mark.parametrize("seed", range(4))
def test_the_same_rows_make_the_same_files_in_whatever_order_and_pieces_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, held: int
) -> None:
    monkeypatch.setattr(landing_module, "HELD_BYTES", held)
    facts = facts_of(seed)
    publish(tmp_path / "whole", facts, load_of("gl", 0))
    shuffled = random.Random(seed).sample(facts, len(facts))
    with stage(tmp_path / "pieces") as staged:
        landing = landing_of(tmp_path / "spool", shuffled[:7], shuffled[7:150], [], shuffled[150:])
        assert staged.facts(GL, landing, load_of("other", 1)) == len(facts)
        staged.publish()
    assert contents(tmp_path / "pieces") == contents(tmp_path / "whole")


def test_periods_are_replaced_exactly_to_the_day(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 1), fact(date(2021, 1, 20), 2), fact(date(2021, 2, 3), 4)], load_of(at=0))
    publish(tmp_path, [fact(date(2021, 1, 20), 100)], load_of("other", 1))
    middle = Span(date(2021, 1, 15), date(2021, 1, 31))
    publish(tmp_path, [fact(date(2021, 1, 16), 8)], load_of(at=2), mode=REPLACE, span=middle)
    assert dated(tmp_path, middle) == 108  # what another feed brought stays
    assert dated(tmp_path, Span(FIRST, date(2021, 1, 14))) == 1
    assert dated(tmp_path, FEBRUARY) == 4
    loads = {part.load for part in pin_current(tmp_path).manifest.facts["gl"]}
    assert loads == {"load-gl-0", "load-other-1", "load-gl-2"}  # each row still knows the load that brought it


def test_rows_left_of_a_month_keep_the_places_that_they_were_loaded_to(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 100), fact(date(2021, 1, 20), 200)], load_of(at=0))
    finer = replace(GL, measures={"amount": replace(GL.measures["amount"], places=3)})
    with stage(tmp_path) as staged:
        landing = Landing(tmp_path / "spool", finer)
        staged.facts(finer, landing, load_of(at=1), REPLACE, Span(date(2021, 1, 15), date(2021, 1, 31)))
        staged.publish()
    manifest = pin_current(tmp_path).manifest
    assert [part.places for part in manifest.facts["gl"]] == [{"amount": 2}]
    asked = Slice(domain="gl", scenario="actual", spans=(JANUARY,), keys=(), aggregates=AMOUNT)
    with pytest.raises(Unavailable, match="was loaded to 2 decimal places and the catalogue now says 3"):
        ArrowFacts(MappedFiles(tmp_path), manifest, {"gl": finer}).sums(asked, EVERYTHING)


def test_a_period_that_came_back_empty_is_emptied(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 1), fact(date(2021, 2, 3), 4), fact(None, 16)], load_of(at=0))
    publish(tmp_path, [], load_of(at=1), mode=REPLACE, span=JANUARY)
    assert (dated(tmp_path, JANUARY), dated(tmp_path, FEBRUARY)) == (0, 4)
    undated = [part.rows for part in pin_current(tmp_path).manifest.facts["gl"] if part.bucket == "undated"]
    assert undated == [1]  # rows without a date belong to no period
    assert "load-gl-1" in pin_current(tmp_path).manifest.loads  # the last load of a feed is known, rows or not


def test_an_extract_is_appended_once(tmp_path: Path) -> None:
    first, second = [fact(FIRST, 1), fact(date(2021, 2, 3), 4)], [fact(FIRST, 2)]
    assert publish(tmp_path, first, load_of(at=0), mode=APPEND) == 2
    assert publish(tmp_path, second, load_of(at=1), mode=APPEND) == 1
    version = current_version(tmp_path)
    assert publish(tmp_path, reversed(first), load_of(at=2), mode=APPEND) == 0
    assert (dated(tmp_path, JANUARY), current_version(tmp_path)) == (3, version)
    assert publish(tmp_path, first, load_of("other", 3), mode=APPEND) == 2  # another feed, other rows


def test_an_extract_is_known_again_after_its_dimension_has_outgrown_its_codes(tmp_path: Path) -> None:
    first = [fact(FIRST, 1)]
    publish(tmp_path, first, load_of(at=0), mode=APPEND)
    many: list[Fact] = [("actual", FIRST, f"M{number:03}", "x", 0, "") for number in range(300)]
    publish(tmp_path, many, load_of(at=1), mode=APPEND)
    assert publish(tmp_path, first, load_of(at=2), mode=APPEND) == 0


def test_loading_the_same_again_changes_when_it_was_loaded_and_nothing_else(tmp_path: Path) -> None:
    publish(tmp_path, facts_of(1), load_of(at=5))
    before = contents(tmp_path)
    publish(tmp_path, facts_of(1), load_of(at=3))  # by a clock that moved back
    manifest = pin_current(tmp_path).manifest
    assert contents(tmp_path) == before
    assert [(load.id, load.sequence) for load in manifest.loads.values()] == [("load-gl-3", 2)]


def test_which_dimensions_lack_members_is_known_without_the_rows(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 1), ("actual", date(2021, 2, 3), "A", None, 2, "")], load_of(at=0))
    for file in tmp_path.glob("facts/**/*.arrow"):
        file.unlink()
    store = ArrowFacts(MappedFiles(tmp_path), pin_current(tmp_path).manifest, {"gl": GL})
    assert store.unassigned("gl", "actual", ["account", "centre"], EVERYTHING) == {"centre"}
    assert store.unassigned("gl", "actual", ["account"], Cell.where("centre", CodeSet(frozenset({1})))) == frozenset()


def test_a_publish_maps_what_it_wrote_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_files: list[Path] = []

    def noting(path: Path) -> Any:
        opened_files.append(path)
        return mapped(path)

    monkeypatch.setattr(files, "mapped", noting)
    versions, year = ArrowVersions(tmp_path), Span(FIRST, date(2021, 12, 31))
    asked = Slice(domain="gl", scenario="actual", spans=(year,), keys=("account",), aggregates=AMOUNT)
    sums: list[int] = []
    read: list[int] = []
    for month in (1, 2, 2):
        publish(tmp_path, [fact(date(2021, month, 3), 10 * len(sums) + 1)], load_of(f"{month}", len(sums)))
        sums.append(int(versions.open({"gl": GL}).facts.sums(asked, EVERYTHING).collect()["amount"].sum()))
        read.append(len(opened_files))
    assert sums == [1, 1 + 11, 1 + 21]
    assert read == [1, 2, 3]
