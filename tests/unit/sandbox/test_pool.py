"""The pool: one child a job, within its limits; what dies costs one job, and a jail that does not hold runs none."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from sandbox.job import MOST_CODE, MOST_FRAME_BYTES, Job, JobLimits, JobResult
from sandbox.pool import Pool, PoolBusy
from tests.support.books.loads import ROOT
from tests.support.service.keeper import alive
from tests.support.service.leavers import ClientGone
from tests.support.service.servers import wait_for
from tests.unit.sandbox.legit import FRAMES, LEGIT, Script, frames_of, ordered, plainly, streamed

ONE = "result = [{'v': 1}]"
ENDLESS = "while True: pass"
FOREVER = JobLimits(wall=60, cpu=60)
SERVICE = f"""
from sandbox.job import Job, JobLimits
from sandbox.pool import Pool
pool = Pool()
assert pool.trouble() is None
print(pool._server.process.pid, flush=True)
pool.run(Job(code={ENDLESS!r}, limits=JobLimits(wall=60, cpu=60)))
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """A pool whose jail holds."""
    with Pool(places=2) as opened:
        assert opened.trouble() is None
        yield opened


def failed(pool: Pool, code: str, limits: JobLimits = JobLimits()) -> tuple[str, str]:  # noqa: B008 - a frozen value
    """Run a job that must fail; return kind and message."""
    failure = pool.run(Job(code=code, limits=limits)).failure
    assert failure is not None
    return failure.kind, failure.message


def works(pool: Pool) -> bool:
    """Tell whether a simple job gives its answer."""
    return pool.run(Job(code=ONE)).rows == ((1,),)


def server_of(pool: Pool) -> int:
    """Return the process id of the fork server."""
    assert works(pool)
    assert pool._server is not None
    return pool._server.process.pid


def children_of(process: int) -> list[int]:
    """Return the children of a process."""
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()]


@pytest.mark.parametrize("case", LEGIT, ids=lambda case: case.id)
def test_a_transform_in_jail_gives_what_plain_python_gives(pool: Pool, case: Script) -> None:
    outcome = pool.run(Job(code=case.code, frames=streamed(frames_of(case.needs))))
    assert outcome.failure is None
    names = [column.name for column in outcome.columns]
    assert ordered([dict(zip(names, row, strict=True)) for row in outcome.rows]) == ordered(plainly(case))


@pytest.mark.parametrize(
    ("code", "limits", "kind", "words"),
    [
        (ENDLESS, JobLimits(wall=0.3), "limit", "exceeded its time limit"),
        (ENDLESS, JobLimits(wall=30, cpu=1), "limit", "processor time"),
        ("x = []\nwhile True: x.append('x' * 10**6 + str(len(x)))", JobLimits(wall=60, cpu=60), "limit", "memory"),
        ("result = pl.int_range(10**10, eager=True).to_frame('i')", JobLimits(wall=60, cpu=60), "limit", "memory"),
        ("result = [{'v': 'x' * 1000, 'i': i} for i in range(4000)]", JobLimits(), "limit", "bytes: aggregate"),
        ("e = pl.lit(1)\nfor i in range(10**6): e = e + 1\nresult = pl.select(e)", JobLimits(wall=2), "limit", ""),
        ("#" * (MOST_CODE + 1), JobLimits(), "refused", "shorten"),
        ("x = '\ud800'", JobLimits(), "refused", "half a character"),
        ("größe = '\\ud800'.encode()", JobLimits(), "failed", "line 1"),
    ],
)
def test_what_a_job_takes_is_bounded(pool: Pool, code: str, limits: JobLimits, kind: str, words: str) -> None:
    found, message = failed(pool, code, limits)
    assert found == kind, message
    assert words in message
    assert works(pool)


def test_frames_are_bounded_before_anything_runs(pool: Pool) -> None:
    for frames in ((b"",) * 9, (b"x" * (MOST_FRAME_BYTES + 1),)):
        failure = pool.run(Job(code=ONE, frames=frames)).failure
        assert failure is not None
        assert failure.kind == "refused"


def test_zones_and_non_ascii_names_need_no_file(pool: Pool) -> None:
    frame = pl.DataFrame({"t": ["2025-06-01T10:00"]}).select(
        pl.col("t").str.to_datetime().dt.replace_time_zone("Europe/Madrid")
    )
    code = "größe = df.rows()\nresult = [{'v': größe[0][0].isoformat()}]"
    outcome = pool.run(Job(code=code, frames=streamed([frame])))
    assert outcome.rows == (("2025-06-01T10:00:00+02:00",),), outcome.failure


NESTED = """
def deeper(left):
    query = df.lazy().select(pl.col('v').map_elements(lambda v: v + (deeper(left - 1) if left else 0), pl.Int64))
    return query.collect()['v'].sum()
result = [{'v': deeper(2)}]
"""


def test_a_query_in_a_callback_of_a_query_needs_no_new_thread(pool: Pool) -> None:
    outcome = pool.run(Job(code=NESTED, frames=streamed([pl.DataFrame({"v": [1, 2]})])))
    assert outcome.rows == ((21,),), outcome.failure  # 3, then 3 + 2 * 3, then 3 + 2 * 9


