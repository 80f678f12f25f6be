"""Period names: the months, quarters and years that the names of columns and files and titles say."""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

from engine.model.calendar.labels import MONTHS
from engine.model.calendar.periods import Grain
from server.files.dates import MONTH_DIGITS
from server.files.days import NAMES_OF_MONTHS, named_month


class PeriodKind(Enum):
    """What a name says a period to be, the finest first."""

    MONTH = Grain.MONTH
    QUARTER = Grain.QUARTER
    HALF = "half"
    YEAR = Grain.YEAR

    @property
    def grain(self) -> Grain:
        """The grain of books that hold it: a half year stands in its last quarter."""
        return Grain.QUARTER if self is PeriodKind.HALF else Grain(self.value)


GAP: Final = r"[\s._'/-]*"
CENTURY: Final = r"(?P<year>(?:19|20)\d\d)"
SHORT: Final = r"(?P<year>(?:(?:19|20)\d\d)|\d\d)"
WORD: Final = r"(?P<part>[^\W\d_]{3,}\.?)"
NUMBER: Final = r"(?P<part>0?[1-9]|1[0-2])"
QUARTER: Final = r"(?:Q|T|KQ|Qtr\.?|Quarter|Quartal|Trim\w*)"
HALF: Final = r"(?:H|HY|HJ|S|Half|Halbjahr|Sem\w*)"
FISCAL: Final = r"(?:FY|GJ)?"
SHAPES: Final = tuple(  # of the names of columns; the first that fits counts
    (kind, re.compile(shape, re.IGNORECASE))
    for kind, shape in (
        (PeriodKind.QUARTER, rf"{QUARTER}{GAP}(?P<part>[1-4])(?:[\s._'/-]+|(?=FY)){FISCAL}{SHORT}"),
        (PeriodKind.QUARTER, rf"(?P<part>[1-4])(?:Q|T){GAP}{FISCAL}{SHORT}"),
        (PeriodKind.QUARTER, rf"{FISCAL}{CENTURY}{GAP}{QUARTER}{GAP}(?P<part>[1-4])"),
        (PeriodKind.QUARTER, rf"FY{SHORT}{GAP}Q(?P<part>[1-4])"),
        (PeriodKind.HALF, rf"{HALF}{GAP}(?P<part>[12])(?:[\s._'/-]+|(?=FY)){FISCAL}{SHORT}"),
        (PeriodKind.HALF, rf"(?P<part>[12])\.?\s*{HALF}{GAP}{FISCAL}{SHORT}"),
        (PeriodKind.HALF, rf"{FISCAL}{CENTURY}{GAP}{HALF}{GAP}(?P<part>[12])"),
        (PeriodKind.HALF, rf"FY{SHORT}{GAP}H(?P<part>[12])"),
        (PeriodKind.MONTH, rf"{WORD}{GAP}{SHORT}"),
        (PeriodKind.MONTH, rf"{CENTURY}{GAP}{WORD}"),
        (PeriodKind.MONTH, rf"{CENTURY}{GAP}(?:M|P|Per\.?|Period)?{GAP}{NUMBER}"),
        (PeriodKind.MONTH, rf"(?:M|P|Per\.?|Period)?{GAP}{NUMBER}[\s._'/-]+{CENTURY}"),
        (PeriodKind.YEAR, rf"(?:FY|GJ|CY|Year|Jahr)?{GAP}{CENTURY}"),
    )
)
ANY_YEAR: Final = r"(?:19|20)\d\d"
YEAR = re.compile(rf"(?<!\d){ANY_YEAR}(?!\d)")
YEARS = re.compile(rf"(?<!\d)({ANY_YEAR})[-/](\d\d)(?!\d)")  # 2025/26
ISO_MONTH = re.compile(rf"(?<!\d)({ANY_YEAR})[-_. ]?(0[1-9]|1[0-2])(?!\d)")
DAY = re.compile(rf"(?<!\d)(\d{{1,2}})([./-])(\d{{1,2}})\2({ANY_YEAR})(?!\d)")
NUMBERED_MONTH = re.compile(rf"(?<![\d./-])(0?[1-9]|1[0-2])[./-]({ANY_YEAR})(?!\d)")
NAMED_MONTH = re.compile(rf"([^\W\d_]{{3,}})[\s.,'_-]+({ANY_YEAR})(?!\d)")
SPOKEN: Final = re.compile(r"(?P<word>[^\W\d_]+)[\s._-]+(?P<month>[^\W\d_]+\.?)")
PART_OF_NAME: Final = re.compile(r"(?:fy|q|p|m)?[\d\W_]+|[^\W\d_]{3,}[\W_]*\d*", re.IGNORECASE)
MONTH_NUMBER: Final = re.compile(r"0?[1-9]|1[0-2]")


