"""Warehouses: statement A with the rows of its facts in an engine, beside the files of this machine.

The statement is that of the bench `statement`, for other twelve months and another pair of cost centres with each call.
`files` answers from rows on this machine. Each engine holds the same rows as parts, and is asked over its own protocol:
with rollups on this machine, as an instance has them, and without any. Every contestant is checked to answer as the
files do. Beside the times stand the statements that a call sends, and the bytes that come back. ClickHouse (chdb behind
HTTP, one statement at a time) and Sail (two workers) join where `constraints/deep.txt` is installed.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from os import cpu_count, getloadavg
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from msgspec.structs import replace

from benches.books import BenchBooks, demo_books
from benches.page import README, write_block
from benches.statement import STARTS, from_rows, statement
from benches.timing import in_turns
from engine.books.books import Shelf
from engine.door import Door
from engine.facts.backend import ArrowVersions
from engine.facts.files import MappedFiles
from engine.facts.manifest import Manifest, Partition, pin_current
from engine.instance.read import STORE
from engine.model.catalogue import Domain
from engine.model.profiles import EVERYONE
from engine.report.report import Report
from server.feeds.instance import read_instance
from server.run.embedded.binaries import known_binaries
from server.run.embedded.keeper import Keeper
from server.run.embedded.servers import EmbeddedPostgres
from server.warehouses.engines.clickhouse import ClickHouseWarehouse
from server.warehouses.engines.duckdb import DuckDbWarehouse
from server.warehouses.engines.flightsql import FlightSqlWarehouse
from server.warehouses.engines.postgresql import PostgresWarehouse
from server.warehouses.facts import WarehouseFacts
from server.warehouses.parts import WarehouseParts
from server.warehouses.warehouse import Warehouse
from tests.support.engines.clickhouse import shared_clickhouse
from tests.support.engines.sail import sail_server
from tests.support.engines.warehouses import SAIL_WORKERS

ROUNDS = 11
PATIENCE = 600.0  # seconds that a statement may take
STARTING = 60.0  # seconds that an embedded server may take to start


@dataclass(frozen=True, slots=True)
class Contestant:
    """Books on files or on an engine, and the calls made of them."""

    door: Door
    reader: Warehouse | None
    starts: Iterator[int]
    centres: Iterator[tuple[str, str]]

    def ask(self) -> Report:
        """Report the next twelve months of the next two cost centres by entity."""
        return statement(self.door, "pnl", "entity", next(self.starts), next(self.centres))


@contextmanager
def engines(folder: Path) -> Iterator[Mapping[str, tuple[Warehouse, Warehouse]]]:
    """Yield the loader and the reader of each engine that this machine runs by itself."""
    with ExitStack() as opened:
        program = EmbeddedPostgres(lambda: next(known_binaries()), folder / "postgres")
        keeper = opened.enter_context(closing(Keeper(program)))
        keeper.start()
        keeper.wait(STARTING)
        file = ":memory:bench"
        made: dict[str, tuple[Warehouse, Warehouse]] = {
            "DuckDB": (DuckDbWarehouse(file, PATIENCE, writes=True), DuckDbWarehouse(file, PATIENCE)),
            "PostgreSQL": (
                PostgresWarehouse(program.uri, PATIENCE, writes=True),
                PostgresWarehouse(program.uri, PATIENCE),
            ),
        }
        if find_spec("chdb"):
            port, database = shared_clickhouse()
            address = f"http://{{}}@127.0.0.1:{port}/{database}"
            made["ClickHouse (chdb)"] = (
                ClickHouseWarehouse(address.format("loader"), PATIENCE, writes=True),
                ClickHouseWarehouse(address.format("reader"), PATIENCE),
            )
        if find_spec("pysail") and find_spec("deltalake"):
            url = opened.enter_context(sail_server(SAIL_WORKERS)).url()
            made["Sail"] = (FlightSqlWarehouse(url, PATIENCE, writes=True), FlightSqlWarehouse(url, PATIENCE))
        for pair in made.values():
            for warehouse in pair:
                opened.enter_context(closing(warehouse))
        yield made


def placed(root: Path, manifest: Manifest, loader: Warehouse) -> Manifest:
    """Put the rows of the general ledger into an engine; return the manifest without the files of their rows."""
    parts, numbers = WarehouseParts(loader), count(1)

    def moved(part: Partition) -> Partition:
        known = next(numbers)
        parts.put("gl", known, pl.read_ipc(root / part.file))
        return replace(part, number=known, file="")

    return replace(manifest, facts={**manifest.facts, "gl": tuple(map(moved, manifest.facts["gl"]))})


def contestant(books: BenchBooks, known: Manifest | None = None, reader: Warehouse | None = None) -> Contestant:
    """Open books on files, or with the rows that a manifest has placed in an engine."""
    root, catalogue = books.state / STORE, read_instance(books.instance).catalogue

    def facts(files: MappedFiles, _: Manifest, domains: Mapping[str, Domain]) -> WarehouseFacts:
        assert known is not None and reader is not None  # noqa: S101, PT018 - both, or neither and files
        return WarehouseFacts(files, known, domains, warehouse=reader)

    shelf = Shelf(catalogue, root, ArrowVersions if reader is None else lambda root: ArrowVersions(root, facts))
    door = Door(shelf, EVERYONE)
    members = door.reader.visible_ids("cost_centre")
    pairs = ((a, b) for a in members for b in members if a < b)
    return Contestant(door, reader, (STARTS[at % len(STARTS)] for at in count()), pairs)


def main(rows: int) -> None:
    """Put the rows into every engine, compare the answers, time them in turns and write the table."""
    books = demo_books(rows)
    bare = from_rows(books)
    pin = pin_current(books.state / STORE)
    with TemporaryDirectory() as folder, engines(Path(folder)) as running:
        known = {name: placed(books.state / STORE, pin.manifest, loader) for name, (loader, _) in running.items()}
        contestants = {"files": contestant(books), "files, no rollups": contestant(bare)}
        for name, (_, reader) in running.items():
            contestants[name] = contestant(books, known[name], reader)
            contestants[f"{name}, no rollups"] = contestant(bare, known[name], reader)
        first = {name: each.ask().frame for name, each in contestants.items()}
        assert all(frame.equals(first["files"]) for frame in first.values())  # noqa: S101 - the bench is void otherwise
        weights = {name: weight(each) for name, each in contestants.items()}
        times = in_turns({name: each.ask for name, each in contestants.items()}, ROUNDS)
    load, cores = getloadavg()[0], cpu_count()
    about = (
        f"{rows:,} rows; medians of {ROUNDS} calls in turns; {cores} cores with a load of {load:.1f}; `pnl` by entity, "
        "actual and budget, two cost centres."
    )
    table = [
        about,
        "",
        "| rows in | median, ms | p95, ms | statements a call | bytes fetched a call |",
        "|---|--:|--:|--:|--:|",
        *(
            f"| {name} | {times[name].median:.1f} | {times[name].p95:.1f} | {sent} | {fetched:,} |"
            for name, (sent, fetched) in weights.items()
        ),
    ]
    print("\n".join(table))
    write_block(README, "warehouse", table)
    pin.drop()


def weight(known: Contestant) -> tuple[int, int]:
    """Return how many statements a call sends, and how many bytes come back."""
    if known.reader is None:
        known.ask()
        return 0, 0
    sent, fetched = known.reader.sent, known.reader.fetched
    known.ask()
    return known.reader.sent - sent, known.reader.fetched - fetched
