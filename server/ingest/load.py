"""Loads: extract, validate, stage, and publish all feeds at once. A failure publishes nothing and is recorded."""

import logging
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from errno import ENOSPC
from secrets import token_hex
from types import TracebackType
from typing import Any, Self
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from engine.facts.load_modes import LoadMode
from engine.facts.manifest import Load, Manifest, pin_current
from engine.facts.writer import BooksLocked
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain, PeriodRange
from engine.model.errors import Unavailable
from engine.model.warehouses import PartStore
from server.base.interfaces import LoadHistory, StoreDown
from server.feeds.feeds import Binding, LoadAttempt, LoadStatus
from server.files.rejects import VALIDATE, LoadFailed, Rejects, RejectSum, write_report
from server.ingest.control_tables import controls_file, prune_controls, write_controls
from server.ingest.controls import FileControl
from server.ingest.delivery import Delivery, Progress, rank
from server.ingest.folder import BooksFolder, is_free, lock_targets
from server.ingest.rates import open_tables
from server.ingest.staging import open_parts, staging
from server.warehouses.opening import DriverMissing

# Attempts. Each is recorded before anything is read. If the loader is killed, its attempt is settled later: it
# succeeded if the manifest has its load.


PUBLISH, INTERRUPTED = LoadStatus.FAILED_PUBLISH, LoadStatus.FAILED_INTERRUPTED
STOPPED = "the load was stopped before it published; nothing changed"
KILLED = "the loader ended before it published; nothing changed"
log = logging.getLogger("tieout.loads")


class BindingFailed(Exception):
    """A binding makes a load fail; holds the step, the reason, the rejected rows and their sums."""

    def __init__(self, binding: str, load_id: str, status: LoadStatus, message: str, rejects: Rejects) -> None:
        super().__init__(f"{binding}: {message}")
        self.binding = binding
        self.load_id = load_id
        self.status = status
        self.message = self.recorded = message  # recorded: in the history, which holds no value of a row
        self.rejects = rejects.report
        self.sums = rejects.sums
        self.controls: Sequence[FileControl] = ()


@dataclass(slots=True)
class AttemptRecorder:
    """The attempts of one load, recorded while it runs and when it ends."""

    deliveries: Sequence[Delivery]
    place: BooksFolder
    loads: LoadHistory
    now: datetime
    due_at: datetime | None

    def __enter__(self) -> Self:
        for delivery in self.deliveries:
            self.loads.begin(self.of(delivery, LoadStatus.RUNNING))
        return self

    def __exit__(self, _: type[BaseException] | None, fault: BaseException | None, __: TracebackType | None) -> None:
        manifest = manifest_of(self.place)
        for delivery in self.deliveries:
            if write_controls(delivery.control.files, controls_file(self.place.controls, delivery.load_id)):
                prune_controls(self.place.controls, delivery.binding.key)
            attempt = self.ended(delivery, fault, manifest)
            try:
                self.loads.finish(attempt)
            except StoreDown as down:
                log.warning("%s ended as %s, not recorded yet: %s", attempt.load_id, attempt.status.value, down)

    def of(self, delivery: Delivery, status: LoadStatus, message: str | None = None) -> LoadAttempt:
        """Return the attempt of a delivery."""
        binding, asked = delivery.binding, delivery.periods
        report = write_report(delivery.rejects, self.place.rejects, delivery.load_id)
        return LoadAttempt(
            load_id=delivery.load_id,
            binding=binding.key,
            source=binding.source.key,
            target=binding.target,
            mode=binding.mode,
            status=status,
            started_at=self.now,
            due_at=self.due_at,
            periods="..".join(dict.fromkeys((asked.start.code, asked.end.code))) if asked else None,
            span=delivery.span,
            rows_read=delivery.rejects.read,
            rows_rejected=delivery.rejects.count,
            message=message,
            rejects_file=report.name if report else None,
            rejected={each.words: each.rows for each in delivery.rejects.sums},
        )

    def ended(self, delivery: Delivery, fault: BaseException | None, manifest: Manifest) -> LoadAttempt:
        """Return the attempt of a delivery as it ended."""
        if fault is None or delivery.load_id in manifest.loads:
            attempt = self.of(delivery, LoadStatus.SUCCESS)
        elif isinstance(fault, KeyboardInterrupt):
            attempt = self.of(delivery, INTERRUPTED, STOPPED)
        elif isinstance(fault, BindingFailed) and fault.binding == delivery.binding.key:
            attempt = self.of(delivery, fault.status, fault.recorded)
        elif isinstance(fault, BindingFailed):
            attempt = self.of(delivery, PUBLISH, f"nothing was published, because {fault.binding} failed")
        else:
            attempt = self.of(delivery, INTERRUPTED, f"the loader failed ({type(fault).__name__}); its log says more")
        landed = landed_rows(manifest, delivery.load_id)  # 0 unless it was published
        return replace(attempt, finished_at=datetime.now(UTC), rows_landed=landed)


