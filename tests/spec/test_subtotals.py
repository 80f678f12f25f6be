"""Finance cases T74-T76: the sub-totals of a breakdown by several dimensions, each a figure of its own.

Rules: Sub-totals.
"""

from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.door import Door, ReportArguments, fields, open_books
from engine.model.catalogue import Style
from engine.model.errors import BadArguments
from engine.model.requests import ChartSpec, MetricRequest
from engine.plans.figures import plan_metrics
from engine.present.answers.budget import NOT_KEPT
from engine.present.answers.reports import summary
from engine.present.charts.results import drawn_as_it_is
from engine.present.exports.report_sheet import report_sheet
from engine.queries.reports import metric_query
from engine.report.encoding import read, write
from engine.report.report import Report, schema_of
from engine.report.run import run
from engine.report.snapshots import keep, opened
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, small_books

A = {"A": "actual"}
BOTH = {"A": "actual", "B": "budget", "V": "var(actual,budget)"}
JAN, FEB = "2021-01", "2021-02"
FACTS = {
    "gl": """
    date       scenario entity centre customer amount units
    2021-01-05 actual   FR     c1     Ann      100    10
    2021-01-05 actual   FR     c2     Ann      50     1
    2021-01-05 actual   DE     c1     Bob      30     6
    2021-01-05 actual   DE     c3     Ann      20     4
    2021-02-05 actual   FR     c1     Cid      40     8
    2021-01-05 budget   FR     c1     Ann      90     9
    2021-01-05 budget   DE     c3     Bob      25     5
    """,
    "bank": """
    date    scenario entity centre balance
    2021-01 actual   FR     c1     5
    2021-01 actual   FR     c2     3
    2021-01 actual   DE     c1     4
    2021-02 actual   FR     c1     7
    2021-02 actual   DE     c1     6
    """,
    "people": "date scenario entity heads\n2021-01 actual FR 5\n2021-01 actual DE 4\n2021-01 actual IT 1",
}
DOMAINS = {
    "gl": """
    time: {column: date}
    inspect_enabled: true
    dimensions: {entity: entity, centre: centre, customer: customer}
    measures: {amount: {places: 2}, units: {type: number, places: 0}}
    metrics:
      revenue: {measure: amount}
      sold: {measure: units}
      price: {formula: revenue / sold}
      mean: {measure: amount, over_members: average}
      customers: {over_members: {count_distinct: customer}}
    """,
    "bank": """
    time: {column: date, grain: month}
    dimensions: {entity: entity, centre: centre}
    measures: {balance: {places: 2}}
    metrics:
      cash: {measure: balance, over_time: closing}
      known: {measure: balance, over_time: {last_known: always}}
    """,
    "people": """
    time: {column: date, grain: month}
    dimensions: {entity: entity}
    measures: {heads: {type: number, places: 0}}
    metrics:
      headcount: {measure: heads, over_time: closing}
      per_head: {formula: gl.revenue / headcount}
    """,
}
DIMENSIONS = """
entity: {kind: leaf}
centre: {kind: leaf}
customer: {kind: leaf}
tree: {kind: ragged, leaf_dimension: centre, nodes: live.tree}
"""
TREE = "node parent weight\nshop - 1\noffice - -1\nc1 shop 1\nc2 shop 1\nc3 office .5"
LINES = """
- {metric: revenue}
- {metric: headcount}
- {metric: per_head}
"""
PROFILES = """
seen: {scenarios: {'*': {dimensions: {centre: {allow: [c1, c3]}}}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the books."""
    folder = tmp_path_factory.mktemp("subtotals")
    small_books(
        folder,
        facts=FACTS,
        domains=DOMAINS,
        dimensions=DIMENSIONS,
        tables={"tree": TREE},
        statements={"kpis": LINES},
        profiles=PROFILES,
    )
    return folder


@pytest.fixture
def books(folder: Path) -> Door:
    """Revenue, balances and heads of three entities, the first two by cost centre."""
    return open_books(folder / "small", state=folder / "state")


