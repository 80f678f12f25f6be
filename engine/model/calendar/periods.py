"""Periods: grains, spans and ranges, the table of the codes of each grain, and the rules of days and ISO weeks."""

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from engine.model.calendar.labels import LabelDetail, day_words, label_with_detail

# Grains, spans, periods and ranges.
#
# A *span* is a run of days. A *period* is a span with a code of one grain ("2012-Q1"). A *range* runs from one period
# to another of the same grain. *Bounds* are the first and last period of a range while it is shifted.


class Grain(Enum):
    """A length of period, by its name in list_dimensions."""

    __hash__ = object.__hash__  # each member exists once; Enum hashes its name in Python

    DATE = "date"
    WEEK = "week"
    TRADING_WEEK = "trading_week"
    MONTH = "month"
    CALENDAR_MONTH = "calendar_month"
    TRADING_PERIOD = "trading_period"
    QUARTER = "quarter"
    CALENDAR_QUARTER = "calendar_quarter"
    TRADING_QUARTER = "trading_quarter"
    CALENDAR_HALF = "calendar_half"
    YEAR = "year"
    CALENDAR_YEAR = "calendar_year"
    TRADING_YEAR = "trading_year"

    @property
    def fineness(self) -> int:
        """The rank of the grain, 0 for the finest. Weeks and months do not nest, whatever their rank."""
        return FINENESS[self]


FINENESS = {grain: place for place, grain in enumerate(Grain)}


class Span(Struct, frozen=True):
    """A run of days, both ends included."""

    first: date
    last: date

    def holds(self, day: date) -> bool:
        """Tell whether the span contains a day."""
        return self.first <= day <= self.last

    @property
    def length(self) -> int:
        """The number of days."""
        return (self.last - self.first).days + 1

    @property
    def is_whole_months(self) -> bool:
        """Whether it begins with the first day of a calendar month and ends with the last day of one."""
        return self.first.day == 1 and (self.last == date.max or (self.last + DAY).day == 1)

    def overlap(self, other: "Span") -> "Span | None":
        """Return the days in both spans, None if there are none."""
        first, last = max(self.first, other.first), min(self.last, other.last)
        return Span(first, last) if first <= last else None


WITHOUT_DATE = Span(date.max, date.min)  # stands for the rows without a date: it holds no day and overlaps no span


class Period(Struct, frozen=True):
    """A code of one grain and its days. `ordinal` counts periods of that grain."""

    grain: Grain
    ordinal: int
    code: str
    first: date
    last: date
    name: str
    beside: LabelDetail

    @property
    def label(self) -> str:
        """The label of the period."""
        return label_with_detail(self.name, self.beside, self.first, self.last)

    @property
    def span(self) -> Span:
        """The days of the period."""
        return Span(self.first, self.last)


class PeriodRange(Struct, frozen=True):
    """The periods from one to another of the same grain, both included."""

    start: Period
    end: Period

    @property
    def grain(self) -> Grain:
        """The grain of both bounds."""
        return self.start.grain

    @property
    def span(self) -> Span:
        """The days of the range."""
        return Span(self.start.first, self.end.last)

    @property
    def is_undated(self) -> bool:
        """Whether it stands for the rows without a date."""
        return self.span == WITHOUT_DATE

    @property
    def count(self) -> int:
        """The number of periods in the range."""
        return self.end.ordinal - self.start.ordinal + 1

    @property
    def label(self) -> str:
        """The label of the range. It states the days once."""
        name = self.start.name if self.count == 1 else f"{self.start.name} – {self.end.name}"
        return label_with_detail(name, self.start.beside, self.start.first, self.end.last)


class PeriodBounds(Struct, frozen=True):
    """From the first day of one period to the last day of another. Empty if a shift made them cross.

    The two may differ in grain: a year to date begins with a year and may end with a week. Each bound shifts by its own
    grain.
    """

    start: Period
    end: Period

    @property
    def span(self) -> Span | None:
        """The days of the bounds, None if the bounds cross."""
        return Span(self.start.first, self.end.last) if self.start.first <= self.end.last else None


