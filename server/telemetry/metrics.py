"""Metrics in the format of Prometheus, summed over the workers."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from threading import Lock

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.gc_collector import GCCollector
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from server.base.interfaces import LoadCount
from server.base.memory_ceiling import anonymous_bytes
from server.feeds.feeds import LoadStatus

# Counters of several processes. Each process counts in its own file of one folder, which an environment variable names
# for prometheus_client; one process adds them up. The counts of a process that ended are merged into one file.


FOLDER = "counts"
GONE = "gone"  # stands in file names where others have a process id


def counter_environment(run_folder: Path) -> Mapping[str, str]:
    """Return the environment of a process that counts in a folder."""
    folder = run_folder / FOLDER
    folder.mkdir(exist_ok=True)
    return {"PROMETHEUS_MULTIPROC_DIR": str(folder)}


class CounterFiles:
    """The sums over the counter files of a folder."""

    def __init__(self, run_folder: Path, registry: CollectorRegistry) -> None:
        self._folder = Path(counter_environment(run_folder)["PROMETHEUS_MULTIPROC_DIR"])
        self._files = MultiProcessCollector(None, path=str(self._folder))
        self._adding = Lock()
        registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """Return the sums."""
        with self._adding:
            return list(self._files.collect())

    def ended(self, process: int) -> None:
        """Add what a process counted to what those before it did; what it had in hand is forgotten."""
        with self._adding:
            for path in self._folder.glob(f"*_{process}.db"):
                kind = path.name.removesuffix(f"_{process}.db")
                if not kind.startswith("gauge"):
                    merge_counts(path, path.with_name(f"{kind}_{GONE}.db"))
                path.unlink()


def merge_counts(counted: Path, to: Path) -> None:
    """Add the values of one file to those of another."""
    if not counted.stat().st_size:  # it was killed before it could begin
        return
    total = MmapedDict(str(to))
    for key, value, _, _ in MmapedDict.read_all_values_from_file(str(counted)):
        total.write_value(key, total.read_value(key)[0] + value, 0.0)
    total.close()


# The metrics. Every label has a bounded set of values: tools, outcomes, bindings, checks of readiness.


disable_created_metrics()  # it makes a series beside each counter
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
PAGE = os.sysconf("SC_PAGE_SIZE")
BYTES = (1e3, 4e3, 16e3, 64e3, 256e3, 1e6, 4e6)


class CallMetrics:
    """The metrics of the calls of one process."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
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
        self.in_flight = Gauge(
            "tieout_calls_in_flight", "Calls that hold a slot.", multiprocess_mode="livesum", registry=registry
        )
        self.memo_bytes = Gauge(
            "tieout_books_kept_bytes",
            "Memos of the books: plans and amounts by month, an upper estimate.",
            multiprocess_mode="livesum",
            registry=registry,
        )
        self.busy = Counter("tieout_busy", "Calls refused because a cap was reached.", ["cap"], registry=registry)
        self.refused_tokens = Counter(
            "tieout_refused_tokens", "Requests that no token let in.", ["reason"], registry=registry
        )
        self.counting_alone = Gauge(
            "tieout_workers_counting_alone",
            "Workers that count calls by themselves, for the cache store does not.",
            multiprocess_mode="livesum",
            registry=registry,
        )


class Metrics(CallMetrics):
    """The metrics of a service; with a folder, those of calls are the sums of the processes that keep them there."""

    def __init__(self, version: str = "", folder: Path | None = None) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=registry)
        super().__init__(registry if folder is None else None)
        self._added = None if folder is None else CounterFiles(folder, registry)
        self.workers = Gauge("tieout_workers", "Processes that answer calls.", registry=registry)
        self.workers_bytes = Gauge("tieout_workers_resident_memory_bytes", "Memory that they hold.", registry=registry)
        self.workers_own_bytes = Gauge(
            "tieout_workers_anonymous_memory_bytes",
            "Memory that they hold without the mapped books: the largest of them.",
            registry=registry,
        )
        self.workers_ended = Counter("tieout_workers_ended", "Processes of them that are gone.", registry=registry)
        self.ready = Gauge("tieout_ready", "Whether a check of readiness holds.", ["check"], registry=registry)
        self.check_seconds = Gauge("tieout_check_seconds", "How long it took last.", ["check"], registry=registry)
        self.backup_success = Gauge(
            "tieout_backup_last_success_timestamp_seconds",
            "When the latest scheduled backup was finished.",
            registry=registry,
        )
        self.backup_failures = Gauge("tieout_backup_failures", "Scheduled backups that failed.", registry=registry)
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
        self.evicted = Gauge(
            "tieout_cache_evicted_keys",
            "Keys that the cache store dropped for want of room since it started; a kept result has two.",
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

    def watch(self, workers: Callable[[], Collection[int]]) -> None:
        """Look at some processes whenever the metrics are read."""
        self.workers.set_function(lambda: len(workers()))
        self.workers_bytes.set_function(lambda: sum(map(resident_bytes, workers())))
        self.workers_own_bytes.set_function(lambda: max(map(anonymous_bytes, workers()), default=0))

    def ended(self, worker: int) -> None:
        """Take note of a process that is gone; what it counted stays."""
        self.workers_ended.inc()
        if self._added is not None:
            self._added.ended(worker)

    def loads(self, tallies: Iterable[LoadCount], bindings: Collection[str]) -> None:
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

    def backups(self, succeeded_at: datetime | None, failures: int) -> None:
        """Take note of the scheduled backups; without a whole one, the latest was at the beginning of time."""
        self.backup_success.set(0.0 if succeeded_at is None else succeeded_at.timestamp())
        self.backup_failures.set(failures)

    def evictions(self, keys: int) -> None:
        """Take note of how many keys the cache store dropped for want of room."""
        self.evicted.set(keys)

    def profiles(self, faults: int, age: float) -> None:
        """Take note of how profiles stand."""
        self.profile_faults.set(faults)
        self.profile_age.set(age)

    def books(self, version: int, published_at: datetime | None) -> None:
        """Take note of the current version of the books."""
        self.books_version.set(version)
        self.books_published.set(published_at.timestamp() if published_at else 0)


def resident_bytes(process: int) -> int:
    """Return how much memory a process holds; none where it is gone."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * PAGE
