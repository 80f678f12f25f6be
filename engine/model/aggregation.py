"""How a figure adds up: over the rows of its members, and over time."""

from dataclasses import dataclass
from enum import Enum

from engine.model.calendar.periods import Grain


class MemberAggregation(Enum):
    """What is made of the rows of a figure."""

    SUM = "sum"
    COUNT = "count"
    COUNT_DISTINCT = "count_distinct"
    MIN = "min"
    MAX = "max"
    AVERAGE = "average"

    @property
    def is_additive(self) -> bool:
        """Tell whether the figures of parts add up to that of the whole."""
        return self in (MemberAggregation.SUM, MemberAggregation.COUNT)

    @property
    def counts(self) -> bool:
        """Tell whether it speaks of rows or members, whatever they amount to."""
        return self in (MemberAggregation.COUNT, MemberAggregation.COUNT_DISTINCT)


class TimeRule(Enum):
    """Which days of a range a figure is made of."""

    SUM = "sum"  # all of them: a flow
    CLOSING = "closing"  # those of the last period that holds any balance of the group
    LAST_KNOWN = "last_known"  # for each leaf, those of the last period that holds any row of it
    TO_DATE = "to_date"  # all up to the end of the range: movements that make a balance
    AVERAGE = "average"  # the closings of all its periods, divided by how many there are


class LookBack(Enum):
    """How far before the end of a range a figure looks back."""

    ALWAYS = "always"  # to the first row there is
    FISCAL_YEAR = "fiscal_year"
    RANGE = "range"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAggregation:
    """How a figure adds up over time."""

    rule: TimeRule
    since: LookBack = LookBack.RANGE
    grain: Grain | None = None  # of an average: whose closings
    opening: bool = False  # the same rule, applied to everything before the range

    @property
    def is_flow(self) -> bool:
        """Tell whether every day of a range counts."""
        return self.rule is TimeRule.SUM

    @property
    def closes(self) -> bool:
        """Tell whether it reads the days of one close: the anchor of its stock group."""
        return self.rule is TimeRule.CLOSING

    @property
    def written(self) -> str:
        """The rule in words, as list_kpis gives it."""
        words = {
            TimeRule.LAST_KNOWN: f"last_known ({self.since.value})",
            TimeRule.TO_DATE: f"to_date ({'books' if self.since is LookBack.ALWAYS else self.since.value})",
            TimeRule.AVERAGE: f"average of {self.grain.value} closings" if self.grain else "average",
        }.get(self.rule, self.rule.value)
        if not self.opening:
            return words
        return "opening" if self.closes else f"opening, {words}"


FLOW = TimeAggregation(rule=TimeRule.SUM)
