"""Planning: a plan asks where there are rows, then reads nothing until its questions are collected together."""

from pathlib import Path

import pytest

from engine.books.books import Shelf
from engine.books.reader import Reader
from engine.model.profiles import EVERYONE, Grant, Profile
from engine.model.requests import ColumnRequest, MetricRequest, RowsRequest
from engine.model.scope import Cut
from engine.notes.currency_notes import currency_reads
from engine.plans.figures import plan_metrics
from engine.plans.plan_reads import PlanReads
from engine.plans.row_plan import plan_rows
from engine.queries.reports import metric_query
from engine.queries.rows import row_query
from engine.report.inspection import inspect
from engine.report.run import run
from server.feeds.instance import read_instance
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.engines.watched import WatchedStore

FACTS = """
    date        scenario  account  centre  amount
    2023-12-31  actual    4000     north   3
    2024-01-05  actual    4000     north   100.10
    2024-02-29  actual    -        south   1.5
    2024-01-31  budget    4000     north   90
"""
GL = """
    time: {column: date}
    dimensions: {account: account, centre: centre}
    inspect_enabled: true
    measures: {amount: {places: 2, currency: centre}}
    metrics:
      revenue: {measure: amount}
      largest: {measure: amount, over_members: max}
      centres: {over_members: {count_distinct: centre}}
      close: {measure: amount, over_time: closing}
      open: {measure: amount, over_time: opening}
      known: {measure: amount, over_time: {last_known: always}}
      mean: {measure: amount, over_time: {average: {of: month}}}
      moved: {measure: amount, over_time: {to_date: books}}
"""
METRICS = ("revenue", "largest", "centres", "close", "open", "known", "mean", "moved")
SCENARIOS = ("actual", "budget", "actual@py", "var(actual,budget)")


@pytest.fixture
def store(tmp_path: Path) -> WatchedStore:
    """A store that fails when it is asked anything while `tell` says so."""
    dimensions = "account: {kind: leaf}\ncentre: {kind: leaf}\n"
    folder = write_instance(tmp_path / "small", facts={"gl": FACTS}, domains={"gl": GL}, dimensions=dimensions)
    load_instance(folder, tmp_path / "state")
    books = Shelf(read_instance(folder).catalogue, tmp_path / "state" / "store").current()
    watched = WatchedStore(books.facts, lambda _: None)
    books.facts = watched
    watched.reader = Reader(books, [EVERYONE])
    return watched


def refuse(question: object) -> None:
    """Fail: a plan reads."""
    raise AssertionError(question)


@pytest.mark.parametrize("by", [(), ("account",), ("centre", "period")])
def test_a_report_is_planned_without_reading_and_collected_at_once(store: WatchedStore, by: tuple[str, ...]) -> None:
    asked = MetricRequest(
        metrics=METRICS,
        scenarios=tuple(ColumnRequest(scenario=scenario, alias=scenario) for scenario in SCENARIOS),
        period_start="2024",
        period_end="2024",
        dimensions=by,
        filters={},
    )
    plan = plan_metrics(metric_query(asked, store.reader), store.reader)
    assert plan.figures.presences.seen.known
    assert len(plan.figures.axes) == len({*by} - {"period"})  # which members are visible is known beforehand, too
    store.tell = refuse
    reads = [read for batch in plan.figures.batches for read in batch.reads]
    reads += [read for known in currency_reads(plan.figures) for read in known.reads]
    told: list[object] = []
    store.tell = told.append
    run(plan)
    assert len(told) == len(reads)  # all of them in one collect, and nothing else


@pytest.mark.parametrize("metric", [None, *METRICS])
def test_rows_are_planned_without_reading(store: WatchedStore, metric: str | None) -> None:
    request = RowsRequest(
        source_key="gl",
        scenario_id="actual",
        filters={"metric": (metric,)} if metric else {},
        columns=None,
        limit=5,
        period_start="2024",
        period_end="2024",
    )
    query = row_query(request, store.reader, 100)
    plan = plan_rows(query, store.reader)
    assert plan is not None
    store.tell = refuse
    assert plan.last_reads or [plan.read(part, 5) for part in plan.parts([])]
    assert metric is None or [batch.reads for batch in plan.batches]
    store.tell = lambda _: None
    assert inspect(query, store.reader).rows


def test_what_a_plan_reads_is_found_once_whatever_the_days_and_apart_for_who_sees_other_rows(
    store: WatchedStore,
) -> None:
    part = Grant(dimensions=(Cut("centre", ("north",)),))
    north = Reader(store.reader._books, [Profile(key="north", grants=(("*", part),))])

    def reads(month: str, reader: Reader, *dimensions: str) -> PlanReads:
        asked = MetricRequest(
            metrics=METRICS[:2],
            formulas={"share": "revenue / largest"},
            scenarios=(ColumnRequest(scenario="actual", alias="A"),),
            period_start=month,
            period_end=month,
            dimensions=dimensions,
            filters={},
        )
        return plan_metrics(metric_query(asked, reader), reader).figures.reads

    first = reads("2024-01", store.reader)
    assert reads("2024-02", store.reader) is first
    assert reads("2024-01", store.reader, "account") is not first
    assert reads("2024-01", north) is not first
    assert reads("2024-01", north) is reads("2024-02", north)
