"""Grain rules: how the codes of one grain are read, counted, written and moved by years; days and ISO weeks."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from engine.calendar.periods import Grain, Span
from engine.calendar.words import Beside, day_words

DAY = timedelta(days=1)
SHAPES = {
    Grain.DATE: (re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII), "YYYY-MM-DD"),
    Grain.WEEK: (re.compile(r"(\d{4})-W(\d\d)", re.ASCII), "YYYY-Wnn"),
    Grain.MONTH: (re.compile(r"(\d{4})-(\d\d)", re.ASCII), "YYYY-MM"),
    Grain.QUARTER: (re.compile(r"(\d{4})-Q(\d)", re.ASCII), "YYYY-Qn"),
    Grain.YEAR: (re.compile(r"(\d{4})", re.ASCII), "YYYY"),
}


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Where a start and an end move that shift to a code: to the code itself, or to the next and the previous one."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class GrainRules:
    """The periods of one grain by ordinal; whether an ordinal lies in the calendar is the calendar's own affair."""

    noun: str
    called: str  # with its article
    example: str
    parse: Callable[[re.Match[str]], int | None]  # None where there is no such period
    at: Callable[[date], int]
    span: Callable[[int], Span]
    code: Callable[[int], str]
    name: Callable[[int], str]
    beside: Beside
    years_earlier: Callable[[int, int], Counterpart]


def parse_day(match: re.Match[str]) -> int | None:
    """Return a day as its ordinal, None where the month has no such day."""
    try:
        return date(int(match[1]), int(match[2]), int(match[3])).toordinal()
    except ValueError:
        return None


def day_years_earlier(ordinal: int, years: int) -> Counterpart:
    """Return the same day some years earlier; 29 February mostly has none."""
    day = date.fromordinal(ordinal)
    try:
        found = day.replace(year=day.year - years).toordinal()
    except ValueError:
        march = date(day.year - years, 3, 1).toordinal()
        return Counterpart(march, march - 1)
    return Counterpart(found, found)


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


def week_years_earlier(week: int, years: int) -> Counterpart:
    """Return the week of the same number some ISO years earlier; W53 often has none."""
    year, number, _ = week_span(week).first.isocalendar()
    found = iso_week(year - years, number)
    if found is None:
        after = week_of(date.fromisocalendar(year - years + 1, 1, 1))
        return Counterpart(after, after - 1)
    return Counterpart(found, found)


DAYS = GrainRules(
    noun="date",
    called="a day",
    example="2025-03-31",
    parse=parse_day,
    at=date.toordinal,
    span=lambda n: Span(date.fromordinal(n), date.fromordinal(n)),
    code=lambda n: date.fromordinal(n).isoformat(),
    name=lambda n: day_words(date.fromordinal(n)),
    beside=Beside.NOTHING,
    years_earlier=day_years_earlier,
)
ISO_WEEKS = GrainRules(
    noun="week",
    called="an ISO week",
    example="2025-W13",
    parse=lambda match: iso_week(int(match[1]), int(match[2])),
    at=week_of,
    span=week_span,
    code=week_code,
    name=week_code,
    beside=Beside.DAYS,
    years_earlier=week_years_earlier,
)
