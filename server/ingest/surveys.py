"""Surveys of attached tables as loads: one look at a table, held to what a load of its rows would be held to."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import polars as pl
from msgspec.structs import replace

from engine.facts.surveys import Survey
from engine.model.catalogue import Catalogue, Domain
from engine.model.errors import closest, quoted
from server.base.interfaces import StoreDown
from server.feeds.feeds import Binding
from server.files.columns import CONNECT, EXTRACT
from server.files.rejects import VALIDATE, LoadFailed
from server.ingest.rates import LiveTables
from server.warehouses.attached.rows import AttachedColumn, AttachedTable, attached_table
from server.warehouses.attached.survey import FoundIds, Read, SurveyText, faults_in, months_of
from server.warehouses.dialects import ColumnKind
from server.warehouses.lacks import ReaderMayWrite, refuse_table_writer
from server.warehouses.opening import DriverMissing, open_source
from server.warehouses.warehouse import Warehouse, WarehouseDown

Found = TypeVar("Found")
SURVEYING: Final = 3600.0  # seconds that a statement of a survey may take
SMALLER: Final = "attach a view of fewer rows"  # where one takes longer
MOST_IDS: Final = 5  # unknown ids that a message names
VIEW: Final = "change it there, or attach a view of it"
FLOATS: Final = frozenset({"double", "real", "float", "float4", "float8"})
WHOLE: Final = frozenset(
    {"int", "integer", "bigint", "smallint", "tinyint", "hugeint", "int2", "int4", "int8"}
    | {"uinteger", "ubigint", "usmallint", "utinyint", "uhugeint"}
)
EXACT: Final = WHOLE | {"numeric", "decimal", "number"}
DAYS: Final = frozenset(
    {"date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp_ntz", "datetime"}
)
TEXTS: Final = WHOLE | {"text", "character", "varchar", "char", "string", "bpchar", "uuid", "citext", "enum", "name"}
ZONED: Final = "with time zone"
TAKEN: Final[Mapping[ColumnKind, tuple[frozenset[str], str]]] = {
    ColumnKind.DAY: (DAYS, "a day is a DATE or a TIMESTAMP without a time zone"),
    ColumnKind.CODE: (TEXTS, "an id is a text or a whole number"),
    ColumnKind.AMOUNT: (EXACT, "an amount is a NUMERIC or a whole number"),
}


class SurveyedTable:
    """A table as one survey found it."""

    def __init__(self, survey: Survey, table: AttachedTable, attached: Mapping[str, Any]) -> None:
        self.survey = survey
        self.table = table
        self.attached = attached  # as the manifest keeps it


def survey_table(
    binding: Binding,
    domain: Domain,
    catalogue: Catalogue,
    tables: LiveTables,
    folder: Path,
    environment: Mapping[str, str] = os.environ,
) -> SurveyedTable:
    """Return what a survey of the table of a binding finds. Raises LoadFailed, which names the table and column."""
    wanted = attached_table(binding, domain)

    def look(read: Read, warehouse: Warehouse) -> SurveyedTable:
        table, columns = readable_table(read, warehouse, binding, wanted)
        text = SurveyText(table, warehouse.dialect, list(domain.dimensions))
        refuse_rows(read, text, table, domain, catalogue)
        ids = known_ids(read, text, table, binding, domain, catalogue, tables)
        months = list(months_of(read, text, table, domain))
        kept = {
            "table": list(table.name),
            "columns": columns,
            "described": wanted.digest,
            "version": table.version,
        }
        return SurveyedTable(Survey(months=months, ids=ids), table, kept)

    try:
        surveyed = in_source(binding, wanted, look, folder, environment)
    except ReaderMayWrite as writer:
        raise LoadFailed(CONNECT, f"source {binding.source.key}: {writer}") from writer
    if not surveyed.survey.rows and not binding.allows_empty:
        raise LoadFailed(VALIDATE, f"{wanted.words} has no rows; allow_empty: true takes it at its word")
    return surveyed


def attached_faults(
    bindings: Mapping[str, Binding], catalogue: Catalogue, folder: Path, environment: Mapping[str, str] = os.environ
) -> Iterator[str]:
    """Yield why attached tables cannot be surveyed or read, as far as their columns tell, each with its binding.

    Raises ReaderMayWrite if the user of a source may change a table.
    """
    domains = {domain.table: domain for domain in catalogue.domains.values()}
    for key, binding in bindings.items():
        if binding.attach is None:
            continue
        wanted = attached_table(binding, domains[binding.target])
        look = partial(readable_table, binding=binding, wanted=wanted)
        try:
            in_source(binding, wanted, look, folder, environment)
        except LoadFailed as failure:
            yield f"{key}: {failure}"


def in_source(
    binding: Binding,
    wanted: AttachedTable,
    look: Callable[[Read, Warehouse], Found],
    folder: Path,
    environment: Mapping[str, str],
) -> Found:
    """Return what a look at the source of a binding returns, in one transaction. Raises LoadFailed if it fails."""
    try:
        with closing(open_source(binding.source, folder, environment, SURVEYING, SMALLER)) as warehouse:
            return warehouse.together(lambda read: look(read, warehouse))
    except ReaderMayWrite:
        raise
    except DriverMissing as missing:
        says = f"{wanted.words} cannot be surveyed: "
        raise LoadFailed(EXTRACT, f"{says}{missing}", recorded=f"{says}{missing.recorded}") from missing
    except WarehouseDown as down:
        raise LoadFailed(CONNECT, f"{wanted.words} cannot be surveyed: {down}") from down
    except StoreDown as refused:
        raise LoadFailed(EXTRACT, f"{wanted.words} cannot be surveyed: {refused}") from refused


def readable_table(
    read: Read, warehouse: Warehouse, binding: Binding, wanted: AttachedTable
) -> tuple[AttachedTable, dict[str, str]]:
    """Return the table as `resolve` does, at its version if the binding pins one.

    Raises ReaderMayWrite if the user of the source may change the table, and what `read` raises.
    """
    table, columns = resolve(wanted, warehouse.tables_named(read, wanted.name))
    refuse_table_writer(warehouse, read, table.name)
    travels = binding.attach is not None and binding.attach.travels
    return replace(table, version=warehouse.version(read, table.name) if travels else None), columns


def resolve(
    wanted: AttachedTable, tables: Mapping[tuple[str, ...], Mapping[str, str]]
) -> tuple[AttachedTable, dict[str, str]]:
    """Return the table and its columns under the names of the engine. Raises LoadFailed if one is missing or unfit."""
    exact = {name: columns for name, columns in tables.items() if name[-len(wanted.name) :] == wanted.name}
    if len(exact or tables) != 1:
        listed = ", ".join(".".join(name) for name in tables)
        raise LoadFailed(
            EXTRACT,
            f"{wanted.words} is the name of several tables: {listed}; write the one meant, letter by letter"
            if tables
            else f"there is no table {wanted.words}, or the user of the source may not SELECT from it: see `attach`",
        )
    ((name, types),) = (exact or tables).items()
    names: dict[str, str] = {}
    for column, source in wanted.written:
        names[source] = actual = column_named(source, types, wanted.words)
        refuse_type(column, f"{wanted.words}.{actual}", types[actual])
    return wanted.resolved(name, names), names


def column_named(source: str, types: Mapping[str, str], table: str) -> str:
    """Return the name of a column as the engine writes it. Raises LoadFailed."""
    if source in types:
        return source
    alike = [column for column in types if column.lower() == source.lower()]
    if len(alike) != 1:
        near = closest(source, list(types))
        guess = f"did you mean {quoted(near)}? " if near else ""
        raise LoadFailed(
            EXTRACT, f"{table} has no column {source}: {guess}it has {', '.join(types)}; name it under `map`"
        )
    return alike[0]


def refuse_type(column: AttachedColumn | None, named: str, type_: str) -> None:
    """Raise LoadFailed for a column whose type cannot hold what it fills."""
    if column is None or column.kind not in TAKEN:
        return
    (kinds, words), first = TAKEN[column.kind], re.split(r"\W", type_, maxsplit=1)[0]
    if column.kind is ColumnKind.AMOUNT and first in FLOATS:
        raise LoadFailed(EXTRACT, f"{named} is {type_}, which holds no exact amounts: make it NUMERIC; {VIEW}")
    if first not in kinds or ZONED in type_ or type_.endswith("[]"):
        raise LoadFailed(EXTRACT, f"{named} is {type_}, and {words}: {VIEW}")


def refuse_rows(read: Read, text: SurveyText, table: AttachedTable, domain: Domain, catalogue: Catalogue) -> None:
    """Raise LoadFailed for rows that a load would reject, with their numbers and amounts."""
    found = read(text.judged(catalogue.calendar.days_of(domain.grain)))
    if not found.num_rows:
        return
    faults = list(faults_in(found, table, list(catalogue.scenarios), keeps_undated=domain.keeps_undated))
    if faults:
        refuse(table, [str(fault) for fault in faults], [fault.counted for fault in faults])


def refuse(table: AttachedTable, faults: Sequence[str], counted: Sequence[str]) -> None:
    """Raise LoadFailed with the faults of rows; the history of loads holds no value of any."""
    message = f"{table.words} cannot be read as it is: {{}}; {VIEW} without them"
    raise LoadFailed(VALIDATE, message.format("; ".join(faults)), recorded=message.format("; ".join(counted)))


def known_ids(
    read: Read,
    text: SurveyText,
    table: AttachedTable,
    binding: Binding,
    domain: Domain,
    catalogue: Catalogue,
    tables: LiveTables,
) -> dict[str, pl.Series]:
    """Return the ids of each dimension. Raises LoadFailed for those that are no members, with rows and amounts."""
    ids: dict[str, pl.Series] = {}
    strange: list[str] = []
    counted: list[str] = []
    for key in domain.dimensions:
        found = FoundIds.of(read(text.members(key)))
        ids[key] = found.ids
        dimension = catalogue.dimensions[key]
        if dimension.members is None or binding.extends_members:
            continue
        members = tables.known(dimension.members, "id")
        if members is None:
            raise LoadFailed(VALIDATE, f"{dimension.members} is not loaded yet, and {key} names its members")
        if strangers := list(found.strangers(members)):
            rows = sum(count for _, count, _ in strangers)
            some = ", ".join(f"'{id_}'" for id_, *_ in strangers[:MOST_IDS])
            more = f" and {len(strangers) - MOST_IDS} more" if len(strangers) > MOST_IDS else ""
            are = "1 id is no member" if len(strangers) == 1 else f"{len(strangers):,} ids are no members"
            says = f"{rows:,} row{'s' if rows != 1 else ''}: {are} of {key}"
            strange.append(f"{says} ({some}{more}){amount_of(strangers, domain)}")
            counted.append(says)
    if strange:
        faults = (
            f"{fault}: load them into {binding.target}'s members, or unknown_members: extend" for fault in strange
        )
        refuse(table, list(faults), counted)
    return ids


def amount_of(strangers: Sequence[tuple[str, int, int]], domain: Domain) -> str:
    """Return the amount of some rows in words."""
    if not domain.measures:
        return ""
    measure = next(iter(domain.measures.values()))
    total = Decimal(sum(amount for *_, amount in strangers)).scaleb(-measure.places)
    return f", {measure.key} {total:,f}"
