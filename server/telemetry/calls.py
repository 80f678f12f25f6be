"""Telemetry of calls: an audit line, metrics and a span for each."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from threading import Thread
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from opentelemetry.trace import get_current_span, set_tracer_provider

from server.base.settings import BadSetting
from server.telemetry.logs import FIELDS
from server.telemetry.metrics import CallMetrics

# Traces: spans are exported to an OpenTelemetry collector if the standard variables name one. The MCP SDK creates a
# span for every message, and a call adds its attributes. Without a collector nothing is set up.


ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"
LAST_SECONDS = 3.0  # that the last spans have to leave; a collector that hangs must not hold up the end
trace_log = logging.getLogger("tieout")


def exports_spans(environment: Mapping[str, str]) -> bool:
    """Tell whether spans are to be exported; BadSetting where in a way that this server does not know."""
    disabled = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if disabled or environment.get("OTEL_TRACES_EXPORTER") == "none":
        return False
    if not any(environment.get(name) for name in ENDPOINTS):
        return False
    for name in PROTOCOLS:
        if environment.get(name, SPOKEN) not in ("", SPOKEN):
            raise BadSetting(f"{name} is '{environment[name]}'; this server exports {SPOKEN} alone")
    return True


@contextmanager
def export_spans() -> Iterator[None]:
    """Export the spans of the block, where a collector is named."""
    if not exports_spans(os.environ):
        yield
        return
    # these take as long to import as a small call takes a hundred times: only where they are wanted
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - see above
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - see above
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - see above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - see above

    named = {"service.name": os.environ.get("OTEL_SERVICE_NAME", "tieout"), "service.version": version("tieout")}
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    set_tracer_provider(provider)
    try:
        yield
    finally:
        last = Thread(target=provider.shutdown, name="last spans", daemon=True)
        last.start()
        last.join(LAST_SECONDS)
        if last.is_alive():
            trace_log.warning("the trace collector does not take the last spans; they are lost")


# Audit lines. Each has the caller, the tool, the scenarios and the outcome; never another argument, a figure or a
# token. A name that a caller makes up could be a secret, so a line holds only names that exist.


OK, CANCELLED, INTERNAL = "ok", "cancelled", "internal"
UNKNOWN_TOOL = "unknown"  # stands for every name that is no tool, so that callers cannot grow the metrics
MOST_NAMED = 20
LONGEST_REFERENCE = 100
UNREADABLE = "?"  # stands for what is no scenario of the caller: it could be anything, a secret as well
Json = Mapping[str, Any]
Canonical = Callable[[str], str | None]  # a scenario reference as its caller sees it, None where it is none
log = logging.getLogger("tieout.calls")


class Telemetry:
    """Records the calls of one process."""

    def __init__(self, metrics: CallMetrics) -> None:
        self._metrics = metrics
        self._memo_bytes = -1

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

    def memo_bytes(self, size: int) -> None:
        """Take note of how many bytes the memos of the books take."""
        if size != self._memo_bytes:
            self._memo_bytes = size
            self._metrics.memo_bytes.set(size)

    def counts_alone(self, *, alone: bool) -> None:
        """Take note of whether this process counts calls by itself."""
        self._metrics.counting_alone.set(alone)

    def call(self, tool: str, arguments: Json, subject: str, canonical: Canonical) -> "CallRecord":
        """Return the block that a call runs in; it is told of once, when the block ends, however it does."""
        return CallRecord(self._metrics, tool, arguments, subject, canonical)


class CallRecord:
    """Records one call: its audit line, metrics and span attributes, when its block ends."""

    def __init__(self, metrics: CallMetrics, tool: str, arguments: Json, subject: str, canonical: Canonical) -> None:
        self._metrics = metrics
        self._label = tool
        self._fields: dict[str, Any] = {"subject": subject, "tool": tool}
        self._arguments = arguments
        self._canonical = canonical
        self._result: Json | None = None
        self._details: Json = {}
        self._bytes = 0
        self._moved: bool | None = None
        self._begun = perf_counter()

    def answered(self, result: Json, size: int, details: Json) -> None:
        """Take note of the answer, of its size in bytes, and of its details for programs."""
        self._result, self._bytes, self._details = result, size, details

    def moved(self) -> None:
        """Take note that the call left its thread and began anew among the large ones."""
        self._moved = True

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
            "scenarios": scenarios_of(self._arguments, result, self._canonical),
            "rows": rows_of(result),
            "bytes": self._bytes,
            "data_version": self._details.get("data_version", result.get("data_version")),
            "error_id": result.get("error_id"),
            "moved": self._moved,
        }
        log.info("call", extra=self._fields)
        span = get_current_span()
        if span.is_recording():
            told = {name: value for name, value in self._fields.items() if value is not None and name != "subject"}
            span.set_attributes({f"tieout.{name}": value for name, value in {**told, **FIELDS.get()}.items()})

    def _outcome(self, kind: type[BaseException] | None) -> str:
        if kind is not None:
            return CANCELLED if issubclass(kind, asyncio.CancelledError) else INTERNAL
        return str((self._result or {}).get("error_type", OK))


def scenarios_of(arguments: Json, result: Json, canonical: Canonical) -> Sequence[str]:
    """Return the scenario references that a call names, else those that its answer shows, all canonical."""
    asked = arguments.get("scenarios") or (
        [arguments] if "scenario_id" in arguments else result.get("columns", result.get("scenarios"))
    )
    entries = [entry for entry in asked if isinstance(entry, Mapping)] if isinstance(asked, list) else []
    named = [entry.get("scenario", entry.get("scenario_id")) for entry in entries[:MOST_NAMED]]
    return list(dict.fromkeys(known_name(reference, canonical) for reference in named if reference is not None))


def known_name(name: object, canonical: Canonical) -> str:
    """Return a scenario reference as `canonical` has it, `?` for a text that is none."""
    if not isinstance(name, str) or len(name) > LONGEST_REFERENCE:
        return UNREADABLE
    return canonical(name) or UNREADABLE


def rows_of(result: Json) -> int | None:
    """Return how many rows an answer has, None where it is none of rows."""
    rows = result.get("row_count", result.get("rows"))
    return len(rows) if isinstance(rows, list) else rows if isinstance(rows, int) else None
