"""Memos of amounts by month: what is read once, what is read anew, and for whom."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from engine.books import books as books_module
from engine.books.books import MEMBER_BYTES, Shelf
from engine.door import Door
from engine.model.exact import Exact
from engine.model.profiles import EVERYONE
from engine.model.requests import ColumnRequest, MetricRequest
from engine.plans import measure
from engine.plans.figures import FigurePlan, plan_metrics
from engine.plans.measure import MOST_MEMOISED
from engine.queries.reports import metric_query
from engine.report.report import Report
from server.feeds.instance import read_instance

ACTUAL = {"Actuals": "actual"}


@pytest.fixture
def shelf(demo_folder: Path) -> Shelf:
    """The demo's books, opened anew."""
    return Shelf(read_instance(demo_folder).catalogue, demo_folder / ".tieout" / "store")


@pytest.fixture
def books(shelf: Shelf) -> Door:
    """The same books as everyone sees them."""
    return Door(shelf, EVERYONE)


@pytest.fixture
def collects(monkeypatch: pytest.MonkeyPatch) -> list[pl.DataFrame]:
    """The frames that are collected."""
    found: list[pl.DataFrame] = []
    collect = pl.LazyFrame.collect

    def noting(frame: pl.LazyFrame, **options: Any) -> Any:
        found.append(collect(frame, **options))
        return found[-1]

    monkeypatch.setattr(pl.LazyFrame, "collect", noting)
    return found


def sales(books: Door, first: str, last: str, by: Sequence[str] = ()) -> Report:
    """Return the sales of a range of periods."""
    return books.metric("sales_amount", scenarios=ACTUAL, period=(first, last), dimensions=by)


def cents(folder: Path, where: str) -> Exact:
    """Return the sales of some rows, as DuckDB sums them."""
    query = f"select sum(amount * 100)::bigint from '{folder}/data/sales/*.parquet' where {where}"  # noqa: S608 - our own
    ((found,),) = duckdb.execute(query).fetchall()
    return Exact(found, 100)


def actual(first: str, last: str) -> str:
    """Return the condition of the actual sales of some days."""
    return f"scenario = 'actual' and date between '{first}' and '{last}'"


def total(report: Report) -> Any:
    """Return the total of the only line and column."""
    return report.figures[0][0][-1]


def test_another_range_reads_the_months_that_no_range_has_read(
    books: Door, demo_folder: Path, collects: list[pl.DataFrame]
) -> None:
    first = total(sales(books, "2025-01", "2025-03"))
    assert first == cents(demo_folder, actual("2025-01-01", "2025-03-31"))
    assert [frame.height for frame in collects] == [3]
    assert total(sales(books, "2024-11", "2025-08")) == cents(demo_folder, actual("2024-11-01", "2025-08-31"))
    assert [frame.height for frame in collects] == [3, 7]
    assert total(sales(books, "2024-Q4", "2025-Q1")) == cents(demo_folder, actual("2024-10-01", "2025-03-31"))
    assert [frame.height for frame in collects] == [3, 7, 1]
    assert total(sales(books, "2025-02", "2025-07")) == cents(demo_folder, actual("2025-02-01", "2025-07-31"))
    assert total(sales(books, "2025-01", "2025-03")) == first
    assert [frame.height for frame in collects] == [3, 7, 1]


def test_a_range_that_cuts_a_month_is_read(books: Door, demo_folder: Path, collects: list[pl.DataFrame]) -> None:
    sales(books, "2025-01", "2025-03")
    read = len(collects)
    assert total(sales(books, "2025-01-01", "2025-03-30")) == cents(demo_folder, actual("2025-01-01", "2025-03-30"))
    assert len(collects) > read


def test_profiles_share_books_and_no_figure(
    shelf: Shelf, books: Door, demo_folder: Path, collects: list[pl.DataFrame]
) -> None:
    americas = Door(shelf, read_instance(demo_folder).profiles.by_key["sales_americas"])
    europe = Door(shelf, read_instance(demo_folder).profiles.by_key["europe"])
    for door, where in (
        (books, "true"),
        (americas, "entity = 'US01'"),
        (europe, "entity not in ('US01', 'SG01')"),
    ):
        read = len(collects)
        assert total(sales(door, "2025-01", "2025-06")) == cents(
            demo_folder, f"{actual('2025-01-01', '2025-06-30')} and {where}"
        )
        assert len(collects) > read


