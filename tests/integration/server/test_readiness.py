"""Readiness: what the server stands on is truly used; what does not hold is said, in bounded time, and heals."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, active_count
from threading import enumerate as running_threads
from time import monotonic

import httpx2
import pytest

from server.base.interfaces import StoreDown
from server.feeds.instance import read_instance
from server.ops.health_checks import NO_BOOKS, StoredBooks
from server.ops.readiness import STALE_SECONDS, CheckResult, CheckRunner, HealthCheck, Readiness, ReadinessReport
from server.telemetry.metrics import Metrics
from tests.support.books.loads import load_instance
from tests.support.books.small import write_ledger
from tests.support.engines.disks import disk
from tests.support.fixtures import Lines
from tests.support.service.forks import tieout
from tests.support.service.operations import metric, readyz, until_ready, until_unready
from tests.support.service.servers import DEADLINE, Server, connected, free_ports, serving, wait_for


def ledger(folder: Path) -> Path:
    """Write an instance of one ledger."""
    return write_ledger(folder, "2021-01-05 actual 10\n2021-02-05 actual 20\n2021-03-05 budget 5")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a small ledger, its state, and files made for callers."""
    folder = tmp_path_factory.mktemp("ready")
    (folder / "files").mkdir()
    load_instance(ledger(folder), folder / "state")
    return folder


@pytest.fixture(scope="module")
def files(home: Path) -> Path:
    """The folder of files made for callers."""
    return home / "files"


@pytest.fixture(scope="module")
def operated(home: Path, files: Path) -> Iterator[Server]:
    """A server whose stores a test may harm, and heals."""
    with serving(home / "small", home / "state", USER_DATA_DIR=str(files), SVC_FREE_MEGABYTES="1") as server:
        yield server


def health(url: str) -> tuple[int, str]:
    """Return what /health answers on one of the ports."""
    answer = httpx2.get(f"{url}/health", timeout=DEADLINE)
    return answer.status_code, answer.json()["status"]


def test_a_server_is_ready_once_everything_it_stands_on_was_used(operated: Server) -> None:
    checks = until_ready(operated)
    assert all(set(finding) == {"status", "ms"} and finding["status"] == "ok" for finding in checks.values())
    assert {"analytical_store", "artifacts"} <= set(checks)
    assert health(operated.ops) == (200, "ok")
    assert health(operated.url.removesuffix("/mcp")) == (200, "ok")
    for check in checks:
        assert metric(operated, "tieout_ready", check=check) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
def test_folders_that_others_can_read_are_closed_or_told(operated: Server, home: Path, files: Path) -> None:
    files.chmod(0o755)
    os.chown(home / "state", 4711, 4711)
    (home / "state").chmod(0o755)
    try:
        checks = until_ready(operated)
        wait_for(lambda: "note" in until_ready(operated)["analytical_store"])
        note = until_ready(operated)["analytical_store"]["note"]
        assert f"other users of this machine may read {home / 'state'}, and it cannot be closed to them" in note
        wait_for(lambda: files.stat().st_mode & 0o777 == 0o700)
        assert "note" not in checks["artifacts"]
    finally:
        os.chown(home / "state", os.geteuid(), os.getegid())
    wait_for(lambda: "note" not in until_ready(operated)["analytical_store"])


def test_books_that_nobody_loaded_yet_are_ready_and_say_so(tmp_path: Path) -> None:
    instance = ledger(tmp_path)
    state = tmp_path / "state"
    state.mkdir()
    with serving(instance, state) as server:
        assert until_ready(server)["analytical_store"]["note"] == NO_BOOKS
        assert metric(server, "tieout_books_version") == 0
        load_instance(instance, state)
        wait_for(lambda: metric(server, "tieout_books_version") == 1)
        assert "note" not in until_ready(server)["analytical_store"]


def test_a_files_folder_that_goes_away_and_comes_back(operated: Server, files: Path) -> None:
    files.rmdir()
    reason = until_unready(operated, "artifacts")
    assert "is not there" in reason
    assert "USER_DATA_DIR" in reason
    assert health(operated.ops) == health(operated.url.removesuffix("/mcp")) == (503, "unavailable")
    assert metric(operated, "tieout_ready", check="artifacts") == 0
    with connected(operated.url, "auto") as books:
        assert not books.call("list_kpis").is_error  # what does not need it goes on
    files.mkdir()
    until_ready(operated)
    assert list(files.iterdir()) == []


