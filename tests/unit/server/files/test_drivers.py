"""Feeds through ADBC drivers: every kind of database brings the same rows, bound, read-only and without secrets."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from signal import SIGINT, pthread_kill
from threading import Event, get_ident
from time import sleep
from typing import Any
from unittest.mock import Mock

import duckdb
import pytest
from adbc_driver_postgresql import dbapi

from engine.instance.documents import InstanceFaults
from server.feeds.feeds import LoadStatus
from server.feeds.instance import read_instance
from server.feeds.query_parameters import ParamStyle, number_parameters
from server.files.databases import DRIVERS, DriverThread, driver_library
from server.ingest.load import BindingFailed
from tests.support.books import ledgers
from tests.support.books.ledgers import FEBRUARY, LEDGER, ledger, revenue
from tests.support.books.loads import load_feeds
from tests.support.engines.flight_sql import TOKEN, flight_sql
from tests.support.service.pauses import interrupted
from tests.support.service.servers import DEADLINE

QUERY = f"{ledgers.QUERY} and :company <> 'x'"  # a parameter twice
KINDS = ("sqlite", "duckdb", "flightsql", "adbc", "adbc by name")


def write_sqlite(path: Path) -> None:
    """Write the ledger as a file of SQLite."""
    with sqlite3.connect(path) as database:
        database.execute("create table ledger (posted text, company text, account text, amount text)")
        database.executemany("insert into ledger values (?, ?, ?, ?)", LEDGER)
    database.close()


def write_duckdb(path: Path) -> None:
    """Write the ledger as a file of DuckDB."""
    with duckdb.connect(str(path)) as database:
        database.execute("create table ledger (posted date, company text, account text, amount decimal(18, 2))")
        database.executemany("insert into ledger values (?, ?, ?, ?)", LEDGER)


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A database of some kind with the ledger, as a source of integrations.yaml."""
    kind, file = request.param, tmp_path / "ledger.db"
    (write_sqlite if kind in ("sqlite", "adbc") else write_duckdb)(file)
    with ExitStack() as stack:
        if kind == "flightsql":
            server = stack.enter_context(flight_sql(str(file)))
            options = {"uri": f"grpc://127.0.0.1:{server.port}", "adbc.flight.sql.authorization_header": TOKEN}
            monkeypatch.setenv("ERP_OPTIONS", json.dumps(options))
            yield {"kind": kind, "options_env": "ERP_OPTIONS"}
        elif kind == "adbc":
            monkeypatch.setenv("ERP_OPTIONS", json.dumps({"uri": f"{file.as_uri()}?mode=ro"}))
            yield {"kind": kind, "driver": "adbc_driver_sqlite", "options_env": "ERP_OPTIONS"}
        elif kind == "adbc by name":
            options = {"path": str(file), "entrypoint": "duckdb_adbc_init", "access_mode": "READ_ONLY"}
            monkeypatch.setenv("ERP_OPTIONS", json.dumps(options))
            driver = {"driver": "adbc_driver_duckdb", "paramstyle": "numeric_dollar"}
            yield {"kind": "adbc", **driver, "options_env": "ERP_OPTIONS"}
        else:
            yield {"kind": kind, "path": "../ledger.db"}


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_every_kind_of_database_brings_the_rows_of_the_periods(tmp_path: Path, source: dict[str, Any]) -> None:
    instance = ledger(tmp_path, source, extract=QUERY)
    (done,) = load_feeds(instance, tmp_path / "state", periods="2021-02")
    assert (done.rows_read, done.rows_landed) == (2, 2)
    assert revenue(instance, tmp_path) == FEBRUARY


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_a_parameter_is_a_value_and_never_a_part_of_the_query(tmp_path: Path, source: dict[str, Any]) -> None:
    instance = ledger(tmp_path, source, extract=QUERY, parameters={"company": "01' or '1' = '1"}, allow_empty=True)
    (done,) = load_feeds(instance, tmp_path / "state", periods="2021-02")
    assert done.rows_read == 0


@pytest.mark.parametrize("source", KINDS[:3], indirect=True)
def test_a_query_that_fails_is_told_without_a_secret(tmp_path: Path, source: dict[str, Any]) -> None:
    instance = ledger(tmp_path, source, extract="select 1 from nowhere where :period_start = '1'", parameters={})
    with pytest.raises(BindingFailed, match=r"the query failed: .*nowhere") as failed:
        load_feeds(instance, tmp_path / "state", periods="2021-02")
    assert failed.value.status is LoadStatus.FAILED_EXTRACT
    assert "hunter2" not in str(failed.value)


