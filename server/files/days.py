"""Days: how the days and months of a file are written, found from their texts and from the names of its columns."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final

from msgspec import Struct

from engine.model.calendar.labels import MONTH_NAMES
from engine.model.calendar.periods import Grain
from server.files.findings import Ambiguity, Finding, Findings, Reading, SampleTable, located

SERIAL = "serial"
SERIAL_ORIGIN = date(1899, 12, 30)
SERIALS = range(20_000, 80_000)  # 1954 to 2119
DATE_WORDS = re.compile(
    r"date|datum|day|tag|fecha|data|jour|dag|booked|posted|valuta|period|periode|période|month|monat|mois|mes\b|mese|"
    r"maand|time|zeit|buchung|budat|bldat|cpudt",
    re.IGNORECASE,
)
YEAR_WORDS = re.compile(
    r"(^|[\s_])(fiscal[\s_]?)?(year|jahr|geschäftsjahr|année|annee|exercice|año|anno|jaar)($|[\s_])", re.IGNORECASE
)
MONTH_WORDS = re.compile(
    r"(^|[\s_])(month|monat|mois|mes|mese|maand|period|periode|période|posting[\s_]period)($|[\s_])", re.IGNORECASE
)
MOST_DAYS = 0.9  # share of the texts of a column of days that are days at least

NAMES_OF_MONTHS: Final[Mapping[str, Sequence[Sequence[str]]]] = {  # of each month, the ways to write it; lower case
    "English": [(name.lower(), name[:3].lower(), *(("sept",) if name == "September" else ())) for name in MONTH_NAMES],
    "German": [
        ("januar", "jan", "jän", "jänner"), ("februar", "feb"), ("märz", "mär", "mrz", "maerz"), ("april", "apr"),
        ("mai",), ("juni", "jun"), ("juli", "jul"), ("august", "aug"), ("september", "sep", "sept"),
        ("oktober", "okt"), ("november", "nov"), ("dezember", "dez"),
    ],
    "French": [
        ("janvier", "janv", "jan"), ("février", "févr", "fév", "fevrier"), ("mars", "mar"), ("avril", "avr"), ("mai",),
        ("juin",), ("juillet", "juil"), ("août", "aout"), ("septembre", "sept", "sep"), ("octobre", "oct"),
        ("novembre", "nov"), ("décembre", "déc", "decembre", "dec"),
    ],
    "Spanish": [
        ("enero", "ene"), ("febrero", "feb"), ("marzo", "mar"), ("abril", "abr"), ("mayo", "may"), ("junio", "jun"),
        ("julio", "jul"), ("agosto", "ago"), ("septiembre", "sept", "sep"), ("octubre", "oct"), ("noviembre", "nov"),
        ("diciembre", "dic"),
    ],
    "Italian": [
        ("gennaio", "gen"), ("febbraio", "feb"), ("marzo", "mar"), ("aprile", "apr"), ("maggio", "mag"),
        ("giugno", "giu"), ("luglio", "lug"), ("agosto", "ago"), ("settembre", "set"), ("ottobre", "ott"),
        ("novembre", "nov"), ("dicembre", "dic"),
    ],
    "Dutch": [
        ("januari", "jan"), ("februari", "feb"), ("maart", "mrt"), ("april", "apr"), ("mei",), ("juni", "jun"),
        ("juli", "jul"), ("augustus", "aug"), ("september", "sep"), ("oktober", "okt"), ("november", "nov"),
        ("december", "dec"),
    ],
}  # fmt: skip


class DayFormat(Struct, frozen=True):
    """A way to write a day or a period."""

    format: str
    shape: re.Pattern[str]
    grain: Grain = Grain.DATE
    is_plain: bool = False  # read without a key

    def days(self, texts: Sequence[str]) -> list[date] | None:
        """Return the days of texts, the first day of a period; None if one of them is none."""
        if not all(self.shape.match(text) for text in texts):
            return None
        try:
            return [datetime.strptime(text, self.format).date() for text in texts]  # noqa: DTZ007 - days have no zone
        except ValueError:
            return None


def shaped(pattern: str) -> re.Pattern[str]:
    """Return the shape of a whole text."""
    return re.compile(f"^{pattern}$")


WORD = r"[^\W\d_]{3,}\.?"
FORMATS: Final = (
    DayFormat("%Y-%m-%d", shaped(r"\d{4}-\d{2}-\d{2}"), is_plain=True),
    DayFormat("%Y-%m-%d %H:%M:%S", shaped(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}")),
    DayFormat("%Y-%m-%dT%H:%M:%S", shaped(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}")),
    DayFormat("%Y/%m/%d", shaped(r"\d{4}/\d{1,2}/\d{1,2}")),
    DayFormat("%Y.%m.%d", shaped(r"\d{4}\.\d{1,2}\.\d{1,2}")),
    DayFormat("%Y%m%d", shaped(r"(19|20)\d{6}")),
    DayFormat("%d.%m.%Y", shaped(r"\d{1,2}\.\d{1,2}\.\d{4}")),
    DayFormat("%d.%m.%y", shaped(r"\d{1,2}\.\d{1,2}\.\d{2}")),
    *(
        DayFormat(f"{order}{year}{time}", shaped(rf"\d{{1,2}}{mark}\d{{1,2}}{mark}{digits}{clock}"))
        for time, clock in (("", ""), (" %H:%M", r" \d{1,2}:\d{2}"), (" %H:%M:%S", r" \d{1,2}:\d{2}:\d{2}"))
        for mark in ("/", "-")
        for year, digits in (("%Y", r"\d{4}"), ("%y", r"\d{2}"))
        for order in (f"%d{mark}%m{mark}", f"%m{mark}%d{mark}")
    ),
    *(
        DayFormat(f"%d{gap}{month}{gap}{year}", shaped(rf"\d{{1,2}}{gap}{WORD}{gap}{digits}"))
        for gap in (" ", "-")
        for month in ("%b", "%B")
        for year, digits in (("%Y", r"\d{4}"), ("%y", r"\d{2}"))
    ),
    DayFormat("%b %d, %Y", shaped(rf"{WORD} \d{{1,2}}, \d{{4}}")),
    DayFormat("%B %d, %Y", shaped(rf"{WORD} \d{{1,2}}, \d{{4}}")),
    DayFormat("%Y-%m", shaped(r"\d{4}-\d{2}"), Grain.MONTH, is_plain=True),
    DayFormat("%Y%m", shaped(r"(19|20)\d{2}(0[1-9]|1[0-2])"), Grain.MONTH),
    DayFormat("%Y/%m", shaped(r"\d{4}/\d{1,2}"), Grain.MONTH),
    DayFormat("%m/%Y", shaped(r"\d{1,2}/\d{4}"), Grain.MONTH),
    DayFormat("%m.%Y", shaped(r"\d{1,2}\.\d{4}"), Grain.MONTH),
    DayFormat("%m-%Y", shaped(r"\d{1,2}-\d{4}"), Grain.MONTH),
    *(
        DayFormat(f"{month}{gap}{year}", shaped(rf"{WORD}{gap}{digits}"), Grain.MONTH)
        for gap in ("-", " ", "/")
        for month in ("%b", "%B")
        for year, digits in (("%y", r"\d{2}"), ("%Y", r"\d{4}"))
    ),
)
USUAL: Final = (  # those of FORMATS that a message proposes, the likeliest first
    "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%y", "%d/%m/%y",
    "%m/%d/%y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%b %d, %Y", "%Y%m", "%b-%y", "%b %Y", "%m/%Y", "%m.%Y",
)  # fmt: skip
MIDNIGHT = re.compile(r"^\d{4}-\d{2}-\d{2}[ T]00:00:00$")
QUARTER = shaped(r"\d{4}-Q[1-4]")
YEAR = shaped(r"(19|20)\d{2}")


class DayColumn(Struct, frozen=True):
    """A column of days or periods: its grain, the days of its texts, and how it is written."""

    name: str
    grain: Grain
    first: date
    last: date
    findings: Findings
    is_whole: bool = True  # whether every text is a day, not nearly every one


def month_number(word: str, language: str) -> int | None:
    """Return the number of a month's name in a language; None if it is none."""
    bare = word.rstrip(".").lower()
    return next((number for number, names in enumerate(NAMES_OF_MONTHS[language], 1) if bare in names), None)


