"""Datasets: results as one caller keeps them and opens them again, by references of their own."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from engine.answers.parts import DataRef
from engine.errors import ExpiredReference, Unavailable
from engine.notes import Note
from engine.reader import Reader
from engine.snapshots.snapshots import Kept, given, keep, opened
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
        return opened(self._read(reference), self.reader)

    def given(self, references: Sequence[str]) -> list[Kept]:
        """Return what a script is given of results; ExpiredReference names the first that there is none of."""
        found = []
        for at, reference in enumerate(references):
            try:
                found.append(given(self._read(reference), self.reader))
            except ExpiredReference as expired:
                raise ExpiredReference.of(reference, field=f"data_refs.{at}") from expired
        return found

    def _read(self, reference: str) -> bytes:
        try:
            data = self.snapshots.open(self.owner, reference)
        except StoreDown as down:
            raise Unavailable(
                "Kept results cannot be opened just now. Call again shortly, or run the report again.",
                retry_after_ms=RETRY_AFTER_MS,
            ) from down
        if data is None:
            raise ExpiredReference.of()
        return data
