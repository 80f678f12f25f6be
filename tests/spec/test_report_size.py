"""The size of a report: what is refused, from counts and before any figure is read, and what is answered."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from msgspec.structs import replace

from engine.books.books import Shelf
from engine.door import Door, open_books
from engine.model import stopping
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import PeriodRange
from engine.model.errors import BadArguments
from engine.model.evaluation import FigureCube
from engine.model.exact import Exact
from engine.model.scenarios import Side
from engine.plans import report_size
from engine.plans.base_groups import BaseGroup
from engine.plans.figures import plan_statement
from engine.plans.report_size import ReportSize
from engine.plans.term_reads import distinct_keys
from engine.present.answers.reports import answer, refuse_too_long
from engine.queries.reports import statement_query
from engine.report.report import Report
from engine.report.run import outline, run
from engine.report.snapshots import keep
from server.base.interfaces import Principal
from server.caller.caller import MOST_BYTES, Callers
from server.caller.feeds import Feeds
from server.feeds.instance import read_instance
from server.http.dispatch import LARGE_BYTES
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.engines.memory import MemoryLoads
from tests.support.service.leavers import ClientGone, LeavingClient

ACTUAL = {"Actuals": "actual"}
COLUMNS = [{"scenario": scenario, "alias": scenario} for scenario in ("actual", "actual@py", "var(actual,actual@py)")]


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
    return Callers(instance, shelf, Feeds.of({}, MemoryLoads(), {}), keeping, WORKSHOP, 1_000_000, 1)


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
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
    with stopping.stopped_by(stop):
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
    asked: dict[str, Any] = {
        "metrics": ["sales_amount"],
        "scenarios": COLUMNS[:1],
        "period_start": "2024",
        "period_end": "2026",
    }
    with pytest.raises(BadArguments) as refused:
        call(callers, "run_metric", **asked, dimensions=list(dimensions))
    told = refused.value.as_data()
    assert told["field"] == "dimensions"
    assert told["got"] == list(dimensions)
    for size in ("members of customer: 2,001", "members of product: 121", "periods of date: 1,096"):
        assert size in str(told["error"])
    assert "To get fewer, filter customer;" in str(told["error"])
    assert told["example"] == {"filters": {"customer": ["C0001", "C0002"]}}
    assert 1 <= collected.count({"customer", "product"}) <= 2  # which of them hold rows in the first months
    assert not any("amount" in columns for columns in collected)


def test_one_column_tells_that_a_report_of_many_is_too_large(callers: Callers) -> None:
    years = [{"scenario": f"actual@py{year}", "alias": str(year)} for year in range(1, 31)]
    asked: dict[str, Any] = {
        "metrics": ["sales_amount"],
        "period_start": "2024",
        "period_end": "2026",
        "dimensions": ["customer", "date"],
    }

    def counted(columns: list[dict[str, str]]) -> int:
        looks: list[None] = []
        with pytest.raises(BadArguments):
            call(callers, "run_metric", lambda: looks.append(None), scenarios=columns, **asked)
        return len(looks)

    counted(COLUMNS[:1])  # the axes are known then
    one, many = counted(COLUMNS[:1]), counted([*COLUMNS[:1], *years])
    assert many - one < len(years)  # each column that is planned is a look


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


@pytest.mark.parametrize("dimensions", [("customer", "product", "date"), ("product", "customer")])
def test_combinations_are_counted_from_the_first_days_until_they_are_too_many(
    books: Door,
    demo_folder: Path,
    collected: list[set[str]],
    monkeypatch: pytest.MonkeyPatch,
    dimensions: Sequence[str],
) -> None:
    monkeypatch.setattr(report_size, "MOST_FIGURES", 100)
    monkeypatch.setattr(report_size, "FIRST_DAYS", 1)
    read: list[int] = []

    def noting(group: BaseGroup) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
        step = distinct_keys(group)

        def noted(found: pl.DataFrame) -> pl.DataFrame:
            read.append(found.height)
            return found

        return lambda sums: step(sums).map_batches(noted)

    monkeypatch.setattr(report_size, "distinct_keys", noting)
    with pytest.raises(BadArguments):
        metric(books, *dimensions, period=("2024", "2026"))
    assert len(read) < 8  # 1, 2, 4, … days
    assert sum(read) < len(held(demo_folder, "customer, product", 2024))
    assert not any("amount" in columns for columns in collected)


def test_what_top_leaves_out_is_no_figure_of_the_report(
    books: Door, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = held(demo_folder, "product, entity", 2024)
    by_product = Counter(product for product, _ in found)
    monkeypatch.setattr(report_size, "MOST_FIGURES", len(found))

    def ranked(top: int) -> Report:
        asked: dict[str, Any] = {
            "scenarios": ACTUAL,
            "period": ("2024-01", "2024-03"),
            "dimensions": ["product", "entity"],
        }
        return books.metric("sales_amount", **asked, top=top)

    with pytest.raises(BadArguments, match="more than"):
        metric(books, "product", "entity")
    report = ranked(3)
    shown = [place.members[0].id for place in report.places[:-1] if place.holds is None]
    assert len(shown) == sum(by_product[product] for product in dict.fromkeys(shown))
    monkeypatch.setattr(report_size, "MOST_FIGURES", len(report.places))
    assert ranked(3).places == report.places
    monkeypatch.setattr(report_size, "MOST_FIGURES", len(report.places) - 1)
    with pytest.raises(BadArguments, match="more than"):
        ranked(3)


def test_a_ranking_is_refused_by_the_groups_that_it_computes(demo_folder: Path, callers: Callers) -> None:
    asked: dict[str, Any] = {
        "metrics": ["sales_amount"],
        "scenarios": COLUMNS[:1],
        "period_start": "2024-01",
        "period_end": "2024-03",
    }
    asked |= {"dimensions": ["product", "entity"], "order_by": "sales_amount", "top": 1}
    groups = len(held(demo_folder, "product, entity", 2024)) + 1
    call(replace(callers, report_groups=groups), "run_metric", **asked)
    with pytest.raises(BadArguments, match="would compute more than") as refused:  # a model reads what to do
        call(replace(callers, report_groups=groups - 1), "run_metric", **asked)
    assert "To get fewer, filter product;" in str(refused.value)


def test_a_report_within_the_limits_can_be_kept_and_so_exported(books: Door) -> None:
    report = metric(books, "customer", "product", "period")
    assert len(report.places) > 1_000
    assert len(keep(report)) / len(report.places) * report_size.MOST_GROUPS < MOST_BYTES


def test_a_report_of_the_most_figures_can_be_kept_whatever_their_digits(books: Door) -> None:
    made = random.Random(24)
    names = {f"S{at}": "actual" for at in range(report_size.MOST_FIGURES // report_size.MOST_GROUPS)}
    asked: dict[str, Any] = {
        "scenarios": names,
        "period": ("2024-01", "2024-03"),
        "dimensions": ["customer", "product", "period"],
    }
    report = books.metric("sales_amount", **asked)
    long = [[[Exact(made.getrandbits(200), made.getrandbits(200)) for _ in report.places] for _ in names]]
    figures = len(names) * len(report.places)
    assert figures > 4_000
    assert len(keep(replace(report, figures=FigureCube.of(long)))) / figures * report_size.MOST_FIGURES < MOST_BYTES


def test_the_size_of_a_report_and_of_rows_is_told_before_an_amount_is_read(
    callers: Callers, collected: list[set[str]]
) -> None:
    asked: dict[str, Any] = {"period_start": "2024-01", "period_end": "2024-03"}
    calls = {
        "run_metric": {"metrics": ["sales_amount"], "scenarios": COLUMNS[:1], "dimensions": ["product", "entity"]},
        "inspect_rows": {"source_key": "sales", "scenario_id": "actual", "limit": 2000},
    }
    told = [admitted(callers, tool, **asked, **call) for tool, call in calls.items()]
    assert [size.places for size in told] == [121 * 9 + 1, 2000]
    assert not any("amount" in columns for columns in collected)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("ranked", [{"order_by": "sales_amount@A", "top": 10}, {}])
def test_a_count_of_many_combinations_is_admitted_before_it_reads(
    callers: Callers, collected: list[set[str]], ranked: dict[str, Any], columns: int
) -> None:
    names = [{"scenario": key, "alias": key[0].upper()} for key in ("actual", "budget")][:columns]
    asked: dict[str, Any] = {"metrics": ["sales_amount"], "scenarios": names, "period_start": "2024-01", **ranked}
    size = admitted(callers, "run_metric", **asked, dimensions=["customer", "product"])
    assert size == ReportSize(0, 0, counted=min(2_001 * 121, report_size.MOST_GROUPS // columns - 1) * columns)
    assert size.bytes > LARGE_BYTES  # so that it counts in the lane of its size
    assert not any({"customer", "product"} & columns for columns in collected)


def admitted(callers: Callers, tool: str, **asked: Any) -> ReportSize:
    """Return the size that a call asks to be admitted with; it is not."""
    sizes: list[ReportSize] = []

    def refuse(size: ReportSize) -> None:
        sizes.append(size)
        raise ClientGone

    caller = replace(callers, row_cap=10_000).of(Principal("dev"), lambda: None, refuse)
    with pytest.raises(ClientGone):
        TOOLS[tool].run(caller, read_request(TOOLS[tool].shape, asked))
    return sizes[0]


def test_what_no_answer_can_hold_is_refused_before_anything_is_read(
    callers: Callers, collected: list[set[str]]
) -> None:
    years = [{"scenario": f"actual@py{year}", "alias": f"Year {year}"} for year in range(1, 40)]
    asked: dict[str, Any] = {
        "statement": "full_pnl",
        "scenarios": [*COLUMNS[:1], *years],
        "dimensions": ["cost_centre"],
    }
    asked |= {"period_start": "2024-01", "period_end": "2026-09"}
    bounded = replace(callers, answer_tokens=1_500)
    with pytest.raises(BadArguments, match="Even one line"):  # the members that this caller sees are known then
        call(bounded, "run_statement", **asked)
    collected.clear()
    with pytest.raises(BadArguments) as refused:
        call(bounded, "run_statement", **asked)
    assert "Ask for fewer scenarios or a shorter range, or filter 'cost_centre'." in str(refused.value)
    assert collected == []


@pytest.mark.parametrize("statement", ["pnl", "full_pnl", "balance_sheet"])
def test_nothing_is_refused_unread_that_an_answer_could_hold(callers: Callers, statement: str) -> None:
    reader = callers.of(Principal("dev"), lambda: None).reader
    shape = TOOLS["run_statement"].shape
    asked: dict[str, Any] = {
        "statement": statement,
        "scenarios": COLUMNS,
        "period_start": "2025-01",
        "period_end": "2025-03",
    }
    plan = plan_statement(statement_query(read_request(shape, asked), reader), reader)
    report, least = run(plan), outline(plan)
    shortest = next(budget for budget in range(200, 10_000, 20) if fits(partial(answer, report, budget)))
    refuse_too_long(least, shortest)
    assert not fits(partial(refuse_too_long, least, shortest // 3))


def test_a_refusal_looks_at_no_period_of_a_breakdown(callers: Callers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifteen scenarios of earlier years over 1,004 days: the windows of a column belong to a report that is made."""
    moved: list[PeriodRange] = []
    window = Side.window

    def counted(side: Side, calendar: Calendar, asked: PeriodRange) -> PeriodRange | None:
        moved.append(asked)
        return window(side, calendar, asked)

    years = [{"scenario": f"actual@py{year}", "alias": f"Year {year}"} for year in range(1, 16)]
    asked: dict[str, Any] = {"statement": "full_pnl", "scenarios": years, "dimensions": ["cost_centre", "date"]}
    asked |= {"period_start": "2024-01", "period_end": "2026-09"}
    bounded = replace(callers, answer_tokens=10_000)
    with pytest.raises(BadArguments, match="1,000,000 figures"):  # what the first call keeps is known then
        call(bounded, "run_statement", **asked)
    monkeypatch.setattr(Side, "window", counted)
    with pytest.raises(BadArguments, match="1,000,000 figures"):
        call(bounded, "run_statement", **asked)
    assert len(moved) == len(years)
    assert len(set(moved)) == 1


