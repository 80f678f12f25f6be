"""Listening sockets. They are bound before anything else starts, so that a port in use is reported immediately.

Workers share one socket. The kernel wakes the worker that waited last first, which would give one worker nearly every
connection. Busier workers delay accept(), which balances connections.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Sized
from contextlib import suppress
from random import uniform

from server.base.settings import BadSetting, Settings

BACKLOG = 2048
PAUSE, MOST_PAUSES = 0.0005, 10  # seconds for each connection that a worker has
NO_ROOM = 1.0  # seconds until a connection is tried again that could not be taken

log = logging.getLogger("tieout.server")


class PortInUse(BadSetting):
    """Another process listens on the configured port."""


def listen(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say for clients; PortInUse where that is not free."""
    return bind_socket(settings.host, settings.port, "SVC_PORT")


def listen_to_operators(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say for operators; PortInUse where that is not free."""
    return bind_socket(*settings.ops_address, "SVC_OPS_BIND")


def bind_socket(host: str, port: int, variable: str) -> socket.socket:
    """Return a socket that listens; PortInUse names the setting that takes another place."""
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
        raise PortInUse(words) from fault
    return opened


class Acceptor:
    """Accepts connections of a listening socket that several processes share."""

    def __init__(
        self, listening: socket.socket, connections: Sized, protocol: Callable[[], asyncio.BaseProtocol], *, alone: bool
    ) -> None:
        """Begin; `connections` are those that this process has, `protocol` makes what speaks on a new one.

        Who is alone waits for nobody.
        """
        listening.setblocking(False)
        self._listening, self._descriptor = listening, listening.fileno()
        self._connections = connections
        self._pause = 0 if alone else PAUSE
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._begun: set[asyncio.Task[object]] = set()
        self._taking = asyncio.create_task(self._take())

    def close(self) -> None:
        """Stop accepting; open connections are still answered."""
        self._taking.cancel()
        self._loop.remove_reader(self._descriptor)

    async def wait_closed(self) -> None:
        """Wait until nothing more is taken."""
        await asyncio.wait({self._taking, *self._begun})

    async def _take(self) -> None:
        while True:
            await self._one_waits()
            held = len(self._connections) + len(self._begun)
            await asyncio.sleep(self._pause * min(held, MOST_PAUSES) * uniform(0.5, 1))  # noqa: S311 - chance, no secret
            try:
                with suppress(BlockingIOError, ConnectionAbortedError):  # another worker took it, or it is gone
                    connection, _ = self._listening.accept()
                    self._begin(connection)
            except OSError as fault:
                log.warning("no connection can be taken just now: %s", fault.strerror)
                await asyncio.sleep(NO_ROOM)

    async def _one_waits(self) -> None:
        waits = asyncio.Event()
        self._loop.add_reader(self._descriptor, waits.set)
        try:
            await waits.wait()
        finally:
            self._loop.remove_reader(self._descriptor)

    def _begin(self, connection: socket.socket) -> None:
        begun = asyncio.create_task(self._loop.connect_accepted_socket(self._protocol, connection))
        self._begun.add(begun)
        begun.add_done_callback(self._begun.discard)
