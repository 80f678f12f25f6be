"""Finance case T80: rows without a date are asked for alone; their figures are those of flows, and their rows tie.

Rules: Rows without a date.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadPeriod, DimensionUnavailable, Refusal
from engine.present.answers.full_reports import freshness_json, full_period_json
from engine.present.answers.reports import short_freshness
from tests.support.answers.drills import exactly
from tests.support.books.inspected import ledger, rows_of
from tests.support.books.small import codes, figure, figures

UNDATED = "(undated)"
FACTS = """\
2021-01-05 actual Sales E1 J1 100 dated
- actual Sales E1 J1 1000 a
- actual Sales E2 J2 0.25 b
- actual Returns E1 J3 30.5 c
- actual Discounts E2 J3 -4 d
- actual Heads E2 J3 6 e
- budget Sales E1 - 7 f
2021-02-05 budget Sales E2 - 8 dated"""
A = {"A": "actual"}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A ledger with five actual rows and one budgeted row without a date."""
    return ledger(tmp_path_factory.mktemp("undated"), FACTS)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("total", "1032.75"),  # 1000 + 0.25 + 30.5 - 4 + 6
        ("net_sales", "973.75"),  # 1000 + 0.25 - 30.5 + 4; heads weigh 0
        ("negated", "-30.5"),
        ("half", "486.875"),
        ("adjusted", "989"),  # 973.75 + 30.5 / 2
        ("postings", "5"),
        ("accounts", "4"),
        ("least", "-4"),
        ("mean", "206.55"),  # 1032.75 / 5
    ],
)
def test_t80_flows_counts_and_extremes_are_those_of_the_undated_rows(books: Door, metric: str, expected: str) -> None:
    report = books.metric(metric, scenarios=A, period=UNDATED)
    assert str(figure(report)) == expected
    assert "undated" in codes(report)
    assert full_period_json(report.period) == {"start": UNDATED, "end": UNDATED, "label": UNDATED}


def test_t80_filters_breakdowns_and_variances_hold_them_too(books: Door) -> None:
    columns = {**A, "V": "var(actual,budget)"}
    by_entity = books.metric("total", scenarios=columns, period=UNDATED, dimensions=["entity"])
    assert figures(by_entity, "alias", "entity") == {
        ("A", "E1"): exactly("1030.5"),
        ("A", "E2"): exactly("2.25"),
        ("A", None): exactly("1032.75"),
        ("V", "E1"): exactly("1023.5"),
        ("V", "E2"): exactly("2.25"),  # nothing is budgeted for it
        ("V", None): exactly("1025.75"),
    }
    assert figure(books.metric("total", scenarios=A, period=UNDATED, filters={"entity": "E2"})) == exactly("2.25")


@pytest.mark.parametrize("metric", ["closing", "opening", "known", "to_date", "monthly"])
def test_t80_balances_have_no_figure_without_a_date(books: Door, metric: str) -> None:
    report = books.metric(metric, scenarios=A, period=UNDATED)
    assert figure(report) is None
    assert "a balance is that of a day, and these rows have no date" in " ".join(note.message for note in report.notes)
    with pytest.raises(DimensionUnavailable, match="these rows have no date"):
        rows_of(books, period_start=UNDATED, filters={"metric": metric})


@pytest.mark.parametrize("scenario", ["actual@py", "actual@ytd", "actual+budget"])
def test_t80_shifts_and_blends_are_blank(books: Door, scenario: str) -> None:
    report = books.metric("total", scenarios={"X": scenario}, period=UNDATED)
    assert figure(report) is None
    assert "no_window" in codes(report)


@pytest.mark.parametrize("metric", ["total", "net_sales", "adjusted", "postings", "least", "mean", "accounts"])
def test_t80_the_rows_of_a_figure_make_it(books: Door, metric: str) -> None:
    shown = rows_of(books, period_start=UNDATED, filters={"metric": metric, "entity": "E2"}, columns=("text",))
    report = books.metric(metric, scenarios=A, period=UNDATED, filters={"entity": "E2"})
    total, divisor = (Decimal(str(shown.get(key, 1))) for key in ("contribution_total", "divisor"))
    assert total / divisor == figure(report)
    assert {row[0] for row in shown["rows"]} <= {"b", "d", "e"}
    assert shown["period"] == {"start": UNDATED, "end": UNDATED}
    assert shown["days_read"] == []
    assert [note["code"] for note in shown["notes"]] == ["undated"]


def test_t80_no_figure_of_a_period_counts_them(books: Door) -> None:
    report = books.metric("total", scenarios=A, period=("1990", "2150"))
    assert figure(report) == 100
    assert "undated" not in codes(report)


def test_t80_freshness_has_their_number_and_amount_in_each_scenario(books: Door) -> None:
    fresh = books.metric("total", scenarios={**A, "B": "budget"}, period="2021-01").freshness
    assert short_freshness(fresh)["gl"] == {
        "actual": {"through": "2021-01-05", "undated": 5, "undated_amount": 1032.75},
        "budget": {"through": "2021-02-05", "undated": 1, "undated_amount": 7},
    }
    whole = freshness_json(fresh)["gl"]
    assert [(known["undated"], known["undated_amount"]) for known in whole.values()] == [(5, 1032.75), (1, 7)]


def test_t80_figures_and_freshness_lie_inside_the_scope(tmp_path: Path) -> None:
    profile = "seen: {scenarios: {'*': {dimensions: {entity: {allow: [E2]}}}}}"
    seen = ledger(tmp_path, FACTS, profile="seen", profiles=profile)
    report = seen.metric("total", scenarios={**A, "V": "var(actual,budget)"}, period=UNDATED)
    assert figures(report, "alias") == {"A": exactly("2.25"), "V": None}  # no budgeted row without a date is visible
    assert short_freshness(report.freshness)["gl"] == {
        "actual": {"through": None, "undated": 3, "undated_amount": 2.25},
        "budget": "2021-02-05",
    }


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"period": ("2021-01", UNDATED)}, "rows without a date lie in no range of periods. Ask for them alone"),
        ({"period": (UNDATED, "2021-01")}, "rows without a date lie in no range of periods. Ask for them alone"),
        ({"dimensions": ["period"]}, "no periods to break down by. Leave period out of dimensions"),
        ({"filters": {"month": "2021-01"}}, "filters.month keeps periods, and rows without a date lie in none. Leave"),
        ({"period": "2021", "filters": {"period": UNDATED}}, "Ask for them by period_start"),
    ],
)
def test_t80_they_stand_in_no_range_and_beside_no_period(books: Door, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(Refusal, match=message):
        books.metric("total", scenarios=A, **{"period": UNDATED, **asked})


def test_t80_a_domain_that_rejects_them_says_so(books: Door) -> None:
    with pytest.raises(BadPeriod, match="people keeps no rows without a date"):
        books.metric("headcount", scenarios=A, period=UNDATED)
