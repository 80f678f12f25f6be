"""The shape of instance.yaml, dimensions.yaml and domains/*.yaml."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.instance.schema.common import (
    DAY,
    FLOW,
    SUM,
    Flag,
    GrainName,
    Id,
    Key,
    LiveTable,
    OneOf,
    OverMembers,
    OverTime,
    SchemaPart,
    Where,
    WhereIds,
)
from engine.model.calendar.periods import Grain

CURRENCY = r"^[A-Z]{3}$"
CALENDAR = r"^[^/\\]+\.csv$"
DURATION = r"^[1-9][0-9]{0,3}[sm]$"
DURATION_OR_NONE = r"^(0s|[1-9][0-9]{0,3}[sm])$"


class FiscalYearPart(SchemaPart):
    """The fiscal year."""

    starts: Annotated[int, Field(ge=1, le=12)] = 1
    """Month it starts in, 1 to 12."""
    named_by: Literal["end", "start"] = "end"
    """Whether it is named by the calendar year it ends in or starts in."""


class DefaultScenarioPart(SchemaPart):
    """A column of the default report."""

    scenario: str
    """A scenario reference."""
    alias: str | None = None
    """Its heading."""


class DefaultPart(SchemaPart):
    """What a call shows that leaves it open."""

    statement: Key | None = None
    """Statement key."""
    scenarios: list[DefaultScenarioPart] = Field(default_factory=list)
    """Columns."""
    period_start: Id | None = None
    """First period."""
    period_end: Id | None = None
    """Last period."""


class FactsPart(SchemaPart):
    """The engine that holds the rows of facts. Left out, they are files on this machine."""

    engine: Literal["clickhouse", "flightsql", "postgresql", "duckdb"]
    """clickhouse; flightsql: Sail or Spark; postgresql; duckdb: a file."""
    url_env: str
    """Environment variable with the address at which the server reads; its user may not write."""
    loader_url_env: str | None = None
    """The one at which loads write, as another user; duckdb needs none."""
    cluster: Key | None = None
    """clickhouse: the cluster whose shards and replicas hold the rows; left out, one server does."""
    keep_here: Literal["rollups", "everything"] = "rollups"
    """rollups: the rows are in the engine only; everything: their files stay on this machine too."""
    timeout: Annotated[str, Field(pattern=DURATION)] = "20s"
    """How long a statement may take: 20s, 2m."""
    sessions: Annotated[int, Field(ge=1, le=256)] = 8
    """Statements that each process of the server sends at once."""
    lease: Annotated[str, Field(pattern=DURATION_OR_NONE)] = "15m"
    """How long a version stays once the next is published, for servers on other hosts; 0s: there are none."""


class TermPart(SchemaPart):
    """What a term means: a metric, a statement, or a member of a dimension."""

    metric: str | None = None
    """Metric key, or domain.key."""
    statement: Key | None = None
    """Statement key."""
    dimension: Key | None = None
    """Dimension of the member."""
    member: Id | None = None
    """Id of a member or node."""
    means: str | None = None
    """In words; each of several readings needs it."""


Word = Annotated[str, Field(min_length=1, max_length=100)]


class InstanceFile(SchemaPart):
    """instance.yaml: the deployment as a whole."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the group or company."""
    currency: Annotated[str, Field(pattern=CURRENCY)]
    """Three-letter code of the reporting currency, as units show it."""
    fiscal_year: FiscalYearPart | None = None
    """When fiscal years start and how they are named; left out, they are calendar years."""
    calendar: Annotated[str | None, Field(pattern=CALENDAR)] = None
    """Calendar table instead (4-4-5, 13 periods): a CSV file beside this one with the columns year, period, first_day,
    last_day and, where there are any, quarter and week."""
    trading_calendar: Annotated[str | None, Field(pattern=CALENDAR)] = None
    """Second calendar table beside the fiscal year or the calendar: a CSV file with the same columns, whose periods
    have codes of their own (TY2026-P03)."""
    default: DefaultPart = DefaultPart()
    """Default report."""
    facts: FactsPart | None = None
    """Engine that holds the rows of facts; left out, files on this machine do."""
    not_held: Annotated[list[Word], Field(max_length=100)] = Field(default_factory=list)
    """Words for what these books do not hold, as callers may ask for it: ageing, invoices."""
    terms: Annotated[dict[Word, TermPart | Annotated[list[TermPart], Field(min_length=1)]], Field(max_length=1000)] = (
        Field(default_factory=dict)
    )
    """Words of your own, in any language, for metrics, statements and members; a word of several readings lists
    them."""


