"""Spark for tests: a server of Spark Connect with two workers that are processes, and facts in a lake that it reads.

Sail speaks Spark's SQL, so Spark is asked what Sail is asked. `pip install -r constraints/spark.txt` brings it; Java
runs it. A table is a folder of Parquet files, one for each part: Spark reads Delta tables with a library of its own,
which no Python package brings.
"""

import atexit
import os
import socket
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from signal import SIGKILL
from subprocess import STDOUT, Popen, TimeoutExpired
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from msgspec.structs import replace
from pyarrow import parquet

from server.base.interfaces import StoreDown
from server.warehouses.dialects import SPARK
from server.warehouses.engines.adbc import AdbcWarehouse
from server.warehouses.engines.flightsql import schema_of
from server.warehouses.tables import WarehouseTable
from server.warehouses.warehouse import SESSIONS, StatementRefused, WarehouseDown
from tests.support.service.servers import free_port, wait_for

STARTING = 180.0  # seconds that a server may take to listen
ENDING = 20.0  # seconds that it may take to end
PATIENCE = 120.0  # seconds that a statement may take
SCHEMA = "_common_metadata"  # the file of a folder from which Spark takes the columns of all
WARM = "select sum(id) as n from range(0, 10, 1, 2)"  # in both workers


@dataclass
class SparkServer:
    """A server, and the folder that it has beside the tests."""

    port: int
    folder: Path
    process: Popen[bytes]


class SparkCursor:
    """A statement of a session, as a driver of ADBC has it."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def execute(self, text: str, parameters: Sequence[Any] | None) -> None:
        """Run a statement."""
        self._rows: pa.Table = self._session.sql(text, args=parameters).toArrow()

    def fetch_arrow_table(self) -> pa.Table:
        """Return its rows."""
        return self._rows

    def adbc_cancel(self) -> None:
        """End it."""
        self._session.interruptAll()

    def close(self) -> None:
        """Do nothing: the rows are here."""


class SparkConnection:
    """A session of Spark Connect, as a driver of ADBC has it."""

    def __init__(self, port: int) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            builder = import_module("pyspark.sql.connect.session").SparkSession.builder
        self._session = builder.remote(f"sc://127.0.0.1:{port}").create()

    def cursor(self) -> SparkCursor:
        """Return a statement."""
        return SparkCursor(self._session)

    def close(self) -> None:
        """End the session."""
        self._session.stop()


class SparkWarehouse(AdbcWarehouse):
    """Facts in Parquet files of a lake, read over Spark Connect."""

    engine = "Spark"

    def __init__(self, server: SparkServer, lake: str, timeout: float = PATIENCE, sessions: int = SESSIONS) -> None:
        super().__init__(SimpleNamespace(Error=import_module("pyspark.errors").PySparkException), timeout, sessions)
        self._port = server.port
        self._lake = server.folder / lake
        self.dialect = replace(SPARK, lake=str(self._lake), lake_format="parquet")

    # Writing, into the lake.

    def put(self, table: WarehouseTable, part: int, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the rows of a partition into a file of its own; see Warehouse."""
        file, schema = self._file(table, part), schema_of(table)
        unfinished = file.with_name(f".{file.name}")  # which Spark does not see
        with parquet.ParquetWriter(unfinished, schema) as written:
            for batch in batches:
                written.write_batch(batch.cast(schema))
        unfinished.replace(file)

    def drop(self, table: WarehouseTable, parts: Collection[int]) -> None:
        """Delete the files of some parts; see Warehouse."""
        for part in parts:
            self._file(table, part).unlink(missing_ok=True)

    def columns(self, relation: str) -> frozenset[str]:
        """Return the columns of a table; see Warehouse."""
        with suppress(FileNotFoundError):
            return frozenset(parquet.read_schema(self._lake / relation / SCHEMA).names)
        return frozenset()

    def has(self, table: WarehouseTable) -> bool:
        """Tell whether the lake has a table."""
        return bool(self.columns(table.name[-1]))

    def _create(self, table: WarehouseTable) -> None:
        """Create a table, or add the columns that it lacks."""
        file = self._lake / table.name[-1] / SCHEMA
        file.parent.mkdir(parents=True, exist_ok=True)
        known = [parquet.read_schema(file)] if file.exists() else []
        parquet.write_metadata(pa.unify_schemas([*known, schema_of(table)]), file)

    def _file(self, table: WarehouseTable, part: int) -> Path:
        return self._lake / table.name[-1] / f"part-{part}.parquet"

    # Reading, over Spark Connect.

    def _connect(self) -> SparkConnection:
        return SparkConnection(self._port)

    def _refusal(self, _status: str, message: str) -> StoreDown:
        """Return what to say of a failure: one that Spark names, in brackets, is of the statement."""
        words = message.partition("\n")[0]
        if words.startswith("["):
            return StatementRefused(f"Spark refused a statement about the facts: {words}")
        return WarehouseDown(f"Spark did not run a statement: {words}")


@contextmanager
def spark_server() -> Iterator[SparkServer]:
    """Run Spark with two workers, each with a core and 1,024 MB."""
    found = find_spec("pyspark")
    assert found is not None, "pyspark is not installed: pip install --require-hashes -r constraints/spark.txt"
    (home,) = found.submodule_search_locations or [""]
    with TemporaryDirectory(prefix="spark") as named:
        folder, port = Path(named), free_port()
        options = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.ui.enabled": "false",
        }
        command = [f"{home}/bin/spark-submit", "--master", "local-cluster[2,1,1024]"]
        command += [part for key, value in options.items() for part in ("--conf", f"{key}={value}")]
        command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
        places = {"SPARK_WORKER_DIR": str(folder / "workers"), "SPARK_LOCAL_DIRS": str(folder / "local")}
        environment = {**os.environ, **places, "SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1"}
        log = folder / "server.log"
        with log.open("wb") as sink:
            process = Popen(
                command, cwd=folder, env=environment, stdout=sink, stderr=STDOUT, start_new_session=True
            )  # in a group of its own with its workers

        def listens() -> bool:
            assert process.poll() is None, f"Spark did not start:\n{log.read_text()}"
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return True
            return False

        try:
            wait_for(listens, STARTING)
            with closing(SparkConnection(port)) as connection:
                connection.cursor().execute(WARM, None)
            yield SparkServer(port, folder, process)
        finally:
            process.terminate()
            with suppress(TimeoutExpired):
                process.wait(ENDING)
            with suppress(ProcessLookupError):  # all have ended
                os.killpg(process.pid, SIGKILL)
            process.wait()


RUNNING: list[SparkServer] = []


def shared_spark() -> SparkServer:
    """Return a server that the tests of this process share; it ends with the process."""
    if not RUNNING:
        opened = ExitStack()
        atexit.register(opened.close)
        RUNNING.append(opened.enter_context(spark_server()))
    return RUNNING[0]
