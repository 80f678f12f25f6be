"""Load modes, end to end: what a load asks its source for, what it replaces, and what the history remembers of it."""

import shutil
import time
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from engine.door import open_books
from engine.facts.manifest import current_version
from engine.model.calendar.periods import Span
from server.base.interfaces import LoadQuery
from server.feeds.feeds import LoadAttempt, LoadStatus
from server.files import files
from server.files.rejects import LoadFailed
from server.ingest.folder import TargetBusy, lock_targets
from server.ingest.load import BindingFailed
from tests.support.books.loads import load_feeds
from tests.support.books.small import figures, write_instance
from tests.support.engines.memory import MemoryLoads

A = {"A": "actual"}
DOMAIN = """
    time: {column: date}
    dimensions: {account: account}
    measures: {amount: {places: 2}}
    metrics:
      revenue: {measure: amount}
"""
HEAD = "date,scenario,account,amount\n"
JANUARY = f"{HEAD}2021-01-05,actual,A,1\n2021-01-31,actual,A,2\n"
FEBRUARY = f"{HEAD}2021-02-01,actual,A,4\n"


def ledger(folder: Path, **feed: Any) -> Path:
    """Write an instance of one ledger that a feed loads from the files of its data folder."""
    instance = write_instance(
        folder / "small",
        facts={"gl": "date scenario account amount"},
        domains={"gl": DOMAIN},
        dimensions="account: {kind: leaf}",
        bindings={"gl": {"allow_empty": False, **feed}},
    )
    (instance / "data" / "gl.csv").unlink()
    return instance


def write(instance: Path, **files: str) -> None:
    """Write files of the data folder."""
    for name, text in files.items():
        (instance / "data" / f"{name}.csv").write_text(text)


def months(instance: Path, folder: Path) -> dict[Any, Decimal | None]:
    """Return what is loaded, month by month."""
    books = open_books(instance, state=folder / "state")
    by_month = books.metric("revenue", scenarios=A, period=("2021-01", "2021-03"), dimensions=["period"])
    return {month: figure for month, figure in figures(by_month, "period").items() if month and figure is not None}


def history(loads: MemoryLoads) -> list[LoadAttempt]:
    """Return the attempts, the latest first."""
    return list(loads.find(LoadQuery(bindings={"gl"})))


def test_periods_come_from_a_file_each_and_replace_themselves_alone(tmp_path: Path) -> None:
    instance, state, loads = (
        ledger(tmp_path, file="gl_{period}.csv", load="replace_periods"),
        tmp_path / "state",
        MemoryLoads(),
    )
    write(instance, **{"gl_2021-01": JANUARY, "gl_2021-02": FEBRUARY})
    load_feeds(instance, state, loads=loads, periods="2021-01..2021-02")
    write(instance, **{"gl_2021-01": f"{HEAD}2021-01-06,actual,A,100\n", "gl_2021-02": "is not read"})
    load_feeds(instance, state, loads=loads, periods="2021-01")
    assert months(instance, tmp_path) == {"2021-01": 100, "2021-02": 4}
    latest, first = history(loads)
    assert (first.periods, first.rows_landed, latest.periods, latest.rows_landed) == (
        "2021-01..2021-02",
        3,
        "2021-01",
        1,
    )
    assert (latest.status, latest.span) == (LoadStatus.SUCCESS, Span(date(2021, 1, 1), date(2021, 1, 31)))


def test_a_period_without_its_file_fails_and_nothing_changes(tmp_path: Path) -> None:
    instance, state = ledger(tmp_path, file="gl_{period}.csv", load="replace_periods"), tmp_path / "state"
    write(instance, **{"gl_2021-01": JANUARY})
    load_feeds(instance, state, periods="2021-01")
    with pytest.raises(BindingFailed, match=r"no file of source files matches gl_2021-02\.csv") as failed:
        load_feeds(instance, state, periods="2021-01..2021-02")
    assert failed.value.status is LoadStatus.FAILED_EXTRACT
    assert months(instance, tmp_path) == {"2021-01": 3}


def test_rows_outside_the_periods_asked_for_are_rejected(tmp_path: Path) -> None:
    instance, state = ledger(tmp_path, file="gl.csv", load="replace_periods", rejects={"allow": 1}), tmp_path / "state"
    write(instance, gl=JANUARY + "2021-02-01,actual,A,4\n")
    (done,) = load_feeds(instance, state, periods="2021-01")
    assert (done.rows_read, done.rows_landed) == (3, 2)
    assert done.rejects.rows() == [("gl.csv", 4, "date", "2021-02-01", "is outside the periods asked for, Jan 2021")]
    assert months(instance, tmp_path) == {"2021-01": 3}


