"""Calendar tables written for a test: fiscal years of weeks, 4-4-5 or thirteen periods."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

HEADER = "year,period,quarter,first_day,last_day"
BY_WEEK = "year,period,quarter,week,first_day,last_day"
QUARTER = (4, 4, 5)
WEEK = timedelta(days=7)


def four_four_five(weeks: int = 52) -> tuple[int, ...]:
    """Return the weeks of the periods of a 4-4-5 year; a 53rd week makes the last period longer."""
    return (*QUARTER * 3, 4, 4, 5 + weeks - 52)


def rows(first: date, years: Mapping[int, Sequence[int]], *, quarters: bool, by_week: bool) -> Iterator[str]:
    """Yield the rows of a table whose first day is given, year by year the weeks of each period."""
    day = first
    for year, periods in years.items():
        week = 0
        for period, weeks in enumerate(periods, 1):
            quarter = min((period + 2) // 3, 4) if quarters else ""
            for length in (1,) * weeks if by_week else (weeks,):
                week += length
                after = day + length * WEEK
                number = f"{week}," if by_week else ""
                yield f"{year},{period},{quarter},{number}{day},{after - timedelta(days=1)}"
                day = after


def table(first: date, years: Mapping[int, Sequence[int]], *, quarters: bool = True, by_week: bool = False) -> str:
    """Return a calendar table as CSV."""
    head = BY_WEEK if by_week else HEADER
    return "\n".join([head, *rows(first, years, quarters=quarters, by_week=by_week)]) + "\n"
