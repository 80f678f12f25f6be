"""Spellings of periods: what people write instead of codes, such as Q3 2026, Sep 2026, 2026-9 and FY26."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from engine.model.calendar.periods import GRAINS, Grain, Span, iso_week, month_span, parse_day, week_span

LONGEST = 40  # characters of a spelling
MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


class Spelling(Struct, frozen=True):
    """Codes that some words spell, and the days that they mean by the common calendar; None if they name the codes."""

    code: str
    days: Span | None = None
    until: str | None = None  # the code of the last period, if it is another

    @property
    def first(self) -> str:
        """The code of the first period."""
        return self.code

    @property
    def last(self) -> str:
        """The code of the last period."""
        return self.until or self.code


def spellings(text: str) -> list[Spelling]:
    """Return what some words can mean; nothing if they spell no period."""
    words = " ".join(text.casefold().replace(",", " ").split())
    if len(words) > LONGEST:
        return []
    return [found for shape, read in SHAPES if (match := shape.fullmatch(words)) for found in read(*match.groups())]


def written(grain: Grain, *numbers: str) -> str:
    """Return the code of a year, and a number within it."""
    return GRAINS[grain].written.format(*map(int, numbers))


def full_year(year: str) -> str:
    """Return a year of four digits: 26 is 2026."""
    return f"20{year}" if len(year) == 2 else year


def month_number(name: str) -> str | None:
    """Return the number of a month from its name or the beginning of it."""
    found = [at for at, known in enumerate(MONTH_NAMES, 1) if known.startswith(name.rstrip("."))]
    return str(found[0]) if len(found) == 1 else None


def month_code(year: str, month: str) -> Iterator[Spelling]:
    """Yield the month of a year and the number of a month, as in a code."""
    yield Spelling(written(Grain.MONTH, year, month))


def calendar_month(year: str, month: str | None) -> Iterator[Spelling]:
    """Yield the month of a year and the number of a calendar month."""
    if month is not None and 1 <= int(month) <= 12:
        yield Spelling(written(Grain.MONTH, year, month), month_span(int(year) * 12 + int(month) - 1, 1))


def quarter_code(year: str, quarter: str) -> Iterator[Spelling]:
    """Yield the quarter of a fiscal year and a number."""
    yield Spelling(written(Grain.QUARTER, full_year(year), quarter))


def calendar_quarter(year: str, quarter: str) -> Iterator[Spelling]:
    """Yield the quarter of a year that may be fiscal or not."""
    days = month_span(int(year) * 12 + 3 * int(quarter) - 3, 3)
    yield Spelling(written(Grain.QUARTER, year, quarter), days)


def half_code(year: str, half: str) -> Iterator[Spelling]:
    """Yield the half of a fiscal year and a number, as its quarters."""
    first, last = (written(Grain.QUARTER, full_year(year), str(int(half) * 2 - place)) for place in (1, 0))
    yield Spelling(first, until=last)


def calendar_half(year: str, half: str) -> Iterator[Spelling]:
    """Yield the half of a year that may be fiscal or not."""
    days = month_span(int(year) * 12 + 6 * int(half) - 6, 6)
    yield from (replace(spelling, days=days) for spelling in half_code(year, half))


def calendar_code(grain: Grain) -> Callable[..., Iterator[Spelling]]:
    """Return what yields the code of a calendar or trading year, and a number within it."""

    def code(year: str, *number: str) -> Iterator[Spelling]:
        yield Spelling(written(grain, full_year(year), *number))

    return code


def year_code(year: str) -> Iterator[Spelling]:
    """Yield a fiscal year."""
    yield Spelling(written(Grain.YEAR, full_year(year)))


def week_code(year: str, week: str) -> Iterator[Spelling]:
    """Yield the week of a year and a number, as in a code."""
    yield Spelling(written(Grain.WEEK, year, week))


def calendar_week(year: str, week: str) -> Iterator[Spelling]:
    """Yield the week of a year that may be fiscal or ISO's."""
    number = iso_week(int(year), int(week))
    yield Spelling(written(Grain.WEEK, year, week), None if number is None else week_span(number))


def days_of(*triples: Sequence[str | None]) -> Iterator[Spelling]:
    """Yield the days that exist among some of year, month and day, each once."""
    codes = [written(Grain.DATE, *filter(None, parts)) for parts in triples if all(parts)]
    days: dict[date | None, str] = {parse_day(code): code for code in codes}
    yield from (Spelling(code) for day, code in days.items() if day is not None)


