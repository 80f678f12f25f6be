"""Opens the engine of an instance's facts: its kind decides the adapter, the environment holds its address."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from engine.facts.arrow import ArrowFacts
from engine.facts.backend import ArrowVersions
from engine.facts.files import MappedFiles
from engine.facts.manifest import Manifest
from engine.model.catalogue import Domain
from engine.model.fact_store import FactStore, Versions
from engine.model.warehouses import FactsPlacement, WarehouseKind
from server.base.interfaces import StoreDown
from server.warehouses.clickhouse import ClickHouseWarehouse
from server.warehouses.duckdb import DuckDbWarehouse
from server.warehouses.facts import facts_in
from server.warehouses.postgresql import PostgresWarehouse
from server.warehouses.warehouse import StatementRefused, Warehouse

ADAPTERS: Final[Mapping[WarehouseKind, Callable[..., Warehouse]]] = {
    WarehouseKind.CLICKHOUSE: ClickHouseWarehouse,
    WarehouseKind.DUCKDB: DuckDbWarehouse,
    WarehouseKind.POSTGRESQL: PostgresWarehouse,
}


class WarehouseUnnamed(StoreDown):
    """The environment has no address of the engine, so that no process of this server can reach it."""


def open_warehouse(
    placement: FactsPlacement, environment: Mapping[str, str] = os.environ, *, writes: bool = False
) -> Warehouse:
    """Return the engine with the login of readers, or of loads if it `writes`.

    It connects when it is used. Raises WarehouseUnnamed if the environment has no address of it, and StatementRefused
    if this release has no adapter for it.
    """
    adapter = ADAPTERS.get(placement.kind)
    if adapter is None:
        known = ", ".join(kind.value for kind in ADAPTERS)
        raise StatementRefused(f"this release has no adapter for {placement.kind.value} yet; `facts` takes {known}")
    variable = placement.loader if writes else placement.reader
    address = environment.get(variable, "").strip()
    if not address:
        raise WarehouseUnnamed(f"the environment variable {variable}, which `facts` of instance.yaml names, is not set")
    shards = {"cluster": placement.cluster} if placement.kind is WarehouseKind.CLICKHOUSE else {}
    try:
        return adapter(address, placement.seconds, placement.sessions, writes=writes, **shards)
    except ModuleNotFoundError as missing:
        raise StatementRefused(
            f"the driver {missing.name} is not installed: pip install 'tieout[{placement.kind.value}]'"
        ) from None


def versions_in(warehouse: Warehouse) -> Callable[[Path], Versions]:
    """Return what opens books whose facts are in an engine; a version from before the move is read from its files."""

    def facts(files: MappedFiles, manifest: Manifest, domains: Mapping[str, Domain]) -> FactStore:
        waits = any(part.number is None for parts in manifest.facts.values() for part in parts)
        return ArrowFacts(files, manifest, domains) if waits else facts_in(warehouse)(files, manifest, domains)

    return partial(ArrowVersions, facts=facts)
