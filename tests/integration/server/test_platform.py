"""The platform of a running server: what it does while its database or its cache store is away."""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from server.base.interfaces import LoadQuery, StoreDown
from server.base.settings import Settings
from server.run.embedded.binaries import socket_folder
from server.run.embedded.platform import Platform, platform
from server.run.embedded.servers import VALKEY_SOCKET
from server.stores.migrations import MigrationFault, migrate, read_migrations
from server.stores.postgres import Database
from tests.support.engines.postgres import SeparateServer, schema_of, separate_server
from tests.support.service.keeper import alive, kept, postmaster
from tests.support.service.pauses import paused
from tests.support.service.servers import connected, serving, wait_for
from tests.unit.server.stores.test_loads import attempt

ASKED = LoadQuery(bindings=("gl",))


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateServer]:
    """A separate server that a test may stop and start."""
    with separate_server(tmp_path_factory.mktemp("own")) as server:
        yield server


@pytest.fixture
def opened(own_server: SeparateServer, tmp_path: Path) -> Iterator[Platform]:
    """A platform whose history holds one attempt, on a separate server."""
    with schema_of(own_server.uri()) as uri:
        migrate(uri, read_migrations(), lambda _: None)
        with platform(Settings(state=tmp_path / "state", database_url=uri)) as opened:
            opened.loads.begin(attempt("1"))
            yield opened


