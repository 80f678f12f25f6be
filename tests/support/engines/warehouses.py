"""Warehouses of tests: DuckDB in memory and real PostgreSQL, each with one login to load and one to read."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any

import polars as pl
from msgspec.structs import replace

from engine.facts.backend import ArrowVersions
from engine.facts.files import MappedFiles
from engine.facts.manifest import Manifest, TouchedPart
from engine.model.catalogue import Domain
from engine.model.scope import Cell
from engine.model.warehouses import PartStore
from server.warehouses.engines.clickhouse import ClickHouseWarehouse
from server.warehouses.engines.duckdb import DuckDbWarehouse
from server.warehouses.engines.flightsql import FlightSqlWarehouse
from server.warehouses.engines.postgresql import PostgresWarehouse
from server.warehouses.facts import WarehouseFacts
from server.warehouses.parts import WarehouseParts
from server.warehouses.statements import StatementText
from server.warehouses.tables import declared_kinds
from server.warehouses.warehouse import Warehouse
from tests.support.checks.statements import LockedText
from tests.support.engines.clickhouse import shared_clickhouse
from tests.support.engines.postgres import schema_of
from tests.support.engines.sail import shared_sail
from tests.support.engines.spark import SparkWarehouse, shared_spark

DEEP = tuple(os.environ.get("WAREHOUSES", "").split())  # which make test-deep runs besides
ENGINES = ("duckdb", "postgresql", *DEEP)
SAIL_WORKERS = 2  # processes


@dataclass(frozen=True, slots=True)
class Warehouses:
    """A warehouse as its loader and as its readers see it."""

    loader: Warehouse
    reader: Warehouse


@contextmanager
def warehouses(engine: str, postgres_uri: str, **limits: Any) -> Iterator[Warehouses]:
    """Yield an empty warehouse; `limits` are those of its reader."""
    with ExitStack() as opened:
        if engine == "duckdb":
            name = f":memory:{token_hex(6)}"
            loader: Warehouse = DuckDbWarehouse(name, writes=True)
            reader: Warehouse = DuckDbWarehouse(name, **limits)
        elif engine == "clickhouse":
            port, database = shared_clickhouse()
            address = f"http://{{}}@127.0.0.1:{port}/{database}"
            loader = ClickHouseWarehouse(address.format("loader"), writes=True)
            reader = ClickHouseWarehouse(address.format("reader"), **limits)
        elif engine == "flightsql":
            url = opened.enter_context(shared_sail(SAIL_WORKERS)).url(token_hex(6))
            loader, reader = FlightSqlWarehouse(url, writes=True), FlightSqlWarehouse(url, **limits)
        elif engine == "spark":
            server, lake = shared_spark(), token_hex(6)
            loader, reader = SparkWarehouse(server, lake), SparkWarehouse(server, lake, **limits)
        else:
            uri = opened.enter_context(schema_of(postgres_uri))
            loader, reader = PostgresWarehouse(uri, writes=True), PostgresWarehouse(uri, **limits)
        opened.enter_context(closing(loader))
        opened.enter_context(closing(reader))
        yield Warehouses(loader, reader)


def placed(root: Path, manifest: Manifest, parts: PartStore, numbers: Iterator[int]) -> Manifest:
    """Put the rows of a version into an engine, and return its manifest without the files of rows."""
    facts = {}
    for domain, partitions in manifest.facts.items():
        moved = []
        for part in partitions:
            number = next(numbers)
            parts.put(domain, number, pl.read_ipc(root / part.file))
            moved.append(replace(part, number=number, file=""))
        facts[domain] = tuple(moved)
    return replace(manifest, facts=facts)


class LockedFacts(WarehouseFacts):
    """Facts in a warehouse whose statements are held to the lock of house.md: the parts, and the cell, everywhere."""

    def _text(self, domain: str, touched: Sequence[TouchedPart], within: Cell, keys: Collection[str]) -> StatementText:
        super()._text(domain, touched, within, keys)
        assert len({part.scenario for part, _ in touched}) == 1
        text = LockedText(self._warehouse.dialect, self._tables[domain], within)
        text.parts = frozenset(part.number for part, _ in touched if part.number is not None)
        return text


class StoresInWarehouses:
    """The facts of versions in warehouses, put there from the files of a store: one warehouse for equal tables."""

    def __init__(self, postgres_uri: str) -> None:
        self._uri = postgres_uri
        self._opened = ExitStack()
        self._made: dict[tuple[object, ...], Warehouses] = {}
        self._numbers = count(1)

    def close(self) -> None:
        """Close every warehouse."""
        self._opened.close()

    def facts(self, engine: str, root: Path, manifest: Manifest, domains: Mapping[str, Domain]) -> WarehouseFacts:
        """Return the facts of a version, whose rows are in an engine only. Rollups stay files."""
        kinds = tuple(
            (key, *sorted((name, kind.name) for name, kind in declared_kinds(domain).items()))
            for key, domain in sorted(domains.items())
        )
        made = self._made.get((engine, kinds))
        if made is None:
            made = self._made[engine, kinds] = self._opened.enter_context(warehouses(engine, self._uri))
        moved = placed(root, manifest, WarehouseParts(made.loader), self._numbers)
        return LockedFacts(MappedFiles(root), moved, domains, warehouse=made.reader)


SHARED: list[StoresInWarehouses] = []  # that of this process, opened by the fixture `stores_in_warehouses`


def facts_in_engine(engine: str) -> Callable[[Path, Manifest, Mapping[str, Domain]], WarehouseFacts]:
    """Return what puts the facts of a version into an engine."""
    return lambda root, manifest, domains: SHARED[0].facts(engine, root, manifest, domains)


def versions_in_engine(engine: str) -> Callable[[Path], ArrowVersions]:
    """Return what opens versions of the books whose facts are put into an engine as they are opened."""
    put = facts_in_engine(engine)
    return lambda root: ArrowVersions(root, lambda _, manifest, domains: put(root, manifest, domains))
