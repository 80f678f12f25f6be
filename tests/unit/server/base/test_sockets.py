"""A port that workers share: each takes its part of the connections, and one that cannot take any waits.

When the server stops, what has connected is answered, and who comes later is refused.
"""

import asyncio
import resource
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from signal import SIGTERM
from urllib.parse import urlsplit

import pytest

from server.base.sockets import Acceptor
from tests.integration.server.test_workers import blocked, call, listens
from tests.support.service.servers import DEADLINE, Server, serving, wait_for
from tests.support.service.workers import serve, workers

ESTABLISHED = "01"  # as the kernel lists it


def connections(server: Server, worker: int) -> int:
    """Return how many open connections of clients a worker has."""
    port = f":{urlsplit(server.url).port:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()]
    open_ones = {f"socket:[{line[9]}]" for line in lines if line[1].endswith(port) and line[3] == ESTABLISHED}
    count = 0
    for opened in Path(f"/proc/{worker}/fd").iterdir():
        with suppress(FileNotFoundError):
            count += str(opened.readlink()) in open_ones
    return count


def shares(server: Server, count: int) -> list[int]:
    """Return how many of some connections, opened at once, each worker takes."""
    place = urlsplit(server.url)
    opened = [socket.create_connection((place.hostname, place.port)) for _ in range(count)]
    wait_for(lambda: sum(connections(server, worker) for worker in workers(server)) == count)
    took = [connections(server, worker) for worker in workers(server)]
    for one in opened:
        one.close()
    wait_for(lambda: not any(connections(server, worker) for worker in workers(server)))
    return took


def test_connections_that_come_at_once_are_shared(own: tuple[Path, Path]) -> None:
    with serving(*own, SVC_WORKERS="2") as server:
        wait_for(lambda: serve(server, 2))
        for count in (12, 40):
            took = [shares(server, count) for _ in range(5)]
            assert sum(map(min, took)) >= 5 * count / 4, took  # half of them, were it even


def test_a_worker_that_may_open_no_more_files_takes_connections_when_it_may(own: tuple[Path, Path]) -> None:
    with serving(*own) as server, ThreadPoolExecutor(1) as elsewhere:
        wait_for(lambda: serve(server, 1))
        (worker,) = workers(server)
        limits = resource.prlimit(worker, resource.RLIMIT_NOFILE)
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (3, limits[1]))
        answered = elsewhere.submit(call, server.url, "list_kpis")
        wait_for(lambda: "cannot accept connections now: Too many open files" in server.log.read_text())
        resource.prlimit(worker, resource.RLIMIT_NOFILE, limits)
        assert answered.result(DEADLINE)["domains"]


class Greets(asyncio.Protocol):
    """Says a word to whoever connects."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say it and hang up."""
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"welcome")
        transport.close()


async def finish(listening: socket.socket) -> None:
    """Make an acceptor that finishes before it has accepted anything."""
    acceptor = Acceptor(listening, (), Greets, alone=True)
    acceptor.finish()
    assert acceptor.opens
    with suppress(asyncio.CancelledError):
        await acceptor.wait_closed()
    assert not acceptor.opens


def test_at_the_end_who_waits_is_accepted_and_who_comes_is_refused() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    shared = listening.dup()  # as another worker has it
    with listening, shared, socket.create_connection(listening.getsockname()) as waits:
        asyncio.run(finish(listening))
        assert waits.recv(16) == b"welcome"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(listening.getsockname())


def test_at_sigterm_a_connection_that_has_asked_nothing_yet_is_answered(own: tuple[Path, Path]) -> None:
    with blocked(own) as (server, gate, answer):
        place, (worker,) = urlsplit(server.url), workers(server)
        with socket.create_connection((place.hostname, place.port), DEADLINE) as early:
            wait_for(lambda: connections(server, worker) == 2)
            server.process.send_signal(SIGTERM)
            wait_for(lambda: not listens(server))
            early.sendall(b"GET /health HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % place.netloc.encode())
            assert early.recv(64).startswith(b"HTTP/1.1 200 ")
        gate.touch()
        assert answer()["result"]["structuredContent"] == {"through": True}
