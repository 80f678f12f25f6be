"""What both listeners refuse first: requests that can be read in two ways, and hosts that are not theirs."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import h11
import httpx2
import pytest

from server.base.settings import Settings
from server.base.sockets import listen_to_operators
from server.ops.readiness import Readiness, serve_operators
from server.ops.strict_http import StrictConnection, is_private_name
from server.telemetry.metrics import Metrics
from server.tools.toolbox import TOOLS
from tests.support.service.servers import DEADLINE, free_port
from tests.unit.server.http.test_bounds import all_of, connection
from tests.unit.server.http.test_disconnect import HEADERS, body, served
from tests.unit.server.http.test_dispatch import dispatch_of

SENT = json.dumps(body("list_kpis"))
CHUNK = f"{len(SENT):x}\r\n{SENT}\r\n0\r\n\r\n"
FRAMED = f"Content-Length: {len(SENT)}"
CHUNKED = "Transfer-Encoding: chunked"


@pytest.fixture(scope="module")
def url(small_instance: tuple[Path, Path]) -> Iterator[str]:
    """The listener of clients."""
    with served(dispatch_of(small_instance, TOOLS)) as url:
        yield url


@pytest.fixture(scope="module")
def ops() -> Iterator[str]:
    """The listener of operators."""
    settings = Settings(ops_bind=f"127.0.0.1:{free_port()}")
    with listen_to_operators(settings) as listening, serve_operators(listening, Readiness([], Metrics()), Metrics()):
        url = f"http://{settings.ops_bind}"
        httpx2.get(f"{url}/readyz", timeout=DEADLINE)
        yield url


def answer_to(url: str, first: str, *headers: str, sent: str = "") -> bytes:
    """Send one request and another one behind it, and return all that is answered until the connection closes."""
    host = urlsplit(url).netloc
    behind = f"GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    lines = [first, f"Host: {host}", *(f"{name}: {value}" for name, value in HEADERS.items())]
    with connection(url) as opened:
        opened.sendall(("\r\n".join([*lines, *headers, "", ""]) + sent + behind).encode())
        return all_of(opened)


@pytest.mark.parametrize(
    ("first", "headers", "sent"),
    [
        ("POST /mcp HTTP/1.1", (FRAMED, CHUNKED), CHUNK),
        ("POST /mcp HTTP/1.1", (CHUNKED, FRAMED), CHUNK),
        ("POST /mcp HTTP/1.1", (CHUNKED, "Content-Length: 0"), CHUNK),
        ("POST /mcp HTTP/1.0", (CHUNKED, "Connection: keep-alive"), CHUNK),
        ("POST /mcp HTTP/3.0", (FRAMED,), SENT),
        ("POST /mcp HTTP/2.0", (FRAMED,), SENT),
        ("POST /mcp HTTP/1.2", (FRAMED,), SENT),
        ("POST /mcp HTTP/0.9", (FRAMED,), SENT),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_and_the_connection_closed(
    url: str, ops: str, first: str, headers: tuple[str, ...], sent: str
) -> None:
    for listener in (url, ops):
        answered = answer_to(listener, first, *headers, sent=sent)
        assert answered.startswith(b"HTTP/1.1 400 ")
        assert b"connection: close" in answered.lower()
        assert answered.count(b"HTTP/1.1 ") == 1, "nothing behind it was a request"


@pytest.mark.parametrize(
    ("first", "headers", "sent"),
    [
        ("POST /mcp HTTP/1.1", (FRAMED,), SENT),
        ("POST /mcp HTTP/1.1", (CHUNKED,), CHUNK),
        ("POST /mcp HTTP/1.0", (FRAMED,), SENT),
    ],
)
def test_what_can_be_read_in_one_way_is_answered(url: str, first: str, headers: tuple[str, ...], sent: str) -> None:
    assert b"HTTP/1.1 200 OK" in answer_to(url, first, "Content-Type: application/json", *headers, sent=sent)


@pytest.mark.parametrize(("headers", "is_held"), [([("Content-Length", "4")], True), ([], False)])
def test_a_head_waits_for_its_body_where_the_length_is_known(headers: list[tuple[str, str]], is_held: bool) -> None:
    conn = StrictConnection(h11.SERVER)
    conn.receive_data(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert isinstance(conn.next_event(), h11.Request)
    head = conn.send(h11.Response(status_code=200, headers=headers))
    body = conn.send(h11.Data(data=b"done"))
    assert head.startswith(b"HTTP/1.1 200") is not is_held
    assert body.startswith(b"HTTP/1.1 200") is is_held
    assert b"done" in body
    assert b"HTTP/1.1" not in conn.send(h11.EndOfMessage())


@pytest.mark.parametrize("path", ["/", "/mcp", "/mcp/", "/health/", "/charts.json", "/nowhere"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1.evil.example", "evil.example:8768"])
def test_a_host_that_is_not_the_servers_is_answered_nowhere(url: str, path: str, host: str) -> None:
    refused = httpx2.post(f"{url.removesuffix('/mcp')}{path}", headers={**HEADERS, "Host": host}, timeout=DEADLINE)
    assert refused.status_code == 421
    assert refused.json() == {"error": f"Invalid Host header. Send requests to {url.removesuffix('/mcp')}."}
    assert "location" not in refused.headers
    assert refused.headers["x-request-id"]


def test_a_probe_may_name_the_server_as_it_likes(url: str) -> None:
    for host in ("10.0.0.7:8768", "tieout.svc.cluster.local"):
        probed = httpx2.get(f"{url.removesuffix('/mcp')}/health", headers={"Host": host}, timeout=DEADLINE)
        assert probed.json()["status"] in ("starting", "ok", "unavailable")


@pytest.mark.parametrize("path", ["/metrics", "/readyz", "/health"])
def test_no_page_reads_what_operators_see_by_rebinding_a_name(ops: str, path: str) -> None:
    there = f"{ops}{path}"
    refused = httpx2.get(there, headers={"Host": "evil.example:8769"}, timeout=DEADLINE)
    assert refused.status_code == 421
    assert refused.json() == {"error": "Invalid Host header. Name the server by its address."}
    for host in ("localhost:8769", "server:8769", "10.0.0.7", "[::1]:8769"):
        assert httpx2.get(there, headers={"Host": host}, timeout=DEADLINE).status_code == 200


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("", True),
        ("localhost", True),
        ("127.0.0.1:9", True),
        ("[fe80::1]:9", True),
        ("server:8769", True),
        ("127.0.0.1.evil.example", False),
        ("0x7f.1", False),
        ("server.", False),
        ("evil.example", False),
        ("[evil.example]", False),
        ("[::1", False),
        ("a@evil.example", False),
    ],
)
def test_names_that_nobody_can_register(host: str, private: bool) -> None:
    assert is_private_name(host) is private
