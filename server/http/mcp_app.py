"""The MCP endpoint: connects the MCP SDK to dispatch.

Stateless Streamable HTTP with JSON answers, in every protocol version. The SDK does not validate arguments or hide
exceptions in every version, so dispatch does both.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.types import ASGIApp

from engine.model.errors import Refusal
from server.base.interfaces import Principal
from server.http.direct_calls import DirectCalls
from server.http.dispatch import Dispatcher
from server.http.limits import MESSAGE
from server.tools.tool import Effect, Tool, Widget, built
from server.wire.message import IncomingMessage

NAME, TITLE = "tieout", "Tieout"
INSTRUCTIONS = (
    "Read-only financial reporting. Call svc_orientation first; it says what these books hold and how to ask. Every "
    "figure is exact; read the notes and the freshness of each result."
)
LISTS_KEPT_MS = 60_000
ATTACHMENTS = "openai/fileParams"  # where hosts look for arguments that take an attachment
APP, APP_TYPE = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app"
SHOWN = {
    "ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}
}  # a widget fetches nothing
EXTENSIONS = {APP: {"mimeTypes": [APP_TYPE]}}
Context = ServerRequestContext[Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The application behind /mcp, and what has to run around it."""

    app: ASGIApp
    run: Callable[[], AbstractAsyncContextManager[None]]


def endpoint(
    dispatch: Dispatcher,
    version: str,
    hosts: Sequence[str],
    origins: Sequence[str],
    widgets: Mapping[Widget, str] | None = None,
) -> Endpoint:
    """Return the application that serves /mcp at some hosts, to pages of some origins.

    `widgets` holds the pages of built widgets; by default those that `make widgets` built.
    """
    pages = built() if widgets is None else widgets
    by_uri = {widget.uri: widget for widget in pages}

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[describe_tool(tool, pages) for tool in (await dispatch.offered()).values()])

    async def call_tool(context: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        principal, fault = principal_of(context), fault_of(context)
        outcome = await dispatch.call(asked.name, asked.arguments or {}, principal, fault)
        return types.CallToolResult(
            content=[types.TextContent(text=outcome.text)],
            structured_content=outcome.result,
            is_error=outcome.is_error,
            _meta=outcome.meta or None,
        )

    async def read_resource(_: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        widget = by_uri.get(str(asked.uri))
        if widget is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no resource {asked.uri}.", data={"uri": str(asked.uri)})
        page = types.TextResourceContents(uri=widget.uri, mime_type=APP_TYPE, text=pages[widget], _meta=SHOWN)
        return types.ReadResourceResult(contents=[page])

    async def list_resources(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[describe_widget(widget) for widget in pages])

    async def list_templates(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def list_prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    hint = CacheHint(ttl_ms=LISTS_KEPT_MS, scope="private")
    server: Server[Any] = Server(
        NAME,
        title=TITLE,
        version=version,
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": hint},
        get_tool_input_schema=lambda name: tool.schema if (tool := dispatch.tools.get(name)) else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
    )
    if pages:
        server.extensions = EXTENSIONS
        server.middleware.append(add_extensions)
    transport = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(
            allowed_hosts=list(hosts),
            allowed_origins=list(origins),
        ),
    )
    return Endpoint(DirectCalls(server, transport.handle_request, dispatch, hosts, origins), transport.run)


async def add_extensions(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Answer one message; add the extensions to `initialize`, as the SDK does only in the newest protocol."""
    result = await call_next(ctx)
    if ctx.method == "initialize" and isinstance(result, dict):
        return {**result, "capabilities": {**result["capabilities"], "extensions": EXTENSIONS}}
    return result


def describe_tool(tool: Tool, pages: Mapping[Widget, str]) -> types.Tool:
    """Return a tool as clients list it, with its widget if that is built."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.words,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.effect is Effect.NONE,
            destructive_hint=False,
            idempotent_hint=tool.effect is Effect.NONE,
            open_world_hint=bool(tool.attachments),
        ),
        _meta=meta_of(tool, pages),
    )


def meta_of(tool: Tool, pages: Mapping[Widget, str]) -> dict[str, Any] | None:
    """Return the metadata of a tool for hosts: its widget, and the arguments that take an attachment."""
    view = widget_meta(tool.widget) if tool.widget and tool.widget in pages else {}
    return view | ({ATTACHMENTS: list(tool.attachments)} if tool.attachments else {}) or None


def widget_meta(widget: Widget) -> dict[str, Any]:
    """Return the metadata that names a widget's address, in the current form and the former one."""
    return {"ui": {"resourceUri": widget.uri}, "ui/resourceUri": widget.uri}


def describe_widget(widget: Widget) -> types.Resource:
    """Return a widget as clients list it."""
    return types.Resource(
        uri=widget.uri,
        name=widget.name,
        title=widget.title,
        description=widget.description,
        mime_type=APP_TYPE,
        _meta=SHOWN,
    )


def fault_of(context: Context) -> Refusal | None:
    """Return the fault that the HTTP edge found in a call's arguments, None if there is none."""
    message = getattr(context.request.state, MESSAGE, None) if isinstance(context.request, Request) else None
    return message.fault if isinstance(message, IncomingMessage) else None


def principal_of(context: Context) -> Principal:
    """Return the caller that the HTTP edge authenticated."""
    request = context.request
    if not isinstance(request, Request) or not isinstance(request.state.principal, Principal):
        raise MCPError(types.INTERNAL_ERROR, "no principal")
    return request.state.principal
