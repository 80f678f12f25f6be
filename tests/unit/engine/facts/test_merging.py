"""Merging: small partitions of one feed, scenario and month become few files, and each load is known in them."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

from engine.facts import merging, writer
from engine.facts.backend import ArrowVersions
from engine.facts.files import mapped
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import LOAD, Manifest, Partition, pin_current
from engine.facts.merging import FANOUT
from engine.facts.partition_writer import PartitionWriter
from engine.facts.writer import stage
from engine.model.calendar.periods import Span
from engine.model.scope import EVERYTHING
from tests.unit.engine.facts.test_store import FIRST, GL, Fact, landing_of, load_of, publish

APPEND = LoadMode.APPEND


def facts_of_day(at: int, count: int = 1, scenario: str = "actual") -> list[Fact]:
    """Return the facts that one load brings of a day of January."""
    return [
        (scenario, date(2021, 1, 1 + at % 20), "ABC"[at % 3], "x", 100 * at + row, f"row {at}") for row in range(count)
    ]


def append(root: Path, loads: int, *, before: int = 0, count: int = 1) -> list[Fact]:
    """Append the facts of some loads, each published on its own, and return them."""
    facts = [facts_of_day(at, count) for at in range(before, before + loads)]
    for at, of_load in enumerate(facts, before):
        publish(root, of_load, replace(load_of(), id=f"load-{at}"), mode=APPEND)
    return [fact for of_load in facts for fact in of_load]


def manifest_of(root: Path) -> Manifest:
    """Return the current manifest."""
    pin = pin_current(root)
    pin.drop()
    return pin.manifest


def parts_of(root: Path) -> tuple[Partition, ...]:
    """Return the partitions of the current version."""
    return manifest_of(root).facts["gl"]


def test_loads_of_one_month_become_few_files_that_know_what_each_load_brought(tmp_path: Path) -> None:
    count = 3 * FANOUT
    facts = append(tmp_path, count, count=2)
    parts = parts_of(tmp_path)
    assert len(parts) < FANOUT
    (merged, *alone) = sorted(parts, key=lambda part: -part.rows)
    assert (merged.load, [part.merged for part in alone]) == ("", [()] * len(alone))
    assert {loaded.load: (loaded.rows, loaded.days) for part in parts for loaded in part.loaded} == {
        f"load-{at}": (2, (1 + at % 20,)) for at in range(count)
    }
    rows = mapped(tmp_path / merged.file)
    assert rows.columns == [*merged.columns, LOAD]
    brought = {merged.merged[number].load: amount for number, amount in rows.group_by(LOAD).agg("amount").rows()}
    assert brought == {f"load-{at}": [100 * at, 100 * at + 1] for at in range(len(merged.merged))}
    amounts = [fact[4] for fact in facts]
    assert sum(part.magnitudes["amount"] for part in parts) == sum(amounts)
    assert sum(part.rows for part in parts) == len(facts)


def test_versions_before_and_after_a_merge_hold_the_same_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest that tells callers whether anything changed is made of what was loaded, not of how it is stored."""
    append(tmp_path / "merged", FANOUT)
    monkeypatch.setattr(merging, "FANOUT", 10**9)
    append(tmp_path / "apart", FANOUT)
    assert [len(parts_of(tmp_path / name)) for name in ("merged", "apart")] == [1, FANOUT]
    backends = [ArrowVersions(tmp_path / name).open({"gl": GL}) for name in ("merged", "apart")]
    one, other = ([*map(str, sorted(known.identities("gl", "actual", ())))] for known in backends)
    assert one == other
    one_load, other_load = (known.facts.presence_of_loads("gl", "actual", EVERYTHING, ["load-3"]) for known in backends)
    assert one_load == other_load
    assert [load.load for load in backends[0].loads("gl", "actual")] == [f"load-{at}" for at in range(FANOUT)]


def test_feeds_scenarios_months_and_columns_are_not_mixed(tmp_path: Path) -> None:
    for at in range(FANOUT - 1):
        for feed in ("gl", "other"):
            both = [
                *facts_of_day(at),
                *facts_of_day(at, scenario="budget"),
                ("actual", date(2021, 2, 1), "A", "x", 1, ""),
            ]
            publish(tmp_path, both, replace(load_of(feed), id=f"{feed}-{at}"), mode=APPEND)
    assert len(parts_of(tmp_path)) == 2 * 3 * (FANOUT - 1)
    publish(tmp_path, facts_of_day(FANOUT), replace(load_of(), id="last"), mode=APPEND)
    (merged,) = (part for part in parts_of(tmp_path) if part.merged)
    assert (merged.scenario, merged.bucket, merged.rows) == ("actual", "2021-01", FANOUT)
    assert {manifest_of(tmp_path).loads[loaded.load].binding for loaded in merged.merged} == {"gl"}


