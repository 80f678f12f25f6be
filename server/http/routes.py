"""The HTTP edge around the MCP endpoint: request ids, authentication, and challenges."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.auth.tokens import (
    InsufficientScope,
    InvalidToken,
    RefusalLimiter,
    RefusalReason,
    TokenVerifier,
    VerificationUnavailable,
    network_of,
)
from server.base.providers import scope_words
from server.base.settings import Settings
from server.ops.strict_http import LEAVES
from server.telemetry.logs import bound, request_id_of
from server.telemetry.metrics import CallMetrics

# Challenges (RFC 6750, RFC 9728): answers to requests without a valid token. With many users, the challenge names the
# metadata of the resource, which names the identity provider. Answers do not wait for the body of the request.


WELL_KNOWN = "/.well-known/oauth-protected-resource"
REALM = "tieout"
NOT_STORED = {"Cache-Control": "no-store"}
ANYBODYS = {"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300"}  # clients in browsers, too
INVALID_TOKEN, INVALID_REQUEST, INSUFFICIENT_SCOPE = "invalid_token", "invalid_request", "insufficient_scope"
PROVIDER_RETRY_SECONDS = 5.0


class Challenges:
    """The answers of one server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def missing(self) -> Response:
        """Return the answer to a request without a token."""
        where = (
            f"one issued by {self._settings.oidc_issuer}"
            if self._settings.many_users
            else "the key that the server created"
        )
        return self._answer(401, f"Send a bearer token in the Authorization header: {where}.")

    def twice(self) -> Response:
        """Return the answer to a request with several tokens."""
        return self._answer(400, "Send one Authorization header, with one bearer token.", INVALID_REQUEST)

    def refused(self, why: InvalidToken) -> Response:
        """Return the answer to an invalid token."""
        if isinstance(why, InsufficientScope):
            return self._answer(403, str(why), INSUFFICIENT_SCOPE)
        return self._answer(401, str(why), INVALID_TOKEN)

    def too_many(self, wait: float) -> Response:
        """Return the answer to an address that sent too many refused tokens."""
        words = "Too many tokens from this address were refused. Wait, then send a token that is valid."
        return error_response(429, words, retry_after(wait))

    def unverifiable(self) -> Response:
        """Return the answer while no token can be verified; it does not ask the client to log in again."""
        words = "The identity provider cannot be reached to verify the token. Send the same request again shortly."
        return error_response(503, words, retry_after(PROVIDER_RETRY_SECONDS))

    def metadata_routes(self) -> list[Route]:
        """Return the metadata routes that name the issuer of tokens; none with one user."""
        if not self._settings.many_users:
            return []
        metadata = {
            "resource": self._settings.resource,
            "authorization_servers": [self._settings.oidc_issuer],
            "scopes_supported": scope_words(self._settings.asked_scope),
            "bearer_methods_supported": ["header"],
            "resource_name": "Tieout",
        }

        async def show(_: Request) -> Response:
            return JSONResponse(metadata, headers=ANYBODYS)

        return [Route(WELL_KNOWN + path, show) for path in ("", urlsplit(self._settings.resource).path)]

    def _answer(self, status: int, words: str, error: str | None = None) -> Response:
        parameters = {"error": error, "error_description": error and words}
        if self._settings.many_users:
            path = urlsplit(self._settings.resource).path
            parameters["resource_metadata"] = f"{self._settings.base_url}{WELL_KNOWN}{path}"
            parameters["scope"] = self._settings.asked_scope
        return error_response(status, words, {"WWW-Authenticate": challenge(parameters)})


def challenge(parameters: Mapping[str, str | None]) -> str:
    """Return a challenge with the parameters that have a value."""
    every = {"realm": REALM, **parameters}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in every.items() if value is not None)


def retry_after(seconds: float) -> Mapping[str, str]:
    """Return the Retry-After header."""
    return {"Retry-After": str(max(1, ceil(seconds)))}


