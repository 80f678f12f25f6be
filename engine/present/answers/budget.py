"""The token budget of an answer, and the parts that answers have in common."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from engine.model.calendar.periods import PeriodRange
from engine.model.notes import Note

# How long a result is, as a model counts it.
#
# Tokenizers take JSON at very different rates: words at four characters a token, rows of short numbers at two. Digits
# cost them more than anything else, and most of what is left is keys and punctuation that come again and again.


Json = dict[str, Any]
DIGITS = b"0123456789"
TOKENS_PER_DIGIT = 0.75
TOKENS_PER_BYTE = 0.3  # of anything else; together 2 to 26 % above what tokenizers take: docs/tokens.md


def tokens(result: Json) -> int:
    """Return about how many tokens a result has as JSON text."""
    return tokens_of(to_json(result))


def tokens_of(text: bytes) -> int:
    """Return about how many tokens a text has, high rather than low."""
    rest = len(text.translate(None, DIGITS))
    return int((len(text) - rest) * TOKENS_PER_DIGIT + rest * TOKENS_PER_BYTE)


# Parts that results have in common.


@dataclass(frozen=True, slots=True)
class DataRef:
    """The reference under which a whole result is kept, or the note that says why it has none."""

    reference: str | None = None
    note: Note | None = None

    def as_data(self) -> Json:
        """Return what a result says of it."""
        known = {} if self.reference is None else {"data_ref": self.reference}
        return {**known, "dataset_available": self.reference is not None}

    def notes(self, notes: Sequence[Note]) -> list[Json]:
        """Return the notes of a result as JSON, with its own."""
        return [note.as_data() for note in (*notes, *([self.note] if self.note else ()))]


NOT_KEPT = DataRef()


@dataclass(frozen=True, slots=True)
class UncutAnswer:
    """A result of any length: the result object without its rows, and these one by one."""

    result: Json
    rows: Iterator[Json | list[Any]]


def period_json(period: PeriodRange) -> Json:
    """Return a range: its codes, its days and its name."""
    return {
        "start": period.start.code,
        "end": period.end.code,
        "grain": period.grain.value,
        "first_day": period.span.first.isoformat(),
        "last_day": period.span.last.isoformat(),
        "label": period.label,
    }
