"""Rows of facts in an engine: a publish puts, counts and only then names them, whenever its process ends."""

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

import polars as pl
import pytest

from engine.facts.arrow import ArrowFacts
from engine.facts.files import MappedFiles
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import manifest_file
from engine.facts.parts import differences, journals_in, numbers_of
from engine.facts.writer import stage
from engine.model.calendar.periods import Span
from engine.model.errors import Unavailable
from engine.model.scope import EVERYTHING
from engine.model.warehouses import PartTotals
from server.warehouses.parts import WarehouseParts
from server.warehouses.tables import warehouse_table
from server.warehouses.warehouse import SqlStatement
from tests.support.engines.parted import FatalStep, MortalParts, ProcessEnd, ending_process, manifest_of_store
from tests.support.engines.warehouses import ENGINES, Warehouses, warehouses
from tests.unit.engine.facts.test_store import FIRST, GL, Fact, facts_of, landing_of, load_of, opened

TABLE = warehouse_table("gl", {})
FEBRUARY, MARCH = date(2021, 2, 3), date(2021, 3, 4)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[Warehouses]:
    """Run an empty warehouse: DuckDB, where a test does not ask for `every_engine`."""
    kind = getattr(request, "param", "duckdb")
    uri = "" if kind == "duckdb" else request.getfixturevalue("embedded_server")
    with warehouses(kind, uri) as made:
        yield made


every_engine = pytest.mark.parametrize("engine", ENGINES, indirect=True)


def fact(day: date | None, amount: int) -> Fact:
    """Return one fact."""
    return ("actual", day, "A", "x", amount, "")


def publish(
    root: Path, store: object, facts: Sequence[Fact], at: int, mode: LoadMode = LoadMode.FULL, lease: float = 0
) -> None:
    """Publish facts as one load; those that replace periods replace the last days of January."""
    span = Span(date(2021, 1, 15), date(2021, 1, 31)) if mode is LoadMode.REPLACE_PERIODS else None
    with stage(root, store, lease=lease) as staged, TemporaryDirectory() as folder:  # type: ignore[arg-type]  # each is one
        staged.facts(GL, landing_of(Path(folder), facts), load_of(at=at), mode, span)
        staged.publish()


def sums(engine: Warehouses, root: Path) -> dict[str, tuple[int, int]]:
    """Return the sum and the number of the rows of each scenario in the engine, as the current version names them."""
    found = {}
    for scenario in ("actual", "budget"):
        parts = [part for part in manifest_of_store(root).facts["gl"] if part.scenario == scenario]
        listed = ", ".join(str(part.number) for part in parts) or "0"
        total = engine.reader.dialect.whole.format("sum(amount)")
        named = engine.reader.dialect.table_of("tieout_facts_gl")
        text = f"select {total}, count(*) from {named} where tieout_part in ({listed})"  # noqa: S608 - numbers
        total, rows = (column[0].as_py() for column in engine.reader.read(SqlStatement(text)).columns)
        found[scenario] = (total or 0, rows)
    return found


def expected(facts: Sequence[Fact]) -> dict[str, tuple[int, int]]:
    """Return the same, added up in Python."""
    held = {scenario: [fact[4] for fact in facts if fact[0] == scenario] for scenario in ("actual", "budget")}
    return {scenario: (sum(amounts), len(amounts)) for scenario, amounts in held.items()}


@every_engine
def test_a_publish_puts_every_row_into_the_engine_and_no_file_of_them_stays(engine: Warehouses, tmp_path: Path) -> None:
    facts, store = facts_of(3), WarehouseParts(engine.loader)
    publish(tmp_path, store, facts, 0)
    manifest = manifest_of_store(tmp_path)
    assert sums(engine, tmp_path) == expected(facts)
    assert engine.reader.parts(TABLE) == set(numbers_of(manifest.facts))
    assert {part.columns for part in manifest.facts["gl"]} == {("account", "centre", "date", "amount", "text")}
    assert not list((tmp_path / "facts").rglob("*.arrow"))
    publish(tmp_path, store, [fact(FIRST, 5)], 1)
    assert engine.reader.parts(TABLE) == set(numbers_of(manifest_of_store(tmp_path).facts))  # the others are swept
    assert sums(engine, tmp_path)["actual"] == (5, 1)


