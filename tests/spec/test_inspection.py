"""Inspection: rows as they stand, within limits, budget and scope.

Rules: Rows that tie.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments, BadPeriod, ColumnUnavailable, DimensionUnavailable, Refusal, UnknownName
from engine.model.requests import RowsRequest
from engine.present.answers.budget import tokens
from engine.present.answers.rows import rows_answer
from engine.queries.rows import row_query
from engine.report.inspection import inspect
from tests.support.answers.drills import exactly
from tests.support.books.inspected import CAP, FACTS, UNCUT, ledger, rows_of
from tests.support.books.small import small_books


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """The ledger."""
    return ledger(tmp_path_factory.mktemp("books"), FACTS)


def test_rows_without_a_figure_are_shown_as_they_stand(books: Door) -> None:
    found = rows_of(books, period_start="2021-02")
    assert found["rows"] == [
        ["2021-02-09", None, "E1", "J4", 7, "h"],
        ["2021-02-07", "Heads", "E2", "J3", 12, "f"],
        ["2021-02-08", "Sales", "E2", None, Decimal("40.5"), "g"],
    ]
    assert "contribution_total" not in found
    assert [column["type"] for column in found["columns"]] == ["date", "member", "member", "member", "number", "text"]


def test_rows_of_no_period_include_those_without_a_date(books: Door) -> None:
    found = rows_of(books, filters={"account": "Sales"}, columns=("date", "amount"))
    assert found["rows"][-1] == [None, 1000]
    assert len(found["rows"]) == 5
    dated = rows_of(books, filters={"metric": "total", "account": "Sales"})
    assert exactly(dated["contribution_total"]) == Decimal("220.51")


def test_rows_without_a_date_are_asked_for_as_such(books: Door) -> None:
    found = rows_of(books, filters={"month": "(unassigned)"}, columns=("date", "amount"))
    assert found["rows"] == [[None, 1000]]
    assert rows_of(books, filters={"period": "(unassigned)", "entity": "E2"})["rows"] == []


def test_python_users_read_rows_as_a_frame(books: Door) -> None:
    rows = books.rows("gl", scenario="actual", period="2021-01", filters={"metric": "net_sales"}, columns=["account"])
    assert rows.frame.rows() == [("Discounts", -3.0), ("Returns", -5.0), ("Sales", 100.0)]
    assert books.rows("gl", scenario="actual", period="2019", filters={"metric": "total"}).frame.is_empty()


def test_the_limit_is_that_of_the_server_at_most(books: Door) -> None:
    found = rows_of(books, period_start="2021", limit=2)
    assert (found["row_count"], found["truncated"]) == (2, True)
    reduced = rows_of(books, period_start="2021", limit=CAP + 1)
    assert [note["code"] for note in reduced["notes"]] == ["limit_reduced"]
    assert not reduced["truncated"]


def test_a_preview_within_its_budget_says_that_more_was_found(books: Door) -> None:
    query = row_query(RowsRequest(source_key="gl", scenario_id="actual"), books.reader, CAP)
    inspection = inspect(query, books.reader)
    found = rows_answer(inspection, tokens(rows_answer(inspection, UNCUT)) - 50)
    assert found["agent_truncated"] is True
    assert found["truncated"] is False
    assert 0 < len(found["rows"]) < found["row_count"] == 9


def test_a_mean_is_what_its_rows_contribute_over_a_divisor_that_is_said(books: Door) -> None:
    mean = rows_of(books, period_start="2021-01", filters={"metric": "mean"})
    assert [mean[key] for key in ("contribution_total", "divisor", "figure")] == [100 + 5 + 3, 3, 36]
    monthly = rows_of(books, period_start="2021-01", period_end="2021-03", filters={"metric": "monthly"})
    closes: list[int | Decimal] = [108, 12 + Decimal("40.5") + 7]  # of January and February; March has none
    assert exactly(monthly["contribution_total"]) == sum(closes)
    assert (monthly["divisor"], exactly(monthly["figure"])) == (2, sum(closes) / 2)
    assert "divisor" not in rows_of(books, period_start="2021-01", filters={"metric": "total"})


UNDATED = {"undated": 1, "undated_amount": 1000}


@pytest.mark.parametrize(
    ("asked", "loaded"),
    [  # the books of actual close with January
        ({"period_start": "2021-02"}, {"actual": {"through": "2021-02-09", "open": "2021-02", **UNDATED}}),
        ({"period_start": "2021-01"}, {"actual": {"through": "2021-02-09", **UNDATED}}),
        ({}, {"actual": {"through": "2021-02-09", "open": "2021-02-01..2021-02-09", **UNDATED}}),
        (
            {"scenario_id": "budget", "period_start": "2021-02", "filters": {"scenario": "budget@py"}},
            {"budget": "2021-02-05"},
        ),
    ],
)
def test_rows_say_how_far_they_are_loaded_and_which_periods_are_open(
    books: Door, asked: dict[str, Any], loaded: dict[str, Any]
) -> None:
    assert rows_of(books, **asked)["freshness"] == {"gl": loaded}


def test_t40_what_lies_below_a_weight_of_zero_is_not_seen_from_above(books: Door) -> None:
    asked: dict[str, Any] = {"period_start": "2021-02", "columns": ("account", "amount")}
    assert [row[0] for row in rows_of(books, **asked)["rows"]] == [None, "Heads", "Sales"]
    for seen_from_above in ({"metric": "net_sales"}, {"tree": "Net"}, {"tree": "(all)", "account": ("Sales", "Heads")}):
        assert [row[0] for row in rows_of(books, filters=seen_from_above, **asked)["rows"]] == ["Sales"]


def test_a_scenario_that_is_not_there_has_no_rows_and_a_note(books: Door) -> None:
    found = rows_of(books, scenario_id="forecast", period_start="2021", filters={"metric": "total"})
    assert (found["scenario_id"], found["rows"], found["contribution_total"]) == ("forecast", [], None)
    assert [note["code"] for note in found["notes"]] == ["unknown_scenario"]


def test_a_scenario_to_compare_with_that_is_not_there_is_noted(books: Door) -> None:
    found = rows_of(books, period_start="2021-01", filters={"metric": "total", "compared_with": ("budget", "nobody")})
    assert [note["code"] for note in found["notes"]] == ["unknown_scenario"]
    assert found["contribution_total"] == 108


@pytest.mark.parametrize(
    ("asked", "refusal", "says"),
    [
        ({"source_key": "sales"}, UnknownName, "list_inspection_sources lists them"),
        ({"columns": ("date", "salary")}, ColumnUnavailable, "gl shows no 'salary'"),
        ({"columns": ()}, ColumnUnavailable, "leave it out"),
        ({"limit": 0}, BadArguments, "limit 0 is below 1"),
        ({"scenario_id": "actual+budget"}, BadArguments, "inspect each of its scenarios in a call of its own"),
        ({"scenario_id": "var(actual,budget@py)"}, BadArguments, "inspect actual, then budget@py, in a call each"),
        ({"scenario_id": "actual@py", "filters": {"scenario": "actual@ytd"}}, BadArguments, "is no view of actual@py"),
        ({"filters": {"scenario": "budget@py"}}, BadArguments, "is no view of actual"),
        ({"filters": {"metric": ("total", "half")}}, BadArguments, "takes one value"),
        ({"filters": {"metric": "profit"}}, UnknownName, "a metric key of list_kpis, or statement.line"),
        ({"filters": {"metric": "pnl.profit"}}, UnknownName, "run_statement shows the lines"),
        ({"filters": {"metric": "share"}}, BadArguments, "Inspect each of them in a call of its own: negated, net"),
        ({"filters": {"metric": "headcount"}}, BadArguments, "made of rows of people, not of gl"),
        ({"filters": {"metric": "accounts", "tree": "Net"}}, DimensionUnavailable, "cannot be weighed"),
        ({"filters": {"product": "P"}}, UnknownName, "list_dimensions lists them"),
        ({"source_key": "people", "filters": {"account": "Sales"}}, DimensionUnavailable, "has no account"),
        ({"source_key": "people", "period_start": "2021-01-05"}, Refusal, "Ask by month"),
        ({"period_start": "2021-13"}, BadPeriod, "no such month"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_ask_instead(
    books: Door, asked: dict[str, Any], refusal: type[Refusal], says: str
) -> None:
    with pytest.raises(refusal) as refused:
        rows_of(books, **asked)
    assert says in refused.value.error


def test_scope_cuts_rows_contributions_and_totals(tmp_path: Path) -> None:
    books = ledger(
        tmp_path, FACTS, profile="seen", profiles="seen: {scenarios: {actual: {dimensions: {entity: {allow: [E1]}}}}}"
    )
    found = rows_of(books, period_start="2021-01", filters={"metric": "net_sales"}, columns=("entity", "amount"))
    assert found["rows"] == [["E1", 5, -5], ["E1", 100, 100]]
    assert found["contribution_total"] == 95
    assert rows_of(books, period_start="2021-01", filters={"entity": "E2"})["rows"] == []
    assert rows_of(books, scenario_id="budget", period_start="2021-01")["rows"] == []


def test_a_row_counts_in_the_terms_alone_whose_days_it_has(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={
            "gl": "date scenario amount\n2020-12-31 actual 100\n2021-01-31 actual 105\n2021-02-28 actual 85\n"
            "2021-03-31 actual 90"
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              flow: {measure: amount}
              closing: {measure: amount, over_time: closing}
              opening: {measure: amount, over_time: opening}
              movement: {formula: closing - opening}
              both: {formula: flow + closing}
            """
        },
    )
    asked: dict[str, Any] = {"period_start": "2021-Q1", "columns": ("date", "amount")}
    movement = rows_of(books, filters={"metric": "movement"}, **asked)
    assert movement["rows"] == [["2020-12-31", 100, -100], ["2021-03-31", 90, 90]]
    assert movement["contribution_total"] == -10
    both = rows_of(books, filters={"metric": "both"}, **asked)
    assert [row[2] for row in both["rows"]] == [105, 85, 180]
    assert both["contribution_total"] == 370
