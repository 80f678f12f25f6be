"""The HTTP edge around the MCP endpoint: which request this is, who is calling, and whether they still wait."""

from collections.abc import Awaitable, Callable

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.telemetry.logs import bound
from server.telemetry.request_ids import request_id_of
from server.tokens.authority import Authority, TokenRefused

REQUEST_ID = "X-Request-ID"


class Identified:
    """Gives every request an id, the sent one where it is sane: on what is logged meanwhile, and in the response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request under its id."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = request_id_of(Headers(scope=scope).get(REQUEST_ID))

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        with bound(request_id=request_id):
            await self._app(scope, receive, send_with_id)


class Authenticated:
    """Lets calls with a known bearer token through, with their principal; answers 401 to the others."""

    def __init__(self, app: ASGIApp, authority: Authority) -> None:
        self._app = app
        self._authority = authority

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at the token of one request."""
        scheme, _, token = Request(scope).headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            await unauthorized("Send the key as a bearer token.", had_token=bool(token))(scope, receive, send)
            return
        try:
            principal = await self._authority.principal(token.strip())
        except TokenRefused as refused:
            await unauthorized(str(refused), had_token=True)(scope, receive, send)
            return
        scope.setdefault("state", {})["principal"] = principal
        await self._app(scope, receive, send)


def unauthorized(words: str, *, had_token: bool) -> JSONResponse:
    """Return the answer to a missing or wrong token."""
    challenge = 'Bearer realm="tieout"' + (', error="invalid_token"' if had_token else "")
    return JSONResponse({"error": words}, status_code=401, headers={"WWW-Authenticate": challenge})


class CancelOnDisconnect:
    """Cancels a call when its client goes away, which the SDK's JSON answers do not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request beside a watch for its client."""
        read, gone = anyio.Event(), anyio.Event()

        async def receive_body() -> Message:
            if read.is_set():
                await gone.wait()
                return {"type": "http.disconnect"}
            message = await receive()
            if message["type"] == "http.disconnect" or not message.get("more_body", False):
                read.set()
            return message

        async with anyio.create_task_group() as both:
            both.start_soon(watch, read, gone, receive, both.cancel_scope.cancel)
            await self._app(scope, receive_body, send)
            both.cancel_scope.cancel()


async def watch(
    read: anyio.Event, gone: anyio.Event, receive: Receive, cancel: Callable[[], Awaitable[None] | None]
) -> None:
    """Wait until the body is read, then for the client to go."""
    await read.wait()
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()
    cancel()
