"""Grains, spans, periods and ranges as values.

A *span* is a run of days. A *period* is a span with a code of one grain ("2012-Q1"); a *range* runs from one period
to another of the same grain. *Bounds* are where a shifted view begins and ends, while it is being moved.
"""

from dataclasses import dataclass
from datetime import date
from enum import Enum

from engine.calendar.words import Beside, named


class Grain(Enum):
    """A length of period, by the name that list_dimensions gives it."""

    DATE = "date"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    @property
    def fineness(self) -> int:
        """0 for the finest; weeks and months are not comparable by this alone."""
        return FINENESS[self]


FINENESS = {grain: place for place, grain in enumerate(Grain)}


@dataclass(frozen=True, slots=True)
class Span:
    """A run of days, both ends included."""

    first: date
    last: date

    def holds(self, day: date) -> bool:
        """Tell whether a day lies inside."""
        return self.first <= day <= self.last

    @property
    def length(self) -> int:
        """How many days it has."""
        return (self.last - self.first).days + 1

    def overlap(self, other: "Span") -> "Span | None":
        """Return the days that both have."""
        first, last = max(self.first, other.first), min(self.last, other.last)
        return Span(first, last) if first <= last else None


@dataclass(frozen=True, slots=True)
class Period:
    """A code of one grain and the days it means; `ordinal` counts periods of that grain."""

    grain: Grain
    ordinal: int
    code: str
    first: date
    last: date
    name: str
    beside: Beside

    @property
    def label(self) -> str:
        """The period in words."""
        return named(self.name, self.beside, self.first, self.last)

    @property
    def span(self) -> Span:
        """The days of the period."""
        return Span(self.first, self.last)


@dataclass(frozen=True, slots=True)
class PeriodRange:
    """From one period to another of the same grain, both included."""

    start: Period
    end: Period

    @property
    def grain(self) -> Grain:
        """The grain both bounds share."""
        return self.start.grain

    @property
    def span(self) -> Span:
        """The days of the range."""
        return Span(self.start.first, self.end.last)

    @property
    def count(self) -> int:
        """How many periods the range has."""
        return self.end.ordinal - self.start.ordinal + 1

    @property
    def label(self) -> str:
        """The range in words; its days are said once."""
        name = self.start.name if self.count == 1 else f"{self.start.name} – {self.end.name}"
        return named(name, self.start.beside, self.start.first, self.end.last)


@dataclass(frozen=True, slots=True)
class Bounds:
    """From the first day of one period to the last day of another; empty where a shift made them cross.

    The two may differ in grain: a year to date begins with a year and ends with a week, and each moves as what it is.
    """

    start: Period
    end: Period

    @property
    def span(self) -> Span | None:
        """The days between, None where there are none."""
        return Span(self.start.first, self.end.last) if self.start.first <= self.end.last else None
