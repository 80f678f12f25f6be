"""Books whose rows are in an engine, as an operator gets them there: two users, provision, loads, checks, a backup."""

import os
import shutil
import signal
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import duckdb
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from rich.console import Console

from engine.facts.manifest import pin_current
from engine.facts.parts import numbers_of
from engine.instance.read import STORE
from server.base.settings import Settings
from server.feeds.feeds import LoadStatus
from server.feeds.instance import read_instance
from server.feeds.placements import FactsPlacement, WarehouseKind
from server.ingest.folder import BooksFolder
from server.ingest.load import BindingFailed
from server.ingest.staging import open_parts, staging
from server.run.backup import BundleFault, back_up, restore
from server.run.commands import provision as provision_command
from server.warehouses.engines.duckdb import DuckDbWarehouse
from server.warehouses.lacks import TRIAL_ROWS, engine_faults, trial_faults
from tests.support.books.loads import ROOT, load_feeds
from tests.support.books.small import write_instance
from tests.support.engines.postgres import schema_in, schema_of
from tests.support.service.daemons import ONCE_A_YEAR, running
from tests.support.service.forks import tieout
from tests.support.service.servers import server_environment, wait_for

ROWS = "date scenario account amount\n2021-01-05 actual A 10\n2021-02-05 actual B 32\n2021-02-09 budget A 5\n"
PAGE = ROOT / "docs" / "operations" / "warehouse.md"


@dataclass(frozen=True)
class ManagedBooks:
    """An instance whose facts are in an engine, with its state folder and the addresses of both users."""

    folder: Path
    state: Path
    reader: str
    loader: str

    @property
    def store(self) -> Path:
        """The folder of its store."""
        return self.state / STORE

    @property
    def versions(self) -> int:
        """The number of versions that the store holds."""
        return len(list((self.store / "manifests").iterdir()))

    def place(self, engine: str, lease: str = "0s") -> None:
        """Name the engine in instance.yaml."""
        text = (self.folder / "instance.yaml").read_text()
        users = "url_env: FACTS_URL, loader_url_env: FACTS_LOADER_URL"
        facts = f"facts: {{engine: {engine}, {users}, timeout: 5s, lease: {lease}}}\n"
        (self.folder / "instance.yaml").write_text(text + facts)


def books_of(folder: Path, reader: str, loader: str) -> ManagedBooks:
    """Return books of three rows, loaded into files."""
    instance = write_instance(
        folder / "small",
        facts={"gl": ROWS},
        domains={
            "gl": "time: {column: date}\ndimensions: {account: account}\nmeasures: {amount: {places: 2}}\n"
            "metrics: {revenue: {measure: amount}}\n"
        },
        dimensions="account: {kind: leaf}",
        profiles="everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n",
        bindings={"gl": {"schedule": ONCE_A_YEAR}},
    )
    load_feeds(instance, folder / "state")
    return ManagedBooks(instance, folder / "state", reader, loader)


@pytest.fixture
def owner(embedded_server: str) -> Iterator[str]:
    """The address of an empty schema, as its owner."""
    with schema_of(embedded_server) as uri:
        yield uri


@pytest.fixture
def managed(tmp_path: Path, owner: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ManagedBooks]:
    """Books that were loaded into files, and two users whom nothing is granted yet."""
    schema = schema_in(owner)
    reader, loader = f"{schema}_reader", f"{schema}_loader"
    with closing(psycopg.connect(owner, autocommit=True)) as database:
        for user in (reader, loader):
            database.execute(f"create role {user} login password 'x'".encode())
        books = books_of(tmp_path, make_conninfo(owner, user=reader), make_conninfo(owner, user=loader))
        monkeypatch.setenv("FACTS_URL", books.reader)
        monkeypatch.setenv("FACTS_LOADER_URL", books.loader)
        yield books
        for user in (reader, loader):
            database.execute(f"drop owned by {user} cascade".encode())
            database.execute(f"drop role {user}".encode())


def grant(owner: str) -> None:
    """Run the statements of the page."""
    schema = schema_in(owner)
    block = PAGE.read_text(encoding="utf-8").partition("-- PostgreSQL")[2].partition("```")[0]
    statements = [line for line in map(str.strip, block.splitlines()) if line.startswith(("grant", "alter default"))]
    with closing(psycopg.connect(owner, autocommit=True)) as database:
        for line in statements:
            named = line.replace("facts_schema", schema).replace("tieout_reader", f"{schema}_reader")
            database.execute(named.replace("tieout_loader", f"{schema}_loader").encode())