@every_engine
def test_a_publish_that_is_killed_at_any_step_leaves_the_books_as_they_were_and_is_swept(
    engine: Warehouses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, before = WarehouseParts(engine.loader), [fact(FIRST, 1), fact(FEBRUARY, 2)]
    publish(tmp_path, store, before, 0)
    current, killed = manifest_of_store(tmp_path), []
    for last in count():
        rows = [fact(FIRST, 100 + last), fact(MARCH, 1000 + last)]
        with ending_process(tmp_path, store, last, monkeypatch) as staged:
            staged.facts(GL, landing_of(tmp_path / f"spool{last}", rows), load_of(at=1))
            try:
                staged.publish()
            except ProcessEnd as end:
                killed.append(str(end))
            else:
                break
        assert manifest_of_store(tmp_path) == current
        assert sums(engine, tmp_path) == expected(before)
    put = ["before put", "half put", "put"]
    journal, name, manifest = (["before " + end, "after " + end] for end in (".new", ".new", ".json"))
    assert killed == [*journal, *put, *put, "before totals", *name, *manifest]
    assert sums(engine, tmp_path) == expected(rows)
    assert len(engine.reader.parts(TABLE)) > len(rows) + len(before)
    publish(tmp_path, store, [fact(FIRST, 7)], 2)
    assert engine.reader.parts(TABLE) == set(numbers_of(manifest_of_store(tmp_path).facts))
    assert len(journals_in(tmp_path)) == 1


def test_a_move_into_the_engine_that_is_killed_and_resumed_sends_no_whole_part_twice(
    engine: Warehouses, tmp_path: Path
) -> None:
    facts, store = facts_of(5), WarehouseParts(engine.loader)
    publish(tmp_path, None, facts, 0)
    parts = len(manifest_of_store(tmp_path).facts["gl"])
    assert parts == 10  # four months and the undated rows, of two scenarios
    names: list[str] = []
    for last in (4, 11, 10_000):  # killed twice while half of a part was there
        step = FatalStep(last)
        try:
            with stage(tmp_path, MortalParts(store, step)) as staged:
                staged.publish()
        except ProcessEnd:
            assert manifest_of_store(tmp_path).version == 1
        names += step.names
    assert names.count("put") == parts
    assert names.count("before put") == parts + 2
    assert sums(engine, tmp_path) == expected(facts)
    assert list(differences(store, manifest_of_store(tmp_path).facts)) == []
    assert engine.reader.parts(TABLE) == set(numbers_of(manifest_of_store(tmp_path).facts))


def lose_row(rows: pl.DataFrame) -> pl.DataFrame:
    """Return all rows but the last."""
    return rows.head(-1)


def change_amount(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose amounts are one more."""
    return rows.with_columns(pl.col("amount") + 1)


@dataclass
class LossyParts(MortalParts):
    """An engine that does something to the rows that are put."""

    change: Callable[[pl.DataFrame], pl.DataFrame] = lose_row

    def put(self, domain: str, number: int, rows: pl.DataFrame) -> None:
        """Put a part wrongly."""
        self.store.put(domain, number, self.change(rows))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lose_row,
            r"tieout_facts_gl holds 1 rows where the books have 2 of actual 2021-01 \(part \d+\); nothing was publ",
        ),
        (change_amount, r"tieout_facts_gl holds other amounts of amount than the books of actual 2021-01 \(part \d+\)"),
    ],
)
def test_an_engine_that_holds_other_counts_or_sums_is_refused_with_its_table(
    engine: Warehouses, tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame], says: str
) -> None:
    store = LossyParts(WarehouseParts(engine.loader), FatalStep(10_000), change)
    with pytest.raises(Unavailable, match=says):
        publish(tmp_path, store, [fact(FIRST, 1), fact(date(2021, 1, 9), 2)], 0)
    assert manifest_of_store(tmp_path).version == 0


def test_a_load_that_cuts_a_month_reads_its_rows_back_and_equal_rows_are_not_sent_again(
    engine: Warehouses, tmp_path: Path
) -> None:
    step = FatalStep(10_000)
    store = MortalParts(WarehouseParts(engine.loader), step)
    publish(tmp_path, store, [fact(FIRST, 1), fact(date(2021, 1, 20), 2), fact(FEBRUARY, 4)], 0)
    publish(tmp_path, store, [fact(date(2021, 1, 16), 8)], 1, LoadMode.REPLACE_PERIODS)
    assert sums(engine, tmp_path)["actual"] == (1 + 8 + 4, 3)
    assert step.names.count("put") == 4  # January and February, then both halves of January
    publish(tmp_path, store, [fact(FIRST, 1), fact(FEBRUARY, 4)], 2)
    assert sums(engine, tmp_path)["actual"] == (1 + 4, 2)
    assert step.names.count("put") == 4
    assert engine.reader.parts(TABLE) == set(numbers_of(manifest_of_store(tmp_path).facts))


def test_equal_rows_of_two_feeds_are_two_parts(engine: Warehouses, tmp_path: Path) -> None:
    for binding in ("gl", "other"):
        with stage(tmp_path, WarehouseParts(engine.loader)) as staged, TemporaryDirectory() as folder:
            staged.facts(GL, landing_of(Path(folder), [fact(FIRST, 3)]), load_of(binding))
            staged.publish()
    assert sums(engine, tmp_path)["actual"] == (6, 2)


@every_engine
def test_the_rows_come_back_as_the_files_that_they_were(engine: Warehouses, tmp_path: Path) -> None:
    facts, store = facts_of(8), WarehouseParts(engine.loader)
    publish(tmp_path, None, facts, 0)
    before = {path.relative_to(tmp_path): path.read_bytes() for path in (tmp_path / "facts").rglob("*.arrow")}
    with stage(tmp_path, store) as staged:
        staged.publish()
    with pytest.raises(Unavailable, match=r"The rows are in an engine that instance.yaml names no longer"):
        opened(tmp_path)[1].codes("gl", "actual", "account", EVERYTHING)
    with pytest.raises(Unavailable, match=r"The rows of gl are in an engine .* provision once with `keep_here: every"):
        publish(tmp_path, None, [], 1, LoadMode.REPLACE_PERIODS)
        with stage(tmp_path) as staged:
            staged.publish()
    with stage(tmp_path, store, keeps_files=True) as staged:
        staged.publish()
    with stage(tmp_path) as staged:
        staged.publish()
    assert {path.relative_to(tmp_path): path.read_bytes() for path in (tmp_path / "facts").rglob("*.arrow")} == before
    assert not list(numbers_of(manifest_of_store(tmp_path).facts))
    found = ArrowFacts(MappedFiles(tmp_path), manifest_of_store(tmp_path), {"gl": GL})
    assert found.codes("gl", "actual", "account", EVERYTHING)


class AbsentParts(MortalParts):
    """An engine that goes away once its parts are put."""

    def drop(self, domain: str, numbers: Collection[int]) -> None:
        """Fail."""
        raise Unavailable(f"{domain}: {len(numbers)} parts cannot be dropped")


def test_a_version_stays_for_readers_on_other_hosts_until_its_lease_ends(engine: Warehouses, tmp_path: Path) -> None:
    store, lease = WarehouseParts(engine.loader), 900.0
    versions = []
    for at in range(3):
        publish(tmp_path, store, [fact(FIRST, at)], at, lease=lease)
        versions.append(manifest_of_store(tmp_path))
    first, second, third = (set(numbers_of(version.facts)) for version in versions)
    assert engine.reader.parts(TABLE) == first | second | third
    assert all((tmp_path / file).exists() for version in versions for file in version.files())
    ended = time() - lease - 1
    os.utime(manifest_file(tmp_path, versions[1].version), (ended, ended))  # then it took the place of the first
    publish(tmp_path, store, [fact(FIRST, 3)], 3, lease=lease)
    assert engine.reader.parts(TABLE) == second | third | set(numbers_of(manifest_of_store(tmp_path).facts))
    assert not manifest_file(tmp_path, versions[0].version).exists()
    publish(tmp_path, store, [fact(FIRST, 4)], 4)
    assert engine.reader.parts(TABLE) == set(numbers_of(manifest_of_store(tmp_path).facts))


def test_an_engine_that_is_away_when_parts_are_swept_is_swept_later(engine: Warehouses, tmp_path: Path) -> None:
    store = WarehouseParts(engine.loader)
    publish(tmp_path, store, [fact(FIRST, 1)], 0)
    publish(tmp_path, AbsentParts(store, FatalStep(10_000)), [fact(FIRST, 2)], 1)
    assert len(engine.reader.parts(TABLE)) == 2
    publish(tmp_path, store, [fact(FIRST, 3)], 2)
    assert engine.reader.parts(TABLE) == set(numbers_of(manifest_of_store(tmp_path).facts))


def test_a_restored_copy_drops_no_part_of_the_store_that_it_was_copied_from(engine: Warehouses, tmp_path: Path) -> None:
    store, origin, copy = WarehouseParts(engine.loader), tmp_path / "origin", tmp_path / "copy"
    publish(origin, store, [fact(FIRST, 1)], 0)
    (copy / "manifests").mkdir(parents=True)
    shutil.copytree(origin / "codes", copy / "codes")  # as a backup: what the version names, and no journal
    shutil.copy(manifest_file(origin, 1), manifest_file(copy, 1))
    shutil.copy(origin / "CURRENT", copy / "CURRENT")
    publish(copy, store, [fact(FIRST, 2)], 1)
    assert sums(engine, origin)["actual"] == (1, 1)
    assert sums(engine, copy)["actual"] == (2, 1)


@every_engine
def test_a_dimension_that_the_table_lacks_is_added_to_it(engine: Warehouses, tmp_path: Path) -> None:
    store = WarehouseParts(engine.loader)
    publish(tmp_path, store, [fact(FIRST, 1)], 0)
    rows = pl.DataFrame({"date": [FIRST], "region": pl.Series([9], dtype=pl.UInt8), "amount": [4]})
    store.put("gl", 77, rows)
    totals: Mapping[int, PartTotals] = store.totals("gl", ["amount"], [77])
    assert totals == {77: PartTotals(1, {"amount": 4})}
    assert sums(engine, tmp_path)["actual"] == (1, 1)
