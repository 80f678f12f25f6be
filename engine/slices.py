"""Slices: what a plan asks of the facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from engine.calendar.periods import Span

SPAN = "span"  # column of a sums frame: position of the span among those asked for
ROWS = "rows"  # column of a sums frame: how many rows were added up


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Sums of one scenario of a domain: by span and by the codes of some leaf dimensions.

    The spans do not overlap and ascend. The cell handed over beside a slice is all that restricts it.
    """

    domain: str
    scenario: str
    spans: tuple[Span, ...]
    keys: tuple[str, ...]
    measures: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSlice:
    """Rows of one scenario of a domain, in the order they are stored: by month, then by the domain's sort keys."""

    domain: str
    scenario: str
    span: Span
    columns: tuple[str, ...]
    limit: int


class Presence(Protocol):
    """Where a scenario of a domain holds rows inside a cell: on which days, and for which leaves."""

    def days(self, span: Span) -> Sequence[date]:
        """Return the days of a span that hold rows, ascending."""

    def last(self, span: Span) -> date | None:
        """Return the last day of a span that holds rows."""

    def through(self) -> date | None:
        """Return the last day of all that holds rows."""

    def undated(self) -> int:
        """Return how many rows have no date."""

    def codes(self, dimension: str) -> frozenset[int]:
        """Return the codes of a leaf dimension that some row has."""

    def unassigned(self, dimensions: Sequence[str]) -> frozenset[str]:
        """Return those of some leaf dimensions of which a row has no member."""
