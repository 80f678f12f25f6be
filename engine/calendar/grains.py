"""The grains in one table: how the codes of each are read, counted, written and moved by years.

Fiscal years and quarters follow the fiscal year of the instance, months are calendar months, weeks are ISO weeks.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from engine.calendar.periods import FiscalYear, Grain, Span

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class GrainRules:
    """How the codes of one grain are read, counted and written; None where there is no such period."""

    shape: re.Pattern[str]
    example: str
    parse: Callable[[re.Match[str], FiscalYear], int | None]
    at: Callable[[date, FiscalYear], int]
    span: Callable[[int, FiscalYear], Span]
    code: Callable[[int, FiscalYear], str]
    label: Callable[[int, FiscalYear], str]
    year_earlier: Callable[[int, int], int | None]


def month_span(first_month: int, months: int) -> Span:
    """Return the days of a run of months; the first is counted since year 0."""
    after = first_month + months
    return Span(
        date(first_month // 12, first_month % 12 + 1, 1),
        date(after // 12, after % 12 + 1, 1) - DAY,
    )


def month_of(day: date) -> int:
    """Return the month of a day, as months since year 0."""
    return day.year * 12 + day.month - 1


def month_words(first_month: int, months: int) -> str:
    """Return a run of months in words: "Jul 2011", "Jul–Sep 2011", "Jul 2011–Jun 2012"."""
    last = first_month + months - 1
    end = f"{MONTHS[last % 12]} {last // 12}"
    if months == 1:
        return end
    begin = MONTHS[first_month % 12]
    return f"{begin}–{end}" if first_month // 12 == last // 12 else f"{begin} {first_month // 12}–{end}"


def day_words(day: date) -> str:
    """Return a day in words: "3 Jan 2021"."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def fiscal_name(year: int, fiscal: FiscalYear) -> str:
    """Return the name of a year: "FY2012", or "2012" where the fiscal year is the calendar year."""
    return f"FY{year}" if fiscal.starts > 1 else str(year)


def quarter_months(ordinal: int, fiscal: FiscalYear) -> int:
    """Return the first month of a fiscal quarter."""
    return fiscal.first_month(ordinal // 4) + ordinal % 4 * 3


MONDAY = date(1, 1, 1).toordinal()


def week_of(day: date) -> int:
    """Return the ISO week of a day, as weeks since the Monday 1 January of year 1."""
    return (day.toordinal() - MONDAY) // 7


def week_span(week: int) -> Span:
    """Return the days of an ISO week."""
    monday = date.fromordinal(MONDAY + week * 7)
    return Span(monday, monday + 6 * DAY)


def iso_week(year: int, number: int) -> int | None:
    """Return a week by ISO year and number, None where the year has no such week."""
    try:
        return week_of(date.fromisocalendar(year, number, 1))
    except ValueError:
        return None


def week_code(week: int) -> str:
    """Return "YYYY-Wnn" by the ISO year, which differs from the calendar year around January."""
    year, number, _ = week_span(week).first.isocalendar()
    return f"{year:04}-W{number:02}"


def week_label(week: int) -> str:
    """Return a week with its days."""
    days = week_span(week)
    return f"{week_code(week)} ({day_words(days.first)}–{day_words(days.last)})"


def week_years_earlier(week: int, years: int) -> int | None:
    """Return the week of the same number some ISO years earlier; W53 often has none."""
    year, number, _ = week_span(week).first.isocalendar()
    return iso_week(year - years, number)


def parse_day(match: re.Match[str]) -> int | None:
    """Return a day as its ordinal, None where the month has no such day."""
    try:
        return date(int(match[1]), int(match[2]), int(match[3])).toordinal()
    except ValueError:
        return None


def day_years_earlier(ordinal: int, years: int) -> int | None:
    """Return the same day some years earlier; 29 February mostly has none."""
    day = date.fromordinal(ordinal)
    try:
        return day.replace(year=day.year - years).toordinal()
    except ValueError:
        return None


GRAINS: dict[Grain, GrainRules] = {
    Grain.DATE: GrainRules(
        shape=re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII),
        example="2025-03-31",
        parse=lambda match, _: parse_day(match),
        at=lambda day, _: day.toordinal(),
        span=lambda n, _: Span(date.fromordinal(n), date.fromordinal(n)),
        code=lambda n, _: date.fromordinal(n).isoformat(),
        label=lambda n, _: day_words(date.fromordinal(n)),
        year_earlier=day_years_earlier,
    ),
    Grain.WEEK: GrainRules(
        shape=re.compile(r"(\d{4})-W(\d\d)", re.ASCII),
        example="2025-W13",
        parse=lambda match, _: iso_week(int(match[1]), int(match[2])),
        at=lambda day, _: week_of(day),
        span=lambda n, _: week_span(n),
        code=lambda n, _: week_code(n),
        label=lambda n, _: week_label(n),
        year_earlier=week_years_earlier,
    ),
    Grain.MONTH: GrainRules(
        shape=re.compile(r"(\d{4})-(\d\d)", re.ASCII),
        example="2025-03",
        parse=lambda match, _: int(match[1]) * 12 + int(match[2]) - 1 if 1 <= int(match[2]) <= 12 else None,
        at=lambda day, _: month_of(day),
        span=lambda n, _: month_span(n, 1),
        code=lambda n, _: f"{n // 12:04}-{n % 12 + 1:02}",
        label=lambda n, _: month_words(n, 1),
        year_earlier=lambda n, years: n - 12 * years,
    ),
    Grain.QUARTER: GrainRules(
        shape=re.compile(r"(\d{4})-Q(\d)", re.ASCII),
        example="2025-Q1",
        parse=lambda match, _: int(match[1]) * 4 + int(match[2]) - 1 if 1 <= int(match[2]) <= 4 else None,
        at=lambda day, fiscal: (
            (year := fiscal.year_of(month_of(day))) * 4 + (month_of(day) - fiscal.first_month(year)) // 3
        ),
        span=lambda n, fiscal: month_span(quarter_months(n, fiscal), 3),
        code=lambda n, _: f"{n // 4:04}-Q{n % 4 + 1}",
        label=lambda n, fiscal: (
            f"{fiscal_name(n // 4, fiscal)} Q{n % 4 + 1} ({month_words(quarter_months(n, fiscal), 3)})"
        ),
        year_earlier=lambda n, years: n - 4 * years,
    ),
    Grain.YEAR: GrainRules(
        shape=re.compile(r"(\d{4})", re.ASCII),
        example="2025",
        parse=lambda match, _: int(match[1]),
        at=lambda day, fiscal: fiscal.year_of(month_of(day)),
        span=lambda n, fiscal: month_span(fiscal.first_month(n), 12),
        code=lambda n, _: f"{n:04}",
        label=lambda n, fiscal: (
            fiscal_name(n, fiscal) + (f" ({month_words(fiscal.first_month(n), 12)})" if fiscal.starts > 1 else "")
        ),
        year_earlier=lambda n, years: n - years,
    ),
}