def test_a_files_folder_that_cannot_be_written(operated: Server, files: Path) -> None:
    until_ready(operated)
    with disk(files, 8, "ro"):
        reason = until_unready(operated, "artifacts")
    assert "Read-only file system" in reason
    assert "must be able to write" in reason
    until_ready(operated)


def test_a_files_folder_below_its_floor_of_free_space(operated: Server, files: Path) -> None:
    until_ready(operated)
    with disk(files, 8):
        until_ready(operated)
        with (files / "ballast").open("wb") as ballast:
            ballast.write(bytes((7 << 20) + 4096))
        reason = until_unready(operated, "artifacts")
        (files / "ballast").unlink()
        until_ready(operated)
    assert "0 MB free, fewer than the 1 of SVC_FREE_MEGABYTES; free space" in reason


def partitions(folder: Path) -> list[Path]:
    """Return the files of facts of the current version."""
    return sorted((folder / "state" / "store" / "facts").rglob("*.arrow"))


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_file_of_the_books_that_is_lost(operated: Server, home: Path, which: int) -> None:
    until_ready(operated)
    path = partitions(home)[which]
    kept = path.read_bytes()
    path.unlink()
    reason = until_unready(operated, "analytical_store")
    assert str(path) in reason
    assert "restore it from a backup" in reason
    path.write_bytes(kept)
    until_ready(operated)


@pytest.mark.parametrize("left", [0, 100, -50])
def test_a_file_of_the_books_that_is_cut_short_or_overwritten(operated: Server, home: Path, left: int) -> None:
    path = partitions(home)[1]
    kept = path.read_bytes()
    path.write_bytes(kept[:left] if left >= 0 else kept[:left] + bytes(-left))
    reason = until_unready(operated, "analytical_store")
    assert f"needs {path} and it cannot be read" in reason
    path.write_bytes(kept)
    until_ready(operated)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_files_that_were_lost_before_the_server_started_are_missed_at_once(tmp_path: Path, which: int) -> None:
    instance = ledger(tmp_path)
    load_instance(instance, tmp_path / "state")
    path = partitions(tmp_path)[which]
    path.unlink()
    with pytest.raises(StoreDown, match=f"needs {path} and it is not there"):
        StoredBooks(read_instance(instance).catalogue, tmp_path / "state" / "store", Metrics().books).use()


@pytest.mark.parametrize("content", ["", "{", '{"version": 1}', "[]"])
def test_a_manifest_that_cannot_be_read(operated: Server, home: Path, content: str) -> None:
    (path,) = (home / "state" / "store" / "manifests").iterdir()
    kept = path.read_text()
    path.write_text(content)
    reason = until_unready(operated, "analytical_store")
    assert "current version of the books" in reason
    assert "cannot be opened" in reason
    path.write_text(kept)
    until_ready(operated)


def test_a_store_that_is_not_mounted_any_more_is_no_store_without_books(operated: Server, home: Path) -> None:
    until_ready(operated)
    store = home / "state" / "store"
    store.rename(home / "elsewhere")
    reason = until_unready(operated, "analytical_store")
    assert "held version 1 of the books and now says 0; is its volume mounted?" in reason
    shutil.move(home / "elsewhere", store)
    until_ready(operated)


def test_readiness_that_is_lost_and_comes_back_is_in_the_log_once(operated: Server, files: Path) -> None:
    until_ready(operated)
    before = len(operated.log.read_text())
    files.rmdir()
    until_unready(operated, "artifacts")
    for _ in range(5):
        readyz(operated)
    files.mkdir()
    until_ready(operated)
    said = [line for line in operated.log.read_text()[before:].splitlines() if " tieout.ops " in line]
    assert [line.split(" tieout.ops ")[1].split(" check=")[0] for line in said] == [
        "artifacts is unavailable",
        "artifacts is available",
    ]
    assert "is not there" in said[0]


class WaitingCheck:
    """A check that waits until it is let through."""

    def __init__(self) -> None:
        self.open, self.runs = Event(), 0

    def use(self) -> str | None:
        self.runs += 1
        assert self.open.wait(DEADLINE)
        return None


def test_a_check_that_hangs_is_left_alone_and_not_waited_for_twice(lines: Lines) -> None:
    door, threads = WaitingCheck(), active_count()
    door_check = HealthCheck(name="door", run=door.use, limit=1.5)

    async def scene() -> list[CheckResult]:
        watched = CheckRunner(door_check)
        hung = [await watched.find() for _ in range(5)]
        assert door.runs == 1
        assert active_count() <= threads + 1
        door.open.set()
        wait_for(lambda: active_count() <= threads)
        return [*hung, await watched.find()]

    first, second, *_, healed = asyncio.run(scene())
    assert first.reason == "it did not answer within 1.5 s"
    assert (second.reason or "").startswith("it does not answer, for ")
    assert (healed.reason, door.runs) == (None, 2)
    assert lines() == []


