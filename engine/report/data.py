"""Report data: values that stand without the books they were read from."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.json import encode

from engine.model.caching import LazyTable
from engine.model.calendar.periods import PeriodRange
from engine.model.catalogue import Favourable, Format, Style
from engine.model.evaluation import FigureCube
from engine.model.exact import Exact
from engine.model.formulas import FigureKind, FigureType
from engine.model.notes import Note
from engine.model.requests import Exclusion, Selection
from engine.model.scenarios import Reference, Side
from engine.model.scope import ALL
from engine.plans.freshness import Freshness
from engine.report.permission import Permission

# Scenario styles, after IBCS: every table and chart marks scenarios in the same way.


class ScenarioStyle(Enum):
    """Whether a column's figures are actual, planned or expected."""

    ACTUAL = "actual"
    PRIOR_YEAR = "prior_year"  # actuals of an earlier period
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
    """Return the style of a column; a variance has the style of its comparative side."""
    return style_of_side(reference if isinstance(reference, Side) else reference.b)


def style_of_side(side: Side) -> ScenarioStyle:
    """Return the style of a side; a blend has the style of its last scenario."""
    style = BY_KIND.get(side.terms[-1].scenario.kind.casefold(), ScenarioStyle.OTHER)
    is_earlier = any(not (shift.is_window or shift.opens) for shift in side.shifts)
    return ScenarioStyle.PRIOR_YEAR if style is ScenarioStyle.ACTUAL and is_earlier else style


# Report data: figures by line, column and place.
#
# A *line* is a line of a statement or a metric. A *column* is a scenario. A *place* is a combination of breakdown
# members; the total is the last place. Layout decides what is a row and what is a column. Figures are exact and
# unscaled; scale is applied when they are shown.


EACH = " each"  # unit of a price
A_DAY = " a day"  # unit of money over days
PER = (EACH, A_DAY)  # how the units of money for something end
SCALED = {0: "", 3: " thousands", 6: " millions", 9: " billions"}


OTHERS = "(others)"  # id of the member that stands for those that a ranking does not show
OTHERS_LABEL = "Others"


Drill = Mapping[str, Any]  # part of the inspect_rows calls behind a figure; see engine.report.drill


class Comparison(Enum):
    """What a column shows: the figure, a difference, a relative one, a part of a whole, its change, or a rank."""

    FIGURE = "figure"
    VARIANCE = "variance"
    SHARE = "share"
    PART = "part"
    POINTS = "points"  # the difference of two parts
    RANK = "rank"

    @property
    def is_fraction(self) -> bool:
        """Whether it is a fraction, shown in hundredths."""
        return self in (Comparison.SHARE, Comparison.PART, Comparison.POINTS)

    @property
    def differs(self) -> bool:
        """Whether it is a difference, shown with its sign."""
        return self in (Comparison.VARIANCE, Comparison.SHARE, Comparison.POINTS)

    @property
    def is_in_points(self) -> bool:
        """Whether what it shows in hundredths are percentage points."""
        return self in (Comparison.VARIANCE, Comparison.POINTS)

    @property
    def keeps_unit(self) -> bool:
        """Whether it has the unit of the figures that it is made of."""
        return self in (Comparison.FIGURE, Comparison.VARIANCE)


class ReportLine(Struct, frozen=True, kw_only=True, dict=True):
    """A line of a statement, or a metric. The reports of a statement share its lines."""

    key: str
    label: str
    level: int
    kind: str  # header, metric, formula, node, own or memo
    style: Style
    favourable: Favourable
    format: Format
    type: FigureType | None  # None for a header
    into_parent: Exact | None  # weight of the line in the line above it
    repeats_over: tuple[str, ...]  # breakdown dimensions over which its aggregate repeats
    drill: Drill | None
    holds: int | None = None  # members behind a row of others below a line; None for every other line

    @cached_property
    def figure_class(self) -> tuple[str, bool, bool, str]:
        """What decides on the unit and the form of its figures: their type and format in plain values."""
        known = self.type
        return (
            (known.kind.value, known.additive, known.quotient, self.format.value) if known else ("", False, False, "")
        )

    @cached_property
    def heads(self) -> LazyTable[Hashable, Any]:
        """What answers say of the line, by the little else that decides on it."""
        return LazyTable()


class LinesLeftOut(Struct, frozen=True, kw_only=True):
    """Lines of a statement that are not material: those of one unit, or those below a node that is shown."""

    lines: int
    largest: ReportLine  # the first of them where none has a figure
    figure: Exact | None  # of the largest, in the column that is tested
    below: str | None = None  # the key of the node
    total: Exact | None = None  # what they count for in the node