def test_a_column_of_the_extract_may_say_the_period(tmp_path: Path) -> None:
    feed = {"file": "gl.csv", "load": "replace_periods", "period_column": "booked", "rejects": {"allow": 1}}
    instance, state = ledger(tmp_path, **feed), tmp_path / "state"
    write(
        instance,
        gl="date,booked,scenario,account,amount\n2021-01-05,2021-01,actual,A,1\n2021-01-31,2021-02,actual,A,2\n",
    )
    (done,) = load_feeds(instance, state, periods="2021-01")
    assert done.rejects.rows() == [("gl.csv", 3, "booked", "2021-02", "is outside the periods asked for, Jan 2021")]


def test_a_period_that_came_back_empty_is_emptied_only_beside_others_or_where_it_may_be(tmp_path: Path) -> None:
    instance, state = ledger(tmp_path, file="gl_{period}.csv", load="replace_periods"), tmp_path / "state"
    write(instance, **{"gl_2021-01": JANUARY, "gl_2021-02": FEBRUARY})
    load_feeds(instance, state, periods="2021-01..2021-02")
    write(instance, **{"gl_2021-01": HEAD})
    with pytest.raises(BindingFailed, match="not one row came back"):
        load_feeds(instance, state, periods="2021-01")
    load_feeds(instance, state, periods="2021-01..2021-02")
    assert months(instance, tmp_path) == {"2021-02": 4}


def test_files_are_appended_as_they_come_and_each_once(tmp_path: Path) -> None:
    instance, state, loads = ledger(tmp_path, file="*.csv", load="append"), tmp_path / "state", MemoryLoads()
    write(instance, january=JANUARY)
    load_feeds(instance, state, loads=loads)
    write(instance, february=FEBRUARY)
    load_feeds(instance, state, loads=loads)
    version = current_version(state / "store")
    load_feeds(instance, state, loads=loads)
    assert months(instance, tmp_path) == {"2021-01": 3, "2021-02": 4}
    assert [(attempt.status, attempt.rows_read, attempt.rows_landed) for attempt in history(loads)] == [
        (LoadStatus.SUCCESS, 3, 0),
        (LoadStatus.SUCCESS, 3, 1),
        (LoadStatus.SUCCESS, 2, 2),
    ]
    assert current_version(state / "store") == version


def test_t69_the_same_file_loaded_twice_is_there_once(tmp_path: Path) -> None:
    for mode in ("full", "append"):
        instance, state = ledger(tmp_path / mode, file="gl.csv", load=mode), tmp_path / mode / "state"
        write(instance, gl=f"{HEAD}2021-01-05,actual,A,10\n2021-01-06,actual,A,20\n2021-01-07,actual,A,30\n")
        for _ in range(2):
            load_feeds(instance, state)
        assert months(instance, tmp_path / mode) == {"2021-01": 60}


@pytest.mark.parametrize(
    ("later", "ends"),
    [
        (None, "would load the others"),
        (f"{HEAD}2021-02-01,actual,A,x\n", "read so far; later rows were not read, and may need a larger allowance"),
        ("another,table\n1,2\n", "read so far; later rows were not read, and may need a larger allowance"),
        ("", "read so far; later rows were not read, and may need a larger allowance"),
    ],
)
def test_rejected_rows_are_said_to_be_all_only_if_every_row_was_read(
    tmp_path: Path, later: str | None, ends: str
) -> None:
    instance = ledger(tmp_path, file="*.csv")
    write(
        instance, a=f"{HEAD}2021-01-05,actual,A,x\n2021-01-06,actual,A,1\n", **({} if later is None else {"b": later})
    )
    with pytest.raises(BindingFailed, match=f"1 of 2 rows rejected, 0 allowed.*{ends}$"):
        load_feeds(instance, tmp_path / "state")


def test_periods_are_refused_where_a_feed_is_loaded_whole(tmp_path: Path) -> None:
    instance = ledger(tmp_path, file="gl.csv")
    write(instance, gl=JANUARY)
    with pytest.raises(BindingFailed, match="only feeds with load: replace_periods take periods"):
        load_feeds(instance, tmp_path / "state", periods="2021-01")


REJECTED = "1 of 2 rows rejected, 0 allowed: 1 amount is no number; rejects: {allow: {number: 1}} would load the others"


def test_a_failed_attempt_is_remembered_with_its_rows_and_its_report(tmp_path: Path) -> None:
    instance, state, loads = ledger(tmp_path, file="gl.csv"), tmp_path / "state", MemoryLoads()
    write(instance, gl=f"{HEAD}2021-01-05,actual,A,ten\n2021-01-05,actual,A,1\n")
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, state, loads=loads)
    (attempt,) = history(loads)
    assert (attempt.status, attempt.rows_read, attempt.rows_rejected) == (LoadStatus.FAILED_VALIDATE, 2, 1)
    assert attempt.rows_landed == 0, "a load that fails publishes nothing, and says so"
    assert (attempt.load_id, attempt.message) == (failed.value.load_id, REJECTED)
    assert attempt.finished_at is not None
    assert attempt.rejected == {"amount is no number": 1}
    assert "ten" not in f"{attempt.message} {attempt.rejected}"
    assert "gl.csv,2,amount,ten,is no number" in (state / "rejects" / str(attempt.rejects_file)).read_text()


