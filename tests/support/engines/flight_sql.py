"""A Flight SQL server in this process, over DuckDB: statements, prepared statements with parameters, and a token."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import duckdb
import pyarrow as pa
from google.protobuf.any_pb2 import Any as Packed
from pyarrow import flight

TOKEN = "Bearer hunter2-flight"  # noqa: S105 - of these tests alone
PREFIX = "type.googleapis.com/arrow.flight.protocol.sql."


def field(number: int, value: bytes) -> bytes:
    """Return a field of bytes in the wire format of Protocol Buffers."""
    size, length = len(value), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + value


def first_field(message: bytes) -> bytes:
    """Return the first field of a message, which is one of bytes."""
    size = shift = 0
    for at, byte in enumerate(message[1:], 2):
        size |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            return message[at : at + size]
    return b""


def unpacked(message: bytes) -> tuple[str, bytes]:
    """Return the kind of a command and its first field."""
    packed = Packed.FromString(message)
    return packed.type_url.removeprefix(PREFIX), first_field(packed.value)


class TokenCheck(flight.ServerMiddlewareFactory):  # type: ignore[misc]  # pyarrow ships no types
    """Refuses calls without the token."""

    def start_call(self, _: Any, headers: dict[str, list[str]]) -> None:
        """Look at the headers of a call."""
        if headers.get("authorization") != [TOKEN]:
            raise flight.FlightUnauthenticatedError("no such token")


class FlightSqlServer(flight.FlightServerBase):  # type: ignore[misc]  # as above
    """Answers what the ADBC driver asks for a query."""

    def __init__(self, database: str) -> None:
        super().__init__("grpc://127.0.0.1:0", middleware={"token": TokenCheck()})
        self.database = duckdb.connect(database, read_only=True)
        self.statements: dict[bytes, tuple[str, list[Any]]] = {}
        self.bound: list[list[Any]] = []  # parameters of each query, as they came
        self._handles = count()

    def do_action(self, _: Any, action: flight.Action) -> list[bytes]:
        """Prepare a statement, or close one."""
        if action.type != "CreatePreparedStatement":
            return []
        _, query = unpacked(action.body.to_pybytes())
        handle = str(next(self._handles)).encode()
        self.statements[handle] = (query.decode(), [])
        packed = Packed(type_url=f"{PREFIX}ActionCreatePreparedStatementResult", value=field(1, handle))
        return [packed.SerializeToString()]

    def do_put(self, _: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Take the parameters of a prepared statement."""
        _, handle = unpacked(descriptor.command)
        (row,) = reader.read_all().to_pylist()
        self.bound.append(list(row.values()))
        self.statements[handle] = (self.statements[handle][0], list(row.values()))
        writer.write(pa.py_buffer(b""))

    def get_flight_info(self, _: Any, descriptor: Any) -> flight.FlightInfo:
        """Return the schema of a query, and the ticket for its rows."""
        ticket = flight.Ticket(descriptor.command)
        schema = self._reader(descriptor.command).schema
        return flight.FlightInfo(schema, descriptor, [flight.FlightEndpoint(ticket, [])], -1, -1)

    def do_get(self, _: Any, ticket: flight.Ticket) -> flight.RecordBatchStream:
        """Stream the rows of a query."""
        return flight.RecordBatchStream(self._reader(ticket.ticket))

    def _reader(self, command: bytes) -> pa.RecordBatchReader:
        kind, value = unpacked(command)
        query, parameters = (value.decode(), []) if kind == "CommandStatementQuery" else self.statements[value]
        try:
            return self.database.cursor().sql(query, params=parameters).to_arrow_reader()
        except duckdb.Error as fault:
            raise flight.FlightServerError(str(fault)) from fault


@contextmanager
def flight_sql(database: str) -> Iterator[FlightSqlServer]:
    """Serve a file of DuckDB on a port of this machine while the block runs."""
    with FlightSqlServer(database) as server:
        yield server
