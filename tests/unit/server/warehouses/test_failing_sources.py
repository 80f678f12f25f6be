"""Sources of attached tables that fail: nobody whose answers are local waits, and no thread is held past a timeout."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event, Thread, active_count
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from engine.books.books import Shelf
from engine.door import Door
from engine.model.errors import Unavailable
from engine.model.profiles import EVERYONE
from server.feeds.instance import read_instance
from server.ingest import surveys
from server.ingest.load import BindingFailed
from server.warehouses import opening
from server.warehouses.engines.postgresql import PostgresWarehouse
from server.warehouses.opening import AttachedSources, open_source, versions_in
from server.warehouses.warehouse import Warehouse
from tests.support.books.loads import load_feeds
from tests.support.books.small import figures, write_instance
from tests.support.engines.postgres import SeparateServer, separate_server
from tests.support.service.pauses import paused
from tests.support.service.servers import wait_for

PATIENCE = 60.0  # seconds until what is under way has ended
GL = """
time: {column: day}
dimensions: {account: account}
measures: {amount: {places: 2}}
metrics: {%s: {measure: amount}}
"""
ATTACHED = {"source": "dwh", "target": "live.gl", "attach": "lines", "scenario": "actual", "unknown_members": "extend"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateServer]:
    """Run a PostgreSQL of its own with a table of somebody else."""
    with separate_server(tmp_path_factory.mktemp("source")) as running:
        with closing(psycopg.connect(running.uri(), autocommit=True)) as owner:
            owner.execute("create table lines (day date, account text, amount numeric(18,2))")
            owner.execute("insert into lines values ('2021-01-05', 'A', 10), ('2021-02-05', 'B', 32)")
            owner.execute(f"create role reader login password '{running.password}'".encode())
            owner.execute("grant select on lines to reader")
        yield running


@dataclass
class HalfAttachedBooks:
    """Books of which one domain is attached and another is loaded."""

    instance: Path
    state: Path
    opened: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Open the books as a server does."""
        known = read_instance(self.instance)
        self.sources = self.opened.enter_context(closing(AttachedSources(known.bindings, self.instance)))
        shelf = Shelf(known.catalogue, self.state / "store", versions_in(None, self.sources))
        self.door = Door(shelf, EVERYONE)

    @property
    def source(self) -> Warehouse:
        """The source, once the books were opened."""
        (known,) = self.sources._opened.values()
        return known

    def ask(self, metric: str) -> object:
        """Return the actuals of a metric in two months."""
        return figures(self.door.metric(metric, scenarios={"A": "actual"}, period=("2021-01", "2021-02")))[()]

    def answers(self) -> bool:
        """Tell whether attached rows can be read."""
        with suppress(Unavailable):
            return self.ask("revenue") == 42
        return False


@pytest.fixture
def books(server: SeparateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HalfAttachedBooks]:
    """Survey the table, load the other domain, and open both."""
    monkeypatch.setenv("DWH_URL", server.uri().replace("platform:", "reader:"))
    instance = write_instance(
        tmp_path / "books",
        facts={"stock": "day scenario account amount\n2021-01-05 actual A 7"},
        domains={"gl": GL % "revenue", "stock": GL % "pieces"},
        dimensions="account: {kind: leaf}",
        sources={"dwh": {"kind": "postgresql", "uri_env": "DWH_URL"}},
        bindings={"gl": ATTACHED},
    )
    load_feeds(instance, tmp_path / "state")
    made = HalfAttachedBooks(instance, tmp_path / "state")
    with made.opened:
        yield made


def test_callers_whose_answers_are_local_do_not_wait_for_a_source_that_is_paused(
    server: SeparateServer, books: HalfAttachedBooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (books.ask("revenue"), books.ask("pieces")) == (42, 7)
    waits, run = Event(), PostgresWarehouse._run

    def begin(*arguments: Any) -> pa.Table:
        waits.set()
        return run(*arguments)

    monkeypatch.setattr(PostgresWarehouse, "_run", begin)
    assert server.process is not None
    found: list[object] = []
    with paused(server.process.pid):
        asking = Thread(target=lambda: found.append(books.ask("revenue")))
        asking.start()
        assert waits.wait(PATIENCE)
        assert books.ask("pieces") == 7
        assert asking.is_alive()  # it waits for its source, which has 60 seconds
    asking.join(PATIENCE)
    assert found == [42]


def test_a_source_that_is_paused_holds_no_thread_past_its_timeout(
    server: SeparateServer, books: HalfAttachedBooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "open_source", partial(open_source, seconds=0.5))
    books.open()
    assert books.answers()
    threads = active_count()
    assert server.process is not None
    with paused(server.process.pid):
        with pytest.raises(Unavailable) as refused:
            books.ask("revenue")
        assert str(refused.value) == (
            "The rows of facts in public.lines, which the feed gl attaches, cannot be read now: PostgreSQL did not "
            "answer within 0.5 seconds; see whether it runs and what it is busy with, or ask about fewer months."
        )
        assert active_count() <= threads
        for _ in range(3):
            with pytest.raises(Unavailable, match=r"public\.lines, which the feed gl attaches, cannot be read now"):
                books.ask("revenue")
        sent = books.source.sent
        with pytest.raises(Unavailable, match="cannot be read now"):
            books.ask("revenue")
        assert books.source.sent == sent  # the circuit breaker is open: nothing is sent
        assert books.ask("pieces") == 7
        assert active_count() <= threads + 1  # a test of the source may run
    wait_for(books.answers)


def test_a_statement_that_its_source_ends_says_what_makes_it_quicker(
    server: SeparateServer, books: HalfAttachedBooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surveys, "SURVEYING", 0.2)
    with closing(psycopg.connect(server.uri())) as owner:
        owner.execute("lock table lines in access exclusive mode")
        with pytest.raises(
            BindingFailed,
            match=r"lines cannot be surveyed: .*or attach a view of fewer rows|too long; attach a view of fewer rows",
        ) as failed:
            load_feeds(books.instance, books.state, "gl")
    assert failed.value.status.value == "failed_connect"