class ShownMateriality(Struct, frozen=True, kw_only=True):
    """What the lines of a statement had to reach in a column to be shown, and which of them did not."""

    column: int
    amount: Exact | None
    percent: Exact | None
    needs_both: bool
    left_out: tuple[LinesLeftOut, ...]


class ReportColumn(Struct, frozen=True, kw_only=True):
    """A scenario as requested."""

    heading: str
    scenario: str
    comparison: Comparison
    style: ScenarioStyle
    window: PeriodRange | None  # the range it shows, if it differs from the range requested
    drill: Drill
    windows: Mapping[str, PeriodRange] = {}  # by `period_key`: those it shows in other periods of a breakdown
    currency: str | None = None  # of the amounts of lines that have several; None where it has several itself
    switches: Mapping[str, str] = {}  # by domain: the last month of the first scenario of a blend
    close: str | None = None  # label of the close that the balances in the total of a breakdown by time are
    has_rows: bool = True  # whether its drill leads to the rows of its figures; those of a running sum lie above it too


def period_key(ids: Iterable[str]) -> str:
    """Return the key of some periods of a breakdown among the windows of a column."""
    return " ".join(ids)


class ReportMember(Struct, frozen=True, omit_defaults=True):
    """One member of a breakdown dimension."""

    dimension: str
    id: str
    label: str
    kept_by: Selection | None = None  # the filter that keeps it alone, if its id does not


class MemberTuple(Struct, frozen=True):
    """A combination of members, or the total."""

    members: tuple[ReportMember, ...]
    is_total: bool
    into_parent: Exact | None = None  # its weight in the total, if a tree gives it one other than 1
    holds: int | None = None  # members of the first dimension behind a row of others; None for every other row
    unmet: int | None = None  # how many of these do not meet the conditions of the request; None without conditions
    currency: str | None = None  # of the amounts of lines and columns that have several; None where it has several


class DrillRule(Struct, frozen=True):
    """The drill part of each place: a member filters its dimension, a period is the range and replaces time filters."""

    time: tuple[str, ...] = ()  # the dimensions whose members are periods, or together a cell
    by_time: tuple[str, ...] = ()  # the filters on time
    cells: Mapping[str, Drill] = {}  # by `cell_key`: of two dimensions of time, whose cells need not be periods
    whole: tuple[str, ...] = ()  # the dimensions that all members filter where a place has none of them
    reach: tuple[str, ...] = ()  # the first and the last period of a breakdown by time with a row of others

    def at(self, members: Sequence[ReportMember]) -> Drill:
        """Return the part of a place by its members; the total has none."""
        ids, named = [member.id for member in members], [member.dimension for member in members]
        above = len(ids) - ids[::-1].index(OTHERS) if OTHERS in ids else 0
        periods = [member for member in members if member.dimension in self.time]
        others = next((member for member in periods if member.id == OTHERS), None) if self.reach else None
        cell = self._others(others) if others else self._cell([member.id for member in periods])
        filters: dict[str, Any] = {**{key: ALL for key in self.whole if key not in named}, **cell.get("filters", {})}
        for member in (*members[above:], *members[:above]):
            if member.dimension not in self.time:
                filters[member.dimension] = member.id if member.kept_by is None else filter_json(member.kept_by)
        return {**cell, "filters": filters} if filters else cell

    def _others(self, others: ReportMember) -> Drill:
        """Return the range of a breakdown by time with the filter that keeps its other periods, in place of others."""
        selection = filter_json(others.kept_by or ())
        bounds = dict(zip(("period_start", "period_end"), self.reach, strict=True))
        return {**bounds, "filters": dict.fromkeys(self.by_time or (others.dimension,), selection)}

    def _cell(self, periods: Sequence[str]) -> Drill:
        """Return the range of some periods, and the filters on time."""
        if self.cells:
            return self.cells.get(cell_key(periods), {})
        if not periods:
            return {}
        by_time = {"filters": dict.fromkeys(self.by_time, periods[0])} if self.by_time else {}
        return {"period_start": periods[0], "period_end": periods[0], **by_time}


def cell_key(ids: Sequence[str]) -> str:
    """Return the key of a cell among those of a rule."""
    return encode(ids).decode()


def filter_json(ids: Selection) -> str | list[str] | dict[str, list[str]]:
    """Return a filter as a call has it."""
    if isinstance(ids, Exclusion):
        kept = {"include": list(ids.include)} if ids.include else {}
        return {**kept, "exclude": list(ids.exclude)}
    return ids[0] if len(ids) == 1 else list(ids)


