"""Leases: one contract, held in memory, by Valkey and by Redis alike; and calls while the store is away."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Protocol

import pytest
import redis

from server.base.interfaces import CapReached, Leases, StoreDown
from server.stores.leases import ALL, OF, CacheLeases, SharedLeases
from server.stores.memory import MemoryLeases
from tests.support.books.loads import ROOT
from tests.support.machine.programs import needs_program
from tests.support.service.clocks import sweep
from tests.support.service.lease_taker import LEASE
from tests.support.service.operations import metric, until_ready
from tests.support.service.servers import DEADLINE, Server, connected, free_port, serving, wait_for
from tests.unit.server.stores.test_cache import SERVERS, CacheServer, binary_of

SHORT = 1.0
Scene = Callable[[Leases], Awaitable[None]]


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[CacheServer]:
    """A cache store of each kind, started when it is first used."""
    server = CacheServer(binary_of(request.param), free_port())
    server.start("--maxmemory-policy", "volatile-lru")
    yield server
    server.stop()


@asynccontextmanager
async def shared(
    server: CacheServer, caps: tuple[int, int], share: tuple[int, int] = (0, 0), told: list[bool] | None = None
) -> AsyncIterator[SharedLeases]:
    """Lend leases of a store; without a share of their own they are the store's alone."""
    store = CacheLeases(server.address, *caps, SHORT)
    tell = (told if told is not None else []).append
    leases = SharedLeases(store, MemoryLeases(*share), beat=SHORT / 5, tell=tell)
    keeping = asyncio.create_task(leases.keep())
    try:
        yield leases
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})


async def until(happened: Callable[[], bool]) -> None:
    """Poll until something has happened, while others go on."""
    while not happened():  # noqa: ASYNC110 - what is waited for is no event of this loop
        await asyncio.sleep(0.01)


class LeaseScene(Protocol):
    """What plays a scene with leases of some places a caller and some in all."""

    def __call__(self, scene: Scene, caps: tuple[int, int] = (2, 3)) -> None: ...


@pytest.fixture(params=["memory", *SERVERS])
def played(request: pytest.FixtureRequest) -> Iterator[LeaseScene]:
    """What plays a scene, in each store."""

    def in_memory(scene: Scene, caps: tuple[int, int] = (2, 3)) -> None:
        asyncio.run(as_run(scene(MemoryLeases(*caps))))

    if request.param == "memory":
        yield in_memory
        return
    server = CacheServer(binary_of(request.param), free_port())
    server.start()

    async def with_store(scene: Scene, caps: tuple[int, int]) -> None:
        async with shared(server, caps) as leases:
            await scene(leases)

    def in_store(scene: Scene, caps: tuple[int, int] = (2, 3)) -> None:
        asyncio.run(with_store(scene, caps))

    yield in_store
    server.stop()


async def as_run(scene: Awaitable[None]) -> None:
    """Await a scene."""
    await scene


async def refused(leases: Leases, subject: str) -> str:
    """Return which cap refuses a caller."""
    with pytest.raises(CapReached) as reached:
        await leases.take(subject)
    return reached.value.cap


def test_a_cap_that_is_reached_is_named_and_a_place_given_back_is_there_again(
    played: LeaseScene,
) -> None:
    async def scene(leases: Leases) -> None:
        first, _ = await leases.take("ann"), await leases.take("ann")
        assert await refused(leases, "ann") == "caller"
        other = await leases.take("bob")
        assert await refused(leases, "cy") == "all"
        assert await refused(leases, "ann") == "caller"  # of both, the one that the caller can do something about
        await leases.give_back(other)
        await leases.take("cy")
        assert await refused(leases, "cy") == "all"
        await leases.give_back(first)
        await leases.take("ann")

    played(scene)


def test_the_last_quarter_of_the_cap_is_kept_for_callers_with_fewer_than_two_calls(played: LeaseScene) -> None:
    async def scene(leases: Leases) -> None:
        held = [await leases.take(subject) for subject in ("ann", "bob", "ann", "bob", "ann", "bob")]
        assert [await refused(leases, subject) for subject in ("ann", "bob")] == ["all", "all"]  # 6 of 8
        await leases.give_back(held[0])
        await leases.take("bob")
        await leases.take("cy")
        await leases.take("cy")  # who had one
        assert [await refused(leases, subject) for subject in ("ann", "cy", "di")] == ["all"] * 3

    played(scene, (5, 8))


def test_giving_back_what_is_lost_or_was_given_back_is_nothing(played: LeaseScene) -> None:
    async def scene(leases: Leases) -> None:
        lease = await leases.take("ann")
        await leases.give_back(lease)
        await leases.give_back(lease)
        await leases.give_back("0:0")
        for subject in ("ann", "ann", "bob"):
            await leases.take(subject)
        assert await refused(leases, "bob") == "all"

    played(scene)


def test_a_caller_may_be_called_anything(played: LeaseScene) -> None:
    async def scene(leases: Leases) -> None:
        for subject in ("", "a:b", "{x}", "\n\0", "é" * 10_000):
            first, second = await leases.take(subject), await leases.take(subject)
            assert await refused(leases, subject) == "caller"
            await leases.give_back(first)
            await leases.give_back(second)

    played(scene)


