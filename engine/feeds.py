"""Sources and bindings: where the books come from, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class SourceKind(Enum):
    """What a source is."""

    FOLDER = "folder"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where data comes from. It names the environment variable that holds its credential or path, never a secret."""

    key: str
    kind: SourceKind
    path: str | None = None
    environment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One feed: an extract of a source into a live table."""

    key: str
    source: Source
    target: str
    extract: str  # a file pattern of a folder, or a query of a database
    sheet: str | None
    scenario: str | None
    fillings: Mapping[str, Filling]
    rejects_allowed: int
    extends_members: bool
    allows_empty: bool  # whether an extract without a row empties what the feed brought before
    fills_rates: bool = False  # whether the live table is one of rates, which other feeds convert at
    conversion: Conversion | None = None
