"""Freezes in the store: they stay as they were whatever is loaded after them, and their files go with them."""

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

from engine.facts.backend import ArrowBackend, ArrowVersions
from engine.facts.frozen import version_files
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import current_version, manifest_file, pin_current
from engine.facts.writer import stage
from engine.model.calendar.periods import WITHOUT_DATE, Span
from engine.model.catalogue import Domain, Measure
from engine.model.errors import Unavailable
from engine.model.fact_store import RowSlice, Slice
from engine.model.formulas import FigureKind
from engine.model.freezes import Freeze
from engine.model.scope import EVERYTHING, Cell, CodeSet
from tests.unit.engine.facts.test_store import AMOUNT, FIRST, GL, Fact, load_of, publish

SEP = "actual#sep"
YEAR = Span(FIRST, date(2021, 12, 31))
JANUARY = Span(FIRST, date(2021, 1, 31))
MID = date(2021, 1, 15)


def fact(day: date | None, amount: int, account: str = "A") -> Fact:
    """Return one fact."""
    return ("actual", day, account, "x", amount, "")


def freeze(root: Path, name: str = "sep", through: date | None = None, domain: Domain = GL) -> Freeze:
    """Freeze the actuals of a store."""
    made = Freeze(base="actual", name=name, file="", frozen_at=datetime(2026, 1, 1, tzinfo=UTC), version=0, rows=0)
    with stage(root) as staged:
        staged.freeze(replace(made, through=through), {"gl": domain})
        return staged.publish().frozen[made.id]


def drop(root: Path, scenario: str = SEP) -> None:
    """Give a freeze up."""
    with stage(root) as staged:
        staged.freezes.drop(scenario)
        staged.publish()


def opened(root: Path, domain: Domain = GL) -> ArrowBackend:
    """Open the current version."""
    return ArrowVersions(root).open({"gl": domain})


def total(root: Path, scenario: str = SEP, span: Span = YEAR, within: Cell = EVERYTHING, domain: Domain = GL) -> int:
    """Return the sum of a scenario."""
    asked = Slice(domain="gl", scenario=scenario, spans=(span,), keys=(), aggregates=AMOUNT)
    return int(opened(root, domain).facts.sums(asked, within).collect()["amount"].sum())


def files(root: Path) -> set[str]:
    """Return the files of a store that versions name."""
    return {
        path.relative_to(root).as_posix()
        for folder in ("facts", "rollups", "tables", "codes", "frozen")
        for path in (root / folder).rglob("*.*")
    }


def load_many(root: Path, days: Iterable[int]) -> None:
    """Append a row a day, each by a load of its own."""
    for day in days:
        publish(root, [fact(date(2021, 2, day), day)], load_of(at=day % 24), mode=LoadMode.APPEND)


def test_a_freeze_stays_as_it_was_through_loads_merges_and_a_feed_that_is_forgotten(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 1), fact(date(2021, 3, 4), 2), fact(None, 8)], load_of(at=0))
    load_many(tmp_path, range(1, 5))
    frozen = freeze(tmp_path)
    assert (frozen.rows, frozen.version) == (7, 5)
    load_many(tmp_path, range(5, 12))  # eight small parts of a month become one
    assert any(part.merged for part in pin_current(tmp_path).manifest.facts["gl"])
    publish(tmp_path, [fact(FIRST, 100)], load_of(at=20))
    assert total(tmp_path, "actual") == 100
    assert (total(tmp_path), total(tmp_path, span=WITHOUT_DATE)) == (1 + 2 + 1 + 2 + 3 + 4, 8)
    with stage(tmp_path) as staged:
        staged.forget("gl")
        staged.derive({"gl": GL})
        staged.publish()
    assert total(tmp_path, "actual") == 0
    assert total(tmp_path) == 13
    loads = opened(tmp_path).loads("gl", SEP)
    assert [load.load for load in loads] == ["load-gl-0", "load-gl-1", "load-gl-2", "load-gl-3", "load-gl-4"]
    assert opened(tmp_path).feeds("gl") == set()  # it is no fault that only a freeze has rows of a feed


