"""As much of ClickHouse's HTTP interface as its client library uses, on chdb; a process of its own.

The process prints its port. `loader` may do everything; `reader` is read-only; neither has a password.
"""

import atexit
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

OF_HTTP = ("query", "database", "default_format", "query_id", "wait_end_of_query", "client_protocol_version")
OF_TABLES = ("_format", "_structure", "_types")


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement as HTTP brings it."""

    statement: str
    parameters: dict[str, str]
    tables: dict[str, bytes]
    data: bytes
    user: str


class Worker:
    """A process with chdb, which has one session for one statement at a time. Ending a statement ends the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._running = ""
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self._answers, theirs = context.Pipe()
        self._process = context.Process(target=answer_statements, args=(theirs, self._folder), daemon=True)
        self._process.start()
        theirs.close()

    def run(self, asked: Asked) -> bytes:
        """Return the answer to a statement. Raises RuntimeError with ClickHouse's words."""
        with self._lock:
            self._running = asked.parameters.get("query_id", "")
            try:
                self._answers.send(asked)
                found: bytes | str = self._answers.recv()
            except (EOFError, OSError):
                self._start()
                raise RuntimeError("Code: 394. DB::Exception: Query was cancelled") from None
            finally:
                self._running = ""
        if isinstance(found, str):
            raise RuntimeError(found)  # noqa: TRY004 - words of a failure, not a wrong type
        return found

    def kill(self, statement: str) -> None:
        """End the statement that runs, if it is the one that is named."""
        if self._running and self._running in statement:
            self._process.kill()


def answer_statements(asked: Connection, folder: Path) -> None:
    """Answer one statement after another."""
    session = ChdbSession(folder)
    while True:
        try:
            asked.send(session.run(asked.recv()))
        except RuntimeError as fault:
            asked.send(str(fault))
        except EOFError:
            return


class ChdbSession:
    """The session of chdb."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._session = import_module("chdb.session").Session(str(folder / "data"))

    def run(self, asked: Asked) -> bytes:
        """Return the answer to a statement. Raises RuntimeError with ClickHouse's words."""
        given, statement = asked.parameters, asked.statement
        settings = {key: value for key, value in given.items() if not key.startswith("param_") and key not in OF_HTTP}
        settings = {key: value for key, value in settings.items() if not key.endswith(OF_TABLES)}
        self._query(f"use `{given.get('database', 'default')}`")
        if settings:
            self._query("set " + ", ".join(f"{key} = '{value}'" for key, value in settings.items()))
        for name, held in asked.tables.items():
            self._query(f"create or replace table {name} ({given[f'{name}_structure']}) engine = Memory")
            self._insert(name, held, given[f"{name}_format"])
        if asked.data:
            into, _, known = statement.rpartition(" FORMAT ")
            self._insert(into.removeprefix("INSERT INTO "), asked.data, known.strip())
            return b""
        if asked.user == "reader":
            statement += " settings readonly = 2"
        texts = {key.removeprefix("param_"): value for key, value in given.items() if key.startswith("param_")}
        return self._query(statement, given.get("default_format", "TabSeparated"), texts)

    def _insert(self, into: str, data: bytes, known: str) -> None:
        file = self._folder / "inserted"
        file.write_bytes(data)
        self._query(f"insert into {into} select * from file('{file}', '{known}')")  # noqa: S608 - a test says what

    def _query(self, statement: str, known: str = "TabSeparated", texts: dict[str, str] | None = None) -> bytes:
        found: bytes = self._session.query(statement, known, params=texts or None).bytes()
        return found


class HttpInterface(BaseHTTPRequestHandler):
    """Answers statements."""

    protocol_version = "HTTP/1.1"
    worker: ClassVar[Worker]

    def do_POST(self) -> None:
        """Run a statement."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        tables: dict[str, bytes] = {}
        if self.headers.get_content_type() == "multipart/form-data":
            typed = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
            for part in BytesParser(policy=HTTP).parsebytes(typed + body).iter_parts():
                tables[str(part.get_param("name", header="content-disposition"))] = part.get_content()
            body = b""
        statement, data = asked.get("query", ""), body
        if not statement:
            first, _, rest = body.partition(b"\n")
            inserts = first.startswith(b"INSERT INTO")
            statement, data = (first.decode(), rest) if inserts else (body.decode(), b"")
        user = b64decode(self.headers.get("Authorization", "Basic ").split(" ", 1)[1]).decode().split(":")[0]
        try:
            if statement.startswith("kill query"):
                self.worker.kill(statement)
                found = b""
            elif statement == "SELECT version(), timezone()":
                found = b"26.9.2.1\tUTC\n"  # a client is opened while a statement runs
            else:
                found = self.worker.run(Asked(*with_format(statement, asked), tables, data, user))
        except RuntimeError as fault:
            code = str(fault).partition("Code: ")[2].partition(".")[0] or "1000"
            self._answer(500, str(fault).encode(), {"X-ClickHouse-Exception-Code": code})
        else:
            self._answer(200, found, {"X-ClickHouse-Format": asked.get("default_format", "TabSeparated")})

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def with_format(statement: str, asked: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Return a statement and its parameters, with the format that stands at its end among them."""
    text, _, known = statement.rstrip("; \n").rpartition("FORMAT ")
    if text and known.isalnum() and not text.startswith("INSERT INTO"):
        return text, {**asked, "default_format": known}
    return statement, asked


def main() -> None:
    """Serve until the end of standard input."""
    with TemporaryDirectory(prefix="clickhouse") as folder:
        HttpInterface.worker = Worker(Path(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), HttpInterface)
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()


@contextmanager
def clickhouse_server() -> Iterator[tuple[int, Popen[str]]]:
    """Run the server; yield its port and its process."""
    with Popen(
        [sys.executable, "-m", "tests.support.engines.clickhouse"], stdin=PIPE, stdout=PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield int(process.stdout.readline()), process
        finally:
            process.stdin.close()
            process.wait(10)


RUNNING: list[int] = []  # the port of the server that this process shares
DATABASES = count(1)


def shared_clickhouse() -> tuple[int, str]:
    """Return the port of a server that the tests of this process share, and the name of an empty database in it."""
    if not RUNNING:
        opened = ExitStack()
        atexit.register(opened.close)
        RUNNING.append(opened.enter_context(clickhouse_server())[0])
    name = f"books{next(DATABASES)}"
    address = f"http://loader@127.0.0.1:{RUNNING[0]}/default"
    with closing(import_module("clickhouse_connect").get_client(dsn=address, autogenerate_session_id=False)) as client:
        client.command(f"create database {name}")
    return RUNNING[0], name


if __name__ == "__main__":
    main()
