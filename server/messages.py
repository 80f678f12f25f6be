"""Message bodies: read whole within their bound and looked at before the SDK is given them."""

from collections.abc import Sequence

import anyio
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.wire.message import INVALID_REQUEST, Unreadable, read_message

MOST_BYTES = 4 * 1024 * 1024  # as many as the SDK takes
TOO_SLOW = "The body did not arrive in time. Send the whole request at once."
TOO_LARGE = f"The body is larger than {MOST_BYTES} bytes. Ask for less in one call."
FAULT = "fault"  # where the state of a request has what is wrong with the arguments of its call


class ClientGone(Exception):
    """A client left before its message was whole."""


class TooLarge(Exception):
    """A message is larger than its bound."""


class Messages:
    """Gives an application messages that can be read in one way, and tells it of calls whose arguments cannot."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        """`seconds` are what a body may take to arrive."""
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at the message of one request."""
        try:
            with anyio.fail_after(self._seconds):
                body = await whole(scope, receive)
            message = read_message(body)
        except ClientGone:
            return
        except TimeoutError:
            await told(408, TOO_SLOW, INVALID_REQUEST, Connection="close")(scope, receive, send)
            return
        except TooLarge:
            await told(413, TOO_LARGE, INVALID_REQUEST)(scope, receive, send)
            return
        except Unreadable as fault:
            await told(400, str(fault), fault.code)(scope, receive, send)
            return
        scope.setdefault("state", {})[FAULT] = message.fault
        left: list[Message] = [{"type": "http.request", "body": message.body, "more_body": False}]

        async def again() -> Message:
            return left.pop() if left else await receive()

        await self._app(resized(scope, len(message.body)), again, send)


async def whole(scope: Scope, receive: Receive) -> bytes:
    """Return the body of a request."""
    declared = Headers(scope=scope).get("content-length", "0")
    if declared.isdecimal() and int(declared[:20]) > MOST_BYTES:
        raise TooLarge
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            raise TooLarge
    return bytes(body)


def resized(scope: Scope, size: int) -> Scope:
    """Return a request whose headers say how long its body is now."""
    headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
    kept = [(name, value) for name, value in headers if name != b"content-length"]
    return {**scope, "headers": [*kept, (b"content-length", str(size).encode())]}


def told(status: int, words: str, code: int, **headers: str) -> Response:
    """Return an answer to a message that is none."""
    error = {"code": code, "message": words}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=status, headers=headers)
