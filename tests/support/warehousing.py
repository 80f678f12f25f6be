"""Warehouses of tests: DuckDB in memory and real PostgreSQL, each with one login to load and one to read."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from secrets import token_hex

from server.warehouses.duckdb import DuckDbWarehouse
from server.warehouses.postgresql import PostgresWarehouse
from server.warehouses.warehouse import Warehouse
from tests.support.postgres import schema_of

ENGINES = ("duckdb", "postgresql")


@dataclass(frozen=True, slots=True)
class Warehouses:
    """A warehouse as its loader and as its readers see it."""

    loader: Warehouse
    reader: Warehouse


@contextmanager
def warehouses(engine: str, postgres_uri: str, **limits: float) -> Iterator[Warehouses]:
    """Yield an empty warehouse; `limits` are those of its reader."""
    with ExitStack() as opened:
        if engine == "duckdb":
            name = f":memory:{token_hex(6)}"
            loader, reader = DuckDbWarehouse(name, writes=True), DuckDbWarehouse(name, **limits)
        else:
            uri = opened.enter_context(schema_of(postgres_uri))
            loader, reader = PostgresWarehouse(uri, writes=True), PostgresWarehouse(uri, **limits)
        opened.enter_context(closing(loader))
        opened.enter_context(closing(reader))
        yield Warehouses(loader, reader)