def rows_in(owner: str) -> list[tuple[int, ...]]:
    """Return the number, count and sum of each part in PostgreSQL."""
    with closing(psycopg.connect(owner)) as database:
        text = "select tieout_part, count(*), sum(amount)::bigint from tieout_facts_gl group by 1"
        return database.execute(text).fetchall()


@pytest.mark.usefixtures("history")
def test_rows_move_by_provision_that_is_killed_and_resumed_and_the_daemon_loads_more(
    managed: ManagedBooks, owner: str
) -> None:
    managed.place("postgresql")
    grant(owner)
    with (
        closing(psycopg.connect(owner)) as database,
        closing(psycopg.connect(managed.loader, autocommit=True)) as loader,
    ):
        loader.execute("create table tieout_facts_gl (tieout_part bigint)")
        database.execute("lock table tieout_facts_gl in share mode")  # who puts a part waits
        with running(managed.folder, managed.state, "provision") as moving:
            waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%tieout_facts_gl%'"
            wait_for(lambda: bool(loader.execute(waits).fetchall()))
            os.kill(moving.process.pid, signal.SIGKILL)
            moving.process.wait()
        database.rollback()
    assert pin_current(managed.store).manifest.version == 1
    moved = tieout("provision", "--instance", managed.folder, SVC_STATE_DIR=str(managed.state))
    assert moved.returncode == 0, moved.stderr
    manifest = pin_current(managed.store).manifest
    assert sorted(rows_in(owner)) == sorted(
        (part.number, part.rows, sum(part.magnitudes.values())) for part in manifest.facts["gl"]
    )
    assert not list(managed.store.glob("facts/**/*.arrow"))
    checked = tieout("check", managed.folder, SVC_STATE_DIR=str(managed.state))
    assert checked.returncode == 0, checked.stderr
    (managed.folder / "data" / "gl.csv").write_text("date,scenario,account,amount\n2021-03-05,actual,C,7.5\n")
    scheduled = tieout("daemon", "--once", "--instance", managed.folder, SVC_STATE_DIR=str(managed.state))
    assert "gl: success, 1 rows landed" in scheduled.stderr
    report = tieout("check", "--data", managed.folder, SVC_STATE_DIR=str(managed.state))
    assert report.returncode == 0, report.stderr
    assert [row[1:] for row in rows_in(owner)] == [(1, 750)]


def check_lines(managed: ManagedBooks, *asked: str, **environment: str) -> list[str]:
    """Return what `tieout check` says of the engine, without the first word."""
    found = tieout("check", managed.folder, *asked, SVC_STATE_DIR=str(managed.state), **environment)
    said = (found.stderr + found.stdout).splitlines()
    return [line.removeprefix("facts: ") for line in said if line.startswith("facts: ")]


def test_check_says_in_a_line_each_what_the_engine_lacks_and_who_may_write(managed: ManagedBooks, owner: str) -> None:
    managed.place("postgresql")
    still = "the rows of gl are still files on this machine; tieout provision moves them"
    assert check_lines(managed) == [
        "the user of loads may make no tables: grant it USAGE and CREATE on the schema",
        still,
    ]
    grant(owner)
    assert check_lines(managed) == [still]
    load_feeds(managed.folder, managed.state)
    assert check_lines(managed, "--engine") == []
    assert check_lines(managed, FACTS_LOADER_URL="") == ["FACTS_LOADER_URL is not set here, so no load can run here"]
    (writes,) = check_lines(managed, FACTS_URL=managed.loader)
    assert writes.startswith("the user who reads is a user who may write (1 tables of facts): give it a user that has")
    away = make_conninfo(managed.reader, host="/nowhere")
    assert check_lines(managed, FACTS_URL=away) == [
        "FACTS_URL (the user who reads): PostgreSQL of `facts` cannot be reached: nothing listens at its address"
    ]
    with closing(psycopg.connect(owner, autocommit=True)) as database:
        database.execute("alter table tieout_facts_gl drop column account")
        assert check_lines(managed) == ["table tieout_facts_gl lacks account: restore it from the engine's backup"]
        database.execute("drop table tieout_facts_gl")
        (missing,) = check_lines(managed)
    assert missing.startswith("table tieout_facts_gl is missing, or the user who reads may not SELECT from it")


