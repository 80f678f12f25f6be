"""Parts that results have in common."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.answers.budget import Json
from engine.calendar.periods import PeriodRange
from engine.notes import Note


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
class Whole:
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
