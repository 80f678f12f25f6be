"""Data by week, quarter or year: where its balances close, and which windows it has.

Rules: Over time, Time.
"""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from engine.door import Door
from engine.model.errors import GrainUnavailable
from engine.present.answers.catalogue import scenario_json
from tests.spec.test_cases_time import daily, of
from tests.support.books.calendars import four_four_five, table
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, figure, figures, small_books

A = {"A": "actual"}
FOUR_WEEKS = table(date(2023, 12, 11), dict.fromkeys((2024, 2025), (4,) * 13), by_week=True)
TRADING = table(date(2026, 2, 1), {2026: four_four_five()}, by_week=True)
WEEKLY = "2026-W06 100,2026-W07 110,2026-W08 120,2026-W09 130"
QUARTERLY = "2025-Q3 70,2025-Q4 80,2026-Q1 100,2026-Q2 120"


def balances(folder: Path, rows: str, grain: str, declared: str = "", **more: str) -> Door:
    """One balance of two products by a grain, and the ways that it closes."""
    dated = "\n".join(
        f"{day} actual {product} {int(amount) * share}"
        for day, amount in (row.split() for row in rows.split(","))
        for product, share in (("P", 1), ("Q", 10))
    )
    return small_books(
        folder,
        facts={"gl": f"date scenario product amount\n{dated}"},
        domains={
            "gl": f"""
            time: {{column: date, grain: {grain}}}
            dimensions: {{product: product}}
            measures: {{amount: {{places: 2}}}}
            {declared}
            inspect_enabled: true
            metrics:
              balance: {{measure: amount, over_time: closing, where: {{product: P}}}}
              opening: {{measure: amount, over_time: opening, where: {{product: P}}}}
              known: {{measure: amount, over_time: {{last_known: always}}, where: {{product: P}}}}
              mean: {{measure: amount, over_time: {{average: {{of: {grain}}}}}, where: {{product: P}}}}
              both: {{measure: amount, over_time: closing}}
            """
        },
        dimensions="product: {kind: leaf}",
        **more,
    )


GROUP = "balances: {bs: {where: {product: [P, Q]}}}"


@pytest.mark.parametrize("declared", ["", GROUP])
@pytest.mark.parametrize(
    ("grain", "rows", "period", "expected"),
    [
        ("week", WEEKLY, ("2026-W06", "2026-W09"), (130, None, 130, 115)),
        ("week", WEEKLY, ("2026-W07", "2026-W08"), (120, 100, 120, 115)),
        ("week", "2026-W06 100,2026-W07 110", ("2026-W07", "2026-W09"), (110, 100, 110, 110)),
        ("quarter", QUARTERLY, "2026", (120, 80, 120, 110)),
        ("quarter", QUARTERLY, ("2025-Q4", "2026-Q2"), (120, 70, 120, 100)),
        ("year", "2024 7,2025 9", ("2024", "2025"), (9, None, 9, 8)),
        ("trading_week", "TY2026-W01 3,TY2026-W02 5,TY2026-W05 8", ("TY2026-W01", "TY2026-W04"), (5, None, 5, 4)),
    ],
)
def test_balances_close_by_the_grain_of_their_data(
    tmp_path: Path, grain: str, rows: str, period: str | tuple[str, str], expected: tuple[int, ...], declared: str
) -> None:
    books = balances(tmp_path, rows, grain, declared, trading=TRADING)
    keys = ("balance", "opening", "known", "mean")
    report = books.metric(*keys, "both", scenarios=A, period=period)
    found = figures(report, "metric")
    assert tuple(found[key] for key in keys) == expected
    assert found["both"] == expected[0] * 11
    start, end = (period, period) if isinstance(period, str) else period
    asked = {"source_key": "gl", "scenario_id": "actual", "period_start": start, "period_end": end}
    assert rows_of(books, **asked, filters={"metric": "both"})["contribution_total"] == expected[0] * 11


def test_weeks_whose_group_was_declared_by_month_close_by_week(tmp_path: Path) -> None:
    books = balances(tmp_path, WEEKLY, "week", "balances: {bs: {where: {product: [P, Q]}, grain: month}}")
    report = books.metric("balance", scenarios=A, period=("2026-W06", "2026-W09"))
    assert figure(report) == 130
    (said,) = [note.message for note in report.notes if note.code == "anchor"]
    assert "2026-W09" in said


def test_a_window_of_whole_weeks_is_available_whatever_period_asks_for_it(tmp_path: Path) -> None:
    rows = (
        "2024-W03 1,2024-W04 10,2024-W05 100,2024-W08 1000"  # week 4 begins on 1 January 2024, week 8 ends in February
    )
    books = daily(tmp_path, rows, grain="week", calendar=FOUR_WEEKS)
    assert of(books, "2024-02", "actual@cytd") == of(books, "2024-W08", "actual@cytd") == 1110
    assert of(books, "2024-02", "actual@cqtd") == 1110
    assert of(books, "2024-02", "actual@ytd") == 1111
    report = books.metric("revenue", scenarios={"X": "actual@cytd"}, period="2025-02")  # 1 January 2025 is no Monday
    assert figure(report) is None
    assert "unavailable" in codes(report)
    by_month = books.metric(
        "revenue", scenarios={"X": "actual@cytd"}, period=("2024-01", "2024-02"), dimensions=["period"]
    )
    assert figures(by_month, "period") == {"2024-01": 10, "2024-02": 1110, None: 1110}


