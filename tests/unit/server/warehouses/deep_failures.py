"""Engines of the deep tests that fail: stopped servers, and workers of Sail that are killed while they answer.

`make test-deep PARTS=warehouses` runs it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from subprocess import Popen
from threading import Thread, active_count
from time import monotonic, sleep
from typing import Any

import polars as pl
import pytest

from engine.model.warehouses import PartTotals
from server.base.interfaces import StoreDown
from server.feeds.placements import WarehouseKind
from server.warehouses.engines.clickhouse import ClickHouseWarehouse
from server.warehouses.engines.flightsql import FlightSqlWarehouse
from server.warehouses.lacks import ReaderMayWrite, refuse_writer
from server.warehouses.parts import WarehouseParts
from server.warehouses.warehouse import SqlStatement, StatementRefused, Warehouse, WarehouseDown
from tests.support.engines.clickhouse import clickhouse_server
from tests.support.engines.sail import SailServer, sail_server
from tests.support.service.pauses import paused

ONE = SqlStatement("select 1 as n")
PATIENCE = 60.0  # seconds until an engine has recovered
ROWS = 2_000
PARTS = 6


@pytest.fixture
def sail() -> Iterator[SailServer]:
    """Run Sail with two workers."""
    with sail_server(2) as running:
        yield running


def put(loader: Warehouse) -> int:
    """Put parts of rows; return the sum of all amounts."""
    rows = pl.DataFrame({"account": pl.Series(range(ROWS), dtype=pl.UInt32), "amount": pl.Series(range(ROWS))})
    for part in range(1, PARTS + 1):
        WarehouseParts(loader).put("gl", part, rows)
    return PARTS * sum(range(ROWS))


def answers(reader: Warehouse) -> bool:
    """Tell whether an engine answers."""
    with suppress(StoreDown):
        return bool(reader.read(ONE).num_rows == 1)
    return False


def wait_until(state: Callable[[], bool]) -> bool:
    """Wait for a state; return whether it came."""
    ends = monotonic() + PATIENCE
    while not (reached := state()) and monotonic() < ends:
        sleep(0.2)
    return reached


@pytest.mark.parametrize("engine", ["clickhouse", "flightsql"])
def test_a_stopped_engine_holds_no_thread_past_its_timeout(engine: str) -> None:
    with ExitStack() as opened:
        if engine == "clickhouse":
            port, running = opened.enter_context(clickhouse_server())
            process: Popen[Any] = running
            reader: Warehouse = ClickHouseWarehouse(f"http://reader@127.0.0.1:{port}/default", timeout=3)
        else:
            server = opened.enter_context(sail_server())
            process, reader = server.process, FlightSqlWarehouse(server.url(), timeout=3)
        threads = active_count()
        with closing(reader):
            assert answers(reader)
            with paused(process.pid):
                began = monotonic()
                with pytest.raises(WarehouseDown):
                    reader.read_all([ONE, ONE])
                assert monotonic() - began < PATIENCE
                reader.close()
                assert wait_until(lambda: active_count() <= threads)


def test_a_worker_that_is_killed_while_it_answers_makes_no_partial_figure(sail: SailServer) -> None:
    with (
        closing(FlightSqlWarehouse(sail.url(), writes=True)) as loader,
        closing(FlightSqlWarehouse(sail.url(), timeout=PATIENCE)) as reader,
    ):
        total = put(loader)
        named = reader.dialect.table_of("tieout_facts_gl")
        asked = SqlStatement(f"select sum(amount) as n from {named}")
        pairs = SqlStatement(f"select sum(a.amount) as n from {named} as a, {named} as b, range(0, 200) as c")
        exact = total * PARTS * ROWS * 200
        assert reader.read(asked).column(0).to_pylist() == [total]
        found: list[object] = []

        def ask() -> None:
            try:
                found.append(reader.read(pairs).column(0).to_pylist())
            except WarehouseDown as down:
                found.append(str(down))

        asking = Thread(target=ask)
        asking.start()
        sleep(0.3)  # the statement runs by now, or is about to: either is right
        sail.workers[0].kill()
        asking.join(2 * PATIENCE)
        broken = "Flight SQL of `facts` broke off a statement; see that its workers run, and its log"
        assert found in ([[exact]], [broken])

        def recovered() -> bool:
            with suppress(StoreDown):
                assert reader.read(asked).column(0).to_pylist() == [total]
                return True
            return False

        assert wait_until(recovered)  # by a worker in place of the one that was killed


def test_files_of_a_lake_that_are_missing_fail_a_question_and_never_shrink_it(sail: SailServer, tmp_path: Path) -> None:
    with (
        closing(FlightSqlWarehouse(sail.url(), writes=True)) as loader,
        closing(FlightSqlWarehouse(sail.url())) as reader,
    ):
        put(loader)
        lake = sail.folder / "lake"
        asked = SqlStatement(f"select sum(amount) as n from {reader.dialect.table_of('tieout_facts_gl')}")
        next((lake / "tieout_facts_gl").glob("*.parquet")).rename(tmp_path / "away")
        with pytest.raises(StoreDown, match=r"a file of the lake is missing|broke off a statement"):
            reader.read(asked)
        lake.rename(tmp_path / "unmounted")
        with pytest.raises(StatementRefused, match="it finds no table in the lake; see that it has the folder too"):
            reader.read(asked)
        assert reader.columns("tieout_facts_gl") == frozenset()


def test_an_engine_that_may_write_into_the_lake_is_refused_to_readers(sail: SailServer) -> None:
    with closing(FlightSqlWarehouse(sail.url())) as reader:
        for _ in range(2):
            with pytest.raises(ReaderMayWrite, match="the engine made tieout_probe in the lake; delete that folder"):
                refuse_writer(WarehouseKind.FLIGHTSQL, reader)
    with closing(FlightSqlWarehouse(f"grpc://127.0.0.1:{sail.port}?lake=/proc/lake")) as reader:
        refuse_writer(WarehouseKind.FLIGHTSQL, reader)  # nobody may write there


def test_files_of_dropped_parts_go_and_the_others_stay(sail: SailServer) -> None:
    with closing(FlightSqlWarehouse(sail.url(), writes=True)) as loader:
        put(loader)
        parts = WarehouseParts(loader)
        parts.drop("gl", [1, 2, 99])
        held = {part: PartTotals(ROWS, {"amount": sum(range(ROWS))}) for part in range(3, PARTS + 1)}
        assert parts.totals("gl", ["amount"], range(1, 99)) == held
