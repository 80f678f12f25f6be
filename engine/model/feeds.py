"""Sources, bindings and loads as values, and the named parameters of a query."""

import re
from collections.abc import Mapping
from datetime import datetime
from enum import Enum

from msgspec import Struct, field

from engine.model.calendar.periods import Span
from engine.model.extract_formats import ExtractFormat

# Named parameters: `where day >= :period_start and company = :company` becomes `where day >= $1 and company = $2`.


PERIOD = "period"
PERIOD_PARAMETERS = ("period_start", "period_end", "period_end_exclusive", PERIOD)
PERIOD_PLACE = f"{{{PERIOD}}}"  # placeholder for the period code in a file pattern

TOKEN = re.compile(
    r"""
      (?<![\w$])[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)                # text with escapes
    | '(?:[^']|'')*(?:'|\Z)                                    # text
    | "(?:[^"]|"")*(?:"|\Z)                                    # a quoted identifier
    | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)  # text between dollars
    | `[^`]*(?:`|\Z)                                           # a quoted identifier of BigQuery
    | --[^\n]*
    | (?P<comment>/\*)
    | ::                                                       # a cast
    | (?<![\w$])\$(?P<number>\d+)
    | (?<!\w):(?P<name>[A-Za-z_][A-Za-z0-9_]*)                 # after a word the colon is that of a slice, as in a[1:n]
    """,
    re.VERBOSE | re.DOTALL,
)
COMMENT_MARK = re.compile(r"/\*|\*/")


class ParamStyle(Enum):
    """How the queries of a driver mark their parameters; the values are those of `paramstyle` in integrations.yaml."""

    DOLLAR = "numeric_dollar"  # $1, $2: one number per name
    NUMBERED = "numeric_question"  # ?1, ?2: the same
    QMARK = "qmark"  # ?: one place after the other

    def mark(self, number: int) -> str:
        """Return the mark of a parameter."""
        return {ParamStyle.DOLLAR: f"${number}", ParamStyle.NUMBERED: f"?{number}", ParamStyle.QMARK: "?"}[self]


class ParameterQuery(Struct, frozen=True):
    """A query with the parameters of a driver: the first mark or number stands for the first name, and so on."""

    text: str
    names: tuple[str, ...]
    numbers: tuple[str, ...]  # numbered parameters that the original query contains, such as $1


def number_parameters(query: str, style: ParamStyle = ParamStyle.DOLLAR) -> ParameterQuery:
    """Replace the named parameters of a query by the marks of a driver.

    Ignores string literals, quoted identifiers, comments and casts, as PostgreSQL writes them.
    """
    names: dict[str, int] = {}
    every: list[str] = []  # names in the order of their places
    numbers: list[str] = []
    parts: list[str] = []
    done = at = 0
    while token := TOKEN.search(query, at):
        at = token.end()
        if token["comment"]:
            at = end_of_comment(query, at)
        elif token["number"]:
            numbers.append(token[0])
        elif name := token["name"]:
            parts += (query[done : token.start()], style.mark(names.setdefault(name, len(names) + 1)))
            every.append(name)
            done = at
    bound = every if style is ParamStyle.QMARK else names
    return ParameterQuery("".join((*parts, query[done:])), tuple(bound), tuple(numbers))


def end_of_comment(query: str, at: int) -> int:
    """Return the end of the block comment that is open at an offset. PostgreSQL comments nest."""
    depth = 1
    while depth:
        mark = COMMENT_MARK.search(query, at)
        if mark is None:
            return len(query)
        depth += 1 if mark[0] == "/*" else -1
        at = mark.end()
    return at


# Sources, bindings and load attempts.


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


class LoadMode(Enum):
    """What a load does to the rows of its feed's earlier loads."""

    FULL = "full"  # replaces all rows
    REPLACE_PERIODS = "replace_periods"  # replaces the requested periods
    APPEND = "append"  # adds rows, each extract once


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
