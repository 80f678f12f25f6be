"""Attempts: what the history remembers of each load, however it ends.

An attempt is recorded before anything is read. One whose loader was killed is settled later: what the manifest has was
published, anything else was not.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import polars as pl

from engine.feeds import LoadAttempt, LoadStatus
from engine.store.layout import Manifest, pin_current
from server.ingest.delivery import Delivery
from server.ingest.locks import is_free
from server.ingest.place import Place
from server.ingest.rejects import keep_report
from server.ports import Loads, StoreDown

PUBLISH, INTERRUPTED = LoadStatus.FAILED_PUBLISH, LoadStatus.FAILED_INTERRUPTED
STOPPED = "the load was stopped before it published; what was served before still is"
KILLED = "the loader ended before it published; what was served before still is"
log = logging.getLogger("tieout.loads")


class BindingFailed(Exception):
    """The binding that made a load fail: the step it failed at, why, and the rows it rejected."""

    def __init__(self, binding: str, load_id: str, status: LoadStatus, message: str, rejects: pl.DataFrame) -> None:
        super().__init__(f"{binding}: {message}")
        self.binding = binding
        self.load_id = load_id
        self.status = status
        self.message = message
        self.rejects = rejects


@dataclass(slots=True)
class Attempts:
    """The attempts of one load, recorded while it runs and when it ends."""

    deliveries: Sequence[Delivery]
    place: Place
    loads: Loads
    now: datetime
    due_at: datetime | None

    def __enter__(self) -> Self:
        for delivery in self.deliveries:
            self.loads.begin(self.of(delivery, LoadStatus.RUNNING))
        return self

    def __exit__(self, _: type[BaseException] | None, fault: BaseException | None, __: TracebackType | None) -> None:
        manifest = manifest_of(self.place)
        for delivery in self.deliveries:
            attempt = self.ended(delivery, fault, manifest)
            try:
                self.loads.finish(attempt)
            except StoreDown as down:
                log.warning("%s ended as %s, not recorded yet: %s", attempt.load_id, attempt.status.value, down)

    def of(self, delivery: Delivery, status: LoadStatus, message: str | None = None) -> LoadAttempt:
        """Return the attempt of a delivery."""
        binding, asked = delivery.binding, delivery.periods
        report = keep_report(delivery.rejects.report, self.place.rejects, delivery.load_id)
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
        )

    def ended(self, delivery: Delivery, fault: BaseException | None, manifest: Manifest) -> LoadAttempt:
        """Return how the attempt of a delivery ended."""
        if fault is None or delivery.load_id in manifest.loads:
            attempt = replace(self.of(delivery, LoadStatus.SUCCESS), rows_landed=landed(manifest, delivery.load_id))
        elif isinstance(fault, KeyboardInterrupt):
            attempt = self.of(delivery, INTERRUPTED, STOPPED)
        elif isinstance(fault, BindingFailed) and fault.binding == delivery.binding.key:
            attempt = self.of(delivery, fault.status, fault.message)
        elif isinstance(fault, BindingFailed):
            attempt = self.of(delivery, PUBLISH, f"nothing was published, because {fault.binding} failed")
        else:
            attempt = self.of(delivery, INTERRUPTED, f"the loader failed ({type(fault).__name__}); its log says more")
        return replace(attempt, finished_at=datetime.now(UTC))


def settle(place: Place, loads: Loads) -> None:
    """Record how attempts ended whose loader did not live to tell."""
    for attempt in loads.running():
        if is_free(place.state, attempt.target):
            loads.finish(settled(attempt, manifest_of(place)))


def settled(attempt: LoadAttempt, manifest: Manifest) -> LoadAttempt:
    """Return how an attempt ended by what was published."""
    attempt = replace(attempt, finished_at=datetime.now(UTC))
    load = manifest.loads.get(attempt.load_id)
    if load is None:
        return replace(attempt, status=INTERRUPTED, message=KILLED)
    return replace(
        attempt,
        status=LoadStatus.SUCCESS,
        rows_read=load.rows_read,
        rows_landed=landed(manifest, load.id),
        rows_rejected=load.rows_rejected,
    )


def landed(manifest: Manifest, load_id: str) -> int:
    """Return how many rows of a load are there."""
    facts = sum(part.rows for parts in manifest.facts.values() for part in parts if part.load == load_id)
    return facts + sum(table.rows for table in manifest.tables.values() if table.load == load_id)


def manifest_of(place: Place) -> Manifest:
    """Return the manifest of what is served now."""
    pin = pin_current(place.store)
    pin.drop()
    return pin.manifest
