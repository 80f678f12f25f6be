"""BigQuery as a source of attached tables: its SQL, and how Google's client is asked.

The driver that loads extracts reads rows over gRPC alone and names no job that could be cancelled; the client does both
over HTTP, with the same options.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any, Final, TypeVar
from uuid import uuid4

import pyarrow as pa

from engine.model.stopping import Stop, never
from server.base.interfaces import StoreDown
from server.warehouses.dialects import Bindings, ColumnKind, SqlDialect, element_type
from server.warehouses.engines.adbc import options_of
from server.warehouses.warehouse import (
    GLANCE,
    SESSIONS,
    TIMEOUT,
    SqlStatement,
    StatementRefused,
    VersionGone,
    Warehouse,
    WarehouseDown,
)

Returned = TypeVar("Returned")
OPTIONS: Final = "adbc.bigquery.sql."
REQUEST: Final = 10.0  # seconds that a request may take; one that waits for rows is repeated
SCOPES: Final = ("https://www.googleapis.com/auth/bigquery",)
WRITING: Final = ("bigquery.tables.updateData", "bigquery.tables.update", "bigquery.tables.delete")
DOWN: Final = frozenset({"backendError", "internalError", "rateLimitExceeded", "jobRateLimitExceeded", "quotaExceeded"})
TOO_LONG: Final = frozenset({"timeout", "stopped"})
GONE: Final = ("Invalid snapshot time", "Invalid time travel timestamp")
REFUSALS: Final = (  # what Google says -> what to do
    ("Not found: Table", "it finds no such table: {mend}"),
    ("Not found: Dataset", "it finds no such dataset, or looks in another location: see the options of {holds}"),
    ("Unrecognized name", "a table lacks a column: {mend}"),
    ("without a filter over column", "the table demands a filter of its partitions: alter it to demand none"),
    ("maximumBytesBilled", "it reads more bytes than the options of {holds} allow: {quicken}"),
    ("bytesBilledLimitExceeded", "it reads more bytes than the options of {holds} allow: {quicken}"),
    ("bigquery.jobs.create", "grant its account BigQuery Job User in the project"),
    ("Access Denied", "grant its account BigQuery Data Viewer of the table"),
)


def listed_as_json(bindings: Bindings, columns: Sequence[Sequence[Any]], names: Sequence[str]) -> str:
    """Return columns of integers or texts as a table: one bound text holds the rows as JSON."""
    rows = bindings.bind(json.dumps(list(zip(*columns, strict=True)), ensure_ascii=False))
    known = enumerate(zip(columns, names, strict=True))
    listed = (
        f"cast(json_value(tieout_row, '$[{at}]') as {TYPES[element_type(column, 'text')]}) as {name}"
        for at, (column, name) in known
    )
    return f"(select {', '.join(listed)} from unnest(json_query_array({rows})) as tieout_row)"


TYPES: Final = {"text": "string", "bigint": "int64"}
BIGQUERY: Final = SqlDialect(
    name="bigquery",
    types={
        ColumnKind.PART: "int64",
        ColumnKind.DAY: "date",
        ColumnKind.CODE: "int64",
        ColumnKind.AMOUNT: "int64",
        ColumnKind.TEXT: "string",
    },
    quote="`",
    name_escapes={"`": "\\`", "\\": "\\\\"},
    escapes={"'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r"},
    whole="cast({} as int64)",
    wide="cast({} as bignumeric)",
    as_text="cast({} as string)",
    month="date_trunc({}, month)",
    exact="round(cast({} as bignumeric), {})",
    string="cast({} as string)",
    row="struct({})",
    parameter="@p{}",
    listed=listed_as_json,
    digest="sum(cast(farm_fingerprint(to_json_string(struct({}))) as bignumeric))",
    version="select format_timestamp('%F %H:%M:%E3S+00', current_timestamp()) as tieout_version",
    at_version="{table} as {alias} for system_time as of timestamp {version}",
)


@dataclass(slots=True)
class BigQuerySession:
    """A client, and the job that it waits for."""

    client: Any
    job: Any = None


class BigQueryWarehouse(Warehouse):
    """Tables of somebody else in BigQuery."""

    engine = "BigQuery"
    dialect = BIGQUERY

    def __init__(self, address: str, timeout: float = TIMEOUT, sessions: int = SESSIONS) -> None:
        """`address` is a JSON object of the options that loads of extracts take. Raises StatementRefused."""
        super().__init__(timeout, sessions)
        self._library = import_module("google.cloud.bigquery")
        self._errors = import_module("google.api_core.exceptions")
        self._auth_errors = import_module("google.auth.exceptions").GoogleAuthError
        self._requests = import_module("requests").RequestException
        self._retry = import_module("google.cloud.bigquery.retry").DEFAULT_RETRY.with_timeout(min(REQUEST, timeout))
        self._options = options_of(address)
        self._credentials: Any = None
        self._runs = ThreadPoolExecutor(sessions, thread_name_prefix="bigquery")

    def close(self) -> None:
        """Close every session."""
        super().close()
        self._runs.shutdown(wait=False, cancel_futures=True)

    def put(self, *_: object) -> None:
        """Refuse: the tables are somebody else's."""
        raise StatementRefused("BigQuery takes no rows of loads: `facts` of instance.yaml names another engine")

    # What the service knows of a table.

    def tables_named(
        self, read: Callable[[SqlStatement], pa.Table], name: Sequence[str]
    ) -> Mapping[tuple[str, ...], Mapping[str, str]]:
        """Return the columns and types of a table, letter by letter; see Warehouse."""
        del read  # the interface of tables has them at no cost
        dataset, table = name if len(name) > 1 else (self._option("dataset_id"), name[0])
        if not dataset:
            raise StatementRefused("its dataset is unknown: attach DATASET.TABLE, or give the option dataset_id")
        try:
            found = self._asked(lambda client: client.get_table(self._place(client, (dataset, table)), **self._limits))
        except StatementRefused:
            return {}
        return {(dataset, table): {field.name: type_of(field) for field in found.schema}}

    def may_change(self, read: Callable[[SqlStatement], pa.Table], name: Sequence[str]) -> bool:
        """Tell whether the account may change a table; see Warehouse."""
        del read  # rights are asked for over the interface of tables
        held = self._asked(
            lambda client: client.test_iam_permissions(self._place(client, name), WRITING, **self._limits)
        )
        return bool(held.get("permissions"))

    def version(self, read: Callable[[SqlStatement], pa.Table], name: Sequence[str]) -> str:
        """Return the instant at which a survey begins; see Warehouse."""
        kind = self._asked(lambda client: client.get_table(self._place(client, name), **self._limits)).table_type
        if kind != "TABLE":
            raise StatementRefused(f"it is a {kind}, which nobody can read as it was: attach a table, or pin: rows")
        return super().version(read, name)

    def _place(self, client: Any, name: Sequence[str]) -> Any:
        return self._library.DatasetReference(client.project, name[0]).table(name[1])

    @property
    def _limits(self) -> Mapping[str, Any]:
        return {"timeout": min(REQUEST, self.timeout), "retry": self._retry}

    def _asked(self, call: Callable[[Any], Returned]) -> Returned:
        watch = self._watch(never)
        answered: Returned = self._pool.use(
            lambda session: self._waited(session, lambda: call(session.client), watch), watch
        )
        return answered

    # Statements.

    def _open(self) -> BigQuerySession:
        with self._refusals():
            if self._credentials is None:
                self._credentials = credentials_of(self._options)
            return BigQuerySession(
                self._library.Client(
                    project=self._option("project_id"),
                    location=self._option("location"),
                    credentials=self._credentials,
                )
            )

    def _close(self, session: BigQuerySession) -> None:
        """Close a session, and cancel its job, without waiting for the service."""
        Thread(target=self._close_quietly, args=[session], name="close of a session", daemon=True).start()

    def _close_quietly(self, session: BigQuerySession) -> None:
        with suppress(StoreDown), self._refusals():
            if session.job is not None:
                session.job.cancel(**self._limits)
        session.client.close()

    def _run(self, session: BigQuerySession, statement: SqlStatement, watch: Stop) -> pa.Table:
        return self._waited(session, lambda: self._fetch(session, statement), watch)

    def _waited(self, _: BigQuerySession, call: Callable[[], Returned], watch: Stop) -> Returned:
        """Return what a call returns; what `watch` raises leaves it to the end of its request."""
        running = self._runs.submit(self._told, call)
        while not wait([running], GLANCE).done:
            watch()
        return running.result()

    def _told(self, call: Callable[[], Returned]) -> Returned:
        with self._refusals():
            return call()

    def _fetch(self, session: BigQuerySession, statement: SqlStatement) -> pa.Table:
        library = self._library
        bound = [
            library.ScalarQueryParameter(f"p{at}", "STRING", value) for at, value in enumerate(statement.parameters, 1)
        ]
        most = self._option("query.max_bytes_billed")
        config = library.QueryJobConfig(
            query_parameters=bound,
            job_timeout_ms=int(self.timeout * 1000),
            maximum_bytes_billed=int(most) if most else None,
            labels={"application": "tieout"},
        )
        session.job = session.client.query(
            statement.text, config, job_id=f"tieout_{uuid4().hex}", job_retry=None, **self._limits
        )
        try:
            rows = session.job.result(timeout=self.timeout, retry=self._retry, job_retry=None)
            found: pa.Table = rows.to_arrow(create_bqstorage_client=False)
        finally:
            session.job = None
        return found

    def _option(self, name: str) -> str | None:
        return self._options.get(f"{OPTIONS}{name}")

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except self._errors.GoogleAPICallError as fault:
            raise self._refusal(fault) from None
        except self._auth_errors:
            raise WarehouseDown(f"Google refuses the login of {self.holds}; see its options, and its key") from None
        except (self._requests, TimeoutError, self._errors.RetryError):
            raise WarehouseDown(f"BigQuery of {self.holds} cannot be reached; see the network") from None

    def _refusal(self, fault: Any) -> StoreDown:
        """Return what to say of a failure, without anything that the options or the rows hold."""
        words = {"holds": self.holds, "mend": self.mend, "quicken": self.quicken}
        reason = next((str(error.get("reason")) for error in fault.errors if isinstance(error, dict)), "")
        if any(text in fault.message for text in GONE):
            return VersionGone("BigQuery keeps its past rows no longer, or it was made anew since")
        if reason in TOO_LONG:
            return WarehouseDown(f"BigQuery ended a statement that took too long; {self.quicken}")
        if reason in DOWN or fault.code is None or fault.code >= 500:
            return WarehouseDown(f"BigQuery does not answer now ({reason or fault.code}); ask again later")
        known = next((says for text, says in REFUSALS if text in f"{fault.message} {reason}"), "see its job history")
        return StatementRefused(f"BigQuery refused a statement about the facts ({reason}): {known.format(**words)}")