UNDATED_CODE = "(undated)"  # asks for the rows without a date in place of a period code
UNDATED_RANGE = PeriodRange(
    *[Period(Grain.DATE, 0, UNDATED_CODE, WITHOUT_DATE.first, WITHOUT_DATE.last, UNDATED_CODE, LabelDetail.NOTHING)] * 2
)


# Grain rules of days and ISO weeks.


DAY = timedelta(days=1)


class Counterpart(Struct, frozen=True):
    """The counterpart of a period in another year: its ordinal as a start and as an end of bounds.

    Both are the same period if it exists, else the next one (start) and the previous one (end).
    """

    start: int
    end: int


class GrainRules(Struct, frozen=True, eq=False):
    """The rules that parse, count, format and shift the periods of one grain. The calendar decides which ones exist."""

    noun: str
    called: str  # name with its article
    example: str
    parse: Callable[[str], int | None]  # of a code with the shape of the grain; None if there is no such period
    at: Callable[[date], int]
    span: Callable[[int], Span]
    code: Callable[[int], str]
    name: Callable[[int], str]
    beside: LabelDetail
    years_earlier: Callable[[int, int], Counterpart]
    days: Span | None = None  # that its periods have; None: every day
    whole_weeks: bool = False  # all of them are a whole number of weeks


def day_years_earlier(ordinal: int, years: int) -> Counterpart:
    """Return the counterpart of a day `years` earlier. 29 February exists only in leap years."""
    day = date.fromordinal(ordinal)
    try:
        found = day.replace(year=day.year - years).toordinal()
    except ValueError:
        march = date(day.year - years, 3, 1).toordinal()
        return Counterpart(march, march - 1)
    return Counterpart(found, found)