@pytest.mark.parametrize("source", ["sqlite", "duckdb"], indirect=True)
@pytest.mark.parametrize("statement", ["delete from ledger", "insert into ledger select * from ledger"])
def test_a_session_only_reads(tmp_path: Path, source: dict[str, Any], statement: str) -> None:
    written = f"with one as (select 1) {statement}"
    instance = ledger(tmp_path, source, extract=written, load="full", parameters={})
    with pytest.raises(BindingFailed, match=r"(?i)the query failed: .*read-?\s?only"):
        load_feeds(instance, tmp_path / "state")


@pytest.mark.parametrize("source", ["duckdb"], indirect=True)
def test_a_query_of_duckdb_reaches_no_other_file(tmp_path: Path, source: dict[str, Any]) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    query = f"select * from read_csv('{tmp_path / 'secret.csv'}')"  # noqa: S608 - it is refused
    with pytest.raises(BindingFailed, match=r"the query failed: .*its queries reach no other file"):
        load_feeds(ledger(tmp_path, source, extract=query, load="full", parameters={}), tmp_path / "state")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_is_not_there_is_not_made(tmp_path: Path, kind: str) -> None:
    instance = ledger(tmp_path, {"kind": kind, "path": "none.db"})
    with pytest.raises(BindingFailed, match="source erp: there is no such file") as failed:
        load_feeds(instance, tmp_path / "state", periods="2021-02")
    assert failed.value.status is LoadStatus.FAILED_CONNECT
    assert not (instance / "none.db").exists()


def test_a_server_that_refuses_the_token_or_is_not_there_is_told_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_duckdb(tmp_path / "ledger.db")
    instance = ledger(tmp_path, {"kind": "flightsql", "options_env": "ERP_OPTIONS"})
    with flight_sql(str(tmp_path / "ledger.db")) as server:
        options = {"uri": f"grpc://127.0.0.1:{server.port}", "adbc.flight.sql.authorization_header": "Bearer hunter3"}
        monkeypatch.setenv("ERP_OPTIONS", json.dumps(options))
        with pytest.raises(BindingFailed, match="it refuses the credentials") as refused:
            load_feeds(instance, tmp_path / "state", periods="2021-02")
    with pytest.raises(BindingFailed, match="gl: ") as gone:
        load_feeds(instance, tmp_path / "state", periods="2021-02")
    assert "hunter3" not in f"{refused.value} {gone.value}"


@pytest.mark.parametrize("options", ["", "{", "[]", '{"uri": 7}', '"text hunter2"'])
def test_options_that_are_no_object_of_texts_are_refused_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    monkeypatch.setenv("ERP_OPTIONS", options)
    instance = ledger(tmp_path, {"kind": "bigquery", "options_env": "ERP_OPTIONS"})
    with pytest.raises(BindingFailed, match="ERP_OPTIONS") as failed:
        load_feeds(instance, tmp_path / "state", periods="2021-02")
    assert "hunter2" not in str(failed.value)


@pytest.mark.parametrize("source", ["sqlite", "duckdb"], indirect=True)
def test_an_interrupt_ends_a_query_that_runs(tmp_path: Path, source: dict[str, Any]) -> None:
    long = "select n as date, 'actual' as scenario, n as account, n as amount from numbers"
    numbers = "with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 20000000)"
    query = f"{numbers} {long}"  # a lost interrupt fails the test; it does not fill the memory
    instance = ledger(tmp_path, source, extract=query, load="full", parameters={}, rejects={"allow": {"day": 10**12}})
    with pytest.raises(KeyboardInterrupt), interrupted(0.5):
        load_feeds(instance, tmp_path / "state")


def test_what_a_driver_opens_while_an_interrupt_comes_is_closed() -> None:
    thread, connection = DriverThread(), Mock()

    def connect() -> Mock:
        sleep(0.5)
        return connection

    with pytest.raises(KeyboardInterrupt), interrupted(0.1):
        thread.open(connect)
        sleep(30)  # on a busy machine the interrupt comes late
    thread.end()
    connection.close.assert_called_once_with()
    assert not thread.is_stuck