def test_feeds_that_were_loaded_together_fail_together(tmp_path: Path) -> None:
    instance, state, loads = ledger(tmp_path, file="gl.csv"), tmp_path / "state", MemoryLoads()
    text = (instance / "integrations.yaml").read_text()
    (instance / "integrations.yaml").write_text(
        text.replace("bindings:", "bindings:\n  rest: {source: files, target: live.gl, file: rest.csv}")
    )
    write(instance, gl=JANUARY)
    with pytest.raises(BindingFailed, match=r"no file of source files matches rest\.csv"):
        load_feeds(instance, state, loads=loads)
    found = {attempt.binding: attempt for attempt in loads.find(LoadQuery(bindings={"gl", "rest"}))}
    assert found["rest"].status is LoadStatus.FAILED_EXTRACT
    assert (found["gl"].status, found["gl"].message) == (
        LoadStatus.FAILED_PUBLISH,
        "nothing was published, because rest failed",
    )
    assert current_version(state / "store") == 0


def test_one_load_of_a_table_at_a_time(tmp_path: Path) -> None:
    instance, state, loads = ledger(tmp_path, file="gl.csv"), tmp_path / "state", MemoryLoads()
    write(instance, gl=JANUARY)
    with (
        lock_targets(state, {"live.gl"}),
        pytest.raises(TargetBusy, match=r"another load of live\.gl is under way \(process \d+\)"),
    ):
        load_feeds(instance, state, loads=loads)
    assert history(loads) == []  # it never began
    with lock_targets(state, {"live.other"}):
        load_feeds(instance, state, loads=loads)
    assert not (state / "spool" / "live.gl").exists()


def test_an_attempt_that_was_killed_is_settled_by_what_was_published(tmp_path: Path) -> None:
    instance, state, loads = ledger(tmp_path, file="gl.csv"), tmp_path / "state", MemoryLoads()
    write(instance, gl=JANUARY)
    load_feeds(instance, state, loads=loads)
    (done,) = history(loads)
    forgetful = MemoryLoads()  # as the database is where the loader was killed after it published, and before that
    for load_id in ("killed-before", done.load_id):
        forgetful.begin(
            LoadAttempt(**{**asdict(done), "load_id": load_id, "status": LoadStatus.RUNNING, "rows_landed": None})
        )
    shutil.rmtree(instance / "data")
    with pytest.raises(BindingFailed):
        load_feeds(instance, state, loads=forgetful)
    _, published, killed = history(forgetful)
    assert (published.status, published.rows_landed, published.rows_read) == (LoadStatus.SUCCESS, 2, 2)
    assert (killed.status, killed.rows_landed) == (LoadStatus.FAILED_INTERRUPTED, 0)
    assert "nothing changed" in str(killed.message)


def test_a_file_that_is_being_written_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance, state = ledger(tmp_path, file="gl.csv"), tmp_path / "state"
    write(instance, gl=f"{HEAD}2021-01-05,actual,A,10\n2021-01-06,actual,A,2")  # of 2000.00
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 2:
            with (instance / "data" / "gl.csv").open("a") as file:
                file.write("000.00")

    monkeypatch.setattr(files.await_rest, "__defaults__", (time.time, rest))
    load_feeds(instance, state)
    assert rests == [5.0], "two looks that find the same size and time"
    assert months(instance, tmp_path) == {"2021-01": 12}
    write(instance, gl=f"{HEAD}2021-01-05,actual,A,10\n2021-01-06,actual,A,2")
    rests[:] = [5.0]
    load_feeds(instance, state)
    assert rests == [5.0] * 3, "it grew between the first two looks"
    assert months(instance, tmp_path) == {"2021-01": 2010}


def test_a_file_that_does_not_stop_growing_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "gl.csv"
    path.write_text("a")

    def grow(_: float) -> None:
        with path.open("a") as file:
            file.write("a")

    with pytest.raises(LoadFailed, match="still grows after 10 minutes; load again when it is whole"):
        files.await_rest(path, time.time, grow)
    assert path.stat().st_size == 121


@pytest.mark.parametrize(
    ("name", "content", "waits"),
    [
        ("a.csv", b"a,b\n1,2\n", False),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), False),
        ("a.csv", b"a,b\n1,2", True),
        ("a.xlsx", b"PK\x03\x04", True),
        ("a.xlsx", b"PK\x03\x04..PK\x05\x06..", False),
        ("a.parquet", b"PAR1..", False),
        ("a.arrow", b"ARROW", True),
    ],
)
def test_a_file_without_its_end_is_being_written(tmp_path: Path, name: str, content: bytes, waits: bool) -> None:
    (tmp_path / name).write_bytes(content)
    rests: list[float] = []
    files.await_rest(tmp_path / name, time.time, rests.append)
    assert bool(rests) is waits
    rests.clear()
    files.await_rest(tmp_path / name, lambda: time.time() + 61, rests.append)
    assert not rests, "one that nobody has written to for a minute is whole"