def named_month(word: str) -> int | None:
    """Return the number of a month by its name in any language; None if it is none."""
    return next((number for language in NAMES_OF_MONTHS if (number := month_number(word, language))), None)


def language_of(words: Iterable[str]) -> str | None:
    """Return the first language in which words are all names of months; None if there is none."""
    known = list(words)
    return next((one for one in NAMES_OF_MONTHS if known and all(month_number(word, one) for word in known)), None)


def names_for(words: Iterable[str], language: str) -> list[str]:
    """Return the twelve months of a language as some words write them; those that do not occur, the usual way."""
    written = {number: word for word in words if (number := month_number(word, language))}
    is_short = any(len(word.rstrip(".")) <= 4 for word in written.values())
    usual = [min(names, key=len) if is_short else names[0] for names in NAMES_OF_MONTHS[language]]
    return [written.get(number, name.capitalize()) for number, name in enumerate(usual, 1)]


def detect_days(sample: SampleTable, column: str) -> DayColumn | None:
    """Return a column as one of days or periods; None if it is none.

    Its findings have `dates.format` and `dates.months` if the reader needs them, and an ambiguity if its texts are
    different days in two formats.
    """
    texts = sample.texts(column)
    if texts.is_empty():
        return None
    pairs = list(zip(texts["text"], texts["row"], strict=True))
    return typed_days(column, pairs) or serial_days(column, pairs) or period_days(column, pairs)