class DimensionPart(SchemaPart):
    """One dimension."""

    kind: Literal["leaf", "derived", "ragged"]
    """leaf: members of its own; derived: values of an attribute of a leaf dimension; ragged: nodes of a tree above
    one."""
    label: str | None = None
    """Heading."""
    members: LiveTable | None = None
    """leaf: live table of members (id, code, name, attributes …); left out, the facts name the members."""
    grain: Annotated[str, OneOf(tuple(grain.value for grain in Grain))] | None = None
    """leaf: makes it a time dimension of this grain."""
    of_year: bool = False
    """leaf, of a grain: its members are the numbers of periods in their years, beside which it breaks down."""
    from_: Annotated[Key | None, Field(alias="from")] = None
    """derived: the leaf dimension that has the attribute."""
    attribute: Key | None = None
    """derived: the attribute."""
    leaf_dimension: Key | None = None
    """ragged: the leaf dimension below the tree."""
    nodes: LiveTable | None = None
    """ragged: live table of nodes (node, parent, name, sort, weight, leaf)."""
    paths: Literal["refuse", "add"] = "refuse"
    """ragged: what a leaf does that reaches a node by several paths with weights other than 1."""


class DimensionsFile(BaseModel):
    """dimensions.yaml: dimension key to dimension."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[Key, DimensionPart] = Field(init=False)


class TimePart(SchemaPart):
    """The posting date."""

    column: str
    """Column of the live table: a day, or a period code of the grain."""
    grain: GrainName = DAY
    """Finest grain the data carries."""
    missing: Literal["reject", "keep"] = "reject"
    """What a load does with undated rows."""


class MeasurePart(SchemaPart):
    """A column of amounts."""

    column: str | None = None
    """Column of the live table; left out, the measure's key."""
    type: Literal["money", "number"] = "money"
    """money in the instance's currency, or a plain number."""
    places: Annotated[int, Field(ge=0, le=12)] = 2
    """Decimal places held exactly; more in the data is a rejected row."""
    currency: Key | None = None
    """Leaf dimension or axis with the currency of each amount; left out, all are in the instance's."""
    unit_from: Key | None = None
    """Derived dimension with the unit of each member's amounts (an attribute: pieces, kilograms)."""


class StockGroupPart(SchemaPart):
    """Balances that close together."""

    where: Where = Field(default_factory=dict)
    """The rows of the group."""
    grain: Literal["month", "day"] | None = None
    """Grain at which they close: `month` unless the data is coarser or by weeks, then that of the data."""


class DriversPart(SchemaPart):
    """What drives an amount, so that its variances can be explained by volume, mix and price."""

    volume: str
    """Metric of the volume, such as units sold."""
    price: str
    """Metric of the price: its formula is this metric / the volume."""


class MetricPart(SchemaPart):
    """A metric: a measure of some rows, or a formula."""

    label: str | None = None
    """Heading; left out, the key in words."""
    description: str = ""
    """What it means, for whoever picks it."""
    measure: Key | None = None
    """Measure of this domain."""
    where: dict[Key, WhereIds] = Field(default_factory=dict)
    """Rows it counts: dimension to member or node ids, or {exclude: ids}."""
    sign: Literal["keep", "negate"] = "keep"
    """negate: show the opposite of what is stored."""
    over_members: OverMembers = SUM
    """What is made of its rows: sum, count, min, max, average, median, {percentile: 90} or {count_distinct: …}."""
    over_time: OverTime = FLOW
    """sum: a flow; closing or opening: a balance at a close; lowest or highest: of its closes; {last_known: …},
    {to_date: …}, {average: {of: …}}, {opening: …}."""
    repeats: Flag = False
    """Whether it is the same for every member of a dimension that its domain lacks: formulas use it there."""
    balance: Key | None = None
    """Stock group of a balance, where the domain has several."""
    formula: str | None = None
    """Metrics joined by + - * /, parentheses and functions, as max(a, b); those of other domains as domain.metric."""
    format: Literal["currency", "number", "percent"] | None = None
    """How it is shown; left out, what its type suggests."""
    favourable: Literal["up", "down", "none"] = "none"
    drivers: DriversPart | None = None
    """volume and price of an amount, which explain its variances."""
    """Which direction of the figure is good."""


class DomainFile(SchemaPart):
    """domains/*.yaml: one table of facts, its dimensions, measures and metrics."""

    domain: Key
    """Key."""
    label: str | None = None
    """Heading."""
    table: LiveTable
    """Live table that bindings load."""
    scenario: str = "scenario"
    """Column that holds the scenario id."""
    time: TimePart
    """Posting date."""
    dimensions: dict[Key, str]
    """Leaf dimension to column."""
    axes: dict[Key, str] = Field(default_factory=dict)
    """Axes to break down by but not to filter: key to column."""
    measures: dict[Key, MeasurePart]
    """Measures."""
    sort: list[Key] = Field(default_factory=list)
    """Order of rows inside a partition: the dimensions most asked for first."""
    rollups: list[Annotated[list[Key], Field(min_length=1)]] | None = None
    """Lists of leaf dimensions and axes by which the sums of every month are kept beside its rows: reports that need no
    others read these instead. Left out, they are chosen from the rows of large months."""
    balances: dict[Key, StockGroupPart] = Field(default_factory=dict)
    """Stock groups; left out, all closing metrics close together."""
    inspect_enabled: Flag = False
    """Whether rows can be inspected."""
    inspect_columns: list[str] = Field(default_factory=list)
    """Columns that inspection may show; text columns named only here are stored for it."""
    metrics: dict[Key, MetricPart] = Field(default_factory=dict)
    """Metrics."""
