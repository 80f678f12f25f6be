"""Windows of values that do not add up: counted before any amount is read, refused beyond what one report reads."""

from datetime import date, timedelta
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.requests import ColumnRequest, MetricRequest
from engine.plans import report_size, window_size
from engine.plans.figures import plan_metrics
from engine.plans.report_size import ReportSize
from engine.queries.reports import metric_query
from engine.report.run import run
from server.http.dispatch import LARGE_BYTES
from tests.support.leaving import ClientGone
from tests.support.small import small_books

DAYS = [date(2021, 1, 1) + timedelta(at) for at in range(31)]
ROWS = [(day, f"C{(3 * at + more) % 11}", f"P{more}") for at, day in enumerate(DAYS) for more in range(1 + at % 3)]
TOLD = "\n".join(f"{day} actual {customer} {product} 1.50" for day, customer, product in ROWS)
DOMAIN = """
time: {column: date}
dimensions: {customer: customer, product: product}
measures: {amount: {places: 2}}
metrics:
  buyers: {over_members: {count_distinct: customer}}
  owed: {measure: amount, over_time: {last_known: always}}
  smallest: {measure: amount, over_members: min}
"""
JANUARY = ("2021-01-01", "2021-01-31")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Sales of a month, a few a day."""
    dimensions = "customer: {kind: leaf}\nproduct: {kind: leaf}\ndate: {kind: leaf, grain: date}\n"
    facts = f"date scenario customer product amount\n{TOLD}"
    domains = {"gl": DOMAIN}
    return small_books(tmp_path_factory.mktemp("windows"), facts={"gl": facts}, domains=domains, dimensions=dimensions)


def ask(books: Door, metric: str, reference: str, *dimensions: str) -> list[Any]:
    """Return the figures of a metric by day and perhaps by members."""
    asked = books.metric(metric, scenarios={"A": reference}, period=JANUARY, dimensions=[*dimensions, "date"])
    return list(asked.figures)


def members_in_windows(*columns: int) -> int:
    """Return how many members the windows of the year to each day put together; the total reads that of the last."""
    return sum(
        len({tuple(row[at] for at in columns) for row in ROWS if row[0] == day}) * (32 - at)
        for at, day in enumerate(DAYS)
    )


LEAVES = len({(customer, product) for _, customer, product in ROWS})


@pytest.mark.parametrize(
    ("metric", "reference", "dimensions", "bound", "held"),
    [
        ("buyers", "actual@ltm", (), "MOST_COMBINED", members_in_windows(1)),
        ("buyers", "actual@ltm", ("product",), "MOST_COMBINED", 2 * members_in_windows(1, 2)),  # and the totals of days
        ("smallest", "actual@ltm", ("customer",), "MOST_COMBINED", 2 * members_in_windows(1)),
        ("owed", "actual", (), "MOST_LAST_KNOWN", 32 * LEAVES),  # each day and the month
    ],
)
def test_windows_that_read_more_values_than_one_report_reads_are_refused_unread(
    books: Door,
    monkeypatch: pytest.MonkeyPatch,
    metric: str,
    reference: str,
    dimensions: tuple[str, ...],
    bound: str,
    held: int,
) -> None:
    monkeypatch.setattr(window_size, bound, held)
    ask(books, metric, reference, *dimensions)
    monkeypatch.setattr(window_size, bound, held - 1)
    with pytest.raises(BadArguments) as refused:
        ask(books, metric, reference, *dimensions)
    told = str(refused.value.as_data()["error"])
    assert f"would read {held:,} " in told
    assert "break down by longer periods than date" in told
    assert "choose a shorter range" in told


def test_windows_that_do_not_overlap_and_sums_are_not_counted(books: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_size, "MOST_COMBINED", 32 * 2 * 12 * 12)  # each day in two windows, of all members
    monkeypatch.setattr(window_size, "members_held", None)
    assert len(ask(books, "buyers", "actual", "product")) == 1


@pytest.mark.parametrize("metric", ["buyers", "smallest", "owed"])
def test_a_count_of_what_windows_read_is_admitted_before_it_reads(
    books: Door, monkeypatch: pytest.MonkeyPatch, metric: str
) -> None:
    monkeypatch.setattr(window_size, "MOST_COMBINED", 10)
    monkeypatch.setattr(window_size, "MOST_LAST_KNOWN", 10)
    monkeypatch.setattr(report_size, "values_in_windows", None)
    sizes: list[ReportSize] = []

    def refuse(size: ReportSize) -> None:
        sizes.append(size)
        raise ClientGone

    columns = (ColumnRequest(scenario="actual@ltm", alias="A"),)
    first, last = JANUARY
    asked = MetricRequest(
        metrics=(metric,), scenarios=columns, period_start=first, period_end=last, dimensions=("customer", "date")
    )
    plan = plan_metrics(metric_query(asked, books.reader), books.reader)
    with pytest.raises(ClientGone):
        run(plan, admit=refuse)
    assert [size.bytes > LARGE_BYTES for size in sizes] == [True]
