"""Windows of values that do not add up: counted before any amount is read, refused beyond what one report reads."""

import subprocess
import sys
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from engine.model.requests import ColumnRequest, MetricRequest
from engine.plans import report_size, window_size
from engine.plans.figures import MetricPlan, plan_metrics
from engine.plans.report_size import ReportSize
from engine.queries.reports import metric_query
from engine.report.run import run
from server.http.dispatch import LARGE_BYTES
from tests.support.books.loads import ROOT
from tests.support.books.small import small_books
from tests.support.service.leavers import ClientGone

DAYS = [date(2021, 1, 1) + timedelta(at) for at in range(31)]
ROWS = [(day, f"C{(3 * at + more) % 11}", f"P{more}") for at, day in enumerate(DAYS) for more in range(1 + at % 3)]
TOLD = "\n".join(f"{day} actual {customer} {product} 1.50" for day, customer, product in ROWS)
DOMAIN = """
time: {column: date}
dimensions: {customer: customer, product: product}
measures: {amount: {places: 2}}
balances: {each: {grain: day}}
metrics:
  buyers: {over_members: {count_distinct: customer}}
  owed: {measure: amount, over_time: {last_known: always}}
  smallest: {measure: amount, over_members: min}
  amounts: {measure: amount}
"""
DIMENSIONS = "customer: {kind: leaf}\nproduct: {kind: leaf}\ndate: {kind: leaf, grain: date}\n"
JANUARY = ("2021-01-01", "2021-01-31")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Sales of a month, a few a day."""
    facts = f"date scenario customer product amount\n{TOLD}"
    domains = {"gl": DOMAIN}
    return small_books(tmp_path_factory.mktemp("windows"), facts={"gl": facts}, domains=domains, dimensions=DIMENSIONS)


def ask(books: Door, metric: str, reference: str, *dimensions: str) -> list[Any]:
    """Return the figures of a metric by day and perhaps by members."""
    asked = books.metric(metric, scenarios={"A": reference}, period=JANUARY, dimensions=[*dimensions, "date"])
    return list(asked.figures)


def plan_of(
    books: Door, metric: str, reference: str, *dimensions: str, period: tuple[str, str] = JANUARY
) -> MetricPlan:
    """Return the plan of a metric."""
    columns, (first, last) = (ColumnRequest(scenario=reference, alias="A"),), period
    asked = MetricRequest(
        metrics=(metric,), scenarios=columns, period_start=first, period_end=last, dimensions=dimensions
    )
    return plan_metrics(metric_query(asked, books.reader), books.reader)


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
        ("smallest", "actual@ltm", ("customer",), "MOST_COMBINED", 2 * members_in_windows(1)),
        ("owed", "actual", (), "MAX_LAST_KNOWN", 32 * LEAVES),  # each day and the month
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


def test_last_known_values_that_a_blend_compares_have_a_bound_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blend = "actual: {alias: Actuals, kind: actual, closed_through: 2021-01}\nforecast: {alias: F, kind: forecast}\n"
    books = small_books(
        tmp_path,
        facts={"gl": "date scenario customer product amount\n2021-01-20 actual C1 P1 3\n2021-02-10 forecast C2 P1 4"},
        domains={"gl": DOMAIN},
        dimensions=DIMENSIONS,
        scenarios=blend,
    )
    asked: dict[str, Any] = {
        "scenarios": {"A": "actual+forecast"},
        "period": ("2021-01-20", "2021-02-10"),
        "dimensions": ["date"],
    }
    monkeypatch.setattr(window_size, "MAX_COMPARED", 2 * 23)  # two leaves in each day and in the range
    monkeypatch.setattr(window_size, "MAX_LAST_KNOWN", 1)
    books.metric("owed", **asked)
    monkeypatch.setattr(window_size, "MAX_COMPARED", 2 * 23 - 1)
    with pytest.raises(BadArguments, match="would read 46 last known values, more than the 45 that"):
        books.metric("owed", **asked)


@pytest.mark.parametrize("dimensions", [(), ("product",)])
def test_members_of_windows_are_not_bounded_by_how_many_windows_read_them(
    books: Door, monkeypatch: pytest.MonkeyPatch, dimensions: tuple[str, ...]
) -> None:
    monkeypatch.setattr(window_size, "MOST_COMBINED", 0)
    found = ask(books, "buyers", "actual@ltm", *dimensions)[0][0]
    expected = [len({customer for held, customer, _ in ROWS if held <= day}) for day in DAYS]
    assert dimensions or [figure.numerator for figure in found] == [*expected, expected[-1]]


def test_combinations_of_members_that_are_counted_are_too_many_as_those_of_sums_are(
    books: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_size, "COUNTED", 1)
    for metric in ("buyers", "amounts"):
        plan = plan_of(books, metric, "actual", "customer").figures
        assert report_size.report_size(plan).places == 12
        with pytest.raises(BadArguments, match="more than 11 combinations"):
            report_size.report_size(plan, most_groups=11)


def test_members_are_counted_from_rows_before_they_are_read(books: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_size, "FEW_MEMBERS", 10)
    admitted: list[ReportSize] = []
    plan = plan_of(books, "buyers", "actual@ltm", "product", "date").figures
    assert report_size.report_size(plan, admit=admitted.append).members == len(ROWS)
    assert [size.counted > 0 for size in admitted] == [True]
    filtered = books.metric(
        "buyers", scenarios={"A": "actual"}, period=JANUARY, dimensions=["date"], filters={"product": ["P0"]}
    )
    assert filtered.figures[0][0][-1] == Exact(len({customer for _, customer, product in ROWS if product == "P0"}), 1)


def test_windows_that_do_not_overlap_and_sums_are_not_counted(books: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_size, "MOST_COMBINED", 32 * 2 * 12 * 12)  # each day in two windows, of all members
    monkeypatch.setattr(window_size, "members_held", None)
    assert len(ask(books, "smallest", "actual", "product")) == 1


@pytest.mark.parametrize("metric", ["smallest", "owed"])
def test_a_count_of_what_windows_read_is_admitted_before_it_reads(
    books: Door, monkeypatch: pytest.MonkeyPatch, metric: str
) -> None:
    monkeypatch.setattr(window_size, "MOST_COMBINED", 10)
    monkeypatch.setattr(window_size, "MAX_LAST_KNOWN", 10)
    monkeypatch.setattr(report_size, "values_in_windows", None)
    sizes: list[ReportSize] = []

    def refuse(size: ReportSize) -> None:
        sizes.append(size)
        raise ClientGone

    plan = plan_of(books, metric, "actual@ltm", "customer", "date")
    with pytest.raises(ClientGone):
        run(plan, admit=refuse)
    assert [size.bytes > LARGE_BYTES for size in sizes] == [True]


@pytest.mark.parametrize(
    ("metric", "reference", "least"),
    [
        ("buyers", "actual@ltm", 0),
        ("smallest", "actual@ltm", len(DAYS) * (len(DAYS) + 1) // 2),
        ("owed", "actual", 32 * LEAVES),
        ("amounts", "actual@ltm", 0),
    ],
)
def test_values_that_windows_put_together_count_towards_the_size_of_a_report(
    books: Door, monkeypatch: pytest.MonkeyPatch, metric: str, reference: str, least: int
) -> None:
    plan = plan_of(books, metric, reference, "date").figures
    assert least <= report_size.report_size(plan).values <= 100 * least
    monkeypatch.setattr(report_size, "MAX_UNCOUNTED", 10)
    assert report_size.report_size(plan).values == min(least, 10)


def test_last_known_values_of_a_month_do_not_count(books: Door) -> None:
    assert report_size.report_size(plan_of(books, "owed", "actual").figures).values == 0


def test_last_known_values_by_day_are_those_of_plain_python(books: Door) -> None:
    ((found,),) = ask(books, "owed", "actual")
    expected = []
    for day in DAYS:
        known = {(customer, product): held for held, customer, product in ROWS if held <= day}  # of the last day
        expected.append(Decimal("1.50") * len(known))
    assert [Decimal(figure.numerator) / figure.denominator for figure in found] == [*expected, expected[-1]]


PEAK = """
import re, sys
from pathlib import Path
from tests.spec.test_window_size import year_of_buyers
from engine.plans.report_size import report_size
from engine.report.run import run

def memory(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) << 10

plan = year_of_buyers(Path(sys.argv[1]))
Path("/proc/self/clear_refs").write_text("5")
before = memory("VmRSS")
run(plan)
print(memory("VmHWM") - before, report_size(plan.figures).bytes)
"""


def year_of_buyers(folder: Path) -> MetricPlan:
    """Return the plan of the buyers of each year to a day, of whom there are 500 a day among 20,000."""
    days = [date(2021, 1, 1) + timedelta(at) for at in range(365)]
    drawn = Random(1)
    told = "\n".join(f"{day} actual C{drawn.randrange(20_000)} P1 1.50" for day in days for _ in range(500))
    facts = {"gl": f"date scenario customer product amount\n{told}"}
    door = small_books(folder, facts=facts, domains={"gl": DOMAIN}, dimensions=DIMENSIONS)
    return plan_of(door, "buyers", "actual@ltm", "date", period=("2021-01-01", "2021-12-31"))


def test_windows_take_no_more_memory_than_the_size_of_their_report_says(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PEAK, str(tmp_path)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    taken, said = map(int, told.split())
    assert 5_000_000 < taken <= said
