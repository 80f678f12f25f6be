"""Where results are kept: one contract, held by the memory of a process, the embedded Valkey and a separate server."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from engine.books.reader import Reader
from engine.report.snapshots import Kept, given
from engine.report.transform import ScriptOutput, transformed
from server.base.errors import TransformLimit
from server.base.interfaces import Snapshots, StoreDown, StoreFull
from server.base.settings import Settings
from server.caller import caller
from server.caller.caller import CallerDatasets
from server.ops.health_checks import report_evictions
from server.run.embedded.platform import platform
from server.stores.circuit_breaker import FAILURES
from server.stores.memory import MAX_BYTES, MemorySnapshots, is_reference
from server.stores.valkey import Cache, CacheSnapshots
from server.telemetry.metrics import Metrics
from tests.support.books.holders import kept_in
from tests.support.books.small import LEDGER, small_books
from tests.support.machine.programs import needs_program
from tests.support.service.keeper import cache_of
from tests.support.service.servers import free_port, wait_for
from tests.unit.server.stores.test_cache import CacheServer

Opened = Callable[[float, float], Snapshots]  # idle and longest seconds
MEGABYTES = 64  # of a small store
STORES = ("memory", "embedded", pytest.param("separate", marks=pytest.mark.program("redis-server")))


@pytest.fixture
def server() -> Iterator[CacheServer]:
    """A separate server, not started."""
    server = CacheServer(needs_program("redis-server"), free_port())
    yield server
    server.stop()


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Each store of snapshots, whose times a test decides."""
    match request.param:
        case "memory":
            yield MemorySnapshots
        case "embedded":
            with platform(Settings(instance=tmp_path, database_url="postgresql:///none")) as opened:
                yield partial(CacheSnapshots, cache_of(opened), cache_of(opened))
        case _:
            separate: CacheServer = request.getfixturevalue("server")
            separate.start()
            with closing(Cache(separate.address)) as cache:
                yield partial(CacheSnapshots, cache, cache)


def test_what_is_kept_is_opened_by_its_owner_alone(open_store: Opened) -> None:
    store = open_store(60, 60)
    data = os.urandom(1 << 20)
    first, second = kept_in(store, "ann", data), kept_in(store, "bob", b"of bob")
    assert first != second
    assert is_reference(first)
    assert store.open("ann", first) == data
    assert store.open("bob", second) == b"of bob"
    assert store.open("bob", first) is None
    assert store.open("", first) is None
    assert store.open("ann", first) == data


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "ds_",
        "ds_" + "a" * 31,
        "ds_" + "A" * 32,
        "ds_" + "a" * 32 + "\n",
        "../ds_",
        "*",
        "ds_{x}",
        "d\0",
        "ds_" + "ä" * 32,
    ],
)
def test_a_text_that_is_no_reference_opens_nothing(open_store: Opened, reference: str) -> None:
    store = open_store(60, 60)
    kept_in(store, "ann", b"data")
    assert store.open("ann", reference) is None


def test_what_nobody_opens_is_gone_after_its_idle_time(open_store: Opened) -> None:
    store = open_store(2.0, 60)
    left, used = kept_in(store, "ann", b"left"), kept_in(store, "ann", b"used")
    deadline = time.monotonic() + 4.0
    while time.monotonic() < deadline:
        assert store.open("ann", used) == b"used"
        time.sleep(0.05)
    assert store.open("ann", left) is None


def test_what_is_opened_again_and_again_is_gone_at_its_end(open_store: Opened) -> None:
    store = open_store(10.0, 2.0)  # of idle time, which a busy machine does not use up between two openings
    kept, began = kept_in(store, "ann", b"data"), time.monotonic()
    wait_for(lambda: store.open("ann", kept) is None)
    assert time.monotonic() - began > 1.9


@pytest.mark.parametrize("idle", [60.0, 0.02])  # it ends with its time, or between two openings
def test_what_one_finds_gone_nobody_opens_any_more(open_store: Opened, idle: float) -> None:
    store = open_store(idle, 0.5)
    kept, began = kept_in(store, "ann", b"data"), time.monotonic()
    opened: list[float] = []  # when a call began that still found it
    gone: list[float] = []  # when a call ended that did not

    def opener(number: int) -> None:
        while time.monotonic() - began < 1.0:
            asked = time.monotonic()
            if store.open("ann", kept) is None:
                gone.append(time.monotonic())
            else:
                opened.append(asked)
            time.sleep(0.001 + 0.005 * number)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(opener, range(6)))
    assert len(gone) >= 6
    assert max(opened, default=began) < min(gone)


