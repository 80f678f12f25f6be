"""Stand-ins on this machine, over HTTP: Snowflake as its driver speaks to it, and a login of Google that refuses."""

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, TypeVar

import pyarrow as pa

from tests.support.engines.cloud_tables import CloudRefusal, CloudTables


@dataclass(frozen=True, slots=True)
class ColumnType:
    """How Snowflake sends the columns of a type."""

    arrow: pa.DataType
    metadata: dict[str, str]
    row_type: dict[str, Any]


KINDS = {
    "text": ColumnType(
        pa.string(),
        {"logicalType": "TEXT", "precision": "0", "scale": "0", "charLength": "100", "byteLength": "400"},
        {"type": "text", "length": 100},
    ),
    "fixed": ColumnType(
        pa.int64(),
        {"logicalType": "FIXED", "precision": "38", "scale": "0"},
        {"type": "fixed", "precision": 38, "scale": 0},
    ),
    "date": ColumnType(pa.date32(), {"logicalType": "DATE", "precision": "0", "scale": "0"}, {"type": "date"}),
}
SELECT = 4096  # the type of a statement that has rows
Server = TypeVar("Server", bound=ThreadingHTTPServer)


class SnowflakeServer(ThreadingHTTPServer):
    """Answers statements with the rows given, all of them texts, and remembers what was asked."""

    daemon_threads = True

    def __init__(self, rows: list[dict[str, str]], password: str) -> None:
        super().__init__(("127.0.0.1", 0), SnowflakeHandler)
        self.rows, self.password = rows, password
        self.statements: list[dict[str, Any]] = []
        self.ended = False

    def answer(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        if "login-request" in path:
            return self.logged_in(asked["data"]["PASSWORD"] == self.password)
        if "query-request" in path:
            self.statements.append(asked)
            return {"success": True, "data": self.result(asked["sqlText"])}
        self.ended = self.ended or "delete=true" in path
        return {"success": True, "data": None}

    def logged_in(self, known: bool) -> dict[str, Any]:
        """Return a session, or the refusal of a login."""
        if not known:
            return {"success": False, "code": "390100", "message": "Incorrect username or password was specified."}
        session = {"databaseName": "ERP", "schemaName": "PUBLIC", "warehouseName": "W", "roleName": "READER"}
        return {
            "success": True,
            "data": {"token": "t", "masterToken": "m", "validityInSeconds": 3600, "sessionInfo": session},
        }

    def result(self, statement: str) -> dict[str, Any]:
        """Return the rows of a select, or the one row that any other statement has."""
        rows = self.rows if "select" in statement.casefold() else [{"status": "done"}]
        return self.result_of(pa.table({name: [row[name] for row in rows] for name in rows[0]}))

    def result_of(self, rows: pa.Table) -> dict[str, Any]:
        """Return rows as the service sends them."""
        typed = [KINDS[kind_of(field.type)] for field in rows.schema]
        fields = [
            pa.field(field.name, kind.arrow, metadata=kind.metadata)
            for field, kind in zip(rows.schema, typed, strict=True)
        ]
        schema = pa.schema(fields)
        columns = [column.cast(field.type) for column, field in zip(rows.columns, fields, strict=True)]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        types = [
            {"name": field.name, "nullable": True, **kind.row_type}
            for field, kind in zip(rows.schema, typed, strict=True)
        ]
        return {
            "rowtype": types,
            "rowsetBase64": b64encode(sink.getvalue().to_pybytes()).decode(),
            "total": rows.num_rows,
            "returned": rows.num_rows,
            "queryId": str(len(self.statements)),
            "statementTypeId": SELECT,
            "queryResultFormat": "arrow",
        }


class TableServer(SnowflakeServer):
    """Answers statements with what tables have, as Snowflake types it."""

    def __init__(self, tables: CloudTables, password: str) -> None:
        super().__init__([], password)
        self.tables = tables
        self.aborted: list[str] = []
        self.held = Event()  # while it is set, statements that name a table wait for their end
        self.released = Event()

    def answer(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request, or what is refused."""
        if "abort-request" in path:
            self.aborted.append(str(asked.get("requestId")))
            self.released.set()
            return {"success": True, "data": None}
        try:
            return super().answer(path, asked)
        except CloudRefusal as refusal:
            data = {"errorCode": refusal.code, "sqlState": "02000", "queryId": str(len(self.statements))}
            return {"success": False, "code": refusal.code, "message": str(refusal), "data": data}

    def result(self, statement: str) -> dict[str, Any]:
        """Return the rows of a select, or the one row that any other statement has."""
        if not statement.startswith("select"):
            return self.result_of(pa.table({"status": ["done"]}))
        if self.held.is_set() and "tieout_base" in statement:
            self.released.wait(60)
            raise CloudRefusal("000604", "SQL execution canceled")
        bound = self.statements[-1].get("bindings") or {}
        values = [bound[str(place)]["value"] for place in range(1, len(bound) + 1)]
        return self.result_of(self.tables.ask(statement, "snowflake", values))


class SnowflakeHandler(BaseHTTPRequestHandler):
    """One connection of the driver."""

    protocol_version = "HTTP/1.1"
    server: SnowflakeServer

    def do_POST(self) -> None:
        """Answer a request."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        said = json.dumps(self.server.answer(self.path, json.loads(body or b"{}"))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # of a caller who waits no longer
            self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


class TokenServer(ThreadingHTTPServer):
    """Refuses every login."""

    daemon_threads = True
    asked = 0


class TokenHandler(BaseHTTPRequestHandler):
    """One login."""

    server: TokenServer

    def do_POST(self) -> None:
        """Refuse."""
        self.server.asked += 1
        said = json.dumps({"error": "invalid_grant", "error_description": "no such account"}).encode()
        self.send_response(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@contextmanager
def served(server: Server) -> Iterator[Server]:
    """Hand out a server that runs as long as the block."""
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def kind_of(type_: pa.DataType) -> str:
    """Return what Snowflake calls a type."""
    return "date" if pa.types.is_date(type_) else "fixed" if pa.types.is_integer(type_) else "text"


def snowflake_tables(tables: CloudTables, password: str) -> AbstractContextManager[TableServer]:
    """Hand out a stand-in for Snowflake that has tables."""
    return served(TableServer(tables, password))


def snowflake(rows: list[dict[str, str]], password: str) -> AbstractContextManager[SnowflakeServer]:
    """Hand out a stand-in for Snowflake."""
    return served(SnowflakeServer(rows, password))


def refusing_token() -> AbstractContextManager[TokenServer]:
    """Hand out a login that refuses."""
    return served(TokenServer(("127.0.0.1", 0), TokenHandler))
