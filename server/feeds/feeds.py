"""Sources, bindings and loads as values."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

from msgspec import Struct, field

from engine.facts.load_modes import LoadMode
from engine.model.calendar.periods import Span
from server.feeds.extract_formats import ExtractFormat
from server.feeds.query_parameters import ParamStyle

RECENT_PERIODS = 2  # default months of a load: the current month and the one before


class SourceKind(Enum):
    """The kind of a source."""

    FOLDER = "folder"
    POSTGRESQL = "postgresql"
    SQLITE = "sqlite"
    DUCKDB = "duckdb"
    FLIGHTSQL = "flightsql"
    SNOWFLAKE = "snowflake"
    BIGQUERY = "bigquery"
    ADBC = "adbc"  # any installed driver


class FeedSource(Struct, frozen=True, kw_only=True):
    """Where data comes from. Names the environment variable with the credential or path, and holds no secret."""

    key: str
    kind: SourceKind
    path: str | None = None
    environment: str | None = None
    has_options: bool = False  # the variable holds options of the driver as JSON, not a path or a URI
    driver: str | None = None  # of kind ADBC: its Python module, or the name of a driver that is installed
    paramstyle: ParamStyle = ParamStyle.DOLLAR


class ColumnMapping(Struct, frozen=True, kw_only=True):
    """Fills one column of a live table from a column of the extract or with a constant."""

    column: str | None = None
    values: Mapping[str, str] | None = None
    format: str | None = None
    constant: str | None = None
    product: tuple[str, ...] = ()  # columns of the extract whose product fills a measure


class RoundingRule(Enum):
    """What becomes of a half."""

    HALF_EVEN = "half_even"  # to the even neighbour
    HALF_UP = "half_up"  # away from zero


class Rounding(Struct, frozen=True, kw_only=True):
    """The decimal places that converted amounts are rounded to."""

    places: int
    rule: RoundingRule


class Conversion(Struct, frozen=True, kw_only=True):
    """Converts a measure of each row into the instance's currency and stores it in another measure."""

    rates: str  # live table of rates
    kind: str | None  # of the rates, None if the table has no kinds
    currency: str  # column with the currency of each row
    on: str  # column with the day or period of the rate
    measure: str
    into: str
    rounding: Rounding | None = None  # None: converted amounts keep all their digits


class RejectReason(Enum):
    """Why a row is rejected; the value is the key of an allowance."""

    BLANK = "blank"  # an amount, a day or an id is missing
    NUMBER = "number"  # an amount is no number
    DECIMALS = "decimals"  # an amount has more places than its measure
    SIZE = "size"  # an amount is too large
    DAY = "day"  # no such day, or none of the calendar
    PERIODS = "periods"  # outside the periods asked for
    MEMBER = "member"  # no member of its dimension, or no scenario
    VALUE = "value"  # a value without a meaning in `map`
    REPEATED = "repeated"  # an id or a rate stands twice
    RATE = "rate"  # no rate, or none that can be
    OTHER = "other"


NAMED_ONLY = (RejectReason.DECIMALS, RejectReason.SIZE)  # they lose a known amount, so no plain number allows them


class RejectAllowance(Struct, frozen=True, kw_only=True):
    """How many rejected rows a load survives: a number for each reason, or one for all but NAMED_ONLY together."""

    rows: int = 0
    by_reason: Mapping[RejectReason, int] = {}

    def holds(self, rows: int, by_reason: Mapping[RejectReason, int]) -> bool:
        """Tell whether a load survives so many rows, and so many of each reason; a row may have several."""
        if self.by_reason:
            return all(found <= self.by_reason.get(reason, 0) for reason, found in by_reason.items())
        return rows <= self.rows and by_reason.keys().isdisjoint(NAMED_ONLY)

    def __str__(self) -> str:
        """Return the allowance as integrations.yaml writes it."""
        said = ", ".join(f"{reason.value}: {rows}" for reason, rows in self.by_reason.items())
        return f"{{{said}}}" if said else str(self.rows)


class Schedule(Struct, frozen=True, kw_only=True):
    """When a feed loads: a cron expression and a time zone of the tz database."""

    cron: str
    timezone: str


class Attachment(Struct, frozen=True, kw_only=True):
    """A table of a source whose rows stay there: a load surveys it, and reports read it."""

    table: str  # after its schema, if it has one
    change: str | None = None  # column that grows with every change of a row; None: a hash of the rows tells
    travels: bool = False  # whether reports read the version of the table that was surveyed, whatever changed since


class Binding(Struct, frozen=True, kw_only=True):
    """One feed: loads an extract of a source into a live table, or attaches a table of it."""

    key: str
    source: FeedSource
    target: str
    extract: str  # a file pattern or a query
    sheet: str | None
    scenario: str | None
    fillings: Mapping[str, ColumnMapping]
    rejects: RejectAllowance
    extends_members: bool
    allows_empty: bool  # whether an empty extract deletes the feed's rows
    fills_rates: bool = False  # whether the live table holds conversion rates
    conversion: Conversion | None = None
    mode: LoadMode = LoadMode.FULL
    schedule: Schedule | None = None
    period_column: str | None = None  # column of the extract with the period of each row
    recent_periods: int = RECENT_PERIODS  # months of a load that names no periods
    parameters: Mapping[str, str] = {}  # of the query, besides the period bounds
    format: ExtractFormat = field(default_factory=ExtractFormat)
    attach: Attachment | None = None


class LoadStatus(Enum):
    """The state of a load attempt, or the step at which it failed."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILED_CONNECT = "failed_connect"
    FAILED_EXTRACT = "failed_extract"
    FAILED_VALIDATE = "failed_validate"
    FAILED_STAGE = "failed_stage"
    FAILED_PUBLISH = "failed_publish"
    FAILED_INTERRUPTED = "failed_interrupted"

    @property
    def failed(self) -> bool:
        """Whether the attempt failed."""
        return self.value.startswith("failed_")


class LoadAttempt(Struct, frozen=True, kw_only=True):
    """One load attempt of a feed, as the platform database records it."""

    load_id: str
    binding: str
    source: str
    target: str
    mode: LoadMode
    status: LoadStatus
    started_at: datetime
    finished_at: datetime | None = None
    due_at: datetime | None = None  # scheduled time, None for a manual load
    periods: str | None = None  # requested period codes as written, None for all
    span: Span | None = None  # requested days, else the days of the loaded rows
    rows_read: int | None = None
    rows_landed: int | None = None
    rows_rejected: int | None = None
    message: str | None = None  # reason of the failure, without secrets
    rejects_file: str | None = None  # file name of the report of rejected rows
    rejected: Mapping[str, int] = {}  # rows by column and reason, without a value of any row
