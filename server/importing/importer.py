"""The importer: reads a file from a host that the operator has named, by however many redirects among such hosts.

Nothing of an error tells more than the name of the host that was asked: not where it led, nor what answered there.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from ssl import SSLContext
from threading import BoundedSemaphore
from time import monotonic

import httpcore2

from engine.errors import BadArguments, Busy, HostNotAllowed, Unavailable
from server.importing.addresses import NOT_PUBLIC, Names, Network, Resolve, system_addresses
from server.importing.connections import NotPublic, Pinned, Watch
from server.pacing import Pace
from server.places import Host, Place, read_hosts, read_place
from server.settings import Settings

FIELD = "file.download_url"
AT_ONCE = 2  # each holds a thread of light calls
OF_THE_DEADLINE = 0.8  # of a call may a host take, so that its caller is told of it
MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
PASSING = (408, 425, 429)  # what another try may mend, beside all that is the host's fault
RETRY_AFTER_MS = 2000
NOWHERE = Place(Host(""), "/")
HEADERS = (("Accept", "*/*"), ("Accept-Encoding", "identity"), ("User-Agent", "tieout"), ("Connection", "close"))
EXAMPLE = "https://files.example.com/budget.csv"
NO_ADDRESS = "The download_url takes the https address of a file as its host gave it: a host name, and no login."


@dataclass(frozen=True, slots=True)
class Found:
    """A file that a host sends: its type and size as far as the host tells them, and its bytes."""

    mime_type: str
    size: int | None
    chunks: Iterator[bytes]


class Importer:
    """Reads files from some hosts."""

    def __init__(
        self,
        hosts: Sequence[Host],
        seconds: float,
        *,
        pace: Pace | None = None,
        resolve: Resolve = system_addresses,
        closed: Sequence[Network] = NOT_PUBLIC,
        trust: SSLContext | None = None,
    ) -> None:
        """`seconds` are what a file may take, `closed` are networks that are never connected to."""
        self._hosts = frozenset(hosts)
        self._seconds = seconds
        self._pace = pace or Pace()
        self._names = Names(resolve)
        self._closed = closed
        self._trust = trust
        self._places = BoundedSemaphore(AT_ONCE)

    @contextmanager
    def opened(self, address: str, stop: Callable[[], None]) -> Iterator[Found]:
        """Open what an address leads to; a Refusal where that is no file, or while its bytes are read."""
        try:
            place = read_place(address)
        except ValueError:
            raise BadArguments(NO_ADDRESS, field=FIELD, example={"download_url": EXAMPLE}) from None
        if place.host not in self._hosts:
            raise self._not_allowed(place.host, f"Nothing is imported from {place.host}.")
        if not self._places.acquire(blocking=False):
            raise Busy("Other files are being imported. Call again shortly.", retry_after_ms=RETRY_AFTER_MS)
        begun = monotonic()
        watch = Watch(self._pace, begun, begun + self._seconds, stop)
        try:
            with self._told_of(place.host), ExitStack() as connections:
                yield found_in(self._answer(place, watch, connections), place.host)
        finally:
            self._places.release()

    def _answer(self, place: Place, watch: Watch, connections: ExitStack) -> httpcore2.Response:
        """Return what is answered at a place, or where it leads to."""
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
    def _asked(self, place: Place, watch: Watch) -> Iterator[httpcore2.Response]:
        """Ask a host for a file, over a connection of its own; nothing of the caller goes along."""
        url = httpcore2.URL(
            scheme=b"https", host=place.host.name.encode(), port=place.host.port, target=place.target.encode()
        )
        headers = [("Host", str(place.host)), *HEADERS]
        network = Pinned(self._names, self._closed, watch)
        with (
            httpcore2.ConnectionPool(ssl_context=self._trust, network_backend=network) as pool,
            pool.stream("GET", url, headers=headers) as answer,
        ):
            yield answer

    @contextmanager
    def _told_of(self, asked: Host) -> Iterator[None]:
        """Tell what goes wrong with a host, and nothing of where it leads."""
        try:
            yield
        except NotPublic:
            raise self._not_allowed(asked, f"{asked} is no public host, or leads to one that is none.") from None
        except httpcore2.TimeoutException:
            raise unavailable(f"{asked} did not send the file in time. Call again, or take a smaller file.") from None
        except httpcore2.ConnectError:
            raise unavailable(f"No secure connection to {asked} can be had just now.") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError):
            raise unavailable(f"{asked} broke off, or did not answer as a web server does.") from None

    def _not_allowed(self, asked: Host, words: str) -> HostNotAllowed:
        """Return the refusal of a host."""
        return HostNotAllowed(words, field=FIELD, got=str(asked), valid=sorted(map(str, self._hosts)))


def importer_of(settings: Settings) -> Importer:
    """Return the importer of a deployment."""
    return Importer(read_hosts(settings.import_hosts), OF_THE_DEADLINE * settings.deadline_seconds)


def found_in(answer: httpcore2.Response, asked: Host) -> Found:
    """Return the file of an answer; a Refusal where it holds none."""
    if answer.status in PASSING or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise unavailable(f"{asked} cannot send the file just now ({answer.status}).")
    if answer.status != HTTPStatus.OK:
        raise BadArguments(
            f"{asked} has no file at this address ({answer.status}). Such links expire: take a new one from the host.",
            field=FIELD,
        )
    if (header(answer, b"content-encoding") or "identity").lower() != "identity":
        raise BadArguments(f"{asked} sends the file in a content coding, which was not asked for.", field=FIELD)
    is_chunked = header(answer, b"transfer-encoding") is not None  # then a length beside it says nothing
    size = None if is_chunked else header(answer, b"content-length")
    if size is None and not is_chunked:
        raise BadArguments(f"{asked} does not say where the file ends: a part could be taken for it.", field=FIELD)
    return Found(
        mime_type=header(answer, b"content-type") or "",
        size=None if size is None else int(size[:20]),  # which the library has found to be digits
        chunks=answer.iter_stream(),
    )


def header(answer: httpcore2.Response, name: bytes) -> str | None:
    """Return a header of an answer, the first of its name."""
    found = next((value for known, value in answer.headers if known.lower() == name), None)
    return None if found is None else found.decode("latin-1").strip()


def unavailable(words: str) -> Unavailable:
    """Return the refusal of a file that may come another time."""
    return Unavailable(words, field=FIELD, retry_after_ms=RETRY_AFTER_MS)
