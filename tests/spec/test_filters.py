"""Filters: by periods as well as members, and never more figures than anybody reads.

Rules: Weights, Time.
"""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments, BadPeriod
from engine.model.exact import Exact
from tests.support.books.inspected import rows_of
from tests.support.books.small import figure, figures, small_books

A = {"A": "actual"}
YEAR = ("2021-01", "2021-12")
IN_WEEKS = {"2025-05-01": 1, "2025-05-05": 10, "2025-05-31": 100, "2025-06-03": 1000}


def ledger(folder: Path, rows: str) -> Door:
    """Amounts by day and product."""
    return small_books(
        folder,
        facts={"gl": f"date scenario product amount\n{rows}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              revenue: {measure: amount}
              balance: {measure: amount, over_time: closing}
            """
        },
        dimensions="""
            product: {kind: leaf}
            date: {kind: leaf, grain: date}
            quarter: {kind: leaf, grain: quarter}
            year: {kind: leaf, grain: year}
        """,
    )


@pytest.fixture
def by_month(tmp_path: Path) -> Door:
    """1 in January 2020, 2 in February … and ten times as much in 2021."""
    months = [f"{month:02}" for month in range(1, 13)]
    rows = [f"2020-{month}-15 actual P {at}" for at, month in enumerate(months, 1)]
    rows += [f"2021-{month}-15 actual P {at * 10}" for at, month in enumerate(months, 1)]
    return ledger(tmp_path, "\n".join(rows))


def test_a_filter_by_periods_keeps_to_them(by_month: Door) -> None:
    chosen = {"period": ["2021-02", "2021-11"]}
    assert figure(by_month.metric("revenue", scenarios=A, period=YEAR, filters=chosen)) == 20 + 110
    shown = by_month.metric("revenue", scenarios=A, period=YEAR, filters=chosen, dimensions=["period"])
    assert figures(shown, "period") == {"2021-02": 20, "2021-11": 110, None: 130}


def test_a_coarser_period_stands_for_those_inside(by_month: Door) -> None:
    chosen = {"quarter": ["2021-Q1", "2021-Q3"]}
    assert figure(by_month.metric("revenue", scenarios=A, period=YEAR, filters=chosen)) == 60 + 240
    both = {"quarter": "2021-Q1", "period": "2021-03"}
    assert figure(by_month.metric("revenue", scenarios=A, period=YEAR, filters=both)) == 30


def test_filtered_periods_are_shifted_each_by_its_own_code(by_month: Door) -> None:
    chosen = {"period": ["2021-02", "2021-11"]}
    assert figure(by_month.metric("revenue", scenarios={"PY": "actual@py"}, period=YEAR, filters=chosen)) == 2 + 11


def test_a_balance_closes_in_the_last_filtered_period(by_month: Door) -> None:
    chosen = {"period": ["2021-02", "2021-05"]}
    assert figure(by_month.metric("balance", scenarios=A, period=YEAR, filters=chosen)) == 50


def test_a_missing_side_counts_as_0_by_the_periods_that_a_filter_keeps(tmp_path: Path) -> None:
    rows = "2021-02-15 actual P 1\n2021-03-15 budget P 100\n2021-03-15 budget Q 7\n2021-04-15 actual P 2"
    books = ledger(tmp_path, rows)
    asked: dict[str, Any] = {"scenarios": {"V": "var(budget,actual)"}}
    whole = ("2021-02", "2021-04")
    assert figure(books.metric("revenue", period=whole, **asked)) == 104
    for period, filters in (("2021-03", {}), (whole, {"month": "2021-03"})):  # no actual in March
        assert figure(books.metric("revenue", period=period, filters=filters, **asked)) is None
    both = {"month": ["2021-02", "2021-03"]}
    assert figure(books.metric("revenue", period=whole, filters={**both, "product": "Q"}, **asked)) == 7


def test_a_filter_by_periods_outside_the_range_leaves_nothing(by_month: Door) -> None:
    assert figure(by_month.metric("revenue", scenarios=A, period=YEAR, filters={"period": "2020-02"})) is None


def test_a_filter_finer_than_the_range_says_which_grain_to_ask_for(by_month: Door) -> None:
    with pytest.raises(BadPeriod, match="Give period_start and period_end by date"):
        by_month.metric("revenue", scenarios=A, period=YEAR, filters={"date": "2021-02-15"})


@pytest.mark.parametrize(
    ("period", "chosen"),
    [
        (("2025-W18", "2025-W25"), {"month": ["2025-05"]}),
        ("2025-W22", {"month": ["2025-05"]}),
        (("2025-W18", "2025-W25"), {"month": {"exclude": ["2025-05"]}}),
        (("2025-W10", "2025-W30"), {"quarter": ["2025-Q2"]}),
        (("2025-W01", "2025-W30"), {"year": {"exclude": ["2025"]}}),
    ],
)
def test_a_filter_by_periods_that_cut_those_of_the_range_is_refused(
    tmp_path: Path, period: str | tuple[str, str], chosen: dict[str, Any]
) -> None:
    books = ledger(tmp_path, "\n".join(f"{day} actual P {amount}" for day, amount in IN_WEEKS.items()))
    with pytest.raises(BadPeriod, match="the weeks of the range do not make up") as refused:
        books.metric("revenue", scenarios=A, period=period, filters=chosen)
    assert (refused.value.field or "").startswith("filters.")
    start, end = (period, period) if isinstance(period, str) else period
    with pytest.raises(BadPeriod, match="the weeks of the range do not make up"):
        rows_of(books, period_start=start, period_end=end, filters=chosen)


def test_a_filter_by_periods_that_cut_no_period_of_the_range_keeps_its_days(tmp_path: Path) -> None:
    books = ledger(tmp_path, "\n".join(f"{day} actual P {amount}" for day, amount in IN_WEEKS.items()))
    asked: dict[str, Any] = {"scenarios": A, "filters": {"month": ["2025-05"]}}
    assert figure(books.metric("revenue", period=("2025-05-01", "2025-06-30"), **asked)) == 111
    assert figure(books.metric("revenue", period=("2025-W19", "2025-W21"), **asked)) == 10
    assert figure(books.metric("revenue", period=("2025-W01", "2025-W04"), **asked)) is None
    quarter: dict[str, Any] = {
        "scenarios": A,
        "filters": {"quarter": "2025-Q2"},
    }  # it begins before the weeks and ends after them
    assert figure(books.metric("revenue", period=("2025-W18", "2025-W25"), **quarter)) == 1111


def test_more_figures_than_anybody_reads_are_refused_with_what_to_do(tmp_path: Path) -> None:
    books = ledger(tmp_path, "\n".join(f"2021-01-15 actual P{product} 1" for product in range(1_100)))
    years = ("2020-01-01", "2022-12-31")  # 1,096 days
    with pytest.raises(BadArguments, match=r"more than 250,000 combinations.*filter product; or leave") as refused:
        books.metric("revenue", scenarios=A, period=years, dimensions=["product", "date"])
    assert refused.value.field == "dimensions"


def test_months_break_down_a_range_of_quarters(by_month: Door) -> None:
    shown = by_month.metric("revenue", scenarios=A, period=("2021-Q1", "2021-Q2"), dimensions=["month"])
    months = {f"2021-{month:02}": month * 10 for month in range(1, 7)}
    assert figures(shown, "month") == months | {None: 210}
    by_quarter = by_month.metric("revenue", scenarios=A, period=("2021-Q1", "2021-Q2"), dimensions=["period"])
    assert figures(by_quarter, "period") == {"2021-Q1": 60, "2021-Q2": 150, None: 210}


def test_day_is_understood_as_date(by_month: Door) -> None:
    days = ("2021-01-14", "2021-01-15")
    shown = by_month.metric("revenue", scenarios=A, period=days, dimensions=["day"])
    assert figures(shown, "date") == {"2021-01-14": None, "2021-01-15": 10, None: 10}
    assert figure(by_month.metric("revenue", scenarios=A, period=days, filters={"day": "2021-01-14"})) is None
    with pytest.raises(BadArguments, match="filters date again"):
        by_month.metric("revenue", scenarios=A, period=days, filters={"date": days[0], "day": days[1]})


@pytest.fixture
def sold(tmp_path: Path) -> Door:
    """Sales of products, two of them in one group, and one row without a product."""
    return small_books(
        tmp_path,
        facts={
            "gl": "date scenario product amount\n2021-01-05 actual A 1\n2021-01-05 actual B 20\n"
            "2021-01-05 actual C 300\n2021-02-05 actual - 4000"
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics: {revenue: {measure: amount}}
            """
        },
        dimensions="""
            product: {kind: leaf, members: live.product}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
        """,
        tables={"product": "id\nA\nB\nC", "tree": "node parent\nG -\nA G\nB G\nH -\nC H"},
    )