def test_a_freeze_copies_no_row_and_its_files_go_with_the_last_version_that_names_it(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 1), fact(date(2021, 3, 4), 2)], load_of(at=0))
    before = files(tmp_path)
    frozen = freeze(tmp_path)
    assert files(tmp_path) == {*before, frozen.file}
    publish(tmp_path, [fact(FIRST, 5)], load_of(at=1))
    assert before - files(tmp_path) == set()
    pin = pin_current(tmp_path)  # a report that reads the freeze
    drop(tmp_path)
    assert version_files(tmp_path, pin.manifest) <= files(tmp_path)
    pin.drop()
    publish(tmp_path, [fact(FIRST, 6)], load_of(at=2))
    assert files(tmp_path) == version_files(tmp_path, pin_current(tmp_path).manifest)
    assert not (tmp_path / frozen.file).exists()


def test_the_format_rises_with_the_first_freeze_and_falls_with_the_last(tmp_path: Path) -> None:
    def stored() -> int:
        return int(json.loads(manifest_file(tmp_path, current_version(tmp_path)).read_bytes())["format"])

    publish(tmp_path, [fact(FIRST, 1)], load_of(at=0))
    assert stored() == 2  # as the releases before freezes read it
    freeze(tmp_path)
    assert stored() == 3
    publish(tmp_path, [fact(FIRST, 2)], load_of(at=1))
    assert stored() == 3
    drop(tmp_path)
    assert stored() == 2


def test_through_leaves_out_later_rows_and_those_without_a_date(tmp_path: Path) -> None:
    publish(
        tmp_path,
        [fact(FIRST, 1), fact(MID, 2), fact(date(2021, 1, 16), 4), fact(date(2021, 2, 1), 8), fact(None, 16)],
        load_of(at=0),
    )
    before = files(tmp_path)
    frozen = freeze(tmp_path, through=MID)
    assert frozen.rows == 2
    assert (total(tmp_path), total(tmp_path, span=JANUARY), total(tmp_path, span=WITHOUT_DATE)) == (3, 3, 0)
    assert opened(tmp_path).facts.presence("gl", SEP, EVERYTHING).dates == (FIRST, MID)
    whole = freeze(tmp_path, "month", date(2021, 1, 31))
    assert (whole.rows, total(tmp_path, "actual#month")) == (3, 7)
    (remainder,) = {file for file in files(tmp_path) - before if file.startswith("facts/")}  # of the month that is cut
    assert remainder.startswith("facts/gl/actual/2021-01-")


@pytest.mark.parametrize(("through", "says"), [(date(2020, 12, 31), "no rows through 2020-12-31"), (None, "no rows,")])
def test_nothing_is_no_freeze(tmp_path: Path, through: date | None, says: str) -> None:
    publish(tmp_path, [("budget", FIRST, "A", "x", 1, ""), *([fact(FIRST, 1)] if through else [])], load_of(at=0))
    with pytest.raises(Unavailable, match=says):
        freeze(tmp_path, through=through)
    assert current_version(tmp_path) == 1


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"facts":{},"tables":{},"codes":{},"loads":{}}'])
def test_a_damaged_freeze_is_refused_by_its_name_and_keeps_every_file(tmp_path: Path, content: bytes | None) -> None:
    publish(tmp_path, [fact(FIRST, 1)], load_of(at=0))
    frozen = freeze(tmp_path)
    parts = {file for file in files(tmp_path) if file.startswith("facts/")}
    file = tmp_path / frozen.file
    file.unlink() if content is None else file.write_bytes(content)
    publish(tmp_path, [fact(FIRST, 5)], load_of(at=1))
    assert parts <= files(tmp_path)  # nobody knows which of them it needs
    assert total(tmp_path, "actual") == 5
    facts = opened(tmp_path).facts
    with pytest.raises(Unavailable, match=f"{SEP} cannot be read: {frozen.file}"):
        facts.presence("gl", SEP, EVERYTHING)
    with pytest.raises(Unavailable, match="tieout freeze --drop actual#sep"):
        total(tmp_path)
    assert facts.codes("gl", SEP, "account", EVERYTHING) == frozenset()
    drop(tmp_path)
    publish(tmp_path, [fact(FIRST, 6)], load_of(at=2))
    assert parts.isdisjoint(files(tmp_path))


