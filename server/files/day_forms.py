"""Day forms: the formats that the days of one column mix, each with its rows."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from server.files.days import DATE_WORDS, FORMATS, DayColumn, DayFormat, in_english, typed_days
from server.files.findings import Findings, SampleTable, at_row, first_few

MOST: Final = 0.5  # share of the rows of a column of days that have a day at least
FEWEST: Final = 2  # forms of a column that mixes some
ISO: Final = FORMATS[0].format  # which is read beside any other
FORMAT: Final = "dates.format"


class FormRows(Struct, frozen=True):
    """A form of days in a column: its format, how many rows have it, and its first texts with their rows."""

    format: str
    rows: int
    texts: Sequence[tuple[str, int | None]]

    def __str__(self) -> str:
        examples = ", ".join(f"{at_row(row)} '{text}'" for text, row in first_few(self.texts))
        return f"{self.rows:,} {'row' if self.rows == 1 else 'rows'} as {self.format} ({examples})"


def day_forms(sample: SampleTable, column: str) -> Sequence[FormRows]:
    """Return the forms of days that a column mixes, the most frequent first; nothing if it has one, or few days."""
    texts = list(sample.texts(column).iter_rows())
    read = {text: formats_of(text) for text, _, _ in texts}
    total, remaining = sum(times for *_, times in texts), [one for one in texts if read[one[0]]]
    if sum(times for *_, times in remaining) < MOST * total:
        return ()
    forms: list[FormRows] = []
    while remaining:
        counts = {one: sum(times for text, _, times in remaining if one in read[text]) for one in FORMATS}
        best = max(FORMATS, key=lambda one: counts[one])
        fitting = [(text, row) for text, row, _ in remaining if best in read[text]]
        forms.append(FormRows(best.format, counts[best], fitting))
        remaining = [one for one in remaining if best not in read[one[0]]]
    return forms if len(forms) >= FEWEST else ()


def formats_of(text: str) -> Sequence[DayFormat]:
    """Return the formats in which a text is a day or a month."""
    english, _, _ = in_english([text])
    return [one for one in FORMATS if one.days(english)]


def days_beside_iso(sample: SampleTable, column: str) -> DayColumn | None:
    """Return a column of ISO days and days of one other form, which a load reads together; None if it is none."""
    forms = day_forms(sample, column)
    count = sample.texts(column)["times"].sum()
    if len(forms) != FEWEST or sum(form.rows for form in forms) < count or ISO not in {form.format for form in forms}:
        return None
    (iso,), (other,) = ([form for form in forms if (form.format == ISO) is wanted] for wanted in (True, False))
    read, plain = typed_days(column, other.texts), typed_days(column, iso.texts)
    if read is None or plain is None or not read.is_whole:
        return None
    says = "; ".join(map(str, forms))
    decided = tuple(replace(one, evidence=says) if one.key == FORMAT else one for one in read.findings.decided)
    first, last = min(read.first, plain.first), max(read.last, plain.last)
    return DayColumn(column, read.grain, first, last, Findings(decided, read.findings.ambiguities))


def mixed_days(sample: SampleTable, column: str, day: DayColumn | None) -> str | None:
    """Return which forms of days a column mixes, so that no load reads all; None if it does not.

    `day` is what it is as a column of days.
    """
    if day is not None and day.is_whole:
        return None
    forms = day_forms(sample, column) if day is not None or DATE_WORDS.search(column) else ()
    read = {text for form in forms for text, _ in form.texts}
    others = [(text, row) for text, row, _ in sample.texts(column).iter_rows() if text not in read]
    rest = f"; no day is {', '.join(f'{at_row(row)} {text!r}' for text, row in first_few(others))}" if others else ""
    return f"{column} mixes forms of days: {'; '.join(map(str, forms))}{rest}" if forms else None
