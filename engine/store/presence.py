"""Presence in Arrow partitions: from the manifest where nothing is cut off, else read month by month."""

from collections.abc import Callable, Sequence
from datetime import date

import polars as pl

from engine.calendar.periods import Span
from engine.slices import DATE
from engine.store.layout import UNDATED, Partition


class ArrowPresence:
    """On which days a scenario holds rows inside a cell; read month by month, each once."""

    def __init__(
        self, partitions: Sequence[Partition], predicate: pl.Expr | None, frame: Callable[[Partition], pl.DataFrame]
    ) -> None:
        self._partitions = partitions
        self._predicate = predicate
        self._frame = frame
        self._held: dict[str, tuple[date, ...]] = {}

    def days(self, span: Span) -> Sequence[date]:
        """Return the days of a span that hold rows, ascending."""
        held = {day for part in self._touched(span) for day in self._days(part) if span.holds(day)}
        return sorted(held)

    def last(self, span: Span) -> date | None:
        """Return the last day of a span that holds rows."""
        latest: date | None = None
        for part in reversed(self._touched(span)):
            if latest is not None and part.bucket != latest.isoformat()[:7]:
                break
            held = [day for day in self._days(part) if span.holds(day)]
            latest = max([*held, *([latest] if latest else [])], default=None)
        return latest

    def through(self) -> date | None:
        """Return the last day of all that holds rows."""
        return self.last(Span(date.min, date.max))

    def undated(self) -> int:
        """Return how many rows have no date."""
        parts = [part for part in self._partitions if part.bucket == UNDATED]
        if self._predicate is None:
            return sum(part.rows for part in parts)
        return sum(int(self._rows(part).select(pl.len()).collect().item()) for part in parts)

    def codes(self, dimension: str) -> frozenset[int]:
        """Return the codes of a leaf dimension that some row has."""
        found = (self._rows(part).select(pl.col(dimension).unique()).collect()[dimension] for part in self._partitions)
        return frozenset(code for codes in found for code in codes)

    def unassigned(self, dimensions: Sequence[str]) -> frozenset[str]:
        """Return those of some leaf dimensions of which a row has no member."""
        found: set[str] = set()
        for part in self._partitions:
            lacking = [pl.col(key).eq(0).any() for key in dimensions if key not in found]
            if not lacking:
                break
            found.update(
                key for key, holds in self._rows(part).select(lacking).collect().row(0, named=True).items() if holds
            )
        return frozenset(found)

    def brought_by(self, load: str) -> bool:
        """Tell whether a load brought some row."""
        parts = (part for part in self._partitions if part.load == load)
        return any(part.rows if self._predicate is None else self._holds_any(part) for part in parts)

    def _holds_any(self, part: Partition) -> bool:
        return bool(self._rows(part).select(pl.len()).collect().item())

    def _rows(self, part: Partition) -> pl.LazyFrame:
        frame = self._frame(part).lazy()
        return frame if self._predicate is None else frame.filter(self._predicate)

    def _touched(self, span: Span) -> list[Partition]:
        first, last = span.first.isoformat()[:7], span.last.isoformat()[:7]
        return [part for part in self._partitions if part.bucket != UNDATED and first <= part.bucket <= last]

    def _days(self, part: Partition) -> tuple[date, ...]:
        if self._predicate is None:
            return part.dates
        if part.file not in self._held:
            self._held[part.file] = tuple(sorted(self._rows(part).select(pl.col(DATE).unique()).collect()[DATE]))
        return self._held[part.file]
