"""The importer: reads a file from a host on the allow-list and checks every address and redirect."""

import logging
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from ssl import SSLContext
from threading import BoundedSemaphore
from time import monotonic
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore2
from msgspec import Struct

from engine.model.errors import BadArguments, Refusal, Unavailable
from server.base.errors import Busy, HostNotAllowed
from server.base.interfaces import MinimumRate
from server.base.links import Host, RemoteFile, parse_hosts, parse_remote_file
from server.base.settings import Settings

# Network addresses: what a host name resolves to, and which addresses are public.


Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str], Sequence[Address]]
ASKED_AT_ONCE = 4

# Networks that are not public: the special-purpose blocks of the IANA registries, and multicast. IANA assigns only
# 2000::/3 of IPv6. Prefixes that carry IPv4 addresses (::ffff:0:0/96, 64:ff9b::/96) lie outside it; 6to4 and Teredo lie
# inside it and are listed here.
NOT_PUBLIC: tuple[Network, ...] = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/3", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
        *("4000::/2", "8000::/1"),
    )
)


def is_in(address: Address, networks: Sequence[Network]) -> bool:
    """Tell whether any of the networks contains an address."""
    return any(address in network for network in networks)


def system_addresses(name: str) -> Sequence[Address]:
    """Return the addresses that the system resolves a name to; raises OSError if there are none."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(entry[4][0]) for entry in found))


class Resolver:
    """Resolves names with a timeout, which the system resolver lacks."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._asking = ThreadPoolExecutor(ASKED_AT_ONCE, "names of hosts")

    def addresses(self, name: str, seconds: float) -> Sequence[Address]:
        """Return the addresses of a name; raises OSError if there are none, TimeoutError if it takes too long."""
        asked = self._asking.submit(self._resolve, name)
        try:
            return asked.result(seconds)
        finally:
            asked.cancel()


# Connections to hosts: pinned to the checked addresses, so that a second lookup cannot return another address.


CONNECTING = 5.0  # seconds each for the lookup, the connection and the TLS handshake
TRIED = 4  # addresses tried for one name
TURN = 0.5  # seconds between two checks of `stop`


class NotPublic(Exception):
    """At least one address of a name is not public."""


@dataclass(slots=True)
class ReadDeadline:
    """The time that a host has left, and the check that its caller still waits."""

    pace: MinimumRate
    begun: float
    ends: float
    stop: Callable[[], None]
    size: int = 0

    def left(self) -> float:
        """Return the seconds left; raises ReadTimeout if there are none, and whatever `stop` raises."""
        self.stop()
        left = min(self.ends, self.pace.due(self.begun, self.size)) - monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the host is too slow")
        return left


class WatchedStream(httpcore2.NetworkStream):
    """A connection that respects a read deadline."""

    def __init__(self, stream: httpcore2.NetworkStream, watch: ReadDeadline) -> None:
        self._stream = stream
        self._watch = watch

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the watch knows better
        """Return received bytes; raises ReadTimeout after the deadline."""
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
        """Return the connection over TLS, with the host's certificate verified."""
        most = min(CONNECTING, self._watch.left())
        return WatchedStream(self._stream.start_tls(ssl_context, server_hostname, most), self._watch)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as the library has it
        """Return a property of the connection that the library asks for."""
        return self._stream.get_extra_info(info)


