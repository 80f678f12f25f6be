"""The ASGI application, and the HTTP server that runs it in one worker."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from socket import AF_UNIX, socket
from time import monotonic

import anyio
import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from server.auth.bearer import own_key
from server.auth.tokens import TokenVerifier
from server.base.settings import Settings
from server.base.sockets import Acceptor
from server.http.dispatch import GRACE, Dispatcher
from server.http.limits import ConnectionLimits, ConnectionMonitor, MessageMiddleware
from server.http.mcp_app import endpoint
from server.http.routes import (
    PRIVATE,
    AuthenticationMiddleware,
    CancelOnDisconnect,
    Challenges,
    PrivateSocketMiddleware,
    RequestIdMiddleware,
)
from server.ops.readiness import HealthSource, health_endpoint
from server.ops.strict_http import HostMiddleware, StrictProtocol
from server.telemetry.metrics import CallMetrics

MCP, HEALTH = "/mcp", "/health"
KEPT_ALIVE = 5  # seconds that a connection stays open without a request
CLOSES = (b"connection", b"close")
BOUNDS = ConnectionLimits()


def application(
    dispatch: Dispatcher,
    verifier: TokenVerifier,
    settings: Settings,
    health: HealthSource,
    metrics: CallMetrics,
    bounds: ConnectionLimits = BOUNDS,
    beside: Sequence[Route] = (),
) -> "Application":
    """Return the application that clients reach; `beside` are routes that need no token."""
    mcp = endpoint(dispatch, version("tieout"), settings.hosts, settings.origins)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.run(), anyio.create_task_group() as watching:
            watching.start_soon(verifier.watch)
            yield
            watching.cancel_scope.cancel()
        dispatch.close()

    protected = AuthenticationMiddleware(
        CancelOnDisconnect(MessageMiddleware(mcp.app, bounds.seconds)), verifier, settings, metrics
    )
    metadata = Challenges(settings).metadata_routes()
    key = own_key(settings)

    def edge(app: ASGIApp) -> ASGIApp:
        """Return an application behind what every request passes first."""
        hosted = HostMiddleware(
            app,
            knows=settings.hosts.__contains__,
            instead=f"Send requests to {settings.base_url}.",
            anywhere=[HEALTH],  # probes name a server as they like, and it tells no figures
        )
        trusted = hosted if key is None else PrivateSocketMiddleware(hosted, key.key, settings.hosts[0])
        return RequestIdMiddleware(trusted)

    routes = [Route(MCP, protected, methods=["POST"]), Route(HEALTH, health_endpoint(health)), *metadata, *beside]
    return Application(edge(protected), Starlette(routes=routes, middleware=[Middleware(edge)], lifespan=lifespan))


class Application(Struct, frozen=True):
    """Hands calls to the MCP endpoint; Starlette routes every other request."""

    mcp: ASGIApp
    others: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_call = scope["type"] == "http" and scope["path"] == MCP and scope["method"] == "POST"
        await (self.mcp if is_call else self.others)(scope, receive, send)


class HttpServer(uvicorn.Server):
    """Serves HTTP on a socket that other workers may share, until `leave`."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        ready: Callable[[], None] = lambda: None,
        bounds: ConnectionLimits = BOUNDS,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                proxy_headers=settings.many_users,  # with one user there is no proxy, so trust no proxy headers
                forwarded_allow_ips=settings.proxies,
                http=StrictProtocol,  # of h11: strips white space around header values, which httptools does not
                log_config=None,
                log_level="warning",
                server_header=False,
                timeout_keep_alive=KEPT_ALIVE,
                timeout_graceful_shutdown=int(settings.deadline_seconds + GRACE),
            )
        )
        self._ready = ready
        self._alone = settings.workers == 1
        self._connections = ConnectionMonitor(bounds)
        self._acceptors: list[Acceptor] = []
        self._leaves_at: float | None = None
        self._patient = True

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Start to accept connections, and log it."""
        await super().startup([])
        self._acceptors = [
            Acceptor(
                shared,
                self.server_state.connections,
                partial(self._protocol, {PRIVATE: shared.family == AF_UNIX}),
                alone=self._alone,
            )
            for shared in sockets or []
        ]
        self.servers = self._acceptors  # type: ignore[assignment]  # uvicorn calls their close() and wait_closed()
        self._ready()

    def _protocol(self, marks: Mapping[str, bool]) -> asyncio.Protocol:
        """Return the HTTP protocol of a new connection; the state of its requests has some marks."""
        state = {**self.lifespan.state, **marks}
        return StrictProtocol(self.config, self.server_state, state)

    def leave(self, *, patiently: bool) -> None:
        """Stop accepting connections and shut down; requests in progress are still answered.

        If `patiently`, answers ask clients to close, and shutdown waits for that until idle connections time out. If
        not, no other process accepts either, and shutdown waits for the first request of what has connected.
        """
        for acceptor in self._acceptors:
            if patiently:
                acceptor.close()
            else:
                acceptor.finish()
        if patiently:
            self.config.encoded_headers.append(CLOSES)
            self.server_state.default_headers = [*self.server_state.default_headers, CLOSES]
        self._patient, self._leaves_at = patiently, monotonic() + KEPT_ALIVE + 1

    async def on_tick(self, counter: int) -> bool:
        """Enforce the limits of connections, and tell whether the server should end."""
        self._connections.look(self.server_state.connections)
        if self._leaves_at is not None:
            self.should_exit |= not self._waits() or monotonic() > self._leaves_at
        return await super().on_tick(counter)

    def _waits(self) -> bool:
        """Tell whether a server that leaves has a connection to wait for."""
        open_ones = self.server_state.connections
        waited = open_ones if self._patient else [one for one in open_ones if getattr(one, "cycle", None) is None]
        return bool(waited) or any(acceptor.opens for acceptor in self._acceptors)
