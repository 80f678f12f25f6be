"""The daemon as a process: one of them leads, loads survive it, and nothing that was due is missed."""

import logging
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import psycopg
import pytest
import yaml
from msgspec.structs import replace

from engine.facts.load_modes import LoadMode
from engine.facts.manifest import current_version
from server.feeds.feeds import LoadAttempt, LoadStatus
from tests.support.engines.memory import MemoryLoads
from tests.support.engines.postgres import postgres
from tests.support.service.daemons import ONCE_A_YEAR, at_work, attempts, books_with, daemon_of, platform_of, running
from tests.support.service.servers import wait_for

pytestmark = pytest.mark.usefixtures("history")
SCHEDULED = {"schedule": ONCE_A_YEAR}
SUCCESS = [LoadStatus.SUCCESS]


def statuses(instance: Path, state: Path, feed: str = "gl") -> list[LoadStatus]:
    """Return how the attempts to load a feed stand, the first one first."""
    return [attempt.status for attempt in reversed(attempts(instance, state)) if attempt.binding == feed]


def is_loaded(instance: Path, state: Path) -> bool:
    """Tell whether the last attempt has ended well; a version is published shortly before that is written down."""
    return statuses(instance, state)[-1:] == SUCCESS


def test_feeds_are_loaded_in_their_turn_and_what_others_need_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL")  # with the embedded database, as on a fresh machine
    instance = books_with(tmp_path, gl={**SCHEDULED, "unknown_members": "reject"}, account=SCHEDULED)
    with running(instance, tmp_path / "state", "daemon") as daemon:
        daemon.wait_for("gl: next load at")
        assert daemon.end() == 0
    log = daemon.log.read_text()
    assert "2 feeds have a schedule" in log
    decisions = [
        "account: starts for the slot of 20",
        "gl: due, and waits: account loads first, others need what it brings",
        "account: success, 1 rows landed",
        "gl: starts for the slot of 20",
        "gl: success, 1 rows landed",
        "gl: next load at 20",
        "stops; no load is under way",
    ]
    assert [log.count(decision) for decision in decisions] == [1] * len(decisions), log
    assert [log.index(decision) for decision in decisions] == sorted(log.index(decision) for decision in decisions)
    (loaded,) = [attempt for attempt in attempts(instance, tmp_path / "state") if attempt.binding == "gl"]
    assert loaded.status is LoadStatus.SUCCESS
    assert loaded.due_at is not None


def test_once_loads_what_is_due_and_ends(tmp_path: Path) -> None:
    instance = books_with(tmp_path, gl=SCHEDULED)
    (instance / "data" / "gl.csv").write_text("date,scenario,account,amount\n2021-01-05,actual,10,five\n")
    with running(instance, tmp_path / "state", "daemon", "--once") as daemon:
        assert daemon.process.wait(timeout=60) == 1
    assert daemon.said("gl: failed_validate, 1 rejected: 1 of 1 rows rejected, 0 allowed")
    assert daemon.said("1 feeds have a schedule; without one, and never loaded by the daemon: account")
    with running(instance, tmp_path / "state", "daemon", "--once") as again:
        assert again.process.wait(timeout=60) == 0
    assert statuses(instance, tmp_path / "state") == [LoadStatus.FAILED_VALIDATE]  # which waits for the next slot


def test_the_second_of_two_daemons_stands_by_and_takes_over_when_the_first_is_killed(tmp_path: Path) -> None:
    instance = books_with(tmp_path, gl=SCHEDULED)
    state = tmp_path / "state"
    with running(instance, state, "daemon") as first:
        first.wait_for("gl: next load at")
        with running(instance, state, "daemon") as second:
            second.wait_for(f"another daemon (process {first.process.pid}) loads these books; stands by")
            assert first.end(signal.SIGKILL) == -signal.SIGKILL
            second.wait_for("the other daemon is gone; takes over")
            second.wait_for("gl: next load at")
    assert statuses(instance, state) == SUCCESS


def test_a_daemon_that_stands_by_ends_when_it_is_told_to_and_once_does_not_wait(tmp_path: Path) -> None:
    instance = books_with(tmp_path, gl=SCHEDULED)
    with running(instance, tmp_path / "state", "daemon") as first:
        first.wait_for("gl: next load at")
        with running(instance, tmp_path / "state", "daemon") as second:
            second.wait_for("stands by")
            assert second.end() == 0
        with running(instance, tmp_path / "state", "daemon", "--once") as third:
            assert third.process.wait(timeout=60) == 1
            assert third.said("loads these books; ends")


# ------------------------------------------------------------------------------- loads that take their time

WAITS = "select date '2021-01-05' as date, 'actual' as scenario, '10' as account, 7 as amount from pg_sleep({seconds})"


