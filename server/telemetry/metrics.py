"""Metrics: what Prometheus reads of this process.

Every label is one of a bounded set: tools and outcomes of the code, bindings of the instance, checks of readiness.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from engine.feeds import LoadStatus
from server.ports import LoadTally

disable_created_metrics()  # type: ignore[no-untyped-call]  # no types there; a series beside each counter
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
BYTES = (1e3, 4e3, 16e3, 64e3, 256e3, 1e6, 4e6)


class Metrics:
    """The metrics of one process, in a registry of their own."""

    def __init__(self, version: str = "") -> None:
        registry = CollectorRegistry()
        self._registry = registry
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=registry)
        self.calls = Counter("tieout_calls", "Calls that ended.", ["tool", "outcome"], registry=registry)
        self.seconds = Histogram(
            "tieout_call_seconds",
            "How long calls took, with waiting.",
            ["tool"],
            buckets=SECONDS,
            registry=registry,
        )
        self.answer_bytes = Histogram(
            "tieout_answer_bytes", "Length of answers as JSON text.", ["tool"], buckets=BYTES, registry=registry
        )
        self.in_flight = Gauge("tieout_calls_in_flight", "Calls that hold a slot.", registry=registry)
        self.busy = Counter("tieout_busy", "Calls refused because a cap was reached.", ["cap"], registry=registry)
        self.refused_tokens = Counter(
            "tieout_refused_tokens", "Requests that no token let in.", ["reason"], registry=registry
        )
        self.ready = Gauge("tieout_ready", "Whether a check of readiness holds.", ["check"], registry=registry)
        self.check_seconds = Gauge("tieout_check_seconds", "How long it took last.", ["check"], registry=registry)
        self.books_version = Gauge("tieout_books_version", "Version of the books, 0 without any.", registry=registry)
        self.books_published = Gauge(
            "tieout_books_published_timestamp_seconds", "When that version was published.", registry=registry
        )
        self.load_attempts = Gauge(
            "tieout_load_attempts", "Attempts to load in the history.", ["binding", "status"], registry=registry
        )
        self.load_success = Gauge(
            "tieout_load_last_success_timestamp_seconds",
            "When a feed last loaded, 0 where it never did.",
            ["binding"],
            registry=registry,
        )
        self.profile_faults = Gauge(
            "tieout_profile_faults", "Faults of profiles, each of which closes something.", registry=registry
        )
        self.profile_age = Gauge(
            "tieout_profiles_age_seconds", "How long ago the source of profiles last answered.", registry=registry
        )
        Gauge("tieout_info", "The version that runs.", ["version"], registry=registry).labels(version).set(1)

    def page(self) -> bytes:
        """Return all metrics as Prometheus reads them."""
        return generate_latest(self._registry)

    def loads(self, tallies: Iterable[LoadTally], bindings: Collection[str]) -> None:
        """Take note of the history of loads; a feed that never succeeded did so at the beginning of time."""
        # those of zero as well: otherwise the first failure of a feed would be no rise
        attempts = {(binding, status): 0 for binding in bindings for status in LoadStatus}
        succeeded = dict.fromkeys(bindings, 0.0)
        for tally in tallies:
            attempts[tally.binding, tally.status] = tally.attempts
            if tally.status is LoadStatus.SUCCESS and tally.latest is not None:
                succeeded[tally.binding] = tally.latest.timestamp()
        for (binding, status), number in attempts.items():
            self.load_attempts.labels(binding, status.value).set(number)
        for binding, at in succeeded.items():
            self.load_success.labels(binding).set(at)

    def profiles(self, faults: int, age: float) -> None:
        """Take note of how profiles stand."""
        self.profile_faults.set(faults)
        self.profile_age.set(age)

    def books(self, version: int, published_at: datetime | None) -> None:
        """Take note of the current version of the books."""
        self.books_version.set(version)
        self.books_published.set(published_at.timestamp() if published_at else 0)
