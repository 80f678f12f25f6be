"""Limits of connections and of message bodies, enforced before the SDK reads them."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import Any

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.wire.message import INVALID_REQUEST, MOST_BYTES, UnreadableMessage, read_message

# Limits of connections. uvicorn closes idle connections, but keeps one that sends a request byte by byte or does not
# read its answer; and if it capped their number, the first clients would lock out all others.


LOOKS = 10  # in the time that a client may take


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """The time and the number of connections that clients may use."""

    seconds: float = 30.0  # over the headers of a request, over its body, without reading any more of an answer
    connections: int = 1000  # of a worker at once


class ConnectionState(Struct, frozen=True):
    """The progress of a connection at one moment."""

    request: Any  # the request that it is at or was at last, None before the first
    unread: int  # bytes of answers that the client has not taken
    since: float

    def stands(self, now: "ConnectionState") -> bool:
        """Tell whether the connection made no progress until `now`."""
        return self.request is now.request and self.unread == now.unread


class ConnectionMonitor:
    """Closes the connections of a worker that exceed their limits."""

    def __init__(self, bounds: ConnectionLimits) -> None:
        self._bounds = bounds
        self._seen: Mapping[H11Protocol, ConnectionState] = {}
        self._next = 0.0

    def look(self, connections: Iterable[object]) -> None:
        """Close stalled connections; above the limit also idle ones, the longest idle first."""
        now, known = monotonic(), [one for one in connections if isinstance(one, H11Protocol)]
        if now < self._next and len(known) <= self._bounds.connections:
            return
        self._next = now + self._bounds.seconds / LOOKS
        self._seen = {one: self._see(one, now) for one in known}
        for one, seen in self._seen.items():
            if now - seen.since > self._bounds.seconds and (is_idle(one) or seen.unread):
                one.transport.abort()  # closing it would wait until the client has read
        resting = sorted((one for one in known if is_idle(one)), key=lambda one: self._seen[one].since)
        for one in resting[: max(0, len(known) - self._bounds.connections)]:
            one.transport.abort()

    def _see(self, one: H11Protocol, now: float) -> ConnectionState:
        seen, before = ConnectionState(one.cycle, one.transport.get_write_buffer_size(), now), self._seen.get(one)
        return before if before is not None and before.stands(seen) else seen


def is_idle(one: H11Protocol) -> bool:
    """Tell whether no request on a connection waits for its answer."""
    return one.cycle is None or one.cycle.response_complete  # type: ignore[redundant-expr]  # None at first, untold


# Message bodies: read whole, within limits of size and time, and checked before the SDK sees them.


TOO_SLOW = "The body did not arrive in time. Send the whole request at once."
TOO_LARGE = f"The body is larger than {MOST_BYTES} bytes. Ask for less in one call."
MESSAGE = "message"  # where the state of a request has its message


class ClientDisconnected(Exception):
    """A client disconnected before its whole message arrived."""


class BodyTooLarge(Exception):
    """A message exceeds its size limit."""


class MessageMiddleware:
    """Passes on unambiguous messages only, and marks calls whose arguments are faulty."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        """`seconds` are what a body may take to arrive."""
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the message of one request."""
        try:
            async with asyncio.timeout(self._seconds):
                body = await read_body(scope, receive)
            message = read_message(body)
        except ClientDisconnected:
            return
        except TimeoutError:
            await error_response(408, TOO_SLOW, INVALID_REQUEST, Connection="close")(scope, receive, send)
            return
        except BodyTooLarge:
            await error_response(413, TOO_LARGE, INVALID_REQUEST)(scope, receive, send)
            return
        except UnreadableMessage as fault:
            await error_response(400, str(fault), fault.code)(scope, receive, send)
            return
        scope.setdefault("state", {})[MESSAGE] = message
        left: list[Message] = [{"type": "http.request", "body": message.body, "more_body": False}]

        async def again() -> Message:
            return left.pop() if left else await receive()

        await self._app(with_length(scope, len(message.body)), again, send)


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Return the body of a request."""
    declared = Headers(scope=scope).get("content-length", "0")
    if declared.isdecimal() and int(declared[:20]) > MOST_BYTES:
        raise BodyTooLarge
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            raise BodyTooLarge
    return bytes(body)


def with_length(scope: Scope, size: int) -> Scope:
    """Return a request whose Content-Length is the current size of its body."""
    headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
    kept = [(name, value) for name, value in headers if name != b"content-length"]
    return {**scope, "headers": [*kept, (b"content-length", str(size).encode())]}


def error_response(
    status: int, words: str, code: int, request_id: object = None, data: object = None, **headers: str
) -> Response:
    """Return the response to an invalid message; `data` only where there is some."""
    error = {"code": code, "message": words, **({} if data is None else {"data": data})}
    return JSONResponse({"jsonrpc": "2.0", "id": request_id, "error": error}, status_code=status, headers=headers)
