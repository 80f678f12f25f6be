"""The operators' listener: /readyz, /health and /metrics, in a thread beside whatever the process does."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from threading import Thread

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from server.ops.readiness import OK, Readiness, TellsHealth
from server.telemetry.metrics import CONTENT_TYPE, Metrics

STOPPING_SECONDS = 2
NOT_STORED = {"Cache-Control": "no-store"}
Endpoint = Callable[[Request], Awaitable[Response]]


def health_of(readiness: TellsHealth) -> Endpoint:
    """Return the endpoint of /health: 200 while the stack is healthy, from memory alone."""

    async def health(_: Request) -> Response:
        found = readiness.health()
        return JSONResponse(found, status_code=200 if found["status"] == OK else 503, headers=NOT_STORED)

    return health


def ops_application(readiness: Readiness, metrics: Metrics) -> Starlette:
    """Return the application of the operators' port."""

    async def readyz(_: Request) -> Response:
        verdict = await readiness.verdict()
        return JSONResponse(verdict.as_data(), status_code=200 if verdict.ready else 503, headers=NOT_STORED)

    async def show_metrics(_: Request) -> Response:
        return Response(metrics.page(), media_type=CONTENT_TYPE, headers=NOT_STORED)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(readiness.watch())
        yield
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching

    routes = [Route("/readyz", readyz), Route("/health", health_of(readiness)), Route("/metrics", show_metrics)]
    return Starlette(routes=routes, lifespan=lifespan)


@contextmanager
def operated(listening: socket.socket, readiness: Readiness, metrics: Metrics) -> Iterator[None]:
    """Answer operators on a bound socket while the block runs."""
    config = uvicorn.Config(
        ops_application(readiness, metrics),
        http="h11",
        log_config=None,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, name="ops", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(2 * STOPPING_SECONDS)
