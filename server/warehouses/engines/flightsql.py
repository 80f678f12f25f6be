"""Flight SQL as a warehouse: Sail reads tables of facts that lie in the folder of a lake, as Delta tables.

Sail takes no rows over Flight SQL, so the loader writes them into the lake itself. A statement names each table by its
folder: it needs no catalogue, and a folder without a table, or a file that is missing, fails it.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Lock
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
from msgspec.structs import replace

from engine.model.stopping import Stop, never
from server.base.interfaces import StoreDown
from server.warehouses.dialects import DELTA, ICEBERG, SPARK, ColumnKind, LakeVersion
from server.warehouses.engines.adbc import AdbcWarehouse
from server.warehouses.tables import PART, WarehouseTable
from server.warehouses.warehouse import (
    PROBE,
    SESSIONS,
    TIMEOUT,
    SqlStatement,
    StatementRefused,
    VersionGone,
    Warehouse,
    WarehouseDown,
    in_pieces,
)

CONNECTING: Final = 5  # seconds at most
CALLS: Final = "adbc.flight.sql.rpc.timeout_seconds."
QUERY: Final = f"{CALLS}query"
MESSAGE: Final = 2**30  # bytes of a message at most
KEPT: Final = 1  # hours that the files of dropped parts stay, for statements that began before
ARROW: Final = {
    ColumnKind.DAY: pa.date32(),
    ColumnKind.CODE: pa.int64(),
    ColumnKind.AMOUNT: pa.int64(),
    ColumnKind.TEXT: pa.string(),
}
DOWN: Final = {  # name of a status of ADBC -> what was found: the same statement may run later
    "IO": "cannot be reached; see that it runs and that its address is right",
    "TIMEOUT": "ended a statement that took too long; {quicken}",
    "CANCELLED": "was told to end a statement",
    "UNAUTHENTICATED": "refuses the user or the password; see the address of {holds}",
    "UNAUTHORIZED": "refuses its user; see the address of {holds}",
}
BROKEN: Final = ("encoding error", "execution error")  # of Sail: a plan failed while it ran
REFUSALS: Final = (  # words of Sail -> what to do
    ("No commit files", "it finds no table in the lake; see that it has the folder too, or {mend}"),
    ("TABLE_OR_VIEW_NOT_FOUND", "it has no table of this name; {mend}"),
    ("not found: No such file", "a file of the lake is missing; restore the lake, or load its feeds again"),
    (
        "worker task slots",
        "it reads more parts than its workers have task slots; raise cluster.worker_task_slots of Sail",
    ),
    ("Overflowing on", "an amount has more digits than 38"),
    ("cannot resolve attribute", "a table lacks a column; {mend}"),
)
GONE: Final = (  # words of Sail about a version of a table -> why it cannot be read
    ("Missing commit file", "Sail reads no version from before the last checkpoint of a table"),
    ("not found: No such file", "files of that version have been deleted"),
    ("Snapshot with id", "that snapshot has expired"),
)
LOG: Final = "_delta_log"
BY_ROWS: Final = "say `pin: rows`"
METADATA: Final = r"/(v?(\d+)(?:-[0-9a-f-]+)?[.]metadata[.]json)$"  # of the paths of Iceberg: file and number
COMMIT: Final = "/[0-9]{20}[.]json$"  # of the paths of a log


class FlightSqlWarehouse(AdbcWarehouse):
    """Facts in a lake, read over Flight SQL."""

    engine = "Flight SQL"

    def __init__(
        self,
        url: str,
        timeout: float = TIMEOUT,
        sessions: int = SESSIONS,
        *,
        writes: bool = False,
        attaches: bool = False,
    ) -> None:
        """`url` is grpc[+tls]://USER:PASSWORD@HOST:PORT?lake=FOLDER; the engine and the loader see the same folder.

        One that `attaches` tables of somebody else has no lake. Raises StatementRefused if another one names none.
        """
        super().__init__(import_module("adbc_driver_flightsql.dbapi"), timeout, sessions)
        address = urlsplit(url)
        self._lake = parse_qs(address.query).get("lake", [""])[0].rstrip("/")
        if not self._lake and not attaches:
            raise StatementRefused("the address of `facts` names no lake: end it with ?lake=FOLDER")
        self.dialect = replace(SPARK, lake=self._lake)
        self._uri = f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
        self._options = call_options(timeout, unquote(address.username or ""), unquote(address.password or ""))
        self._delta = import_module("deltalake") if writes else None
        self._writing = Lock()

    # Writing, into the lake.

    def put(self, table: WarehouseTable, part: int, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the rows of a partition in one commit of the table; see Warehouse."""
        schema = schema_of(table)
        rows = pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in batches))
        with self._commits() as delta:
            delta.write_deltalake(
                self._folder(table), rows, mode="overwrite", predicate=f"{PART} = {part}", schema_mode="merge"
            )

    def drop(self, table: WarehouseTable, parts: Collection[int]) -> None:
        """Delete the rows of some parts, and files that have long been deleted; see Warehouse."""
        with self._commits() as delta:
            held = delta.DeltaTable(self._folder(table))
            for among in in_pieces(sorted(parts)):
                held.delete(f"{PART} in ({among})")
            held.vacuum(retention_hours=KEPT, enforce_retention_duration=False, dry_run=False)

    def remove(self, table: WarehouseTable) -> None:
        """Do nothing: the library deletes rows but no tables, so an empty table stays in the lake; see Warehouse."""

    def columns(self, relation: str) -> frozenset[str]:
        """Return the columns of a table; see Warehouse."""
        with suppress(StatementRefused):
            empty = self.read(SqlStatement(f"select * from {self.dialect.table_of(relation)} limit 0"))
            return frozenset(empty.column_names)
        return frozenset()

    def has(self, table: WarehouseTable) -> bool:
        """Tell whether the lake has a table."""
        with self._commits() as delta:
            return bool(delta.DeltaTable.is_deltatable(self._folder(table)))

    def may_write(self) -> bool:
        """Tell whether the engine may write into the lake; see Warehouse."""
        place = self.dialect.quote_text(f"{self._lake}/{PROBE}")
        try:
            self._execute(
                SqlStatement(f"create or replace table {PROBE} (tieout_one int) using delta location {place}")
            )
        except StoreDown:
            self.ping()
            return False
        return True

    def _create(self, table: WarehouseTable) -> None:
        """Create a table, or add the columns that it lacks.

        It has no columns of partitions: Sail's workers take their places for those of other columns. Engines skip
        files by the least and greatest part that the log knows of each.
        """
        schema = schema_of(table)
        with self._commits() as delta:
            folder = self._folder(table)
            delta.DeltaTable.create(folder, schema=schema, mode="ignore")
            delta.write_deltalake(folder, schema.empty_table(), mode="append", schema_mode="merge")

    def _folder(self, table: WarehouseTable) -> str:
        return f"{self._lake}/{table.name[-1]}"

    @contextmanager
    def _commits(self) -> Iterator[Any]:
        """Yield the library of the tables; one commit is made after another. Raises StatementRefused."""
        if self._delta is None:
            raise StatementRefused("the user who reads a lake of `facts` writes nothing into it")
        try:
            with self._writing:
                yield self._delta
        except (self._delta.exceptions.DeltaError, OSError) as fault:
            raise StatementRefused(
                f"the lake of `facts` cannot be written ({type(fault).__name__}); see that its folder is there and "
                "that the loader may write into it"
            ) from fault

    # Attached tables.

    def tables_named(
        self, read: Callable[[SqlStatement], pa.Table], name: Sequence[str]
    ) -> Mapping[tuple[str, ...], Mapping[str, str]]:
        """Return the columns and types of a table, letter by letter: the catalogue cannot be asked; see Warehouse."""
        empty = read(SqlStatement(f"select * from {self.dialect.table_of(*name)} limit 0"))
        return {tuple(name): {field.name: words_of_type(field.type) for field in empty.schema}}

    def version(self, read: Callable[[SqlStatement], pa.Table], name: Sequence[str]) -> str:
        """Return the latest version of a table in the lake; see Warehouse."""
        if name[0] == ICEBERG and "/" in name[-1]:
            return str(self._snapshot(read, name[-1]))
        folder = name[-1] if "/" in name[-1] else self._location(read, name)
        log = self.dialect.name_of(f"{folder.rstrip('/')}/{LOG}/*.json")
        newest = f"select max(path) as tieout_newest from binaryFile.{log} where path rlike '{COMMIT}'"
        path = read(SqlStatement(newest)).column(0)[0].as_py()
        if path is None:
            raise StatementRefused(f"{'.'.join(name)} is no Delta table, so nobody can read it as it was; {BY_ROWS}")
        known = LakeVersion(int(path.rpartition("/")[2].partition(".")[0]), "", DELTA, folder)
        return str(replace(known, commit=self._commit(read, known)))

    def has_version(self, version: str, stop: Stop = never) -> bool:
        """Tell whether the folder holds the table of a version; another one may have been made there. See Warehouse."""
        known = LakeVersion.parse(version)
        return (
            known.form == ICEBERG or self._commit(lambda statement: self.read(statement, stop), known) == known.commit
        )

    def _snapshot(self, read: Callable[[SqlStatement], pa.Table], folder: str) -> LakeVersion:
        """Return the current snapshot of an Iceberg table, which its newest file of metadata names."""
        metadata = f"{folder.rstrip('/')}/metadata"
        listed = f"select path from binaryFile.{self.dialect.name_of(f'{metadata}/*.metadata.json')}"
        files: dict[int, list[str]] = {}
        for path in read(SqlStatement(listed)).column(0).to_pylist():
            if found := re.search(METADATA, path):
                files.setdefault(int(found[2]), []).append(found[1])
        newest = files[max(files)] if files else []
        if len(newest) != 1:
            raise StatementRefused(f"{folder} has {len(newest)} newest files of Iceberg metadata, not one; {BY_ROWS}")
        file = self.dialect.name_of(f"{metadata}/{newest[0]}")
        text = read(SqlStatement(f"select cast(content as string) as tieout_text from binaryFile.{file}"))
        snapshot = json.loads(text.column(0)[0].as_py()).get("current-snapshot-id")
        if snapshot in (None, -1):
            raise StatementRefused(f"the Iceberg table {folder} has no snapshot yet: write its first rows")
        return LakeVersion(snapshot, "-", ICEBERG, folder)

    def _commit(self, read: Callable[[SqlStatement], pa.Table], known: LakeVersion) -> str:
        """Return a digest of the commit that made a version: it names its files, whose names are random."""
        log = self.dialect.name_of(f"{known.folder.rstrip('/')}/{LOG}/{known.number:020}.json")
        found = read(SqlStatement(f"select sha2(content, 256) as tieout_commit from binaryFile.{log}"))
        return str(found.column(0)[0].as_py()) if found.num_rows else ""

    def _location(self, read: Callable[[SqlStatement], pa.Table], name: Sequence[str]) -> str:
        """Return the folder of a table of the catalogue. Raises StatementRefused if it has none, as views have."""
        described = read(SqlStatement(f"describe extended {self.dialect.name_of(*name)}"))
        known = dict(zip(*(column.to_pylist() for column in described.columns[:2]), strict=True))
        if known.get("Provider") != "delta" or not known.get("Location"):
            raise StatementRefused(f"{'.'.join(name)} is no Delta table, so nobody can read it as it was; {BY_ROWS}")
        return str(known["Location"])

    # Reading, over Flight SQL.

    def _connect(self) -> Any:
        connecting = f"{min(CONNECTING, self.timeout):g}"
        connection = self._driver.connect(self._uri, db_kwargs={**self._options, QUERY: connecting}, autocommit=True)
        connection.adbc_connection.set_options(**{QUERY: self._options[QUERY]})
        return connection

    def _refusal(self, status: str, message: str) -> StoreDown:
        return refusal(status, message, self)


