"""The HTTP edge around the MCP endpoint: which request this is, who is calling, and whether they still wait."""

import logging
from collections.abc import Awaitable, Callable

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.challenges import Challenges
from server.settings import Settings
from server.telemetry.logs import bound
from server.telemetry.metrics import CallMetrics
from server.telemetry.request_ids import request_id_of
from server.tokens.attempts import Attempts, place_of
from server.tokens.authority import Authority, CannotVerify, Reason, TokenRefused

REQUEST_ID = "X-Request-ID"
log = logging.getLogger("tieout.tokens")


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
    """Lets calls with a good bearer token through, with their principal; tells the others what they lack."""

    def __init__(self, app: ASGIApp, authority: Authority, settings: Settings, metrics: CallMetrics) -> None:
        self._app = app
        self._authority = authority
        self._challenges = Challenges(settings)
        self._metrics = metrics
        self._attempts = Attempts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at the token of one request."""
        answer = await self._admit(scope)
        await (answer or self._app)(scope, receive, send)

    async def _admit(self, scope: Scope) -> Response | None:
        """Return what keeps a request out, None where it is let in."""
        sent = Headers(scope=scope).getlist("authorization")
        if len(sent) > 1:
            return self._refuse(scope, Reason.MALFORMED, self._challenges.twice())
        scheme, _, token = (sent[0] if sent else "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            self._metrics.refused_tokens.labels(Reason.MISSING).inc()
            return self._challenges.missing()
        try:
            principal = await self._authority.principal(token.strip())
        except TokenRefused as refused:
            return self._refuse(scope, refused.reason, self._challenges.refused(refused))
        except CannotVerify:
            self._metrics.refused_tokens.labels(Reason.UNVERIFIABLE).inc()
            return self._challenges.unverifiable()
        scope.setdefault("state", {})["principal"] = principal
        return None

    def _refuse(self, scope: Scope, reason: Reason, answer: Response) -> Response:
        """Take note of a refused token; return the answer, or to wait where its address sent too many.

        An expired token is no guess: it is counted apart, and its client is told whatever the count.
        """
        self._metrics.refused_tokens.labels(reason).inc()
        address, expired = place_of((scope.get("client") or (None,))[0]), reason is Reason.EXPIRED
        counted = self._attempts.count(f"{reason} {address}" if expired else address)
        said = {"reason": reason.value, "address": address}
        if not counted.wait:
            log.info("token refused", extra=said)
        elif counted.begins:
            log.warning("too many tokens refused; further ones of the address are not logged", extra=said)
        return self._challenges.too_many(counted.wait) if counted.wait and not expired else answer


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
