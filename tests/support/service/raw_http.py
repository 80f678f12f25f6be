"""Requests byte by byte, as no client would send them."""

import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.support.service.servers import DEADLINE

STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")


@dataclass(frozen=True)
class RawResponse:
    """What came back, all of it; status 400 stands for a connection that was closed without a word."""

    content: bytes

    @property
    def status(self) -> int:
        """The status of the first answer."""
        found = STATUS.match(self.content)
        return int(found[1]) if found else 400


@dataclass(frozen=True)
class Raw:
    """A server to send bytes to."""

    url: str

    def send(self, request: str | bytes) -> RawResponse:
        """Send bytes and nothing after them; return what comes back until the server hangs up."""
        place = urlsplit(self.url)
        content = b""
        with (
            socket.create_connection((place.hostname or "", place.port or 0), timeout=DEADLINE) as plain,
            suppress(ConnectionError),
        ):
            plain.sendall(request if isinstance(request, bytes) else request.encode("latin-1"))
            with suppress(OSError):  # the server has hung up
                plain.shutdown(socket.SHUT_WR)
            while part := plain.recv(65_536):
                content += part
        return RawResponse(content)