def call_options(timeout: float, user: str, password: str) -> dict[str, str]:
    """Return the options of a database: the driver ends each call at the timeout, whatever the server does."""
    calls = dict.fromkeys(("query", "fetch", "update"), f"{timeout:g}")
    login = b64encode(f"{user}:{password}".encode()).decode()
    return {
        **{f"{CALLS}{call}": seconds for call, seconds in calls.items()},
        "adbc.flight.sql.client_option.with_max_msg_size": str(MESSAGE),
        **({"adbc.flight.sql.authorization_header": f"Basic {login}"} if user else {}),
    }


def words_of_type(type_: pa.DataType) -> str:
    """Return a type of Arrow as SQL calls it."""
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp" if type_.tz is None else "timestamp with time zone"
    known = {pa.date32(): "date", pa.string(): "varchar", pa.large_string(): "varchar", pa.string_view(): "varchar"}
    return "integer" if pa.types.is_integer(type_) else known.get(type_, str(type_))


def schema_of(table: WarehouseTable) -> pa.Schema:
    """Return the columns of a table in a lake."""
    return pa.schema({PART: pa.int64(), **{column.name: ARROW[column.kind] for column in table.columns}})


def refusal(status: str, message: str, of: type[Warehouse] | Warehouse = Warehouse) -> StoreDown:
    """Return what to say of a failure by its status, without anything that the address holds."""
    words = {"holds": of.holds, "mend": of.mend, "quicken": of.quicken}
    if status in DOWN:
        return WarehouseDown(f"Flight SQL of {of.holds} {DOWN[status].format(**words)}")
    gone = next((why for text, why in GONE if text in message), None)
    if gone is not None and isinstance(of, FlightSqlWarehouse) and not of.dialect.lake:
        return VersionGone(gone)
    known = next((says for text, says in REFUSALS if text in message), None)
    if known is None and any(text in message for text in BROKEN):
        return WarehouseDown(f"Flight SQL of {of.holds} broke off a statement; see that its workers run, and its log")
    known = (known or "see its log").format(**words)
    return StatementRefused(f"Flight SQL refused a statement about the facts ({status}): {known}")