def test_no_server_starts_without_its_engine_or_with_a_reader_who_may_write_or_past_the_lease(
    managed: ManagedBooks, owner: str
) -> None:
    managed.place("postgresql", lease="15m")
    grant(owner)
    load_feeds(managed.folder, managed.state)
    assert managed.versions == 2  # that of the files is leased
    for settings, words in (
        (
            {"FACTS_URL": ""},
            "the environment variable FACTS_URL, which `facts` of instance.yaml names, is not set",
        ),
        (
            {"FACTS_URL": managed.loader},
            "the user who reads is a user who may write (1 tables of facts): give it a user that has",
        ),
        (
            {"FACTS_URL": managed.reader, "SVC_DEADLINE_SECONDS": "900"},
            "keeps what calls read for 900 s; let it be 960s or more, or 0s where every server runs on the host of the",
        ),
    ):
        refused = tieout("serve", **server_environment(managed.folder, managed.state, **settings))
        assert refused.returncode == 1
        assert words in refused.stderr
        assert "Traceback" not in refused.stderr


def trial_tables(owner: str) -> list[tuple[str]]:
    """Return the tables of trials that PostgreSQL holds."""
    with closing(psycopg.connect(owner)) as database:
        return database.execute("select relname from pg_class where relname like 'tieout_facts_%trial%'").fetchall()


def test_a_trial_on_an_empty_schema_sees_a_reader_who_may_write_and_leaves_no_table(
    managed: ManagedBooks, owner: str
) -> None:
    managed.place("postgresql")
    grant(owner)
    placement = FactsPlacement(kind=WarehouseKind.POSTGRESQL, reader="READER", loader="LOADER", seconds=5)
    addresses = {"READER": managed.reader, "LOADER": managed.loader}
    assert list(trial_faults(placement, addresses)) == []
    assert list(engine_faults(placement, {}, addresses)) == []
    assert trial_tables(owner) == []
    owns = (
        "the user who reads is a user who may write (1 tables of facts): give it a user that has SELECT on the tables"
    )
    (said,) = trial_faults(placement, {**addresses, "READER": managed.loader})
    assert said.startswith(owns)
    assert trial_tables(owner) == []
    schema = schema_in(owner)
    with closing(psycopg.connect(owner, autocommit=True)) as database:
        granted = f"alter default privileges for role {schema}_loader in schema {schema} grant insert on tables to "
        database.execute(f"{granted} {schema}_reader".encode())
        (said,) = trial_faults(placement, addresses)
        assert said.startswith(owns)
        database.execute(f"grant create on schema {schema} to {schema}_reader".encode())
    (said,) = engine_faults(placement, {}, addresses)
    assert said.startswith("the user who reads may make tables beside those of facts: revoke CREATE on the schema from")
    assert trial_tables(owner) == []


def test_a_load_reads_nothing_while_its_engine_is_away(managed: ManagedBooks, monkeypatch: pytest.MonkeyPatch) -> None:
    managed.place("postgresql")
    monkeypatch.setenv("FACTS_LOADER_URL", make_conninfo(managed.loader, host=str(managed.state)))
    with pytest.raises(BindingFailed, match=r"gl: the engine of facts, postgresql: .* cannot be reached") as away:
        load_feeds(managed.folder, managed.state)
    assert away.value.status is LoadStatus.FAILED_CONNECT
    monkeypatch.delenv("FACTS_LOADER_URL")
    with pytest.raises(BindingFailed, match=r"variable FACTS_LOADER_URL, which `facts` of instance.yaml names, is not"):
        load_feeds(managed.folder, managed.state)
    assert pin_current(managed.store).manifest.version == 1


def test_a_trial_finds_an_engine_that_does_not_keep_what_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placement = FactsPlacement(kind=WarehouseKind.DUCKDB, reader="READER", loader="LOADER", seconds=1)
    environment = dict.fromkeys(("READER", "LOADER"), str(tmp_path / "facts.duckdb"))
    assert list(trial_faults(placement, environment)) == []
    with closing(duckdb.connect(environment["READER"], read_only=True)) as database:
        assert database.execute("select table_name from information_schema.tables").fetchall() == []
    monkeypatch.setattr(DuckDbWarehouse, "drop", lambda *_: None)
    assert "keeps rows that the user of loads deleted: grant it DELETE" in "".join(trial_faults(placement, environment))
    (missing,) = trial_faults(placement, {**environment, "READER": str(tmp_path / "other.duckdb")})
    assert "DuckDB cannot open the file of `facts`" in missing