def test_a_stranger_who_asks_keeps_nothing_alive(open_store: Opened) -> None:
    store = open_store(0.5, 60)
    kept, began = kept_in(store, "ann", b"data"), time.monotonic()
    while time.monotonic() - began < 0.8:
        assert store.open("bob", kept) is None
        time.sleep(0.05)
    assert store.open("ann", kept) is None


def test_a_process_that_keeps_too_much_forgets_what_was_opened_longest_ago() -> None:
    store = MemorySnapshots(60, 60)
    size = MAX_BYTES // 4
    first, second, *_ = [kept_in(store, "ann", bytes(size)) for _ in range(4)]
    assert store.open("ann", first) is not None
    kept_in(store, "ann", bytes(size))
    assert store.open("ann", first) is not None
    assert store.open("ann", second) is None


@pytest.mark.program("redis-server")
def test_a_store_that_does_not_answer_is_asked_no_more_for_a_moment(server: CacheServer) -> None:
    server.start()
    assert server.process is not None
    with closing(Cache(server.address, again=0)) as cache:
        store = CacheSnapshots(cache, cache, 60, 60)
        kept = kept_in(store, "ann", b"data")
        server.process.send_signal(signal.SIGSTOP)
        for _ in range(FAILURES):
            with pytest.raises(StoreDown, match="in time"):
                kept_in(store, "ann", b"more")
        for _ in range(20):
            with pytest.raises(StoreDown, match="not asked"):
                store.open("ann", kept)
        server.process.send_signal(signal.SIGCONT)
        wait_for(lambda: opens(store, kept))


@pytest.mark.program("redis-server")
def test_a_block_runs_before_the_store_answers(server: CacheServer) -> None:
    server.start()
    assert server.process is not None
    given: list[str] = []
    with closing(Cache(server.address, again=0)) as cache:
        store = CacheSnapshots(cache, cache, 60, 60)
        kept = kept_in(store, "ann", b"data")
        server.process.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreDown, match="in time"), store.keeping("ann", b"more") as reference:
            given.append(reference)
        assert is_reference(given[0])
        server.process.send_signal(signal.SIGCONT)
        wait_for(lambda: opens(store, kept))  # the late reply to the other command is taken for none of these


def test_an_error_of_a_block_is_raised_as_it_is(open_store: Opened) -> None:
    store = open_store(60, 60)
    with pytest.raises(KeyError), store.keeping("ann", b"data"):
        raise KeyError
    kept = [kept_in(store, "ann", bytes([number])) for number in range(20)]
    assert [store.open("ann", reference) for reference in kept] == [bytes([number]) for number in range(20)]


def opens(store: Snapshots, reference: str) -> bool:
    """Tell whether what was kept is there again."""
    try:
        return store.open("ann", reference) == b"data"
    except StoreDown:
        return False


