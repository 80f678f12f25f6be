"""The requests: what may be asked, as values whose field docstrings are the schema.

Field names, types and defaults are what the tools advertise; a request holds what was sent, names still unresolved.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic_core.core_schema import CoreSchema, literal_schema

ScenarioStyle = Literal["actual", "prior_year", "plan", "forecast"]


@dataclass(frozen=True)
class OneOf:
    """Holds a text to the keys of a table, as a Literal of them would."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> CoreSchema:
        """Read no other text."""
        return literal_schema(list(self.names))


class Request:
    """A question as it was sent. Unknown and ill-typed fields are refused wherever JSON becomes one of these."""

    __slots__ = ()
    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRequest(Request):
    """One column to show."""

    scenario: str
    """A scenario id, variance key or shifted view from list_scenarios, such as actual, actual@py or
    var(actual,budget)."""
    alias: str | None = None
    """The heading to show, such as Actuals, Budget or Var %. Always give one; without it the key is the heading."""


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
    """The columns, in order. Left out: the deployment's default."""
    period_start: str | None = None
    """First period: YYYY-MM, YYYY-Qn (fiscal), YYYY (fiscal year), YYYY-Wnn (week), YYYY-MM-DD, last_closed or
    last_closed-1; svc_orientation says what they mean here. One bound alone means that one period."""
    period_end: str | None = None
    """Last period, at the same grain as period_start."""
    filters: dict[str, str | tuple[str, ...] | Exclusion] = field(default_factory=dict)
    """Dimension key to member or members, such as {"organisation": "EUROPE", "account": ["6010", "6020"]}. Keys come
    from list_kpis or list_dimensions, ids from search_hierarchy; a code or name works where only one member has it.
    AND across keys, OR inside one. {"exclude": [members]} keeps the others; with "include", the others of those."""
    dimensions: tuple[str, ...] = ()
    """Dimension keys to break down by, such as ["period"] or ["cost_centre"]."""
    scale: int = 0
    """Currency unit as a power of ten: 0 units, 3 thousands, 6 millions, 9 billions."""
    decimals: int | None = None
    """Decimal places of the formatted table, 0 to 12. The figures returned are never rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRequest(ReportRequest):
    """A financial statement: lines down, scenarios (and breakdown members) across."""

    statement: str | None = None
    """Statement key from svc_orientation, such as full_pnl. Left out: the deployment's default, else pnl."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest(Request):
    """A result as a file."""

    data_ref: str
    """The data_ref of a result, such as ds_… of run_statement, run_metric or inspect_rows."""
    format: Literal["json", "xlsx"]
    """json: the whole result with its metadata. xlsx: a workbook, laid out as the result was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRequest(Request):
    """A file made before."""

    file_id: str
    """The file_id that export_dataset returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRequest(Request):
    """A file that its caller is about to send."""

    filename: str
    """Its name, without folders, such as budget 2026.xlsx."""
    mime_type: str
    """Its type, without parameters, such as text/csv."""
    size_bytes: int
    """Its exact size in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteRequest(Request):
    """A file that was sent."""

    upload_id: str
    """The upload_id that begin_file_upload returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFile(Request):
    """A file of the host, which says more of it in some places than in others."""

    __pydantic_config__: ClassVar = {"extra": "ignore", "strict": True}

    download_url: str
    """Where its bytes are, over https, at a host that this deployment allows."""
    file_id: str | None = None
    """What the host calls it."""
    file_name: str | None = None
    """Its name."""
    mime_type: str | None = None
    """Its type, such as text/csv."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest(Request):
    """An attachment of the conversation."""

    file: HostFile
    """The attachment as the host describes it; keys that are not listed do no harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSpec(Request):
    """How to draw the table that the script leaves in `result`: one row for each point (x, y and perhaps series)."""

    chart_type: str
    """line, area: over time. bar: columns over time or categories. horizontal_bar: ranking, long names. waterfall: from
    a start to an end by changes. scatter: two figures of each member. forecast_line: actuals, then forecast apart.
    cohort_heatmap: cohorts (series) down, age (x) across. sparkline_row: a small line for each member (series)."""
    title: str
    """What the chart shows, best as its message: "Revenue 4 % above budget"."""
    subtitle: str | None = None
    """Company, period, scope. The unit is added by itself."""
    x: str | None = None
    """Column along the axis: period codes (2026-01, 2026-Q1, 2026-W05, 2026), dates or names; of scatter, numbers. Left
    out, the one column that fits."""
    y: str | tuple[str, ...] | None = None
    """Column of figures, or several, each a series. Figures as they are: no rounding, no scaling, no text."""
    series: str | None = None
    """Column that splits y: a line, colour, cohort or member for each value."""
    kind: str | None = None
    """waterfall: column that says total or change of each step. Left out, the first and last are totals."""
    label: str | None = None
    """scatter: column that names each point."""
    styles: dict[str, ScenarioStyle] = field(default_factory=dict)
    """Series (of a waterfall, total) to what it is: {"Ist": "actual", "Vorjahr": "prior_year", "Plan 26": "plan"}.
    Usual names such as Actuals, Prior Year, Budget and Forecast are known."""
    forecast_from: str | None = None
    """forecast_line: first x that is forecast. Left out, the series whose style is forecast is it."""
    favourable: Literal["up", "down"] | None = None
    """Colours by good and bad: up where more is better. Of waterfalls always, up unless told; of bars, only if told."""
    stack: bool = False
    """bar, horizontal_bar: series on top of each other, not side by side. Areas are always stacked."""
    sort: Literal["given", "ascending", "descending"] = "given"
    """bar, horizontal_bar: order of the categories by their figures. Periods are always in time."""
    unit: str | None = None
    """Unit of y: "EUR", "EUR thousands", "FTE". "fraction" shows 0.05 as 5%, "pp" as 5 pp; "%" is already times 100.
    Left out, the unit that the data came with. The picture is scaled to thousands or millions by itself."""
    size: Literal["small", "medium", "large"] = "medium"
    """Half a page, a page, a wide screen."""
    theme: Literal["light", "dark"] = "light"
    """Background of the chart, here and as a file."""
    render: Literal["none", "artifact"] = "none"
    """artifact: also make a file of it, with a link."""
    format: Literal["svg", "png"] = "svg"
    """Of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRequest(Request):
    """A chart of what a script makes of results."""

    data_refs: tuple[str, ...]
    """The data_ref of one result or of several, always as a list: ["ds_…"]. In the script they are frames[0],
    frames[1] and so on; df is frames[0]."""
    transform_code: str
    """The script: Python that leaves a polars DataFrame, a dict of lists or a list of dicts in `result`, one row for
    each point, at most 5,000. It has df, frames and pl (polars expressions), the usual builtins, and may import
    datetime, math, statistics, itertools, collections, decimal and re; no files, no network, 5 seconds. `result = df`
    leaves the result as it is."""
    chart_spec: ChartSpec
    """What to draw of `result`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRequest(ReportRequest):
    """Metrics by members of dimensions: members down, metrics and scenarios across."""

    metrics: tuple[str, ...]
    """Metric keys from list_kpis, all of one domain."""
    formulas: dict[str, str] = field(default_factory=dict)
    """More columns: alias to a formula of metrics of that domain, such as {"per_head": "revenue / headcount"}."""
    order_by: str | None = None
    """Rank the first dimension's members by a metric, an alias or metric@alias."""
    asc: bool = False
    """Smallest first."""
    top: int | None = None
    """Show so many, 1 to 200; one row (others) has the rest. Without order_by, by the first column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest(Request):
    """Members and nodes by name or code, or a whole dimension."""

    query: str | None = None
    """Words or codes to look for, in any case and order; left out, the dimension is listed."""
    dimension: str | None = None
    """A dimension key to stay inside."""
    limit: int | None = None
    """At most so many records and so many nodes, 10,000 at most; left out, 200 and 100 of a listing, 50 and 20 of a
    search."""
    offset: int = 0
    """Passes over so many of each section, to read on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRequest(Request):
    """One inspection source."""

    source_key: str
    """A source key from list_inspection_sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRequest(Request):
    """Rows behind figures."""

    source_key: str
    """A source key from list_inspection_sources."""
    scenario_id: str
    """A scenario id or scenario/variant from list_scenarios, such as actual or budget/downside."""
    filters: dict[str, str | tuple[str, ...] | Exclusion] = field(default_factory=dict)
    """Dimension key to member or members, as in reporting calls; keys from get_inspection_schema. `metric` (a metric
    key, or statement.line) keeps the rows that make that figure and says what each contributes to it. `scenario` (a
    shifted view or blend that has scenario_id as a part, such as actual@py) reads the days that it reads."""
    columns: tuple[str, ...] | None = None
    """Columns to show, from get_inspection_schema; left out, all."""
    limit: int | None = None
    """At most so many rows; left out, as many as the server allows."""
    period_start: str | None = None
    """First period, as in reporting calls."""
    period_end: str | None = None
    """Last period, at the same grain as period_start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantsRequest(Request):
    """The what-if variants of a scenario."""

    scenario_id: str
    """A scenario id from list_scenarios."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadHistoryRequest(Request):
    """Attempts to load feeds; what is named is joined by AND."""

    binding_id: str | None = None
    """One feed: a binding_id from list_bindings."""
    dataset_id: str | None = None
    """One dataset across its sources: a dataset_id from list_bindings, such as live.gl."""
    period: str | None = None
    """One period of any grain, as in reporting calls: loads that touched one of its days, or may have."""
    status: str | None = None
    """running, success, a failure such as failed_connect, or failed_* for every failure."""
    limit: int | None = None
    """At most so many, 200 at most; left out, 50."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest(Request):
    """One load."""

    load_id: str
    """A load_id from list_load_history, or from the freshness of a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingsRequest(Request):
    """Feeds."""

    source_id: str | None = None
    """Only the feeds of one source: a source_id that list_bindings returns."""
    target: str | None = None
    """Only the feeds into one table, such as live.gl."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingRequest(Request):
    """One feed."""

    binding_id: str
    """A binding_id from list_bindings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyRequest(Request):
    """A call without parameters."""
