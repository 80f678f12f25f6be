"""Opens the engine of an instance's facts: its kind decides the adapter, the environment holds its address."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

import pyarrow as pa
from msgspec.structs import replace

from engine.facts.arrow import ArrowFacts
from engine.facts.backend import ArrowVersions
from engine.facts.files import MappedFiles
from engine.facts.manifest import Load, Manifest
from engine.facts.routes import RoutedFacts
from engine.model.catalogue import Domain
from engine.model.fact_store import FactStore, Versions
from engine.model.stopping import Stop
from server.base.drivers import install_command, packages_of
from server.base.interfaces import StoreDown
from server.feeds.feeds import Binding, FeedSource, SourceKind
from server.feeds.placements import FactsPlacement, WarehouseKind
from server.warehouses import dialects
from server.warehouses.attached.facts import AttachedFacts
from server.warehouses.attached.rows import AttachedTable, attached_table, lost_table
from server.warehouses.facts import facts_in
from server.warehouses.tables import WarehouseTable
from server.warehouses.warehouse import SqlStatement, StatementRefused, Warehouse


def adapter(module: str, name: str, *given: object, **named: object) -> Warehouse:
    """Return an adapter. Its module is imported where the first is opened, for its driver takes time and memory."""
    made: Warehouse = getattr(import_module(f"server.warehouses.engines.{module}"), name)(*given, **named)
    return made


CLICKHOUSE: Final = partial(adapter, "clickhouse", "ClickHouseWarehouse")
DUCKDB: Final = partial(adapter, "duckdb", "DuckDbWarehouse")
FLIGHTSQL: Final = partial(adapter, "flightsql", "FlightSqlWarehouse")
POSTGRESQL: Final = partial(adapter, "postgresql", "PostgresWarehouse")
ADAPTERS: Final[Mapping[WarehouseKind, Callable[..., Warehouse]]] = {
    WarehouseKind.CLICKHOUSE: CLICKHOUSE,
    WarehouseKind.DUCKDB: DUCKDB,
    WarehouseKind.FLIGHTSQL: FLIGHTSQL,
    WarehouseKind.POSTGRESQL: POSTGRESQL,
}


class WarehouseUnnamed(StoreDown):
    """The environment has no address of the engine, so that no process of this server can reach it."""


class DriverMissing(StatementRefused):
    """The driver of an engine is not installed. `recorded` is the message for callers, without the interpreter."""

    def __init__(self, module: str | None, kind: str) -> None:
        self.recorded = f"the driver {module} is not installed on the server"
        super().__init__(f"the driver {module} is not installed: {install_command(packages_of(kind))}")


def open_warehouse(
    placement: FactsPlacement, environment: Mapping[str, str] = os.environ, *, writes: bool = False
) -> Warehouse:
    """Return the engine with the login of readers, or of loads if it `writes`.

    It connects when it is used. Raises WarehouseUnnamed if the environment has no address of it, DriverMissing, and
    StatementRefused if its address is not whole.
    """
    variable = placement.loader if writes else placement.reader
    address = environment.get(variable, "").strip()
    if not address:
        raise WarehouseUnnamed(f"the environment variable {variable}, which `facts` of instance.yaml names, is not set")
    shards = {"cluster": placement.cluster} if placement.kind is WarehouseKind.CLICKHOUSE else {}
    try:
        return ADAPTERS[placement.kind](address, placement.seconds, placement.sessions, writes=writes, **shards)
    except ModuleNotFoundError as missing:
        raise DriverMissing(missing.name, placement.kind.value) from None


def versions_in(warehouse: Warehouse | None, sources: "AttachedSources") -> Callable[[Path], Versions]:
    """Return what opens books whose facts are in files or an engine, and in attached tables.

    A version from before a move to an engine is read from its files.
    """

    def facts(files: MappedFiles, manifest: Manifest, domains: Mapping[str, Domain]) -> FactStore:
        held = {key: tuple(part for part in parts if part.token is None) for key, parts in manifest.facts.items()}
        others = replace(manifest, facts=held)
        waits = any(part.number is None for parts in held.values() for part in parts)
        own = ArrowFacts if warehouse is None or waits else facts_in(warehouse)
        routes = dict(sources.routes(files, manifest, domains))
        store = own(files, others, domains)
        return RoutedFacts(store, routes) if routes else store

    return partial(ArrowVersions, facts=facts)


# Attached tables. Their sources are those of feeds, and the server reads with the login that loads have.


SOURCES: Final[Mapping[SourceKind, Callable[..., Warehouse]]] = {
    SourceKind.BIGQUERY: partial(adapter, "bigquery", "BigQueryWarehouse"),
    SourceKind.DUCKDB: DUCKDB,
    SourceKind.FLIGHTSQL: partial(FLIGHTSQL, attaches=True),
    SourceKind.POSTGRESQL: POSTGRESQL,
    SourceKind.SNOWFLAKE: partial(adapter, "snowflake", "SnowflakeWarehouse"),
}
READING = 60.0  # seconds that a statement of a report about an attached table may take
FEWER: Final = "ask about fewer months"  # where one takes longer


def open_source(
    source: FeedSource,
    folder: Path,
    environment: Mapping[str, str] = os.environ,
    seconds: float = READING,
    quicken: str = FEWER,
) -> Warehouse:
    """Return the source of an attached table, for reading. It connects when it is used.

    `folder` is that of the instance; `quicken` says what to do about a statement that takes longer than `seconds`.
    Raises WarehouseUnnamed if the environment has no address of it, and DriverMissing.
    """
    address = environment.get(source.environment, "").strip() if source.environment else str(folder / str(source.path))
    if not address:
        raise WarehouseUnnamed(f"source {source.key} needs the environment variable {source.environment}")
    if source.has_options and source.kind is SourceKind.FLIGHTSQL:
        raise StatementRefused(f"source {source.key} has options_env; a source of attached tables has uri_env")
    try:
        warehouse = SOURCES[source.kind](address, seconds)
    except ModuleNotFoundError as missing:
        raise DriverMissing(missing.name, source.kind.value) from None
    warehouse.holds, warehouse.quicken = f"source {source.key}", quicken
    warehouse.mend = "load the feed again, which names what is lacking"
    return warehouse


class LostWarehouse(Warehouse):
    """Stands for a source that cannot be asked, and says why."""

    engine = "a source that is lost"
    dialect = dialects.POSTGRESQL

    def __init__(self, why: str) -> None:
        super().__init__()
        self._why = why

    def put(self, table: WarehouseTable, part: int, batches: Iterable[pa.RecordBatch]) -> NoReturn:  # noqa: ARG002 - as Warehouse has it
        """Refuse; see Warehouse."""
        raise StatementRefused(self._why)

    def _open(self) -> NoReturn:
        raise StatementRefused(self._why)

    def _close(self, session: Any) -> NoReturn:  # noqa: ARG002 - as above
        raise StatementRefused(self._why)

    def _run(self, session: Any, statement: SqlStatement, watch: Stop) -> NoReturn:  # noqa: ARG002 - as above
        raise StatementRefused(self._why)


class AttachedSources:
    """The sources of attached tables, each opened once for all versions of the books."""

    def __init__(
        self, bindings: Mapping[str, Binding], folder: Path, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._bindings = {key: binding for key, binding in bindings.items() if binding.attach is not None}
        self._folder = folder
        self._environment = environment
        self._opened: dict[str, Warehouse] = {}

    def close(self) -> None:
        """Close the sources."""
        while self._opened:
            self._opened.popitem()[1].close()

    def routes(
        self, files: MappedFiles, manifest: Manifest, domains: Mapping[str, Domain]
    ) -> Iterator[tuple[tuple[str, str], FactStore]]:
        """Yield the stores of attached facts, by domain and scenario."""
        for key, parts in manifest.facts.items():
            loads = {part.load for part in parts if part.token is not None}
            for load in loads if key in domains else ():
                own = tuple(part for part in parts if part.load == load)
                known = manifest.loads[load]
                warehouse, table = self._reached(known, domains[key])
                facts = AttachedFacts(
                    files, replace(manifest, facts={key: own}), domains, warehouse=warehouse, table=table, load=known
                )
                yield from (((key, scenario), facts) for scenario in {part.scenario for part in own})

    def _reached(self, load: Load, domain: Domain) -> tuple[Warehouse, AttachedTable]:
        """Return the source and the table of a survey; a source that says why, where it cannot be asked."""
        binding = self._bindings.get(load.binding)
        if binding is None or binding.target != domain.table:
            gone = lost_table(load.binding, domain, load.attached["table"])
            return LostWarehouse(f"integrations.yaml attaches no table as {load.binding} any more; load it"), gone
        table = attached_table(binding, domain)
        if table.digest != load.attached["described"]:
            changed = (
                f"integrations.yaml describes it otherwise than when it was surveyed; run tieout load {binding.key}"
            )
            return LostWarehouse(changed), lost_table(load.binding, domain, load.attached["table"])
        table = table.resolved(load.attached["table"], load.attached["columns"])
        table = replace(table, version=load.attached.get("version"))
        try:
            if binding.source.key not in self._opened:
                self._opened[binding.source.key] = open_source(binding.source, self._folder, self._environment)
            return self._opened[binding.source.key], table
        except DriverMissing as missing:
            return LostWarehouse(missing.recorded), table
        except StoreDown as down:
            return LostWarehouse(str(down)), table