def fits(answering: Callable[[], object]) -> bool:
    """Tell whether something is not refused."""
    try:
        answering()
    except BadArguments:
        return False
    return True


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

    def opened() -> Callers:
        """Callers of books that have kept no amounts."""
        return replace(callers, shelf=Shelf(callers.instance.catalogue, demo_folder / ".tieout" / "store"))

    asked: dict[str, Any] = {
        "metrics": ["average_price"],
        "scenarios": COLUMNS,
        "period_start": "2025-01",
        "period_end": "2025-03",
    }
    asked |= {"dimensions": ["product", "period"]}
    looks = 0

    def count() -> None:
        nonlocal looks
        looks += 1

    call(opened(), "run_metric", count, **asked)
    sums = [held(demo_folder, f"product, month(date), {year}", year) for year in (2024, 2025)]
    places = len({product for product, *_ in sums[0] + sums[1]}) * 3 + 1
    assert looks >= 10 * places - 1 + len(sums[0]) + len(
        sums[1]
    )  # two bases in two years, a formula in two, a variance
    for at in {*range(10), *range(0, looks, looks // 40), looks - 1}:
        with pytest.raises(ClientGone):
            call(opened(), "run_metric", LeavingClient(at), **asked)


def test_a_stop_is_seen_while_combinations_are_counted(callers: Callers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "STRIDE", 1)
    asked: dict[str, Any] = {
        "metrics": ["sales_amount"],
        "scenarios": COLUMNS[:1],
        "period_start": "2024",
        "period_end": "2026",
    }
    asked |= {"dimensions": ["customer", "product", "date"]}
    with pytest.raises(ClientGone):
        call(callers, "run_metric", LeavingClient(100), **asked)
