"""Finance cases T70 and T71: calendar years beside fiscal years, and beside the periods of a table.

Rules: Time.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadPeriod, GrainUnavailable
from tests.spec.test_cases_time import daily, of
from tests.support.books.calendars import table
from tests.support.books.small import figures

FIRST, LAST = date(2024, 1, 5), date(2026, 12, 25)


def posted() -> Iterator[tuple[date, int]]:
    """Yield a day each week with an amount of its own: no two sums of runs of weeks are likely to agree."""
    for week in range((LAST - FIRST).days // 7 + 1):
        yield FIRST + timedelta(days=7 * week), 1000 + week * week % 97


def total(first: str, last: str) -> int:
    """Return the sum of what is posted from one day to another."""
    return sum(amount for day, amount in posted() if date.fromisoformat(first) <= day <= date.fromisoformat(last))


ROWS = ",".join(f"{day} {amount}" for day, amount in posted())


@pytest.fixture(scope="module", params=["{starts: 3}", "{starts: 7, named_by: start}"])
def books(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Books whose fiscal year begins in March (its quarters cross years) or in July."""
    return daily(tmp_path_factory.mktemp("books"), ROWS, request.param)


def test_t70_calendar_codes_beside_fiscal_ones(books: Door) -> None:
    assert of(books, "CY2025") == total("2025-01-01", "2025-12-31") != of(books, "2025")
    assert of(books, "CY2025-H2") == total("2025-07-01", "2025-12-31")
    assert of(books, "CY2025-Q3") == total("2025-07-01", "2025-09-30")
    assert of(books, ("CY2025-Q4", "CY2026-Q1")) == total("2025-10-01", "2026-03-31")
    assert of(books, ("2025-01", "2025-12")) == of(books, "CY2025")
    with pytest.raises(BadPeriod, match="there is no such calendar quarter"):
        of(books, "CY2025-Q5")


def test_t70_calendar_years_are_broken_down_by(books: Door) -> None:
    asked: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": ("2024-01", "2026-12")}
    by_year = figures(books.metric("revenue", **asked, dimensions=["calendar_year"]), "calendar_year")
    of_years = {f"CY{year}": total(f"{year}-01-01", f"{year}-12-31") for year in (2024, 2025, 2026)}
    assert by_year == of_years | {None: total("2024-01-01", "2026-12-31")}
    half = books.metric("revenue", scenarios={"A": "actual"}, period="CY2025", dimensions=["calendar_half"])
    assert figures(half, "calendar_half") == {
        "CY2025-H1": total("2025-01-01", "2025-06-30"),
        "CY2025-H2": total("2025-07-01", "2025-12-31"),
        None: total("2025-01-01", "2025-12-31"),
    }
    quarters = ("CY2025-Q1", "CY2025-Q2")
    by_period = books.metric("revenue", scenarios={"A": "actual"}, period=quarters, dimensions=["period"])
    assert list(figures(by_period, "period")) == [*quarters, None]
    kept = books.metric("revenue", **asked, filters={"calendar_year": ["CY2024", "CY2026"]})
    assert list(figures(kept, "alias").values()) == [of_years["CY2024"] + of_years["CY2026"]]


def test_t70_calendar_windows_and_prior_calendar_years(books: Door) -> None:
    assert of(books, "2026-05", "actual@cytd") == total("2026-01-01", "2026-05-31")
    assert of(books, "2026-05", "actual@cytd@py") == total("2025-01-01", "2025-05-31")
    assert of(books, "2026-05", "actual@py@cytd") == total("2025-01-01", "2025-05-31")
    assert of(books, "2026-05", "actual@cqtd") == total("2026-04-01", "2026-05-31")
    assert of(books, "2026-05", "actual@cy@py") == total("2025-01-01", "2025-12-31")
    assert of(books, "2026-05-10", "actual@cytd") == total("2026-01-01", "2026-05-10")
    assert of(books, "CY2026-Q2", "actual@py") == total("2025-04-01", "2025-06-30")
    assert of(books, "CY2026-Q1", "actual@pp") == total("2025-10-01", "2025-12-31")
    assert of(books, "CY2026-H2", "actual@ytd") == total("2026-01-01", "2026-12-31")
    assert of(books, "CY2026", "actual@cy@pp") == total("2025-01-01", "2025-12-31")
    assert of(books, "CY2026-Q2", "actual@ltm") == total("2025-07-01", "2026-06-30")
    moved = of(books, "CY2026-Q2", "var(actual,actual@py)")
    assert moved == total("2026-04-01", "2026-06-30") - total("2025-04-01", "2025-06-30")


