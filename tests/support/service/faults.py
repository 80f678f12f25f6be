"""Faults of a server's stores: how to cause and repair each, and the answers of a session during and after it."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGQUIT, SIGSTOP

import pytest

from tests.support.service.keeper import children
from tests.support.service.pauses import pause, resume
from tests.support.service.scenes import CACHE_SETTINGS, GIVEN, KEPT, MADE, NOT_KEPT, RENEWED, FaultScene
from tests.support.service.servers import wait_for

NARROW = "narrow: {scenarios: {budget: {}}}\nassign: [{subject: dev, profile: narrow}]\n"
Mend = Callable[[], object]


@dataclass(frozen=True)
class MachineFault:
    """One fault: a function that causes it and returns its repair, and the answers of a session during and after it."""

    harm: Callable[[FaultScene], Mend]
    meanwhile: tuple[str, ...]
    afterwards: tuple[str, ...]
    rounds: int = 1  # that a test makes: where the first calls find out, what later ones are spared is held as well


NORMAL = (KEPT, MADE, MADE, RENEWED, GIVEN)
WITHOUT_CACHE = (NOT_KEPT, "unavailable", "unavailable", RENEWED, GIVEN)
FORGOTTEN = (KEPT, "expired_reference", "expired_reference", RENEWED, GIVEN)
WITHOUT_DATABASE = (KEPT, "unavailable", "unavailable", "unavailable", "503")
WITHOUT_DISK = (KEPT, "unavailable", "unavailable", RENEWED, GIVEN)
NOT_THEIRS = (KEPT, "expired_reference", "expired_reference", "unknown_file", "404")


@contextmanager
def caused(fault: MachineFault, on: FaultScene) -> Iterator[None]:
    """Cause a fault while the block runs."""
    mend = fault.harm(on)
    try:
        yield
    finally:
        mend()


def cache_killed(on: FaultScene) -> Mend:
    """Kill the cache store; it starts again empty."""
    on.cache.kill()
    return on.cache.start


def cache_paused(on: FaultScene) -> Mend:
    """Pause the process of the cache store, which keeps its connections but does not answer."""
    assert on.cache.process is not None
    on.cache.process.send_signal(SIGSTOP)
    return partial(on.cache.process.send_signal, SIGCONT)


def cache_slow(on: FaultScene) -> Mend:
    """Delay each answer of the cache store by three seconds."""
    on.relay.seconds = 3.0
    return partial(setattr, on.relay, "seconds", 0.0)


def cache_full(on: FaultScene) -> Mend:
    """Fill the cache store, and forbid it to evict anything."""
    on.cache.set(**{"maxmemory-policy": "noeviction", "maxmemory": "1"})
    return partial(on.cache.set, **CACHE_SETTINGS)


def cache_evicting(on: FaultScene) -> Mend:
    """Fill the cache store until it evicts the least recently used keys."""
    others = [f"other {number}" for number in range(2 * 64)]
    with closing(on.cache.client) as client:
        # the store's clock of use goes by seconds: what was used in the same one goes in any order
        wait_for(lambda: all(client.object("idletime", key) > 0 for key in client.keys("{ds:*")))
        for other in others:
            client.set(other, bytes(1 << 20), ex=3600)
    return partial(on.cache.forget, others)


def cache_restarted(on: FaultScene) -> Mend:
    """Kill the cache store and start it again before anybody asks."""
    on.cache.kill()
    on.cache.start()
    return nothing


def database_killed(on: FaultScene) -> Mend:
    """End the database at once; start it again."""
    assert on.database.process is not None
    on.database.process.send_signal(SIGQUIT)
    on.database.process.wait()
    return on.database.start


def database_paused(on: FaultScene) -> Mend:
    """Stop every process of the database."""
    assert on.database.process is not None
    return partial(resume, pause(on.database.process.pid))


def disk_full(on: FaultScene) -> Mend:
    """Fill the disk of files made for callers, which is one of their own."""
    if on.no_disk is not None:
        pytest.skip(f"no small disk can be mounted: {on.no_disk}")
    filler = on.files / ".filler"
    filler.write_bytes(bytes(shutil.disk_usage(on.files).free - (1 << 19)))
    return filler.unlink


def grant_withdrawn(on: FaultScene) -> Mend:
    """Reduce the caller's grant below what the session has read."""
    profiles = on.instance / "profiles.yaml"
    before = profiles.read_text()
    profiles.write_text(NARROW)
    wait_for(lambda: len(on.books.ask("list_scenarios")["scenarios"]) == 1)
    return partial(profiles.write_text, before)


def worker_killed(on: FaultScene) -> Mend:
    """Kill a worker, and wait until its parent has started another."""
    before = on.server.log.read_text().count(" serves")
    worker, *_ = (
        child
        for child in children(on.server.process.pid)
        if b"server.run.workers" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
    )
    os.kill(worker, SIGKILL)
    wait_for(lambda: on.server.log.read_text().count(" serves") > before)
    return nothing


def nothing() -> None:
    """Repair nothing: the fault ends by itself."""


FAULTS: Mapping[str, MachineFault] = {
    "cache store killed": MachineFault(cache_killed, WITHOUT_CACHE, FORGOTTEN, rounds=4),
    "cache store paused": MachineFault(cache_paused, WITHOUT_CACHE, NORMAL, rounds=4),
    "cache store slow: 3 s an answer": MachineFault(cache_slow, WITHOUT_CACHE, NORMAL, rounds=4),
    "cache store full": MachineFault(cache_full, (NOT_KEPT, *NORMAL[1:]), NORMAL),
    "cache store evicting": MachineFault(cache_evicting, FORGOTTEN, FORGOTTEN),
    "cache store restarted": MachineFault(cache_restarted, FORGOTTEN, FORGOTTEN),
    "database killed": MachineFault(database_killed, WITHOUT_DATABASE, NORMAL, rounds=4),
    "database paused": MachineFault(database_paused, WITHOUT_DATABASE, NORMAL, rounds=4),
    "disk of files full": MachineFault(disk_full, WITHOUT_DISK, NORMAL),
    "grant withdrawn after the read and the export": MachineFault(grant_withdrawn, NOT_THEIRS, NORMAL),
    "worker killed": MachineFault(worker_killed, NORMAL, NORMAL),
}