def test_a_member_without_rows_in_the_range_has_no_row(books: Door, demo_folder: Path) -> None:
    sales(books, "2024", "2025", ["customer"])  # nearly all customers have rows in some month
    shown = {place.members[0].id for place in sales(books, "2025-01", "2025-01", ["customer"]).places[:-1]}
    january = actual("2025-01-01", "2025-01-31")
    query = f"select distinct customer from '{demo_folder}/data/sales/*.parquet' where {january}"  # noqa: S608 - our own
    assert shown == {customer for (customer,) in duckdb.execute(query).fetchall()}


def test_a_breakdown_with_too_many_amounts_is_read_for_its_range(
    books: Door, demo_folder: Path, collects: list[pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "MOST_MEMOISED", 36)
    sales(books, "2024-01", "2024-01", ["entity"])
    read = len(collects)
    report = sales(books, "2025-01", "2025-01", ["entity"])
    assert len(collects) > read
    for place, figure in zip(report.places[:-1], report.figures[0][0], strict=False):
        where = f"{actual('2025-01-01', '2025-01-31')} and entity = '{place.members[0].id}'"
        assert figure == cents(demo_folder, where)


def test_a_blend_takes_each_month_from_its_own_term(books: Door, demo_folder: Path) -> None:
    months = {f"2026-{month:02}": ("actual" if month < 10 else "forecast") for month in range(7, 13)}
    for first, last in (("2026-07", "2026-12"), ("2026-10", "2026-11"), ("2026-08", "2026-09")):
        report = books.metric("sales_amount", scenarios={"Blend": "actual+forecast"}, period=(first, last))
        asked = [f"strftime(date, '%Y-%m') = '{month}' and scenario = '{months[month]}'" for month in months]
        where = " or ".join(asked[list(months).index(first) : list(months).index(last) + 1])
        assert total(report) == cents(demo_folder, where)


def test_what_the_books_keep_is_bounded(
    shelf: Shelf, books: Door, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(books_module, "MEMO_MEMBERS", 2_000)
    for first, last in (("2025-01", "2025-03"), ("2024-11", "2025-08")):
        for by in ((), ("entity",), ("product_line",), ("customer",)):
            days = f"scenario = 'actual' and strftime(date, '%Y-%m') between '{first}' and '{last}'"
            assert total(sales(books, first, last, by)) == cents(demo_folder, days)
            # the latest may exceed the bound alone
            assert shelf.memo_bytes <= 2_000 * MEMBER_BYTES + MOST_MEMOISED * MEMBER_BYTES
    assert shelf.memo_bytes > 0


def test_from_the_third_filter_by_a_dimension_on_nothing_is_read(
    books: Door, demo_folder: Path, collects: list[pl.DataFrame]
) -> None:
    query = f"select distinct product from '{demo_folder}/data/sales/*.parquet' order by 1"  # noqa: S608 - our own
    products = [product for (product,) in duckdb.execute(query).fetchall()]
    asked = [products[:1], products[1:3], products[3:8], products[2:5], products]
    reads = []
    for some in asked:
        before = len(collects)
        for first, last in (("2025-01", "2025-06"), ("2024-11", "2025-08")):
            report = books.metric("sales_amount", scenarios=ACTUAL, period=(first, last), filters={"product": some})
            names = ", ".join(f"'{product}'" for product in some)
            within = f"strftime(date, '%Y-%m') between '{first}' and '{last}' and product in ({names})"
            assert total(report) == cents(demo_folder, f"scenario = 'actual' and {within}")
        reads.append(len(collects) - before)
    assert [count > 0 for count in reads] == [True, True, False, False, False]


def test_reports_that_read_the_same_months_at_once_have_their_own_figures(books: Door, demo_folder: Path) -> None:
    def planned(first: str, last: str) -> FigurePlan:
        asked = MetricRequest(
            metrics=("sales_amount",),
            scenarios=(ColumnRequest(scenario="actual", alias="Actuals"),),
            period_start=first,
            period_end=last,
            dimensions=(),
            filters={},
        )
        return plan_metrics(metric_query(asked, books.reader), books.reader).figures

    days = {
        ("2025-01", "2025-03"): ("2025-01-01", "2025-03-31"),
        ("2025-02", "2025-06"): ("2025-02-01", "2025-06-30"),
        ("2024-11", "2025-02"): ("2024-11-01", "2025-02-28"),
    }
    plans = [planned(*months) for months in days]
    assert all(batch.reads for plan in plans for batch in plan.batches)  # each before another has read
    for plan, of_days in reversed(list(zip(plans, days.values(), strict=True))):
        found, (row,), ((column_read,),) = plan.collect(), plan.rows, plan.columns
        assert row.expression is not None
        assert found.of(row.expression, column_read)[-1] == cents(demo_folder, actual(*of_days))
