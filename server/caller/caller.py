"""Callers: what one principal can reach, their kept results, and the record of who called."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Condition, Thread
from time import monotonic
from typing import TypeVar

from msgspec import Struct

from engine.books.books import Shelf
from engine.books.reader import Reader
from engine.model.errors import ExpiredReference, Unavailable
from engine.model.profiles import Profile
from engine.model.stopping import Stop, never
from engine.plans.report_size import MOST_FIGURES, MOST_GROUPS, ReportSize
from engine.present.answers.budget import DataRef
from engine.report.admission import Snapshot, admit
from engine.report.snapshots import Kept, given, keep
from server.base.errors import TransformLimit
from server.base.interfaces import ClaimsRecord, Principal, Principals, Snapshots, StoreDown
from server.base.notes import ServerNote
from server.caller.feeds import CallerFeeds, Feeds
from server.caller.files import Archive, CallerFiles
from server.caller.importer import Importer
from server.caller.profiles import LiveProfiles
from server.caller.scripts import CallerScripts, ScriptRunner
from server.caller.uploads import CallerImports, CallerUploads
from server.feeds.instance import ServedInstance

# Datasets: the kept results of one caller, opened by reference.


MOST_BYTES = 64 << 20  # of one snapshot: 1,000,000 figures whose numerator and denominator have 60 digits
RETRY_AFTER_MS = 2000
log = logging.getLogger("tieout")
Answered = TypeVar("Answered")


class CallerDatasets(Struct, frozen=True):
    """The kept results of one caller."""

    owner: str
    snapshots: Snapshots
    reader: Reader
    stay: Callable[[], None] = never  # called before a result is kept: its call no longer begins anew

    def keep(self, kept: Kept, answer: Callable[[DataRef], Answered]) -> Answered:
        """Keep a result while its answer is made, and return the answer.

        `answer` makes it with the reference, or with a note that says why there is none. If the store fails to keep the
        result, `answer` runs again.
        """
        data = keep(kept)
        if len(data) > MOST_BYTES:
            return answer(DataRef(note=ServerNote.of("snapshot_too_large", limit=f"{MOST_BYTES >> 20} MB")))
        self.stay()
        try:
            with self.snapshots.keeping(self.owner, data) as reference:
                return answer(DataRef(reference))
        except StoreDown as down:
            log.info("a result was not kept: %s", down)
            return answer(DataRef(note=ServerNote.of("snapshot_unavailable")))

    def admit(self, reference: str) -> Snapshot:
        """Return a kept result that this caller may still see in full; raises ExpiredReference otherwise."""
        try:
            return admit(self._read(reference), self.reader)
        except ExpiredReference as expired:
            raise ExpiredReference.of(reference, field="data_ref") from expired

    def given(self, references: Sequence[str], measured: Callable[[int], None] = lambda _: None) -> list[Kept]:
        """Return kept results as a script receives them; raises ExpiredReference for the first that is missing.

        `measured` is called with the number of their rows together before the first is opened.
        """
        data: list[bytes] = []
        rows = 0
        for at, reference in enumerate(references):
            with expired_at(reference, at):
                snapshot = admit(self._read(reference), self.reader)
            data.append(snapshot.data)
            rows += snapshot.rows
            if sum(map(len, data)) > MOST_BYTES:
                raise too_large_together(f"{MOST_BYTES >> 20} MB as they are kept")
        if rows > MOST_FIGURES:
            raise too_large_together(f"{MOST_FIGURES:,} rows")
        measured(rows)
        results = []
        for at, (reference, one) in enumerate(zip(references, data, strict=True)):
            with expired_at(reference, at):
                results.append(given(one, self.reader))
        return results

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


@contextmanager
def expired_at(reference: str, at: int) -> Iterator[None]:
    """Say of an expired reference which of several it is."""
    try:
        yield
    except ExpiredReference as expired:
        raise ExpiredReference.of(reference, field=f"data_refs.{at}") from expired


def too_large_together(most: str) -> TransformLimit:
    """Return the refusal of results that are too large to open together."""
    return TransformLimit(
        f"These results hold more than {most} together, the most that one call opens. Name fewer references, or run "
        "the reports with fewer members, scenarios or periods.",
        field="data_refs",
    )


# The record of callers and of the claims in their last token; a separate thread writes it, so no call waits for it.


AGAIN = 60.0  # seconds between two records of a caller whose claims stay the same
MOST = 10_000  # callers held in memory


class Recorder:
    """Records callers in its own thread: at once if their claims changed, else once a minute."""

    def __init__(self, principals: Principals) -> None:
        self._principals = principals
        self._noted: dict[str, tuple[Principal, float]] = {}
        self._due: dict[str, tuple[Principal, datetime]] = {}
        self._changed = Condition()
        self._ends = False

    def note(self, principal: Principal) -> None:
        """Queue a caller to be recorded; returns at once."""
        known, at = self._noted.get(principal.subject, (None, 0.0))
        if known is not None and known.claims == principal.claims and monotonic() - at < AGAIN:
            return
        with self._changed:
            if len(self._noted) >= MOST:
                self._noted.clear()
            self._noted[principal.subject] = (principal, monotonic())
            self._due[principal.subject] = (principal, datetime.now(UTC))
            self._changed.notify()

    def write(self) -> None:
        """Record queued callers until closed."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due or self._ends)
                due, self._due = self._due, {}
                if not due:
                    return
            for subject, (principal, at) in due.items():
                try:
                    self._principals.record(subject, ClaimsRecord(claims=principal.claims, at=at))
                except StoreDown as down:
                    self._noted.pop(subject, None)  # so that the next call is recorded
                    log.info("a caller was not written down: %s", down)

    def close(self) -> None:
        """Stop after every queued caller is recorded."""
        with self._changed:
            self._ends = True
            self._changed.notify()