def rows(report: Report, *columns: str) -> dict[str, list[Decimal | None]]:
    """Return the figures of each place by the path of its members, in order; the total is an empty path."""
    found: dict[str, list[Decimal | None]] = {}
    for row in report.frame.iter_rows(named=True):
        if not columns or row["alias"] in columns:
            path = "/".join(row[key] for key in report.breakdown if row[key] is not None)
            found.setdefault(path, []).append(None if row["exact"] is None else Decimal(row["exact"]))
    return found


def of(books: Door, *metrics: str, dimensions: Sequence[str] = ("entity", "centre"), **asked: Any) -> Report:
    """Return metrics with sub-totals."""
    known = {"scenarios": A, "period": JAN, **asked}
    return books.metric(*metrics, dimensions=dimensions, subtotals=True, **known)


def tie(books: Door, report: Report) -> None:
    """Hold the rows behind every cell of a report against it."""
    result = answer(report, 10_000)
    for row in result["rows"]:
        for column, value in zip(result["columns"], row["values"], strict=True):
            found = [
                (sign, figure_behind(call, lambda call: rows_of(books, **call))) for sign, _, call in calls(row, column)
            ]
            assert found
            made = sum((-(part or 0) if sign == "-" else (part or 0)) for sign, part in found)
            assert made == Decimal(str(value or 0)), (row, column["scenario"])


def test_t74_a_parent_stands_above_its_rows_and_is_evaluated_by_itself(books: Door) -> None:
    found = rows(of(books, "revenue", "price", "mean", "customers"))
    assert found == {
        "DE": [50, 5, 25, 2],
        "DE/c1": [30, 5, 30, 1],
        "DE/c3": [20, 5, 20, 1],
        "FR": [150, Decimal("13.6363636363636"), 75, 1],
        "FR/c1": [100, 10, 100, 1],
        "FR/c2": [50, 50, 50, 1],
        "": [200, Decimal("9.52380952380952"), 50, 2],
    }
    assert list(found) == ["DE", "DE/c1", "DE/c3", "FR", "FR/c1", "FR/c2", ""]


def test_t74_a_parent_is_the_row_of_the_breakdown_by_its_dimension(books: Door) -> None:
    nested = rows(of(books, "revenue", "price", "customers", scenarios=BOTH, period=(JAN, FEB)))
    alone = books.metric("revenue", "price", "customers", dimensions=["entity"], scenarios=BOTH, period=(JAN, FEB))
    assert {path: found for path, found in nested.items() if "/" not in path} == rows(alone)
    assert nested["FR"][2] == 190 - 90  # revenue against its budget


def test_t74_balances_close_and_are_carried_for_the_parent_by_itself(books: Door) -> None:
    found = rows(of(books, "cash", "known", period=FEB))
    assert found == {
        "DE": [6, 6],
        "DE/c1": [6, 6],
        "FR": [7, 10],  # c2 has no row in February: its balance is not there, its last known value is 3
        "FR/c1": [7, 7],
        "FR/c2": [None, 3],
        "": [13, 16],
    }


def test_t74_three_levels_nest(books: Door) -> None:
    found = rows(of(books, "revenue", dimensions=["entity", "centre", "customer"]))
    assert {path: values[0] for path, values in found.items()} == {
        "DE": 50,
        "DE/c1": 30,
        "DE/c1/Bob": 30,
        "DE/c3": 20,
        "DE/c3/Ann": 20,
        "FR": 150,
        "FR/c1": 100,
        "FR/c1/Ann": 100,
        "FR/c2": 50,
        "FR/c2/Ann": 50,
        "": 200,
    }


def test_t74_a_parent_is_what_its_reader_may_see(folder: Path) -> None:
    seen = open_books(folder / "small", state=folder / "state", profile="seen")
    found = rows(of(seen, "revenue", "price"))
    assert found == {
        "DE": [50, 5],
        "DE/c1": [30, 5],
        "DE/c3": [20, 5],
        "FR": [100, 10],
        "FR/c1": [100, 10],
        "": [150, Decimal("7.5")],
    }


