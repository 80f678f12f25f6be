"""Scripts: sandboxed runs of callers' code over kept results, and pictures of charts."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, Literal

import polars as pl
from msgspec import Struct, field

from engine.model.errors import Refusal, Unavailable
from engine.model.stopping import never
from sandbox.job import (
    MOST_FRAME_BYTES,
    CellValue,
    ColumnKind,
    FailureKind,
    Job,
    JobResult,
    OutputColumn,
    naive_instant,
)
from sandbox.pool import Pool, PoolBusy
from sandbox.render import IN_ANSWERS, Renderer
from server.base.errors import Busy, TransformFailed, TransformForbidden, TransformLimit, TransformRefused
from server.telemetry.logs import log_forbidden_script

FIELD = "transform_code"
RETRY_AFTER_MS = 1000
MOST_PRINTED = 1000  # characters of a script's output in an error


class ScriptRunner(Struct, frozen=True):
    """Runs scripts and draws pictures; the first use starts each part."""

    pool: Pool = field(default_factory=Pool)
    renderer: Renderer = field(default_factory=Renderer)

    def close(self) -> None:
        """End the parts that were started."""
        self.renderer.close()
        self.pool.close()


class ScriptResult(Struct, frozen=True):
    """The table that a script returned, what it printed, and how many figures of a column were NaN or infinite."""

    frame: pl.DataFrame
    printed: str
    not_finite: Mapping[str, int] = {}


class CallerScripts(Struct, frozen=True):
    """The scripts of one call."""

    subject: str
    workshop: ScriptRunner
    stop: Callable[[], None]
    stay: Callable[[], None] = never  # called before a script runs: its call no longer begins anew

    def run(self, tool: str, code: str, frames: Sequence[pl.DataFrame]) -> ScriptResult:
        """Run a script over frames; raises Busy if no worker is free, another Refusal if the script fails."""
        streams = list[bytes]()
        for frame in frames:
            self.stop()
            streams.append(stream_of(frame))
            refuse_large(sum(map(len, streams)))
        self.stay()
        try:
            outcome = self.workshop.pool.run(Job(code=code, frames=tuple(streams)), self.stop)
        except PoolBusy:
            raise Busy(
                "Every place for scripts is taken. Call again shortly, one chart at a time.",
                retry_after_ms=RETRY_AFTER_MS,
            ) from None
        if outcome.failure is not None:
            if outcome.failure.kind == "forbidden":
                log_forbidden_script(self.subject, tool, outcome.failure.message)
            raise refusal(outcome, frames)
        lost = {column.name: column.not_finite for column in outcome.columns if column.not_finite}
        return ScriptResult(frame_of(outcome), outcome.printed, lost)

    def draw(self, vega_lite: Mapping[str, Any], form: Literal["svg", "png"]) -> bytes:
        """Return the picture of a chart; raises RenderError if it cannot be drawn."""
        self.stop()
        self.stay()
        return self.workshop.renderer.render(vega_lite, form)

    def picture(self, vega_lite: Mapping[str, Any]) -> bytes:
        """Return the picture of a chart as a PNG that fits an answer; raises RenderError if it cannot be drawn."""
        self.stop()
        self.stay()
        return self.workshop.renderer.render(vega_lite, "png", IN_ANSWERS)


def refuse_large(together: int) -> None:
    """Refuse frames of more bytes together than a script is given."""
    if together > MOST_FRAME_BYTES:
        raise TransformLimit(
            f"These results are at least {together >> 20} MB together; a script is given {MOST_FRAME_BYTES >> 20} MB "
            "at most. Run the reports with fewer members, scenarios or periods.",
            field="data_refs",
        )


def stream_of(frame: pl.DataFrame) -> bytes:
    """Return a frame as an Arrow stream; plain strings, because string views with repeated values are slow to write."""
    written: bytes = frame.write_ipc_stream(None, compat_level=pl.CompatLevel.oldest()).getvalue()
    return written


FAILURES: Mapping[FailureKind, tuple[type[Refusal], str]] = {
    "refused": (TransformRefused, "The script is refused"),
    "failed": (TransformFailed, "The script failed"),
    "limit": (TransformLimit, "The script went over a limit"),
    "forbidden": (TransformForbidden, "The script was ended"),
    "unavailable": (Unavailable, "Scripts cannot be run just now, call again shortly"),
}


def refusal(outcome: JobResult, frames: Sequence[pl.DataFrame]) -> Refusal:
    """Return the error for a failed script: the line, the cause, and what to use instead."""
    assert outcome.failure is not None  # noqa: S101 - the caller has checked
    kind, words = FAILURES[outcome.failure.kind]
    if kind is Unavailable:
        return Unavailable(f"{words}.", retry_after_ms=RETRY_AFTER_MS)
    printed = f" It had printed: {outcome.printed.strip()[:MOST_PRINTED]}" if outcome.printed else ""
    columns = frames[0].columns if kind is TransformFailed else []
    example = {FIELD: f"result = df.select({', '.join(map(repr, columns[:2]))})"} if columns else None
    return kind(f"{words}: {outcome.failure.message}.{printed}", field=FIELD, valid=columns, example=example)


def frame_of(outcome: JobResult) -> pl.DataFrame:
    """Return the table of a job's result, with typed columns."""
    cells: Sequence[Sequence[CellValue]] = list(zip(*outcome.rows, strict=True)) or [()] * len(outcome.columns)
    return pl.DataFrame([series_of(column, values) for column, values in zip(outcome.columns, cells, strict=True)])


def series_of(column: OutputColumn, cells: Sequence[Any]) -> pl.Series:
    """Return one column of plain cells as a typed series."""
    if column.kind == "list":
        dtype = inner_of({type(item) for cell in cells if cell is not None for item in cell} - {type(None)})
        lists = [None if cell is None else pl.Series(cell, dtype=dtype, strict=False).to_list() for cell in cells]
        return pl.Series(column.name, lists, pl.List(dtype))
    dtype, read = KINDS[column.kind]
    return pl.Series(column.name, [None if cell is None else read(cell) for cell in cells], dtype)


def inner_of(types: set[type]) -> pl.DataType:
    """Return the item type of a list column; text if the items have mixed types."""
    return next((dtype for some, dtype in INNER if types <= some), pl.String())


KINDS: Mapping[ColumnKind, tuple[pl.DataType, Callable[[Any], Any]]] = {
    "integer": (pl.Int64(), int),
    "number": (pl.Float64(), float),
    "text": (pl.String(), str),
    "boolean": (pl.Boolean(), bool),
    "date": (pl.Date(), date.fromisoformat),
    "datetime": (pl.Datetime(), lambda text: naive_instant(datetime.fromisoformat(text))),
    "time": (pl.Time(), lambda text: time.fromisoformat(text).replace(tzinfo=None)),
}
INNER: Sequence[tuple[set[type], pl.DataType]] = (
    ({bool}, pl.Boolean()),
    ({int}, pl.Int64()),
    ({int, float}, pl.Float64()),
)
