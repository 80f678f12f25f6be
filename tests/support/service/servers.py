"""A real server in a process of its own, and a real MCP client that talks to it in either protocol era."""

import json
import os
import socket
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from secrets import randbelow, token_urlsafe
from typing import Any, TypeVar

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ContentBlock, ImageContent, ReadResourceResult, Request, ResourceLink, TextContent
from pydantic import RootModel

from tests.support.answers.reader import filled_in
from tests.support.service.forks import ForkedProcess, start_command

KEY = token_urlsafe(32)  # of this run, so that no other server can be mistaken for ours
ERAS = ("auto", "legacy")  # the newest protocol, and the one before it
SERVE = (Path(sys.executable).with_name("tieout"), "serve")
OF_INTERPRETERS = {"PYTHONPATH", "LD_PRELOAD"}  # which a process reads when it starts
DEADLINE = 30.0
PORTS = range(20_000, 32_768)  # below those of outgoing connections, which would take one that is not used yet
Found = TypeVar("Found")
STARTING = 90.0  # of a server and of the stores that it keeps, on a machine that does more besides


@dataclass(frozen=True)
class Server:
    """A served instance."""

    url: str
    ops: str  # of the operators' port
    process: subprocess.Popen[str] | ForkedProcess
    log: Path


def ports_of_process() -> Iterator[int]:
    """Return the ports of this process in turn, over and over: no other process of a test run takes one of them."""
    worker, count = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    own = PORTS[int(worker.removeprefix("gw")) :: int(count)]
    first = randbelow(len(own))  # not `random`: every test process seeds it alike
    return cycle((*own[first:], *own[:first]))


OWN_PORTS = ports_of_process()


def free_port() -> int:
    """Return a port nobody listens on, and which this process has not named for long."""
    for port in OWN_PORTS:
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
    raise AssertionError("every port is taken")


def free_ports() -> dict[str, str]:
    """Return the settings of a server's two ports, on which nobody listens."""
    return {"SVC_PORT": str(free_port()), "SVC_OPS_BIND": f"127.0.0.1:{free_port()}"}


def server_environment(instance: Path, state: Path, **settings: str) -> dict[str, str]:
    """Return the environment of a server with ports of its own."""
    own = {"SVC_INSTANCE": str(instance), "SVC_STATE_DIR": str(state), "MCP_DEV_KEY": KEY}
    return {**os.environ, **free_ports(), **own, **settings}


