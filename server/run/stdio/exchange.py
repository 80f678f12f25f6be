"""Requests to the server of an instance over a connection to its private socket, one at a time, and their answers."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from select import select
from typing import NamedTuple

import h11

TARGET = "/mcp"
CHUNK = 1 << 18
Headers = Sequence[tuple[str, str]]
COMMON: Headers = (
    ("host", "private"),  # the server knows its own
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
)


class ServerGone(Exception):
    """The server closed a connection before it answered, or did not answer in time."""


class Reply(NamedTuple):
    """The status and the body of an answer."""

    status: int
    body: bytes


@dataclass(eq=False)
class Exchange:
    """A connection, on which one request after the other is answered."""

    connection: socket.socket

    def __post_init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT)
        self._is_closed = False

    def ask(self, body: bytes, headers: Headers) -> Reply:
        """Send a message and return its answer. Raises ServerGone."""
        head = h11.Request(
            method="POST", target=TARGET, headers=[*COMMON, *headers, ("content-length", str(len(body)))]
        )
        try:
            sent = [self._http.send(part) for part in (head, h11.Data(data=body), h11.EndOfMessage())]
            self.connection.sendall(b"".join(part for part in sent if part))
            reply = self._reply()
        except (OSError, h11.ProtocolError) as fault:
            self.close()
            raise ServerGone(str(fault)) from fault
        if self._http.our_state is h11.MUST_CLOSE or self._http.their_state is h11.MUST_CLOSE:
            self.close()
        else:
            self._http.start_next_cycle()
        return reply

    def _reply(self) -> Reply:
        status, parts = 0, []
        while not isinstance(event := self._http.next_event(), h11.EndOfMessage):
            match event:
                case h11.NEED_DATA:
                    self._http.receive_data(self.connection.recv(CHUNK))
                case h11.Response():
                    status = event.status_code
                case h11.Data():
                    parts.append(bytes(event.data))
                case h11.ConnectionClosed():
                    raise ConnectionResetError
        return Reply(status, b"".join(parts))

    @property
    def is_usable(self) -> bool:
        """Whether the server has not closed the connection."""
        return not self._is_closed and not select([self.connection], [], [], 0)[0]

    def cancel(self) -> None:
        """Have a running `ask` raise ServerGone, and the server stop its call."""
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:  # it has ended meanwhile
            return

    def close(self) -> None:
        """Close the connection."""
        self._is_closed = True
        self.connection.close()
