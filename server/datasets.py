"""Datasets: results as one caller keeps them and opens them again, by references of their own."""

import logging
from dataclasses import dataclass

from engine.answers.parts import DataRef
from engine.errors import ExpiredReference, Unavailable
from engine.notes import Note
from engine.reader import Reader
from engine.snapshots.snapshots import Kept, keep, opened
from server.ports import Snapshots, StoreDown

MOST_BYTES = 32 << 20  # of one snapshot
RETRY_AFTER_MS = 2000
log = logging.getLogger("tieout")


@dataclass(frozen=True, slots=True)
class CallerDatasets:
    """The results that one caller keeps."""

    owner: str
    snapshots: Snapshots
    reader: Reader

    def keep(self, kept: Kept) -> DataRef:
        """Keep a result and return the reference to it, or the note that says why it has none."""
        data = keep(kept)
        if len(data) > MOST_BYTES:
            return DataRef(note=Note.of("snapshot_too_large", limit=f"{MOST_BYTES >> 20} MB"))
        try:
            return DataRef(self.snapshots.keep(self.owner, data))
        except StoreDown as down:
            log.info("a result was not kept: %s", down)
            return DataRef(note=Note.of("snapshot_unavailable"))

    def open(self, reference: str) -> Kept:
        """Return a result that this caller kept and may still see all of; ExpiredReference where there is none."""
        try:
            data = self.snapshots.open(self.owner, reference)
        except StoreDown as down:
            raise Unavailable(
                "Kept results cannot be opened just now. Call again shortly, or run the report again.",
                retry_after_ms=RETRY_AFTER_MS,
            ) from down
        if data is None:
            raise ExpiredReference.of()
        return opened(data, self.reader)
