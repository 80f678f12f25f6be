"""Stages of loads: they wait for their turn to publish, and put rows into the engine that the instance names."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from time import monotonic, sleep

from engine.facts.writer import BooksLocked, Stage, stage
from engine.model.errors import Unavailable
from engine.model.warehouses import PartStore
from server.base.interfaces import StoreDown
from server.ingest.folder import BooksFolder
from server.warehouses.opening import open_warehouse
from server.warehouses.parts import WarehouseParts

PATIENCE, POLL = 600.0, 0.05  # seconds that a load waits for others to publish, and between two checks


@contextmanager
def open_parts(place: BooksFolder, *, reached: bool) -> Iterator[PartStore | None]:
    """Open the engine that holds the rows of facts, None if files do.

    Raises Unavailable if the environment has no address of it, or if it shall be `reached` and is not.
    """
    if place.placement is None:
        yield None
        return
    with ExitStack() as opened:
        try:
            warehouse = opened.enter_context(closing(open_warehouse(place.placement, writes=True)))
            if reached:
                warehouse.ping()
        except StoreDown as down:
            raise Unavailable(f"the engine of facts, {place.placement.kind.value}: {down}") from down
        yield WarehouseParts(warehouse)


@contextmanager
def staging(place: BooksFolder, parts: PartStore | None) -> Iterator[Stage]:
    """Open a stage on the current version; wait while another process publishes. Raises BooksLocked after PATIENCE."""
    placement = place.placement
    keeps_files, lease = (placement.keeps_files, placement.lease) if placement is not None else (False, 0)
    deadline = monotonic() + PATIENCE
    with ExitStack() as stack:
        while True:
            try:
                staged = stack.enter_context(stage(place.store, parts, keeps_files=keeps_files, lease=lease))
                break
            except BooksLocked:
                if monotonic() > deadline:
                    raise
                sleep(POLL)
        yield staged
