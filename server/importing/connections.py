"""Connections to hosts: only to the very addresses that were looked at, and only for so long.

The HTTP library asks this for a connection and is given one, so that nobody looks the name up a second time and may be
told another address.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ssl import SSLContext
from time import monotonic
from typing import Any

import httpcore2

from server.importing.addresses import Names, Network, is_in
from server.pacing import Pace

CONNECTING = 5.0  # seconds, for a name, for a connection, for its encryption
TRIED = 4  # addresses of a name
TURN = 0.5  # seconds after which a caller who is gone is noticed


class NotPublic(Exception):
    """A name that leads to an address of no public network, maybe among others."""


@dataclass(slots=True)
class Watch:
    """How long whoever is asked may still take, and whether anybody waits for it."""

    pace: Pace
    begun: float
    ends: float
    stop: Callable[[], None]
    size: int = 0

    def left(self) -> float:
        """Return how many seconds are left; ReadTimeout where none are, and whatever `stop` raises."""
        self.stop()
        left = min(self.ends, self.pace.due(self.begun, self.size)) - monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the host is too slow")
        return left


class Watched(httpcore2.NetworkStream):
    """A connection that is read for no longer than it may."""

    def __init__(self, stream: httpcore2.NetworkStream, watch: Watch) -> None:
        self._stream = stream
        self._watch = watch

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the watch knows better
        """Return bytes that came."""
        while True:
            left = self._watch.left()
            try:
                came = self._stream.read(max_bytes, min(left, TURN))
            except httpcore2.ReadTimeout:
                continue
            self._watch.size += len(came)
            return came

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - the watch knows better
        """Send bytes."""
        self._stream.write(buffer, self._watch.left())

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - the watch knows better
    ) -> httpcore2.NetworkStream:
        """Return the connection encrypted, with whoever has a certificate of the host."""
        most = min(CONNECTING, self._watch.left())
        return Watched(self._stream.start_tls(ssl_context, server_hostname, most), self._watch)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as the library has it
        """Return what the library asks of a connection."""
        return self._stream.get_extra_info(info)


class Pinned(httpcore2.NetworkBackend):
    """Connects to public addresses of a name: all of them must be, and the first that answers is taken."""

    def __init__(self, names: Names, closed: Sequence[Network], watch: Watch) -> None:
        self._names = names
        self._closed = closed
        self._watch = watch
        self._system = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the watch knows better
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Return a connection to a host; NotPublic where it leads elsewhere, ConnectError where there is none."""
        try:
            addresses = self._names.addresses(host, min(CONNECTING, self._watch.left()))
        except OSError as fault:
            raise httpcore2.ConnectError("the name leads nowhere") from fault
        if any(is_in(address, self._closed) for address in addresses):
            raise NotPublic
        for address in addresses[:TRIED]:
            try:
                most = min(CONNECTING, self._watch.left())
                stream = self._system.connect_tcp(str(address), port, most, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
            return Watched(stream, self._watch)
        raise httpcore2.ConnectError("no address of the name answers")
