"""Jobs and their results: a script, its frames and its limits; a table or a failure."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

MESSAGE = 500  # characters of a failure's message
MOST_CODE = 32_768  # bytes of a script
MOST_FRAMES = 8
MOST_FRAME_BYTES = 50 << 20  # of all frames of a job together
MOST_ROWS = 5_000
MOST_COLUMNS = 200
MOST_CELLS = 100_000  # each scalar of a list counts
MOST_CHARACTERS = 2_000  # of a cell, and of a column name
MOST_PRINTED = 8_192  # characters
WHOLE = 2**53  # larger integers become text: JSON readers may parse numbers as doubles

FailureKind = Literal["refused", "failed", "limit", "forbidden", "unavailable"]
ColumnKind = Literal["integer", "number", "text", "boolean", "date", "datetime", "time", "list"]
Scalar = str | int | float | bool | None
CellValue = Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """The limits of one job."""

    wall: float = 5.0  # seconds
    cpu: float = 6.0  # seconds, over all threads
    memory: int = 512 << 20  # bytes of private memory
    output: int = 2 << 20  # bytes of the reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A script and its frames: `frames[i]` in the script, `df` the first. The script leaves a table in `result`."""

    code: str
    frames: tuple[bytes, ...] = ()  # Arrow IPC streams
    limits: JobLimits = JobLimits()


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a result; dates and times are ISO text in the rows, NaN and infinities None."""

    name: str
    kind: ColumnKind
    not_finite: int = 0  # cells that were NaN or infinite


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job has no table. The message names line, cause and what to use instead.

    Kinds: `refused` before the run, `failed` by the script's own fault, over a `limit`, `forbidden` by the jail, or
    `unavailable` because nothing can run.
    """

    kind: FailureKind
    message: str

    @staticmethod
    def of(kind: FailureKind, message: str) -> "Failure":
        """Return a failure whose message is short and printable."""
        text = message if len(message) <= MESSAGE else f"{message[: MESSAGE - 1]}…"
        return Failure(kind, "".join(sign if sign.isprintable() else " " for sign in text))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """The result of a job: a table of plain cells or a failure, and the text that the script printed."""

    columns: tuple[OutputColumn, ...] = ()
    rows: tuple[tuple[CellValue, ...], ...] = ()
    printed: str = ""
    failure: Failure | None = None


def is_scalar(value: object) -> bool:
    """Tell whether a value is a scalar that a result may hold."""
    if value is None or type(value) is bool:
        return True
    if type(value) is int:
        return abs(value) <= WHOLE
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is str and len(value) <= MOST_CHARACTERS


def name_fault(name: str) -> str:
    """Return what keeps a text from being the name of a column of a frame; "" if nothing does."""
    if not name:
        return "a column of result has no name: give every column a name"
    shown = f"result has a column named {name[:40]!r}"
    if "\0" in name:
        return f"{shown}: leave the NUL character out"
    if any("\ud800" <= sign <= "\udfff" for sign in name):
        return f"{shown}, which is half a character: write the name as plain Unicode text"
    return f"{shown}…: names are short text" if len(name) > MOST_CHARACTERS else ""


def naive_instant(instant: datetime) -> datetime:
    """Return a naive timestamp, in UTC if the given one has a zone. Raises OverflowError outside the years of UTC."""
    return instant.astimezone(UTC).replace(tzinfo=None) if instant.tzinfo else instant