Texts = Sequence[tuple[str, int | None]]


def typed_days(column: str, pairs: Texts) -> DayColumn | None:
    """Return a column whose texts are days in a format."""
    english, language, names = in_english([text for text, _ in pairs])
    fitting = [(one, days) for one in FORMATS if (days := one.days(english))]
    is_whole = bool(fitting)
    if not fitting:
        fitting = [(one, days) for one in FORMATS if (days := mostly(one, english))]
    if not fitting or (not DATE_WORDS.search(column) and fitting[0][0].format in {"%Y%m", "%Y%m%d"}):
        return None
    first, days = fitting[0]
    months = () if language in {None, "English"} else (Finding("dates.months", names, f"{language} names"),)
    bounds = min(days), max(days)
    rival = next((pair for pair in fitting[1:] if pair[1] != days or is_order(first, pair[0])), None)
    if rival is not None:
        return DayColumn(
            column, first.grain, *bounds, Findings(months, (order_ambiguity(column, pairs, first, rival[0]),)), is_whole
        )
    is_plain = first.is_plain or all(MIDNIGHT.search(text) for text, _ in pairs)
    decided = () if is_plain else (Finding("dates.format", first.format, deciding_day(column, pairs)),)
    return DayColumn(column, first.grain, *bounds, Findings((*decided, *months)), is_whole)


def is_order(one: DayFormat, other: DayFormat) -> bool:
    """Tell whether two formats differ in the order of day and month."""
    return one.format != other.format and sorted(one.format) == sorted(other.format)


def mostly(one: DayFormat, texts: Sequence[str]) -> list[date] | None:
    """Return the days of texts that are nearly all days in a format; None if fewer are."""
    fits = [days[0] for text in texts if (days := one.days([text]))]
    return fits if len(fits) > 10 and len(fits) >= MOST_DAYS * len(texts) else None


