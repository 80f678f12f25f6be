"""The MCP endpoint: connects the MCP SDK to dispatch.

Stateless Streamable HTTP with JSON answers, in every protocol version. The SDK does not validate arguments or hide
exceptions in every version, so dispatch does both.
"""

from collections.abc import Mapping, Sequence
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

from engine.model.errors import Refusal
from server.base.interfaces import Principal
from server.http.dispatch import Dispatcher
from server.http.limits import FAULT
from server.tools.tool import Effect, Tool, Widget, built

NAME, TITLE = "tieout", "Tieout"
INSTRUCTIONS = (
    "Read-only financial reporting. Call svc_orientation first; it says what these books hold and how to ask. Every "
    "figure is exact; read the notes and the freshness of each result."
)
LISTS_KEPT_MS = 60_000
RENDER_BLOCK = "tieout/table"  # where the formatted table stands in _meta
DETAILS = "tieout/details"  # where versions, loads and the dataset's schema stand in _meta
ATTACHMENTS = "openai/fileParams"  # where hosts look for arguments that take an attachment
APP, APP_TYPE = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app"
SHOWN = {
    "ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}
}  # a widget fetches nothing
EXTENSIONS = {APP: {"mimeTypes": [APP_TYPE]}}
Context = ServerRequestContext[Any]


def endpoint(
    dispatch: Dispatcher,
    version: str,
    hosts: Sequence[str],
    origins: Sequence[str],
    widgets: Mapping[Widget, str] | None = None,
) -> StreamableHTTPSessionManager:
    """Return the session manager that serves /mcp at some hosts, to pages of some origins.

    `widgets` holds the pages of built widgets; by default those that `make widgets` built.
    """
    pages = built() if widgets is None else widgets
    by_uri = {widget.uri: widget for widget in pages}

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[describe_tool(tool, pages) for tool in (await dispatch.offered()).values()])

    async def call_tool(context: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        principal, fault = principal_of(context), fault_of(context)
        outcome = await dispatch.call(asked.name, asked.arguments or {}, principal, fault)
        meta = {RENDER_BLOCK: outcome.render_block, DETAILS: outcome.details}
        return types.CallToolResult(
            content=[types.TextContent(text=outcome.text)],
            structured_content=outcome.result,
            is_error=outcome.is_error,
            _meta={key: part for key, part in meta.items() if part} or None,
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
    return StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(
            allowed_hosts=list(hosts),
            allowed_origins=list(origins),
        ),
    )


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
    fault = getattr(context.request.state, FAULT, None) if isinstance(context.request, Request) else None
    return fault if isinstance(fault, Refusal) else None


def principal_of(context: Context) -> Principal:
    """Return the caller that the HTTP edge authenticated."""
    request = context.request
    if not isinstance(request, Request) or not isinstance(request.state.principal, Principal):
        raise MCPError(types.INTERNAL_ERROR, "no principal")
    return request.state.principal