@pytest.mark.parametrize(
    ("filters", "revenue"),
    [
        ({"product": {"exclude": ["A"]}}, 4320),
        ({"product": {"exclude": ["A", "(unassigned)"]}}, 320),
        ({"product": {"exclude": ["nothing"]}}, 4321),
        ({"tree": {"exclude": ["G"]}}, 4300),
        ({"tree": {"include": ["G", "H"], "exclude": ["A"]}}, 320),
        ({"tree": "G", "product": {"exclude": ["B"]}}, 1),
        ({"period": {"exclude": ["2021-02"]}}, 321),
        ({"period": {"include": ["2021-01", "2021-02"], "exclude": ["2021-01"]}}, 4000),
    ],
)
def test_an_exclusion_keeps_the_others(sold: Door, filters: dict[str, Any], revenue: int) -> None:
    assert figure(sold.metric("revenue", scenarios=A, period=YEAR, filters=filters)) == revenue


def test_a_breakdown_under_an_exclusion_shows_what_is_left_of_each_node(sold: Door) -> None:
    report = sold.metric(
        "revenue", scenarios=A, period=YEAR, filters={"tree": {"exclude": ["A", "C"]}}, dimensions=["tree"]
    )
    assert figures(report, "tree") == {"G": 20, "(unassigned)": 4000, None: 4020}
    drill = {place.members[0].id: report.drill.at(place.members) for place in report.places if place.members}
    assert drill["G"]["filters"] == {"tree": {"include": ["G"], "exclude": ["A", "C"]}}
    rows = sold.rows("gl", scenario="actual", period=YEAR, filters={**drill["G"]["filters"], "metric": "revenue"})
    assert [row[-1] for row in rows.rows] == [Exact(20)]


