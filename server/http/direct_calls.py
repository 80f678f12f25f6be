"""Direct calls: a `tools/call` of the usual form is answered here as ready bytes; the SDK's transport answers the rest.

The transport starts tasks and streams for a request of the handshake era, and in each era the SDK validates and dumps
the result that the service has dumped already. A direct call runs in the SDK's kernel, inside its middleware, without
either. This module refuses nothing: the transport judges every request that differs in any way from the usual form.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import anyio
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.runner import ServerRunner
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION, SERVER_INFO_META_KEY
from mcp_types.methods import validate_client_request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from msgspec.json import encode
from pydantic import ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.model.errors import Refusal
from server.base.interfaces import Principal
from server.http.dispatch import CallResult, Dispatcher
from server.http.limits import MESSAGE
from server.telemetry.calls import exports_spans
from server.wire.answers import call_result
from server.wire.arguments import Json
from server.wire.message import CALL, IncomingMessage

ENVELOPE = {"jsonrpc", "id", "method", "params"}
ACCEPTED = {"application/json", "application/*", "*/*"}
JSON_TYPE = "application/json"
VERSION_HEADER, PARAMETER_HEADER = "mcp-protocol-version", "mcp-param-"
ONE_WAY = TransportContext(kind="streamable-http", can_send_request=False)


@dataclass(slots=True)
class DirectCall:
    """One call as the HTTP edge knows it, and its outcome once it has one."""

    principal: Principal
    fault: Refusal | None
    outcome: CallResult | None = None


@dataclass(slots=True)
class OneWayRequest:
    """The SDK's context of a request whose client receives the answer and nothing else."""

    request_id: str | int
    message_metadata: ServerMessageMetadata
    transport: TransportContext = ONE_WAY
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(self, method: str, _params: Mapping[str, Any] | None, _opts: object = None) -> Json:
        """Raise NoBackChannelError: no reply would arrive."""
        raise NoBackChannelError(method)

    async def notify(self, _method: str, _params: Mapping[str, Any] | None, _opts: object = None) -> None:
        """Send nothing."""

    async def progress(self, _progress: float, _total: float | None = None, _message: str | None = None) -> None:
        """Send nothing."""


class DirectCalls:
    """Answers calls of the usual form; passes every other request on to the transport."""

    def __init__(
        self,
        server: Server[Any],
        transport: ASGIApp,
        dispatch: Dispatcher,
        hosts: Collection[str],
        origins: Collection[str],
    ) -> None:
        """`hosts` and `origins` are those that `transport` allows."""
        server.middleware.append(self._answer)
        self._server = server
        self._dispatch = dispatch
        self._transport = transport
        self._hosts, self._origins = frozenset(hosts), frozenset(origins)
        self._stamp = {SERVER_INFO_META_KEY: server.server_info_stamp}
        self._traces = exports_spans(os.environ)  # the SDK makes a span for each message, refused or not

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whose message the edge has read."""
        state = scope["state"]
        message: IncomingMessage = state[MESSAGE]
        version = self._version_of(scope, message.tree)
        if version is None:
            await self._transport(scope, receive, send)
            return
        request_id, call = message.tree["id"], DirectCall(state["principal"], message.fault)
        outcome = await self._outcome(request_id, version, message.tree["params"], call)
        is_modern = version in MODERN_PROTOCOL_VERSIONS
        found = call_result(
            outcome.json,
            outcome.meta | (self._stamp if is_modern else {}),
            outcome.blocks(version),
            is_error=outcome.is_error,
            is_typed=is_modern,
        )
        body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(request_id), found)
        headers = [(b"content-type", JSON_TYPE.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _outcome(self, request_id: str | int, version: str, params: Json, call: DirectCall) -> CallResult:
        """Return the outcome of a call. What a cap refuses does not need the SDK's kernel, which costs more than it."""
        if self._dispatch.leases.is_full(call.principal.subject) and not self._traces:
            return await self._call(params, call)
        context = OneWayRequest(request_id, ServerMessageMetadata(request_context=call))
        connection = Connection.from_envelope(version, None, None)
        await ServerRunner(self._server, connection, None).on_request(context, CALL, params)
        assert call.outcome is not None  # noqa: S101 - `_answer` has set it
        return call.outcome

    async def _call(self, params: Mapping[str, Any], call: DirectCall) -> CallResult:
        return await self._dispatch.call(params["name"], params.get("arguments") or {}, call.principal, call.fault)

    async def _answer(self, ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        """Answer a direct call inside the SDK's middleware, which reads nothing of its result but `isError`."""
        call = ctx.request
        if not isinstance(call, DirectCall):
            return await call_next(ctx)
        call.outcome = await self._call(ctx.params or {}, call)
        return {"isError": call.outcome.is_error}

    def _version_of(self, scope: Scope, tree: Json) -> str | None:
        """Return the protocol version of a call of the usual form; None if the transport has to judge the request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        version = headers.get(VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
        is_usual = (
            len(headers) == len(scope["headers"])  # none is sent twice
            and headers.get("host") in self._hosts
            and ("origin" not in headers or headers["origin"] in self._origins)
            and headers.get("content-type", "").partition(";")[0] == JSON_TYPE
            and accepts_json(headers.get("accept", ""))
            and tree.keys() == ENVELOPE
            and tree["method"] == CALL
            and isinstance(scope["state"].get("principal"), Principal)
        )
        if not is_usual or not (version in HANDSHAKE_PROTOCOL_VERSIONS or is_modern_call(tree, version, headers)):
            return None
        try:
            validate_client_request(CALL, version, tree["params"])
        except (ValidationError, TypeError, ValueError):  # as the transport will find
            return None
        return version if tree["jsonrpc"] == "2.0" else None


def is_modern_call(tree: Json, version: str, headers: Mapping[str, str]) -> bool:
    """Tell whether a call has the envelope of the newest protocol, and headers that agree with it."""
    return (
        version in MODERN_PROTOCOL_VERSIONS
        and not any(name.startswith(PARAMETER_HEADER) for name in headers)
        and isinstance(classify_inbound_request(tree, headers=headers), InboundModernRoute)
    )


@lru_cache(maxsize=64)
def accepts_json(accept: str) -> bool:
    """Tell whether an Accept header names JSON."""
    return any(part.partition(";")[0].strip().lower() in ACCEPTED for part in accept.split(","))
