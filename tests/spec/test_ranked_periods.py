"""Periods that a condition or `top` leaves out: one row holds them, of what adds up over time.

The figures come from the rows below, added up in fractions.

Rules: Conditions, Ranking.
"""

from collections.abc import Collection, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.requests import Condition
from engine.report.report import Report
from engine.report.snapshots import keep, opened
from tests.spec.test_views import of
from tests.support.answers.drills import calls
from tests.support.answers.reader import answer
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, small_books

ROWS = (  # month, region, customer, amount, units
    ("2026-01", "EU", "A", 100, 10),
    ("2026-01", "US", "B", 20, 1),
    ("2026-02", "EU", "A", 50, 5),
    ("2026-03", "EU", "C", 300, 20),
    ("2026-03", "US", "B", 7, 1),
    ("2026-05", "US", "B", 40, 4),
    ("2026-06", "EU", "A", -10, 1),
)
BEDS = {"2026-01-31": 5, "2026-02-28": 7, "2026-03-31": 3, "2026-04-30": 9, "2026-05-31": 2, "2026-06-30": 4}
MONTHS = [f"2026-0{month}" for month in range(1, 7)]
SALES = {month: sum(row[3] for row in ROWS if row[0] == month) for month in dict.fromkeys(row[0] for row in ROWS)}
HALF: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": ("2026-01", "2026-06"), "dimensions": ["month"]}
ABOVE = Condition(column="revenue@A", min=50.0)


