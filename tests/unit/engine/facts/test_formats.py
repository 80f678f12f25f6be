"""Formats of the manifest: a store that release 0.3.0 wrote opens unchanged, and one of a newer release is refused.

`store_0_3_0` was written by that release: two loads of GL with a rollup by account, and a table of accounts.
"""

import json
import shutil
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

from engine.facts import writer
from engine.facts.arrow import ArrowFacts
from engine.facts.files import MappedFiles
from engine.facts.manifest import (
    CURRENT,
    FORMAT,
    PUBLISHING,
    WITHOUT_FREEZES,
    DamagedBooks,
    Manifest,
    NewerFormat,
    current_version,
    manifest_file,
    pin_current,
)
from engine.facts.writer import stage
from engine.model.calendar.periods import Span
from engine.model.fact_store import ROWS, RowSlice, Slice
from engine.model.scope import EVERYTHING, Cell, CodeSet
from tests.unit.engine.facts.test_store import AMOUNT, FIRST, GL, Fact, landing_of, load_of, publish

BY_ACCOUNT = replace(GL, rollups=(("account",),))
WHOLE = Span(FIRST, date(2021, 12, 31))
A, X = CodeSet(frozenset({1})), CodeSet(frozenset({1}))  # the codes of the account A and of the centre x
COLUMNS = ("account", "centre", "date", "amount", "text")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a copy of a store that release 0.3.0 wrote."""
    return Path(shutil.copytree(Path(__file__).parent / "store_0_3_0", tmp_path / "store"))


def total(root: Path, cell: Cell = EVERYTHING) -> tuple[int, int]:
    """Return the sum and the number of the rows of a scenario inside a cell."""
    facts = ArrowFacts(MappedFiles(root), pin_current(root).manifest, {"gl": BY_ACCOUNT})
    asked = Slice(domain="gl", scenario="actual", spans=(WHOLE,), keys=(), aggregates=AMOUNT)
    amount, rows = facts.sums(asked, cell).select(pl.col("amount", ROWS).sum()).collect().row(0)
    return int(amount), int(rows)


def write_format(root: Path, number: int) -> str:
    """Give the current manifest a format and return its text."""
    path = manifest_file(root, current_version(root))
    text = json.dumps({**json.loads(path.read_text(encoding="utf-8")), "format": number})
    path.write_text(text, encoding="utf-8")
    return text


def test_a_store_of_release_0_3_0_answers_as_it_did(store: Path) -> None:
    manifest = pin_current(store).manifest
    assert "format" not in json.loads(manifest_file(store, 2).read_text(encoding="utf-8"))
    assert manifest.version == 2
    assert [part.id for part in manifest.facts["gl"]] == [part.file for part in manifest.facts["gl"]]
    assert total(store) == (100 - 25 + 7 + 3, 4)
    assert total(store, Cell.where("account", A)) == (100 + 7 + 3, 3)
    assert total(store, Cell.where("centre", X)) == (100 + 3, 2)
    facts = ArrowFacts(MappedFiles(store), manifest, {"gl": BY_ACCOUNT})
    asked = RowSlice(domain="gl", scenario="actual", span=None, columns=("date", "amount", "text"))
    assert facts.rows(asked, EVERYTHING).collect().rows() == [
        (date(2021, 1, 5), 100, "rent"),
        (date(2021, 1, 31), -25, "heat"),
        (date(2021, 2, 1), 3, "late"),
        (date(2021, 2, 1), 7, "rent"),
        (None, 1000, "undated"),
    ]
    assert facts.unassigned("gl", "actual", ["account", "centre"], EVERYTHING) == {"centre"}
    presence = facts.presence("gl", "actual", EVERYTHING)
    assert list(presence.days(WHOLE)) == [date(2021, 1, 5), date(2021, 1, 31), date(2021, 2, 1)]
    assert presence.undated == 1


def test_a_load_onto_a_store_of_release_0_3_0_keeps_its_partitions(store: Path, tmp_path: Path) -> None:
    before = pin_current(store).manifest
    more: list[Fact] = [("actual", date(2021, 3, 1), "A", "x", 1000, "")]
    with stage(store) as staged:
        staged.facts(BY_ACCOUNT, landing_of(tmp_path / "landing", more), load_of("more", 3))
        staged.publish()
    text = manifest_file(store, 3).read_bytes()
    assert json.loads(text)["format"] == WITHOUT_FREEZES
    *kept, new = Manifest.from_json(text).facts["gl"]
    assert kept == list(before.facts["gl"])
    assert set(new.columns) == set(COLUMNS)
    assert total(store) == (1085, 5)


@pytest.mark.parametrize("content", ["", "{", '{"version": 2}', "[]", None])
def test_a_manifest_that_cannot_be_read_is_refused_by_name(store: Path, content: str | None) -> None:
    path = manifest_file(store, 2)
    path.unlink()
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(DamagedBooks, match=r"manifests/000002\.json.*tieout load"):
        pin_current(store)
    with pytest.raises(DamagedBooks), stage(store):
        pass


def test_a_current_version_that_cannot_be_read_is_refused_by_name(store: Path) -> None:
    path = store / CURRENT
    path.write_text("two", encoding="utf-8")
    with pytest.raises(DamagedBooks, match=r"CURRENT.*tieout load"):
        pin_current(store)
    path.unlink()
    path.mkdir()  # root reads any file
    with pytest.raises(DamagedBooks, match=r"CURRENT \(Is a directory\)"):
        pin_current(store)


def test_books_whose_current_version_is_lost_are_not_taken_for_empty_ones(store: Path, tmp_path: Path) -> None:
    once = tmp_path / "once"
    publish(once, [("actual", FIRST, "A", "x", 1, "")], load_of(at=0))
    for lost in (store, once):
        (lost / CURRENT).unlink()
        files = sorted(path for path in lost.rglob("*") if path.is_file() and path.name != PUBLISHING)
        with pytest.raises(DamagedBooks, match=r"CURRENT \(No such file or directory\).*restore a backup"):
            pin_current(lost)
        with pytest.raises(DamagedBooks), stage(lost):
            pass
        assert sorted(path for path in lost.rglob("*") if path.is_file() and path.name != PUBLISHING) == files


def test_a_first_load_that_was_killed_as_it_published_leaves_books_without_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[Fact] = [("actual", FIRST, "A", "x", 1, "")]
    rename = Path.rename

    def killed_before(path: Path, target: Path) -> Path:
        if target.name == CURRENT:
            raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as killed:
        killed.setattr(Path, "rename", killed_before)
        killed.setattr(writer, "sweep", lambda *_: [])
        with pytest.raises(KeyboardInterrupt):
            publish(tmp_path, rows, load_of(at=0))
    assert manifest_file(tmp_path, 1).is_file()
    assert current_version(tmp_path) == 0
    publish(tmp_path, rows, load_of(at=0))
    assert current_version(tmp_path) == 1


def test_a_manifest_of_a_newer_format_is_refused_by_name(store: Path) -> None:
    write_format(store, FORMAT)
    assert total(store) == (85, 4)
    files = sorted(store.rglob("*"))
    write_format(store, FORMAT + 1)
    with pytest.raises(NewerFormat, match=f"in format {FORMAT + 1} and this release reads formats up to {FORMAT}"):
        pin_current(store)
    with pytest.raises(NewerFormat), stage(store):
        pass
    assert [path for path in sorted(store.rglob("*")) if path.name != "publishing.lock"] == files
