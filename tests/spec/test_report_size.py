"""The size of a report: what is refused, from counts and before any figure is read, and what is answered."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from engine.books.books import Shelf
from engine.door import Door, open_books
from engine.instance.read import read_instance
from engine.model import stopping
from engine.model.errors import BadArguments
from engine.plans import report_size
from engine.report.report import Report
from server.base.interfaces import Principal
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.support.holding import keeping_in
from tests.support.memory import MemoryLoads

ACTUAL = {"Actuals": "actual"}
COLUMNS = [{"scenario": scenario, "alias": scenario} for scenario in ("actual", "actual@py", "var(actual,actual@py)")]


class Gone(Exception):
    """Raised by a `stop` that was planted."""


@pytest.fixture(scope="module")
def books(demo_folder: Path) -> Door:
    """The demo as everyone sees it."""
    return open_books(demo_folder)


@pytest.fixture(scope="module")
def callers(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callers:
    """Callers of the tools on the demo."""
    instance = read_instance(demo_folder)
    shelf = Shelf(instance.catalogue, demo_folder / ".tieout" / "store")
    keeping = keeping_in(tmp_path_factory.mktemp("kept"))
    return Callers(instance, shelf, Feeds.of({}, MemoryLoads(), {}), keeping, 1_000_000, 1)


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[set[str]]]:
    """The columns of every frame that is collected."""
    found: list[set[str]] = []
    collect = pl.LazyFrame.collect

    def noting(frame: pl.LazyFrame, **options: Any) -> Any:
        result = collect(frame, **options)
        found.append(set(result.columns))
        return result

    monkeypatch.setattr(pl.LazyFrame, "collect", noting)
    return found


def call(callers: Callers, tool: str, stop: Callable[[], None] = lambda: None, **asked: Any) -> None:
    """Call a tool as the demo's single user."""
    chosen = TOOLS[tool]
    chosen.run(callers.of(Principal("dev"), stop), read_request(chosen.shape, asked))


def held(folder: Path, columns: str, year: int) -> list[tuple[Any, ...]]:
    """Return the different values of some columns of the sales of a first quarter, as DuckDB finds them."""
    days = f"date between '{year}-01-01' and '{year}-03-31'"
    query = f"select distinct {columns} from '{folder}/data/sales/*.parquet' where scenario = 'actual' and {days}"  # noqa: S608 - our own
    return duckdb.execute(query).fetchall()


def metric(books: Door, *dimensions: str, period: tuple[str, str] = ("2024-01", "2024-03")) -> Report:
    """Return the sales of a quarter by members of some dimensions."""
    return books.metric("sales_amount", scenarios=ACTUAL, period=period, dimensions=dimensions)


@pytest.mark.parametrize("dimensions", [("customer", "product", "date"), ("date", "product", "customer")])
def test_too_large_a_report_is_refused_before_any_amount_is_read(
    callers: Callers, collected: list[set[str]], dimensions: tuple[str, ...]
) -> None:
    asked = {"metrics": ["sales_amount"], "scenarios": COLUMNS[:1], "period_start": "2024", "period_end": "2026"}
    with pytest.raises(BadArguments) as refused:
        call(callers, "run_metric", **asked, dimensions=list(dimensions))
    told = refused.value.as_data()
    assert told["field"] == "dimensions"
    assert told["got"] == list(dimensions)
    for size in ("members of customer: 2,001", "members of product: 121", "periods of date: 1,096"):
        assert size in str(told["error"])
    assert "To get fewer, filter customer;" in str(told["error"])
    assert told["example"] == {"filters": {"customer": ["C0001", "C0002"]}}
    assert collected.count({"customer", "product"}) == 1  # which of them hold rows
    assert not any("amount" in columns for columns in collected)