def error_response(status: int, words: str, headers: Mapping[str, str]) -> Response:
    """Return an error response with a text body."""
    return JSONResponse({"error": words}, status_code=status, headers={**NOT_STORED, **headers})


# Middleware around the MCP endpoint: request ids, authentication, and cancellation when the client disconnects.


REQUEST_ID = "X-Request-ID"
PRIVATE = "private"  # where the state of a request says that it came over the private socket
UNTRUSTED = (b"host", b"origin", b"authorization")
log = logging.getLogger("tieout.tokens")


class RequestIdMiddleware:
    """Gives every request an id, in its log lines and its response; keeps the id that a client sends if it is valid."""

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


class PrivateSocketMiddleware:
    """Gives requests of the private socket the server's own key and host: whoever can open it can read the key."""

    def __init__(self, app: ASGIApp, key: str, host: str) -> None:
        self._app = app
        self._trusted = [(b"host", host.encode()), (b"authorization", f"Bearer {key}".encode())]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request."""
        if scope["type"] == "http" and scope["state"].get(PRIVATE):
            kept = [(name, value) for name, value in scope["headers"] if name not in UNTRUSTED]
            scope = {**scope, "headers": [*kept, *self._trusted]}
        await self._app(scope, receive, send)


class AuthenticationMiddleware:
    """Passes on requests with a valid bearer token, with their principal; answers others with a challenge."""

    def __init__(self, app: ASGIApp, verifier: TokenVerifier, settings: Settings, metrics: CallMetrics) -> None:
        self._app = app
        self._verifier = verifier
        self._challenges = Challenges(settings)
        self._metrics = metrics
        self._attempts = RefusalLimiter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the token of one request."""
        answer = await self._admit(scope)
        await (answer or self._app)(scope, receive, send)

    async def _admit(self, scope: Scope) -> Response | None:
        """Return the response that refuses a request, None if the request is admitted."""
        sent = Headers(scope=scope).getlist("authorization")
        if len(sent) > 1:
            return self._refuse(scope, RefusalReason.MALFORMED, self._challenges.twice())
        scheme, _, token = (sent[0] if sent else "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            self._metrics.refused_tokens.labels(RefusalReason.MISSING).inc()
            return self._challenges.missing()
        try:
            principal = await self._verifier.principal(token.strip())
        except InvalidToken as refused:
            return self._refuse(scope, refused.reason, self._challenges.refused(refused))
        except VerificationUnavailable:
            self._metrics.refused_tokens.labels(RefusalReason.UNVERIFIABLE).inc()
            return self._challenges.unverifiable()
        state = scope.setdefault("state", {})
        state["principal"] = replace(principal, is_local=True) if state.get(PRIVATE) else principal
        return None

    def _refuse(self, scope: Scope, reason: RefusalReason, answer: Response) -> Response:
        """Record a refused token; return the answer, or one that asks to wait if its address sent too many.

        An expired token is no guess. It is counted separately, and its client always gets the answer.
        """
        self._metrics.refused_tokens.labels(reason).inc()
        address, expired = network_of((scope.get("client") or (None,))[0]), reason is RefusalReason.EXPIRED
        counted = self._attempts.count(f"{reason} {address}" if expired else address)
        event = {"reason": reason.value, "address": address}
        if not counted.wait:
            log.info("token refused", extra=event)
        elif counted.begins:
            log.warning("too many tokens refused; further ones of the address are not logged", extra=event)
        return self._challenges.too_many(counted.wait) if counted.wait and not expired else answer


class CancelOnDisconnect:
    """Cancels a call when its client goes away, which the SDK's JSON answers do not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request, which StrictProtocol cancels when its connection is lost."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one
        is_gone = False

        def leave() -> None:
            nonlocal is_gone
            is_gone = True
            task.cancel()

        state = scope.setdefault("state", {})
        state[LEAVES] = leave
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not is_gone or task.uncancel():  # somebody else cancelled it, too
                raise
        finally:
            del state[LEAVES]
