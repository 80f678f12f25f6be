"""What a report holds: values that stand on their own, without the books they were read from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from engine.model.calendar.periods import PeriodRange
from engine.model.catalogue import Favourable, Format, Style
from engine.model.exact import Exact
from engine.model.formulas import Figure, FigureKind, FigureType
from engine.model.notes import Note
from engine.model.scenarios import Reference, Side
from engine.plans.freshness import Freshness
from engine.report.permission import Permission

# Scenario styles: how reports mark a scenario, the same in every table and chart, as IBCS has it.


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
    style = BY_KIND.get(side.terms[-1].scenario.kind.casefold(), ScenarioStyle.OTHER)
    is_earlier = any(not shift.is_window for shift in side.shifts)
    return ScenarioStyle.PRIOR_YEAR if style is ScenarioStyle.ACTUAL and is_earlier else style


# What a report holds: values that stand on their own, without the books they were read from.
#
# A report is figures by line, column and place. A *line* is a line of a statement or a metric; a *column* is a
# scenario; a *place* is a combination of breakdown members, the total last. What stands down and what across is a
# matter of layout. Figures are exact and in units; scale is applied where they are shown.


EACH = " each"  # unit of a price
SCALED = {0: "", 3: " thousands", 6: " millions", 9: " billions"}


Drill = Mapping[str, Any]  # a part of the inspect_rows calls behind a figure; see engine.report.drill


class Comparison(Enum):
    """What a column shows of the figures: themselves, a difference, or a difference as a share."""

    FIGURE = "figure"
    VARIANCE = "variance"
    SHARE = "share"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLine:
    """A line of a statement, or a metric."""

    key: str
    label: str
    level: int
    kind: str  # header, metric, formula, node, own or memo
    style: Style
    favourable: Favourable
    format: Format
    type: FigureType | None  # None of a header
    into_parent: Exact | None  # weight with which a rollup's line counts in the one above it
    repeats_over: tuple[str, ...]  # breakdown dimensions over which it repeats its aggregate
    drill: Drill | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportColumn:
    """A scenario as asked for."""

    heading: str
    scenario: str
    comparison: Comparison
    style: ScenarioStyle
    window: PeriodRange | None  # the range it shows, where that is not the one asked for
    drill: Drill


@dataclass(frozen=True, slots=True)
class ReportMember:
    """One member of a breakdown dimension."""

    dimension: str
    id: str
    label: str


@dataclass(frozen=True, slots=True)
class MemberTuple:
    """A combination of members, or all of them together."""

    members: tuple[ReportMember, ...]
    is_total: bool
    drill: Drill


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportData:
    """A statement or metrics, answered."""

    statement: str | None  # None of a report of metrics
    label: str
    period: PeriodRange
    filters: Mapping[str, tuple[str, ...]]  # as they were asked
    currency: str
    scale: int
    decimals: int | None
    breakdown: tuple[str, ...]
    lines: tuple[ReportLine, ...]
    columns: tuple[ReportColumn, ...]
    places: tuple[MemberTuple, ...]
    figures: Sequence[Sequence[Sequence[Figure]]]  # by line, column and place
    notes: tuple[Note, ...]
    freshness: Mapping[str, Mapping[str, Freshness]]
    catalogue_version: str
    data_version: str
    permission: Permission

    def unit(self, line: ReportLine, comparison: Comparison, *, scaled: bool = True) -> str | None:
        """Return the unit of a line's figures in a column of some comparison; None of a header."""
        if line.type is None:
            return None
        if comparison is Comparison.SHARE:
            return "fraction"
        match line.type.kind:
            case FigureKind.MONEY:
                return self.currency + (SCALED[self.scale] if scaled and line.type.additive else "")
            case FigureKind.PRICE:
                return self.currency + EACH
            case FigureKind.NUMBER if line.format is not Format.PERCENT:
                return "number"
            case FigureKind.RATIO if line.format is not Format.PERCENT:
                return "ratio"
        return "pp" if comparison is Comparison.VARIANCE else "fraction"

    def shown(self, line: ReportLine, comparison: Comparison, figure: Exact) -> Exact:
        """Return a figure at the report's scale: additive money is divided, everything else is not."""
        return figure.scaled(self.scale) if self.scale and self.is_scaled(line, comparison) else figure

    def is_scaled(self, line: ReportLine, comparison: Comparison) -> bool:
        """Tell whether a figure is shown in the report's scale."""
        is_money = line.type is not None and line.type.kind is FigureKind.MONEY and line.type.additive
        return is_money and comparison is not Comparison.SHARE

    def is_quotient(self, line: ReportLine, comparison: Comparison) -> bool:
        """Tell whether a figure was divided, so that it carries 15 significant digits."""
        return comparison is Comparison.SHARE or (line.type is not None and line.type.quotient)
