"""The history of loads: one contract, held by every store that keeps it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.facts.load_modes import LoadMode
from engine.model.calendar.periods import Span
from server.base.interfaces import LoadHistory, LoadQuery
from server.feeds.feeds import LoadAttempt, LoadStatus
from server.stores.loads import PostgresLoadHistory
from server.stores.migrations import migrate, read_migrations
from server.stores.postgres import Database
from tests.support.engines.memory import MemoryLoads
from tests.support.engines.postgres import schema_of

NOON = datetime(2025, 9, 30, 12, 0, 0, 123456, tzinfo=UTC)
KINDS = ("memory", "embedded", "server")


@pytest.fixture(params=KINDS)
def loads(request: pytest.FixtureRequest) -> Iterator[LoadHistory]:
    """An empty history in each store."""
    if request.param == "memory":
        yield MemoryLoads()
        return
    uri = (
        request.getfixturevalue("embedded_server")
        if request.param == "embedded"
        else request.getfixturevalue("database_server").uri()
    )
    with schema_of(uri) as schema:
        migrate(schema, read_migrations(), lambda _: None)
        with closing(Database(schema)) as database:
            yield PostgresLoadHistory(database)


def attempt(load_id: str, binding: str = "gl", **other: object) -> LoadAttempt:
    """Return an attempt that has begun."""
    begun = LoadAttempt(
        load_id=load_id,
        binding=binding,
        source="erp",
        target="live.gl",
        mode=LoadMode.REPLACE_PERIODS,
        status=LoadStatus.RUNNING,
        started_at=NOON,
    )
    return replace(begun, **other)


def asked(*bindings: str, **other: Any) -> LoadQuery:
    """Return a question about some feeds, about gl where none is named."""
    return replace(LoadQuery(bindings=bindings or ("gl",)), **other)


def ids(found: Iterable[LoadAttempt]) -> list[str]:
    """Return the ids of attempts, in their order."""
    return [one.load_id for one in found]


def test_an_attempt_comes_back_as_it_was_recorded(loads: LoadHistory) -> None:
    begun = attempt("1", due_at=NOON - timedelta(minutes=3), periods="2025-09")
    loads.begin(begun)
    assert loads.get("1") == begun
    assert list(loads.running()) == [begun]
    ended = replace(
        begun,
        status=LoadStatus.FAILED_VALIDATE,
        finished_at=NOON + timedelta(seconds=2),
        span=Span(date(2025, 9, 1), date(2025, 9, 30)),
        rows_read=10_000_000_000,
        rows_landed=0,
        rows_rejected=3,
        message="3 of 10000000000 rows rejected, 0 allowed — “Écrou”",
        rejects_file="gl-1.csv",
        rejected={"amount is no number": 2, "Écrou is missing": 1},
    )
    loads.finish(ended)
    assert loads.get("1") == ended
    assert list(loads.find(asked())) == [ended]
    assert list(loads.running()) == []
    assert loads.get("2") is None


def test_an_attempt_begins_once_and_ends_once(loads: LoadHistory) -> None:
    loads.begin(attempt("1"))
    loads.begin(attempt("1", binding="people"))
    ended = attempt("1", status=LoadStatus.SUCCESS, finished_at=NOON)
    loads.finish(ended)
    loads.finish(replace(ended, status=LoadStatus.FAILED_INTERRUPTED))
    loads.begin(attempt("1"))
    assert loads.get("1") == ended
    loads.finish(attempt("never begun", status=LoadStatus.SUCCESS))
    assert loads.get("never begun") is None


def test_the_latest_to_begin_comes_first_whatever_the_clock_says(loads: LoadHistory) -> None:
    for number, hours in enumerate([0, -9, 5, -2]):  # a clock that is moved back, and forth
        loads.begin(attempt(str(number), started_at=NOON + timedelta(hours=hours)))
    loads.finish(attempt("0", status=LoadStatus.SUCCESS, finished_at=NOON + timedelta(days=1)))
    assert ids(loads.find(asked())) == ["3", "2", "1", "0"]
    assert ids(loads.find(asked(limit=2))) == ["3", "2"]
    assert ids(loads.running()) == ["1", "2", "3"]


def test_filters_hold_together(loads: LoadHistory) -> None:
    september, october = (Span(date(2025, month, 1), date(2025, month, 30)) for month in (9, 10))
    failed = tuple(status for status in LoadStatus if status.failed)
    for number, (binding, target, status, span) in enumerate(
        [
            ("gl", "live.gl", LoadStatus.SUCCESS, september),
            ("gl", "live.gl", LoadStatus.FAILED_STAGE, september),
            ("gl", "live.gl", LoadStatus.FAILED_CONNECT, None),
            ("gl", "live.gl", LoadStatus.FAILED_EXTRACT, october),
            ("old_gl", "live.gl", LoadStatus.FAILED_EXTRACT, september),
            ("people", "live.people", LoadStatus.RUNNING, None),
        ]
    ):
        loads.begin(attempt(str(number), binding, target=target, span=span))
        if status is not LoadStatus.RUNNING:
            loads.finish(attempt(str(number), binding, target=target, span=span, status=status, finished_at=NOON))
    everything = ("gl", "old_gl", "people")
    assert ids(loads.find(asked(*everything))) == ["5", "4", "3", "2", "1", "0"]
    assert ids(loads.find(asked(*everything, target="live.gl", statuses=failed))) == ["4", "3", "2", "1"]
    assert ids(loads.find(asked("gl", span=september))) == ["2", "1", "0"]  # 2 does not say which days it touched
    assert ids(loads.find(asked("gl", span=september, statuses=failed, limit=1))) == ["2"]
    edge = Span(date(2025, 9, 30), date(2025, 10, 1))
    assert ids(loads.find(asked("gl", span=edge))) == ["3", "2", "1", "0"]
    assert ids(loads.find(asked("gl", "gl", "nothing"))) == ["3", "2", "1", "0"]
    assert ids(loads.find(asked("gl", statuses=()))) == []
    assert ids(loads.find(LoadQuery(bindings=()))) == []


def test_of_a_feed_that_is_cut_only_the_days_asked_for_are_told(loads: LoadHistory) -> None:
    september, october = (Span(date(2025, month, 1), date(2025, month, 30)) for month in (9, 10))
    loads.begin(attempt("1", span=september, periods="2025-09"))
    loads.begin(attempt("2", span=september))  # the days of the rows that came
    loads.begin(attempt("3", "people", span=september))
    feeds = ("gl", "people")
    assert ids(loads.find(asked(*feeds, span=october))) == []
    assert ids(loads.find(asked(*feeds, span=october, cut=("gl",)))) == ["2"]
    assert ids(loads.find(asked(*feeds, span=september, cut=feeds))) == ["3", "2", "1"]


def test_the_last_attempt_of_each_feed(loads: LoadHistory) -> None:
    for number, (binding, status) in enumerate(
        [
            ("gl", LoadStatus.SUCCESS),
            ("people", LoadStatus.SUCCESS),
            ("gl", LoadStatus.SUCCESS),
            ("gl", LoadStatus.FAILED_CONNECT),
            ("sales", LoadStatus.FAILED_STAGE),
        ]
    ):
        loads.begin(attempt(str(number), binding, started_at=NOON - timedelta(hours=number)))
        loads.finish(attempt(str(number), binding, status=status, finished_at=NOON))
    feeds = ("gl", "sales", "nothing")
    assert set(ids(loads.latest(feeds, tuple(LoadStatus)))) == {"3", "4"}
    assert set(ids(loads.latest(feeds, (LoadStatus.SUCCESS,)))) == {"2"}
    assert ids(loads.latest((), tuple(LoadStatus))) == ids(loads.latest(feeds, ())) == []


def test_the_last_slot_that_a_feed_answered(loads: LoadHistory) -> None:
    assert loads.last_due("gl") is None
    in_paris = NOON.astimezone(timezone(timedelta(hours=2)))
    loads.begin(attempt("1", due_at=in_paris))
    loads.begin(attempt("2", due_at=NOON - timedelta(hours=1)))  # a retry of an earlier one
    loads.begin(attempt("3"))  # somebody started it
    loads.begin(attempt("4", "people", due_at=NOON + timedelta(hours=1)))
    assert loads.last_due("gl") == NOON


def test_texts_of_any_bytes_are_kept_as_well_as_can_be(loads: LoadHistory) -> None:
    loads.begin(attempt("1"))
    loads.finish(
        attempt("1", status=LoadStatus.FAILED_EXTRACT, message="'a\x00b\udcff' is no number", finished_at=NOON)
    )
    known = loads.get("1")
    assert known is not None
    message = known.message or ""
    assert message.startswith("'a")
    assert message.endswith("' is no number")
    for strange in ("\x00", "\ud800"):
        assert loads.get(strange) is None
        assert loads.last_due(strange) is None
        assert list(loads.find(LoadQuery(bindings=(strange,), target=strange))) == []


def test_attempts_that_begin_at_once_are_all_kept(loads: LoadHistory) -> None:
    def begin(worker: int) -> None:
        for number in range(10):
            loads.begin(attempt(f"{worker}-{number}", f"feed {worker}"))

    workers = [Thread(target=begin, args=(worker,)) for worker in range(12)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = ids(loads.find(asked(*(f"feed {worker}" for worker in range(12)), limit=200)))
    assert len(found) == len(set(found)) == 120
    for at in range(12):
        own = [one for one in found if one.startswith(f"{at}-")]
        assert own == [f"{at}-{number}" for number in reversed(range(10))]


DAYS = st.dates(date(2025, 1, 1), date(2025, 1, 9))
SPANS = st.none() | st.tuples(DAYS, DAYS).map(lambda days: Span(*sorted(days)))
FEEDS, TARGETS = st.sampled_from("abc"), st.sampled_from(("live.x", "live.y"))
TIMES = st.datetimes(datetime(2025, 1, 1), datetime(2025, 1, 2), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
ATTEMPTS = st.builds(
    attempt,
    st.sampled_from([str(number) for number in range(9)]),
    FEEDS,
    target=TARGETS,
    span=SPANS,
    periods=st.none() | st.just("2025-01"),
    due_at=st.none() | TIMES,
    started_at=TIMES,
)
STEPS = st.lists(st.tuples(ATTEMPTS, st.sampled_from(LoadStatus)), max_size=12)
QUESTIONS = st.builds(
    LoadQuery,
    bindings=st.sets(FEEDS),
    cut=st.sets(FEEDS),
    target=st.none() | TARGETS,
    span=SPANS,
    statuses=st.sets(st.sampled_from(LoadStatus)).map(tuple),
    limit=st.integers(1, 4),
)


@pytest.fixture(scope="module")
def emptied(embedded_server: str) -> Iterator[Callable[[], LoadHistory]]:
    """A history in a database, and how to empty it."""
    with schema_of(embedded_server) as schema:
        migrate(schema, read_migrations(), lambda _: None)
        with closing(Database(schema)) as database:

            def empty() -> LoadHistory:
                with database.transaction() as connection:
                    connection.execute("truncate load_attempts restart identity")
                return PostgresLoadHistory(database)

            yield empty


@given(steps=STEPS, questions=st.lists(QUESTIONS, min_size=1, max_size=3))
def test_the_database_answers_as_the_memory_does(
    emptied: Callable[[], LoadHistory], steps: list[tuple[LoadAttempt, LoadStatus]], questions: list[LoadQuery]
) -> None:
    kept, remembered = emptied(), MemoryLoads()
    for begun, status in steps:
        for loads in (kept, remembered):
            loads.begin(begun)
            if status is not LoadStatus.RUNNING:
                loads.finish(replace(begun, status=status, finished_at=NOON))
    for question in questions:
        assert list(kept.find(question)) == list(remembered.find(question))
        latest = [one.latest(question.bindings, question.statuses) for one in (kept, remembered)]
        assert sorted(latest[0], key=str) == sorted(latest[1], key=str)
    assert list(kept.running()) == list(remembered.running())
    for feed in "abc":
        assert kept.last_due(feed) == remembered.last_due(feed)
