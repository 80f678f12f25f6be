"""Sources, bindings and loads as values, and the named parameters of a query."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from engine.model.calendar.periods import Span

# Named parameters of a query: where they stand, and the query as a database takes it.
#
# `where day >= :period_start and company = :company` becomes `where day >= $1 and company = $2`.


PERIOD = "period"
PERIOD_PARAMETERS = ("period_start", "period_end", "period_end_exclusive", PERIOD)
PERIOD_PLACE = f"{{{PERIOD}}}"  # in the file pattern of a folder, where the code of the period stands

TOKEN = re.compile(
    r"""
      (?<![\w$])[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)                # text with escapes
    | '(?:[^']|'')*(?:'|\Z)                                    # text
    | "(?:[^"]|"")*(?:"|\Z)                                    # a quoted identifier
    | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)  # text between dollars
    | --[^\n]*
    | (?P<comment>/\*)
    | ::                                                       # a cast
    | (?<![\w$])\$(?P<number>\d+)
    | (?<!\w):(?P<name>[A-Za-z_][A-Za-z0-9_]*)                 # after a word the colon is that of a slice, as in a[1:n]
    """,
    re.VERBOSE | re.DOTALL,
)
COMMENT_MARK = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class ParameterQuery:
    """A query as a database takes it: the parameter of the first name is $1, and so on."""

    text: str
    names: tuple[str, ...]
    numbers: tuple[str, ...]  # $1 and the like that the query as written has itself


def number_parameters(query: str) -> ParameterQuery:
    """Return a query of PostgreSQL with its named parameters numbered, each name once.

    What stands in text, quoted identifiers and comments is no parameter, nor is a cast.
    """
    names: dict[str, int] = {}
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
            parts += (query[done : token.start()], f"${names.setdefault(name, len(names) + 1)}")
            done = at
    return ParameterQuery("".join((*parts, query[done:])), tuple(names), tuple(numbers))


def end_of_comment(query: str, at: int) -> int:
    """Return where a comment ends that begins before a place; comments of PostgreSQL nest."""
    depth = 1
    while depth:
        mark = COMMENT_MARK.search(query, at)
        if mark is None:
            return len(query)
        depth += 1 if mark[0] == "/*" else -1
        at = mark.end()
    return at


# Sources, bindings and loads: where the books come from and how each delivery went, as values.


RECENT_PERIODS = 2  # that a load asks for where nobody says which: the current month and the one before


class SourceKind(Enum):
    """What a source is."""

    FOLDER = "folder"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSource:
    """Where data comes from. It names the environment variable that holds its credential or path, never a secret."""

    key: str
    kind: SourceKind
    path: str | None = None
    environment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMapping:
    """How one column of a live table is filled: from a column of the extract, or with a constant."""

    column: str | None = None
    values: Mapping[str, str] | None = None
    format: str | None = None
    constant: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """How a feed converts a measure of each row into the instance's currency, in another measure."""

    rates: str  # live table of rates
    kind: str | None  # of the rates, None where they are of no kind
    currency: str  # column with the currency of each row
    on: str  # column with the day or period the rate must hold for
    measure: str
    into: str


class LoadMode(Enum):
    """What a load does to what its feed brought before."""

    FULL = "full"  # replaces all of it
    REPLACE_PERIODS = "replace_periods"  # replaces the periods it asks for
    APPEND = "append"  # adds to it, each extract once


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a feed is loaded: a cron expression in a time zone of the tz database."""

    cron: str
    timezone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One feed: an extract of a source into a live table."""

    key: str
    source: FeedSource
    target: str
    extract: str  # a file pattern of a folder, or a query of a database
    sheet: str | None
    scenario: str | None
    fillings: Mapping[str, ColumnMapping]
    rejects_allowed: int
    extends_members: bool
    allows_empty: bool  # whether an extract without a row empties what the feed brought before
    fills_rates: bool = False  # whether the live table is one of rates, which other feeds convert at
    conversion: Conversion | None = None
    mode: LoadMode = LoadMode.FULL
    schedule: Schedule | None = None
    period_column: str | None = None  # column of the extract that says which period a row lies in
    recent_periods: int = RECENT_PERIODS  # months that a load asks for where nobody says which
    parameters: Mapping[str, str] = field(default_factory=dict)  # of the query, beside the bounds of the periods


class LoadStatus(Enum):
    """Where an attempt to load stands, or the step that it failed at."""

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
        """Whether it is of the family of failures."""
        return self.value.startswith("failed_")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadAttempt:
    """One attempt of a feed to load, as the platform database remembers it."""

    load_id: str
    binding: str
    source: str
    target: str
    mode: LoadMode
    status: LoadStatus
    started_at: datetime
    finished_at: datetime | None = None
    due_at: datetime | None = None  # the slot of the schedule that it answers, None where somebody started it
    periods: str | None = None  # the period codes asked for, as they were written; None where all
    span: Span | None = None  # the days asked for, else those of the rows that landed
    rows_read: int | None = None
    rows_landed: int | None = None
    rows_rejected: int | None = None
    message: str | None = None  # why it failed, without secrets
    rejects_file: str | None = None  # name of the report of rejected rows