OTHERS = "from pg_stat_activity where pid <> pg_backend_pid() and query like '%from pg_sleep(%'"


@pytest.fixture
def erp(embedded_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database that feeds read from."""
    monkeypatch.setenv("ERP_DATABASE_URI", embedded_server)
    wait_for(lambda: queries(embedded_server) == 0)  # those that the test before ended
    yield embedded_server
    with psycopg.connect(embedded_server, autocommit=True) as connection:
        connection.execute(f"select pg_terminate_backend(pid) {OTHERS}")  # whose clients were killed


def queries(uri: str) -> int:
    """Return how many queries of feeds run."""
    with psycopg.connect(uri, autocommit=True) as connection:
        ((count,),) = connection.execute(f"select count(*) {OTHERS} and state = 'active'").fetchall()
        return int(count)


def slow_books(folder: Path, seconds: float) -> Path:
    """Write books whose ledger comes from a database that takes its time."""
    instance = books_with(folder)
    feed(instance, seconds)
    return instance


def feed(instance: Path, seconds: float) -> None:
    """Let the ledger come from a query that takes some seconds."""
    path = instance / "integrations.yaml"
    known = yaml.safe_load(path.read_text())
    known["sources"]["erp"] = {"kind": "postgresql", "uri_env": "ERP_DATABASE_URI"}
    gl = {"source": "erp", "target": "live.gl", "extract": WAITS.format(seconds=seconds), "unknown_members": "extend"}
    known["bindings"]["gl"] = {**gl, **SCHEDULED}
    path.write_text(yaml.safe_dump(known))


def test_a_load_that_is_told_to_end_leaves_the_books_as_they_were_and_says_so(tmp_path: Path, erp: str) -> None:
    instance, state = slow_books(tmp_path, 600), tmp_path / "state"
    load_instance_of(instance, state, "account")
    published = current_version(state / "store")
    with running(instance, state, "load", "gl") as load:
        wait_for(lambda: queries(erp) == 1)
        assert load.end(signal.SIGTERM) == 130
    assert load.said("Interrupted; nothing was published.")
    assert current_version(state / "store") == published
    assert queries(erp) == 0, "the query still runs"
    (attempt,) = [one for one in attempts(instance, state) if one.binding == "gl"]
    assert attempt.status is LoadStatus.FAILED_INTERRUPTED
    assert attempt.message == "the load was stopped before it published; nothing changed"


def load_instance_of(instance: Path, state: Path, *feeds: str) -> None:
    """Load some feeds as a user does."""
    with running(instance, state, "load", *feeds) as load:
        assert load.process.wait(timeout=60) == 0, load.log.read_text()


def test_a_daemon_that_is_told_to_end_ends_its_loads_and_the_next_one_catches_up(tmp_path: Path, erp: str) -> None:
    instance, state = slow_books(tmp_path, 600), tmp_path / "state"
    with running(instance, state, "daemon") as daemon:
        wait_for(lambda: queries(erp) == 1)
        assert daemon.end() == 0
    assert daemon.said("stops; ends gl")
    assert daemon.said("gl: failed_interrupted: the load was stopped before it published")
    assert queries(erp) == 0
    feed(instance, 0)
    catch_up(instance, state)
    assert statuses(instance, state) == [LoadStatus.FAILED_INTERRUPTED, LoadStatus.SUCCESS]


def catch_up(instance: Path, state: Path) -> None:
    """Let another daemon, which does not wait long, load what is due."""
    with platform_of(instance, state) as opened, at_work(daemon_of(instance, state, opened.loads)):
        wait_for(lambda: is_loaded(instance, state))


def test_a_daemon_that_is_killed_is_made_up_for_by_the_next(tmp_path: Path, erp: str) -> None:
    instance, state = slow_books(tmp_path, 600), tmp_path / "state"
    with running(instance, state, "daemon") as daemon:
        wait_for(lambda: queries(erp) == 1)
        loader = (state / "loading" / "live.gl.lock").read_text()
        assert daemon.end(signal.SIGKILL) == -signal.SIGKILL
    os.kill(int(loader), signal.SIGKILL)  # as a machine that loses its power
    feed(instance, 0)
    catch_up(instance, state)
    found = [attempt for attempt in attempts(instance, state) if attempt.binding == "gl"]
    assert [attempt.status for attempt in found] == [LoadStatus.SUCCESS, LoadStatus.FAILED_INTERRUPTED]
    assert found[1].message == "the loader ended before it published; nothing changed"
    assert found[0].due_at == found[1].due_at


def test_a_load_outlives_its_daemon_and_is_not_made_twice(tmp_path: Path, erp: str) -> None:
    instance, state = slow_books(tmp_path, 5), tmp_path / "state"
    with running(instance, state, "daemon") as daemon:
        wait_for(lambda: queries(erp) == 1)
        daemon.end(signal.SIGKILL)
        with running(instance, state, "daemon") as other:
            other.wait_for("gl: next load at")
            wait_for(lambda: is_loaded(instance, state))
    assert statuses(instance, state) == SUCCESS
    assert current_version(state / "store") == 1


# ------------------------------------------------------------------------------------- files that change


def test_changed_files_are_read_anew_and_faulty_ones_are_not_taken(tmp_path: Path) -> None:
    instance, state = books_with(tmp_path), tmp_path / "state"
    path = instance / "integrations.yaml"
    known = yaml.safe_load(path.read_text())
    known["bindings"]["gl"]["schedule"] = ONCE_A_YEAR
    with running(instance, state, "daemon") as daemon:
        daemon.wait_for("0 feeds have a schedule")
        path.write_text(yaml.safe_dump({**known, "bindings": {"gl": {**known["bindings"]["gl"], "schedule": "soon"}}}))
        daemon.wait_for("'soon' is no cron expression: it has 1 parts, not 5")
        daemon.wait_for("have faults; the previous ones stay in use")
        path.write_text(yaml.safe_dump(known))
        daemon.wait_for("changed and were reloaded")
        daemon.wait_for("gl: success, 1 rows landed")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for(f"the files of {instance} were reloaded")


def test_a_daemon_without_its_database_starts_nothing_and_says_why(tmp_path: Path) -> None:
    instance = books_with(tmp_path, gl=SCHEDULED)
    nowhere = f"postgresql://tieout:hidden@/platform?host={tmp_path}"
    with running(instance, tmp_path / "state", "daemon", DATABASE_URL=nowhere) as daemon:
        daemon.wait_for("the load history cannot be read: ")
        daemon.wait_for("no load starts until it can")
        assert daemon.end() == 0
    assert not daemon.said("starts for")
    assert not daemon.said("hidden")


def test_loads_of_one_table_follow_each_other(tmp_path: Path, erp: str) -> None:
    instance, state = slow_books(tmp_path, 600), tmp_path / "state"
    path = instance / "integrations.yaml"
    known = yaml.safe_load(path.read_text())
    known["bindings"]["other"] = known["bindings"]["gl"]
    path.write_text(yaml.safe_dump(known))
    with running(instance, state, "daemon") as daemon:
        daemon.wait_for("other: due, and waits: gl loads live.gl")
        wait_for(lambda: queries(erp) == 1)


# ----------------------------------------------------------------------------------------------- trying again


def test_a_source_that_was_down_is_loaded_from_once_it_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with postgres(tmp_path) as uri:
        monkeypatch.setenv("ERP_DATABASE_URI", uri)
    instance, state = slow_books(tmp_path, 0), tmp_path / "state"
    with platform_of(instance, state) as opened, at_work(daemon_of(instance, state, opened.loads)):
        wait_for(lambda: "gl: starts, try 3 for the slot" in caplog.text)
        assert current_version(state / "store") == 0
        with postgres(tmp_path):
            wait_for(lambda: is_loaded(instance, state))
    *failed, last = statuses(instance, state)
    assert len(failed) >= 2
    assert {*failed} == {LoadStatus.FAILED_CONNECT}
    assert last is LoadStatus.SUCCESS
    assert "gl: failed_connect: source erp cannot be reached" in caplog.text
    assert uri not in caplog.text


def test_a_load_whose_process_is_killed_is_recorded_and_tried_again(tmp_path: Path, erp: str) -> None:
    instance, state = slow_books(tmp_path, 600), tmp_path / "state"
    with platform_of(instance, state) as opened, at_work(daemon_of(instance, state, opened.loads)):
        wait_for(lambda: queries(erp) == 1)
        feed(instance, 0)
        os.kill(int((state / "loading" / "live.gl.lock").read_text()), signal.SIGKILL)
        wait_for(lambda: is_loaded(instance, state))
    assert statuses(instance, state) == [LoadStatus.FAILED_INTERRUPTED, LoadStatus.SUCCESS]


def test_a_load_that_cannot_even_be_recorded_is_tried_again_ever_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    instance, made = books_with(tmp_path, gl=SCHEDULED), tmp_path / "made"
    command = ["sh", "-c", f"echo x >> {made}; echo the disk is gone >&2; exit 3"]
    with at_work(daemon_of(instance, tmp_path / "state", MemoryLoads(), *command)):
        wait_for(lambda: made.exists() and made.read_text().count("x") >= 3)
    assert "gl: failed_interrupted: the disk is gone" in caplog.text
    assert "gl: starts, try 3 for the slot" in caplog.text


def test_a_load_that_cannot_be_started_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    instance = books_with(tmp_path, gl=SCHEDULED)
    with at_work(daemon_of(instance, tmp_path / "state", MemoryLoads(), str(tmp_path / "nothing"))):
        wait_for(lambda: "gl: starts, try 3 for the slot" in caplog.text)
    assert "gl: failed_interrupted: cannot be started: No such file or directory" in caplog.text


def test_a_load_that_does_not_end_when_it_is_told_to_is_killed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    instance, made = books_with(tmp_path, gl=SCHEDULED), tmp_path / "made"
    command = ["sh", "-c", f"trap '' TERM; echo x > {made}; while true; do sleep 0.1; done"]
    daemon = daemon_of(instance, tmp_path / "state", MemoryLoads(), *command)
    daemon.grace = 0.2
    with at_work(daemon):
        wait_for(made.exists)
    assert "gl did not end in 0 s and is killed" in caplog.text
    assert "gl: failed_interrupted: the load ended with exit status -9 and recorded nothing" in caplog.text


# ---------------------------------------------------------------------------------------- downtime and clocks


def test_a_daemon_that_was_down_for_months_loads_all_of_them_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    daily = {"load": "replace_periods", "file": "gl_{period}.csv", "recent_periods": 1, "schedule": "0 5 * * *"}
    instance, state = books_with(tmp_path, gl=daily), tmp_path / "state"
    for month in (1, 2, 3, 4):
        rows = f"date,scenario,account,amount\n2021-{month:02}-05,actual,10,{month}\n"
        (instance / "data" / f"gl_2021-{month:02}.csv").write_text(rows)
    answered = made("2021-01-10T05:00")
    with platform_of(instance, state) as opened:
        opened.loads.begin(replace(answered, status=LoadStatus.RUNNING))
        opened.loads.finish(answered)
        daemon = daemon_of(instance, state, opened.loads)
        daemon.now = lambda: datetime(2021, 4, 10, 9, tzinfo=UTC)
        assert daemon.run(once=True)
    assert "gl: starts for the slot of 2021-04-10 05:00:00 UTC, periods 2021-01..2021-04" in caplog.text
    loaded, _ = attempts(instance, state)
    assert (loaded.status, loaded.periods, loaded.rows_landed) == (LoadStatus.SUCCESS, "2021-01..2021-04", 4)
    assert loaded.due_at == datetime(2021, 4, 10, 5, tzinfo=UTC)


def test_a_file_that_is_written_otherwise_at_its_next_slot_is_refused_and_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    instance, state = books_with(tmp_path, gl={"schedule": "0 5 * * *"}), tmp_path / "state"
    path = instance / "data" / "gl.csv"
    with platform_of(instance, state) as opened:
        daemon = daemon_of(instance, state, opened.loads)
        for day, written in ((10, "2021-01-31"), (11, "01/31/2021")):
            path.write_text(f"date,scenario,account,amount\n{written},actual,10,5\n")
            daemon.now = partial(datetime, 2021, 4, day, 9, tzinfo=UTC)
            assert daemon.run(once=True) == (day == 10)
    says = 'gl.csv is written with dates: {format: "%m/%d/%Y"}: date, row 2'
    before = 'the last load was with dates: {format: "%Y-%m-%d"}'
    mend = "write the right one under gl in integrations.yaml, or have the file written as before"
    assert f"gl: failed_validate: {says}; {before}; {mend}" in caplog.text
    refused, first = attempts(instance, state)
    assert (first.status, refused.status) == (LoadStatus.SUCCESS, LoadStatus.FAILED_VALIDATE)
    assert current_version(state / "store") == 1


def made(slot: str) -> LoadAttempt:
    """Return an attempt that answered a slot, and succeeded."""
    at = datetime.fromisoformat(slot).replace(tzinfo=UTC)
    return LoadAttempt(
        load_id=f"made-{slot}",
        binding="gl",
        source="files",
        target="live.gl",
        mode=LoadMode.FULL,
        status=LoadStatus.SUCCESS,
        started_at=at,
        finished_at=at,
        due_at=at,
    )


def test_a_clock_that_is_set_back_makes_no_slot_run_twice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    instance, loads = books_with(tmp_path, gl={"schedule": "0 * * * *"}), MemoryLoads()
    for hour in (4, 5):
        loads.begin(made(f"2021-04-10T0{hour}:00"))
    daemon = daemon_of(instance, tmp_path / "state", loads, "false")
    clock = [datetime(2021, 4, 10, 4, 10, tzinfo=UTC)]  # an hour back
    daemon.now = lambda: clock[0]
    with at_work(daemon):
        wait_for(lambda: "gl: next load at 2021-04-10 05:00:00 UTC" in caplog.text)
        clock[0] = datetime(2021, 4, 10, 5, 10, tzinfo=UTC)
        wait_for(lambda: "gl: next load at 2021-04-10 06:00:00 UTC" in caplog.text)
    assert "starts" not in caplog.text