# What a domain of today reads in rows of before.


def measured(places: int) -> dict[str, Measure]:
    """Return the amounts of the ledger with some decimal places."""
    return {"amount": replace(GL.measures["amount"], places=places)}


def test_frozen_amounts_are_scaled_to_the_places_of_today(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 125), fact(MID, -75)], load_of(at=0))
    freeze(tmp_path)
    finer, coarser = replace(GL, measures=measured(5)), replace(GL, measures=measured(1))
    assert total(tmp_path, domain=finer) == 50_000
    asked = RowSlice(domain="gl", scenario=SEP, span=None, columns=("amount",))
    assert opened(tmp_path, finer).facts.rows(asked, EVERYTHING).collect()["amount"].to_list() == [125_000, -75_000]
    with pytest.raises(Unavailable, match=r"frozen in actual#sep to 2 .* says 1, which loses digits"):
        total(tmp_path, domain=coarser)
    with pytest.raises(Unavailable, match="was loaded to 2 decimal places and the catalogue now says 5"):
        total(tmp_path, "actual", domain=finer)  # what can be loaded again is not guessed at


def test_frozen_amounts_that_end_in_zeros_have_fewer_places_too(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 120), fact(MID, -70)], load_of(at=0))
    freeze(tmp_path)
    assert total(tmp_path, domain=replace(GL, measures=measured(1))) == 5


def test_frozen_amounts_that_have_no_room_for_more_places_are_refused(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 2**62)], load_of(at=0))
    freeze(tmp_path)
    with pytest.raises(Unavailable, match="more than its largest amounts have room for"):
        total(tmp_path, domain=replace(GL, measures=measured(3)))


def test_a_dimension_and_a_measure_that_came_later_are_unassigned_and_blank(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 1), fact(MID, 2, "B")], load_of(at=0))
    freeze(tmp_path)
    units = Measure(key="units", column="units", kind=FigureKind.NUMBER, places=0)
    wider = replace(GL, dimensions={**GL.dimensions, "ship": "ship"}, measures={**GL.measures, "units": units})
    backend = opened(tmp_path, wider)
    assert backend.facts.unassigned("gl", SEP, ["account", "ship"], EVERYTHING) == {"ship"}
    assert backend.blanks("gl") == {"units"}
    nowhere = Cell.where("ship", CodeSet(frozenset({0})))
    assert total(tmp_path, within=nowhere, domain=wider) == 3
    assert total(tmp_path, within=Cell.where("ship", CodeSet(frozenset({1}))), domain=wider) == 0
    asked = RowSlice(domain="gl", scenario=SEP, span=None, columns=("amount", "units", "ship"))
    rows = backend.facts.rows(asked, EVERYTHING).collect()
    assert rows.rows() == [(1, None, 0), (2, None, 0)]
    assert rows.schema["units"] == pl.Int64


def test_a_dimension_that_is_gone_is_ignored(tmp_path: Path) -> None:
    publish(tmp_path, [fact(FIRST, 1), fact(FIRST, 2)], load_of(at=0))
    freeze(tmp_path)
    narrower = replace(GL, dimensions={"account": "account"}, sort=("account",))
    assert total(tmp_path, domain=narrower) == 3


def test_rollups_answer_for_a_freeze_as_rows_do(tmp_path: Path) -> None:
    rolled = replace(GL, rollups=(("account",),))
    publish(tmp_path, [fact(FIRST, 100), fact(MID, 25, "B")], load_of(at=0))
    with stage(tmp_path) as staged:
        staged.derive({"gl": rolled})
        staged.publish()
    freeze(tmp_path, domain=rolled)
    for file in tmp_path.glob("facts/**/*.arrow"):
        file.unlink()  # so that sums alone can answer
    first = Cell.where("account", CodeSet(frozenset({1})))
    assert total(tmp_path, within=first, domain=rolled) == 100
    finer = replace(rolled, measures=measured(4))
    assert total(tmp_path, within=first, domain=finer) == 10_000