@pytest.fixture
def in_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ManagedBooks:
    """Return books in files whose instance names a file of DuckDB."""
    file = str(tmp_path / "facts.duckdb")
    for variable in ("FACTS_URL", "FACTS_LOADER_URL"):
        monkeypatch.setenv(variable, file)
    books = books_of(tmp_path, file, file)
    books.place("duckdb")
    return books


def test_rows_that_move_are_shown_in_a_terminal(in_duckdb: ManagedBooks, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = StringIO()
    monkeypatch.setattr(provision_command, "err", Console(file=shown, force_terminal=True, width=80))
    place = place_of(in_duckdb)
    with (
        open_parts(place, reached=True) as parts,
        staging(place, parts) as staged,
        provision_command.showing_rows() as show,
    ):
        staged.publish(show)
    assert "rows in the engine" in shown.getvalue()
    assert "3/3" in shown.getvalue()


@pytest.mark.usefixtures("history")
def test_parts_that_these_books_do_not_name_are_listed_and_dropped_when_an_operator_says_so(
    in_duckdb: ManagedBooks, capsys: pytest.CaptureFixture[str]
) -> None:
    load_feeds(in_duckdb.folder, in_duckdb.state)
    named = set(numbers_of(pin_current(in_duckdb.store).manifest.facts))
    with open_parts(place_of(in_duckdb), reached=True) as parts:
        assert parts is not None
        parts.put("gl", 77, TRIAL_ROWS)
    settings = Settings(instance=in_duckdb.folder, state=in_duckdb.state)

    def told(unnamed: str) -> str:
        assert provision_command.run(Namespace(forget=None, unnamed=unnamed), settings) == 0
        return " ".join(capsys.readouterr().out.split())

    count = "parts in the engine that these books do not name:"
    assert told("list") == (
        f"gl: 77 {count} 1 Other books may name them, such as a copy that was restored. If none does: --unnamed drop"
    )
    assert told("drop") == f"gl: 77 {count} 1, dropped"
    assert told("list") == f"{count} 0"
    with open_parts(place_of(in_duckdb), reached=True) as parts:
        assert parts is not None
        assert parts.numbers("gl") == named


def place_of(books: ManagedBooks) -> BooksFolder:
    """Return the folders of books, and where their facts are."""
    read = read_instance(books.folder)
    return BooksFolder(catalogue=read.catalogue, folder=books.folder, state=books.state, placement=read.placement)


@pytest.mark.usefixtures("history")
def test_parts_stay_while_their_backup_does_and_a_restore_counts_them_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "facts.duckdb"
    for variable in ("FACTS_URL", "FACTS_LOADER_URL"):
        monkeypatch.setenv(variable, str(file))
    monkeypatch.delenv("DATABASE_URL")
    books = books_of(tmp_path, str(file), str(file))
    books.place("duckdb")
    load_feeds(books.folder, books.state)
    named = set(numbers_of(pin_current(books.store).manifest.facts))
    settings, bundle = Settings(instance=books.folder, state=books.state), tmp_path / "backup.tar"
    back_up(settings, bundle, with_keys=False)

    def load_other(amount: int) -> set[int]:
        text = f"date,scenario,account,amount\n2021-01-05,actual,A,{amount}\n"
        (books.folder / "data" / "gl.csv").write_text(text)
        load_feeds(books.folder, books.state)
        with closing(duckdb.connect(str(file), read_only=True)) as database:
            return {number for (number,) in database.sql("select distinct tieout_part from tieout_facts_gl").fetchall()}

    assert named < load_other(1)
    restore(settings, bundle, tmp_path / "restored")
    assert set(numbers_of(pin_current(tmp_path / "restored" / STORE).manifest.facts)) == named
    shutil.move(bundle, tmp_path / "elsewhere.tar")
    assert not named & load_other(2)
    with pytest.raises(BundleFault, match=r"names: tieout_facts_gl holds 0 rows where the books have 1 of actual"):
        restore(settings, tmp_path / "elsewhere.tar", tmp_path / "again")
    assert not (tmp_path / "again").exists()
