"""Scenario styles: how reports mark a scenario, the same in every table and chart, as IBCS has it."""

from collections.abc import Mapping
from enum import Enum

from engine.scenarios import Reference, Side


class ScenarioStyle(Enum):
    """What a column's figures are: of the past, planned or expected."""

    ACTUAL = "actual"
    PRIOR_YEAR = "prior_year"  # actuals of any earlier period
    PLAN = "plan"
    FORECAST = "forecast"
    OTHER = "other"


BY_KIND: Mapping[str, ScenarioStyle] = {
    "actual": ScenarioStyle.ACTUAL,
    "budget": ScenarioStyle.PLAN,
    "plan": ScenarioStyle.PLAN,
    "target": ScenarioStyle.PLAN,
    "forecast": ScenarioStyle.FORECAST,
    "estimate": ScenarioStyle.FORECAST,
    "outlook": ScenarioStyle.FORECAST,
}


def style_of(reference: Reference) -> ScenarioStyle:
    """Return the style of a column; of a variance, that of what it compares with."""
    return style_of_side(reference if isinstance(reference, Side) else reference.b)


def style_of_side(side: Side) -> ScenarioStyle:
    """Return the style of a side; of a blend, that of what it ends with."""
    style = BY_KIND.get(side.parts[-1].scenario.kind.casefold(), ScenarioStyle.OTHER)
    is_earlier = any(not shift.is_window for shift in side.shifts)
    return ScenarioStyle.PRIOR_YEAR if style is ScenarioStyle.ACTUAL and is_earlier else style