def type_of(field: Any) -> str:
    """Return the type of a column of a table as a survey reads it."""
    type_ = str(field.field_type).lower()
    zoned = " with time zone" if type_ == "timestamp" else ""
    return f"{type_}{zoned}{'[]' if field.mode == 'REPEATED' else ''}"


def credentials_of(options: Mapping[str, str]) -> Any:
    """Return the login that some options of the driver describe. Raises StatementRefused and what Google raises."""
    how = options.get(f"{OPTIONS}auth_type", "").rpartition(".")[2]
    given = options.get(f"{OPTIONS}auth_credentials", "")
    if how == "user_authentication":
        parts = {key: options.get(f"{OPTIONS}auth.{key}") for key in ("client_id", "client_secret", "refresh_token")}
        return login_of(parts)
    if not how.startswith("json_credential"):
        return import_module("google.auth").default(scopes=SCOPES)[0]
    key: Any = None
    with suppress(ValueError, OSError):
        key = json.loads(given if how.endswith("string") else Path(given).read_text(encoding="utf-8"))
    if not isinstance(key, dict):
        raise StatementRefused(f"its option {OPTIONS}auth_credentials is no key of an account, a JSON object")
    return login_of(key)


def login_of(key: Mapping[str, Any]) -> Any:
    """Return the login of a service account, or else of a user. Raises StatementRefused, without the key."""
    try:
        if key.get("type") == "service_account":
            account = import_module("google.oauth2.service_account").Credentials
            return account.from_service_account_info(key, scopes=SCOPES)
        return import_module("google.oauth2.credentials").Credentials.from_authorized_user_info(key, scopes=SCOPES)
    except ValueError:
        raise StatementRefused("its key is neither of a service account nor of a user: make another") from None
