"""Fiscal calendars: calendar months, grouped into quarters and years that start in a given month."""

from datetime import date
from functools import lru_cache

from msgspec import Struct

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.families import CALENDAR, CALENDAR_RULES
from engine.model.calendar.labels import LabelDetail, month_words
from engine.model.calendar.periods import (
    DAYS,
    GRAINS,
    ISO_WEEKS,
    Counterpart,
    Grain,
    GrainRules,
    Period,
    Span,
    month_span,
)
from engine.model.errors import BadPeriod

FIRST_YEAR, LAST_YEAR = 1900, 2199
CALENDAR_PARTS = {grain: rules for grain, rules in CALENDAR_RULES.items() if grain is not CALENDAR.month}


class FiscalYear(Struct, frozen=True, kw_only=True):
    """The first month of a fiscal year, and whether its name is the year in which it ends or starts."""

    starts: int = 1
    named_by_end: bool = True

    def first_month(self, year: int) -> int:
        """Return the first month of a fiscal year, counted in months since year 0."""
        named_later = self.named_by_end and self.starts > 1
        return (year - named_later) * 12 + self.starts - 1

    def year_of(self, month: int) -> int:
        """Return the fiscal year of a month, counted in months since year 0."""
        year = month // 12
        return year + (month >= self.first_month(year + 1)) - (month < self.first_month(year))

    def name(self, year: int) -> str:
        """Return the name of a year: "FY2012", or "2012" if the fiscal year is the calendar year."""
        return f"FY{year}" if self.starts > 1 else str(year)

    def quarter_of(self, month: int) -> int:
        """Return the fiscal quarter of a month, counted in quarters since year 0."""
        year = self.year_of(month)
        return year * 4 + (month - self.first_month(year)) // 3

    def quarter_months(self, quarter: int) -> int:
        """Return the first month of a fiscal quarter."""
        return self.first_month(quarter // 4) + quarter % 4 * 3


def month_of(day: date) -> int:
    """Return the month of a day, counted in months since year 0."""
    return day.year * 12 + day.month - 1


def exact_counterpart(ordinal: int) -> Counterpart:
    """Return the counterpart of a period that exists in every year."""
    return Counterpart(ordinal, ordinal)


def fiscal_calendar(fiscal: FiscalYear) -> Calendar:
    """Return the calendar of a fiscal year.

    >>> fiscal_calendar(FiscalYear(starts=7)).parse("2012-Q1").label
    'FY2012 Q1 (Jul–Sep 2011)'
    """
    months = GrainRules(
        noun="month",
        called="a month",
        example="2025-03",
        parse=GRAINS[Grain.MONTH].parse,
        at=month_of,
        span=lambda n: month_span(n, 1),
        code=GRAINS[Grain.MONTH].code,
        name=lambda n: month_words(month_span(n, 1).first),
        beside=LabelDetail.NOTHING,
        years_earlier=lambda n, years: exact_counterpart(n - 12 * years),
    )
    quarters = GrainRules(
        noun="quarter",
        called="a fiscal quarter",
        example="2025-Q1",
        parse=GRAINS[Grain.QUARTER].parse,
        at=lambda day: fiscal.quarter_of(month_of(day)),
        span=lambda n: month_span(fiscal.quarter_months(n), 3),
        code=GRAINS[Grain.QUARTER].code,
        name=lambda n: f"{fiscal.name(n // 4)} Q{n % 4 + 1}",
        beside=LabelDetail.MONTHS,
        years_earlier=lambda n, years: exact_counterpart(n - 4 * years),
    )
    years = GrainRules(
        noun="year",
        called="a fiscal year",
        example="2025",
        parse=GRAINS[Grain.YEAR].parse,
        at=lambda day: fiscal.year_of(month_of(day)),
        span=lambda n: month_span(fiscal.first_month(n), 12),
        code=GRAINS[Grain.YEAR].code,
        name=fiscal.name,
        beside=LabelDetail.MONTHS if fiscal.starts > 1 else LabelDetail.NOTHING,
        years_earlier=lambda n, years: exact_counterpart(n - years),
    )
    first, last = years.span(FIRST_YEAR), years.span(LAST_YEAR)
    return Calendar(
        days=Span(min(first.first, date(FIRST_YEAR, 1, 1)), max(last.last, date(LAST_YEAR, 12, 31))),
        grains={
            Grain.DATE: DAYS,
            Grain.WEEK: ISO_WEEKS,
            Grain.MONTH: months,
            Grain.QUARTER: quarters,
            Grain.YEAR: years,
            **(CALENDAR_PARTS if fiscal.starts > 1 else {}),
        },
    )


CALENDAR_YEAR = fiscal_calendar(FiscalYear())


@lru_cache(4096)
def plain_period(code: str) -> Period | None:
    """Return the period that a code means where the fiscal year is the calendar year; None if there is none."""
    try:
        return CALENDAR_YEAR.parse(code)
    except BadPeriod:
        return None
