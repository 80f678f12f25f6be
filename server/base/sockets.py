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
PAUSE, MOST_PAUSES = 0.0005, 10  # seconds of delay for each open connection, and the connections that count
RETRY = 1.0  # seconds after a failed accept()

log = logging.getLogger("tieout.server")


class PortInUse(BadSetting):
    """Another process listens on the configured port."""


def listen(settings: Settings) -> socket.socket:
    """Return the listening socket for clients. Raises PortInUse if its port is taken."""
    return bind_socket(settings.host, settings.port, "SVC_PORT")


def listen_to_operators(settings: Settings) -> socket.socket:
    """Return the listening socket for operators. Raises PortInUse if its port is taken."""
    return bind_socket(*settings.ops_address, "SVC_OPS_BIND")


def bind_socket(host: str, port: int, variable: str) -> socket.socket:
    """Return a listening socket. Raises PortInUse, which names the setting to change."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only if the socket names TCP; with it, answers wait 40 ms for an ACK
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)  # immediately: until then another process could bind to the port
    except OSError as fault:
        listener.close()
        words = f"cannot listen on {host}:{port} ({fault.strerror}); choose another port with {variable}"
        raise PortInUse(words) from fault
    return listener


class Acceptor:
    """Accepts connections of a listening socket that several processes share."""

    def __init__(
        self, listening: socket.socket, connections: Sized, protocol: Callable[[], asyncio.BaseProtocol], *, alone: bool
    ) -> None:
        """Start to accept. `connections` are those of this process; `protocol` makes the protocol of a new one.

        `alone` is true if no other process shares the socket; connections are then accepted without delay.
        """
        listening.setblocking(False)
        self._listening, self._descriptor = listening, listening.fileno()
        self._connections = connections
        self._pause = 0 if alone else PAUSE
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[object]] = set()
        self._accepting = asyncio.create_task(self._accept())

    def close(self) -> None:
        """Stop accepting; open connections are still answered."""
        self._accepting.cancel()
        self._loop.remove_reader(self._descriptor)

    def finish(self) -> None:
        """Stop accepting for every process: what has connected is still answered, and who comes now is refused.

        Otherwise the system would take connections that nobody reads, and a proxy could not tell to ask another server.
        """
        self.close()
        with suppress(OSError):
            while True:
                self._open(self._listening.accept()[0])
        with suppress(OSError):  # another worker was faster, or the system refuses it for a listening socket
            self._listening.shutdown(socket.SHUT_RD)

    @property
    def opens(self) -> bool:
        """Whether a connection is accepted and not open yet."""
        return bool(self._opening)

    async def wait_closed(self) -> None:
        """Wait until accepting has stopped and accepted connections are open."""
        await asyncio.wait({self._accepting, *self._opening})

    async def _accept(self) -> None:
        while True:
            await self._readable()
            busy = min(len(self._connections) + len(self._opening), MOST_PAUSES)
            await asyncio.sleep(self._pause * busy * uniform(0.5, 1))  # noqa: S311 - jitter, no secret
            try:
                with suppress(BlockingIOError, ConnectionAbortedError):  # another worker was faster, or the client left
                    connection, _ = self._listening.accept()
                    self._open(connection)
            except OSError as fault:
                log.warning("cannot accept connections now: %s", fault.strerror)
                await asyncio.sleep(RETRY)

    async def _readable(self) -> None:
        ready = asyncio.Event()
        self._loop.add_reader(self._descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            self._loop.remove_reader(self._descriptor)

    def _open(self, connection: socket.socket) -> None:
        opening = asyncio.create_task(self._loop.connect_accepted_socket(self._protocol, connection))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
