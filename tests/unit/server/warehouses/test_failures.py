"""Engines that fail: nobody waits past a timeout, no thread is held, and every message says what to do."""

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from secrets import token_urlsafe
from threading import active_count
from time import monotonic
from typing import Any

import psycopg
import pytest

from engine.books.books import Shelf
from engine.door import Door
from engine.facts.backend import ArrowVersions
from engine.model.errors import Unavailable
from engine.model.profiles import EVERYONE
from server.base.interfaces import StoreDown
from server.feeds.instance import read_instance
from server.feeds.placements import FactsPlacement, WarehouseKind
from server.ops.health_checks import check_facts
from server.warehouses.engines.postgresql import PostgresWarehouse
from server.warehouses.facts import WarehouseFacts
from server.warehouses.parts import WarehouseParts
from server.warehouses.warehouse import SqlStatement, StatementRefused, Warehouse, WarehouseDown
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.engines.postgres import SeparateServer, separate_server
from tests.support.engines.warehouses import placed
from tests.support.service.pauses import paused

TIMEOUT = 0.5
ONE = SqlStatement("select 1::bigint as n")
FACTS = """
    date        scenario  account  amount
    2024-01-05  actual    4000     100.10
    2024-01-20  actual    4000     1
    2024-02-01  actual    5000     7
"""
GL = """
    time: {column: date}
    dimensions: {account: account}
    rollups: [[account]]
    measures: {amount: {places: 2}}
    metrics: {revenue: {measure: amount}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateServer]:
    """Run a PostgreSQL of its own, on TCP and with a password."""
    with separate_server(tmp_path_factory.mktemp("engine")) as running:
        yield running


@dataclass
class BooksInEngine:
    """Books whose rows are in an engine."""

    reader: Warehouse
    door: Door

    def ask(self, period: tuple[str, str]) -> list[tuple[Any, ...]]:
        """Return the revenue of some days: whole months are answered by rollups, others by the engine."""
        return self.door.metric("revenue", period=period, scenarios={"A": "actual"}).frame.rows()


@pytest.fixture
def books(server: SeparateServer, tmp_path: Path) -> Iterator[BooksInEngine]:
    """Open books in the server."""
    folder = write_instance(tmp_path, facts={"gl": FACTS}, domains={"gl": GL}, dimensions="account: {kind: leaf}\n")
    load_instance(folder, tmp_path / "state")
    with (
        closing(PostgresWarehouse(server.uri(), writes=True)) as loader,
        closing(PostgresWarehouse(server.uri(), TIMEOUT)) as reader,
    ):
        facts = lambda files, manifest, domains: WarehouseFacts(  # noqa: E731 - as ArrowVersions takes it
            files,
            placed(tmp_path / "state" / "store", manifest, WarehouseParts(loader), count(1)),
            domains,
            warehouse=reader,
        )
        versions = lambda root: ArrowVersions(root, facts)  # noqa: E731 - as a Shelf takes it
        shelf = Shelf(read_instance(folder).catalogue, tmp_path / "state" / "store", versions)
        yield BooksInEngine(reader, Door(shelf, EVERYONE))


MONTHS, DAYS = ("2024-01", "2024-02"), ("2024-01-02", "2024-01-10")


def test_a_server_that_is_paused_holds_no_thread_past_its_timeout(server: SeparateServer, books: BooksInEngine) -> None:
    books.reader.read_all([ONE, ONE])  # which leaves two sessions idle
    local, threads = books.ask(MONTHS), active_count()
    assert server.process is not None
    with paused(server.process.pid):
        began = monotonic()
        with pytest.raises(WarehouseDown, match=r"PostgreSQL did not answer within 0.5 seconds; see whether it runs"):
            books.reader.read_all([ONE, ONE])
        assert monotonic() - began < 60 * TIMEOUT
        assert active_count() <= threads
        assert books.ask(MONTHS) == local
        for _ in range(3):
            with pytest.raises(Unavailable, match="tieout_facts_gl cannot be read now"):
                books.ask(DAYS)
        sent = books.reader.sent
        with pytest.raises(Unavailable, match="tieout_facts_gl cannot be read now"):
            books.ask(DAYS)
        assert books.reader.sent == sent  # the circuit breaker is open: nothing is sent
    assert active_count() <= threads + 1  # a test of the engine may run


def test_a_failure_names_the_table_and_the_next_step_and_no_credentials(
    server: SeparateServer, books: BooksInEngine
) -> None:
    with closing(psycopg.connect(server.uri(), autocommit=True)) as connection:
        connection.execute("drop table tieout_facts_gl")
    with pytest.raises(Unavailable) as refused:
        books.ask(DAYS)
    assert str(refused.value) == (
        "The rows of facts in tieout_facts_gl cannot be read now: PostgreSQL refused a statement about the facts "
        "(SQLSTATE 42P01): it lacks a table; run tieout provision."
    )


def test_an_engine_that_cannot_be_reached_is_said_to_be_so(server: SeparateServer) -> None:
    away = replace(server, port=1)
    for uri, says in (
        (server.uri(password=token_urlsafe(8)), "it refuses the password"),
        (away.uri(), "nothing listens at its address"),
    ):
        with closing(PostgresWarehouse(uri, TIMEOUT)) as reader:
            with pytest.raises(WarehouseDown) as down:
                reader.ping()
            assert str(down.value) == f"PostgreSQL of `facts` cannot be reached: {says}"


def test_a_reader_who_lacks_a_right_is_told_which(server: SeparateServer, books: BooksInEngine) -> None:
    with closing(psycopg.connect(server.uri(), autocommit=True)) as connection:
        connection.execute(f"create role stranger login password '{server.password}'".encode())
    uri = server.uri().replace("platform:", "stranger:")
    with (
        closing(PostgresWarehouse(uri, TIMEOUT)) as stranger,
        pytest.raises(StatementRefused, match="grant its user the tables of `facts`"),
    ):
        stranger.read(SqlStatement("select * from tieout_facts_gl"))
    assert books.ask(DAYS)


def test_readiness_has_a_check_of_the_engine(server: SeparateServer, monkeypatch: pytest.MonkeyPatch) -> None:
    placement = FactsPlacement(kind=WarehouseKind.POSTGRESQL, reader="FACTS_URL", loader="FACTS_URL", seconds=1)
    with pytest.raises(StoreDown, match=r"FACTS_URL, which `facts` of instance\.yaml names, is not set"):
        check_facts(placement)
    monkeypatch.setenv("FACTS_URL", server.uri())
    check_facts(placement)
    assert server.process is not None
    with paused(server.process.pid), pytest.raises(StoreDown, match="PostgreSQL"):
        check_facts(placement)


def test_a_session_that_is_not_made_in_time_is_closed(server: SeparateServer) -> None:
    assert server.process is not None
    before = sockets()
    with paused(server.process.pid), closing(PostgresWarehouse(server.uri(), TIMEOUT)) as reader:
        with pytest.raises(WarehouseDown) as down:
            reader.ping()
        assert sockets() == before, down.value  # though the failure is still at hand


def sockets() -> set[str]:
    """Return the sockets of this process."""
    opened: set[str] = set()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of this listing
            opened.add(str(link.readlink()))
    return {target for target in opened if target.startswith("socket:")}
