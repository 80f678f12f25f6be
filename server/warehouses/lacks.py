"""What the engine of an instance's facts lacks, and what its users may do that they should not.

A reader whose user may write is refused: whoever took over the server could change figures behind the manifest.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from datetime import date
from secrets import randbits
from typing import Final

import polars as pl
import pyarrow as pa
from msgspec import Struct

from engine.model.errors import Unavailable
from engine.model.warehouses import PartTotals
from server.base.interfaces import StoreDown
from server.feeds.placements import FactsPlacement, WarehouseKind
from server.warehouses.opening import open_warehouse
from server.warehouses.parts import WarehouseParts
from server.warehouses.tables import plain_name, warehouse_table
from server.warehouses.warehouse import PROBE, SqlStatement, StatementRefused, Warehouse

READER, LOADER = "the user who reads", "the user of loads"


class ReaderMayWrite(StatementRefused):
    """The user with whom the server reads may change the tables of facts."""


class EngineRights(Struct, frozen=True, kw_only=True):
    """How an engine tells its release and the rights of its user: statements with one whole number each."""

    release: str
    least: int
    least_words: str
    may_write: str  # tables of facts that the user may change
    may_create: str  # schemas in which it may make one
    without_creating: str  # what to do about a reader who may make one
    without_writing: str  # and about one who may write
    with_creating: str  # and about a loader who may not


RIGHTS: Final[Mapping[WarehouseKind, EngineRights]] = {  # DuckDB and Sail have no users
    WarehouseKind.POSTGRESQL: EngineRights(
        release="select current_setting('server_version_num')::bigint as tieout_found",
        least=140_000,
        least_words="PostgreSQL 14",
        may_write="select count(*) as tieout_found from pg_class as c where c.relkind in ('r', 'p') "
        "and c.relname like 'tieout_facts_%' and c.relnamespace = current_schema()::regnamespace "
        "and has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')",
        may_create="select count(*) as tieout_found where has_schema_privilege(current_schema(), 'CREATE')",
        without_creating="revoke CREATE on the schema from it, and from PUBLIC, whose rights it has",
        without_writing="give it a user that has SELECT on the tables and nothing else",
        with_creating="grant it USAGE and CREATE on the schema",
    ),
    WarehouseKind.CLICKHOUSE: EngineRights(
        release="select toInt64(splitByChar('.', version())[1]) * 100 + toInt64(splitByChar('.', version())[2]) "
        "as tieout_found",
        least=2408,
        least_words="ClickHouse 24.8",
        may_write="select if(getSetting('readonly') = 0, 1, 0) as tieout_found",
        may_create="select if(getSetting('readonly') = 0, 1, 0) as tieout_found",
        without_creating="give it `settings readonly = 2`",
        without_writing="give it `settings readonly = 2` and SELECT on the tables",
        with_creating="take `settings readonly` from it, and grant it what docs/operations/warehouse.md lists",
    ),
}


def refuse_writer(kind: WarehouseKind, reader: Warehouse) -> None:
    """Raise ReaderMayWrite if the user of a reader may change facts, and what `read` raises."""
    if reader.may_write():
        raise ReaderMayWrite(
            f"{READER} is a user who may write: the engine made {PROBE} in the lake; delete that folder, and let the "
            "engine that readers ask have the folder of the lake read-only"
        )
    rights = RIGHTS.get(kind)
    if rights is not None and (tables := number(reader, rights.may_write)):
        raise ReaderMayWrite(f"{READER} is a user who may write ({tables} tables of facts): {rights.without_writing}")


def refuse_writing_reader(placement: FactsPlacement) -> None:
    """Raise ReaderMayWrite if the user with whom the server reads may change facts, and what `read` raises."""
    with closing(open_warehouse(placement)) as reader:
        refuse_writer(placement.kind, reader)


def refuse_table_writer(warehouse: Warehouse, read: Callable[[SqlStatement], pa.Table], name: tuple[str, ...]) -> None:
    """Raise ReaderMayWrite if the user of a source may change an attached table, and what `read` raises."""
    if warehouse.may_change(read, name):
        raise ReaderMayWrite(
            f"its user is a user who may write {'.'.join(name)}: name one that has SELECT on the table and nothing else"
        )


def engine_faults(
    placement: FactsPlacement, columns: Mapping[str, Collection[str]], environment: Mapping[str, str] = os.environ
) -> Iterator[str]:
    """Yield what the engine lacks, each in a line with what to do. `columns` are those that each domain stores there.

    The login of loads is looked at where the environment has it.
    """
    try:
        with closing(open_warehouse(placement, environment)) as reader:
            yield from reader_faults(placement.kind, reader, columns)
    except StoreDown as down:
        yield f"{placement.reader} ({READER}): {down}"
    if environment.get(placement.loader):
        try:
            with closing(open_warehouse(placement, environment, writes=True)) as loader:
                yield from loader_faults(placement.kind, loader)
        except StoreDown as down:
            yield f"{placement.loader} ({LOADER}): {down}"


def reader_faults(kind: WarehouseKind, reader: Warehouse, columns: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield what the engine lacks as the server sees it. Raises what `read` raises."""
    reader.ping()
    rights = RIGHTS.get(kind)
    if rights is not None and number(reader, rights.release) < rights.least:
        yield f"{kind.value} is older than {rights.least_words}: upgrade it"
    try:
        refuse_writer(kind, reader)
        if rights is not None and number(reader, rights.may_create):
            yield f"{READER} may make tables beside those of facts: {rights.without_creating}"
    except ReaderMayWrite as refusal:
        yield str(refusal)
    for domain, known in columns.items():
        table = warehouse_table(domain, {}).name[-1]
        held = reader.columns(table)
        lacking = [key for key in known if plain_name(key) not in held]
        if not held:
            yield f"table {table} is missing, or {READER} may not SELECT from it: grant it, or run tieout provision"
        elif lacking:
            yield f"table {table} lacks {', '.join(lacking)}: restore it from the engine's backup"