class PinnedBackend(httpcore2.NetworkBackend):
    """Connects to the first address of a name that answers, unless one of its addresses is in a closed network."""

    def __init__(self, names: Resolver, closed: Sequence[Network], watch: ReadDeadline) -> None:
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
        """Return a connection to a host; raises NotPublic for a private address, ConnectError if none answers."""
        try:
            addresses = self._names.addresses(host, min(CONNECTING, self._watch.left()))
        except OSError as fault:
            raise httpcore2.ConnectError(f"{host} has no address") from fault
        if any(is_in(address, self._closed) for address in addresses):
            raise NotPublic
        for address in addresses[:TRIED]:
            try:
                most = min(CONNECTING, self._watch.left())
                stream = self._system.connect_tcp(str(address), port, most, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
            return WatchedStream(stream, self._watch)
        raise httpcore2.ConnectError(f"no address of {host} answers")


# The importer: follows redirects only among the hosts on the allow-list. An error names only the host of the caller's
# URL, never a redirect's target or its reply. Through a proxy, the proxy resolves the names of hosts: the importer then
# pins the addresses of the proxy, which the operator chose and which may be private.


FIELD = "file.download_url"
AT_ONCE = 2  # imports; each holds a thread of the light lane
OF_THE_DEADLINE = 0.8  # share of a call's deadline that a host may take, so that the caller still gets the error
MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
PROXY_LOGIN = HTTPStatus.PROXY_AUTHENTICATION_REQUIRED
WANTS_LOGIN = " (it wants another login: http://USER:PASSWORD@HOST:PORT)"
PASSING = (408, 425, 429)  # client errors that a retry may solve, as it may any 5xx
RETRY_AFTER_MS = 2000
NOWHERE = RemoteFile(Host(""), "/")
HEADERS = (("Accept", "*/*"), ("Accept-Encoding", "identity"), ("User-Agent", "tieout"), ("Connection", "close"))
EXAMPLE = "https://files.example.com/figures.csv"
log = logging.getLogger("tieout.imports")
NO_ADDRESS = "The download_url takes the https address of a file as its host gave it: a host name, and no login."


class DownloadedFile(Struct, frozen=True):
    """A file that a host sends: its bytes, and its type and size if the host states them."""

    mime_type: str
    size: int | None
    chunks: Iterator[bytes]


class Importer:
    """Reads files from the hosts on the allow-list."""

    def __init__(
        self,
        hosts: Sequence[Host],
        seconds: float,
        *,
        pace: MinimumRate | None = None,
        resolve: Resolve = system_addresses,
        closed: Sequence[Network] = NOT_PUBLIC,
        trust: SSLContext | None = None,
        proxy: str | None = None,
    ) -> None:
        """Set the limits: `seconds` is the time for one file, `closed` lists networks that are never connected to.

        `proxy` is the URL of a proxy, with a login if it wants one; None connects directly.
        """
        self._hosts = frozenset(hosts)
        self._seconds = seconds
        self._pace = pace or MinimumRate()
        self._names = Resolver(resolve)
        self._closed = closed
        self._trust = trust
        self._proxy = None if proxy is None else proxy_of(proxy)
        self._places = BoundedSemaphore(AT_ONCE)

    @contextmanager
    def opened(self, address: str, stop: Callable[[], None]) -> Iterator[DownloadedFile]:
        """Open the file at a URL; raises a Refusal here or while its bytes are read."""
        try:
            place = parse_remote_file(address)
        except ValueError:
            raise BadArguments(NO_ADDRESS, field=FIELD, example={"file": {"download_url": EXAMPLE}}) from None
        if place.host not in self._hosts:
            raise self._not_allowed(place.host, f"Nothing is imported from {place.host}.")
        if not self._places.acquire(blocking=False):
            raise Busy("Other files are being imported. Call again shortly.", retry_after_ms=RETRY_AFTER_MS)
        begun = monotonic()
        watch = ReadDeadline(self._pace, begun, begun + self._seconds, stop)
        try:
            with self._told_of(place.host), ExitStack() as connections:
                yield found_in(self._answer(place, watch, connections), place.host)
        finally:
            self._places.release()

    def _answer(self, place: RemoteFile, watch: ReadDeadline, connections: ExitStack) -> httpcore2.Response:
        """Return the response to a URL after redirects; raises HostNotAllowed for a redirect to another host."""
        asked = place.host
        for _ in range(1 + MOST_REDIRECTS):
            answer = connections.enter_context(self._asked(place, watch))
            location = header(answer, b"location")
            if answer.status not in REDIRECTS or location is None:
                return answer
            try:
                place = place.led_to(location)
            except ValueError:
                place = NOWHERE
            if place.host not in self._hosts:
                raise self._not_allowed(asked, f"{asked} leads to a place that nothing is imported from.")
        raise self._not_allowed(asked, f"{asked} leads on and on. Take the address of the file itself.")

    @contextmanager
    def _asked(self, place: RemoteFile, watch: ReadDeadline) -> Iterator[httpcore2.Response]:
        """Request a file over a new connection; sends no data of the caller."""
        url = httpcore2.URL(
            scheme=b"https", host=place.host.name.encode(), port=place.host.port, target=place.target.encode()
        )
        headers = [("Host", str(place.host)), *HEADERS]
        network = PinnedBackend(self._names, () if self._proxy else self._closed, watch)
        with (
            httpcore2.ConnectionPool(ssl_context=self._trust, proxy=self._proxy, network_backend=network) as pool,
            pool.stream("GET", url, headers=headers) as answer,
        ):
            yield answer

    @contextmanager
    def _told_of(self, asked: Host) -> Iterator[None]:
        """Turn network failures into errors that name only the host of the caller's URL."""
        try:
            yield
        except NotPublic:
            raise self._not_allowed(asked, f"{asked} is no public host, or leads to one that is none.") from None
        except httpcore2.ProxyError as refused:
            raise self._kept_out(asked, int(str(refused)[:3])) from None
        except httpcore2.TimeoutException as fault:
            self._log(asked, f"{fault}")
            raise unavailable(f"{asked} did not send the file in time. Call again, or take a smaller file.") from None
        except httpcore2.ConnectError as fault:
            self._log(asked, f"{fault}")
            raise unavailable(f"No secure connection to {asked} can be had just now.") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as fault:
            self._log(asked, f"{fault}")
            raise unavailable(f"{asked} broke off, or did not answer as a web server does.") from None

    def _kept_out(self, asked: Host, status: int) -> Refusal:
        """Log that the proxy did not connect to a host; return the error for the caller."""
        self._log(asked, f"the proxy answers {status}{WANTS_LOGIN if status == PROXY_LOGIN else ''}")
        if status in PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return unavailable(f"The proxy of this deployment cannot reach {asked} just now.")
        return HostNotAllowed(
            f"The proxy of this deployment lets nothing through from {asked}; only its operator can change that. "
            "begin_file_upload takes the file itself.",
            field=FIELD,
            got=str(asked),
        )

    def _log(self, asked: Host, why: str) -> None:
        """Log a failure behind a proxy, which is the operator's to repair."""
        if self._proxy is not None:
            log.warning("no file of %s came through SVC_FILE_IMPORT_PROXY: %s", asked, why)

    def _not_allowed(self, asked: Host, words: str) -> HostNotAllowed:
        """Return the error for a host that is not allowed."""
        return HostNotAllowed(words, field=FIELD, got=str(asked), valid=sorted(map(str, self._hosts)))


def importer_of(settings: Settings) -> Importer:
    """Return the importer of a deployment."""
    seconds = OF_THE_DEADLINE * settings.deadline_seconds
    return Importer(parse_hosts(settings.import_hosts), seconds, proxy=settings.import_proxy)


def proxy_of(url: str) -> httpcore2.Proxy:
    """Return the proxy at a URL; its login stands in the URL, percent-encoded."""
    parts = urlsplit(url)
    login = None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))
    return httpcore2.Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", auth=login)


