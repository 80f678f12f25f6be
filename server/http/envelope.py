"""Envelopes of messages: headers and members that the SDK would refuse in words of its own, answered in sentences."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.model.errors import quoted
from server.http.limits import MESSAGE, error_response
from server.wire.arguments import Json
from server.wire.message import CALL, INVALID_REQUEST, IncomingMessage

INVALID_PARAMS: Final = -32602  # of JSON-RPC
JSON_TYPE: Final = "application/json"
META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
EXAMPLE: Final = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}'
NO_VERSION: Final = f'The member jsonrpc of a message is the text "2.0". Send one as {EXAMPLE}.'
NO_METHOD: Final = f"The message has no method. Send one as {EXAMPLE}."
NO_PARAMS: Final = f"The params of a message are a JSON object. Send one as {EXAMPLE}, or without params."
NO_TOOL: Final = (
    'A call names its tool. Send params as {"name": "svc_orientation", "arguments": {}}; tools/list names the tools.'
)
NO_TYPE: Final = f"The Content-Type of the message is not JSON. Send Content-Type: {JSON_TYPE}."


class EnvelopeRules(Struct, frozen=True):
    """Passes on messages whose headers and members the SDK can read; it judges them as it would without these rules."""

    app: ASGIApp
    origins: Collection[str]  # of pages that may call
    versions: Sequence[str]  # of the protocol, the newest first
    modern: Sequence[str]  # those of them that each message names in `_meta`
    unsupported: int  # the code of another version

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whose message the edge has read."""
        message: IncomingMessage = scope["state"][MESSAGE]
        refusal = self._refusal(Headers(scope=scope), message.tree)
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, headers: Headers, tree: Json) -> Response | None:
        if not is_json(headers.get("content-type", "")):
            return error_response(415, NO_TYPE, INVALID_REQUEST)
        if (origin := headers.get("origin")) and origin not in self.origins:
            words = f"Pages of another origin may not call. Call from {' or '.join(self.origins)}, or send no Origin."
            return error_response(403, words, INVALID_REQUEST)
        version = headers.get("mcp-protocol-version")
        if version is not None and version not in self.versions and named_version(tree) in (None, version):
            words = (
                f"The protocol version {quoted([version])} is not served. Send MCP-Protocol-Version with one of "
                f"{', '.join(self.versions)}, or call initialize without it."
            )
            data = {"supported": list(self.modern), "requested": version}
            return error_response(400, words, self.unsupported, tree.get("id"), data)
        fault = envelope_fault(tree)
        if fault is not None:
            return error_response(400, fault, INVALID_PARAMS if fault is NO_TOOL else INVALID_REQUEST, tree.get("id"))
        return None


def is_json(content_type: str) -> bool:
    """Tell whether the SDK takes a Content-Type."""
    parts = [part.strip() for part in content_type.partition(";")[0].split(",")]
    return content_type.lower().startswith(JSON_TYPE) and JSON_TYPE in parts


def named_version(tree: Json) -> object:
    """Return the protocol version that a message names itself, None if it names none."""
    params = tree.get("params")
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return meta.get(META_VERSION) if isinstance(meta, Mapping) else None


def envelope_fault(tree: Json) -> str | None:
    """Return what is wrong with the members of a message, and what to send instead; None if nothing is."""
    if tree.get("jsonrpc") != "2.0":
        return NO_VERSION
    if "method" not in tree:
        return None if is_response(tree) else NO_METHOD
    params = tree.get("params")
    if params is not None and not isinstance(params, dict):
        return NO_PARAMS
    if tree["method"] == CALL and "id" in tree and not (params and is_text(params.get("name"))):
        return NO_TOOL
    return None


def is_response(tree: Json) -> bool:
    """Tell whether a message answers a request, which is taken and changes nothing."""
    error = tree.get("error")
    is_error = isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
    return "id" in tree and (isinstance(tree.get("result"), dict) or is_error)


def is_text(name: object) -> bool:
    """Tell whether a value is a text that is not empty; the tool of a long one is refused as unknown."""
    return isinstance(name, str) and name != ""
