"""Written days: forms of days that a load reads by a format, and that its own detection does not look for."""

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from server.ingest.days import DATE_WORDS, DayColumn, detect_days, typed_days
from server.ingest.findings import Finding, Findings, SampleTable

FORMAT: Final = "dates.format"


class DayForm(Struct, frozen=True):
    """A form of days: how its texts become those of a known form, and the format of that becomes its own."""

    shape: re.Pattern[str]
    known: str  # the text in the known form
    format: tuple[str, str]  # a part of the known format, and what replaces it
    is_named: bool = False  # whether the name of the column must speak of days


FORMS: Final = (
    DayForm(re.compile(r"(.+) 00:00(?::00)?"), r"\1", ("", "")),  # 31.12.2025 00:00; a load leaves midnight out
    DayForm(re.compile(r"(\d{1,2})\. (.+)"), r"\1 \2", ("%d ", "%d. ")),  # 31. Dezember 2025
    DayForm(re.compile(r"0(\d\d\.\d{4})"), r"\1", ("%m", "0%m"), is_named=True),  # 012.2025
)


def days_of(sample: SampleTable, column: str, *, is_time: bool) -> DayColumn | None:
    """Return a column as one of days or periods; None if it is none. `is_time` says that somebody answered so."""
    found = detect_days(sample, column) or days_in_form(sample, column, is_time=is_time)
    if found is not None or not is_time or DATE_WORDS.search(column):
        return found
    named = f"date {column}"
    return detect_days(
        SampleTable(name=sample.name, frame=sample.frame.rename({column: named}), rows=sample.rows), named
    )


def days_in_form(sample: SampleTable, column: str, *, is_time: bool) -> DayColumn | None:
    """Return a column whose texts are days in one of the forms; None if there is none."""
    pairs = list(sample.texts(column).select("text", "row").iter_rows())
    for form in FORMS:
        if form.is_named and not (is_time or DATE_WORDS.search(column)):
            continue
        if not pairs or not all(form.shape.fullmatch(text) for text, _ in pairs):
            continue
        read = typed_days(column, [(form.shape.sub(form.known, text), row) for text, row in pairs])
        if read is None or read.findings.ambiguities:
            return read
        written = str(read.findings.value(FORMAT) or "%Y-%m-%d").replace(*form.format)
        rest = tuple(one for one in read.findings.decided if one.key != FORMAT)
        evidence = f"{column}, row {pairs[0][1]}: '{pairs[0][0]}'"
        return replace(read, findings=Findings((Finding(FORMAT, written, evidence), *rest)))
    return None
