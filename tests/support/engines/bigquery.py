"""A stand-in for BigQuery on this machine: its interface over HTTP, behind which tables of tests answer."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.support.engines.cloud_tables import CloudRefusal, CloudTables

PROJECT, DATASET = "erp", "main"
REASONS: Mapping[str, tuple[str, str]] = {  # number of a refusal -> reason and words
    "000904": ("invalidQuery", "Unrecognized name: {}"),
    "002003": ("notFound", "Not found: Table {}"),
    "000707": ("invalidQuery", "Invalid snapshot time 1601168925462 for table {}. Cannot read before 1601573410026."),
}


class BigQueryServer(ThreadingHTTPServer):
    """Answers requests with what tables have."""

    daemon_threads = True

    def __init__(self, tables: CloudTables) -> None:
        super().__init__(("127.0.0.1", 0), BigQueryHandler)
        self.tables = tables
        self.jobs: dict[str, dict[str, Any]] = {}
        self.found: dict[str, pa.Table | CloudRefusal] = {}
        self.cancelled: list[str] = []
        self.rights: list[str] = []  # to change tables
        self.held = Event()  # while it is set, no job ends

    @property
    def address(self) -> str:
        """The address of the service."""
        return f"http://127.0.0.1:{self.server_port}"

    @cached_property
    def options(self) -> dict[str, str]:
        """The options of a source that logs in here."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        account = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "hunter5",
            "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
            "client_email": "reader@erp.iam.gserviceaccount.com",
            "token_uri": f"{self.address}/token",
        }
        return {
            "adbc.bigquery.sql.auth_type": "adbc.bigquery.sql.auth_type.json_credential_string",
            "adbc.bigquery.sql.auth_credentials": json.dumps(account),
            "adbc.bigquery.sql.project_id": PROJECT,
            "adbc.bigquery.sql.dataset_id": DATASET,
            "adbc.bigquery.sql.query.max_bytes_billed": "1000000000",
        }

    def answer(self, method: str, path: str, asked: Any) -> tuple[int, Any]:
        """Return the status and the answer of a request."""
        if path == "/token":
            return 200, {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}
        path = path.removeprefix(f"/bigquery/v2/projects/{PROJECT}")
        if table := re.fullmatch(r"/datasets/([^/]+)/tables/([^/:]+)(:testIamPermissions)?", path):
            dataset, name, rights = table.groups()
            return (200, {"permissions": self.rights}) if rights else self.table(dataset, name)
        if method == "POST" and path == "/jobs":
            return 200, self.inserted(asked)
        if cancelled := re.fullmatch(r"/jobs/([^/]+)/cancel", path):
            self.cancelled.append(cancelled[1])
            return 200, {"job": self.jobs[cancelled[1]]}
        if job := re.fullmatch(r"/(?:jobs|queries)/([^/]+)", path):
            return self.result(job[1]) if path.startswith("/queries") else (200, self.jobs[job[1]])
        raise AssertionError(path)

    def table(self, dataset: str, name: str) -> tuple[int, Any]:
        """Return what the service knows of a table."""
        columns = self.tables.columns(name) if dataset == DATASET else []
        if not columns:
            return 404, fault("notFound", f"Not found: Table {PROJECT}:{dataset}.{name}", 404)
        fields = [{"name": column, "type": type_.upper(), "mode": "NULLABLE"} for column, type_ in columns]
        reference = {"projectId": PROJECT, "datasetId": dataset, "tableId": name}
        return 200, {"tableReference": reference, "type": self.tables.kind(name), "schema": {"fields": fields}}

    def inserted(self, asked: Any) -> Any:
        """Run the statement of a job."""
        job, query = asked["jobReference"]["jobId"], asked["configuration"]["query"]
        bound = [known["parameterValue"]["value"] for known in query.get("queryParameters", ())]
        try:
            self.found[job] = self.tables.ask(query["query"], "bigquery", bound)
        except CloudRefusal as refusal:
            self.found[job] = refusal
        state = "RUNNING" if self.held.is_set() else "DONE"
        self.jobs[job] = {**asked, "status": {"state": state}, "statistics": {"query": {"statementType": "SELECT"}}}
        return self.jobs[job]

    def result(self, job: str) -> tuple[int, Any]:
        """Return the rows of a job."""
        reference = {"jobReference": self.jobs[job]["jobReference"]}
        if self.held.is_set():
            return 200, {**reference, "jobComplete": False}
        found = self.found[job]
        if isinstance(found, CloudRefusal):
            reason, words = REASONS[found.code]
            return 400, fault(reason, words.format(str(found)), 400)
        fields = [{"name": field.name, "type": kind_of(field.type), "mode": "NULLABLE"} for field in found.schema]
        rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
        said = [{"f": [{"v": None if value is None else str(value)} for value in row]} for row in rows]
        complete = {"jobComplete": True, "totalRows": str(found.num_rows)}
        return 200, {**reference, **complete, "schema": {"fields": fields}, "rows": said}


class BigQueryHandler(BaseHTTPRequestHandler):
    """One connection of the client."""

    protocol_version = "HTTP/1.1"
    server: BigQueryServer

    def do_GET(self) -> None:
        """Answer a request without a body."""
        self.say("GET", None)

    def do_POST(self) -> None:
        """Answer a request."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        self.say("POST", json.loads(body) if body.startswith(b"{") else None)

    def say(self, method: str, asked: Any) -> None:
        """Send the answer of a request."""
        status, answer = self.server.answer(method, urlsplit(self.path).path, asked)
        said = json.dumps(answer).encode()
        with suppress(BrokenPipeError, ConnectionResetError):  # of a caller who waits no longer
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


def fault(reason: str, message: str, code: int) -> Any:
    """Return a refusal as the service says it."""
    return {"error": {"code": code, "message": message, "errors": [{"reason": reason, "message": message}]}}


def kind_of(type_: pa.DataType) -> str:
    """Return what BigQuery calls a type."""
    if pa.types.is_date(type_):
        return "DATE"
    return "INTEGER" if pa.types.is_integer(type_) else "STRING"


@contextmanager
def bigquery(tables: CloudTables) -> Iterator[BigQueryServer]:
    """Hand out a stand-in for BigQuery that runs as long as the block."""
    server = BigQueryServer(tables)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