def test_many_at_once_never_hold_more_than_there_are(played: LeaseScene) -> None:
    async def scene(leases: Leases) -> None:
        held = [0, 0]

        async def one() -> None:
            for _ in range(20):
                with suppress(CapReached):
                    lease = await leases.take("ann")
                    held[0] += 1
                    held[1] = max(held)
                    await asyncio.sleep(0.005)  # long enough that another is asked meanwhile
                    held[0] -= 1
                    await leases.give_back(lease)

        await asyncio.gather(*(one() for _ in range(40)))
        assert held == [0, 2]

    played(scene)


def taking(server: CacheServer, *numbers: float, before: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
    """Start a process that takes leases."""
    command = [*before, sys.executable, "-m", "tests.support.service.lease_taker", server.address, *map(str, numbers)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)


def kill(process: "subprocess.Popen[str]") -> None:
    """Kill a process and what it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=DEADLINE)


def test_several_processes_never_hold_more_than_the_caps(server: CacheServer) -> None:
    processes = [taking(server, 3, 4, 7, 3) for _ in range(4)]
    said = [process.communicate(timeout=DEADLINE)[0] for process in processes]
    assert all(process.returncode == 0 for process in processes)
    told = sorted(
        (float(at), int(change), subject)
        for text in said
        for at, change, subject in (line.split(" ", 2) for line in text.splitlines())
    )
    held: dict[str, int] = {}
    most_of_one = most = 0
    for _, change, subject in told:
        held[subject] = held.get(subject, 0) + change
        most_of_one, most = max(most_of_one, held[subject]), max(most, sum(held.values()))
    assert len(told) > 50
    assert set(held.values()) == {0}
    assert 1 < most_of_one <= 4
    assert most_of_one < most <= 7

    async def scene() -> None:
        async with asyncio.timeout(DEADLINE), shared(server, (4, 7)) as leases:
            with redis.Redis(port=server.port) as client:
                while client.keys():  # a lease whose answer a pause of the machine delayed ends with its time
                    with suppress(CapReached):
                        await leases.give_back(await leases.take("other"))
                    await asyncio.sleep(SHORT / 10)

    asyncio.run(scene())


def test_the_places_of_a_process_that_is_killed_are_free_when_its_leases_end(server: CacheServer) -> None:
    process = taking(server, 3, 3, 5, 0)
    assert process.stdout is not None
    assert int(process.stdout.readline()) == 5

    async def scene() -> None:
        async with shared(server, (3, 5)) as leases:
            with redis.Redis(port=server.port) as client:
                ends = max(score for _, score in client.zrange(ALL, 0, -1, withscores=True))
                wait_for(lambda: all(score > ends for _, score in client.zrange(ALL, 0, -1, withscores=True)))
                assert await refused(leases, "other") == "all"  # as long as it lives they are renewed
                kill(process)
                while True:
                    with suppress(CapReached):
                        await leases.take("other")
                        break
                now = client.time()
                last = now[0] * 1000 + now[1] / 1000
                assert last - ends < 10 * LEASE * 1000
                assert client.keys(f"{OF}*") == client.keys(f"{OF}*")[:1]  # of those that ended nothing is left
                assert client.zcard(ALL) == 1

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def fill(client: redis.Redis) -> None:
    """Keep more in a store than it has room for."""
    for number in range(8000):
        client.set(f"{{ds:{number}}}:d", bytes(1024), px=3_600_000)


def test_a_full_store_never_evicts_a_lease(server: CacheServer) -> None:
    server.stop()
    server.start("--maxmemory", "4mb", "--maxmemory-policy", "volatile-lru")

    async def scene() -> None:
        async with shared(server, (20, 27)) as leases:
            for _ in range(20):
                await leases.take("ann")
            with redis.Redis(port=server.port) as client:
                await asyncio.to_thread(fill, client)  # the leases are renewed meanwhile, however long it takes
                assert client.info("stats")["evicted_keys"] > 1000
                assert client.zcard(ALL) == 20
            assert await refused(leases, "ann") == "caller"

    asyncio.run(scene())


@pytest.mark.program("faketime")
def test_a_lease_ends_by_the_clock_of_the_store(server: CacheServer) -> None:
    sweep()
    process = taking(server, 1, 3, 3, 0, before=(needs_program("faketime"), "-f", "+40d"))
    assert process.stdout is not None
    assert int(process.stdout.readline()) == 3
    with redis.Redis(port=server.port) as client:
        seconds, _ = client.time()
        ends = [score / 1000 for _, score in client.zrange(ALL, 0, -1, withscores=True)]
    assert max(ends) < seconds + 60
    kill(process)


def test_a_store_that_is_full_counts_on(server: CacheServer) -> None:
    server.stop()
    server.start("--maxmemory", "1", "--maxmemory-policy", "noeviction")

    async def scene() -> None:
        async with shared(server, (2, 2)) as leases:
            first = await leases.take("ann")
            await leases.take("ann")
            assert await refused(leases, "ann") == "caller"
            await leases.give_back(first)
            await leases.take("ann")

    asyncio.run(scene())


def test_a_place_is_given_back_to_a_store_that_lost_the_scripts(server: CacheServer) -> None:
    async def scene() -> None:
        async with shared(server, (2, 2)) as leases:
            lease = await leases.take("ann")
            with redis.Redis(port=server.port) as client:
                client.script_flush()
                await leases.give_back(lease)
                await until(lambda: client.zcard(ALL) == 0)  # an ended lease stays until another is taken

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_a_store_that_refuses_is_told(server: CacheServer) -> None:
    server.stop()
    server.start("--requirepass", "hunter2")

    async def scene() -> None:
        store = CacheLeases(server.address, 1, 1)
        with pytest.raises(StoreDown, match="does not count calls"):
            await store.take("0:0")
        await store.close()

    asyncio.run(scene())


def test_a_connection_that_does_not_answer_is_made_again() -> None:
    async def scene() -> None:
        made: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

        async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            made.put_nowait(writer)
            await reader.read()

        async with await asyncio.start_server(swallow, "127.0.0.1", 0) as listening:
            store = CacheLeases("{}:{}".format(*listening.sockets[0].getsockname()), 1, 1)
            for _ in range(2):
                with pytest.raises(StoreDown, match="TimeoutError"):
                    await store.take("0:0")
            await store.close()
            for _ in range(2):  # the other side may take a connection later than it is given up
                writer = await asyncio.wait_for(made.get(), DEADLINE)
                writer.close()
                with suppress(ConnectionError):
                    await writer.wait_closed()
            assert made.empty()

    asyncio.run(scene())


@dataclass
class Away:
    """How a store goes away and comes back."""

    goes: Callable[[CacheServer], None]
    comes: Callable[[CacheServer], None]


def pause(server: CacheServer, what: signal.Signals) -> None:
    """Signal a store."""
    assert server.process is not None
    server.process.send_signal(what)


WAYS = {
    "killed": Away(CacheServer.stop, lambda server: server.start("--maxmemory-policy", "volatile-lru")),
    "paused": Away(lambda server: pause(server, signal.SIGSTOP), lambda server: pause(server, signal.SIGCONT)),
}


@pytest.mark.parametrize("way", WAYS)
def test_while_the_store_is_away_a_share_of_the_caps_holds_and_all_is_counted_when_it_is_back(
    server: CacheServer, way: str
) -> None:
    told: list[bool] = []

    async def scene() -> None:
        async with shared(server, (4, 8), share=(2, 4), told=told) as leases:
            before = await leases.take("ann")
            WAYS[way].goes(server)
            second = await leases.take("ann")  # at once, within the share
            assert await refused(leases, "ann") == "caller"
            for subject in ("bob", "cy"):
                await leases.take(subject)
            assert await refused(leases, "di") == "all"
            await until(lambda: told == [True])
            await leases.give_back(before)
            await leases.take("ann")
            WAYS[way].comes(server)
            await until(lambda: told == [True, False])
            with redis.Redis(port=server.port) as client:
                # what was taken meanwhile is counted, too, and what was given back ends by itself
                await until(lambda: client.zcount(ALL, time() * 1000, "inf") == 4)
            for _ in range(2):
                await leases.take("ann")
            assert await refused(leases, "ann") == "caller"  # of all four
            await leases.give_back(second)
            await leases.take("ann")

    asyncio.run(asyncio.wait_for(scene(), 2 * DEADLINE))


def test_a_call_that_is_cancelled_while_it_takes_a_place_leaves_none_behind(server: CacheServer) -> None:
    async def scene() -> None:
        async with shared(server, (5, 7)) as leases:
            for _ in range(100):
                taken = [asyncio.create_task(leases.take("ann")) for _ in range(5)]
                await asyncio.sleep(0)
                for task in taken[:3]:
                    task.cancel()
                for one in await asyncio.gather(*taken, return_exceptions=True):
                    if isinstance(one, str):
                        await leases.give_back(one)
            with redis.Redis(port=server.port) as client:
                await until(lambda: not client.zcard(ALL))
            for _ in range(5):
                await leases.take("ann")

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_a_server_whose_store_does_not_count_answers_and_says_so(
    small_instance: tuple[Path, Path], server: CacheServer
) -> None:
    server.stop()
    server.start("--user", "default", "on", "nopass", "~{probe}*", "+@all")
    with (
        serving(*small_instance, CACHE_HOST=server.address) as served,
        connected(served.url, "auto") as books,
    ):
        for _ in range(5):
            books.ask("list_kpis")
        wait_for(lambda: "against their share of the caps: 1" in note(served))
        assert metric(served, "tieout_workers_counting_alone") == 1
        with redis.Redis(port=server.port) as client:
            client.acl_setuser("default", keys=["{sem}*"])
        wait_for(lambda: not note(served), 2 * DEADLINE)
        assert metric(served, "tieout_workers_counting_alone") == 0
        books.ask("list_kpis")


def note(server: Server) -> str:
    """Return what is remarked on the cache store of a server that is ready."""
    return str(until_ready(server)["cache_store"].get("note", ""))