def test_a_window_of_whole_quarters_of_another_year_is_available_to_data_by_quarter(tmp_path: Path) -> None:
    books = daily(tmp_path, "2026-Q2 1,2026-Q3 10,2026-Q4 100,2027-Q1 1000", "{starts: 7}", grain="quarter")
    assert of(books, "2026-Q4", "actual@cytd") == 110  # January to June 2026
    assert of(books, "2026-Q4", "actual@cqtd") == 100
    assert of(books, "2026-Q4", "actual@cy") == 1110
    yearly = daily(tmp_path / "years", "2026 7", "{starts: 7}", grain="year")
    assert of(yearly, "2026", "actual@cytd") is None


def test_rows_of_a_window_of_whole_weeks_are_inspected(tmp_path: Path) -> None:
    books = balances(tmp_path, "2024-W03 1,2024-W04 10,2024-W08 1000", "week", calendar=FOUR_WEEKS)
    filters = {"metric": "balance", "scenario": "actual@cytd"}
    asked = {"source_key": "gl", "scenario_id": "actual", "filters": filters}
    assert rows_of(books, period_start="2024-02", **asked)["contribution_total"] == Decimal(1000)
    with pytest.raises(GrainUnavailable, match="gl is held by week"):
        rows_of(books, period_start="2025-02", **asked)


CLOSED_FEBRUARY = "closed_through: 2026-02"
OUTLOOK = {"Outlook": "actual+forecast"}


def two_scenarios(folder: Path, grain: str, closed: str, rows: str) -> Door:
    """One measure by a grain and another by day, of actuals that are closed through some period, and a forecast."""
    domain = """
        time: {{column: date, grain: {}}}
        dimensions: {{}}
        measures: {{amount: {{places: 2}}}}
        metrics: {{{}: {{measure: amount}}}}
    """
    return small_books(
        folder,
        facts={
            "gl": "\n".join(["date scenario amount", *rows.split(",")]),
            "daily": "date scenario amount\n2026-02-27 actual 1\n2026-02-28 actual 2\n2026-03-01 forecast 4",
        },
        domains={"gl": domain.format(grain, "revenue"), "daily": domain.format("day", "visits")},
        scenarios=f"""
            actual: {{alias: Actuals, kind: actual, {closed}}}
            forecast: {{alias: Forecast, kind: forecast}}
        """,
    )


@pytest.mark.parametrize(
    ("grain", "closed", "rows", "asked", "expected", "last_closed"),
    [
        (
            "quarter",
            "closed_through: 2025-02",
            "2025-Q1 actual 20,2025-Q1 forecast 30,2025-Q2 forecast 40",
            ("2025-Q1", "2025-Q2"),
            (30, 40),
            "2024-12-31",
        ),
        (
            "week",
            CLOSED_FEBRUARY,  # a Saturday, so that week 9 goes on to 1 March
            "2026-W08 actual 1,2026-W08 forecast 10,2026-W09 actual 100,2026-W09 forecast 1000",
            ("2026-W08", "2026-W09"),
            (1, 1000),
            "2026-02-22",
        ),
        (
            "year",
            "closed_through: {gl: 2026-06, daily: 2026-02}",
            "2025 actual 1,2025 forecast 10,2026 actual 100,2026 forecast 1000",
            ("2025", "2026"),
            (1, 1000),
            "2025-12-31",
        ),
        (
            "month",
            CLOSED_FEBRUARY,
            "2026-02 actual 1,2026-02 forecast 10,2026-03 actual 100,2026-03 forecast 1000",
            ("2026-02", "2026-03"),
            (1, 1000),
            "2026-02-28",
        ),
    ],
)
def test_a_period_of_the_data_that_closed_through_cuts_is_not_closed(
    tmp_path: Path,
    grain: str,
    closed: str,
    rows: str,
    asked: tuple[str, str],
    expected: tuple[int, int],
    last_closed: str,
) -> None:
    books = two_scenarios(tmp_path, grain, closed, rows)
    report = books.metric("revenue", scenarios=OUTLOOK, period=asked, dimensions=["period"])
    assert figures(report, "period") == dict(zip((*asked, None), (*expected, sum(expected)), strict=True))
    scenario = books.reader.scenarios["actual"]
    assert str(scenario.open_after("gl")) == last_closed
    listed = scenario_json(scenario, books.reader)["closed_through"]
    assert listed.get("gl", listed.get("*")) == last_closed


def test_data_by_day_is_closed_through_the_day_itself(tmp_path: Path) -> None:
    books = two_scenarios(tmp_path, "quarter", CLOSED_FEBRUARY, "2025-Q4 actual 1")
    assert figure(books.metric("visits", scenarios=OUTLOOK, period="2026-Q1")) == 7
    assert "open_period" not in codes(books.metric("visits", scenarios={"A": "actual"}, period="2026-02"))
