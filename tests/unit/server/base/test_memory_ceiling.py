"""The memory of the container that a process runs in, and what each worker may hold there."""

from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread

import pytest

from engine.plans.report_size import ReportSize
from server.base.errors import Busy
from server.base.memory_ceiling import (
    ContainerMemory,
    MemoryCeiling,
    anonymous_bytes,
    container_memory,
    worker_ceiling,
)
from tests.support.service.servers import DEADLINE

MEGABYTE = 1 << 20
UNLIMITED = str((1 << 63) - 4096)  # as the first version of control groups writes it


def groups(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files of control groups, as the kernel shows them below /sys/fs/cgroup."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")
    return folder


@pytest.mark.parametrize(
    ("own", "files", "limit"),
    [
        ("0::/", {"memory.max": "536870912"}, 512),  # in a container, version 2
        ("0::/", {"memory.max": "max"}, None),
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "1073741824"}, 1024),  # the group above has it
        ("0::/a/b", {"a/b/memory.max": "2147483648", "a/memory.max": "1073741824"}, 1024),
        ("4:memory:/docker/c\n1:cpu:/docker/c", {"memory/memory.limit_in_bytes": "536870912"}, 512),  # version 1
        ("4:memory:/a\n0::/", {"memory/a/memory.limit_in_bytes": "536870912"}, 512),
        ("4:memory:/\n0::/", {"memory/memory.limit_in_bytes": UNLIMITED}, None),
        ("1:cpu:/", {"memory/memory.limit_in_bytes": "536870912"}, None),
        ("0::/../elsewhere", {"memory.max": "536870912"}, 512),
    ],
)
def test_the_lowest_limit_of_the_groups_of_a_process_is_that_of_its_container(
    tmp_path: Path, own: str, files: Mapping[str, str], limit: int | None
) -> None:
    (tmp_path / "own").write_text(f"{own}\n")
    found = container_memory(groups(tmp_path / "groups", files), tmp_path / "own")
    assert (found and found.limit) == (limit and limit * MEGABYTE)


def test_on_a_system_without_control_groups_there_is_no_limit(tmp_path: Path) -> None:
    assert container_memory(tmp_path, tmp_path / "nothing") is None


@pytest.mark.parametrize("held", ["anon 314572800\nfile 9", "cache 9\nrss 1\ntotal_cache 9\ntotal_rss 314572800"])
def test_a_container_that_holds_300_of_512_mb_has_room_for_another_worker_and_one_that_holds_400_has_none(
    tmp_path: Path, held: str
) -> None:
    group = groups(tmp_path, {"memory.stat": held})
    assert ContainerMemory(512 * MEGABYTE, group).holds_another()
    groups(tmp_path, {"memory.stat": held.replace("314572800", "419430400")})
    assert not ContainerMemory(512 * MEGABYTE, group).holds_another()


@pytest.mark.parametrize(
    ("limit", "workers", "ceiling"),
    [(None, 1, 1536), (4096, 1, 1536), (1024, 1, 832), (512, 1, 320), (1024, 2, 416), (512, 2, 256)],
)
def test_a_worker_may_hold_what_the_setting_and_the_container_allow(
    tmp_path: Path, limit: int | None, workers: int, ceiling: int
) -> None:
    container = None if limit is None else ContainerMemory(limit * MEGABYTE, tmp_path)
    assert worker_ceiling(1536, workers, container) == ceiling * MEGABYTE


LARGE = ReportSize(figures=0, places=300_000)  # 900 MB


def ceiling_for(reports: float) -> MemoryCeiling:
    """Return a ceiling with room for some large reports at once."""
    return MemoryCeiling(anonymous_bytes() + int(reports * LARGE.bytes))


def test_a_large_call_beside_another_waits_for_memory_that_is_promised_to_it() -> None:
    memory, looked, admitted = ceiling_for(1.5), Event(), Event()

    def other() -> None:
        with memory.admitting(looked.set) as admit:
            admit(LARGE)
            admitted.set()

    with memory.admitting() as admit:
        admit(LARGE)
        beside = Thread(target=other)
        beside.start()
        assert looked.wait(DEADLINE)
        assert not admitted.is_set()
    assert admitted.wait(DEADLINE)
    beside.join(DEADLINE)


def test_two_large_calls_run_beside_each_other_where_both_fit() -> None:
    memory = ceiling_for(2.5)
    with memory.admitting() as one, memory.admitting() as other:
        one(LARGE)
        other(LARGE)


def test_a_call_that_has_read_already_waits_for_no_other() -> None:
    memory = ceiling_for(1.5)
    with memory.admitting() as one, memory.admitting() as other:
        one(ReportSize(figures=1, places=1))
        other(LARGE)
        with pytest.raises(Busy):  # the other may wait for it in turn
            one(LARGE)


def test_what_was_promised_to_a_call_is_free_when_it_ends() -> None:
    memory = ceiling_for(1.5)
    for _ in range(3):
        with memory.admitting() as admit:
            admit(LARGE)


def test_a_large_report_is_busy_while_a_worker_that_leaves_holds_the_memory_of_the_container(tmp_path: Path) -> None:
    group = groups(tmp_path, {"memory.stat": f"anon {400 * MEGABYTE}"})
    size, short = ReportSize(figures=0, places=50_000), list[int]()  # 150 MB
    container = ContainerMemory(512 * MEGABYTE, group)
    memory = MemoryCeiling(anonymous_bytes() + 2 * size.bytes, short.append, container)
    with memory.admitting() as admit, pytest.raises(Busy, match="Call again shortly"):
        admit(size)
    assert short == []  # a new worker would find no more memory
    groups(tmp_path, {"memory.stat": f"anon {300 * MEGABYTE}"})
    with memory.admitting() as admit:
        admit(size)