@pytest.fixture
def clinic(tmp_path: Path) -> Door:
    """Fees of a clinic by region and customer over six months, April without any, and beds at each close."""
    closes = "\n".join(f"{day} actual EU {held}" for day, held in BEDS.items())
    facts = "\n".join(f"{row[0]}-10 actual {' '.join(map(str, row[1:]))}" for row in ROWS)
    return small_books(
        tmp_path,
        facts={
            "gl": f"date scenario region customer amount units\n{facts}",
            "ward": f"date scenario region beds\n{closes}",
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {region: region, customer: customer}
            measures: {amount: {places: 2}, units: {places: 0, type: number}}
            inspect_enabled: true
            metrics:
              revenue: {measure: amount, favourable: up}
              sold: {measure: units}
              price: {formula: revenue / sold}
              customers: {over_members: {count_distinct: customer}}
              middle: {measure: amount, over_members: median}
              average: {measure: amount, over_time: {average: {of: month}}}
              daily: {formula: revenue / days(period)}
            """,
            "ward": """
            time: {column: date}
            dimensions: {region: region}
            measures: {beds: {places: 0, type: number}}
            inspect_enabled: true
            metrics:
              held: {measure: beds, over_time: closing}
            """,
        },
        dimensions="""
            region: {kind: leaf}
            customer: {kind: leaf}
            month: {kind: leaf, grain: month}
            quarter: {kind: leaf, grain: quarter}
        """,
    )


def among(months: Collection[str], region: str = "") -> Iterator[tuple[Any, ...]]:
    """Yield the rows of some months, perhaps of one region."""
    return (row for row in ROWS if row[0] in months and region in ("", row[1]))


def others_of(report: Report) -> tuple[int | None, int | None]:
    """Return how many periods the others hold, and how many of these do not meet the conditions."""
    row = next(place for place in report.places if place.members and place.members[0].id == "(others)")
    return row.holds, row.unmet


def test_periods_that_meet_a_condition_stand_in_time_before_the_others(clinic: Door) -> None:
    report = clinic.metric("revenue", having=[ABOVE], **HALF)
    assert of(report) == {"2026-01": 120, "2026-02": 50, "2026-03": 307, "(others)": 30, "total": 507}
    assert others_of(report) == (3, 3)  # April has no rows, and May and June less
    assert not report.ranked
    best = clinic.metric("revenue", having=[ABOVE], order_by="revenue", top=1, **HALF)
    assert of(best) == {"2026-03": 307, "(others)": 200, "total": 507}
    assert others_of(best) == (5, 3)
    worst = clinic.metric("revenue", order_by="revenue", asc=True, top=2, **HALF)
    assert of(worst) == {"2026-06": -10, "2026-05": 40, "(others)": 477, "total": 507}
    assert others_of(worst) == (4, None)
    nobody = clinic.metric("revenue", having=[Condition(column="A", min=1000.0)], **HALF)
    assert of(nobody) == {"(others)": 507, "total": 507}
    blank = clinic.metric("revenue", having=[Condition(column="A", is_="missing")], **HALF)
    assert of(blank) == {"2026-04": None, "(others)": 507, "total": 507}


def test_what_is_computed_of_sums_is_computed_of_the_others_together(clinic: Door) -> None:
    metrics = ("revenue", "price", "customers", "middle", "daily")
    report = clinic.metric(*metrics, order_by="revenue", top=1, **HALF)
    rest = list(among({*MONTHS} - {"2026-03"}))
    amounts = sorted(Fraction(row[3]) for row in rest)
    assert [of(report, 0, line)["(others)"] for line in range(len(metrics))] == [
        sum(amounts),
        sum(amounts) / sum(row[4] for row in rest),
        len({row[2] for row in rest}),
        amounts[len(amounts) // 2],
        sum(amounts) / (31 + 28 + 30 + 31 + 30),
    ]


def test_balances_and_windows_are_counted_and_not_summed(clinic: Door) -> None:
    beds = clinic.metric("held", having=[Condition(column="held", min=5.0)], **HALF)
    assert of(beds) == {"2026-01": 5, "2026-02": 7, "2026-04": 9, "(others)": None, "total": 4}
    assert others_of(beds) == (3, 3)
    (note,) = (note for note in beds.notes if note.code == "no_others")
    assert note.message == ("'(others)' is blank: balances and windows do not add up over periods.")
    asked = {**HALF, "scenarios": {"A": "actual", "To date": "actual@ytd", "Mean": "actual@avg2"}}
    report = clinic.metric("revenue", "average", top=2, **asked)
    assert [of(report, column)["(others)"] for column in range(3)] == [80, None, None]
    assert of(report, 0, 1)["(others)"] is None
    assert of(report, 1)["total"] == 507
    told = [dict(note.about)["members"] for note in report.notes if note.code == "no_others"]
    assert set(told) == {("(others)",)}


def test_an_earlier_window_of_the_others_is_that_of_each_of_them(clinic: Door) -> None:
    asked = {**HALF, "scenarios": {"A": "actual", "Before": "actual@pp", "Change": "var(actual,actual@pp)"}}
    report = clinic.metric("revenue", order_by="revenue@A", top=1, **asked)
    before = sum(SALES.get(month, 0) for month in ("2026-01", "2026-03", "2026-04", "2026-05"))  # of Feb, Apr to Jun
    assert [of(report, column)["(others)"] for column in range(3)] == [200, before, 200 - before]


@pytest.mark.parametrize("nests", [False, True])
def test_a_second_dimension_is_whole_under_the_others(clinic: Door, nests: bool) -> None:
    asked = {**HALF, "dimensions": ["month", "region"], "subtotals": nests}
    report = clinic.metric("revenue", having=[ABOVE], order_by="revenue", top=1, **asked)
    rest = {*MONTHS} - {"2026-03"}
    expected = {
        **({"2026-03": 307} if nests else {}),
        "2026-03/EU": 300,
        "2026-03/US": 7,
        **({"(others)": 200} if nests else {}),
        **{f"(others)/{region}": sum(row[3] for row in among(rest, region)) for region in ("EU", "US")},
        "total": 507,
    }
    assert of(report) == expected
    assert others_of(report) == (5, 3)


def test_views_of_the_others(clinic: Door) -> None:
    views = {"A": "actual", "Share": "share(actual)", "Rank": "rank(actual)", "Sum": "running(actual)"}
    report = clinic.metric("revenue", order_by="revenue@A", top=2, **{**HALF, "scenarios": views})
    assert of(report, 1) == {
        "2026-03": Fraction(307, 507),
        "2026-01": Fraction(120, 507),
        "(others)": Fraction(80, 507),
        "total": 1,
    }
    assert list(of(report, 2).values()) == [1, 2, None, None]
    assert list(of(report, 3).values()) == [307, 427, 507, 507]
    first = clinic.metric("revenue", having=[Condition(column="Rank", max=2.0)], **{**HALF, "scenarios": views})
    assert list(of(first)) == ["2026-01", "2026-03", "(others)", "total"]
    above = clinic.metric("revenue", having=[Condition(column="A", min=100.0)], **{**HALF, "scenarios": views})
    assert of(above, 3) == {"2026-01": 120, "2026-03": 477, "(others)": 507, "total": 507}  # February is passed over
    late = clinic.metric("revenue", having=[Condition(column="Sum", min=400.0)], **{**HALF, "scenarios": views})
    assert list(of(late)) == ["2026-03", "2026-05", "2026-06", "(others)", "total"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"filters": {"month": {"exclude": ["2026-01"]}}},
        {"filters": {"quarter": ["2026-Q1"]}},
        {"period": ("2026-Q1", "2026-Q2")},
        {"dimensions": ["period"]},
        {"dimensions": ["quarter"], "filters": {"month": ["2026-04", "2026-05", "2026-06"]}},
        {"dimensions": ["month", "region"]},
        {"scenarios": {"A": "actual", "Before": "actual@pp"}},
    ],
)
def test_the_rows_behind_the_others_make_them(clinic: Door, more: dict[str, Any]) -> None:
    asked = {**HALF, **more}
    report = clinic.metric("revenue", having=[Condition(column="revenue@A", min=300.0)], **asked)
    result = answer(report, 100_000)
    rows = [row for row in result["rows"] if row["kind"] == "others"]
    assert rows
    for row in rows:
        for column, value in zip(result["columns"], row["values"], strict=True):
            for _, _, call in calls(row, column):
                assert (rows_of(clinic, **call)["contribution_total"] or 0) == (value or 0)
    again = opened(keep(report), clinic.reader)
    assert answer(again, 100_000) == result  # type: ignore[arg-type]  # what was kept is a report


def test_a_filter_on_time_is_among_what_the_others_leave_out(clinic: Door) -> None:
    asked = {**HALF, "filters": {"month": {"exclude": ["2026-01"]}}}
    report = clinic.metric("revenue", having=[ABOVE], **asked)
    assert of(report) == {"2026-02": 50, "2026-03": 307, "(others)": 30, "total": 387}
    others = report.drill.at(report.places[2].members)
    assert others == {
        "period_start": "2026-02",
        "period_end": "2026-06",
        "filters": {"month": {"exclude": ["2026-02", "2026-03"]}},
    }


def test_two_dimensions_of_time_are_refused_in_words(clinic: Door) -> None:
    with pytest.raises(BadArguments) as refusal:
        clinic.metric("revenue", top=1, **{**HALF, "dimensions": ["quarter", "month"]})
    told = refusal.value.as_data()
    assert (told["field"], told["example"]) == ("dimensions", {"dimensions": ["quarter"]})
    assert "that share their days" in told["error"]
    kept = clinic.metric("revenue", top=1, **{**HALF, **told["example"]})
    assert of(kept) == {"2026-Q1": 477, "(others)": 30, "total": 507}
    assert "no_others" not in codes(kept)
