"""Clients that take their time: slow requests and slow readers are cut, many connections keep nobody out."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import httpx2
import pytest

from server.base.requests import EmptyRequest
from server.caller.caller import Caller
from server.http.limits import ConnectionLimits
from server.tools.toolbox import TOOLS
from server.wire.answers import Answer
from tests.support.service.servers import DEADLINE, wait_for
from tests.unit.server.http.test_disconnect import HEADERS, body, served
from tests.unit.server.http.test_dispatch import Gate, dispatch_of, tool

QUICK = ConnectionLimits(seconds=1.0, connections=20)
LARGE = "x" * (8 << 20)
Small = tuple[Path, Path]


def large(_caller: Caller, _asked: EmptyRequest) -> Answer:
    """Answer more than any buffer on the way holds."""
    return Answer({"text": LARGE})


@pytest.fixture
def url(small_instance: Small) -> Iterator[str]:
    """A server of one place a caller that gives up soon."""
    dispatch = dispatch_of(small_instance, {"large": tool(large), **TOOLS}, calls_per_caller=1)
    with served(dispatch, QUICK) as url:
        yield url


@contextmanager
def connection(url: str, receives: int | None = None) -> Iterator[socket.socket]:
    """Open a connection, which receives at most so many bytes before it reads."""
    place = urlsplit(url)
    with socket.socket() as opened:
        if receives:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        opened.settimeout(DEADLINE)
        opened.connect((place.hostname, place.port))
        yield opened


def request(url: str, name: str, length: int | None = None) -> bytes:
    """Return a call as it is sent; another `length` than its body has may be declared."""
    sent = json.dumps(body(name)).encode()
    headers = {
        "Host": urlsplit(url).netloc,
        "Content-Type": "application/json",
        "Content-Length": str(length or len(sent)),
        **HEADERS,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + sent


def all_of(opened: socket.socket) -> bytes:
    """Read until a connection ends, however it does."""
    read = b""
    with suppress(ConnectionError):
        while part := opened.recv(1 << 16):
            read += part
    return read


def dripped(opened: socket.socket) -> None:
    """Send bytes, one at a time, until the connection is cut."""
    deadline = monotonic() + DEADLINE
    opened.settimeout(0.05)
    while monotonic() < deadline:
        try:
            opened.send(b"x")
            if opened.recv(1) == b"":
                return
        except TimeoutError:
            continue
        except ConnectionError:
            return
    raise AssertionError("the connection was kept")


def answers(url: str) -> bool:
    """Tell whether a call is answered."""
    answer = httpx2.post(url, json=body("list_kpis"), headers=HEADERS, timeout=DEADLINE)
    return answer.status_code == 200 and not answer.json()["result"]["isError"]


def test_a_body_that_does_not_arrive_in_time_is_told(url: str) -> None:
    with connection(url) as opened:
        opened.sendall(request(url, "list_kpis", length=1000))
        status, _, rest = all_of(opened).partition(b"\r\n")
    assert status == b"HTTP/1.1 408 Request Timeout"
    assert b"Send the whole request at once." in rest
    assert b"connection: close" in rest.lower()


def test_a_body_that_drips_is_no_better(url: str) -> None:
    with connection(url) as opened:
        opened.sendall(request(url, "list_kpis", length=100_000))
        opened.settimeout(0.05)
        read = b""
        with suppress(ConnectionError):
            while True:
                try:
                    opened.send(b" ")
                    part = opened.recv(1 << 16)
                except TimeoutError:
                    continue
                read += part
                if not part:
                    break
    assert read.startswith(b"HTTP/1.1 408 ")


def test_headers_that_drip_are_cut_and_so_is_a_connection_that_says_nothing(url: str) -> None:
    with connection(url) as silent:
        with connection(url) as opened:
            opened.sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
            dripped(opened)
        assert all_of(silent) == b""
    with connection(url) as opened:  # on a connection that was of use before, too
        opened.sendall(request(url, "list_kpis"))
        assert opened.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        dripped(opened)


def test_a_request_that_is_refused_while_its_body_drips_is_cut(url: str) -> None:
    with connection(url) as opened:
        host = urlsplit(url).netloc.encode()
        opened.sendall(b"POST /mcp HTTP/1.1\r\nHost: " + host + b"\r\nContent-Length: 1000000\r\n\r\n")
        assert opened.recv(1 << 16).startswith(b"HTTP/1.1 401 ")
        dripped(opened)


def test_who_does_not_read_an_answer_holds_no_place_and_is_cut(url: str) -> None:
    with connection(url, receives=4096) as slow:
        slow.sendall(request(url, "large"))
        assert slow.recv(1) == b"H"  # the answer is on its way
        assert answers(url)  # with the one place that there is
        cut_at = monotonic() + DEADLINE
        while not cut(slow):
            assert monotonic() < cut_at
        assert len(all_of(slow)) < len(LARGE)


def cut(opened: socket.socket) -> bool:
    """Tell whether a connection was cut, without reading what arrived."""
    try:
        opened.send(b"x")
    except ConnectionError:
        return True
    opened.settimeout(0.05)
    return False


def test_who_reads_an_answer_slowly_gets_all_of_it(url: str) -> None:
    with connection(url, receives=1 << 16) as slow:
        slow.sendall(request(url, "large"))
        read = 0
        while read < 2 * len(LARGE):  # the answer goes out twice
            part = slow.recv(1 << 16)
            assert part
            read += len(part)


def test_a_call_that_computes_for_longer_is_waited_for(small_instance: Small) -> None:
    gate = Gate()
    dispatch = dispatch_of(small_instance, {"gate": tool(gate.run)})
    with served(dispatch, ConnectionLimits(seconds=0.2)) as url, connection(url) as opened:
        opened.sendall(request(url, "gate"))
        assert gate.entered.wait(DEADLINE)
        with connection(url) as silent:
            assert all_of(silent) == b""  # by then the bound is past
        gate.open.set()
        assert opened.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_many_connections_keep_nobody_out(url: str) -> None:
    place = urlsplit(url)
    opened = [socket.create_connection((place.hostname, place.port)) for _ in range(200)]
    try:
        assert answers(url)
        assert httpx2.get(url.replace("/mcp", "/health")).status_code in (200, 503)
        wait_for(lambda: sum(not ended(one) for one in opened) <= QUICK.connections)
    finally:
        for one in opened:
            one.close()


def ended(opened: socket.socket) -> bool:
    """Tell whether a connection was closed at the other end."""
    opened.setblocking(False)
    try:
        return opened.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