def test_t70_the_fiscal_codes_keep_their_meaning(tmp_path: Path) -> None:
    march, july = (daily(tmp_path / name, ROWS, f"{{starts: {at}}}") for name, at in (("march", 3), ("july", 7)))
    assert of(march, "2026") == total("2025-03-01", "2026-02-28")
    assert of(march, "2026-Q4", "actual@ytd") == total("2025-03-01", "2026-02-28")
    assert of(march, "2026-Q4", "actual@cytd") == total("2026-01-01", "2026-02-28")  # of its last day
    assert of(march, "2026-Q4", "actual@cytd@pp") == total("2025-10-01", "2025-11-30")  # three months earlier
    assert of(july, "2026-Q1") == total("2025-07-01", "2025-09-30")
    assert of(july, "2026-05", "actual@ytd") == total("2025-07-01", "2026-05-31")


def test_t70_quarters_that_cross_a_calendar_year_are_not_cut(tmp_path: Path) -> None:
    march = daily(tmp_path, ROWS, "{starts: 3}")
    with pytest.raises(BadPeriod, match="the quarters of the range do not make up calendar years"):
        march.metric("revenue", scenarios={"A": "actual"}, period="2026-Q4", filters={"calendar_year": "CY2026"})


def test_t70_quarters_of_data_answer_calendar_years_where_they_make_them_up(tmp_path: Path) -> None:
    rows = "2025-Q1 1,2025-Q2 2,2025-Q3 4,2025-Q4 8,2026-Q1 16,2026-Q2 32"
    july = daily(tmp_path / "july", rows, "{starts: 7}", grain="quarter")
    assert (of(july, "CY2025"), of(july, "CY2025-H1")) == (4 + 8 + 16 + 32, 4 + 8)
    march = daily(tmp_path / "march", rows, "{starts: 3}", grain="quarter")
    with pytest.raises(GrainUnavailable):
        of(march, "CY2025")


def test_t70_where_the_fiscal_year_is_the_calendar_year_there_is_one_code(tmp_path: Path) -> None:
    plain = daily(tmp_path, ROWS)
    report = plain.metric("revenue", scenarios={"A": "actual"}, period="CY2025-Q3")
    assert report.period.start.code == "2025-Q3"
    assert of(plain, "CY2025") == of(plain, "2025") == total("2025-01-01", "2025-12-31")
    assert of(plain, "2025-05", "actual@cytd") == of(plain, "2025-05", "actual@ytd")
    with pytest.raises(BadPeriod, match="is 2025-Q1 to 2025-Q2") as refused:
        of(plain, "CY2025-H1")
    assert refused.value.example == {"period_start": "2025-Q1", "period_end": "2025-Q2"}


@pytest.mark.parametrize("text", ["H1 2026", "2026 H1", "2026-H1", "h1/2026"])
def test_t70_an_ambiguous_half_is_refused_with_both_readings(books: Door, text: str) -> None:
    with pytest.raises(BadPeriod, match=r"can mean 2026-Q1 to 2026-Q2 \(.*\) or CY2026-H1 \(") as refused:
        of(books, text)
    assert refused.value.example == {"period_start": "CY2026-H1", "period_end": "CY2026-H1"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *((text, "CY2026") for text in ("cy2026", "CY26", "calendar year 2026", "calendar 2026")),
        *((text, "CY2026-Q3") for text in ("Q3 CY2026", "CY2026 Q3", "cy26-q3")),
        *((text, "CY2026-H1") for text in ("H1 CY2026", "CY26 H1")),
        ("CY2026-07", "2026-07"),
    ],
)
def test_t70_a_calendar_spelling_is_one_period(books: Door, text: str, code: str) -> None:
    assert books.metric("revenue", scenarios={"A": "actual"}, period=text).period.start.code == code


THIRTEEN = table(date(2023, 12, 31), dict.fromkeys((2024, 2025, 2026), (4,) * 13))


def test_t71_calendar_periods_beside_thirteen_periods(tmp_path: Path) -> None:
    books = daily(tmp_path, ROWS, calendar=THIRTEEN)
    assert of(books, "2026-05") == total("2026-04-19", "2026-05-16")
    assert of(books, "CY2026-05") == total("2026-05-01", "2026-05-31")
    assert of(books, "CY2025") == total("2025-01-01", "2025-12-31")
    assert of(books, "CY2025-Q2") == total("2025-04-01", "2025-06-30")
    assert of(books, "2026-05", "actual@cytd") == total("2026-01-01", "2026-05-16")
    assert of(books, "CY2026-05", "actual@py") == total("2025-05-01", "2025-05-31")
    report = books.metric("revenue", scenarios={"A": "actual"}, period="CY2025", dimensions=["calendar_month"])
    by_month = figures(report, "calendar_month")
    assert by_month["CY2025-02"] == total("2025-02-01", "2025-02-28")
    assert by_month[None] == sum(value or Decimal(0) for month, value in by_month.items() if month)


def test_t71_data_by_period_does_not_answer_by_calendar_month(tmp_path: Path) -> None:
    books = daily(tmp_path, "2026-05 10", grain="month", calendar=THIRTEEN)
    assert of(books, "2026-05") == 10
    with pytest.raises(GrainUnavailable, match="not held by calendar_month"):
        of(books, "CY2026-05")