def test_a_drill_part_repeats_the_filter_of_its_own_call(sold: Door) -> None:
    """Filters that select alike share what the books keep, and not the ids that a caller wrote in vain."""
    for excluded in (["A"], ["A", "nowhere"], ["A", "elsewhere"]):
        asked: dict[str, Any] = {"tree": {"exclude": excluded}}
        shown = sold.metric("revenue", scenarios=A, period=YEAR, filters=asked, dimensions=["tree"])
        drills = [shown.drill.at(place.members)["filters"]["tree"] for place in shown.places if place.members]
        assert drills
        assert all(drill["exclude"] == excluded for drill in drills)


@pytest.mark.parametrize("dimensions", [[], ["tree"]])
def test_an_exclusion_within_unknown_members_keeps_nothing_and_leaves_others_as_they_are(
    sold: Door, dimensions: list[str]
) -> None:
    within: dict[str, Any] = {"tree": {"include": ["nowhere"], "exclude": ["A"]}}
    without: dict[str, Any] = {"tree": {"exclude": ["A"]}}
    for filters, total in ((within, None), (without, 4320), (within, None)):
        report = sold.metric("revenue", scenarios=A, period=YEAR, filters=filters, dimensions=dimensions)
        assert report.frame["value"].to_list()[-1] == total, filters


def test_an_exclusion_of_nothing_is_refused(sold: Door) -> None:
    with pytest.raises(BadArguments, match="names no member"):
        sold.metric("revenue", scenarios=A, period=YEAR, filters={"product": {"exclude": []}})


def test_an_exclusion_of_a_figure_is_refused(sold: Door) -> None:
    with pytest.raises(BadArguments, match="takes values to keep, none to exclude"):
        sold.rows("gl", scenario="actual", filters={"metric": {"exclude": ["revenue"]}})