def test_a_place_is_free_or_the_pool_is_busy_at_once(pool: Pool) -> None:
    server = server_of(pool)
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(pool.run, Job(code=ENDLESS, limits=FOREVER)) for _ in range(2)]
        wait_for(lambda: len(children_of(server)) == 2)
        with pytest.raises(PoolBusy):
            pool.run(Job(code=ONE))
        for child in children_of(server):
            os.kill(child, signal.SIGKILL)
        assert all(ended.result().failure is not None for ended in running)
    assert works(pool)


def test_a_dead_child_costs_its_own_job(pool: Pool) -> None:
    server = server_of(pool)
    with ThreadPoolExecutor(2) as threads:
        doomed = threads.submit(pool.run, Job(code=ENDLESS, limits=FOREVER))
        wait_for(lambda: len(children_of(server)) == 1)
        (child,) = children_of(server)
        other = threads.submit(works, pool)
        os.kill(child, signal.SIGKILL)
        failure = doomed.result().failure
        assert other.result()
    assert failure is not None
    assert failure.kind == "limit"
    assert server_of(pool) == server


def test_a_job_that_nobody_waits_for_any_more_is_ended(pool: Pool) -> None:
    server = server_of(pool)

    def leave() -> None:
        raise ClientGone

    def leave_it_running() -> None:
        if children_of(server):
            raise ClientGone

    for stop in (leave, leave_it_running):
        with pytest.raises(ClientGone):
            pool.run(Job(code=ENDLESS, limits=FOREVER), stop)
        assert not children_of(server)
    assert server_of(pool) == server


def test_a_dead_fork_server_costs_what_ran_and_is_started_again(pool: Pool) -> None:
    server = server_of(pool)
    with ThreadPoolExecutor(1) as threads:
        doomed = threads.submit(pool.run, Job(code=ENDLESS, limits=FOREVER))
        wait_for(lambda: len(children_of(server)) == 1)
        (child,) = children_of(server)
        os.kill(server, signal.SIGKILL)
        failure = doomed.result().failure
    assert failure is not None
    assert failure.kind == "unavailable"
    wait_for(lambda: not alive(child))  # a first process may reap nobody
    assert server_of(pool) != server


def test_a_fork_server_that_hangs_is_replaced(pool: Pool) -> None:
    server = server_of(pool)
    os.kill(server, signal.SIGSTOP)
    assert failed(pool, ONE, JobLimits(wall=0.2))[0] == "unavailable"
    assert server_of(pool) != server


def test_a_stopped_child_is_late(pool: Pool) -> None:
    server = server_of(pool)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(failed, pool, ENDLESS, JobLimits(wall=2))
        wait_for(lambda: len(children_of(server)) == 1)
        os.kill(children_of(server)[0], signal.SIGSTOP)
        assert running.result()[0] == "limit"
    wait_for(lambda: children_of(server) == [])


def test_a_closed_pool_leaves_no_process() -> None:
    with Pool() as pool:
        server = server_of(pool)
    wait_for(lambda: not alive(server))


def test_nothing_outlives_a_service_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", SERVICE], cwd=ROOT, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        server = int(service.stdout.readline())
        wait_for(lambda: len(children_of(server)) == 1)
        (child,) = children_of(server)
        service.kill()
    wait_for(lambda: not any(alive(pid) for pid in (server, child)))


def test_where_the_jail_does_not_hold_nothing_runs() -> None:
    with Pool(worker="tests.unit.sandbox.unjailed") as pool:
        assert "read_a_file" in str(pool.trouble())
        assert failed(pool, ONE)[0] == "unavailable"


def test_a_worker_that_does_not_start_is_told() -> None:
    with Pool(worker="tests.unit.sandbox.absent") as pool:
        assert "did not start" in str(pool.trouble())


def test_the_fork_server_has_an_empty_environment_and_no_other_descriptor(pool: Pool) -> None:
    server = server_of(pool)
    names = {entry.partition(b"=")[0] for entry in Path(f"/proc/{server}/environ").read_bytes().split(b"\0") if entry}
    assert names == {b"LANG", b"TZ", b"MALLOC_ARENA_MAX", b"POLARS_MAX_THREADS", b"_RJEM_MALLOC_CONF"}
    wait_for(lambda: len(list(Path(f"/proc/{server}/fd").iterdir())) <= 6)


def test_many_jobs_at_once_get_their_own_answers() -> None:
    def ask(number: int) -> JobResult:
        return pool.run(Job(code=f"result = df.select(pl.col('v') + {number})", frames=streamed([frame])))

    frame = pl.DataFrame({"v": [0]})
    with Pool(places=4) as pool, ThreadPoolExecutor(4) as threads:
        assert [outcome.rows for outcome in threads.map(ask, range(40))] == [((n,),) for n in range(40)]


def test_the_first_frame_is_df(pool: Pool) -> None:
    outcome = pool.run(Job(code="result = df", frames=streamed([FRAMES["statement"], FRAMES["fx"]])))
    assert [column.name for column in outcome.columns] == FRAMES["statement"].columns


def test_an_interpreter_that_cannot_start_is_told_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with Pool() as pool:
        assert pool.trouble() == "the fork server did not start: No such file or directory"
