"""The ASGI application and the process that serves it."""

import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from threading import Lock, Thread

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from engine.books import Shelf
from engine.instance.read import Instance
from server.caller import Callers
from server.challenges import Challenges
from server.dispatch import Dispatch
from server.embedded.platform import Platform
from server.feeds import Feeds
from server.ingest.watching import reread
from server.mcp_app import endpoint
from server.messages import Messages
from server.ops.checks import ArtifactsFolder, StoredBooks, tell_of_loads, use_database
from server.ops.listener import health_of, operated
from server.ops.readiness import Check, Readiness
from server.ports import Loads
from server.profiles import LiveProfiles, followed
from server.routes import Authenticated, CancelOnDisconnect, Identified
from server.settings import BadSetting, Settings
from server.signals import on_hangup
from server.stores.profiles import source_of
from server.telemetry.calls import Telemetry
from server.telemetry.metrics import Metrics
from server.tokens.authority import Authority

BACKLOG = 2048
log = logging.getLogger("tieout")


def application(
    dispatch: Dispatch, authority: Authority, settings: Settings, readiness: Readiness, metrics: Metrics
) -> Starlette:
    """Return the application that clients reach."""
    manager = endpoint(dispatch, version("tieout"), settings.hosts, settings.origins)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run(), anyio.create_task_group() as beside:
            beside.start_soon(authority.watch)
            yield
            beside.cancel_scope.cancel()
        dispatch.close()

    mcp = Authenticated(CancelOnDisconnect(Messages(manager.handle_request)), authority, settings, metrics)
    metadata = Challenges(settings).metadata_routes()
    return Starlette(
        routes=[Route("/mcp", mcp, methods=["POST"]), Route("/health", health_of(readiness)), *metadata],
        middleware=[Middleware(Identified)],
        lifespan=lifespan,
    )


class PortTaken(BadSetting):
    """Somebody else listens where this server should."""


def listen(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say for clients; PortTaken where that is not free."""
    return socket_at(settings.host, settings.port, "SVC_PORT")


def listen_to_operators(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say for operators; PortTaken where that is not free."""
    return socket_at(*settings.ops_address, "SVC_OPS_BIND")


def socket_at(host: str, port: int, variable: str) -> socket.socket:
    """Return a socket that listens; PortTaken names the setting that takes another place."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where a socket names TCP; with it on, answers wait 40 ms for an ACK
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen(BACKLOG)  # at once: until then another could bind to the same place
    except OSError as fault:
        opened.close()
        words = f"cannot listen on {host}:{port} ({fault.strerror}); choose another port with {variable}"
        raise PortTaken(words) from fault
    return opened


def serve(
    settings: Settings,
    instance: Instance,
    authority: Authority,
    platform: Platform,
    for_clients: socket.socket,
    for_operators: socket.socket,
) -> None:
    """Serve on bound sockets until told to stop."""
    release = version("tieout")
    metrics = Metrics(release)
    shelf = Shelf(instance.catalogue, settings.store)
    feeds = Feeds.of(instance.bindings, platform.loads, os.environ)
    profiles = LiveProfiles(source_of(settings, platform.database), instance.catalogue)
    callers = Callers(instance, shelf, feeds, settings.answer_tokens, settings.row_cap, profiles)
    readiness = readiness_of(settings, callers, profiles, platform, metrics)
    dispatch = Dispatch(callers, settings, Telemetry(metrics))
    on_hangup(rereading(callers, settings, platform.loads))
    config = uvicorn.Config(
        application(dispatch, authority, settings, readiness, metrics),
        proxy_headers=settings.many_users,  # of one user there is no proxy, and no word of one is believed
        forwarded_allow_ips=settings.proxies,
        http="h11",  # strips white space around header values, which httptools does not
        log_config=None,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=10,
    )
    with followed(profiles), operated(for_operators, readiness, metrics):
        log.info("serving", extra={"url": settings.base_url, "operators": settings.ops_bind, "release": release})
        try:
            uvicorn.Server(config).run(sockets=[for_clients])
        finally:
            log.info("stopped")


def readiness_of(
    settings: Settings, callers: Callers, profiles: LiveProfiles, platform: Platform, metrics: Metrics
) -> Readiness:
    """Return the readiness of everything that the server stands on."""
    files = ArtifactsFolder(settings.files, settings.free_megabytes)
    books = StoredBooks(callers.instance.catalogue, settings.store, metrics.books)
    checks = [
        Check(name="relational_database", run=partial(use_database, platform.database)),
        Check(name="analytical_store", run=books.use),
        Check(name="cache_store", run=platform.cache.ping),
        Check(name="artifacts", run=files.use),
    ]
    tell = partial(tell_of_loads, platform.loads, lambda: callers.instance.bindings, metrics)
    beside = [
        Check(name="load_history", run=tell),
        Check(name="profiles", run=lambda: metrics.profiles(len(profiles.faults), profiles.age)),
    ]
    return Readiness(checks, metrics, beside)


def rereading(callers: Callers, settings: Settings, loads: Loads) -> Callable[[], None]:
    """Return what reads an instance's files anew, in the background, for the calls to come.

    Files with faults are not taken; the log has each fault.
    """
    one_at_a_time = Lock()

    def take() -> None:
        with one_at_a_time:
            instance = reread(settings.instance)
            if instance is not None:
                feeds = Feeds.of(instance.bindings, loads, os.environ)
                callers.take(instance, Shelf(instance.catalogue, settings.store), feeds)
                log.info("the files of %s were read anew: catalogue %s", settings.instance, instance.catalogue.version)

    return lambda: Thread(target=take, daemon=True).start()
