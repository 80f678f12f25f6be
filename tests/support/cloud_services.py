"""Stand-ins on this machine, over HTTP: Snowflake as its driver speaks to it, and a login of Google that refuses."""

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeVar

import pyarrow as pa

TEXT = {"logicalType": "TEXT", "precision": "0", "scale": "0", "charLength": "100", "byteLength": "400"}
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
        is_select = "select" in statement.casefold()
        rows = self.rows if is_select else [{"status": "done"}]
        schema = pa.schema([pa.field(name, pa.string(), metadata=TEXT) for name in rows[0]])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(pa.table([[row[name] for row in rows] for name in rows[0]], schema=schema))
        types = [{"name": name, "type": "text", "length": 100, "nullable": True} for name in rows[0]]
        return {
            "rowtype": types,
            "rowsetBase64": b64encode(sink.getvalue().to_pybytes()).decode(),
            "total": len(rows),
            "returned": len(rows),
            "queryId": str(len(self.statements)),
            "statementTypeId": SELECT,
            "queryResultFormat": "arrow",
        }


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


def snowflake(rows: list[dict[str, str]], password: str) -> AbstractContextManager[SnowflakeServer]:
    """Hand out a stand-in for Snowflake."""
    return served(SnowflakeServer(rows, password))


def refusing_token() -> AbstractContextManager[TokenServer]:
    """Hand out a login that refuses."""
    return served(TokenServer(("127.0.0.1", 0), TokenHandler))
