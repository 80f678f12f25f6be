"""Written days: forms of days that a load reads by a format, and forms of periods that are not read."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from server.files.dates import stamp_parts
from server.files.day_forms import days_beside_iso
from server.files.days import DATE_WORDS, DayColumn, detect_days, typed_days
from server.files.findings import Finding, Findings, SampleTable
from server.files.notation import ID_WORDS, words_of

FORMAT: Final = "dates.format"


class DayForm(Struct, frozen=True):
    """A form of days: how its texts become those of a known form, and the format of that becomes its own."""

    shape: re.Pattern[str]
    known: str  # the text in the known form
    format: tuple[str, str]  # a part of the known format, and what replaces it
    is_named: bool = False  # whether the name of the column must speak of days

    def own_format(self, known: str) -> str:
        """Return the format of its texts; `known` is that of the known form."""
        return known.replace(*self.format)


FORMS: Final = (
    DayForm(re.compile(r"(.+) 00:00(?::00)?"), r"\1", ("", "")),  # 31.12.2025 00:00; a load leaves midnight out
    DayForm(re.compile(r"(\d{1,2})\. (.+)"), r"\1 \2", ("%d ", "%d. ")),  # 31. Dezember 2025
    DayForm(re.compile(r"[^\W\d_]{6,}, ([^\W\d_]+ \d+, \d{4})"), r"\1", ("%B", "%A, %B")),  # Monday, March 31, 2025
    DayForm(re.compile(r"0(\d\d\.\d{4})"), r"\1", ("%m", "0%m"), is_named=True),  # 012.2025
)

CENTURY: Final = r"(?:19|20)\d\d"
PART: Final = (
    "q|qtr|quarter|quartal|t|trim|trimestre|h|hy|hj|half|halbjahr|s|sem|semester|m|mon|p|per|period|periode|w|wk|kw|"
    "week"
)
FISCAL: Final = rf"(?:fy|fyr|gj|wj|ay|sy|ye|exercice|ejercicio)[ ._-]?(?:{CENTURY}|\d\d)"
UNREAD: Final = re.compile(  # periods that people write, and that are not read
    rf"(?:{FISCAL}|{CENTURY})[ ._/-]*(?:{PART})[ ._-]?\d{{1,2}}"  # 2026Q1, 2026 P01, FY26-H1
    rf"|(?:{PART})[ ._-]?\d{{1,2}}[ ._/-]*(?:{FISCAL}|{CENTURY})"  # Q1 2026
    rf"|{FISCAL}(?:[/–-](?:{CENTURY}|\d\d))?",  # FY2026, FY2025-26
    re.IGNORECASE,
)
PACKED: Final = r"^(19|20)\d{6}$"
FEWEST_PACKED: Final = 3  # days of eight digits that tell a column whose name does not
YEARS: Final = re.compile(rf"({CENTURY})[/–-]((?:19|20)?\d\d)")  # 2025/26
DAY: Final = re.compile(r"\d{1,4}([./-])\d{1,2}(\1\d{1,4})?|\d{6,8}")
HOW_DAYS: Final = "write days as 2026-01-31, months as 2026-01, quarters as 2026-Q1, years as 2026"


def unread_period(texts: Sequence[tuple[str, int | None]]) -> tuple[str, int | None] | None:
    """Return the first of distinct texts, with its row, that is a period in a form that is not read.

    None unless all are periods or days.
    """
    unread = [pair for pair in texts if is_unread(pair[0])]
    return unread[0] if unread and all(is_unread(text) or DAY.fullmatch(text) for text, _ in texts) else None


def is_unread(text: str) -> bool:
    """Tell whether a text is a period or a day in a form, or with digits, that is not read."""
    plain = "".join(str(unicodedata.decimal(mark, mark)) for mark in text)
    years = YEARS.fullmatch(plain)
    return (
        bool(UNREAD.fullmatch(plain))
        or (years is not None and (int(years[1]) + 1) % 100 == int(years[2]) % 100)
        or (plain != text and bool(DAY.fullmatch(plain)))
    )


def days_of(sample: SampleTable, column: str, *, is_time: bool) -> DayColumn | None:
    """Return a column as one of days or periods; None if it is none. `is_time` says that somebody answered so."""
    found = detect_days(sample, column) or days_in_form(sample, column, is_time=is_time)
    if (found is None and DATE_WORDS.search(column)) or (found is not None and not found.is_whole):
        found = days_beside_iso(sample, column) or found
    are_days = is_time or all_packed(sample, column)
    if found is not None or not are_days or DATE_WORDS.search(column):
        return found
    named = f"date {column}"
    return detect_days(
        SampleTable(name=sample.name, frame=sample.frame.rename({column: named}), rows=sample.rows), named
    )


def all_packed(sample: SampleTable, column: str) -> bool:
    """Tell whether every text is a day of eight digits, and so many differ that ids would hardly be days."""
    texts = sample.texts(column)["text"]
    if texts.len() < FEWEST_PACKED or ID_WORDS.search(words_of(column)) or not texts.str.contains(PACKED).all():
        return False
    return texts.str.to_date("%Y%m%d", strict=False).null_count() == 0


def days_in_form(sample: SampleTable, column: str, *, is_time: bool) -> DayColumn | None:
    """Return a column whose texts are days in one of the forms, or days with a time; None if there is none."""
    pairs = list(sample.texts(column).select("text", "row").iter_rows())
    for form in FORMS:
        if form.is_named and not (is_time or DATE_WORDS.search(column)):
            continue
        if not pairs or not all(form.shape.fullmatch(text) for text, _ in pairs):
            continue
        read = typed_days(column, [(form.shape.sub(form.known, text), row) for text, row in pairs])
        return read and written_as(read, pairs[0], form.own_format)
    return stamped_days(column, pairs)


def stamped_days(column: str, pairs: Sequence[tuple[str, int]]) -> DayColumn | None:
    """Return a column whose texts are days with a time behind them, all written alike; None if they are none."""
    parts = [stamp_parts(text) for text, _ in pairs]
    times = {time for _, time in parts}
    if len(times) != 1 or not all(times):
        return None
    read = typed_days(column, [(day, row) for (day, _), (_, row) in zip(parts, pairs, strict=True)])
    return read and written_as(read, pairs[0], lambda format_: format_ + times.copy().pop())


def written_as(read: DayColumn, shown: tuple[str, int], change: Callable[[str], str]) -> DayColumn:
    """Return a column of days that was read in a known form, with its formats changed to those of its texts."""
    text, row = shown
    ambiguities = tuple(
        replace(one, readings=tuple(replace(way, keys={FORMAT: change(str(way.keys[FORMAT]))}) for way in one.readings))
        for one in read.findings.ambiguities
    )
    rest = tuple(one for one in read.findings.decided if one.key != FORMAT)
    if not ambiguities:
        written = change(str(read.findings.value(FORMAT) or "%Y-%m-%d"))
        rest = (Finding(FORMAT, written, f"{read.name}, row {row}: '{text}'"), *rest)
    return replace(read, findings=Findings(rest, ambiguities))