def test_a_check_that_hangs_does_not_keep_the_others_or_the_end_of_the_process_waiting() -> None:
    program = """
import asyncio, json, threading
from server.ops.readiness import HealthCheck, Readiness
from server.telemetry.metrics import Metrics
hung = HealthCheck(name="hung", run=threading.Event().wait, limit=0.1)
quick = HealthCheck(name="quick", run=lambda: None)
print(json.dumps(asyncio.run(Readiness([hung, quick], Metrics()).verdict()).as_data()))
"""
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True)
    found = json.loads(ended.stdout)
    assert found["status"] == "unavailable"
    assert {name: finding["status"] for name, finding in found["checks"].items()} == {
        "hung": "unavailable",
        "quick": "ok",
    }


def test_a_check_that_fails_in_a_way_nobody_thought_of_says_where_to_look(lines: Lines) -> None:
    def broken() -> None:
        raise ZeroDivisionError("postgresql://u:MARKER@h/db")

    verdict = asyncio.run(Readiness([HealthCheck(name="broken", run=broken)], Metrics()).verdict())
    assert verdict.findings["broken"].reason == "the check itself failed; the log of the server has the fault"
    for thread in running_threads():
        if thread.name == "check broken":
            thread.join(DEADLINE)  # it tells its fault after its result
    told = sorted(lines(), key=lambda line: "ZeroDivisionError" in line)
    assert "waiting for broken" in told[0]
    assert "ZeroDivisionError" in told[1]
    assert "MARKER" not in "".join(told)


def test_many_who_ask_at_once_share_a_round() -> None:
    runs = []
    readiness = Readiness([HealthCheck(name="counted", run=lambda: runs.append(1))], Metrics())

    async def scene() -> list[ReadinessReport]:
        return await asyncio.gather(*(readiness.verdict() for _ in range(50)))

    assert readiness.health() == {"status": "starting"}
    assert len({id(verdict) for verdict in asyncio.run(scene())}) == 1
    assert len(runs) == 1
    assert readiness.health() == {"status": "ok", "checks": {"counted": "ok"}}


def test_a_verdict_of_long_ago_is_none() -> None:
    readiness = Readiness([], Metrics())
    asyncio.run(readiness.verdict())
    assert readiness.health()["status"] == "ok"
    readiness._latest = ReadinessReport(findings={}, at=monotonic() - STALE_SECONDS - 1)
    assert readiness.health() == {"status": "unavailable"}


def test_a_check_of_files_that_were_reloaded_takes_the_place_of_the_former_one() -> None:
    def away() -> None:
        raise StoreDown("the engine is away")

    metrics = Metrics()
    readiness = Readiness([HealthCheck(name="facts", run=away), HealthCheck(name="other", run=lambda: None)], metrics)

    async def verdicts() -> list[ReadinessReport]:
        found = [await readiness.verdict()]
        for checks in ([HealthCheck(name="facts", run=lambda: None)], []):
            readiness.replace("facts", checks)
            readiness._latest = ReadinessReport(findings=found[-1].findings, at=monotonic() - STALE_SECONDS)
            found.append(await readiness.verdict())
        return found

    former, latter, none = asyncio.run(verdicts())
    assert (former.ready, latter.ready, none.ready) == (False, True, True)
    assert set(latter.findings) == {"facts", "other"}
    assert set(none.findings) == {"other"}
    assert {known.labels["check"] for family in metrics.ready.collect() for known in family.samples} == {"other"}


def test_who_reads_metrics_slowly_holds_up_nobody(operated: Server) -> None:
    host, port = operated.ops.removeprefix("http://").split(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(30)]
    for connection in slow:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
    until_ready(operated)
    assert metric(operated, "tieout_ready", check="artifacts") == 1
    with connected(operated.url, "auto") as books:
        assert not books.call("list_kpis").is_error
    for connection in slow:
        connection.close()


def test_the_operators_port_that_is_taken_is_named(tmp_path: Path) -> None:
    instance = ledger(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = tieout("serve", "--instance", instance, **free_ports() | {"SVC_OPS_BIND": f"127.0.0.1:{port}"})
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use)" in refused.stderr
    assert "choose another port with SVC_OPS_BIND" in refused.stderr