@pytest.mark.program("redis-server")
def test_a_full_store_keeps_nothing_more_and_says_so(server: CacheServer) -> None:
    server.start("--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
    with closing(Cache(server.address)) as cache:
        store = CacheSnapshots(cache, cache, 60, 60)
        kept = kept_in(store, "ann", b"small")
        for _ in range(2 * FAILURES):
            with pytest.raises(StoreFull, match="is full"):
                for _ in range(10):
                    kept_in(store, "ann", bytes(1 << 20))
        assert store.open("ann", kept) == b"small"  # a store that answers is asked as ever


@pytest.mark.program("redis-server")
def test_a_store_that_evicts_lets_go_of_whole_results(server: CacheServer) -> None:
    server.start("--maxmemory", "8mb", "--maxmemory-policy", "volatile-lru")
    with closing(Cache(server.address)) as cache:
        store = CacheSnapshots(cache, cache, 60, 60)
        kept = [kept_in(store, "ann", bytes([number]) * (1 << 20)) for number in range(20)]
        found = [store.open("ann", reference) for reference in kept]
        assert None in found
        assert all(data is None or data == bytes([number]) * (1 << 20) for number, data in enumerate(found))
        assert found[-1] is not None


def test_a_result_that_is_too_large_to_keep_is_answered_with_a_note(tmp_path: Path) -> None:
    books = small_books(tmp_path, facts={"gl": "date scenario amount\n2021-01-05 actual 1"}, domains={"gl": LEDGER})
    report = books.metric("revenue", scenarios={"A": "actual"}, period="2021")
    frame = pl.DataFrame({"value": [os.urandom(72 << 20)]})  # bytes that no codec makes shorter
    output = ScriptOutput("large", "result = df", {}, frame)
    datasets = CallerDatasets("ann", MemorySnapshots(60, 60), books.reader)
    kept = datasets.keep(transformed(output, [report]), lambda data_ref: data_ref)
    assert (kept.reference, kept.note and kept.note.code) == (None, "snapshot_too_large")


@pytest.mark.parametrize("bound", ["rows", "bytes"])
def test_results_that_are_too_large_together_are_refused_before_one_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    books = small_books(tmp_path, facts={"gl": "date scenario amount\n2021-01-05 actual 1"}, domains={"gl": LEDGER})
    report = books.metric("revenue", scenarios={"A": "actual"}, period="2021", dimensions=["month"])
    snapshots = MemorySnapshots(60, 60)
    datasets = CallerDatasets("ann", snapshots, books.reader)
    references = [str(datasets.keep(report, lambda data_ref: data_ref).reference) for _ in range(8)]
    sizes = {
        "rows": ("MOST_FIGURES", report.frame.height),
        "bytes": ("MOST_BYTES", len(snapshots.open("ann", references[0]) or b"")),
    }
    name, size = sizes[bound]
    opened = list[bytes]()

    def counted(data: bytes, reader: Reader) -> Kept:
        opened.append(data)
        return given(data, reader)

    monkeypatch.setattr(caller, "given", counted)
    monkeypatch.setattr(caller, name, 7 * size)
    assert len(datasets.given(references[:7])) == len(opened) == 7
    with pytest.raises(TransformLimit, match="together, the most that one call opens") as refused:
        datasets.given(references)
    assert (refused.value.field, len(opened)) == ("data_refs", 7)


def test_the_rows_of_all_results_are_told_before_one_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    books = small_books(tmp_path, facts={"gl": "date scenario amount\n2021-01-05 actual 1"}, domains={"gl": LEDGER})
    report = books.metric("revenue", scenarios={"A": "actual"}, period="2021", dimensions=["month"])
    datasets = CallerDatasets("ann", MemorySnapshots(60, 60), books.reader)
    references = [str(datasets.keep(report, lambda data_ref: data_ref).reference) for _ in range(2)]
    told = list[int | str]()

    def noting(data: bytes, reader: Reader) -> Kept:
        told.append("opened")
        return given(data, reader)

    monkeypatch.setattr(caller, "given", noting)
    datasets.given(references, told.append)
    assert told == [2 * report.frame.height, "opened", "opened"]
    assert report.frame.height > 1


def test_a_store_in_memory_keeps_as_many_bytes_as_it_may() -> None:
    store = MemorySnapshots(60, 60, most_bytes=3_000)
    references = [kept_in(store, "ann", bytes(1_000)) for _ in range(5)]
    assert [store.open("ann", reference) is not None for reference in references] == [False, False, True, True, True]


def test_the_embedded_store_keeps_as_much_as_a_setting_says_and_tells_what_it_dropped(tmp_path: Path) -> None:
    settings = Settings(instance=tmp_path, database_url="postgresql:///none", cache_megabytes=MEGABYTES)
    with platform(settings) as opened:
        cache = cache_of(opened)
        store = CacheSnapshots(cache, cache, 60, 60)
        kept_in(store, "ann", bytes(1 << 20))
        assert opened.results.evicted() == 0
        references = [kept_in(store, "ann", bytes(8 << 20)) for _ in range(12)]
        there = [store.open("ann", reference) is not None for reference in references]
        assert MEGABYTES // 16 <= sum(there) < MEGABYTES // 8
        assert opened.results.evicted() >= 12 - sum(there)
        report_evictions(opened.results.evicted, metrics := Metrics())
        (told,) = re.findall(rb"^tieout_cache_evicted_keys (\S+)$", metrics.page(), re.MULTILINE)
        assert float(told) >= 12 - sum(there)
