"""The manifest: which files hold which facts at one version, and which rollups stand beside them."""

import fcntl
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from errno import ENOENT
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError
from msgspec.json import decode, encode
from msgspec.structs import force_setattr, replace

from engine.model.calendar.periods import WITHOUT_DATE, Span
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.fact_store import Aggregate, AggregateFunction
from engine.model.freezes import Freeze
from engine.model.stopping import watched

# Layout of the store:
#
#     CURRENT                              number of the current version; publishing renames a new one over it
#     manifests/000007.json                one version; readers hold a shared lock on it while they use its files
#     facts/gl/actual/2025-01-DIGEST.arrow one scenario and calendar month of one load, or of several of a feed, sorted
#     rollups/gl/actual/2025-01-DIGEST.arrow the sums of such a partition by some dimensions
#     tables/live.account-DIGEST.arrow     one table of members, nodes or rates
#     codes/account-DIGEST.arrow           the ids of a leaf dimension in code order
#     frozen/actual#sep-DIGEST.json        what one freeze holds
#
# Files never change. Sweeping deletes versions that are neither current nor held by a reader nor leased to readers on
# other hosts, and unreferenced files.


UNDATED = "undated"
LAST_DAY = attrgetter("last")
CURRENT = "CURRENT"
CURRENT_NEXT = "CURRENT.new"  # written before the manifest, and renamed to CURRENT after it
PUBLISHING = "publishing.lock"  # who publishes holds a lock on it
FORMAT = 3  # the newest; manifests of release 0.3.0 have no format number and count as 0; 1 knows no merged loads
WITHOUT_FREEZES = 2  # the format of manifests without freezes, which releases before them read
LOAD = "_load"  # column of a merged partition: the position, in `merged`, of the load that brought the row


class NewerFormat(Unavailable):
    """A newer release of Tieout wrote the manifest."""


class DamagedBooks(Unavailable):
    """A file that says what the books hold cannot be read; the message names it in the store."""

    def __init__(self, file: str, fault: OSError | ValueError) -> None:
        why = (fault.strerror if isinstance(fault, OSError) else None) or "it is damaged"
        super().__init__(
            f"The current version of the books cannot be opened: {file} ({why}). Let the server's user read the store "
            "in SVC_STATE_DIR; if the file is damaged, restore a backup, or move the store away and run tieout load."
        )


class Load(Struct, frozen=True, kw_only=True):
    """One load that a version records."""

    id: str
    binding: str
    loaded_at: datetime
    sequence: int = 0  # version that published it: unlike clocks, versions never go back
    rows_read: int = 0
    rows_rejected: int = 0
    reading: Mapping[str, Any] = {}  # keys that its files showed, such as numbers.decimal
    attached: Mapping[str, Any] = {}  # table whose rows it surveyed, as the engine names it


class Rollup(Struct, frozen=True, kw_only=True):
    """The sums of a partition by some of its dimensions."""

    dimensions: tuple[str, ...]
    file: str
    rows: int


class LoadedRows(Struct, frozen=True, array_like=True):
    """What one load brought of a merged partition."""

    load: str
    id: str  # of the partition that the rows were before they were merged
    rows: int
    days: tuple[int, ...]


class Partition(Struct, frozen=True, kw_only=True, dict=True):
    """One scenario and calendar month of one load, or of several loads of a feed whose rows were merged.

    It has an identity, a file, and statistics for pruning.
    """

    scenario: str
    bucket: str  # YYYY-MM, or undated
    file: str  # of the rows, relative to the root of the store; empty if they are in an engine only
    rows: int
    days: tuple[int, ...]  # days of the month that have rows
    magnitudes: Mapping[str, int]  # measure -> sum of absolute amounts
    load: str  # empty if it is merged
    columns: tuple[str, ...] = ()  # of the rows, without LOAD; empty if release 0.3.0 wrote the partition
    places: Mapping[str, int] = {}  # measure -> decimal places of its amounts
    rollups: tuple[Rollup, ...] = ()
    unassigned: tuple[str, ...] | None = None  # dimensions with rows without a member; None: read the rows to know
    number: int | None = None  # of the part that holds the rows in an engine; no two partitions have the same
    blanks: tuple[str, ...] = ()  # measures that some row has no amount of
    token: str | None = None  # of rows in an attached table: tells whether they are still those surveyed
    id: str = ""  # equal rows of one scenario and month have equal ids, in any store
    merged: tuple[LoadedRows, ...] = ()  # in the order of their numbers in LOAD

    def __post_init__(self) -> None:
        if not self.id:  # release 0.3.0 stored none; the name of the file serves as it does of new partitions
            force_setattr(self, "id", self.file)

    @cached_property
    def dates(self) -> tuple[date, ...]:
        """The days that have rows, ascending."""
        year, _, month = self.bucket.partition("-")
        return tuple(date(int(year), int(month), day) for day in self.days)

    def dates_of(self, loaded: LoadedRows) -> frozenset[date]:
        """Return the days that have rows of one load."""
        return frozenset(day for day in self.dates if day.day in loaded.days)

    @property
    def loaded(self) -> tuple[LoadedRows, ...]:
        """What each load brought. All of them are loads of one feed."""
        return self.merged or (LoadedRows(self.load, self.id, self.rows, self.days),)


