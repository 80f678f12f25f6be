"""The MCP endpoint: connects the MCP SDK to dispatch.

Stateless Streamable HTTP with JSON answers, in every protocol version. The SDK does not validate arguments or hide
exceptions in every version, so dispatch does both.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from msgspec import Struct
from starlette.requests import Request
from starlette.types import ASGIApp

from engine.model.errors import BadArguments, BadPeriod, ExpiredReference, Refusal, UnknownName
from server.base.interfaces import Principal
from server.http.direct_calls import DirectCalls
from server.http.dispatch import CallResult, Dispatcher
from server.http.envelope import EnvelopeRules
from server.http.limits import MESSAGE
from server.tools.definitions import DATASET, DEFINITIONS, Definitions
from server.tools.prompts import COMPLETE, GET_PROMPT, PROMPTS, Prompt
from server.tools.resources import (
    FILE,
    GET_SKILL,
    JSON_TYPE,
    LIST_RESOURCES,
    LIST_SKILLS,
    READ_DATASET,
    READ_RESOURCE,
    URI,
)
from server.tools.tool import Effect, Tool, Widget, built
from server.tools.toolbox import LIST_TOOLS
from server.wire.arguments import Json
from server.wire.message import IncomingMessage

NAME, TITLE = "tieout", "Tieout"
INSTRUCTIONS = (
    "Read-only financial reporting. Call svc_orientation first; it says what these books hold and how to ask. Every "
    "figure is exact; read the notes and the freshness of each result."
)
LISTS_KEPT_MS = 60_000
ATTACHMENTS = "openai/fileParams"  # where hosts look for arguments that take an attachment
SEARCHED, LOADED = "anthropic/searchHint", "anthropic/alwaysLoad"  # where hosts that defer tools look
APP, APP_TYPE = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app"
SHOWN = {
    "ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}
}  # a widget fetches nothing
SKILLS = "io.modelcontextprotocol/skills"
MENDABLE = {kind.error_type for kind in (BadArguments, BadPeriod, ExpiredReference, UnknownName)}  # by other parameters
RESULTS = types.ResourceTemplate(
    uri_template=f"{DATASET}{{data_ref}}",
    name="dataset",
    title="Result",
    description="A result under its data_ref, as export_dataset writes it as JSON, for the caller who made it.",
    mime_type=JSON_TYPE,
)
BLOCKS: Mapping[str, type[types.ImageContent | types.ResourceLink]] = {
    "image": types.ImageContent,
    "resource_link": types.ResourceLink,
}
Context = ServerRequestContext[Any]
Argument = str | Mapping[str, str] | None


class SkillParams(types.RequestParams):
    """The parameters of skills/get, which dispatch validates."""

    uri: Any = None


class Endpoint(Struct, frozen=True):
    """The application behind /mcp, and what has to run around it."""

    app: ASGIApp
    run: Callable[[], AbstractAsyncContextManager[None]]


class McpServer(Struct, frozen=True):
    """The answer to each request of the protocol, for the caller that the HTTP edge authenticated."""

    dispatch: Dispatcher
    pages: Mapping[Widget, str]

    def _widget(self, uri: str) -> Widget | None:
        return next((widget for widget in self.pages if widget.uri == uri), None)

    async def list_tools(self, context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """List the tools that can be called here, without examples if these cannot be made now."""
        principal = principal_of(context)
        offered = (await self.dispatch.offered(principal)).values()
        outcome = await self.dispatch.run(LIST_TOOLS, {}, principal)
        examples = {} if outcome.is_error else outcome.result
        return types.ListToolsResult(
            tools=[
                describe_tool(tool, self.pages, examples.get(tool.name, {}), is_local=principal.is_local)
                for tool in offered
            ]
        )

    async def call_tool(self, context: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        """Answer a call of a tool."""
        principal, fault = principal_of(context), fault_of(context)
        outcome = await self.dispatch.call(asked.name, asked.arguments or {}, principal, fault)
        return types.CallToolResult(
            content=content_of(outcome, context.protocol_version),
            structured_content=outcome.result,
            is_error=outcome.is_error,
            _meta=outcome.meta or None,
        )

    async def _answered(self, context: Context, request: Tool, **arguments: Argument) -> CallResult:
        outcome = await self.dispatch.run(request, arguments, principal_of(context))
        if outcome.is_error:
            raise fault_in(outcome.result)
        return outcome

    async def read_resource(self, context: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Return a view, or what these books say at an address."""
        uri = str(asked.uri)
        if (widget := self._widget(uri)) is not None:
            page = types.TextResourceContents(uri=uri, mime_type=APP_TYPE, text=self.pages[widget], _meta=SHOWN)
        else:
            request = READ_DATASET if uri.startswith(DATASET) else READ_RESOURCE
            page = contents_of(uri, await self._answered(context, request, uri=uri))
        return types.ReadResourceResult(contents=[page])

    async def list_resources(
        self, context: Context, asked: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the views that are built and what these books define, by pages."""
        cursor = asked.cursor if asked else None
        found = (await self._answered(context, LIST_RESOURCES, cursor=cursor)).result
        listed = [types.Resource(**known) for known in found["resources"]]
        views = [] if cursor else [describe_widget(widget) for widget in self.pages]
        return types.ListResourcesResult(resources=[*views, *listed], next_cursor=found.get("next"))

    async def list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the addresses of definitions."""
        known = [*(describe_template(kind) for kind in DEFINITIONS), RESULTS]
        return types.ListResourceTemplatesResult(resource_templates=known)

    async def list_skills(self, context: Context, asked: types.PaginatedRequestParams) -> Json:
        """List the skills, by pages."""
        found = (await self._answered(context, LIST_SKILLS, cursor=asked.cursor)).result
        after = {"nextCursor": found["next"]} if "next" in found else {}
        return {"skills": found["skills"], **after, **kept_for(context)}

    async def get_skill(self, context: Context, asked: SkillParams) -> Json:
        """Return what the list of skills says of one."""
        named = {} if asked.uri is None else {URI: asked.uri}
        return {**(await self._answered(context, GET_SKILL, **named)).result, **kept_for(context)}

    async def list_prompts(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """List the prompts."""
        return types.ListPromptsResult(prompts=[describe_prompt(prompt) for prompt in PROMPTS.values()])

    async def get_prompt(self, context: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return a prompt for some arguments."""
        found = (await self._answered(context, GET_PROMPT, name=asked.name, arguments=asked.arguments or {})).result
        message = types.PromptMessage(role="user", content=types.TextContent(text=found["text"]))
        return types.GetPromptResult(description=found["description"], messages=[message])

    async def complete(self, context: Context, asked: types.CompleteRequestParams) -> types.CompleteResult:
        """Return the values that begin as an argument does."""
        of = {"prompt": asked.ref.name} if asked.ref.type == "ref/prompt" else {"template": asked.ref.uri}
        told = await self._answered(context, COMPLETE, **of, argument=asked.argument.name, value=asked.argument.value)
        return types.CompleteResult(completion=types.Completion(**told.result))


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
    answers = McpServer(dispatch, pages)
    hint = CacheHint(ttl_ms=LISTS_KEPT_MS, scope="private")
    server: Server[Any] = Server(
        NAME,
        title=TITLE,
        version=version,
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": hint, "resources/list": hint, "resources/read": hint},
        get_tool_input_schema=lambda name: tool.schema if (tool := dispatch.tools.get(name)) else None,
        on_list_tools=answers.list_tools,
        on_call_tool=answers.call_tool,
        on_list_resources=answers.list_resources,
        on_list_resource_templates=answers.list_templates,
        on_read_resource=answers.read_resource,
        on_list_prompts=answers.list_prompts,
        on_get_prompt=answers.get_prompt,
        on_completion=answers.complete,
    )
    server.add_request_handler("skills/list", types.PaginatedRequestParams, answers.list_skills)
    server.add_request_handler("skills/get", SkillParams, answers.get_skill)
    server.extensions = extensions_of(pages)
    server.middleware.append(partial(add_extensions, server.extensions))
    transport = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(
            allowed_hosts=list(hosts),
            allowed_origins=list(origins),
        ),
    )
    rules = EnvelopeRules(
        DirectCalls(server, transport.handle_request, dispatch, hosts, origins),
        origins,
        sorted((*MODERN_PROTOCOL_VERSIONS, *HANDSHAKE_PROTOCOL_VERSIONS), reverse=True),
        MODERN_PROTOCOL_VERSIONS,
        types.UNSUPPORTED_PROTOCOL_VERSION,
    )
    return Endpoint(rules, transport.run)


def extensions_of(pages: Mapping[Widget, str]) -> dict[str, dict[str, Any]]:
    """Return the extensions of the protocol that are served: skills, and views where they are built."""
    return {SKILLS: {}} | ({APP: {"mimeTypes": [APP_TYPE]}} if pages else {})


async def add_extensions(extensions: Json, ctx: Context, call_next: CallNext) -> HandlerResult:
    """Answer one message; add the extensions to `initialize`, as the SDK does only in the newest protocol."""
    result = await call_next(ctx)
    if ctx.method == "initialize" and isinstance(result, dict):
        return {**result, "capabilities": {**result["capabilities"], "extensions": extensions}}
    return result


def kept_for(context: Context) -> Json:
    """Return how long a list is kept, and by whom, where the protocol of a request has that."""
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return {"ttlMs": LISTS_KEPT_MS, "cacheScope": "private"} if is_modern else {}


def contents_of(uri: str, found: CallResult) -> types.TextResourceContents:
    """Return what stands at an address: a file as it is, or an object as JSON."""
    file = found.result if found.result.keys() == FILE else {"mime_type": JSON_TYPE, "text": found.text}
    return types.TextResourceContents(uri=uri, **file)


def describe_tool(
    tool: Tool, pages: Mapping[Widget, str], example: Mapping[str, Any], *, is_local: bool = False
) -> types.Tool:
    """Return a tool as clients list it, with its widget if that is built; `is_local` as local callers do."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.local_description if is_local and tool.local_description else tool.described(example),
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
    """Return the metadata of a tool for hosts: its widget, when to load it, and the arguments that take attachments."""
    view = widget_meta(tool.widget) if tool.widget and tool.widget in pages else {}
    searched = {SEARCHED: tool.hint} if tool.hint else {}
    loaded = {LOADED: True} if tool.is_always_loaded else {}
    return view | searched | loaded | ({ATTACHMENTS: list(tool.attachments)} if tool.attachments else {}) or None


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


def describe_template(kind: Definitions) -> types.ResourceTemplate:
    """Return a kind of definition as clients list it."""
    return types.ResourceTemplate(
        uri_template=kind.template,
        name=kind.name,
        title=kind.title,
        description=kind.description,
        mime_type=JSON_TYPE,
    )


def describe_prompt(prompt: Prompt) -> types.Prompt:
    """Return a prompt as clients list it."""
    arguments = [
        types.PromptArgument(name=name, description=argument.description, required=argument.required)
        for name, argument in prompt.arguments.items()
    ]
    return types.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments)


def content_of(outcome: CallResult, version: str) -> list[types.ContentBlock]:
    """Return what a model reads of an answer: its object as text, then its picture and the link to its result."""
    beside = [BLOCKS[block["type"]].model_validate(block) for block in outcome.blocks(version)]
    return [types.TextContent(text=outcome.text), *beside]


def fault_in(result: Mapping[str, Any]) -> MCPError:
    """Return a refusal as an error of JSON-RPC: of its parameters if other ones can mend it."""
    mendable = result.get("error_type") in MENDABLE
    message = str(result.get("error", "The client is gone."))
    named = {URI: result["got"]} if result.get("field") == URI and "got" in result else {}  # where hosts look for it
    return MCPError(types.INVALID_PARAMS if mendable else types.INTERNAL_ERROR, message, data={**result, **named})


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