@contextmanager
def recorded(recorder: Recorder) -> Iterator[None]:
    """Record callers while the block runs."""
    thread = Thread(target=recorder.write, name="recording of callers", daemon=True)
    thread.start()
    try:
        yield
    finally:
        recorder.close()
        thread.join(5.0)


# Callers: what one principal can reach.


Admit = Callable[[ReportSize], None]  # raises if no report of that size is made here and now


class Caller(Struct, frozen=True):
    """What one call can reach: books and feeds as its principal sees them, kept results, files, scripts, limits."""

    reader: Reader
    feeds: CallerFeeds
    datasets: CallerDatasets
    files: CallerFiles
    scripts: CallerScripts
    uploads: CallerUploads
    imports: CallerImports
    answer_tokens: int
    row_cap: int
    report_groups: int
    stop: Callable[[], None]
    admit: Admit  # called with the size of a report before it is read


class CallerStores(Struct, frozen=True):
    """The stores behind every caller: snapshots, files, the record of callers, and the importer."""

    snapshots: Snapshots
    archive: Archive
    callers: Recorder
    importer: Importer


class Callers(Struct, frozen=True):
    """Makes the caller of each call, pinned to the current version of the books."""

    instance: ServedInstance
    shelf: Shelf
    feeds: Feeds
    keeping: CallerStores
    workshop: ScriptRunner  # who made it closes it
    answer_tokens: int
    row_cap: int
    profiles: LiveProfiles | None = None  # None: use the profiles of the instance files
    report_groups: int = MOST_GROUPS

    def of(
        self, principal: Principal, stop: Stop, admit: Admit = lambda _: None, stay: Callable[[], None] = never
    ) -> Caller:
        """Return the caller of a principal; raises Unavailable if their profiles cannot be read.

        `stay` is called before a result is kept, a file made or a script run: the call no longer begins anew.
        """
        self.keeping.callers.note(principal)
        held = self._held_by(principal)
        reader = Reader(self.shelf.current(), held)
        feeds = CallerFeeds(self.feeds, reader, operates=any(profile.operations for profile in held))
        datasets = CallerDatasets(principal.subject, self.keeping.snapshots, reader, stay)
        files = CallerFiles(principal, self.keeping.archive, reader, stop, stay)
        scripts = CallerScripts(principal.subject, self.workshop, stop, stay)
        uploads = CallerUploads(principal, self.keeping.archive)
        imports = CallerImports(uploads, self.keeping.importer, stop)
        limits = (self.answer_tokens, self.row_cap, self.report_groups)
        return Caller(reader, feeds, datasets, files, scripts, uploads, imports, *limits, stop, admit)

    def at_hand(self, principal: Principal) -> Reader | None:
        """Return the books as a principal who calls sees them, None if that takes more than a look at what is known."""
        profiles = self.profiles.at_hand(self.instance.catalogue) if self.profiles else self.instance.profiles
        books = self.shelf.at_hand
        if profiles is None or books is None:
            return None
        self.keeping.callers.note(principal)
        return Reader(books, profiles.held_by(principal.subject, principal.claims))

    def reader_of(self, principal: Principal) -> Reader:
        """Return the books as a principal sees them, outside a call: a link carries no token."""
        return Reader(self.shelf.current(), self._held_by(principal))

    def _held_by(self, principal: Principal) -> Sequence[Profile]:
        profiles = self.profiles.of(self.instance.catalogue) if self.profiles else self.instance.profiles
        return profiles.held_by(principal.subject, principal.claims)
