"""The ASGI application and the process that serves it."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from engine.books import Shelf
from engine.instance.read import Instance
from server.caller import Callers
from server.dispatch import Dispatch
from server.feeds import Feeds
from server.mcp_app import endpoint
from server.ports import Loads
from server.routes import Authenticated, CancelOnDisconnect, health
from server.settings import LOOPBACK, Settings
from server.tokens import DevKey


def application(dispatch: Dispatch, key: DevKey, port: int) -> Starlette:
    """Return the application of the single-user server on a port of this machine."""
    hosts = [f"[{host}]" if ":" in host else host for host in LOOPBACK]
    manager = endpoint(dispatch, version("tieout"), [f"{host}:{port}" for host in hosts])

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield
        dispatch.close()

    mcp = Authenticated(CancelOnDisconnect(manager.handle_request), key.principal)
    return Starlette(
        routes=[Route("/mcp", mcp, methods=["POST"]), Route("/health", health, methods=["GET"])],
        lifespan=lifespan,
    )


class PortTaken(OSError):
    """Somebody else listens where this server should."""


def listen(settings: Settings) -> socket.socket:
    """Return a socket bound where the settings say; PortTaken where that is not free."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where a socket names TCP; with it on, answers wait 40 ms for an ACK
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as fault:
        listening.close()
        words = (
            f"cannot listen on {settings.host}:{settings.port} ({fault.strerror}); choose another port with SVC_PORT"
        )
        raise PortTaken(words) from fault
    return listening


def serve(settings: Settings, instance: Instance, key: DevKey, listening: socket.socket, loads: Loads) -> None:
    """Serve on a bound socket until told to stop."""
    shelf = Shelf(instance.catalogue, settings.store)
    feeds = Feeds.of(instance.bindings, loads, os.environ)
    dispatch = Dispatch(Callers(instance, shelf, feeds, settings.answer_tokens, settings.row_cap), settings)
    config = uvicorn.Config(
        application(dispatch, key, settings.port),
        http="h11",  # strips white space around header values, which httptools does not
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=10,
    )
    uvicorn.Server(config).run(sockets=[listening])