def test_a_large_partition_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "LARGE_ROWS", 3 * FANOUT)
    append(tmp_path, 4 * FANOUT, count=3)
    parts = parts_of(tmp_path)
    assert [part.rows for part in parts if part.merged] == [3 * FANOUT] * 4


@pytest.mark.parametrize("loads", [64, 512])
def test_what_appending_writes_and_leaves_grows_with_the_loads_and_not_with_their_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loads: int
) -> None:
    """Counted, not timed: the rows that all publishes write, and the partitions that are left."""
    written = 0
    write = PartitionWriter.write_rows

    def counting(known: PartitionWriter, domain: str, scenario: str, bucket: str, rows: pl.DataFrame) -> str:
        nonlocal written
        written += rows.height
        return write(known, domain, scenario, bucket, rows)

    monkeypatch.setattr(merging, "SMALL_BITS", 3)  # so that the sizes of thousands of loads are met
    monkeypatch.setattr(PartitionWriter, "write_rows", counting)
    append(tmp_path, loads)
    assert written <= 5 * loads
    assert len(parts_of(tmp_path)) <= 4 * FANOUT


def test_a_later_load_cuts_days_from_what_was_merged_and_a_forgotten_feed_takes_all(tmp_path: Path) -> None:
    append(tmp_path, FANOUT)
    publish(tmp_path, facts_of_day(30), replace(load_of("other"), id="other"), mode=APPEND)
    span = Span(date(2021, 1, 2), date(2021, 1, 3))
    publish(tmp_path, [], replace(load_of(), id="cut"), mode=LoadMode.REPLACE_PERIODS, span=span)
    left = {loaded.load: loaded.days for part in parts_of(tmp_path) for loaded in part.loaded}
    assert left == {**{f"load-{at}": (1 + at,) for at in range(FANOUT) if at not in (1, 2)}, "other": (11,)}
    with stage(tmp_path) as staged:
        assert staged.forget("gl") == FANOUT - 2
        staged.publish()
    assert [part.load for part in parts_of(tmp_path)] == ["other"]
    assert [*manifest_of(tmp_path).loads] == ["other"]


def test_a_version_that_is_held_keeps_the_partitions_that_it_lists(tmp_path: Path) -> None:
    append(tmp_path, FANOUT - 1)
    held = pin_current(tmp_path)
    append(tmp_path, 1, before=FANOUT - 1)
    assert len(parts_of(tmp_path)) == 1
    assert len(held.manifest.facts["gl"]) == FANOUT - 1
    assert all((tmp_path / part.file).is_file() for part in held.manifest.facts["gl"])
    files = [part.file for part in held.manifest.facts["gl"]]
    held.drop()
    append(tmp_path, 1, before=FANOUT)
    assert not any((tmp_path / file).exists() for file in files)


@pytest.mark.parametrize(
    ("place", "name"), [(PartitionWriter, "merge"), (Manifest, "as_json"), (writer, "sync_folder")], ids=str
)
def test_a_publish_that_ends_while_it_merges_leaves_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: object, name: str
) -> None:
    """It ends when the merged rows are written, before the manifest is, and before the version is renamed."""
    append(tmp_path, FANOUT - 1)
    before, step = manifest_of(tmp_path), getattr(place, name)

    def ended(*given: object) -> None:
        step(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(place, name, ended)
        with pytest.raises(KeyboardInterrupt):
            append(tmp_path, 1, before=FANOUT - 1)
    assert manifest_of(tmp_path) == before
    append(tmp_path, 1, before=FANOUT - 1)
    (merged,) = parts_of(tmp_path)
    assert [loaded.load for loaded in merged.merged] == [f"load-{at}" for at in range(FANOUT)]
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("facts/**/*.arrow")} == {merged.file}


def test_provisioning_merges_what_an_earlier_release_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(merging, "FANOUT", 10**9)
        append(tmp_path, 2 * FANOUT)
    for version in (2 * FANOUT + 1, 2 * FANOUT + 1):  # the second time there is nothing to do
        with stage(tmp_path) as staged:
            staged.derive({"gl": GL})
            assert staged.publish().version == version
    assert [len(part.merged) for part in parts_of(tmp_path)] == [2 * FANOUT]


def test_a_store_that_release_0_3_0_wrote_is_appended_to(tmp_path: Path) -> None:
    """Its partitions do not tell their columns, so that they stay as they are."""
    append(tmp_path, FANOUT - 1)
    with stage(tmp_path) as staged:
        old = tuple(replace(part, columns=(), unassigned=None) for part in staged.partitions["gl"])
        staged.partitions["gl"] = old
        staged.facts(GL, landing_of(tmp_path / "spool", [("actual", FIRST, "A", "x", 1, "")]), load_of(), APPEND)
        staged.publish()
    assert [part.merged for part in parts_of(tmp_path)] == [()] * FANOUT
