"""ClickHouse as a warehouse, over its HTTP interface: one server, or a cluster of shards and replicas.

Lists of codes that are too long for a statement travel beside it as external data, which every shard gets. The reader
therefore needs no schema to write into, and its user is read-only.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from importlib import import_module
from math import ceil
from threading import Thread
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa

from engine.model.stopping import Stop, never
from server.warehouses.dialects import CLICKHOUSE, ColumnKind
from server.warehouses.tables import PART, WarehouseTable
from server.warehouses.warehouse import (
    GLANCE,
    SESSIONS,
    TIMEOUT,
    SqlStatement,
    StatementRefused,
    Warehouse,
    WarehouseDown,
    in_pieces,
)

CONNECTING: Final = 5  # seconds at most
CANCELLING: Final = 1  # seconds that an engine may take to hear of a cancelled statement
WRITING: Final = 600  # seconds that a statement of a loader may take
SHARD: Final = "_shard"  # after the name of a table: its rows on one shard
SETTINGS: Final[Mapping[str, Any]] = {
    "aggregate_functions_null_for_empty": 1,  # the least code of no rows is null, not 0
    "prefer_column_name_to_alias": 1,
    "max_query_size": 64 * 2**20,  # bytes of a statement; the numbers of many parts are long
    "skip_unavailable_shards": 0,  # a shard that does not answer fails the question
}
READING: Final[Mapping[str, Any]] = {
    "select_sequential_consistency": 1,  # a replica that lacks rows fails the question
    "cancel_http_readonly_queries_on_client_close": 1,
}
LOADING: Final[Mapping[str, Any]] = {
    "async_insert": 0,
    "insert_deduplicate": 0,  # rows that were deleted are put again, and replicas would take them for a repetition
    "lightweight_deletes_sync": 2,  # on every replica
}
QUORUM: Final[Mapping[str, Any]] = {
    "distributed_foreground_insert": 1,
    "insert_quorum": "auto",  # the majority of the replicas of a shard
    "insert_quorum_parallel": 0,  # else readers could not tell which replicas have every row
}
REFUSALS: Final[Mapping[int, str]] = {  # code of ClickHouse -> what to do
    16: "a table lacks a column; run tieout provision",
    47: "a table lacks a column; run tieout provision",
    60: "it lacks a table; run tieout provision",
    81: "its database is not there; see the address of `facts`",
    164: "its user may only read; give the loader a login of its own",
    170: "it has no such cluster; see `cluster` of `facts`",
    241: "it took more memory than its user may; raise max_memory_usage",
    497: "grant its user the tables of `facts`",
}
FAILURES: Final[Mapping[int, str]] = {  # code of ClickHouse -> what was found: the same statement may run later
    159: "ended a statement that took longer than `timeout` of `facts` in instance.yaml",
    202: "runs as many statements as it may",
    209: "waited for a shard or replica in vain; see that every server of the cluster runs",
    210: "cannot reach a shard or replica; see that every server of the cluster runs",
    242: "has a replica that only reads, because it cannot reach its Keeper",
    279: "cannot reach a shard; see that every server of the cluster runs",
    285: "has fewer replicas than the quorum of an insert takes; see that every server of the cluster runs",
    286: "waited for the quorum of an insert in vain; see that every server of the cluster runs",
    289: "has a replica that lacks rows; see system.replication_queue",
    319: "does not know whether an insert reached its quorum; see that every server of the cluster runs",
    394: "was told to end a statement",
    516: "refused the user or the password; see the address of `facts`",
    999: "cannot reach its Keeper",
}


class ClickHouseWarehouse(Warehouse):
    """Facts in ClickHouse."""

    engine = "ClickHouse"
    dialect = CLICKHOUSE

    def __init__(
        self,
        url: str,
        timeout: float = TIMEOUT,
        sessions: int = SESSIONS,
        *,
        writes: bool = False,
        cluster: str | None = None,
    ) -> None:
        """`url` is http(s)://USER:PASSWORD@HOST:PORT/DATABASE. `cluster` is named where shards hold the rows."""
        super().__init__(timeout, sessions)
        self._url = url
        self._writes = writes
        self._cluster = cluster
        self._runs = ThreadPoolExecutor(sessions, thread_name_prefix="clickhouse")
        self._driver = import_module("clickhouse_connect")
        self._errors = import_module("clickhouse_connect.driver.exceptions").ClickHouseError

    def put(self, table: WarehouseTable, part: int, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the rows of a partition; see Warehouse.

        A part that is not whole has no reader: no version names it before its rows are counted.
        """
        columns = [PART, *(column.name for column in table.columns)]
        name = self.dialect.name_of(*table.name)

        def write(session: Any) -> None:
            for batch in batches:
                with self._refusals():
                    session.raw_insert(name, columns, stream_of(batch), fmt="ArrowStream")

        if self._has_rows(table, part):
            self.drop(table, [part])
        self._pool.use(write, never, fresh=True)

    def drop(self, table: WarehouseTable, parts: Iterable[int]) -> None:
        """Delete the rows of some parts; see Warehouse."""
        of_shards = self._of_shards(table)
        for among in in_pieces(sorted(parts)):
            self._execute(SqlStatement(f"delete from {of_shards} where {self.dialect.name_of(PART)} in ({among})"))

    def remove(self, table: WarehouseTable) -> None:
        """Drop a table with its rows; where a cluster is named, that of all shards and theirs; see Warehouse."""
        for text in removals_of(table, self._cluster):
            self._execute(SqlStatement(text))

    def close(self) -> None:
        """Close every session. Statements that run are not waited for."""
        super().close()
        self._runs.shutdown(wait=False, cancel_futures=True)

    def _has_rows(self, table: WarehouseTable, part: int) -> bool:
        number, name = self.dialect.name_of(PART), self.dialect.name_of(*table.name)
        return bool(self.read(SqlStatement(f"select {number} from {name} where {number} = {part} limit 1")).num_rows)

    def _of_shards(self, table: WarehouseTable) -> str:
        """Return the tables that hold the rows, as statements name them that change them."""
        *schema, relation = table.name
        if self._cluster is None:
            return self.dialect.name_of(*table.name)
        return f"{self.dialect.name_of(*schema, relation + SHARD)} on cluster {self.dialect.name_of(self._cluster)}"

    def _create(self, table: WarehouseTable) -> None:
        """Create a table, or add the columns that it lacks; where a cluster is named, on each of its servers."""
        for text in tables_of(table, self._cluster):
            self._execute(SqlStatement(text))

    def _open(self) -> Any:
        options = {**SETTINGS, **(LOADING if self._writes else READING)}
        if self._cluster is not None and self._writes:
            options |= QUORUM
        seconds = WRITING if self._writes else self.timeout
        with self._refusals():
            session = self._driver.get_client(
                dsn=self._url,
                client_name="tieout",
                settings={**options, "max_execution_time": seconds},
                connect_timeout=CONNECTING,
                send_receive_timeout=ceil(seconds) + CANCELLING,
                query_retries=0,
                compress=False,
                autogenerate_session_id=False,  # which would keep a kill from its statement
                dedicated_pool=True,
            )
            session.http_retries = 0
            if not self._writes and not session.command("select getSetting('readonly')"):
                session.close()
                raise StatementRefused(
                    "ClickHouse lets the user who reads write as well: give it a user with `settings readonly = 2` "
                    "and nothing but SELECT on the tables of `facts`"
                )
            return session

    def _close(self, session: Any) -> None:
        session.close()

    def _run(self, session: Any, statement: SqlStatement, watch: Stop) -> pa.Table:
        known = f"tieout-{uuid4().hex}"
        running = self._runs.submit(self._fetch, session, statement, known)
        try:
            while not wait([running], GLANCE).done:
                watch()
        finally:
            if not running.done():
                running.add_done_callback(lambda _: session.close())
                self._kill(session, known)
        return running.result()

    def _fetch(self, session: Any, statement: SqlStatement, known: str) -> pa.Table:
        texts = {f"p{at}": value for at, value in enumerate(statement.parameters, 1)}
        with self._refusals():
            raw = session.raw_query(
                statement.text,
                parameters=texts or None,
                fmt="ArrowStream",
                external_data=external_data(statement.sets) if statement.sets else None,
                settings={"query_id": known},
            )
            return pa.ipc.open_stream(raw).read_all() if raw else pa.table({})

    def _kill(self, session: Any, known: str) -> None:
        """End a statement on the engine. One that does not hear of it ends the statement at its own limit."""

        def kill() -> None:
            with suppress(self._errors):
                session.command(f"kill query where query_id = {self.dialect.quote_text(known)} async")

        killing = Thread(target=kill, name="kill of a statement", daemon=True)
        killing.start()
        killing.join(CANCELLING)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except self._errors as fault:
            raise refusal(getattr(fault, "code", None)) from None
        except pa.ArrowInvalid:
            raise WarehouseDown("ClickHouse broke off in the middle of an answer; see its log") from None


def refusal(code: int | None) -> WarehouseDown | StatementRefused:
    """Return what to say of a failure by its code, without anything that the address holds."""
    if code is None:
        return WarehouseDown("ClickHouse of `facts` cannot be reached; see that it runs and that its address is right")
    if code in FAILURES:
        return WarehouseDown(f"ClickHouse {FAILURES[code]}")
    known = REFUSALS.get(code, "see its log")
    return StatementRefused(f"ClickHouse refused a statement about the facts (code {code}): {known}")


def removals_of(table: WarehouseTable, cluster: str | None) -> list[str]:
    """Return the statements that drop the table of a domain, and in a cluster first the one over all shards."""
    name = CLICKHOUSE.name_of
    *schema, relation = table.name
    if cluster is None:
        return [f"drop table if exists {name(*table.name)} sync"]
    whole, shard = name(*table.name), name(*schema, relation + SHARD)
    return [f"drop table if exists {each} on cluster {name(cluster)} sync" for each in (whole, shard)]


def tables_of(table: WarehouseTable, cluster: str | None) -> list[str]:
    """Return the statements that make the table of a domain, or add the columns that it lacks.

    One server has a table of rows, sorted by part. In a cluster each shard has such a table, replicated, and a table
    over all shards sends each part to one of them whole.
    """
    name, types = CLICKHOUSE.name_of, CLICKHOUSE.types
    *schema, relation = table.name
    columns = [f"{name(column.name)} {types[column.kind]}" for column in table.columns]
    listed = ", ".join([f"{name(PART)} {types[ColumnKind.PART]}", *columns])
    whole, sorted_by = name(*table.name), f"order by {name(PART)}"
    if cluster is None:
        names = [whole]
        texts = [f"create table if not exists {whole} ({listed}) engine = MergeTree {sorted_by}"]
    else:
        everywhere, shard = f"on cluster {name(cluster)}", name(*schema, relation + SHARD)
        database = CLICKHOUSE.quote_text(schema[0]) if schema else CLICKHOUSE.schema
        over = ", ".join(
            [CLICKHOUSE.quote_text(cluster), database, CLICKHOUSE.quote_text(relation + SHARD), name(PART)]
        )
        names = [f"{shard} {everywhere}", f"{whole} {everywhere}"]
        texts = [
            f"create table if not exists {names[0]} ({listed}) engine = ReplicatedMergeTree {sorted_by}",
            f"create table if not exists {names[1]} ({listed}) engine = Distributed({over})",
        ]
    return [*texts, *(f"alter table {each} add column if not exists {column}" for each in names for column in columns)]


def stream_of(batch: pa.RecordBatch) -> bytes:
    """Return a batch as a stream of Arrow."""
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, batch.schema) as stream:
        stream.write_batch(batch)
    held: bytes = written.getvalue().to_pybytes()
    return held


def external_data(sets: Mapping[str, Sequence[Sequence[int]]]) -> Any:
    """Return tables of integers as the driver sends them beside a statement."""
    made = import_module("clickhouse_connect.driver.external").ExternalData()
    for name, columns in sets.items():
        batch = pa.record_batch(
            [pa.array(column, pa.int64()) for column in columns], [f"tieout_c{at}" for at in range(len(columns))]
        )
        structure = [f"tieout_c{at} Int64" for at in range(len(columns))]
        made.add_file(file_name=name, data=stream_of(batch), fmt="ArrowStream", structure=structure)
    return made
