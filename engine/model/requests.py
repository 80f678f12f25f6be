"""The requests: what may be asked, as values whose field docstrings are the schema.

Field names, types and defaults are what the tools advertise; a request holds what was sent, names still unresolved.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

ScenarioStyle = Literal["actual", "prior_year", "plan", "forecast"]


class Request:
    """A question as it was sent. Unknown and ill-typed fields are refused wherever JSON becomes one of these."""

    __slots__ = ()
    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRequest(Request):
    """One column to show."""

    scenario: str
    """An id A or B of list_scenarios, a shifted view A@py, or a variance var(A,B)."""
    alias: str | None = None
    """Heading, such as Actuals or Var %. Always give one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion(Request):
    """A filter that leaves members out of a dimension, or out of some of its members."""

    exclude: tuple[str, ...]
    include: tuple[str, ...] = ()


Selection = tuple[str, ...] | Exclusion  # the ids that a filter keeps, or those that it leaves out


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest(Request):
    """What statements and metrics have in common."""

    scenarios: tuple[ColumnRequest, ...] | None = None
    """Columns in order. Left out: the default."""
    period_start: str | None = None
    """First period: YYYY-MM, fiscal YYYY or YYYY-Qn, CY2026-Q1, YYYY-Wnn, YYYY-MM-DD, last_closed, last_closed-1,
    (undated). One bound alone is one period."""
    period_end: str | None = None
    """Last period, of the same grain."""
    filters: dict[str, str | tuple[str, ...] | Exclusion] = field(default_factory=dict)
    """Dimension key to a member, to [members], or to {"exclude": [members]}. Members by id of search_hierarchy, or a
    code or name that only one has. AND across keys, OR inside one."""
    dimensions: tuple[str, ...] = ()
    """Dimension keys to break down by, as ["period"]."""
    subtotals: bool = False
    """Also a row for each group; needs two dimensions."""
    scale: int = 0
    """Currency unit as a power of ten: 0, 3, 6 or 9."""
    decimals: int | None = None
    """Decimals of the formatted table, 0 to 12; figures are never rounded."""
    summary: bool = False
    """Totals, notes and data_ref only: to export, draw or compute with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineMateriality(Request):
    """What the figure of a line must reach in one column for the line to be shown."""

    of: str
    """Alias of a column."""
    absolute: float | None = None
    """Unscaled."""
    percent: float | None = None
    """Of the comparative."""
    rule: Literal["any", "all"] = "any"
    by: str | None = None
    """Dimension: its largest members below each line."""
    top: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRequest(ReportRequest):
    """A financial statement: lines down, scenarios (and breakdown members) across."""

    statement: str | None = None
    """Statement key. Left out: the default, else pnl."""
    lines: tuple[str, ...] = ()
    """Keys of the lines or nodes to show, with their headers. All are computed."""
    depth: int | None = None
    """Levels of nodes to show below a line; 0: none."""
    materiality: LineMateriality | None = None
    """Shows lines that reach it, counts the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSpec(Request):
    """How to draw a table with one row for each point (x, y and perhaps series)."""

    chart_type: str
    """horizontal_bar: ranking, long names. waterfall: start to end. scatter: two figures a member. cohort_heatmap:
    cohorts (series) by age (x). sparkline_row: a line for each of series."""
    title: str
    """Its message: "Costs 4 % below plan"."""
    subtitle: str | None = None
    x: str | None = None
    """Column along the axis; of scatter, numbers. Left out, the one that fits."""
    y: str | tuple[str, ...] | None = None
    """Columns of figures, unrounded."""
    series: str | None = None
    """Column that splits y."""
    kind: str | None = None
    """waterfall: column of total or change. Left out, both ends are totals."""
    label: str | None = None
    """scatter: column of names."""
    styles: dict[str, ScenarioStyle] = field(default_factory=dict)
    """Series (waterfall: totals), as {"Plan 26": "plan"}; usual names are known."""
    forecast_from: str | None = None
    """forecast_line: first x. Left out, by styles."""
    favourable: Literal["up", "down"] | None = None
    """Colours good and bad: up where more is better."""
    stack: bool = False
    """Bars: series on top of each other."""
    lines: tuple[str, ...] = ()
    """Of bars over time: series drawn as lines."""
    sort: Literal["given", "ascending", "descending"] = "given"
    """Bars by figure."""
    unit: str | None = None
    """Of y: "EUR", "FTE", "fraction" (0.05 is 5%), "pp". Left out, that of the data."""
    size: Literal["small", "medium", "large"] = "medium"
    theme: Literal["light", "dark"] = "light"
    render: Literal["none", "artifact"] = "none"
    """artifact: a file, with a link."""
    format: Literal["svg", "png"] = "svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition(Request):
    """What the figures of a member must meet to be shown; a missing one meets `is: missing` alone."""

    __pydantic_config__: ClassVar = {**Request.__pydantic_config__, "alias_generator": lambda name: name.rstrip("_")}
    column: str
    """As in order_by."""
    min: float | None = None
    """Unscaled: 0.05 of a fraction."""
    max: float | None = None
    """Inclusive, as min."""
    is_: Literal["favourable", "unfavourable", "missing"] | None = None
    """Of a variance; missing of any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRequest(ReportRequest):
    """Metrics by members of dimensions: members down, metrics and scenarios across."""

    metrics: tuple[str, ...] = ()
    """Metric keys from list_kpis, all of one domain; none where formulas are enough."""
    formulas: dict[str, str] = field(default_factory=dict)
    """More columns: alias to a formula of metrics, such as {"ratio": "A / B"}."""
    order_by: str | None = None
    """Rank the first dimension, or each group, by a metric, an alias or metric@alias."""
    asc: bool = False
    """Smallest first."""
    top: int | None = None
    """1 to 200; (others) has the rest. Without order_by, by the first column."""
    having: tuple[Condition, ...] = ()
    """Show the members of the first dimension that meet all; (others) has the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Materiality(Request):
    """The contributions that are worth a row: absolute, or percent."""

    absolute: float | None = None
    """Unscaled; of ratios, a fraction."""
    percent: float | None = None
    """Of the larger total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainRequest(Request):
    """A variance to explain."""

    metric: str
    """Metric key, or statement.line."""
    scenarios: tuple[str, ...]
    """Two; the first is explained against the second."""
    by: tuple[str, ...]
    """Up to 3 lists: dimension keys; "lines": operands of the formula."""
    period_start: str | None = None
    """As in run_metric."""
    period_end: str | None = None
    """Last period."""
    filters: dict[str, str | tuple[str, ...] | Exclusion] = field(default_factory=dict)
    """Dimension key to members."""
    depth: int = 1
    """Of lines, 1 to 5."""
    drivers: bool = False
    """By volume, mix and price, where declared."""
    top: int = 10
    """Rows of a list, to 200."""
    materiality: Materiality | None = None
    """Folds smaller rows into (others)."""
    picture: bool = False
    """Draw the first list as a PNG."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest(Request):
    """Members and nodes by name or code, or a whole dimension."""

    query: str | tuple[str, ...] | None = None
    """Words or codes, or a list of names; left out, the dimension is listed."""
    dimension: str | None = None
    """A dimension key to stay inside."""
    limit: int | None = None
    """At most so many records and nodes, to 10,000; left out, 200 and 100 of a listing, 50 and 20 of a search."""
    offset: int = 0
    """Hits of each section to skip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds(Request):
    """Two bounds of amounts, both included."""

    min: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRequest(Request):
    """Rows behind figures."""

    source_key: str
    """From list_inspection_sources."""
    scenario_id: str
    """Of list_scenarios: id, id/variant or id@py."""
    filters: dict[str, str | tuple[str, ...] | Exclusion] = field(default_factory=dict)
    """As in run_metric; keys from get_inspection_schema. `metric` (key, or statement.line) keeps the rows of that
    figure, with what each contributes. `scenario` (a blend of scenario_id) reads its days."""
    columns: tuple[str, ...] | None = None
    """Of get_inspection_schema; else all."""
    limit: int | None = None
    """Of rows or groups."""
    order_by: str | None = None
    """Column, or contribution."""
    asc: bool = False
    """Smallest first."""
    amount: Bounds | None = None
    """{min, max} of the contribution, else of the one measure."""
    text: str | None = None
    """Words in a text column."""
    count_by: tuple[str, ...] = ()
    """Columns to count and sum by."""
    summary: bool = False
    """Sums alone."""
    period_start: str | None = None
    """As in run_metric."""
    period_end: str | None = None
    """Last period."""
