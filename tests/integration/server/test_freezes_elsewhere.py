"""Freezes where rows are not in the files of one store: in a backup, in an engine, and in tables of somebody else."""

from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from engine.books.books import Shelf
from engine.door import Door, open_books
from engine.facts.manifest import pin_current
from engine.instance.read import STORE
from engine.model.profiles import EVERYONE
from server.base.settings import Settings
from server.feeds.instance import read_instance
from server.run.backup import back_up, restore
from server.warehouses.opening import AttachedSources, open_warehouse, versions_in
from tests.integration.server.test_freezes import freeze, load_later, written
from tests.integration.server.test_managed_books import ManagedBooks, books_of
from tests.support.books.attached import in_duckdb
from tests.support.books.loads import load_feeds
from tests.support.books.small import figures
from tests.support.service.forks import tieout

RANGE = ("2021-01", "2021-02")
OTHER = "date,scenario,account,amount\n2021-01-05,actual,A,7\n"


def revenue(door: Door, *scenarios: str, period: tuple[str, str] = RANGE) -> list[Decimal | None]:
    """Return the revenue of some scenarios."""
    found = figures(door.metric("revenue", scenarios={key: key for key in scenarios}, period=period), "scenario")
    return [found[key] for key in scenarios]


@pytest.mark.usefixtures("history")
def test_a_backup_carries_a_freeze_and_what_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL")
    instance = written(tmp_path)
    freeze(instance, "feb")
    load_later(instance)
    settings = Settings(instance=instance, state=instance / ".tieout")
    back_up(settings, tmp_path / "backup.tar", with_keys=False)
    freeze(instance, "--drop", "feb")
    restore(settings, tmp_path / "backup.tar", tmp_path / "restored")
    door = open_books(instance, state=tmp_path / "restored")
    assert revenue(door, "actual", "actual#feb", period=("2025-01", "2025-02")) == [33, 35]


@pytest.fixture
def managed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ManagedBooks:
    """Books in files, and a file of DuckDB that may hold their rows."""
    file = str(tmp_path / "facts.duckdb")
    for variable in ("FACTS_URL", "FACTS_LOADER_URL"):
        monkeypatch.setenv(variable, file)
    return books_of(tmp_path, file, file)


def figures_of(books: ManagedBooks, *scenarios: str) -> list[Decimal | None]:
    """Return the revenue of some scenarios as a server reads it."""
    read = read_instance(books.folder)
    assert read.placement is not None
    with (
        closing(open_warehouse(read.placement)) as warehouse,
        closing(AttachedSources(read.bindings, books.folder)) as sources,
    ):
        door = Door(Shelf(read.catalogue, books.store, versions_in(warehouse, sources)), EVERYONE)
        return revenue(door, *scenarios)


@pytest.mark.usefixtures("history")
def test_the_rows_of_a_freeze_move_to_an_engine_and_stay_there_through_loads(managed: ManagedBooks) -> None:
    place = ("--instance", managed.folder)
    environment = {"SVC_STATE_DIR": str(managed.state)}
    assert tieout("freeze", "jan", "--through", "2021-01", *place, **environment).returncode == 0
    assert tieout("freeze", "feb", *place, **environment).returncode == 0
    managed.place("duckdb")
    moved = tieout("provision", *place, **environment)
    assert moved.returncode == 0, moved.stderr
    assert not list((managed.store / "facts").rglob("*.arrow"))
    (managed.folder / "data" / "gl.csv").write_text(OTHER)
    for _ in range(2):  # the second sweeps what the first replaced
        load_feeds(managed.folder, managed.state)
    assert figures_of(managed, "actual", "actual#feb", "actual#jan") == [7, 42, 10]
    assert tieout("freeze", "now", *place, **environment).returncode == 0
    assert tieout("freeze", "--drop", "jan", *place, **environment).returncode == 0
    assert figures_of(managed, "actual#now", "actual#feb") == [7, 42]
    checked = tieout("provision", *place, **environment)
    assert (checked.returncode, checked.stderr) == (0, "")
    text = (managed.folder / "instance.yaml").read_text()
    (managed.folder / "instance.yaml").write_text(text.replace("facts: {", "facts: {keep_here: everything, "))
    fetched = tieout("provision", *place, **environment)
    assert (fetched.returncode, fetched.stderr) == (0, "")
    door = open_books(managed.folder, state=managed.state)  # which reads files alone
    assert revenue(door, "actual", "actual#feb", "actual#now") == [7, 42, 7]


def test_what_lies_in_an_attached_table_is_not_frozen(tmp_path: Path) -> None:
    with in_duckdb(tmp_path) as books:
        books.fill()
        books.survey()
        version = pin_current(tmp_path / "state" / STORE)
        version.drop()
        ended = tieout("freeze", "feb", "--instance", books.instance, SVC_STATE_DIR=str(tmp_path / "state"))
        assert ended.returncode == 1
        said = ended.stderr.replace("\n", " ")
        assert "actual of gl lies in a table that gl attaches, whose rows may change, so it cannot be frozen" in said
        assert "load it with a feed that extracts the rows" in said
        after = pin_current(tmp_path / "state" / STORE)
        after.drop()
        assert after.manifest == version.manifest
