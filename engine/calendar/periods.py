"""Grains, spans, periods and ranges as values.

A *span* is a run of days. A *period* is a span with a code of one grain ("2012-Q1"); a *range* runs from one period
to another of the same grain.
"""

from dataclasses import dataclass
from datetime import date
from enum import Enum


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

    def overlap(self, other: "Span") -> "Span | None":
        """Return the days that both have."""
        first, last = max(self.first, other.first), min(self.last, other.last)
        return Span(first, last) if first <= last else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FiscalYear:
    """The month a fiscal year starts in, and whether it is named by the year it ends or starts in."""

    starts: int = 1
    named_by_end: bool = True

    def first_month(self, year: int) -> int:
        """Return the first month of a fiscal year, as months since year 0."""
        named_later = self.named_by_end and self.starts > 1
        return (year - named_later) * 12 + self.starts - 1

    def year_of(self, month: int) -> int:
        """Return the fiscal year of a month given as months since year 0."""
        year = month // 12
        return year + (month >= self.first_month(year + 1)) - (month < self.first_month(year))


@dataclass(frozen=True, slots=True)
class Period:
    """A code of one grain and the days it means; `ordinal` counts periods of that grain."""

    grain: Grain
    ordinal: int
    code: str
    first: date
    last: date
    label: str

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
        """The range in words."""
        return self.start.label if self.count == 1 else f"{self.start.label} – {self.end.label}"
