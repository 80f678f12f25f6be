"""Traces: spans to an OpenTelemetry collector, where the standard variables name one.

The SDK of MCP makes a span of every message; calls put what is told of them on it. Without a collector nothing of
this is set up, and those spans are empty shells.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from threading import Thread

from opentelemetry.trace import set_tracer_provider

from server.settings import BadSetting

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"
LAST_SECONDS = 3.0  # that the last spans have to leave; a collector that hangs must not hold up the end
log = logging.getLogger("tieout")


def collects(environment: Mapping[str, str]) -> bool:
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
def traced() -> Iterator[None]:
    """Export the spans of the block, where a collector is named."""
    if not collects(os.environ):
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
            log.warning("the trace collector does not take the last spans; they are lost")
