"""What every HTTP listener refuses first: requests that can be read in two ways, and requests to another host."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

import h11
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

VERSIONS = (b"1.0", b"1.1")  # of what is sent in plain text over TCP
LENGTH, ENCODING = b"content-length", b"transfer-encoding"
MISDIRECTED = 421
LEAVES = "leaves"  # where the state of a request has what is called when its client goes away


class StrictConnection(h11.Connection):
    """Parses HTTP/1 and refuses what two servers on the way may frame differently (RFC 9112, section 6.1).

    The head of a response of known length leaves with the first bytes of its body: each write wakes the client.
    """

    _head: Sequence[bytes] = ()

    def send_with_data_passthrough(self, event: h11.Event) -> list[bytes] | None:
        """Return what to write for an event, None if the connection closes."""
        parts = super().send_with_data_passthrough(event)
        if isinstance(event, h11.Response) and any(name == LENGTH for name, _ in event.headers):
            self._head = parts or ()
            return []
        if parts is None or not self._head:
            return parts
        head, self._head = self._head, ()
        return [*head, *parts]

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event. Raises RemoteProtocolError, which uvicorn answers with 400 before it closes."""
        event = super().next_event()
        if isinstance(event, h11.Request) and is_ambiguous(event):
            raise h11.RemoteProtocolError("the end of the request, or its version, is ambiguous")
        return event


def is_ambiguous(request: h11.Request) -> bool:
    """Tell whether a request has two lengths, a coding that its version lacks, or a version of another protocol."""
    names = {name for name, _ in request.headers}
    coded = ENCODING in names and (LENGTH in names or request.http_version != VERSIONS[-1])
    return coded or request.http_version not in VERSIONS


class StrictProtocol(H11Protocol):
    """uvicorn's HTTP/1 protocol over a StrictConnection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = StrictConnection(h11.SERVER)

    def handle_events(self) -> None:
        """Handle what was received; read on behind a whole request, since a lost connection is seen by reading."""
        super().handle_events()
        if self.flow.read_paused and self.conn.their_state is h11.DONE and not self.conn.trailing_data[0]:
            self.flow.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection, and what its request has left to be called then."""
        super().connection_lost(exc)
        if self.cycle is not None and LEAVES in self.cycle.scope["state"]:  # type: ignore[redundant-expr]  # None at first, untold
            self.cycle.scope["state"][LEAVES]()


class HostMiddleware:
    """Answers 421 if the Host header is not a name of this server, so that no page can rebind a name of its own."""

    def __init__(
        self, app: ASGIApp, knows: Callable[[str], bool], instead: str, anywhere: Collection[str] = ()
    ) -> None:
        """`knows` tells the names; `instead` says which one to use; the paths in `anywhere` are answered to any."""
        self._app = app
        self._knows, self._anywhere = knows, anywhere
        self._refusal = JSONResponse({"error": f"Invalid Host header. {instead}"}, MISDIRECTED)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request to this server."""
        foreign = (
            scope["type"] == "http"
            and scope["path"] not in self._anywhere
            and not self._knows(Headers(scope=scope).get("host", ""))
        )
        await (self._refusal if foreign else self._app)(scope, receive, send)


def is_private_name(host: str) -> bool:
    """Tell whether a Host header is one that nobody can register: none, an address, or a name without a dot."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return "." not in name or is_address(name)
    except ValueError:  # brackets that close nothing
        return False


def is_address(name: str) -> bool:
    """Tell whether a host is an IP address."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
