"""Finance case T77: trading years of weeks, with codes of their own, beside months and fiscal years.

Rules: Time.
"""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadPeriod, DimensionUnavailable, GrainUnavailable
from tests.spec.test_cases_calendars import ROWS, total
from tests.spec.test_cases_time import daily, of
from tests.support.books.calendars import four_four_five, table
from tests.support.books.small import codes, figures, small_books

A = {"A": "actual"}
WEEKS = table(
    date(2024, 1, 28), {2024: four_four_five(), 2025: four_four_five(53), 2026: four_four_five()}, by_week=True
)
THIRTEEN = table(date(2024, 3, 31), dict.fromkeys((2025, 2026), (4,) * 13), quarters=False)


@pytest.fixture(scope="module", name="retail")
def february_year_with_weeks(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A fiscal year of months from February, and one of weeks: 4-4-5, of which 2025 has 53."""
    return daily(tmp_path_factory.mktemp("retail"), ROWS, "{starts: 2, named_by: start}", trading=WEEKS)


@pytest.fixture(scope="module", name="thirteen")
def april_year_with_thirteen_periods(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A fiscal year of months from April, and one of thirteen periods of four weeks."""
    return daily(tmp_path_factory.mktemp("thirteen"), ROWS, "{starts: 4}", trading=THIRTEEN)


def weeks(first: str, before: int, count: int) -> int:
    """Return the sum of some weeks of a year whose first day is given."""
    begin = date.fromisoformat(first) + timedelta(weeks=before)
    return total(str(begin), str(begin + timedelta(weeks=count, days=-1)))


@pytest.mark.parametrize(
    ("period", "scenario", "expected"),
    [
        ("TY2026", "actual", weeks("2026-02-01", 0, 52)),
        ("TY2025", "actual", weeks("2025-01-26", 0, 53)),
        ("TY2026-Q2", "actual", weeks("2026-02-01", 13, 13)),
        ("TY2026-P03", "actual", weeks("2026-02-01", 8, 5)),
        ("TY2025-P12", "actual", weeks("2025-01-26", 47, 6)),
        ("TY2026-W14", "actual", weeks("2026-02-01", 13, 1)),
        (("TY2025-P12", "TY2026-P01"), "actual", weeks("2025-01-26", 47, 10)),
        ("TY2026-P03", "actual@py", weeks("2025-01-26", 8, 5)),
        ("TY2026-P01", "actual@pp", weeks("2025-01-26", 47, 6)),
        ("TY2026-P03", "actual@ytd", weeks("2026-02-01", 0, 13)),
        ("TY2026-P03", "actual@ytd@py", weeks("2025-01-26", 0, 13)),
        ("TY2026-P05", "actual@qtd", weeks("2026-02-01", 13, 8)),
        ("TY2026-P01", "actual@ltm", weeks("2025-01-26", 4, 53)),
        ("TY2026-P01", "actual@fy", weeks("2026-02-01", 0, 52)),
        ("TY2025-W53", "actual@py", None),
        ("TY2024-P02", "actual@py", None),
        ("2026-05", "actual@tytd", total("2026-02-01", "2026-05-31")),
        ("2026-05", "actual@tqtd", total("2026-05-03", "2026-05-31")),
        ("2026-05", "actual@ty@py", total("2025-01-26", "2026-01-31")),
        ("2026-05", "actual@tytd@py", total("2025-01-26", "2025-05-31")),
        ("2024-02", "actual@tytd", total("2024-01-28", "2024-02-29")),
        ("2023-12", "actual@tytd", None),
        ("2027-02", "actual@ty", None),
        (("2026-12", "2027-01"), "actual@tqtd", None),  # 31 January 2027 lies outside
        ("TY2026-P03", "actual@cytd", total("2026-01-01", "2026-05-02")),
        ("2026", "actual", total("2026-02-01", "2027-01-31")),
        ("CY2025", "actual", total("2025-01-01", "2025-12-31")),
    ],
)
def test_t77_trading_codes_beside_months_fiscal_and_calendar_years(
    retail: Door, period: str | tuple[str, str], scenario: str, expected: int | None
) -> None:
    assert of(retail, period, scenario) == expected


def test_t77_thirteen_periods_beside_months(thirteen: Door) -> None:
    assert of(thirteen, "TY2026-P13") == weeks("2025-03-30", 48, 4)
    assert of(thirteen, "TY2026-P01", "actual@py") == weeks("2024-03-31", 0, 4)
    assert of(thirteen, "2026") == total("2025-04-01", "2026-03-31")
    assert of(thirteen, "CY2025-Q2") == total("2025-04-01", "2025-06-30")
    with pytest.raises(BadPeriod, match="no period code"):
        of(thirteen, "TY2026-Q1")  # the table numbers no quarters
    with pytest.raises(BadPeriod, match="there is no such trading period from TY2025-P01 to TY2026-P13"):
        of(thirteen, "TY2026-P14")


def test_t77_trading_periods_are_broken_down_by(retail: Door) -> None:
    for dimension, first, last, count in (
        ("trading_period", "TY2025-P01", "TY2025-P12", 12),
        ("trading_quarter", "TY2025-Q1", "TY2025-Q4", 4),
        ("trading_week", "TY2025-W01", "TY2025-W53", 53),
        ("period", "TY2025", "TY2025", 1),
    ):
        found = figures(retail.metric("revenue", scenarios=A, period="TY2025", dimensions=[dimension]), dimension)
        assert list(found)[0::count] == [first, None]
        assert list(found)[-2] == last
        assert sum(value or 0 for code, value in found.items() if code) == found[None] == weeks("2025-01-26", 0, 53)


def test_t77_a_range_is_of_whole_trading_periods(retail: Door) -> None:
    asked: dict[str, Any] = {"scenarios": A, "dimensions": ["trading_period"]}
    february = figures(retail.metric("revenue", period="2026-02", **asked), "trading_period")
    assert february == {"TY2026-P01": total("2026-02-01", "2026-02-28"), None: total("2026-02-01", "2026-02-28")}
    with pytest.raises(DimensionUnavailable, match=r"do not fit into Mar 2026.* periods: TY2026-P02 to TY2026-P03\.$"):
        retail.metric("revenue", period="2026-03", **asked)
    with pytest.raises(DimensionUnavailable, match=r"TY2024-P02\. The trading calendar has 2024-01-28 to 2027-01-30"):
        retail.metric("revenue", period=("2023-12", "2024-02"), **asked)
    with pytest.raises(BadPeriod, match="there is no such trading year from TY2024 to TY2026"):
        of(retail, "TY2027")


def test_t77_trading_periods_filter_days(retail: Door) -> None:
    days: dict[str, Any] = {"scenarios": A, "period": ("2026-01-01", "2026-06-30")}
    kept = retail.metric("revenue", **days, filters={"trading_period": ["TY2026-P01", "TY2026-P03"]})
    assert figures(kept, "alias") == {"A": weeks("2026-02-01", 0, 4) + weeks("2026-02-01", 8, 5)}
    with pytest.raises(BadPeriod, match="the months of the range do not make up trading periods"):
        retail.metric("revenue", scenarios=A, period="2026-03", filters={"trading_period": "TY2026-P02"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Q3 2026", r"2026-Q3 \(.*\) or CY2026-Q3 \(.*\) or TY2026-Q3 \("),
        ("week 14 2026", r"2026-W14 \(.*\) or TY2026-W14 \("),
        ("H1 2026", "2026-Q1 to 2026-Q2 .* or CY2026-H1 .* or TY2026-Q1 to TY2026-Q2"),
    ],
)
def test_t77_what_can_mean_two_calendars_is_refused_with_both_readings(retail: Door, text: str, said: str) -> None:
    with pytest.raises(BadPeriod, match=f"can mean {said}"):
        of(retail, text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *((text, "TY2026") for text in ("ty2026", "TY26", "trading year 2026")),
        *((text, "TY2026-P03") for text in ("TY2026 P3", "ty26-p03", "P3 TY2026", "period 3 TY26")),
        *((text, "TY2026-Q3") for text in ("Q3 TY2026", "TY26 Q3")),
        *((text, "TY2026-W14") for text in ("week 14 TY2026", "TY26 W14")),
        ("Sep 2026", "2026-09"),
        ("Q3 2040", None),
    ],
)
def test_t77_a_trading_spelling_is_one_period(retail: Door, text: str, code: str | None) -> None:
    if code is None:  # the trading calendar ends before, so two readings are left
        with pytest.raises(BadPeriod, match=r"can mean 2040-Q3 \([^T]*\) or CY2040-Q3 \([^T]*$"):
            of(retail, text)
        return
    assert retail.metric("revenue", scenarios=A, period=text).period.start.code == code


def test_t77_without_a_trading_calendar_there_are_no_such_codes(tmp_path: Path) -> None:
    plain = daily(tmp_path, "2026-05-01 7")
    for text in ("TY2026", "trading year 2026"):
        with pytest.raises(BadPeriod, match=f"period_start '{text}' is no period code"):
            of(plain, text)
    report = plain.metric("revenue", scenarios={"T": "actual@tytd"}, period="2026-05")
    assert (figures(report, "alias"), "no_window" in codes(report)) == ({"T": None}, True)


def test_t77_data_by_week_answers_trading_periods_that_its_weeks_make_up(tmp_path: Path) -> None:
    rows = ",".join(f"2026-W{week:02} {week}" for week in range(1, 54))
    monday = table(date(2025, 12, 29), {2026: (4,) * 13}, quarters=False)
    books = daily(tmp_path / "monday", rows, grain="week", trading=monday)
    assert of(books, "TY2026-P02") == 5 + 6 + 7 + 8
    sunday = daily(
        tmp_path / "sunday", rows, grain="week", trading=table(date(2025, 12, 28), {2026: (4,) * 13}, quarters=False)
    )
    with pytest.raises(GrainUnavailable, match="not held by trading_period"):
        of(sunday, "TY2026-P02")


def test_t77_data_by_trading_period_is_loaded_by_its_codes(tmp_path: Path) -> None:
    books = daily(tmp_path, "TY2026-P01 5,TY2026-P02 6,2026-05-10 9", grain="trading_period", trading=WEEKS)
    assert (of(books, "TY2026-P02"), of(books, "TY2026"), of(books, "TY2026-Q1")) == (6, 20, 11)
    with pytest.raises(GrainUnavailable, match="Ask by trading_period or trading_quarter or trading_year"):
        of(books, "2026-05")


def test_t77_notes_speak_of_trading_periods(tmp_path: Path) -> None:
    days = [date(2026, 2, 3) + timedelta(days=28 * at) for at in range(5)] + [date(2027, 2, 5)]  # outside its years
    facts = "\n".join(
        ["date scenario amount", *(f"{day} actual 10" for day in days), *(f"{day} budget 9" for day in days[:3])]
    )
    books = small_books(
        tmp_path,
        facts={"gl": facts},
        domains={
            "gl": "time: {column: date}\ndimensions: {}\nmeasures: {amount: {places: 2}}\n"
            "metrics: {revenue: {measure: amount}}\n"
        },
        scenarios="actual: {alias: A, kind: actual, closed_through: TY2026-P04}\nbudget: {alias: B, kind: budget}\n",
        trading=WEEKS,
    )
    report = books.metric(
        "revenue", scenarios={"A": "actual", "V": "var(actual,budget)"}, period=("TY2026-P01", "TY2026-P05")
    )
    assert figures(report, "alias") == {"A": 50, "V": Decimal(50 - 27)}
    assert report.freshness["gl"]["actual"].open == "TY2026-P05"
    (partial,) = [dict(note.about)["says"] for note in report.notes if note.code == "scenario_partial"]
    assert partial == "3 of 5 trading periods (21 weeks) of gl"