class StoredTable(Struct, frozen=True, kw_only=True):
    """A table of members, nodes or rates."""

    file: str
    rows: int
    load: str


class Codes(Struct, frozen=True, kw_only=True):
    """The ids of a leaf dimension."""

    file: str
    count: int  # codes in use, the null member's 0 included


class Manifest(Struct, frozen=True, kw_only=True):
    """One version of the books."""

    format: int = FORMAT
    version: int
    facts: Mapping[str, tuple[Partition, ...]]  # by domain
    tables: Mapping[str, StoredTable]  # by live table
    codes: Mapping[str, Codes]  # by leaf dimension
    loads: Mapping[str, Load]
    fingerprints: Mapping[str, tuple[str, ...]] = {}  # of the extracts that each feed appended
    chosen: Mapping[str, tuple[tuple[str, ...], ...]] = {}  # rollups of domains that name none
    frozen: Mapping[str, Freeze] = {}  # by the id of the scenario that a freeze is read as

    def binding(self, part: Partition) -> str:
        """Return the feed that brought the rows of a partition."""
        return self.loads[part.loaded[0].load].binding

    def files(self) -> Iterator[str]:
        """Yield every file that this version names; its freezes name more."""
        for partition in (partition for partitions in self.facts.values() for partition in partitions):
            if partition.file:
                yield partition.file
            yield from (rollup.file for rollup in partition.rollups)
        yield from (table.file for table in self.tables.values())
        yield from (codes.file for codes in self.codes.values())
        yield from (freeze.file for freeze in self.frozen.values())

    def as_json(self) -> bytes:
        """Return the stored form of the manifest."""
        return encode(replace(self, format=FORMAT if self.frozen else WITHOUT_FREEZES))

    @classmethod
    def from_json(cls, text: bytes) -> "Manifest":
        """Return a stored manifest.

        Raises NewerFormat if a newer release wrote it in a format of its own, ValueError if it is no manifest.
        """
        try:  # at once: the manifest of many loads is long
            manifest = decode(text, type=cls)
        except ValidationError:
            refuse_newer(decode(text, type=ManifestFormat).format)
            raise
        refuse_newer(manifest.format)
        return manifest


class ManifestFormat(Struct, frozen=True):
    """The format of a stored manifest that is read no further; release 0.3.0 stored none."""

    format: int = 0


def refuse_newer(stored: int) -> None:
    """Raise NewerFormat if a newer release wrote a manifest of this format."""
    if stored > FORMAT:
        raise NewerFormat(
            f"The books are stored in format {stored} and this release reads formats up to {FORMAT}; install the "
            "release that wrote them, or restore a backup that this release made."
        )