def unit_of(
    known: FigureType | None, shown_as: Format, comparison: Comparison, money: str, currency: str
) -> str | None:
    """Return the unit of figures of a type for a comparison; `money` is that of amounts. None for a header."""
    if known is None:
        return None
    if comparison.is_fraction:
        return "pp" if comparison.is_in_points else "fraction"
    if comparison is Comparison.RANK:
        return "number"
    match known.kind:
        case FigureKind.MONEY:
            return money if known.additive else currency
        case FigureKind.PRICE:
            return currency + EACH
        case FigureKind.RATE:
            return currency + A_DAY
        case FigureKind.DAYS:
            return "days"
        case FigureKind.NUMBER if shown_as is not Format.PERCENT:
            return "number"
        case FigureKind.RATIO if shown_as is not Format.PERCENT:
            return "ratio"
    return "pp" if comparison is Comparison.VARIANCE else "fraction"


class ReportData(Struct, frozen=True, eq=False, kw_only=True):
    """The figures of a statement or of metrics."""

    statement: str | None  # None for a report of metrics
    label: str
    period: PeriodRange
    filters: Mapping[str, Selection]  # as requested
    currency: str
    scale: int
    decimals: int | None
    breakdown: tuple[str, ...]
    lines: tuple[ReportLine, ...]
    columns: tuple[ReportColumn, ...]
    places: tuple[MemberTuple, ...]
    ranked: bool = False  # whether the request orders the members
    time: tuple[str, ...] = ()  # the dimensions of the breakdown whose members are periods
    subtotals: bool = False  # whether places stand below sub-totals, each of which has members of the first dimensions
    line_currencies: Mapping[str, str] = {}  # of lines with one currency in a report of several, by key
    drill: DrillRule = DrillRule()  # of places
    materiality: ShownMateriality | None = None
    figures: FigureCube  # by line, column and place; a header's are missing
    notes: tuple[Note, ...]
    freshness: Mapping[str, Mapping[str, Freshness]]
    catalogue_version: str
    data_version: str
    permission: Permission

    def window(self, column: ReportColumn, place: MemberTuple) -> PeriodRange | None:
        """Return the range that a column shows at a place, None if it is the one that is asked for there."""
        periods = [member.id for member in place.members if member.dimension in self.time]
        return column.windows.get(period_key(periods)) if periods else column.window

    def depth(self, place: MemberTuple) -> int:
        """Return how many sub-totals a place stands below."""
        return len(place.members) - 1 if self.subtotals and place.members else 0

    def is_subtotal(self, place: MemberTuple) -> bool:
        """Tell whether other places stand below a place; the total is none."""
        return self.subtotals and 0 < len(place.members) < len(self.breakdown)

    def total_words(self, column: ReportColumn | None = None) -> str:
        """Return the label of the total in a column, or of a row for all columns: with the close of its balances."""
        closes = {each.heading: each.close for each in ([column] if column else self.columns) if each.close}
        if not closes:
            return "Total"
        each = list(dict.fromkeys(closes.values()))
        told = each if len(each) == 1 else [f"{close} in {heading}" for heading, close in closes.items()]
        return f"Total (balances: close of {', '.join(told)})"

    @property
    def money(self) -> str:
        """The unit of amounts of money at the scale of the report."""
        return self.currency + SCALED[self.scale]

    def unit(
        self, line: ReportLine, comparison: Comparison, *, scaled: bool = True, currency: str | None = None
    ) -> str | None:
        """Return the unit of a line's figures for a comparison, in the line's currency or the one given.

        None for a header.
        """
        shown = currency or self.line_currencies.get(line.key, self.currency)
        return unit_of(line.type, line.format, comparison, shown + SCALED[self.scale if scaled else 0], shown)

    def currency_at(self, line: ReportLine, column: ReportColumn, place: MemberTuple | None) -> str:
        """Return the currency of a line's amounts in a column at a place; without a place at all of them."""
        found = self.line_currencies.get(line.key) or column.currency or (place.currency if place else None)
        return found or self.currency

    def shown(self, line: ReportLine, comparison: Comparison, figure: Exact) -> Exact:
        """Return a figure at the report's scale. Scale divides additive amounts only."""
        return figure.scaled(self.scale) if self.scale and self.is_scaled(line, comparison) else figure

    def is_scaled(self, line: ReportLine, comparison: Comparison) -> bool:
        """Tell whether the report's scale applies to a figure."""
        return line.type is not None and line.type.is_scaled and comparison.keeps_unit

    def is_quotient(self, line: ReportLine, comparison: Comparison) -> bool:
        """Tell whether a figure is a quotient, which carries 15 significant digits."""
        if not comparison.keeps_unit:
            return comparison.is_fraction
        return line.type is not None and line.type.quotient