def in_english(texts: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """Return texts with the names of their months in English, the language they were in, and its names as written."""
    words = [word for text in texts for word in re.findall(WORD, text)]
    language = language_of(dict.fromkeys(words))
    if language is None:
        return list(texts), None, []
    names = names_for(words, language)
    short = all(len(word.rstrip(".")) <= 4 for word in words) and any(len(word) < 4 for word in words)

    def translated(found: re.Match[str]) -> str:
        name = MONTH_NAMES[(month_number(found[0], language) or 1) - 1]
        return name[:3] if short else name

    return [re.sub(WORD, translated, text) for text in texts], language, names


def order_ambiguity(column: str, pairs: Texts, one: DayFormat, other: DayFormat) -> Ambiguity:
    """Return the ambiguity of days that fit two formats, shown by a text that means two days."""
    shown = pairs[0]
    for pair in pairs:
        if (first := one.days([pair[0]])) and (second := other.days([pair[0]])) and first != second:
            shown = pair
            break
    readings = []
    for format_ in (one, other):
        (day,) = format_.days([shown[0]]) or [date.min]
        readings.append(Reading({"dates.format": format_.format}, f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year}"))
    return Ambiguity("dates.format", located(column, [shown]), tuple(readings))


def deciding_day(column: str, pairs: Texts) -> str:
    """Return the text that decides the order of day and month, the first one if it was never in doubt."""
    telling = (
        pair for pair in pairs if any(int(number) in range(13, 32) for number in re.findall(r"\d+", pair[0])[:2])
    )
    return located(column, [next(telling, pairs[0])])


def serial_days(column: str, pairs: Texts) -> DayColumn | None:
    """Return a column of the numbers that spreadsheets store for days, if its name says that it holds days."""
    whole = all(re.fullmatch(r"\d{5}(\.0+)?", text) and int(text[:5]) in SERIALS for text, _ in pairs)
    if not whole or not DATE_WORDS.search(column):
        return None
    days = [SERIAL_ORIGIN + timedelta(int(text[:5])) for text, _ in pairs]
    evidence = f"{located(column, [pairs[0]])}, the number that a spreadsheet stores for {days[0]}"
    return DayColumn(column, Grain.DATE, min(days), max(days), Findings((Finding("dates.format", SERIAL, evidence),)))


def period_days(column: str, pairs: Texts) -> DayColumn | None:
    """Return a column of quarters or, if its name says so, of years."""
    texts = [text for text, _ in pairs]
    if all(map(QUARTER.match, texts)):
        days = [date(int(text[:4]), 3 * int(text[-1]) - 2, 1) for text in texts]
        return DayColumn(column, Grain.QUARTER, min(days), max(days), Findings())
    if all(map(YEAR.match, texts)) and YEAR_WORDS.search(column):
        days = [date(int(text), 1, 1) for text in texts]
        return DayColumn(column, Grain.YEAR, min(days), max(days), Findings())
    return None


# Months across: the names of columns that are periods.


class MonthColumns(Struct, frozen=True):
    """Columns that are named by months, and whether their names have years."""

    names: tuple[str, ...]
    has_years: bool
    findings: Findings  # dates.format and dates.months of the names, as texts of a column
    codes: Mapping[str, str] = {}  # of names that no format reads, their periods
    grain: Grain = Grain.MONTH
    are_halves: bool = False  # whether they are half years, which books hold in their last quarters


def detect_month_columns(columns: Sequence[str]) -> MonthColumns | None:
    """Return the columns that are named by months, if they are three or more that stand side by side."""
    for run in runs_of(columns, is_month_name):
        words = [name.strip() for name in run]
        if (language := language_of(words)) is not None:
            names = names_for(words, language)
            months = () if language == "English" else (Finding("dates.months", names, f"columns {', '.join(run)}"),)
            return MonthColumns(tuple(run), has_years=False, findings=Findings(months))
    for run in runs_of(columns, is_dated_month):
        read = typed_days("columns", [(name, None) for name in run])
        if read is not None and read.grain is Grain.MONTH:
            return MonthColumns(tuple(run), has_years=True, findings=read.findings)
    return None


def runs_of(columns: Sequence[str], fits: Callable[[str], bool]) -> Iterator[list[str]]:
    """Yield the columns that fit, if three or more of them stand side by side."""
    run: list[str] = []
    for name in (*columns, ""):
        if fits(name):
            run.append(name)
            continue
        if len(run) >= 3:
            yield run
        run = []


def is_month_name(name: str) -> bool:
    """Tell whether a column is named by a month alone."""
    return named_month(name.strip()) is not None


def is_dated_month(name: str) -> bool:
    """Tell whether a column is named by a month and its year."""
    english, _, _ = in_english([name.strip()])
    return any(one.days(english) for one in FORMATS if one.grain is Grain.MONTH)