@contextmanager
def serving(
    instance: Path, state: Path, *, healthy: bool = True, command: Sequence[str | Path] = (), **settings: str
) -> Iterator[Server]:
    """Serve an instance with `tieout serve` until the block ends; `healthy` waits until all is well.

    It is forked, unless a command is given or the settings are those of a new interpreter.
    """
    environment = server_environment(instance, state, **settings)
    port, ops = environment["SVC_PORT"], environment["SVC_OPS_BIND"]
    log = state / f"server-{port}.log"
    process = start(
        command or SERVE,
        environment,
        log.with_suffix(".out"),
        log,
        forks=not (command or OF_INTERPRETERS & settings.keys()),
    )
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}/health", process, log, {200} if healthy else {200, 503})
        yield Server(f"http://127.0.0.1:{port}/mcp", f"http://{ops}", process, log)
    finally:
        process.terminate()
        try:
            process.wait(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()  # else the run of tests would wait for it at its end
            raise AssertionError(f"the server did not stop:\n{log.read_text()}") from None


def start(
    command: Sequence[str | Path], environment: Mapping[str, str], out: Path, log: Path, *, forks: bool
) -> subprocess.Popen[str] | ForkedProcess:
    """Start a command that writes to two new files; `tieout` may be forked."""
    with out.open("w") as told, log.open("w") as sink:
        if not forks:
            return subprocess.Popen(command, env=environment, stdout=told, stderr=sink, text=True)
    return start_command(command[1:], environment, out, log)


def wait_until_healthy(
    url: str, process: subprocess.Popen[str] | ForkedProcess, log: Path, statuses: Collection[int] = (200,)
) -> None:
    """Poll until the server answers; fail with its log where it does not."""

    def healthy() -> bool:
        assert process.poll() is None, f"the server did not start:\n{log.read_text()}"
        try:
            return httpx2.get(url, timeout=1).status_code in statuses
        except httpx2.TransportError:
            return False

    wait_for(healthy, STARTING)


def wait_for(happened: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Poll until something has happened, ever more seldom; fail at the deadline."""
    began = time.monotonic()
    while not happened():
        waited = time.monotonic() - began
        assert waited < seconds
        time.sleep(min(max(0.02, waited / 10), 0.2))


@dataclass(frozen=True)
class Called:
    """What a tool call returned: the JSON object, whether it is an error, _meta, its text, what follows it."""

    result: dict[str, Any]
    is_error: bool
    meta: Mapping[str, Any]
    text: str
    pictures: Sequence[bytes] = ()
    links: Sequence[ResourceLink] = ()

    @property
    def told(self) -> dict[str, Any]:
        """The result without its data_ref, which no two calls share."""
        return {key: part for key, part in self.result.items() if key != "data_ref"}


RESULT = RootModel[dict[str, Any]]


def picture_of(content: ContentBlock) -> ImageContent:
    """Return a part of an answer that must be a PNG."""
    assert isinstance(content, ImageContent)
    assert content.mime_type == "image/png"
    return content


class McpBooks:
    """The tools of a server through the Python SDK's client."""

    def __init__(self, portal: BlockingPortal, client: Client, responses: list[bytes]) -> None:
        self._portal = portal
        self.client = client
        self.responses = responses  # as they came over the wire: of each its headers, then its body

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of all responses."""
        return self.responses[1::2]

    def call(self, tool: str, /, **arguments: Any) -> Called:
        """Call a tool; its two copies of the result must be the same JSON."""
        answer = self._portal.call(lambda: self.client.call_tool(tool, arguments))
        text, *beside = answer.content
        assert isinstance(text, TextContent)
        assert json.loads(text.text) == answer.structured_content
        links = [block for block in beside if isinstance(block, ResourceLink)]
        images = [block for block in beside if block not in links]
        pictures = [b64decode(picture_of(image).data, validate=True) for image in images]
        return Called(answer.structured_content, bool(answer.is_error), answer.meta or {}, text.text, pictures, links)

    def ask(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must answer; return the answer with its defaults and the details of `_meta` filled in."""
        called = self.call(tool, **arguments)
        assert not called.is_error, called.result
        return {**filled_in(called.result), **called.meta.get("tieout/details", {})}

    def keep(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool until its result is kept, which a busy machine may miss; return the reference."""
        found: list[str] = []

        def is_kept() -> bool:
            found.extend(filter(None, [self.ask(tool, **arguments).get("data_ref")]))
            return bool(found)

        wait_for(is_kept)
        return found[0]

    def read(self, ask: Callable[[Client], Awaitable[Found]]) -> Found:
        """Return what the client is told of anything but a tool call."""
        return self._portal.call(ask, self.client)

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result of a request that the client has no method for."""
        asked = Request[Any, str](method=method, params=params)
        return dict(self.read(lambda client: client.session.send_request(asked, RESULT)).root)

    def resource(self, uri: str) -> ReadResourceResult:
        """Return what lies at an address now: the client itself would keep it for a minute."""
        return self.read(lambda client: client.read_resource(uri, cache_mode="bypass"))

    def prompt(self, name: str, arguments: dict[str, str]) -> str:
        """Return the text of a prompt, which is one message of a user."""
        (message,) = self.read(lambda client: client.get_prompt(name, arguments)).messages
        assert message.role == "user"
        assert isinstance(message.content, TextContent)
        return message.content.text

    def tools(self) -> list[Any]:
        """List the tools."""
        return list(self._portal.call(self.client.list_tools).tools)

    def examples(self) -> dict[str, dict[str, Any]]:
        """Return the example calls in the descriptions of the tools."""
        written = {tool.name: tool.description.partition("Example: ")[2] for tool in self.tools()}
        return {name: json.loads(example) for name, example in written.items() if example}


@asynccontextmanager
async def client_of(
    url: str, era: str, key: str, responses: list[bytes], headers: Mapping[str, str]
) -> AsyncIterator[Client]:
    """Connect the SDK's client with a bearer token, keeping the raw headers and bodies of its responses."""

    async def keep(response: httpx2.Response) -> None:
        head = b"\r\n".join(name + b": " + value for name, value in response.headers.raw)
        responses.extend((head, await response.aread()))

    sent = {"Authorization": f"Bearer {key}", **headers}
    async with (
        httpx2.AsyncClient(headers=sent, timeout=DEADLINE, event_hooks={"response": [keep]}) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        yield client


@contextmanager
def connected(url: str, era: str, key: str = KEY, **headers: str) -> Iterator[McpBooks]:
    """Connect a client in one era until the block ends."""
    responses: list[bytes] = []
    opened = client_of(url, era, key, responses, headers)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened) as client:
        yield McpBooks(portal, client, responses)
