"""Stores that pause, die or were never there: said within a bounded time, and well again once they are."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGKILL

import httpx2
import pytest

from server.run.embedded.binaries import valkey_binary
from tests.support.service.operations import events, metric, readyz, until_ready, until_unready
from tests.support.service.pauses import paused, tree
from tests.support.service.servers import KEY, Server, connected, free_port, serving, wait_for

MARKER = "MARK-c0ffee"
STORES = {"relational_database": "postgres", "cache_store": "valkey-server"}


@pytest.fixture(scope="module")
def operated(small_instance: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with embedded stores that no other uses."""
    instance, state = small_instance
    own = tmp_path_factory.mktemp("down")
    shutil.copytree(state / "store", own / "store")
    with serving(instance, own, SVC_LOG_FORMAT="json") as server:
        yield server


def store_of(server: Server, program: str) -> int | None:
    """Return the process of an embedded store, None where there is none just now."""
    for process in tree(server.process.pid):
        with suppress(FileNotFoundError):
            if program in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0].decode():
                return process
    return None


@pytest.mark.parametrize("check", STORES)
def test_a_store_that_is_paused_is_said_to_be_within_its_limit_and_recovers(operated: Server, check: str) -> None:
    until_ready(operated)
    store = store_of(operated, STORES[check])
    assert store is not None
    with paused(store):
        reason = until_unready(operated, check)
        assert "answer" in reason
        for _ in range(3):
            answer = httpx2.get(f"{operated.ops}/readyz", timeout=5)  # a hung check would answer much later
            assert answer.status_code == 503
        assert httpx2.get(operated.url.replace("/mcp", "/health"), timeout=5).json()["checks"][check] == "unavailable"
        assert metric(operated, "tieout_ready", check=check) == 0
        with connected(operated.url, "auto") as books:
            assert not books.call("list_kpis").is_error
        threads = len(list(Path(f"/proc/{operated.process.pid}/task").iterdir()))
        for _ in range(5):
            readyz(operated)
        assert len(list(Path(f"/proc/{operated.process.pid}/task").iterdir())) <= threads + 2
    until_ready(operated)
    assert metric(operated, "tieout_ready", check=check) == 1


@pytest.mark.parametrize("check", STORES)
def test_an_embedded_store_that_is_killed_is_there_again(operated: Server, check: str) -> None:
    until_ready(operated)
    killed = store_of(operated, STORES[check])
    assert killed is not None
    os.kill(killed, SIGKILL)
    wait_for(lambda: store_of(operated, STORES[check]) not in (None, killed))
    until_ready(operated)


@contextmanager
def valkey(port: int) -> Iterator[int]:
    """Run a cache store of its own on a port until the block ends, which is given its process; kill it then."""
    server = subprocess.Popen([valkey_binary(), "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL)
    try:
        yield server.pid
    finally:
        server.kill()
        server.wait()


def test_a_separate_cache_store_that_dies_and_comes_back(small_instance: tuple[Path, Path]) -> None:
    port = free_port()
    with serving(*small_instance, healthy=False, CACHE_HOST=f"127.0.0.1:{port}") as server:
        assert until_unready(server, "cache_store") == "the cache store cannot be reached"
        for _ in range(2):
            with valkey(port):
                until_ready(server)
            assert until_unready(server, "cache_store") == "the cache store cannot be reached"


def test_a_database_that_is_not_there_is_said_without_its_password(
    small_instance: tuple[Path, Path],
) -> None:
    uri = f"postgresql://tieout:{MARKER}@127.0.0.1:{free_port()}/books"
    with serving(*small_instance, healthy=False, SVC_LOG_FORMAT="json", DATABASE_URL=uri) as server:
        reason = until_unready(server, "relational_database")
        with connected(server.url, "auto") as books:
            assert not books.call("list_kpis").is_error
        assert events(server)
    assert reason == "the platform database cannot be reached: nothing listens at its address"
    assert MARKER not in server.log.read_text()
    assert KEY not in server.log.read_text()