def busy_with_it(opened: Platform, count: int) -> None:
    """Make a pool have so many connections."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(opened.database.transaction())


def history_is_back(opened: Platform) -> Callable[[], bool]:
    """Return whether the history of loads can be read, as something to wait for."""

    def back() -> bool:
        try:
            return [one.load_id for one in opened.loads.find(ASKED)] == ["1"]
        except StoreDown:
            return False

    return back


def why(does: Callable[[], object]) -> str:
    """Return why something that needs a store cannot be done."""
    with pytest.raises(StoreDown) as down:
        does()
    return str(down.value)


def process_of(server: SeparateServer) -> int:
    """Return the process of a server that runs."""
    assert server.process is not None
    return server.process.pid


def test_a_database_that_is_restarted_is_used_again(opened: Platform, own_server: SeparateServer) -> None:
    busy_with_it(opened, 5)  # so that several connections are stale afterwards
    own_server.stop()
    assert why(lambda: opened.loads.find(ASKED)) in {
        "the platform database cannot be reached: nothing listens at its address",
        "the connection to the platform database was lost",
    }
    own_server.start()
    wait_for(history_is_back(opened))


def test_connections_that_were_cut_are_made_anew_unnoticed(opened: Platform, own_server: SeparateServer) -> None:
    busy_with_it(opened, 5)
    with closing(psycopg.connect(own_server.uri(), autocommit=True)) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where backend_type = 'client backend' and pid <> pg_backend_pid()"
        )
    assert [one.load_id for one in opened.loads.find(ASKED)] == ["1"]


def test_a_database_that_says_nothing_is_given_up(opened: Platform, own_server: SeparateServer) -> None:
    with paused(process_of(own_server)):
        assert why(opened.database.ping) == "the platform database cannot be reached: it does not answer"
    wait_for(history_is_back(opened))


def test_a_database_that_stops_answering_in_the_middle_is_given_up(
    opened: Platform, own_server: SeparateServer
) -> None:
    def ask() -> None:
        with opened.database.transaction() as connection, paused(process_of(own_server)):
            connection.execute("select 1")

    assert why(ask) == "the connection to the platform database was lost"
    wait_for(history_is_back(opened))


def test_what_takes_too_long_is_given_up_and_the_connection_is_good_for_the_next(opened: Platform) -> None:
    def ask() -> None:
        with opened.database.transaction() as connection:
            connection.execute("select pg_sleep(3600)")

    assert why(ask) == "the platform database did not answer within 5 seconds"
    assert history_is_back(opened)()


def test_more_at_once_than_there_are_connections_are_told(opened: Platform) -> None:
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(opened.database.transaction())
        assert why(opened.database.ping) == "the platform database is busy: every connection to it is in use"
    opened.database.ping()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("alter table load_attempts rename to gone", "lacks a table of Tieout; see tieout migrate --status"),
        ("alter role current_user set default_transaction_read_only = on", "takes no writes; DATABASE_URL must name"),
    ],
)
def test_a_database_that_is_not_as_it_should_be_is_told(own_server: SeparateServer, statement: str, says: str) -> None:
    with schema_of(own_server.uri()) as uri:
        migrate(uri, read_migrations(), lambda _: None)
        with closing(psycopg.connect(uri, autocommit=True)) as connection:
            connection.execute(statement.encode())
            with closing(Platform(Settings(database_url=uri))) as opened:
                assert says in why(lambda: opened.loads.begin(attempt("1")))
            connection.execute("set default_transaction_read_only = off; alter role current_user reset all")


def test_pending_migrations_stop_who_named_the_database_and_are_seen_when_they_are_applied(
    own_server: SeparateServer,
) -> None:
    with schema_of(own_server.uri()) as uri, closing(Platform(Settings(database_url=uri, cache_host="/x"))) as opened:
        with pytest.raises(MigrationFault, match=r"are pending .* run scripts/migrate\.py --scope open"):
            opened.start()
        assert "run scripts/migrate.py --scope open" in why(opened.loads.running)
        migrate(uri, read_migrations(), lambda _: None)
        opened.start()
        assert list(opened.loads.running()) == []


def test_a_database_that_is_away_at_the_start_is_used_when_it_is_there(
    opened: Platform, own_server: SeparateServer, caplog: pytest.LogCaptureFixture
) -> None:
    own_server.stop()
    with closing(Platform(Settings(database_url=opened.database.uri, cache_host="/x"))) as late:
        with caplog.at_level(logging.DEBUG):
            late.start()
        assert "cannot be reached: nothing listens at its address; figures are served" in caplog.text
        assert own_server.password not in caplog.text
        assert why(late.database.ping) == "the platform database cannot be reached: nothing listens at its address"
        own_server.start()
        wait_for(history_is_back(late))


def test_the_limits_of_a_connection_are_set_and_what_the_uri_says_goes_first(own_server: SeparateServer) -> None:
    named = own_server.uri(options="?application_name=ledger&connect_timeout=7")
    with closing(Database(named)) as database, database.transaction() as connection:
        assert connection.info.get_parameters()["connect_timeout"] == "7"
        shown = [
            connection.execute(f"show {name}".encode()).fetchone()
            for name in ("application_name", "timezone", "statement_timeout", "idle_in_transaction_session_timeout")
        ]
    assert shown == [("ledger",), ("UTC",), ("5s",), ("50s",)]


def test_serve_has_both_servers_and_stops_them_when_it_is_told_to(
    small_instance: tuple[Path, Path], tmp_path: Path
) -> None:
    instance, _ = small_instance
    state = tmp_path / "state"
    state.mkdir()
    with serving(instance, state) as server:
        wait_for((socket_folder(state / "valkey", VALKEY_SOCKET) / VALKEY_SOCKET).exists)
        wait_for((state / "postgres" / "data" / "postmaster.pid").exists)
        with platform(Settings(state=state)) as opened:
            opened.wait()
            assert list(opened.loads.running()) == []
        servers = kept(state, server.process.pid)
        assert postmaster(state) in servers
        assert len(servers) == 2
    assert server.process.returncode == 143
    assert not [process for process in servers if alive(process)]


def test_serve_refuses_a_database_with_pending_migrations(
    small_instance: tuple[Path, Path], own_server: SeparateServer
) -> None:
    instance, state = small_instance
    with (
        schema_of(own_server.uri()) as uri,
        pytest.raises(AssertionError, match="the server did not start") as refused,
        serving(instance, state, DATABASE_URL=uri),
    ):
        pass
    assert "run scripts/migrate.py --scope open" in str(refused.value)
    assert "Traceback" not in str(refused.value)


def test_serve_serves_figures_where_no_database_can_be_had(
    small_instance: tuple[Path, Path], own_server: SeparateServer, tmp_path: Path
) -> None:
    instance, state = small_instance
    shutil.copytree(state / "store", tmp_path / "own" / "store")  # where no other server keeps a database
    refused = own_server.uri(password="wrong-one")  # noqa: S106 - of this test
    for settings, says in (
        ({"DATABASE_URL": refused}, "cannot be reached: it refuses the password"),
        ({"PG_BIN_DIR": str(tmp_path)}, "which has no PostgreSQL 15 or newer"),
    ):
        with (
            serving(instance, tmp_path / "own", healthy=False, **settings) as server,
            connected(server.url, "auto") as books,
        ):
            asked = {"metrics": ["revenue"], "scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}
            assert not books.call("run_metric_data", **asked).is_error
            wait_for(lambda: says in server.log.read_text())  # noqa: B023 - called before the next round
            assert "wrong-one" not in server.log.read_text()