def test_t74_periods_nest_inside_and_outside_members(books: Door) -> None:
    inside = rows(of(books, "revenue", "customers", dimensions=["entity", "month"], period=(JAN, FEB)))
    assert inside == {
        "DE": [50, 2],
        "DE/2021-01": [50, 2],
        "DE/2021-02": [None, None],
        "FR": [190, 2],
        "FR/2021-01": [150, 1],
        "FR/2021-02": [40, 1],
        "": [240, 3],
    }
    outside = rows(of(books, "revenue", dimensions=["month", "entity"], period=(JAN, FEB)))
    assert {path: values[0] for path, values in outside.items()} == {
        "2021-01": 200,
        "2021-01/DE": 50,
        "2021-01/FR": 150,
        "2021-02": 40,
        "2021-02/DE": None,
        "2021-02/FR": 40,
        "": 240,
    }


def test_t75_a_tree_below_weighs_in_its_parent_as_in_a_total(books: Door) -> None:
    report = of(books, "revenue", dimensions=["entity", "tree"])
    assert {path: values[0] for path, values in rows(report).items()} == {
        "DE": 30 - 10,  # c1 in the shop; half of c3 in the office, which is subtracted
        "DE/shop": 30,
        "DE/office": 10,
        "FR": 150,
        "FR/shop": 150,
        "": 170,
    }
    weights = {place.members[-1].id: place.into_parent for place in report.places[:-1]}
    assert weights["office"] is not None
    assert str(weights["office"].digits()) == "-1"
    assert weights["DE"] is None
    assert "weighted_rows" in codes(report)


def test_t75_a_formula_is_told_where_its_operands_share_the_dimensions(books: Door) -> None:
    report = books.statement("kpis", scenarios=A, period=JAN, dimensions=["entity", "centre"], subtotals=True)
    assert rows(report) == {
        "DE": [50, 4, Decimal("12.5")],
        "DE/c1": [30, 4, None],  # people have no cost centre: the headcount repeats, the ratio cannot be told
        "DE/c3": [20, 4, None],
        "FR": [150, 5, 30],
        "FR/c1": [100, 5, None],
        "FR/c2": [50, 5, None],
        "IT": [None, 1, None],
        "": [200, 10, 20],
    }
    note = next(note for note in report.notes if note.code == "not_computable")
    assert dict(note.about)["members"] == ("DE/*", "FR/*")


@pytest.mark.parametrize(("scenarios", "period"), [(A, (JAN, FEB)), (BOTH, JAN)])
def test_t75_the_rows_behind_a_parent_make_it(books: Door, scenarios: dict[str, str], period: Any) -> None:
    for dimensions in (["entity", "centre"], ["entity", "tree"], ["entity", "month"], ["month", "tree"]):
        report = of(books, "revenue", dimensions=dimensions, scenarios=scenarios, period=period)
        tie(books, report)


def test_t76_top_keeps_the_largest_of_every_group_and_folds_its_others(books: Door) -> None:
    report = of(books, "revenue", "price", "customers", order_by="revenue", top=1)
    found = rows(report)
    assert found == {
        "FR": [150, Decimal("13.6363636363636"), 1],
        "FR/c1": [100, 10, 1],
        "FR/(others)": [50, 50, 1],
        "(others)": [50, 5, 2],
        "(others)/c1": [30, 5, 1],
        "(others)/(others)": [20, 5, 1],
        "": [200, Decimal("9.52380952380952"), 2],
    }
    assert list(found) == ["FR", "FR/c1", "FR/(others)", "(others)", "(others)/c1", "(others)/(others)", ""]
    assert [place.holds for place in report.places] == [None, None, 1, 1, None, 1, None]


def test_t76_every_group_is_ordered_and_periods_stay_in_order(books: Door) -> None:
    assert list(rows(of(books, "revenue", order_by="revenue", asc=True))) == [
        *("DE", "DE/c3", "DE/c1"),
        *("FR", "FR/c2", "FR/c1"),
        "",
    ]
    by_month = rows(of(books, "revenue", dimensions=["entity", "month"], period=(JAN, FEB), top=1))
    assert {path: values[0] for path, values in by_month.items()} == {
        "FR": 190,
        "FR/2021-01": 150,
        "FR/2021-02": 40,
        "(others)": 50,
        "(others)/2021-01": 50,
        "(others)/2021-02": None,
        "": 240,
    }


def test_t76_the_rows_behind_folded_groups_make_them(books: Door) -> None:
    for dimensions in (["entity", "centre"], ["entity", "tree"], ["tree", "entity"], ["entity", "month"]):
        tie(books, of(books, "revenue", dimensions=dimensions, scenarios=BOTH, top=1))


