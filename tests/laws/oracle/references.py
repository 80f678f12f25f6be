"""Scenario references as values: parts, blends, shifted sides, variances, and the cells they are asked in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.laws.oracle.books import Cuts, OracleBooks
from tests.laws.oracle.calendar import MEANS, OPENING, WINDOWS, Range, period_of, shifted


@dataclass(frozen=True, slots=True)
class Part:
    """A base scenario, or its downside."""

    scenario: str
    downside: bool = False

    @property
    def text(self) -> str:
        """The reference."""
        return f"{self.scenario}/downside" if self.downside else self.scenario


@dataclass(frozen=True, slots=True)
class OracleSide:
    """A part or a blend of two, with shifts from left to right."""

    parts: tuple[Part, ...]
    shifts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The reference."""
        return "@".join(("+".join(part.text for part in self.parts), *self.shifts))

    @property
    def step(self) -> str:
        """The last step that replaces the range by other days, "" if there is none."""
        return next((shift for shift in reversed(self.shifts) if shift in (OPENING, *WINDOWS)), "")

    @property
    def mean(self) -> int:
        """The number of periods of which it is the mean, 0 if it is none."""
        return int(self.step.removeprefix("avg")) if self.step in MEANS else 0

    @property
    def scenarios(self) -> frozenset[str]:
        """The scenarios it reads."""
        return frozenset(part.scenario for part in self.parts)


@dataclass(frozen=True, slots=True)
class OracleVariance:
    """The difference of two sides, or its share of the second."""

    a: OracleSide
    b: OracleSide
    relative: bool

    @property
    def text(self) -> str:
        """The reference."""
        return f"{'var_pct' if self.relative else 'var'}({self.a.text},{self.b.text})"

    @property
    def sides(self) -> tuple[tuple[OracleSide, frozenset[str]], ...]:
        """Both sides, each with the scenarios whose limits hold for it: those of both; none where both are the same."""
        narrowing = frozenset[str]() if self.a == self.b else self.a.scenarios | self.b.scenarios
        return ((self.a, narrowing), (self.b, narrowing))


Reference = OracleSide | OracleVariance


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleCell:
    """Where a figure stands: the range of the request, its filters and breakdown, and the place (none: the total).

    The place of a sub-total has members of the first dimensions alone.
    """

    asked: Range
    filters: Cuts
    breakdown: tuple[str, ...]  # dimensions of members; periods are `time`
    place: Mapping[str, str] | None
    time: str | None = None  # grain of a breakdown by periods
    column: Range | None = None  # one of them, or the days that one of each of two grains have in common
    codes: tuple[str, ...] = ()  # of those periods
    grains: tuple[str, ...] = ()  # of those periods
    excluded: Cuts = field(default_factory=dict)  # members that its filters leave out


def window_of(books: OracleBooks, side: OracleSide, cell: OracleCell) -> Range | None:
    """Return the range that a side reads; None where it does not exist."""
    asked = cell.asked
    if cell.column and cell.place is not None:
        asked = cell.column
    elif cell.time and any(shift in WINDOWS for shift in side.shifts):  # the total of windows is the last column's
        last = period_of(asked.days.last, cell.time, books.fiscal)
        asked = Range(last, last)
    return shifted(asked, side.shifts, books.fiscal)