class Pin:
    """Holds a version open: its files stay until the pin is dropped or its process ends."""

    def __init__(self, manifest: Manifest, descriptor: int | None) -> None:
        self.manifest = manifest
        self._descriptor = descriptor

    def drop(self) -> None:
        """Release the version."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __del__(self) -> None:
        self.drop()


def current_version(root: Path) -> int:
    """Return the number of the current version, 0 before the first is published. Raises DamagedBooks."""
    version = named_version(root)
    if version is None and was_published(root):
        version = named_version(root)  # the first may have been published in between
        if version is None:
            raise DamagedBooks(CURRENT, FileNotFoundError(ENOENT, os.strerror(ENOENT)))
    return version or 0


def named_version(root: Path) -> int | None:
    """Return the version that CURRENT names, None if it does not exist. Raises DamagedBooks."""
    try:
        descriptor = os.open(root / CURRENT, os.O_RDONLY)  # each call asks: a third of the time of a file object
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise DamagedBooks(CURRENT, fault) from fault
    try:
        return int(os.read(descriptor, 20))
    except (OSError, ValueError) as fault:
        raise DamagedBooks(CURRENT, fault) from fault
    finally:
        os.close(descriptor)


def was_published(root: Path) -> bool:
    """Tell whether a store has had a version; a first load that was killed leaves its manifest beside CURRENT_NEXT."""
    manifests = list((root / "manifests").glob("*.json"))
    return bool(manifests) and not (manifests == [manifest_file(root, 1)] and (root / CURRENT_NEXT).exists())


def manifest_file(root: Path, version: int) -> Path:
    """Return the path of a version's manifest."""
    return root / "manifests" / f"{version:06}.json"


def current_stamp(root: Path) -> tuple[int, ...]:
    """Return the current version with the inode, size and time of change of its manifest. Raises DamagedBooks.

    A manifest that is swept or unreadable has none of the three, and opening it says why.
    """
    version = current_version(root)
    try:
        file = manifest_file(root, version).stat()
    except OSError:
        return (version,)
    return version, file.st_ino, file.st_size, file.st_ctime_ns


def pin_current(root: Path) -> Pin:
    """Pin the current version. Before the first is published, pin an empty one.

    Raises NewerFormat, or DamagedBooks if a file that names the version cannot be read.
    """
    while version := current_version(root):
        path = manifest_file(root, version)
        name = path.relative_to(root).as_posix()
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError as fault:
            if current_version(root) == version:
                raise DamagedBooks(name, fault) from fault
            continue  # a newer version was published and this one was swept in between
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if os.fstat(descriptor).st_nlink == 0:
            os.close(descriptor)
            continue
        try:
            with os.fdopen(os.dup(descriptor), "rb") as file:
                return Pin(Manifest.from_json(file.read()), descriptor)
        except NewerFormat:
            os.close(descriptor)
            raise
        except (OSError, ValueError) as fault:
            os.close(descriptor)
            raise DamagedBooks(name, fault) from fault
    return Pin(Manifest(version=0, facts={}, tables={}, codes={}, loads={}), None)


def locked(descriptor: int) -> bool:
    """Try to lock an open file and tell whether that succeeded. Closing the file releases the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def spans_of(part: Partition, spans: Sequence[Span]) -> list[tuple[int, Span, bool]]:
    """Return the spans in which a partition has rows: position, days, and whether the partition lies wholly inside."""
    after = len(spans) - (WITHOUT_DATE in spans[-1:])
    if part.bucket == UNDATED:
        return [(after, WITHOUT_DATE, True)] if after < len(spans) else []
    days = part.dates
    held = Span(days[0], days[-1])
    found = []
    for position in watched(range(bisect_left(spans, held.first, hi=after, key=LAST_DAY), after)):
        span = spans[position]
        if span.first > held.last:
            break
        overlap = span.overlap(held)
        if overlap == held:
            found.append((position, held, True))
        elif overlap is not None and any(overlap.holds(day) for day in days):
            found.append((position, overlap, False))
    return found


TouchedPart = tuple[Partition, list[tuple[int, Span, bool]]]  # its spans, as spans_of returns them


def is_whole(spans: Sequence[tuple[int, Span, bool]]) -> bool:
    """Tell whether a partition lies wholly in one span."""
    return len(spans) == 1 and spans[0][2]


def magnitude_of(parts: Sequence[Partition], known: Aggregate) -> int:
    """Return an upper bound of what any amounts of some partitions add up to; 0 if they are not added up."""
    return sum(part.magnitudes[known.measure] for part in parts) if known.how is AggregateFunction.SUM else 0


def refuse_other_places(domain: Domain, partition: Partition) -> None:
    """Refuse amounts whose stored decimal places differ from the catalogue's."""
    for key, measure in domain.measures.items():
        held = partition.places.get(key, measure.places)
        if held != measure.places:
            raise Unavailable(
                f"{key} of {domain.key} was loaded to {held} decimal places and the catalogue now says "
                f"{measure.places}; its feeds must be loaded again."
            )
