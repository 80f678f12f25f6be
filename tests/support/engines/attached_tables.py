"""Attached tables of tests: the rows of a loaded store as somebody else keeps them, with text ids and NUMERIC amounts.

Each load of a domain becomes a table, which the real survey looks at. So books that a test loads into files are asked
again of tables that nobody prepared.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from importlib import import_module
from pathlib import Path
from secrets import token_hex

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
from msgspec.structs import replace

from engine.facts.arrow import ArrowFacts
from engine.facts.backend import ArrowVersions
from engine.facts.files import MappedFiles, write_named
from engine.facts.manifest import Load, Manifest, Partition, Rollup, TouchedPart
from engine.facts.routes import RoutedFacts
from engine.facts.surveys import SurveyedMonth, coded_sums, surveyed_partition
from engine.model.catalogue import Domain
from engine.model.fact_store import FactStore
from engine.model.scope import Cell
from server.feeds.feeds import SourceKind
from server.warehouses.attached.facts import AttachedFacts
from server.warehouses.attached.rows import SCENARIO, AttachedColumn, AttachedTable, month_of
from server.warehouses.attached.survey import SurveyText, months_of
from server.warehouses.dialects import ColumnKind
from server.warehouses.engines.duckdb import DuckDbWarehouse
from server.warehouses.engines.flightsql import FlightSqlWarehouse
from server.warehouses.engines.postgresql import PostgresWarehouse
from server.warehouses.opening import SOURCES
from server.warehouses.statements import StatementText
from server.warehouses.tables import declared_kinds
from server.warehouses.warehouse import Warehouse
from tests.support.checks.statements import LockedText
from tests.support.engines.clouds import CLOUDS, SCHEMA, Cloud, cloud
from tests.support.engines.postgres import schema_of
from tests.support.engines.sail import shared_sail
from tests.support.engines.warehouses import DEEP, SAIL_WORKERS

TYPES: Mapping[ColumnKind, str] = {ColumnKind.DAY: "date", ColumnKind.CODE: "text", ColumnKind.TEXT: "text"}
DIGITS = 24  # of amounts
TRAVELLING, PROVEN = "flightsql at a version", "flightsql by its rows"  # how a table in a lake is pinned
LAKES = (TRAVELLING, PROVEN)
PATIENCE = 60.0  # seconds of a statement of Sail


class LockedAttachedFacts(AttachedFacts):
    """Facts in an attached table whose statements are held to the lock of house.md."""

    def _text(self, domain: str, touched: Sequence[TouchedPart], within: Cell, keys: Collection[str]) -> StatementText:
        super()._text(domain, touched, within, keys)
        parts = [part for part, _ in touched]
        text = LockedText(self._warehouse.dialect, self._reading(parts), within)
        text.parts = frozenset(month_of(part.bucket) for part in parts)
        text.ids, text.scenario = self._rows_of.ids, parts[0].scenario
        return text


class AttachedStores:
    """The tables of one process, in DuckDB in memory and in PostgreSQL."""

    def __init__(self, postgres_uri: str) -> None:
        self._uri = postgres_uri
        self._opened = ExitStack()
        self._owners: dict[str, Callable[[str, Mapping[str, str], pl.DataFrame], None]] = {}
        self._folder = ""  # of tables in a lake
        self._readers: dict[str, Warehouse] = {}

    def close(self) -> None:
        """Close everything."""
        self._opened.close()

    def reader(self, engine: str) -> Warehouse:
        """Return the engine as the server reads it."""
        if engine not in self._readers:
            if engine == "duckdb":
                name = f":memory:{token_hex(6)}"
                owner = self._opened.enter_context(closing(duckdb.connect(name)))
                self._owners[engine] = lambda table, types, rows: into_duckdb(owner, table, types, rows)
                reader: Warehouse = DuckDbWarehouse(name)
            elif engine in LAKES:
                server = self._opened.enter_context(shared_sail(SAIL_WORKERS))
                self._folder = f"{server.folder}/attached/"
                self._owners[engine] = into_lake
                reader = FlightSqlWarehouse(server.url().partition("?")[0], timeout=PATIENCE, attaches=True)
            elif engine in CLOUDS:
                service = self._opened.enter_context(cloud(engine))
                self._owners[engine] = lambda table, types, rows: into_cloud(service, table, types, rows)
                os.environ.update(service.environment)  # of this process of tests, as long as it runs
                reader = SOURCES[SourceKind(engine)](service.address)
            else:
                uri = self._opened.enter_context(schema_of(self._uri))
                known = self._opened.enter_context(closing(psycopg.connect(uri, autocommit=True)))
                self._owners[engine] = lambda table, types, rows: into_postgresql(known, table, types, rows)
                reader = PostgresWarehouse(uri)
            self._readers[engine] = self._opened.enter_context(closing(reader))
        return self._readers[engine]

    def facts(
        self, engine: str, files: MappedFiles, root: Path, manifest: Manifest, domains: Mapping[str, Domain]
    ) -> FactStore:
        """Return the facts of a version from tables in an engine that hold its rows."""
        routes: dict[tuple[str, str], FactStore] = {}
        for key, parts in manifest.facts.items():
            for load in dict.fromkeys(part.load for part in parts):
                own = [part for part in parts if part.load == load]
                store = self._attached(engine, files, root, manifest, domains, key, own)
                for scenario in {part.scenario for part in own}:
                    assert (key, scenario) not in routes
                    routes[key, scenario] = store
        return RoutedFacts(ArrowFacts(files, replace(manifest, facts={}), domains), routes)

    def _attached(
        self,
        engine: str,
        files: MappedFiles,
        root: Path,
        manifest: Manifest,
        domains: Mapping[str, Domain],
        key: str,
        parts: Sequence[Partition],
    ) -> FactStore:
        warehouse, domain, load = self.reader(engine), domains[key], manifest.loads[parts[0].load]
        coded = {
            dimension: files.frame(manifest.codes[dimension].file).with_row_index("code")
            for dimension in domain.dimensions
        }
        ids = {dimension: [None, *frame["id"][1:]] for dimension, frame in coded.items()}
        rows = pl.concat((written_rows(root, part, ids) for part in parts), how="diagonal")
        name = token_hex(6)
        named = (f"{self._folder}Lines_{name}",) if engine in LAKES else (f"Lines {name}",)
        table = table_of(domain, load, *((SCHEMA, f"Lines_{name}") if engine in CLOUDS else named))
        types = {column.sources[0]: type_of(column) for column in (table.scenario, *table.columns)}
        known = {column.sources[0]: column.key for column in (table.scenario, *table.columns)}
        lacking = [pl.lit(None).alias(of) for of in known.values() if of not in rows.columns]
        shown = rows.with_columns(lacking).select(pl.col(of).alias(name) for name, of in known.items())
        self._owners[engine](table.name[-1], types, shown.sample(fraction=1, shuffle=True, seed=1))
        if engine in (TRAVELLING, *CLOUDS):
            table = replace(table, version=warehouse.version(warehouse.read, table.name))
        text = SurveyText(table, warehouse.dialect, list(domain.dimensions))
        months = warehouse.together(lambda read: list(months_of(read, text, table, domain)))
        surveyed = tuple(partition_of(root, domain, month, load, coded) for month in months)
        manifest = replace(manifest, facts={key: surveyed})
        return LockedAttachedFacts(files, manifest, domains, warehouse=warehouse, table=table, load=load)


def partition_of(
    root: Path, domain: Domain, month: SurveyedMonth, load: Load, coded: Mapping[str, pl.DataFrame]
) -> Partition:
    """Return the partition of a month with its rollups, as a stage makes it."""
    rollups = []
    for dimensions, of_ids in month.rollups.items():
        sums = coded_sums(of_ids, dimensions, coded)
        file = write_named(root, f"rollups/{domain.key}/{month.scenario}/{month.bucket}", sums)
        rollups.append(Rollup(dimensions=dimensions, file=file, rows=sums.height))
    return replace(surveyed_partition(domain, month, load), rollups=tuple(rollups))


def written_rows(root: Path, part: Partition, ids: Mapping[str, Sequence[str | None]]) -> pl.DataFrame:
    """Return the rows of a partition with ids in the place of codes."""
    rows = pl.read_ipc(root / part.file)
    members = (pl.lit(pl.Series(known, dtype=pl.String)).gather(pl.col(key)).alias(key) for key, known in ids.items())
    held = [member for member, key in zip(members, ids, strict=True) if key in rows.columns]
    return rows.with_columns(*held, pl.lit(part.scenario).alias(SCENARIO))


def table_of(domain: Domain, load: Load, *name: str) -> AttachedTable:
    """Return a table whose columns have other names than the facts."""
    places = {key: measure.places for key, measure in domain.measures.items()}
    columns = (
        AttachedColumn(key=key, kind=kind, sources=(f'{kind.name} "{key}"',), places=places.get(key, 0))
        for key, kind in declared_kinds(domain).items()
    )
    scenario = AttachedColumn(key=SCENARIO, kind=ColumnKind.CODE, sources=("Szenario",))
    return AttachedTable(
        binding=load.binding,
        domain=domain.key,
        name=name,
        scenario=scenario,
        columns=tuple(columns),
        blank="reject",
        change=None,
    )


def type_of(column: AttachedColumn) -> str:
    """Return the type of a column as a warehouse has it."""
    return f"numeric({DIGITS},{column.places})" if column.kind is ColumnKind.AMOUNT else TYPES[column.kind]


def units(types: Mapping[str, str], rows: pl.DataFrame) -> Iterator[tuple[str, list[object]]]:
    """Yield the columns of rows, amounts as decimal texts."""
    for name, type_ in types.items():
        column = rows[name]
        if type_.startswith("numeric"):
            places = int(type_.partition(",")[2][:-1])
            yield name, [None if value is None else decimal(value, places) for value in column]
        else:
            yield name, column.to_list()


def decimal(value: int, places: int) -> str:
    """Return an amount in units as it is written."""
    digits = f"{abs(value):0{places + 1}}"
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def quoted(name: str) -> str:
    """Return a name as both engines write it."""
    return '"' + name.replace('"', '""') + '"'


def into_duckdb(owner: duckdb.DuckDBPyConnection, table: str, types: Mapping[str, str], rows: pl.DataFrame) -> None:
    """Put rows into a new table of DuckDB."""
    columns = ", ".join(f"{quoted(name)} {type_}" for name, type_ in types.items())
    owner.execute(f"create table {quoted(table)} ({columns})")
    lists = ", ".join(f"unnest(${at}::{type_}[])" for at, type_ in enumerate(types.values(), 1))
    insert = f"insert into {quoted(table)} select {lists}"
    owner.execute(insert, [values for _, values in units(types, rows)])


def into_postgresql(owner: psycopg.Connection, table: str, types: Mapping[str, str], rows: pl.DataFrame) -> None:
    """Put rows into a new table of PostgreSQL."""
    columns = ", ".join(f"{quoted(name)} {type_}" for name, type_ in types.items())
    owner.execute(f"create table {quoted(table)} ({columns})".encode())
    lists = ", ".join(f"%s::{type_}[]" for type_ in types.values())
    insert = f"insert into {quoted(table)} select * from unnest({lists})"  # noqa: S608 - our own
    owner.execute(insert.encode(), [values for _, values in units(types, rows)])


def into_lake(folder: str, types: Mapping[str, str], rows: pl.DataFrame) -> None:
    """Put rows into a new Delta table."""
    known = dict(units(types, rows))
    arrays = [pa.array(known[name]).cast(lake_type(type_)) for name, type_ in types.items()]
    import_module("deltalake").write_deltalake(folder, pa.table(arrays, names=list(types)))


def lake_type(type_: str) -> pa.DataType:
    """Return a type of SQL as Arrow has it."""
    if type_.startswith("numeric"):
        return pa.decimal128(DIGITS, int(type_.partition(",")[2][:-1]))
    return pa.date32() if type_ == "date" else pa.string()


def into_cloud(service: Cloud, table: str, types: Mapping[str, str], rows: pl.DataFrame) -> None:
    """Put rows into a new table of a service."""
    with service.tables.changing() as owner:
        into_duckdb(owner, table, types, rows)


LOCAL = CLOUDS or ("duckdb", "postgresql")
ATTACHABLE = tuple(engine for engine in LAKES if "flightsql" in DEEP) if DEEP else LOCAL
ATTACHED: list[AttachedStores] = []  # those of this process, opened by the fixture `attached_stores`


def attached_facts(engine: str) -> Callable[[Path, Manifest, Mapping[str, Domain]], FactStore]:
    """Return what puts the facts of a version into attached tables."""
    return lambda root, manifest, domains: ATTACHED[0].facts(engine, MappedFiles(root), root, manifest, domains)


def attached_versions(engine: str) -> Callable[[Path], ArrowVersions]:
    """Return what opens versions of the books whose rows are put into attached tables as they are opened."""
    return lambda root: ArrowVersions(
        root, lambda files, manifest, domains: ATTACHED[0].facts(engine, files, root, manifest, domains)
    )