def settle_attempts(place: BooksFolder, loads: LoadHistory) -> None:
    """Record the end of attempts whose loader was killed."""
    for attempt in loads.running():
        if is_free(place.state, attempt.target):
            loads.finish(settled_attempt(attempt, manifest_of(place)))


def settled_attempt(attempt: LoadAttempt, manifest: Manifest) -> LoadAttempt:
    """Return an attempt as it ended: successful if the manifest has its load, else interrupted."""
    attempt = replace(attempt, finished_at=datetime.now(UTC), rows_landed=landed_rows(manifest, attempt.load_id))
    load = manifest.loads.get(attempt.load_id)
    if load is None:
        return replace(attempt, status=INTERRUPTED, message=KILLED)
    return replace(
        attempt,
        status=LoadStatus.SUCCESS,
        rows_read=load.rows_read,
        rows_rejected=load.rows_rejected,
    )


def landed_rows(manifest: Manifest, load_id: str) -> int:
    """Return the number of published rows of a load."""
    loaded = (loaded for parts in manifest.facts.values() for part in parts for loaded in part.loaded)
    facts = sum(rows.rows for rows in loaded if rows.load == load_id)
    return facts + sum(table.rows for table in manifest.tables.values() if table.load == load_id)


def manifest_of(place: BooksFolder) -> Manifest:
    """Return the manifest of the current version."""
    pin = pin_current(place.store)
    pin.drop()
    return pin.manifest


CONNECT, STAGE = LoadStatus.FAILED_CONNECT, LoadStatus.FAILED_STAGE


class LoadResult(Struct, frozen=True, kw_only=True):
    """The result of one binding's load."""

    binding: str
    load: str
    rows_read: int
    rows_landed: int
    rejects: pl.DataFrame
    not_loaded: str  # rows that are neither loaded nor rejected, in words
    sums: Sequence[RejectSum]  # of the rejects
    detected: Sequence[str] = ()  # keys that the files showed, with what showed them
    warnings: Sequence[str] = ()  # of files that were read as they stand
    rounded: str = ""  # what rounding converted amounts did, in words
    residues: str = ""  # what amounts lost that computations had left on them, in words
    controls: Sequence[FileControl] = ()  # of facts


def load(
    bindings: Sequence[Binding],
    place: BooksFolder,
    loads: LoadHistory,
    progress: Progress,
    *,
    periods: PeriodRange | None = None,
    due_at: datetime | None = None,
) -> list[LoadResult]:
    """Load some bindings as one version of the books: members and rates first, then trees, then facts.

    Feeds that replace periods load `periods`, or their recent ones; `due_at` is the slot of the schedule that this load
    is for. Raises TargetBusy if another load fills one of their tables, StoreDown if the attempt cannot be recorded,
    and BindingFailed if any of them fails; then nothing is published.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    ordered = sorted(bindings, key=lambda binding: rank(binding, place.catalogue))
    targets = {binding.target for binding in bindings}
    with lock_targets(place.state, targets):
        for attempt in loads.running():
            if attempt.target in targets:
                loads.finish(settled_attempt(attempt, manifest_of(place)))
        deliveries = [make_delivery(binding, place, now, periods, progress) for binding in ordered]
        with spool_folders(place, targets), AttemptRecorder(deliveries, place, loads, now, due_at):
            return run_deliveries(deliveries, place, now)


@contextmanager
def spool_folders(place: BooksFolder, targets: Collection[str]) -> Iterator[None]:
    """Delete the temporary files of a load, and those that a killed load of the same tables left."""
    folders = [place.spool / target for target in targets]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        yield
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def make_delivery(
    binding: Binding, place: BooksFolder, now: datetime, periods: PeriodRange | None, progress: Progress
) -> Delivery:
    """Return the delivery of a binding before it receives rows. Raises BindingFailed."""
    load_id = f"{now:%Y%m%dT%H%M%SZ}-{binding.key}-{token_hex(4)}"
    try:
        asked = requested_periods(binding, place.catalogue.calendar, periods)
    except LoadFailed as failure:
        raise BindingFailed(binding.key, load_id, failure.status, str(failure), Rejects()) from None
    recorded = last_reading(manifest_of(place), binding.key)
    return Delivery(binding, place, load_id, asked, progress, recorded=recorded)


def last_reading(manifest: Manifest, binding: str) -> Mapping[str, Any]:
    """Return the keys that the files of a feed's last load showed."""
    loads = [load for load in manifest.loads.values() if load.binding == binding]
    return max(loads, key=lambda load: load.sequence).reading if loads else {}


