"""The shape of integrations.yaml."""

from typing import Annotated, Literal

from pydantic import Field

from engine.instance.schema.common import Flag, Id, Key, LiveTable, OneOf, ParameterName, SchemaPart
from engine.instance.schema.registry import ScenarioId
from server.feeds.feeds import RejectReason, RoundingRule, SourceKind
from server.feeds.format_parts import ExtractPart, FormatPart
from server.feeds.query_parameters import ParamStyle


class SourcePart(FormatPart):
    """Where data comes from, and how its files are written; credentials stay in the environment."""

    kind: Annotated[str, OneOf(tuple(kind.value for kind in SourceKind))]
    """A folder of files, or a database; adbc is any driver that is installed."""
    path: str | None = None
    """folder, sqlite, duckdb: path, relative to the instance."""
    path_env: str | None = None
    """folder, sqlite, duckdb: environment variable that holds the path."""
    uri_env: str | None = None
    """postgresql, flightsql, snowflake: environment variable that holds the connection URI."""
    options_env: str | None = None
    """flightsql, snowflake, bigquery, adbc: environment variable that holds a JSON object of the driver's options."""
    driver: str | None = None
    """adbc: Python module of the driver, or its name."""
    paramstyle: Annotated[str, OneOf(tuple(style.value for style in ParamStyle))] | None = None
    """adbc: how its queries mark parameters; left out, qmark."""


class ColumnPart(SchemaPart):
    """How one column of a live table is filled."""

    column: str | None = None
    """Column of the extract."""
    values: dict[str, Id] = Field(default_factory=dict)
    """What its values mean here; a value not named is a rejected row."""
    format: str | None = None
    """Format of a date, such as %d/%m/%Y."""
    constant: Id | None = None
    """The same text in every row."""
    product: Annotated[list[str], Field(min_length=2)] | None = None
    """Columns of the extract; their exact product fills a measure."""


Reason = Annotated[str, OneOf(tuple(reason.value for reason in RejectReason))]


class RejectsPart(SchemaPart):
    """How many rejected rows a load survives."""

    allow: Annotated[int, Field(ge=0)] | dict[Reason, Annotated[int, Field(ge=0)]]
    """Reason to number of rows; a plain number is of all reasons together, without decimals and size."""


class RoundPart(SchemaPart):
    """How converted amounts are rounded."""

    places: Annotated[int, Field(ge=0, le=12)]
    """Decimal places that they keep."""
    rule: Annotated[str, OneOf(tuple(rule.value for rule in RoundingRule))] = RoundingRule.HALF_EVEN.value
    """What becomes of a half: half_even, to the even neighbour; half_up, away from zero."""


class ConvertPart(SchemaPart):
    """Amounts converted into the instance's currency as they are loaded."""

    rates: LiveTable
    """Live table of rates (currency, date, rate and, where there are several, kind), which a feed loads."""
    from_: Annotated[str, Field(alias="from")]
    """Column with the currency of each row."""
    on: str | None = None
    """Column with the day or period the rate must hold for; left out, the domain's time column."""
    kind: Id | None = None
    """Kind of the rates, such as average or closing; left out, those of no kind."""
    measure: Key | None = None
    """Measure that is converted; left out, the only other one of the domain."""
    into: Key
    """Measure that holds what it is converted into."""
    round: RoundPart | None = None
    """Rounds converted amounts; left out, they keep all digits of amount and rate."""


class PinPart(SchemaPart):
    """What tells that the rows of an attached table are still those surveyed."""

    column: str
    """Column whose greatest value grows with every change of a row, and is never set back."""


class BindingPart(ExtractPart):
    """One feed: an extract of a source into a live table."""

    source: Key
    """Source."""
    target: LiveTable
    """Live table."""
    file: str | Annotated[dict[Key, str], Field(min_length=1)] | None = None
    """folder: file name or pattern (*.csv, *.xlsx, gl.zip/*.csv), with {period} for each period; of sql, by table."""
    sheet: str | None = None
    """folder: sheet of a workbook; left out, the first."""
    extract: str | None = None
    """Databases: query; :name is a parameter, :period_start and :period_end_exclusive are what is asked for."""
    attach: str | None = None
    """All but folder, sqlite, adbc: table whose rows stay there; a load surveys it, and reports read it."""
    pin: Literal["rows", "time_travel"] | PinPart | None = None
    """attach: what tells that rows are those surveyed; time_travel: the rows as they were; left out, a hash of them."""
    parameters: dict[ParameterName, Id] = Field(default_factory=dict)
    """Databases: constants of the query, as text; a query that wants a number says :name::int."""
    scenario: ScenarioId | None = None
    """Scenario of every row of facts, where the extract has no such column."""
    map: dict[str, str | ColumnPart] = Field(default_factory=dict)
    """Column of the live table to column of the extract; left out, the same name."""
    convert: ConvertPart | None = None
    """How amounts are converted into the instance's currency."""
    load: Literal["full", "replace_periods", "append"] = "full"
    """What a load does to what the feed brought before: replaces all of it, replaces the periods asked for, or adds."""
    period_column: str | None = None
    """replace_periods: column of the extract with the day or period of a row; left out, what fills the time column."""
    recent_periods: Annotated[int, Field(ge=1)] | None = None
    """replace_periods: months that a load asks for where nobody says which, up to the current one; left out, 2."""
    schedule: str | None = None
    """When the daemon loads it: minute, hour, day of the month, month, weekday, as cron writes them."""
    timezone: str | None = None
    """Time zone of the schedule, by its name in the tz database; left out, UTC."""
    rejects: Literal["fail"] | RejectsPart = "fail"
    """What rejected rows do to a load."""
    allow_empty: Flag = False
    """Whether an extract without a row is taken at its word; else it is a failed load."""
    unknown_members: Literal["reject", "extend"] = "reject"
    """What a member id of facts does that its dimension's table lacks."""

    @property
    def files(self) -> dict[str, str]:
        """The file patterns by table; that of a feed with one pattern is called `file`."""
        return {"file": self.file} if isinstance(self.file, str) else self.file or {}


class IntegrationsFile(SchemaPart):
    """integrations.yaml: sources and feeds."""

    sources: dict[Key, SourcePart] = Field(default_factory=dict)
    """Sources."""
    bindings: dict[Key, BindingPart] = Field(default_factory=dict)
    """Feeds."""
