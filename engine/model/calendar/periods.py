"""Periods: grains, spans and ranges as values, and how the codes of each grain are read, counted and written."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum

# Days, months and runs of them in words.


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class LabelDetail(Enum):
    """What is said beside the name of a period: nothing where the name says it, else its days or its months."""

    NOTHING = ""
    DAYS = "days"
    MONTHS = "months"


def day_words(day: date) -> str:
    """Return a day in words: "3 Jan 2021"."""
    return f"{day.day} {month_words(day)}"


def month_words(day: date) -> str:
    """Return the month of a day in words: "Jul 2011"."""
    return f"{MONTHS[day.month - 1]} {day.year}"


def days_words(first: date, last: date) -> str:
    """Return some days in words: "29 Jul–25 Aug 2012"."""
    if first.year != last.year:
        return f"{day_words(first)}–{day_words(last)}"
    begin = f"{first.day} {MONTHS[first.month - 1]}" if first.month != last.month else str(first.day)
    return day_words(last) if first == last else f"{begin}–{day_words(last)}"


def months_words(first: date, last: date) -> str:
    """Return some months in words: "Jul–Sep 2011", "Jul 2011–Jun 2012"."""
    begin = MONTHS[first.month - 1] if first.year == last.year else month_words(first)
    return f"{begin}–{month_words(last)}"


def label_with_detail(name: str, beside: LabelDetail, first: date, last: date) -> str:
    """Return a name with what is said beside it: "FY2012 Q1 (Jul–Sep 2011)"."""
    if beside is LabelDetail.NOTHING:
        return name
    words = days_words if beside is LabelDetail.DAYS else months_words
    return f"{name} ({words(first, last)})"


# Grains, spans, periods and ranges as values.
#
# A *span* is a run of days. A *period* is a span with a code of one grain ("2012-Q1"); a *range* runs from one period
# to another of the same grain. *Bounds* are where a shifted view begins and ends, while it is being moved.


class Grain(Enum):
    """A length of period, by the name that list_dimensions gives it."""

    DATE = "date"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    @property
    def fineness(self) -> int:
        """0 for the finest; weeks and months are not comparable by this alone."""
        return FINENESS[self]


FINENESS = {grain: place for place, grain in enumerate(Grain)}


@dataclass(frozen=True, slots=True)
class Span:
    """A run of days, both ends included."""

    first: date
    last: date

    def holds(self, day: date) -> bool:
        """Tell whether a day lies inside."""
        return self.first <= day <= self.last

    @property
    def length(self) -> int:
        """How many days it has."""
        return (self.last - self.first).days + 1

    def overlap(self, other: "Span") -> "Span | None":
        """Return the days that both have."""
        first, last = max(self.first, other.first), min(self.last, other.last)
        return Span(first, last) if first <= last else None


@dataclass(frozen=True, slots=True)
class Period:
    """A code of one grain and the days it means; `ordinal` counts periods of that grain."""

    grain: Grain
    ordinal: int
    code: str
    first: date
    last: date
    name: str
    beside: LabelDetail

    @property
    def label(self) -> str:
        """The period in words."""
        return label_with_detail(self.name, self.beside, self.first, self.last)

    @property
    def span(self) -> Span:
        """The days of the period."""
        return Span(self.first, self.last)


@dataclass(frozen=True, slots=True)
class PeriodRange:
    """From one period to another of the same grain, both included."""

    start: Period
    end: Period

    @property
    def grain(self) -> Grain:
        """The grain both bounds share."""
        return self.start.grain

    @property
    def span(self) -> Span:
        """The days of the range."""
        return Span(self.start.first, self.end.last)

    @property
    def count(self) -> int:
        """How many periods the range has."""
        return self.end.ordinal - self.start.ordinal + 1

    @property
    def label(self) -> str:
        """The range in words; its days are said once."""
        name = self.start.name if self.count == 1 else f"{self.start.name} – {self.end.name}"
        return label_with_detail(name, self.start.beside, self.start.first, self.end.last)


@dataclass(frozen=True, slots=True)
class PeriodBounds:
    """From the first day of one period to the last day of another; empty where a shift made them cross.

    The two may differ in grain: a year to date begins with a year and ends with a week, and each moves as what it is.
    """

    start: Period
    end: Period

    @property
    def span(self) -> Span | None:
        """The days between, None where there are none."""
        return Span(self.start.first, self.end.last) if self.start.first <= self.end.last else None


# Grain rules: how the codes of one grain are read, counted, written and moved by years; days and ISO weeks.


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
    beside: LabelDetail
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
    beside=LabelDetail.NOTHING,
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
    beside=LabelDetail.DAYS,
    years_earlier=week_years_earlier,
)
