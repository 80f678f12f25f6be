"""Traces: the spans of calls reach a collector where one is named, and nothing is set up where none is."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx2
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from server.base.settings import BadSetting
from server.run.commands.console import TERMINATED
from server.telemetry.calls import exports_spans
from tests.support.service.operations import until_ready
from tests.support.service.servers import DEADLINE, ERAS, connected, serving
from tests.unit.server.http.test_disconnect import HEADERS, body

TRACE = "0af7651916cd43dd8448eb211c80319c"


class Collector:
    """An OTLP collector over HTTP that keeps the spans it is sent."""

    def __init__(self) -> None:
        self.resources: list[dict[str, str]] = []
        self.traces: set[str] = set()
        self.spans: list[tuple[str, dict[str, Any]]] = []
        self.hangs = False
        self.asked, self.let_go = Event(), Event()

    def take(self, body: bytes) -> None:
        """Keep the spans of an export."""
        for part in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append({pair.key: pair.value.string_value for pair in part.resource.attributes})
            for span in (span for scope in part.scope_spans for span in scope.spans):
                self.traces.add(span.trace_id.hex())
                self.spans.append((span.name, {pair.key: plain(pair.value) for pair in span.attributes}))

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return the attributes of the spans of a name."""
        return [attributes for found, attributes in self.spans if found == name]


def plain(value: Any) -> Any:
    """Return the value of an attribute."""
    kind = value.WhichOneof("value")
    return [plain(held) for held in value.array_value.values] if kind == "array_value" else getattr(value, kind)


@contextmanager
def collecting() -> Iterator[tuple[str, Collector]]:
    """Run a collector until the block ends; yield its address."""
    collector = Collector()

    class Receiver(BaseHTTPRequestHandler):
        """One export."""

        def do_POST(self) -> None:
            """Take spans, or hang."""
            collector.asked.set()
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if collector.hangs:
                collector.let_go.wait(DEADLINE)
                return
            assert self.path == "/v1/traces"
            collector.take(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", collector
    finally:
        collector.let_go.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("era", ERAS)
def test_the_span_of_a_call_says_which_request_tool_and_outcome(small_instance: tuple[Path, Path], era: str) -> None:
    marker = "MARK-81d2"
    with collecting() as (url, collector):
        with serving(*small_instance, OTEL_EXPORTER_OTLP_ENDPOINT=url) as server:
            with connected(server.url, era) as books:
                books.ask("run_metric", metrics=["revenue"], scenarios=[{"scenario": "actual"}], period_start="2021-01")
                books.call("list_kpis", nonsense=marker)
            log = server.log
        (ran,), (refused,) = collector.named("tools/call run_metric"), collector.named("tools/call list_kpis")
        assert {resource["service.name"] for resource in collector.resources} == {"tieout"}
    assert (ran["tieout.tool"], ran["tieout.outcome"], ran["tieout.scenarios"]) == ("run_metric", "ok", ["actual"])
    assert (refused["tieout.tool"], refused["tieout.outcome"]) == ("list_kpis", "bad_arguments")
    for span in (ran, refused):
        assert f" request_id={span['tieout.request_id']} " in log.read_text()
        assert "tieout.subject" not in span
    assert marker not in str(collector.spans)


def test_the_trace_that_a_call_names_is_continued(small_instance: tuple[Path, Path]) -> None:
    with collecting() as (url, collector), serving(*small_instance, OTEL_EXPORTER_OTLP_ENDPOINT=url) as server:
        meta = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
        sent = {**body("list_kpis"), "params": {"name": "list_kpis", "arguments": {}, "_meta": meta}}
        assert httpx2.post(server.url, json=sent, headers=HEADERS).status_code == 200
    assert TRACE in collector.traces


def test_without_a_collector_nothing_of_it_is_even_imported() -> None:
    program = """
import sys
from server.telemetry.calls import export_spans
import server.run.cli
with export_spans():
    assert not [name for name in sys.modules if name.startswith(("opentelemetry.sdk.trace", "opentelemetry.exporter"))]
"""
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    subprocess.run([sys.executable, "-c", program], env=quiet, check=True)


def test_a_collector_that_hangs_or_is_gone_delays_neither_calls_nor_the_end(small_instance: tuple[Path, Path]) -> None:
    with collecting() as (url, collector):
        collector.hangs = True
        settings: dict[str, Any] = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "50"}
        with serving(*small_instance, **settings) as server:
            with connected(server.url, "auto") as books:
                for _ in range(5):
                    books.ask("list_kpis")
            assert collector.asked.wait(DEADLINE)
            until_ready(server)
            server.process.terminate()
            assert server.process.wait(timeout=DEADLINE) == TERMINATED
    assert "the trace collector does not take the last spans" in server.log.read_text()


@pytest.mark.parametrize(
    ("environment", "exports"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_the_standard_variables_decide_whether_spans_are_exported(environment: dict[str, str], exports: bool) -> None:
    assert exports_spans(environment) is exports


def test_a_protocol_that_is_not_spoken_is_refused() -> None:
    asked = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    with pytest.raises(BadSetting, match="PROTOCOL is 'grpc'; this server exports http/protobuf alone"):
        exports_spans(asked)
