"""The platform database as callers ask it: who asks one that is away is told at once, and told right."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from functools import partial
from threading import Barrier

import psycopg
import pytest

from server.base.interfaces import StoreDown
from server.stores.circuit_breaker import FAILURES
from server.stores.postgres import LARGEST, CircuitBreakingDatabase, Database
from tests.integration.server.test_platform import process_of, why
from tests.support.engines.postgres import SeparateServer, separate_server
from tests.support.service.pauses import paused
from tests.support.service.servers import wait_for

NOBODY = {"the platform database cannot be reached: nothing listens at its address"}
SILENT = {"the platform database cannot be reached: it does not answer"}
CROWDED = {"the platform database cannot be reached: it has no connection left"}
LIMITED = "limited"


class CountingDatabase(Database):
    """A database that counts transactions and probes."""

    def __init__(self, uri: str, fault: StoreDown | None = None) -> None:
        """`fault` is why it cannot be used yet."""
        super().__init__(uri, self._begin)
        self.asked = self.probes = 0
        self.fault = fault

    def probe(self) -> None:
        """Count a probe."""
        self.probes += 1
        super().probe()

    def _begin(self) -> None:
        self.asked += 1
        if self.fault is not None:
            raise self.fault


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateServer]:
    """A separate server that a test may stop, pause and start."""
    with separate_server(tmp_path_factory.mktemp("spared")) as server:
        yield server


@pytest.fixture
def database(server: SeparateServer) -> Iterator[CountingDatabase]:
    """A database on it."""
    with closing(CountingDatabase(server.uri())) as database:
        yield database


@pytest.fixture
def spared(database: CountingDatabase) -> CircuitBreakingDatabase:
    """It, as callers ask it."""
    return CircuitBreakingDatabase(database)


def ask(spared: CircuitBreakingDatabase, statement: str = "select 1") -> None:
    """Ask something."""
    with spared.transaction() as connection:
        connection.execute(statement.encode())


def answers(spared: CircuitBreakingDatabase) -> bool:
    """Tell whether it answers."""
    with suppress(StoreDown):
        ask(spared)
        return True
    return False


def at_once(times: int, does: Callable[[], object]) -> set[str]:
    """Return why something cannot be done by several who try at the same time."""
    with ThreadPoolExecutor(times) as threads:
        return set(threads.map(lambda _: why(does), range(times)))


def test_a_database_that_is_stopped_is_asked_no_more_until_it_is_there_again(
    server: SeparateServer, database: CountingDatabase, spared: CircuitBreakingDatabase
) -> None:
    for _ in range(2):
        server.stop()
        before = database.asked
        assert at_once(FAILURES, partial(ask, spared)) == NOBODY
        assert {why(partial(ask, spared)) for _ in range(100)} == NOBODY
        assert database.asked == before + FAILURES
        server.start()
        wait_for(lambda: answers(spared))
        assert database.asked == before + FAILURES + 1  # the first that is let through is answered
        assert all(answers(spared) for _ in range(3))


def test_a_database_that_is_paused_holds_nobody_up_and_is_looked_at_by_one_at_a_time(
    server: SeparateServer, database: CountingDatabase, spared: CircuitBreakingDatabase
) -> None:
    ask(spared)
    with paused(process_of(server)):
        assert at_once(FAILURES, partial(ask, spared)) == SILENT
        before = database.asked
        wait_for(lambda: at_once(4, partial(ask, spared)) == SILENT and database.probes == 1)
        assert database.asked == before
    wait_for(lambda: answers(spared))


def test_a_database_that_stops_answering_in_the_middle_is_spared_as_well(
    server: SeparateServer, database: CountingDatabase, spared: CircuitBreakingDatabase
) -> None:
    lent, silent = Barrier(FAILURES + 1), Barrier(FAILURES + 1)

    def ask_in_the_middle(_: int) -> str:
        with pytest.raises(StoreDown) as down, spared.transaction() as connection:
            lent.wait()
            silent.wait()
            connection.execute("select 1")
        return str(down.value)

    with ThreadPoolExecutor(FAILURES) as threads:
        told = threads.map(ask_in_the_middle, range(FAILURES))
        lent.wait()
        with paused(process_of(server)):
            silent.wait()
            assert set(told) == {"the connection to the platform database was lost"}
            why(partial(ask, spared))
            assert database.asked == FAILURES
    wait_for(lambda: answers(spared))


@pytest.mark.parametrize(
    "code",
    ["57014", "42501", "53100", "42P01", "25006", "55P03", "40P01"],
    ids=["cancelled", "grants", "disk full", "no table", "read only", "locked", "deadlock"],
)
def test_a_database_that_answers_with_a_fault_is_asked_as_ever(
    database: CountingDatabase, spared: CircuitBreakingDatabase, code: str
) -> None:
    statement = f"do $$ begin raise exception using errcode = '{code}'; end $$"
    for _ in range(2 * FAILURES):
        why(partial(ask, spared, statement))
    ask(spared)
    assert database.asked == 2 * FAILURES + 1


def test_a_database_whose_connections_are_all_in_use_is_asked_as_ever(
    database: CountingDatabase, spared: CircuitBreakingDatabase
) -> None:
    with ExitStack() as stack:
        for _ in range(LARGEST):
            stack.enter_context(spared.transaction())
        told = at_once(2 * FAILURES, partial(ask, spared))
        assert told == {"the platform database is busy: every connection to it is in use"}
    ask(spared)
    assert database.asked == LARGEST + 2 * FAILURES + 1


def test_a_server_that_has_no_connection_left_is_asked_as_ever(server: SeparateServer) -> None:
    with closing(psycopg.connect(server.uri(), autocommit=True)) as operator:
        operator.execute(f"create role {LIMITED} login connection limit 0 password '{server.password}'".encode())
        with closing(CountingDatabase(server.uri().replace("//platform:", f"//{LIMITED}:"))) as database:
            spared = CircuitBreakingDatabase(database)
            assert at_once(2 * FAILURES, partial(ask, spared)) == CROWDED
            operator.execute(f"alter role {LIMITED} connection limit -1".encode())
            wait_for(lambda: answers(spared))
            assert not database.probes


def test_waiting_for_one_that_starts_is_no_reason_to_spare_it(server: SeparateServer) -> None:
    with closing(CountingDatabase(server.uri(), StoreDown("the embedded PostgreSQL is not up yet"))) as database:
        spared = CircuitBreakingDatabase(database)
        for _ in range(2 * FAILURES):
            assert why(partial(ask, spared)) == "the embedded PostgreSQL is not up yet"
        database.fault = None
        ask(spared)


def test_what_runs_beside_calls_asks_it_all_the_same(
    server: SeparateServer, database: CountingDatabase, spared: CircuitBreakingDatabase
) -> None:
    server.stop()
    at_once(FAILURES, partial(ask, spared))
    server.start()
    database.ping()