# Names of columns.


def period_code(name: str) -> Iterator[tuple[PeriodKind, str]]:
    """Yield the kind and the code of the period that a name is; nothing if it is none with a year.

    The code of a half year is that of its last quarter.
    """
    text = name.strip()
    for kind, shape in SHAPES:
        if (match := shape.fullmatch(text)) is None:
            continue
        year = match["year"] if len(match["year"]) == len("2026") else f"20{match['year']}"
        if kind is PeriodKind.YEAR:
            yield kind, year
            return
        if kind is not PeriodKind.MONTH:
            yield kind, f"{year}-Q{int(match['part']) * (1 if kind is PeriodKind.QUARTER else 2)}"
            return
        if number := named_month(match["part"]) or (int(match["part"]) if match["part"].isdecimal() else None):
            yield kind, f"{year}-{number:02}"
            return


def half_columns(columns: Sequence[str]) -> list[str]:
    """Return the columns that are named by half years."""
    return [name for name in columns if any(kind is PeriodKind.HALF for kind, _ in period_code(name))]


def month_of(name: str) -> int | None:
    """Return the number of a month by its name in any language, or by its number; None if it is none."""
    if number := named_month(name.strip()):
        return number
    if match := numbered(name):
        return int(match["month"])
    spoken = SPOKEN.fullmatch(name.strip())
    return month_of(spoken["month"]) if spoken else None


def numbered(name: str) -> re.Match[str] | None:
    """Return the parts of a name that is the number of a month (`P01`, `Monat 1`, `1`); None if it is none."""
    match = MONTH_DIGITS.fullmatch(name.strip().casefold())
    return match if match and 1 <= int(match["month"]) <= len(MONTHS) else None


# Names of files, and titles.


def codes_in(text: str) -> Iterator[str]:
    """Yield the codes of the months in a text, and of its years; a day is one of its month."""
    days = DAY.findall(text)
    told = {
        at
        for first, mark, second, _ in days
        if mark != "."
        for at, number in enumerate((second, first))
        if int(number) > 12
    }
    for first, mark, second, year in days:
        parts = (int(second), int(first))  # one day of them tells where the months stand in all
        numbers = {parts[0]} if mark == "." else {parts[1 - at] for at in told} or set(parts)
        yield from (f"{year}-{number:02}" for number in sorted(numbers) if 1 <= number <= 12)
    rest = DAY.sub(" ", text)
    yield from (f"{year}-{month}" for year, month in ISO_MONTH.findall(rest))
    yield from (f"{year}-{int(month):02}" for month, year in NUMBERED_MONTH.findall(rest))
    named = ((year, named_month(word)) for word, year in NAMED_MONTH.findall(rest))
    yield from (f"{year}-{number:02}" for year, number in named if number)
    years = YEAR.findall(rest)
    yield from (f"{year}-{number:02}" for number in months_in(rest) for year in years[:1])
    yield from years
    yield from (f"{first[:2]}{last}" for first, last in YEARS.findall(rest) if (int(first) + 1) % 100 == int(last))


def months_in(text: str) -> list[int]:
    """Return the months whose names, written out, stand in a text."""
    words = {word.lower() for word in re.findall(r"[^\W\d_]+", text)}
    named = (
        number
        for names in NAMES_OF_MONTHS.values()
        for number, (full, *_) in enumerate(names, 1)
        if full in words and len(full) > 3
    )
    return sorted(set(named))


def is_period_part(text: str) -> bool:
    """Tell whether a part of the name of a file may say a period alone."""
    return PART_OF_NAME.fullmatch(text) is not None


def is_month_number(text: str) -> bool:
    """Tell whether a text is the number of a month."""
    return MONTH_NUMBER.fullmatch(text) is not None