def test_an_interrupt_that_another_thread_takes_ends_the_call() -> None:
    thread, cancelled, answers = DriverThread(), Event(), []  # as one that comes just before the wait

    def call() -> None:
        pthread_kill(get_ident(), SIGINT)
        answers.append(cancelled.wait(DEADLINE))

    with pytest.raises(KeyboardInterrupt):
        thread.run(call, cancelled.set)
    assert answers == [True]


def test_a_query_that_begins_after_the_interrupt_ends_as_well(embedded_server: str) -> None:
    thread = DriverThread()
    connection = thread.open(lambda: dbapi.connect(embedded_server, autocommit=True))
    cursor, whole = thread.open(connection.cursor), []

    def query() -> None:
        sleep(0.5)  # until the server runs the query, a request to cancel it does nothing
        cursor.execute("select pg_sleep(20)")
        whole.extend(cursor.fetchall())

    with pytest.raises(KeyboardInterrupt), interrupted(0.1):
        thread.run(query, cursor.adbc_cancel)
    assert not thread.is_stuck
    assert not whole  # the interrupt did not wait for the result
    thread.end()


def test_a_driver_that_is_not_installed_is_named_with_what_installs_it(tmp_path: Path) -> None:
    instance = ledger(tmp_path, {"kind": "adbc", "driver": "adbc_driver_nobody", "options_env": "ERP_OPTIONS"})
    binding = read_instance(instance).bindings["gl"]
    with pytest.raises(Exception, match="source erp needs the driver adbc_driver_nobody, which is not installed"):
        driver_library(binding, DRIVERS[binding.source.kind])


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"kind": "sqlite", "uri_env": "A"}, "give path or path_env, one of both"),
        ({"kind": "duckdb", "path": "a", "path_env": "A"}, "give path or path_env, one of both"),
        ({"kind": "flightsql"}, "or options_env, the one with its options as JSON, one of both"),
        ({"kind": "bigquery", "uri_env": "A"}, "give options_env"),
        ({"kind": "adbc", "options_env": "A"}, "give driver, the Python module of the driver"),
        ({"kind": "snowflake", "uri_env": "A", "driver": "x"}, "driver is a key of kind: adbc"),
        ({"kind": "adbc", "options_env": "A", "driver": "/opt/driver"}, "'/opt/driver' is not the name of a driver"),
        ({"kind": "adbc", "options_env": "A", "driver": "../lib.so"}, "'../lib.so' is not the name of a driver"),
        ({"kind": "adbc", "options_env": "A", "driver": "os.path"}, "'os.path' is not the name of a driver"),
        ({"kind": "sqlite", "path": "a", "paramstyle": "qmark"}, "paramstyle is a key of kind: adbc"),
    ],
)
def test_a_source_with_other_keys_is_refused(tmp_path: Path, source: dict[str, Any], says: str) -> None:
    with pytest.raises(InstanceFaults, match=says):
        read_instance(ledger(tmp_path, source))


@pytest.mark.parametrize(
    ("query", "is_refused"),
    [
        ("attach database '/etc/other.db' as other", True),
        ("-- select\npragma database_list", True),
        ("/* with */ vacuum into '/tmp/copy'", True),
        ("selection", True),
        ("-- as of today\n SELECT * from t", False),
        ("/* a */ with x as (select 1) select * from x", False),
    ],
)
def test_the_query_of_a_file_of_sqlite_begins_with_select_or_with(tmp_path: Path, query: str, is_refused: bool) -> None:
    instance = ledger(tmp_path, {"kind": "sqlite", "path": "a"}, extract=query, load="full", parameters={})
    if not is_refused:
        assert read_instance(instance).bindings["gl"].extract == query
        return
    with pytest.raises(InstanceFaults, match="the query of a file of SQLite begins with select or with"):
        read_instance(instance)


def test_parameters_are_marked_as_each_driver_reads_them() -> None:
    query = "select `a:b`, ':c' from t where x = :one and y = :two and z = :one"
    marked = {style: number_parameters(query, style) for style in ParamStyle}
    assert {style: parsed.text.partition("where ")[2] for style, parsed in marked.items()} == {
        ParamStyle.DOLLAR: "x = $1 and y = $2 and z = $1",
        ParamStyle.NUMBERED: "x = ?1 and y = ?2 and z = ?1",
        ParamStyle.QMARK: "x = ? and y = ? and z = ?",
    }
    assert marked[ParamStyle.DOLLAR].names == marked[ParamStyle.NUMBERED].names == ("one", "two")
    assert marked[ParamStyle.QMARK].names == ("one", "two", "one")
