"""Aggregation: how a metric combines rows, and how it combines time."""

from collections.abc import Callable, Iterable
from enum import Enum

from msgspec import Struct

from engine.model.calendar.periods import Grain
from engine.model.calendar.steps import Shift


class MemberAggregation(Enum):
    """How a metric combines the rows of its members."""

    __hash__ = object.__hash__  # each member exists once; Enum hashes its name in Python

    SUM = "sum"
    COUNT = "count"
    COUNT_DISTINCT = "count_distinct"
    MIN = "min"
    MAX = "max"
    AVERAGE = "average"
    MEDIAN = "median"
    PERCENTILE = "percentile"

    @property
    def is_additive(self) -> bool:
        """Tell whether the figures of the parts add up to the figure of the whole."""
        return self in (MemberAggregation.SUM, MemberAggregation.COUNT)

    @property
    def is_quotient(self) -> bool:
        """Tell whether the figure is a sum that the number of its rows divides."""
        return self is MemberAggregation.AVERAGE

    @property
    def counts(self) -> bool:
        """Tell whether it counts rows or members and ignores amounts."""
        return self in (MemberAggregation.COUNT, MemberAggregation.COUNT_DISTINCT)


class TimeRule(Enum):
    """Which days of a range a figure reads."""

    __hash__ = object.__hash__  # each member exists once; Enum hashes its name in Python

    SUM = "sum"  # all days: a flow
    CLOSING = "closing"  # the last period that holds a row of the stock group
    LAST_KNOWN = "last_known"  # for each leaf, the last period that holds a row of it
    TO_DATE = "to_date"  # all days up to the end of the range: movements that make a balance
    AVERAGE = "average"  # the mean of the closings of the periods
    LOWEST = "lowest"  # the least of the closings
    HIGHEST = "highest"  # the largest of the closings


class LookBack(Enum):
    """How far a figure looks back from the end of a range."""

    __hash__ = object.__hash__  # each member exists once; Enum hashes its name in Python

    ALWAYS = "always"  # to the first row
    FISCAL_YEAR = "fiscal_year"
    RANGE = "range"


class TimeAggregation(Struct, frozen=True, kw_only=True):
    """How a metric combines time."""

    rule: TimeRule
    since: LookBack = LookBack.RANGE
    grain: Grain | None = None  # for AVERAGE: the periods whose closings it averages
    opening: bool = False  # applies the rule to all days before the range

    @property
    def is_flow(self) -> bool:
        """Tell whether it reads every day of a range."""
        return self.rule is TimeRule.SUM

    def takes(self, step: Shift | None) -> bool:
        """Tell whether it has a figure for a step: a balance an opening, a sum and what closes a mean of periods."""
        if step is None:
            return True
        others = (TimeRule.SUM, TimeRule.AVERAGE) if step.opens else (TimeRule.LAST_KNOWN, TimeRule.TO_DATE)
        return not self.opening and self.choose is None and self.rule not in others

    @property
    def closes(self) -> bool:
        """Tell whether it reads one close: the anchor of its stock group."""
        return self.rule is TimeRule.CLOSING

    @property
    def choose(self) -> Callable[[Iterable[int]], int] | None:
        """The function that chooses one of the closings of a range, None for a rule that adds up what it reads."""
        return {TimeRule.LOWEST: min, TimeRule.HIGHEST: max}.get(self.rule)

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