def found_in(answer: httpcore2.Response, asked: Host) -> DownloadedFile:
    """Return the file in a response; raises BadArguments if it has none, Unavailable if a retry may help."""
    if answer.status in PASSING or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise unavailable(f"{asked} cannot send the file just now ({answer.status}).")
    if answer.status != HTTPStatus.OK:
        raise BadArguments(
            f"{asked} has no file at this address ({answer.status}). Such links expire: take a new one from the host.",
            field=FIELD,
        )
    if (header(answer, b"content-encoding") or "identity").lower() != "identity":
        raise BadArguments(f"{asked} sends the file in a content coding, which was not asked for.", field=FIELD)
    is_chunked = header(answer, b"transfer-encoding") is not None  # then Content-Length has no meaning
    size = None if is_chunked else header(answer, b"content-length")
    if size is None and not is_chunked:
        raise BadArguments(f"{asked} does not say where the file ends: a part could be taken for it.", field=FIELD)
    return DownloadedFile(
        mime_type=header(answer, b"content-type") or "",
        size=None if size is None else int(size[:20]),  # the library has checked that these are digits
        chunks=answer.iter_stream(),
    )


def header(answer: httpcore2.Response, name: bytes) -> str | None:
    """Return the first header of a name, None if there is none."""
    found = next((value for known, value in answer.headers if known.lower() == name), None)
    return None if found is None else found.decode("latin-1").strip()


def unavailable(words: str) -> Unavailable:
    """Return the error for a download that a retry may complete."""
    return Unavailable(words, field=FIELD, retry_after_ms=RETRY_AFTER_MS)