YEAR, MARK = r"([12]\d{3})", "[-/. ]"
NAME = r"([a-z]{3,9}\.?)"
FISCAL = r"(?:fy|fiscal year|fiscal) ?([12]\d{3}|\d\d)"
CY = r"(?:cy|calendar year|calendar) ?([12]\d{3}|\d\d)"
TY = r"(?:ty|trading year|trading) ?([12]\d{3}|\d\d)"
SHAPES: Sequence[tuple[re.Pattern[str], Callable[..., Iterator[Spelling]]]] = [
    (re.compile(shape, re.ASCII), read)
    for shape, read in (
        (rf"{YEAR}(?:[-/.]|-?m)(\d\d?)", month_code),
        (rf"(\d\d?)[-/.]{YEAR}", lambda month, year: calendar_month(year, month)),
        (rf"{NAME}{MARK}?{YEAR}", lambda name, year: calendar_month(year, month_number(name))),
        (rf"{YEAR}{MARK}?{NAME}", lambda year, name: calendar_month(year, month_number(name))),
        (rf"{YEAR}-?q([1-4])", quarter_code),
        (rf"{FISCAL}{MARK}?q([1-4])", quarter_code),
        (rf"q([1-4]){MARK}?{FISCAL}", lambda quarter, year: quarter_code(year, quarter)),
        (rf"{YEAR}[/. ]q([1-4])", calendar_quarter),
        (rf"q([1-4]){MARK}?{YEAR}", lambda quarter, year: calendar_quarter(year, quarter)),
        (rf"([1-4])q{MARK}?{YEAR}", lambda quarter, year: calendar_quarter(year, quarter)),
        (FISCAL, year_code),
        (rf"{FISCAL}{MARK}?h([12])", half_code),
        (rf"h([12]){MARK}?{FISCAL}", lambda half, year: half_code(year, half)),
        (rf"{YEAR}{MARK}?h([12])", calendar_half),
        (rf"h([12]){MARK}?{YEAR}", lambda half, year: calendar_half(year, half)),
        (CY, calendar_code(Grain.CALENDAR_YEAR)),
        (rf"{CY}{MARK}?h([12])", calendar_code(Grain.CALENDAR_HALF)),
        (rf"h([12]){MARK}?{CY}", lambda half, year: calendar_code(Grain.CALENDAR_HALF)(year, half)),
        (rf"{CY}{MARK}?q([1-4])", calendar_code(Grain.CALENDAR_QUARTER)),
        (rf"q([1-4]){MARK}?{CY}", lambda quarter, year: calendar_code(Grain.CALENDAR_QUARTER)(year, quarter)),
        (rf"{CY}[-/.](\d\d?)", calendar_code(Grain.CALENDAR_MONTH)),
        (TY, calendar_code(Grain.TRADING_YEAR)),
        (rf"{TY}{MARK}?q([1-4])", calendar_code(Grain.TRADING_QUARTER)),
        (rf"q([1-4]){MARK}?{TY}", lambda quarter, year: calendar_code(Grain.TRADING_QUARTER)(year, quarter)),
        (rf"{TY}{MARK}?p(\d\d?)", calendar_code(Grain.TRADING_PERIOD)),
        (rf"(?:p|period) ?(\d\d?){MARK}?{TY}", lambda number, year: calendar_code(Grain.TRADING_PERIOD)(year, number)),
        (rf"{TY}{MARK}?w(\d\d?)", calendar_code(Grain.TRADING_WEEK)),
        (rf"(?:w|week|wk) ?(\d\d?){MARK}?{TY}", lambda week, year: calendar_code(Grain.TRADING_WEEK)(year, week)),
        (rf"{YEAR}-?w(\d\d?)", week_code),
        (rf"(?:w|week|wk) ?(\d\d?){MARK}{YEAR}", lambda week, year: calendar_week(year, week)),
        (rf"{YEAR}([-/.])(\d\d?)\2(\d\d?)", lambda year, _, month, day: days_of((year, month, day))),
        (rf"(\d\d?)\.(\d\d?)\.{YEAR}", lambda day, month, year: days_of((year, month, day))),
        (rf"(\d\d?)([-/])(\d\d?)\2{YEAR}", lambda a, _, b, year: days_of((year, b, a), (year, a, b))),
        (rf"(\d\d?) {NAME} {YEAR}", lambda day, name, year: days_of((year, month_number(name), day))),
        (rf"{NAME} (\d\d?) {YEAR}", lambda name, day, year: days_of((year, month_number(name), day))),
    )
]
