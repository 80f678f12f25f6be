"""The cache store: one contract, held by the embedded Valkey and by a separate server alike."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.base.interfaces import StoreDown
from server.base.settings import BadSetting, Settings
from server.run.embedded.binaries import valkey_binary
from server.run.embedded.platform import Platform, platform
from server.stores.valkey import Cache
from tests.support.machine.programs import needs_program
from tests.support.service.keeper import cache_of, kept
from tests.support.service.servers import free_port, wait_for

SERVERS = ("valkey", pytest.param("redis", marks=pytest.mark.program("redis-server")))


def binary_of(kind: str) -> str | Path:
    """Return the program of a kind of cache store."""
    return valkey_binary() if kind == "valkey" else needs_program("redis-server")


@dataclass
class CacheServer:
    """A separate server."""

    binary: str | Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """What CACHE_HOST says."""
        return f"127.0.0.1:{self.port}"

    def start(self, *options: str) -> None:
        """Start it and wait until it answers."""
        command = [self.binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_for(lambda: "cannot be reached" not in why(self.address))

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self) -> None:
        """Stop it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[CacheServer]:
    """A separate server of each kind."""
    server = CacheServer(binary_of(request.param), free_port())
    yield server
    server.stop()


def why(address: str) -> str:
    """Return why a cache store cannot be used, nothing where it can."""
    with closing(Cache(address)) as cache:
        try:
            cache.ping()
        except StoreDown as down:
            return str(down)
    return ""


def works(opened: Platform) -> bool:
    """Tell whether a value comes back."""
    try:
        cache_of(opened).ping()
    except StoreDown:
        return False
    return True


def test_a_value_comes_back_and_nothing_of_the_probe_is_left(server: CacheServer) -> None:
    server.start()
    with closing(Platform(Settings(cache_host=server.address))) as opened:
        cache_of(opened).ping()
        with cache_of(opened).client() as client:
            assert client.keys() == []


def test_a_server_that_dies_is_told_and_used_again(server: CacheServer) -> None:
    server.start()
    with closing(Platform(Settings(cache_host=server.address))) as opened:
        cache_of(opened).ping()
        server.stop()
        with pytest.raises(StoreDown, match="the cache store cannot be reached"):
            cache_of(opened).ping()
        server.start()
        wait_for(lambda: works(opened))


def test_a_server_that_says_nothing_is_given_up(server: CacheServer) -> None:
    server.start()
    with closing(Platform(Settings(cache_host=server.address))) as opened:
        cache_of(opened).ping()
        server.signal(signal.SIGSTOP)
        with pytest.raises(StoreDown, match="the cache store does not answer in time"):
            cache_of(opened).ping()
        server.signal(signal.SIGCONT)
        wait_for(lambda: works(opened))


def test_a_server_that_wants_a_password_or_is_full_is_told(server: CacheServer) -> None:
    server.start("--requirepass", "hunter2")
    assert why(server.address) == "the cache store wants a password; it must take those who can reach it without one"
    server.stop()
    server.start("--maxmemory", "1", "--maxmemory-policy", "noeviction")
    assert why(server.address) == "the cache store is full"


def test_the_embedded_server_holds_the_same_and_forgets_leases_last(tmp_path: Path) -> None:
    with platform(Settings(state=tmp_path / "state")) as opened:
        cache_of(opened).ping()  # the first use starts it
        with cache_of(opened).client() as client:
            assert client.keys() == []
            told = client.config_get("maxmemory*")
            assert (told["maxmemory"], told["maxmemory-policy"]) == (str(256 << 20), "volatile-lru")
        (server,) = kept(tmp_path / "state")
        os.kill(server, signal.SIGSTOP)
        with pytest.raises(StoreDown):
            cache_of(opened).ping()
        os.kill(server, signal.SIGKILL)
        wait_for(lambda: works(opened))
    assert not (tmp_path / "state" / "postgres").exists()  # nobody asked for it


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:", ":6379", "host:port", "host:63:x"])
def test_an_address_that_is_none_is_told(address: str) -> None:
    with pytest.raises(BadSetting, match=r"it takes an address and a port, as 127\.0\.0\.1:6379, or the path"):
        Platform(Settings(cache_host=address)).start()
