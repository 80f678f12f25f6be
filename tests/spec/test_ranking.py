"""Rankings: the top members, one row for the others that is computed as a total is, and what a cut answer keeps.

Rules: Ranking.
"""

from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from engine.model.requests import ChartSpec
from engine.present.charts.charts import chart
from engine.present.exports.about import ExportStamp
from engine.present.exports.workbook import write_workbook
from engine.report.report import Report
from engine.report.snapshots import keep, opened
from tests.support.answers.charts import drawn, texts
from tests.support.answers.drills import calls
from tests.support.answers.reader import answer
from tests.support.answers.workbooks import go_on, grid
from tests.support.books.inspected import rows_of
from tests.support.books.small import small_books

A = {"A": "actual"}
BOTH = {"A": "actual", "B": "budget"}
MADE = ExportStamp(at=datetime(2026, 11, 23, 9, 30, tzinfo=UTC), subject="ann")
ASKED: dict[str, Any] = {"scenarios": A, "period": "2021"}


@pytest.fixture
def shop(tmp_path: Path) -> Door:
    """Sales of four customers by region, of which one has no units; two trees, one with a shared customer."""
    return small_books(
        tmp_path,
        facts={
            "gl": "date scenario customer region amount units\n"
            "2021-01-05 actual C1 EU 100 10\n2021-02-05 actual C1 US 20 1\n"
            "2021-01-05 actual C2 EU 300 20\n2021-02-05 actual C3 US 50 4\n"
            "2021-01-05 actual C4 EU 50 0\n2021-01-05 actual - EU 7 1\n"
            "2021-01-05 budget C1 EU 400 1\n2021-01-05 budget C5 EU 1 1"
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {customer: customer, region: region}
            measures: {amount: {places: 2}, units: {places: 0, type: number}}
            inspect_enabled: true
            metrics:
              revenue: {measure: amount}
              sold: {measure: units}
              price: {formula: revenue / sold}
              customers: {over_members: {count_distinct: customer}}
            """
        },
        dimensions="""
            customer: {kind: leaf, members: live.customer}
            tree: {kind: ragged, leaf_dimension: customer, nodes: live.tree}
            region: {kind: leaf}
        """,
        tables={
            "customer": "id\nC1\nC2\nC3\nC4\nC5",
            "tree": "node parent\nK -\nL -\nC1 K\nC2 K\nC2 L\nC3 L",
        },
    )


def shown(report: Report, line: int = 0, column: int = 0) -> list[tuple[str, Fraction | None]]:
    """Return the key and figure of each row of a report."""
    keys = ["/".join(member.id for member in place.members) or "total" for place in report.places]
    figures = [
        Fraction(figure.numerator, figure.denominator) if isinstance(figure, Exact) else None
        for figure in report.figures[line][column]
    ]
    return list(zip(keys, figures, strict=True))


def test_the_top_members_stand_before_the_others_and_the_total(shop: Door) -> None:
    report = shop.metric("revenue", dimensions=["customer"], top=2, **ASKED)
    assert shown(report) == [("C2", 300), ("C1", 120), ("(others)", 107), ("total", 527)]
    others = report.places[2]
    assert others.holds == 3  # C3, C4 and rows without a customer
    assert others.members[0].label == "Others"
    assert report.drill.at(others.members)["filters"] == {"customer": {"exclude": ["C2", "C1"]}}


def test_others_are_computed_as_a_total_is(shop: Door) -> None:
    report = shop.metric("price", "customers", dimensions=["customer"], order_by="price", top=2, **ASKED)
    assert shown(report)[:2] == [("C2", 15), ("C3", Fraction(25, 2))]
    assert shown(report)[2:] == [
        ("(others)", Fraction(177, 12)),
        ("total", Fraction(527, 36)),
    ]  # 120 + 50 + 7 of 11 + 0 + 1
    assert shown(report, line=1)[2:] == [("(others)", 2), ("total", 4)]  # C1 and C4; the null member is none


def test_missing_figures_come_last_and_ties_by_id(shop: Door) -> None:
    up = shop.metric("price", dimensions=["customer"], order_by="price", asc=True, **ASKED)
    assert [key for key, _ in shown(up)] == ["(unassigned)", "C1", "C3", "C2", "C4", "total"]
    down = shop.metric("revenue", dimensions=["customer"], order_by="revenue", **ASKED)
    assert [key for key, _ in shown(down)] == ["C2", "C1", "C3", "C4", "(unassigned)", "total"]
    assert not any(place.holds for place in down.places)


def test_a_second_dimension_is_whole_under_each(shop: Door) -> None:
    report = shop.metric("revenue", dimensions=["customer", "region"], top=1, **ASKED)
    assert shown(report) == [("C2/EU", 300), ("(others)/EU", 157), ("(others)/US", 70), ("total", 527)]
    by_month = shop.metric(
        "revenue", dimensions=["customer", "period"], top=1, scenarios=A, period=("2021-01", "2021-02")
    )
    assert shown(by_month) == [
        ("C2/2021-01", 300),
        ("C2/2021-02", None),
        ("(others)/2021-01", 157),
        ("(others)/2021-02", 70),
        ("total", 527),
    ]


def test_order_by_orders_periods_and_leaves_none_out(shop: Door) -> None:
    year: dict[str, Any] = {"scenarios": A, "period": ("2021-01", "2021-03"), "order_by": "revenue"}
    months = shop.metric("revenue", dimensions=["period"], asc=True, **year)
    assert shown(months) == [("2021-02", 70), ("2021-01", 457), ("2021-03", None), ("total", 527)]
    assert months.ranked
    by_customer = shop.metric("revenue", dimensions=["period", "region"], asc=True, **year)
    assert shown(by_customer) == [
        *(("2021-02/EU", None), ("2021-02/US", 70), ("2021-01/EU", 457), ("2021-01/US", None)),
        *(("2021-03/EU", None), ("2021-03/US", None), ("total", 527)),
    ]
    nested = shop.metric("revenue", dimensions=["period", "region"], subtotals=True, **year)
    assert [key for key, _ in shown(nested)][:2] == ["2021-01", "2021-01/EU"]
    result = answer(months, 100_000)
    ((_, _, asked),) = calls(result["rows"][0], result["columns"][0])
    assert rows_of(shop, **asked)["contribution_total"] == 70


@pytest.mark.parametrize(
    ("order_by", "first"), [("revenue@B", "C1"), ("sold@A", "C2"), ("sold@B", "C1"), ("revenue@A", "C2")]
)
def test_order_by_names_a_column(shop: Door, order_by: str, first: str) -> None:
    report = shop.metric(
        "revenue", "sold", dimensions=["customer"], scenarios=BOTH, period="2021", order_by=order_by, top=1
    )
    assert shown(report)[0][0] == first


@pytest.mark.parametrize(
    ("order_by", "metrics", "scenarios", "valid"),
    [
        ("revenue", ["revenue", "sold"], BOTH, ["revenue@A", "revenue@B"]),
        ("B", ["revenue", "sold"], BOTH, ["revenue@B", "sold@B"]),
        ("revenu", ["revenue", "sold"], A, ["revenue", "sold"]),
        ("C", ["revenue"], BOTH, ["A", "B"]),
        ("nothing", ["revenue", "sold"], BOTH, ["revenue@A", "revenue@B", "sold@A", "sold@B"]),
    ],
)
def test_an_unknown_or_ambiguous_order_is_refused_with_spellings_that_work(
    shop: Door, order_by: str, metrics: list[str], scenarios: dict[str, str], valid: list[str]
) -> None:
    asked: dict[str, Any] = {"dimensions": ["customer"], "scenarios": scenarios, "period": "2021"}
    with pytest.raises(BadArguments, match="order_by") as refused:
        shop.metric(*metrics, order_by=order_by, **asked)
    offered = list(refused.value.as_data()["valid"])
    assert sorted(offered) == valid
    for spelling in offered:
        shop.metric(*metrics, order_by=spelling, **asked)


@pytest.mark.parametrize(
    ("ranking", "field"),
    [
        ({"top": 0, "dimensions": ["customer"]}, "top"),
        ({"top": 5}, "dimensions"),
        ({"order_by": "revenue"}, "dimensions"),
        ({"asc": True, "dimensions": ["customer"]}, "asc"),
        ({"top": 1, "dimensions": ["tree"]}, "top"),  # C2 lies in both nodes
    ],
)
def test_a_ranking_of_nothing_is_refused(shop: Door, ranking: dict[str, Any], field: str) -> None:
    with pytest.raises(BadArguments) as refused:
        shop.metric("revenue", **ASKED, **ranking)
    assert refused.value.as_data()["field"] == field


def test_more_than_two_hundred_are_reduced_with_a_note(shop: Door) -> None:
    report = shop.metric("revenue", dimensions=["customer"], top=201, **ASKED)
    assert [note.message for note in report.notes] == ["top 201 is above the maximum; 200 was used."]
    assert len(report.places) == 6


def test_others_of_filtered_members_are_the_rest_of_them(shop: Door) -> None:
    kept = {"customer": ["C1", "C3", "C4"]}
    report = shop.metric("revenue", dimensions=["customer"], top=1, filters=kept, **ASKED)
    assert shown(report) == [("C1", 120), ("(others)", 100), ("total", 220)]
    without = {"customer": {"exclude": ["C2", "(unassigned)"]}}
    report = shop.metric("revenue", dimensions=["customer"], top=1, filters=without, **ASKED)
    assert shown(report) == [("C1", 120), ("(others)", 100), ("total", 220)]


@pytest.mark.parametrize("filters", [{}, {"customer": ["C1", "C2", "C3"]}, {"customer": {"exclude": ["C4"]}}])
def test_the_rows_behind_others_make_it(shop: Door, filters: dict[str, Any]) -> None:
    report = shop.metric("revenue", dimensions=["customer"], top=1, filters=filters, **ASKED)
    result = answer(report, 100_000)
    (row,) = (row for row in result["rows"] if row["kind"] == "others")
    ((_, _, asked),) = calls(row, result["columns"][0])
    assert rows_of(shop, **asked)["contribution_total"] == row["values"][0]
    assert row["holds"] == report.places[1].holds


def test_a_kept_ranking_opens_as_it_was(shop: Door) -> None:
    report = shop.metric("revenue", dimensions=["customer"], top=2, **ASKED)
    again = opened(keep(report), shop.reader)
    assert isinstance(again, Report)
    assert (again.places, again.ranked) == (report.places, True)
    assert again.frame.equals(report.frame)
    assert again.frame["customer"].to_list() == ["C2", "C1", "(others)", None]


# What a cut answer keeps. C2 has 300, C1 120, C3 and C4 50 each. The columns are so many that a row is longer than the
# note on those left out.


MANY: dict[str, Any] = {"A": "actual", **{f"again {number}": "actual" for number in range(60)}}


def cut(report: Report, members: int) -> dict[str, Any]:
    """Return the answer that shows so many members, by cutting its budget."""
    answers = (answer(report, budget) for budget in range(4_000, 800, -20))
    return next(found for found in answers if sum(row["kind"] != "total" for row in found["rows"]) == members)


def keys_of(result: dict[str, Any]) -> list[str]:
    """Return the keys of the rows."""
    return [row["key"] for row in result["rows"]]


def test_a_cut_answer_keeps_the_largest_in_the_order_of_their_ids(shop: Door) -> None:
    result = cut(shop.metric("price", "revenue", dimensions=["customer"], scenarios=MANY, period="2021"), 2)
    assert keys_of(result) == ["C1", "C2", "total"]
    (note,) = (note for note in result["notes"] if note["code"] == "largest_kept")
    assert (note["line"], note["scenario"], note["left"]) == ("revenue", "A", "3")


ORDERS = """
    date scenario customer ordered paid
    2021-01-05 actual C1 -9 1
    2021-01-05 actual C2 4 0
    2021-01-05 actual C3 0 5
    2021-01-05 actual C4 0 6
    2021-01-05 actual C5 0 8
    2021-01-05 actual C6 0 -7
    2021-01-05 actual C7 4 2
"""


@pytest.mark.parametrize(
    ("members", "kept", "by"),
    [  # by orders, 9 first and 4 twice; then by what was paid, 8 first
        (1, ["C1"], "ordered"),
        (2, ["C1", "C7"], "ordered, then of paid"),
        (3, ["C1", "C2", "C7"], "ordered"),
        (5, ["C1", "C2", "C5", "C6", "C7"], "ordered, then of paid"),
    ],
)
def test_a_cut_answer_keeps_those_that_are_alike_by_the_next_metric(
    tmp_path: Path, members: int, kept: list[str], by: str
) -> None:
    ordered = "{measure: ordered, where: {customer: [C1, C2, C4, C7]}}"
    metrics = f"{{idle: {{measure: paid, where: {{customer: C9}}}}, ordered: {ordered}, paid: {{measure: paid}}}}"
    books = small_books(
        tmp_path,
        facts={"gl": ORDERS},
        domains={
            "gl": "time: {column: date}\ndimensions: {customer: customer}\n"
            f"measures: {{ordered: {{places: 0}}, paid: {{places: 0}}}}\nmetrics: {metrics}"
        },
        dimensions="customer: {kind: leaf}",
    )
    asked: dict[str, Any] = {"dimensions": ["customer"], "scenarios": MANY, "period": "2021"}
    result = cut(books.metric("idle", "ordered", "paid", **asked), members)
    assert keys_of(result) == [*kept, "total"]
    (note,) = (note for note in result["notes"] if note["code"] == "largest_kept")
    assert (note["line"], note["left"]) == ("ordered", str(7 - members))
    assert f"the largest by amount of {by} in A, in the order of their ids" in note["message"]


def test_a_cut_answer_without_an_additive_metric_keeps_the_first_and_says_so(shop: Door) -> None:
    result = cut(shop.metric("price", dimensions=["customer"], scenarios=MANY, period="2021"), 2)
    assert keys_of(result) == ["C1", "C2", "total"]
    assert [note["code"] for note in result["notes"]] == ["open_period", "first_kept"]


def test_a_cut_answer_by_time_keeps_the_latest(shop: Door) -> None:
    result = cut(shop.metric("revenue", dimensions=["period"], scenarios=MANY, period=("2021-01", "2021-06")), 2)
    assert keys_of(result) == ["2021-05", "2021-06", "total"]
    assert [note["code"] for note in result["notes"]] == ["outside_books", "latest_kept"]


def test_a_cut_ranking_keeps_the_others(shop: Door) -> None:
    result = cut(shop.metric("revenue", dimensions=["customer"], top=3, scenarios=MANY, period="2021"), 2)
    assert keys_of(result) == ["C2", "(others)", "total"]
    assert result["notes"] == []


# The file and the chart of a ranking hold the others as the table does: figures, order and label.


def test_a_workbook_of_a_ranking_holds_the_others_and_the_total(shop: Door, tmp_path: Path) -> None:
    report = shop.metric("revenue", "customers", dimensions=["customer"], top=2, **ASKED)
    path = tmp_path / "ranking.xlsx"
    write_workbook(opened(keep(report), shop.reader), MADE, path, go_on)
    assert grid(path)[3:] == [
        ["C2", "C2", "300", "1"],
        ["C1", "C1", "120", "1"],
        ["(others)", "Others", "107", "2"],
        ["Total", None, "527", "4"],
    ]


def test_a_chart_of_a_ranking_draws_the_others(shop: Door) -> None:
    report = shop.metric("revenue", dimensions=["customer"], top=2, **ASKED)
    kept = opened(keep(report), shop.reader)
    assert isinstance(kept, Report)
    bars = kept.frame.filter(pl.col("customer").is_not_null()).select("customer", "value")
    made = chart(ChartSpec(chart_type="bar", title="Largest", x="customer", y="value"), bars, {"value": "EUR"})
    assert list(made.rows) == [("C2", 300), ("C1", 120), ("(others)", 107)]
    assert "(others)" in texts(drawn(made))
