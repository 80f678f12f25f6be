"""The bridge: passes the messages of a host on to the server of an instance, and its answers back.

Messages are lines on standard input and output. Each is a request of its own to the server, as over HTTP, so that the
caps, the refusals and the answers are the same. The bridge reads of a message only where its answer belongs.
"""

import json
import os
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Lock, Thread
from typing import Any

from msgspec import Struct

from server.run.stdio.exchange import Exchange, Headers, Reply, ServerGone
from server.wire.message import INVALID_REQUEST, MOST_BYTES, PARSE_ERROR

AT_ONCE = 64  # requests that wait for an answer; further ones stay in the pipe
TRIES = 3  # of a request whose server ended meanwhile
CHUNK = 1 << 16
INTERNAL_ERROR = -32603
VERSION = "io.modelcontextprotocol/protocolVersion"  # in the _meta of a request of the newest protocol
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}  # which a header repeats
INITIALIZE, CANCELLED = "initialize", "notifications/cancelled"
TOO_LONG = f"The message has more than {MOST_BYTES} bytes. Ask for less in one call."
NO_OBJECT = "The line is no JSON object. Send one JSON-RPC message a line, as UTF-8."
Id = str | int | None


class ServerFailed(Exception):
    """No server answers, and none can be started; the message says why."""


class HostMessage(Struct, frozen=True):
    """A message as far as the bridge reads it."""

    body: bytes
    request_id: Id  # None of a notification, and of what cannot be read
    method: str
    params: Mapping[str, Any]

    @classmethod
    def read(cls, line: bytes) -> "HostMessage | None":
        """Read a line; None if it is no JSON object."""
        try:
            tree = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(tree, dict):
            return None
        params, request_id = tree.get("params"), tree.get("id")
        method = tree.get("method")
        return cls(
            line,
            request_id if isinstance(request_id, str | int) else None,
            method if isinstance(method, str) else "",
            params if isinstance(params, dict) else {},
        )

    def headers(self, negotiated: str | None) -> Headers:
        """Return the headers of the protocol, which repeat what the message says."""
        meta = self.params.get("_meta")
        version = meta.get(VERSION) if isinstance(meta, dict) else None
        if not isinstance(version, str):
            return [("mcp-protocol-version", negotiated)] if negotiated else []
        name = self.params.get(NAMES.get(self.method, ""))
        named = [("mcp-name", header_text(name))] if isinstance(name, str) else []
        return [("mcp-protocol-version", header_text(version)), ("mcp-method", header_text(self.method)), *named]


@dataclass(eq=False)
class Bridge:
    """Passes messages on, until the host closes its end."""

    connect: Callable[[], Exchange]  # raises ServerFailed
    write: Callable[[bytes], None]  # a whole line
    _idle: list[Exchange] = field(default_factory=list)
    _in_flight: dict[Id, Exchange] = field(default_factory=dict)
    _cancelled: set[Id] = field(default_factory=set)
    _places: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(AT_ONCE))
    _lock: Lock = field(default_factory=Lock)  # of what the threads share
    _negotiated: str | None = None

    def run(self, incoming: int) -> None:
        """Pass on the lines of a descriptor until it ends, and wait for the answers."""
        for line in lines(incoming):
            if line is None:
                self.write(refusal(None, TOO_LONG, INVALID_REQUEST))
            elif line.strip():
                self._take(line)
        for _ in range(AT_ONCE):
            self._places.acquire()
        for exchange in self._idle:
            exchange.close()

    def _take(self, line: bytes) -> None:
        request = HostMessage.read(line)
        if request is None:
            self.write(refusal(None, NO_OBJECT, PARSE_ERROR))
        elif request.method == CANCELLED:
            self._cancel(request.params.get("requestId"))
        elif request.method == INITIALIZE or request.request_id is None:
            self._answer(request)  # before the messages behind it
        else:
            self._places.acquire()
            Thread(target=self._answer_and_leave, args=(request,), daemon=True).start()

    def _cancel(self, request_id: object) -> None:
        with self._lock:
            found = self._in_flight.get(request_id) if isinstance(request_id, str | int) else None
            if found is not None and isinstance(request_id, str | int):
                self._cancelled.add(request_id)
                found.cancel()

    def _answer_and_leave(self, request: HostMessage) -> None:
        try:
            self._answer(request)
        finally:
            self._places.release()

    def _answer(self, request: HostMessage) -> None:
        """Write the answer to a request; none to a notification, or to a request that is cancelled."""
        try:
            line = answer_line(request, self._ask(request))
        except (ServerGone, ServerFailed) as fault:
            line = refusal(request.request_id, str(fault), INTERNAL_ERROR)
        with self._lock:
            is_cancelled = request.request_id in self._cancelled
            self._cancelled.discard(request.request_id)
        if line is not None and request.request_id is not None and not is_cancelled:
            if request.method == INITIALIZE:
                self._negotiated = version_in(line)
            self.write(line)

    def _ask(self, request: HostMessage) -> Reply:
        headers, lost = request.headers(self._negotiated), ServerGone()
        for _ in range(TRIES):
            exchange = self._taken() or self.connect()
            with self._lock:
                self._in_flight[request.request_id] = exchange
            try:
                reply = exchange.ask(request.body, headers)
            except ServerGone as gone:
                lost = gone
                if request.request_id in self._cancelled:
                    break
            else:
                if exchange.is_usable:
                    self._idle.append(exchange)
                return reply
            finally:
                with self._lock:
                    self._in_flight.pop(request.request_id, None)
        raise ServerGone(f"The server ended while it answered ({lost}). Call again; its log says why.")

    def _taken(self) -> Exchange | None:
        """Return an open connection that no request uses; None if there is none."""
        while self._idle:
            exchange = self._idle.pop()  # atomic: threads share the list
            if exchange.is_usable:
                return exchange
            exchange.close()
        return None


def lines(incoming: int) -> Iterator[bytes | None]:
    """Yield the lines of a descriptor without their ends; None for each that is too long, of which nothing is kept."""
    held, is_long = bytearray(), False
    while chunk := os.read(incoming, CHUNK):
        first, *rest = chunk.split(b"\n")
        for part in (first, None), *((one, held) for one in rest):
            if part[1] is not None:
                yield None if is_long else bytes(held)
                held, is_long = bytearray(), False
            held += part[0]
            if len(held) > MOST_BYTES:
                held, is_long = bytearray(), True
    if held or is_long:
        yield None if is_long else bytes(held)


def answer_line(request: HostMessage, reply: Reply) -> bytes | None:
    """Return the answer to a request as a line; None if there is nothing to say."""
    if reply.status == 200 or not reply.body:
        return reply.body.replace(b"\n", b" ") + b"\n" if reply.body else None
    told = json.loads(reply.body)
    if "jsonrpc" not in told:
        return refusal(request.request_id, str(told.get("error", told)), INTERNAL_ERROR)
    if told.get("id") is None:  # over HTTP the connection says to what it answers
        told["id"] = request.request_id
    return json.dumps(told).encode() + b"\n"


def refusal(request_id: Id, words: str, code: int) -> bytes:
    """Return an error of JSON-RPC as a line."""
    told = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": words}}
    return json.dumps(told).encode() + b"\n"


def version_in(line: bytes) -> str | None:
    """Return the protocol version that an answer to `initialize` names; None if it is an error."""
    result = json.loads(line).get("result")
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) else None


def header_text(text: str) -> str:
    """Return a text as the protocol writes it into a header: in base64 if it would not survive there."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{b64encode(text.encode(errors='replace')).decode()}?="