def test_one_column_tells_that_a_report_of_many_is_too_large(callers: Callers) -> None:
    years = [{"scenario": f"actual@py{year}", "alias": str(year)} for year in range(1, 31)]
    asked = {
        "metrics": ["sales_amount"],
        "period_start": "2024",
        "period_end": "2026",
        "dimensions": ["customer", "date"],
    }
    looks = 0

    def count() -> None:
        nonlocal looks
        looks += 1

    with pytest.raises(BadArguments):
        call(callers, "run_metric", count, scenarios=[*COLUMNS[:1], *years], **asked)
    assert looks < len(years)  # each column that is planned is a look


def test_a_report_by_time_alone_is_refused_without_reading_anything(books: Door, collected: list[set[str]]) -> None:
    shifts = {
        f"{scenario}{years}": f"{scenario}@py{years}" for scenario in ("actual", "budget") for years in range(1, 9)
    }
    with pytest.raises(BadArguments, match="choose a shorter range"):
        books.statement("full_pnl", scenarios=shifts, period=("2024", "2026"), dimensions=["date"])
    assert collected == []


@pytest.mark.parametrize(
    "dimensions", [("product", "entity", "period"), ("period", "entity", "product"), ("customer",)]
)
def test_exactly_the_reports_of_more_figures_than_the_most_are_refused(
    books: Door, demo_folder: Path, monkeypatch: pytest.MonkeyPatch, dimensions: tuple[str, ...]
) -> None:
    combinations = len(held(demo_folder, ", ".join(key for key in dimensions if key != "period"), 2024))
    figures = combinations * (3 if "period" in dimensions else 1) + 1
    monkeypatch.setattr(report_size, "MOST_FIGURES", figures)
    assert len(metric(books, *dimensions).places) == figures
    monkeypatch.setattr(report_size, "MOST_FIGURES", figures - 1)
    with pytest.raises(BadArguments, match="filter"):
        metric(books, *dimensions)


def test_a_breakdown_that_finds_no_rows_is_answered_whatever_it_could_have_held(books: Door) -> None:
    report = metric(books, "customer", "product", "date", period=("2020", "2020"))
    assert [place.is_total for place in report.places] == [True]


def test_periods_stand_below_the_members_named_before_them(books: Door) -> None:
    """The order of places is that of sorting by the dimensions in turn."""
    report = metric(books, "product_line", "period", "entity")
    found = [tuple(member.id for member in place.members) for place in report.places[:-1]]
    alone = [metric(books, key).places[:-1] for key in ("product_line", "period", "entity")]
    orders = [[place.members[0].id for place in places] for places in alone]
    assert found == sorted(found, key=lambda ids: [order.index(one) for order, one in zip(orders, ids, strict=True)])


def test_a_stop_is_seen_in_every_loop_over_what_a_report_holds(
    callers: Callers, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "STRIDE", 1)
    asked = {"metrics": ["average_price"], "scenarios": COLUMNS, "period_start": "2025-01", "period_end": "2025-03"}
    asked |= {"dimensions": ["product", "period"]}
    looks = 0

    def count() -> None:
        nonlocal looks
        looks += 1

    call(callers, "run_metric", count, **asked)
    sums = [held(demo_folder, f"product, month(date), {year}", year) for year in (2024, 2025)]
    places = len({product for product, *_ in sums[0] + sums[1]}) * 3 + 1
    assert looks >= 10 * places - 1 + len(sums[0]) + len(
        sums[1]
    )  # two bases in two years, a formula in two, a variance
    for at in {*range(10), *range(0, looks, looks // 40), looks - 1}:
        left = at

        def stop() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Gone

        with pytest.raises(Gone):
            call(callers, "run_metric", stop, **asked)


def test_a_stop_is_seen_while_combinations_are_counted(callers: Callers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "STRIDE", 1)
    asked = {"metrics": ["sales_amount"], "scenarios": COLUMNS[:1], "period_start": "2024", "period_end": "2026"}
    asked |= {"dimensions": ["customer", "product", "date"]}
    left = 100

    def stop() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Gone

    with pytest.raises(Gone):
        call(callers, "run_metric", stop, **asked)