def loader_faults(kind: WarehouseKind, loader: Warehouse) -> Iterator[str]:
    """Yield what loads lack. Raises what `read` raises."""
    loader.ping()
    rights = RIGHTS.get(kind)
    if rights is not None and not number(loader, rights.may_create):
        yield f"{LOADER} may make no tables: {rights.with_creating}"


TRIAL: Final = "engine-trial"  # no domain has such a key
TRIAL_ROWS: Final = pl.DataFrame(
    {
        "date": [date(1900, 2, 28), None, date(2099, 12, 31)],
        "account": pl.Series([0, 65_535, 4_000_000_000], dtype=pl.UInt32),
        "amount": [2**62, -(2**62), None],
        "text": ['it\'s \\ "é" 数 🙂', "", None],
    }
)


def trial_faults(placement: FactsPlacement, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Put rows at the ends of what columns hold, count them, read them as the server does, and delete them.

    Yields what went wrong, in lines with what to do. The table of the trial is dropped; a lake keeps it, without rows.
    """
    try:
        with (
            closing(open_warehouse(placement, environment, writes=True)) as loader,
            closing(open_warehouse(placement, environment)) as reader,
        ):
            parts = WarehouseParts(loader)
            try:
                yield from trial_differences(parts, WarehouseParts(reader))
                refuse_writer(placement.kind, reader)  # who may write the table that loads make, if none was there
            except ReaderMayWrite as refusal:
                yield str(refusal)
            except (StoreDown, Unavailable) as down:
                yield f"the trial failed: {down}"
            yield from removal_faults(parts)
    except StoreDown as down:
        yield f"the trial failed: {down}"


def removal_faults(loader: WarehouseParts) -> Iterator[str]:
    """Drop the table of the trial, and yield what keeps it from that."""
    try:
        loader.remove(TRIAL)
    except Unavailable as down:
        yield f"the table of the trial stays ({down}): drop it, and grant {LOADER} to drop it"


def trial_differences(loader: WarehouseParts, reader: WarehouseParts) -> Iterator[str]:
    """Yield what a loader or a reader finds other than was put. Raises Unavailable."""
    part, rows = randbits(60), TRIAL_ROWS.with_columns(pl.col("account").cast(pl.Int64)).sort("account")
    expected = {part: PartTotals(rows.height, {"amount": 2**63})}
    loader.put(TRIAL, part, TRIAL_ROWS)
    for user, seen in ((LOADER, loader), (READER, reader)):
        if (found := seen.totals(TRIAL, ["amount"], [part])) != expected:
            yield f"{user} counts {found} in {seen.table(TRIAL)} where {expected} was put: grant SELECT, or report it"
        elif not seen.rows(TRIAL, part, rows.columns).sort("account").equals(rows):
            yield f"{user} reads other rows from {seen.table(TRIAL)} than were put: see its encoding, or report it"
    loader.drop(TRIAL, [part])
    if loader.totals(TRIAL, ["amount"], [part]):
        yield f"{loader.table(TRIAL)} keeps rows that {LOADER} deleted: grant it DELETE"


def number(warehouse: Warehouse, text: str) -> int:
    """Return what a statement finds."""
    return int(warehouse.read(SqlStatement(text)).column(0)[0].as_py())