@pytest.mark.parametrize(
    ("dimensions", "said", "example"),
    [
        ([], "dimensions names none", ["entity", "centre"]),
        (["centre"], "dimensions names 'centre'", ["centre", "entity"]),
    ],
)
def test_subtotals_of_fewer_than_two_dimensions_are_refused_with_an_example(
    books: Door, dimensions: list[str], said: str, example: list[str]
) -> None:
    with pytest.raises(BadArguments, match=said) as refused:
        of(books, "revenue", dimensions=dimensions)
    repaired = refused.value.as_data()["example"]
    assert repaired == {"dimensions": example, "subtotals": True}
    assert rows(of(books, "revenue", dimensions=repaired["dimensions"]))


def test_an_answer_cut_to_its_budget_loses_the_deepest_rows_first(books: Door) -> None:
    report = of(books, "revenue", dimensions=["entity", "centre", "customer"])
    depths = []
    for budget in range(200, 900, 20):
        with suppress(BadArguments):
            result = answer(report, budget)
            depths.append([row["level"] for row in result["rows"][:-1]])
            assert len(result["rows"]) + result.get("agent_truncated", {}).get("members", 0) == len(report.places)
    assert {tuple(sorted(set(found))) for found in depths} >= {(0,), (0, 1), (0, 1, 2)}
    for found in depths:
        deepest = max(found, default=0)
        above = [place for place in report.places[:-1] if report.depth(place) < deepest]
        assert sum(level < deepest for level in found) == len(above)


def test_a_summary_has_the_total_alone_and_the_dataset_tells_the_levels_apart(books: Door) -> None:
    report = of(books, "revenue", scenarios=BOTH)
    (row,) = summary(report, NOT_KEPT)["rows"]
    assert row["values"] == [200, 115, 85]
    frame = report.frame.filter(pl.col("scenario") == "actual")
    by_level = frame.group_by("breakdown_level").agg(pl.col("value").sum()).sort("breakdown_level")
    assert by_level["value"].to_list() == [200, 200, 200]
    assert schema_of(report)["breakdown_level"] == pl.UInt32


def test_a_chart_of_the_result_draws_what_adds_up_alone(books: Door) -> None:
    frame = drawn_as_it_is(ChartSpec(chart_type="bar", title="Revenue"), of(books, "revenue")).frame
    assert frame["value"].sum() == 200
    assert frame.height == 4


def test_a_workbook_outlines_what_stands_below_a_subtotal(books: Door) -> None:
    sheet = report_sheet(of(books, "revenue"))
    rows_of_sheet = list(sheet.rows)
    assert [row.level for row in rows_of_sheet] == [0, 1, 1, 0, 1, 1, 0]
    assert [row.cells[0].value for row in rows_of_sheet][:2] == ["DE", "DE"]
    assert rows_of_sheet[0].cells[0].look.style is Style.SUBTOTAL


def test_a_kept_report_of_an_earlier_release_opens_without_subtotals(books: Door) -> None:
    report = books.metric("revenue", scenarios=A, period=JAN, dimensions=["entity"])
    header, table = read(keep(report))
    earlier = {name: value for name, value in header.items() if name != "subtotals"}
    aside = {name: earlier.pop(name) for name in ("places", "lines")}
    reopened = opened(write(table, earlier, aside), books.reader)
    assert isinstance(reopened, Report)
    assert (reopened.subtotals, rows(reopened)) == (False, rows(report))


def test_subtotals_of_a_breakdown_answer_it_without_another_read(books: Door) -> None:
    asked: ReportArguments = {"scenarios": A, "period": (JAN, FEB), "dimensions": ["entity", "centre"]}
    reader = books.reader
    first = plan_metrics(metric_query(request_of(asked, subtotals=True), reader), reader)
    run(first)
    again = plan_metrics(metric_query(request_of(asked, subtotals=False), reader), reader)
    assert [batch.reads for batch in again.figures.batches] == [()]


def request_of(asked: ReportArguments, *, subtotals: bool) -> MetricRequest:
    """Return a request for the units sold."""
    return MetricRequest(metrics=("sold",), **fields({**asked, "subtotals": subtotals}))