def requested_periods(binding: Binding, calendar: Calendar, periods: PeriodRange | None) -> PeriodRange | None:
    """Return the periods that a load of a binding requests; None for all. Raises LoadFailed."""
    if binding.mode is not LoadMode.REPLACE_PERIODS:
        if periods is not None:
            message = f"is loaded with load: {binding.mode.value}; only feeds with load: replace_periods take periods"
            raise LoadFailed(VALIDATE, message)
        return None
    if periods is not None:
        return periods
    today = datetime.now(ZoneInfo(binding.schedule.timezone if binding.schedule else "UTC")).date()
    current = calendar.at(today, Grain.MONTH)
    if current is None:
        raise LoadFailed(VALIDATE, f"the calendar has no month for {today}; say which periods to load with --period")
    first = max(current.ordinal - binding.recent_periods + 1, calendar.ordinals[Grain.MONTH][0])
    return PeriodRange(calendar.period(Grain.MONTH, first), current)


def run_deliveries(deliveries: Sequence[Delivery], place: BooksFolder, now: datetime) -> list[LoadResult]:
    """Receive, stage and publish some deliveries."""
    if not deliveries:
        return []
    of_facts = {domain.table for domain in place.catalogue.domains.values()}
    with ExitStack() as opened:
        with binding_errors(deliveries[0], CONNECT):
            reached = any(delivery.binding.target in of_facts for delivery in deliveries)
            parts = opened.enter_context(open_parts(place, reached=reached))
        return receive_and_publish(deliveries, place, now, parts)


def receive_and_publish(
    deliveries: Sequence[Delivery], place: BooksFolder, now: datetime, parts: PartStore | None
) -> list[LoadResult]:
    """Receive, stage and publish some deliveries, rows of facts into `parts` if there is an engine."""
    with open_tables(place.store) as tables:
        for delivery in deliveries:
            with binding_errors(
                delivery, STAGE
            ):  # faults of reading have a status of their own; others are disk faults
                delivery.receive(tables)
    with binding_errors(deliveries[0], STAGE), staging(place, parts) as staged:
        done = []
        for delivery in deliveries:
            rejects = delivery.rejects
            load = Load(
                id=delivery.load_id,
                binding=delivery.binding.key,
                loaded_at=now,
                rows_read=rejects.read,
                rows_rejected=rejects.count,
                reading=delivery.format.kept,
            )
            with binding_errors(delivery, STAGE):
                rows = delivery.stage(staged, load)
            delivery.progress(delivery.binding.key, "publish", rows)
            done.append(
                LoadResult(
                    binding=load.binding,
                    load=load.id,
                    rows_read=load.rows_read,
                    rows_landed=rows,
                    rejects=rejects.report,
                    not_loaded=str(delivery.counts),
                    sums=rejects.sums,
                    detected=delivery.format.remarks,
                    warnings=delivery.format.warnings,
                    rounded=str(delivery.rounding),
                    residues=str(delivery.residues),
                    controls=delivery.control.files,
                )
            )
        with binding_errors(deliveries[-1], PUBLISH):
            staged.publish()
    return done


@contextmanager
def binding_errors(delivery: Delivery, status: LoadStatus) -> Iterator[None]:
    """Raise BindingFailed for any fault of a delivery; `status` is that of a fault of the disk or of an engine."""
    key = delivery.binding.key
    try:
        yield
    except LoadFailed as failure:
        failed = BindingFailed(key, delivery.load_id, failure.status, str(failure), delivery.rejects)
        failed.recorded, failed.controls = failure.recorded, delivery.control.files
        raise failed from failure
    except (BooksLocked, Unavailable) as fault:
        failed = BindingFailed(key, delivery.load_id, status, str(fault), delivery.rejects)
        if isinstance(fault.__cause__, DriverMissing):
            failed.recorded = fault.__cause__.recorded
        raise failed from fault
    except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as fault:
        raise BindingFailed(key, delivery.load_id, status, describe_disk_fault(fault), delivery.rejects) from fault


def describe_disk_fault(fault: Exception) -> str:
    """Return a disk fault in words."""
    if isinstance(fault, OSError) and fault.errno == ENOSPC:
        return "the disk that holds the books is full; nothing changed: free some space and load again"
    cause = fault.strerror if isinstance(fault, OSError) and fault.strerror else "see that its files are whole"
    return f"the books cannot be written ({cause}); nothing changed"
