"""Calls as operators see them: one audit line each, its metrics, and what its span says.

An audit line has who called, which tool, the scenarios named, and how it ended; never an argument beside those
references, a figure or a token.
"""

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from opentelemetry.trace import get_current_span
from structlog.contextvars import get_contextvars

from server.telemetry.metrics import CallMetrics

OK, CANCELLED, INTERNAL = "ok", "cancelled", "internal"
UNKNOWN_TOOL = "unknown"  # label of every name that is no tool, so that callers cannot grow the metrics
MOST_NAMED = 20
REFERENCE = re.compile(r"[\w./@+(),-]{1,100}")
UNREADABLE = "?"  # stands for what has not the shape of a name: it could be anything, a secret as well
Json = Mapping[str, Any]
log = logging.getLogger("tieout.calls")


class Telemetry:
    """Tells of the calls of one process."""

    def __init__(self, metrics: CallMetrics) -> None:
        self._metrics = metrics

    def expect(self, tools: Iterable[str]) -> None:
        """Take note of the tools there are, so that a counter is seen to rise at the first fault of one."""
        for tool in tools:
            for outcome in (OK, INTERNAL):
                self._metrics.calls.labels(tool, outcome)

    def busy(self, cap: str) -> None:
        """Take note of a call that a cap refused: that of its caller, or that of all."""
        self._metrics.busy.labels(cap).inc()

    def in_flight(self, calls: int) -> None:
        """Take note of how many calls hold a slot."""
        self._metrics.in_flight.set(calls)

    def counts_alone(self, *, alone: bool) -> None:
        """Take note of whether this process counts calls by itself."""
        self._metrics.counting_alone.set(alone)

    def call(self, tool: str, arguments: Json, subject: str, *, known: bool) -> "ToldCall":
        """Return the block that a call runs in; it is told of once, when the block ends, however it does."""
        return ToldCall(self._metrics, tool if known else UNKNOWN_TOOL, tool, arguments, subject)


class ToldCall:
    """One call while it runs."""

    def __init__(self, metrics: CallMetrics, label: str, tool: str, arguments: Json, subject: str) -> None:
        self._metrics = metrics
        self._label = label
        self._fields: dict[str, Any] = {"subject": subject, "tool": readable(tool)}
        self._arguments = arguments
        self._result: Json | None = None
        self._bytes = 0
        self._begun = perf_counter()

    def answered(self, result: Json, text: str) -> None:
        """Take note of the answer, as data and as text."""
        self._result, self._bytes = result, len(text.encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        seconds = perf_counter() - self._begun
        outcome = self._outcome(kind)
        self._metrics.calls.labels(self._label, outcome).inc()
        self._metrics.seconds.labels(self._label).observe(seconds)
        if self._result is not None:
            self._metrics.answer_bytes.labels(self._label).observe(self._bytes)
        result = self._result or {}
        self._fields |= {
            "outcome": outcome,
            "ms": round(seconds * 1000, 2),
            "scenarios": scenarios_of(self._arguments, result),
            "rows": rows_of(result),
            "bytes": self._bytes,
            "data_version": result.get("data_version"),
            "error_id": result.get("error_id"),
        }
        log.info("call", extra=self._fields)
        span = get_current_span()
        if span.is_recording():
            told = {name: value for name, value in self._fields.items() if value is not None and name != "subject"}
            span.set_attributes({f"tieout.{name}": value for name, value in (told | get_contextvars()).items()})

    def _outcome(self, kind: type[BaseException] | None) -> str:
        if kind is not None:
            return CANCELLED if issubclass(kind, asyncio.CancelledError) else INTERNAL
        return str((self._result or {}).get("error_type", OK))


def scenarios_of(arguments: Json, result: Json) -> Sequence[str]:
    """Return the scenario references that a call names, else those that its answer shows."""
    asked = arguments.get("scenarios") or ([arguments] if "scenario_id" in arguments else result.get("columns"))
    entries = [entry for entry in asked if isinstance(entry, Mapping)] if isinstance(asked, list) else []
    named = [entry.get("scenario", entry.get("scenario_id")) for entry in entries[:MOST_NAMED]]
    return list(dict.fromkeys(readable(reference) for reference in named if reference is not None))


def readable(name: object) -> str:
    """Return a name or reference as it was written, where it has the shape of one."""
    text = name.replace(" ", "") if isinstance(name, str) else ""
    return text if REFERENCE.fullmatch(text) else UNREADABLE


def rows_of(result: Json) -> int | None:
    """Return how many rows an answer has, None where it is none of rows."""
    rows = result.get("row_count", result.get("rows"))
    return len(rows) if isinstance(rows, list) else rows if isinstance(rows, int) else None