def month_span(first_month: int, months: int) -> Span:
    """Return the days of consecutive months. The first month is counted since year 0."""
    after = first_month + months
    return Span(
        date(first_month // 12, first_month % 12 + 1, 1),
        date(after // 12, after % 12 + 1, 1) - DAY,
    )


MONDAY = date(1, 1, 1).toordinal()


def week_of(day: date) -> int:
    """Return the ISO week of a day, counted in weeks since Monday 1 January of year 1."""
    return (day.toordinal() - MONDAY) // 7


def week_span(week: int) -> Span:
    """Return the days of an ISO week."""
    monday = date.fromordinal(MONDAY + week * 7)
    return Span(monday, monday + 6 * DAY)


def iso_week(year: int, number: int) -> int | None:
    """Return the week of an ISO year and number, None if the year has no such week."""
    try:
        return week_of(date.fromisocalendar(year, number, 1))
    except ValueError:
        return None


def week_code(week: int) -> str:
    """Return the code "YYYY-Wnn". The ISO year differs from the calendar year around January."""
    year, number, _ = week_span(week).first.isocalendar()
    return f"{year:04}-W{number:02}"


def week_years_earlier(week: int, years: int) -> Counterpart:
    """Return the counterpart of a week `years` ISO years earlier. Many years have no W53."""
    year, number, _ = week_span(week).first.isocalendar()
    found = iso_week(year - years, number)
    if found is None:
        after = week_of(date.fromisocalendar(year - years + 1, 1, 1))
        return Counterpart(after, after - 1)
    return Counterpart(found, found)


# GRAINS: how the codes of each grain are written and counted. Every reader of period codes uses it.


class CodeFormat(Struct, frozen=True):
    """The codes of one grain: their shape, and consecutive numbers for the periods of calendar months and ISO weeks."""

    shape: re.Pattern[str]
    words: str  # the shape as messages show it
    written: str  # format of a code, from the year and the number within it
    number: Callable[[re.Match[str]], int | None]  # None if no year has such a period
    code: Callable[[int], str]
    in_year: int = 0  # periods of every year; 0 if years differ

    def fits(self, code: str) -> bool:
        """Tell whether a text has the shape of a code."""
        return self.shape.fullmatch(code) is not None

    def parse(self, code: str) -> int | None:
        """Return the number of a code, None if it has another shape or names no period."""
        match = self.shape.fullmatch(code)
        return None if match is None else self.number(match)


def parts_of_year(shape: str, words: str, written: str, most: int) -> CodeFormat:
    """Return the format of a grain with `most` periods in every year, counted since year 0."""

    def number_of(match: re.Match[str]) -> int | None:
        number = int(match[2])
        return int(match[1]) * most + number - 1 if 1 <= number <= most else None

    return CodeFormat(
        re.compile(shape, re.ASCII), words, written, number_of, lambda n: written.format(n // most, n % most + 1), most
    )


MOST_NUMBERED = 99  # periods of one grain in a year of a table


def numbered(shape: str, words: str, written: str) -> CodeFormat:
    """Return the format of a grain of which a table says how many periods each year has."""
    return replace(parts_of_year(shape, words, written, MOST_NUMBERED), in_year=0)


def whole_years(shape: str, words: str, written: str) -> CodeFormat:
    """Return the format of years."""
    return CodeFormat(re.compile(shape, re.ASCII), words, written, lambda match: int(match[1]), written.format, 1)


def day_number(match: re.Match[str]) -> int | None:
    """Return the ordinal of a day, None if the month has no such day."""
    try:
        return date(int(match[1]), int(match[2]), int(match[3])).toordinal()
    except ValueError:
        return None


GRAINS: Mapping[Grain, CodeFormat] = {
    Grain.DATE: CodeFormat(
        re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII),
        "YYYY-MM-DD",
        "{:04}-{:02}-{:02}",
        day_number,
        lambda n: date.fromordinal(n).isoformat(),
    ),
    Grain.WEEK: CodeFormat(
        re.compile(r"(\d{4})-W(\d\d)", re.ASCII),
        "YYYY-Wnn",
        "{:04}-W{:02}",
        lambda match: iso_week(int(match[1]), int(match[2])),
        week_code,
    ),
    Grain.TRADING_WEEK: numbered(r"TY(\d{4})-W(\d\d)", "TYyyyy-Wnn", "TY{:04}-W{:02}"),
    Grain.MONTH: parts_of_year(r"(\d{4})-(\d\d)", "YYYY-MM", "{:04}-{:02}", 12),
    Grain.CALENDAR_MONTH: parts_of_year(r"CY(\d{4})-(\d\d)", "CYyyyy-MM", "CY{:04}-{:02}", 12),
    Grain.TRADING_PERIOD: numbered(r"TY(\d{4})-P(\d\d)", "TYyyyy-Pnn", "TY{:04}-P{:02}"),
    Grain.QUARTER: parts_of_year(r"(\d{4})-Q(\d)", "YYYY-Qn", "{:04}-Q{}", 4),
    Grain.CALENDAR_QUARTER: parts_of_year(r"CY(\d{4})-Q(\d)", "CYyyyy-Qn", "CY{:04}-Q{}", 4),
    Grain.TRADING_QUARTER: parts_of_year(r"TY(\d{4})-Q(\d)", "TYyyyy-Qn", "TY{:04}-Q{}", 4),
    Grain.CALENDAR_HALF: parts_of_year(r"CY(\d{4})-H(\d)", "CYyyyy-Hn", "CY{:04}-H{}", 2),
    Grain.YEAR: whole_years(r"(\d{4})", "YYYY", "{:04}"),
    Grain.CALENDAR_YEAR: whole_years(r"CY(\d{4})", "CYyyyy", "CY{:04}"),
    Grain.TRADING_YEAR: whole_years(r"TY(\d{4})", "TYyyyy", "TY{:04}"),
}


def parse_day(code: str) -> date | None:
    """Return the day of a code, None if it is no code of a day."""
    ordinal = GRAINS[Grain.DATE].parse(code)
    return None if ordinal is None else date.fromordinal(ordinal)


DAYS = GrainRules(
    noun="date",
    called="a day",
    example="2025-03-31",
    parse=GRAINS[Grain.DATE].parse,
    at=date.toordinal,
    span=lambda n: Span(date.fromordinal(n), date.fromordinal(n)),
    code=GRAINS[Grain.DATE].code,
    name=lambda n: day_words(date.fromordinal(n)),
    beside=LabelDetail.NOTHING,
    years_earlier=day_years_earlier,
)
ISO_WEEKS = GrainRules(
    noun="week",
    called="an ISO week",
    example="2025-W13",
    parse=GRAINS[Grain.WEEK].parse,
    at=week_of,
    span=week_span,
    code=week_code,
    name=week_code,
    beside=LabelDetail.DAYS,
    years_earlier=week_years_earlier,
)
