"""The token budget of an answer, and the parts that answers share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from engine.model.calendar.periods import PeriodRange
from engine.model.notes import Note

# Token estimates. Tokenizers spend about one token on four characters of words, but on two characters of short numbers.
# Digits cost most. The rest is mostly repeated keys and punctuation.


Json = dict[str, Any]
DIGITS = b"0123456789"
TOKENS_PER_DIGIT = 0.75
TOKENS_PER_BYTE = 0.3  # of anything else; together 2 to 26 % above what tokenizers take: docs/tokens.md


def tokens(result: Json) -> int:
    """Return the estimated number of tokens of a result as JSON text."""
    return tokens_of(to_json(result))


def tokens_of(text: bytes) -> int:
    """Return the estimated number of tokens of a text, rounded high."""
    rest = len(text.translate(None, DIGITS))
    return int((len(text) - rest) * TOKENS_PER_DIGIT + rest * TOKENS_PER_BYTE)


# Parts that answers share.


@dataclass(frozen=True, slots=True)
class DataRef:
    """The reference to a stored result, or a note on why it is not stored."""

    reference: str | None = None
    note: Note | None = None

    def as_data(self) -> Json:
        """Return the reference as fields of an answer."""
        known = {} if self.reference is None else {"data_ref": self.reference}
        return {**known, "dataset_available": self.reference is not None}

    def notes(self, notes: Sequence[Note]) -> list[Json]:
        """Return the notes of an answer as JSON, with the reference's own note."""
        return [note.as_data() for note in (*notes, *([self.note] if self.note else ()))]


NOT_KEPT = DataRef()


@dataclass(frozen=True, slots=True)
class UncutAnswer:
    """An answer of any length: the result object without its rows, and the rows as an iterator."""

    result: Json
    rows: Iterator[Json | list[Any]]


def period_json(period: PeriodRange) -> Json:
    """Return a period range: its codes, dates and label."""
    return {
        "start": period.start.code,
        "end": period.end.code,
        "grain": period.grain.value,
        "first_day": period.span.first.isoformat(),
        "last_day": period.span.last.isoformat(),
        "label": period.label,
    }
