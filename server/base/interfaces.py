"""The interfaces of the service to its stores, and the principal who calls."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

from msgspec import Struct

from engine.instance.documents import Document
from engine.model.calendar.periods import Span
from server.feeds.feeds import LoadAttempt, LoadStatus

DEVELOPER = "dev"  # subject of the single-user server's key


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller's subject and the claims that profiles are assigned by."""

    subject: str
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    is_local: bool = False  # calls over the private socket: files are given as paths, and none are taken


class MinimumRate(Struct, frozen=True, kw_only=True):
    """The lowest average rate at which a file may arrive, after a grace period."""

    bytes_a_second: int = 16 << 10
    at_first: float = 15.0  # seconds

    def due(self, begun: float, size: int) -> float:
        """Return the time by which more bytes must arrive, given the start and the bytes so far."""
        return begun + self.at_first + size / self.bytes_a_second


class StoreDown(Exception):
    """A store cannot be reached or does not answer in time. The message names the store, never its credentials."""


class VolumeFull(StoreDown):
    """The volume of files is as full as it may be."""


class StoreFull(StoreDown):
    """A store has no room for more; reading from it still works."""


class LoadQuery(Struct, frozen=True, kw_only=True):
    """A query for load attempts that match every one of these conditions, the most recent first."""

    bindings: Collection[str]  # feeds that may be seen, or the one asked for
    cut: Collection[str] = ()  # of these feeds only the days asked for are told, never those of the rows that landed
    target: str | None = None
    span: Span | None = None  # attempts that touch one of these days, or may have
    statuses: Collection[LoadStatus] = tuple(LoadStatus)
    limit: int = 50


class LoadCount(Struct, frozen=True, kw_only=True):
    """The number of a feed's attempts with one status, and when the latest of them ended."""

    binding: str
    status: LoadStatus
    attempts: int
    latest: datetime | None


class CapReached(Exception):
    """Too many calls are in flight: of the caller's own, or of all."""

    def __init__(self, cap: str) -> None:
        super().__init__(cap)
        self.cap = cap  # caller or all


class Leases(Protocol):
    """Leases that limit concurrent calls, per caller and in total, over every process that shares them."""

    async def take(self, subject: str) -> str:
        """Return a new lease; CapReached immediately if a limit is reached."""

    def is_full(self, subject: str) -> bool:
        """Tell whether `take` raises CapReached now, as far as this process knows. Asks nobody."""

    async def give_back(self, lease: str) -> None:
        """Release a lease. No-op if it has expired."""


class Snapshots(Protocol):
    """Stores bytes for their owners under unguessable references, until they are idle for too long or too old."""

    def keeping(self, owner: str, data: bytes) -> AbstractContextManager[str]:
        """Keep bytes while a block runs, which is given their reference.

        The end of the block raises StoreDown if they could not be kept. So may its beginning.
        """

    def open(self, owner: str, reference: str) -> bytes | None:
        """Return an owner's bytes under a reference, None if there are none; StoreDown."""


class File(Struct, frozen=True, kw_only=True):
    """A file that was made for a caller or sent by them."""

    file_id: str
    owner: str
    purpose: str  # export, upload or import
    name: str
    mime_type: str
    size_bytes: int
    sha256: str
    cell: Mapping[str, Any] | None  # the permission that an export was cut to
    created_at: datetime
    expires_at: datetime


class Files(Protocol):
    """The records of files; their bytes are on a volume."""

    def add(self, file: File, quota: int) -> bool:
        """Take note of a file; False where its owner would have more than a quota of bytes, reserved ones too.

        StoreDown.
        """

    def bytes_of(self, owner: str, now: datetime) -> int:
        """Return how many bytes of files and reservations an owner has, as `add` counts them; StoreDown."""

    def get(self, file_id: str, now: datetime) -> File | None:
        """Return a file that has not expired, None where there is none; StoreDown."""

    def expire(self, now: datetime) -> Sequence[str]:
        """Take note of which files have expired and return their ids, each once; StoreDown."""

    def known(self, file_ids: Collection[str]) -> Collection[str]:
        """Return those of some ids under which a file is available; StoreDown."""


class UploadState(Enum):
    """The state of an upload."""

    NO = "reserved"
    WHOLE = "received"
    FILED = "registered"  # it is a file now, of the same id


class Upload(Struct, frozen=True, kw_only=True):
    """Space reserved for bytes that a caller will send, and what has arrived."""

    upload_id: str
    owner: str
    name: str
    mime_type: str
    size_bytes: int
    arrived: UploadState = UploadState.NO
    sha256: str | None = None  # of what came
    created_at: datetime
    expires_at: datetime


class Uploads(Protocol):
    """The records of uploads; their bytes are on the volume of files."""

    def reserve(self, upload: Upload, quota: int) -> bool:
        """Reserve room; False where its owner would have more than a quota of bytes, files too. StoreDown."""

    def get(self, upload_id: str, now: datetime) -> Upload | None:
        """Return an upload that is filed or has not expired, None where there is none; StoreDown."""

    def receive(self, upload_id: str, size_bytes: int, sha256: str, now: datetime, expires_at: datetime) -> bool:
        """Take note of bytes that came; False where none are awaited (any more). StoreDown."""

    def file(self, upload_id: str, purpose: str, now: datetime, expires_at: datetime) -> bool:
        """Make what was received a file, once; False where nothing is to be made one. StoreDown."""

    def release(self, upload_id: str) -> bool:
        """Give the room of an upload back, unless it is filed or gone; StoreDown."""

    def expire(self, now: datetime) -> Sequence[str]:
        """Take note of which uploads have expired and return their ids, each once; StoreDown."""

    def known(self, upload_ids: Collection[str]) -> Collection[str]:
        """Return those of some ids that are reserved or received; StoreDown."""


class ClaimsRecord(Struct, frozen=True, kw_only=True):
    """The claims of a caller's latest token, and when it was seen."""

    claims: Mapping[str, tuple[str, ...]]
    at: datetime


class Principals(Protocol):
    """The claims of each caller's latest token, for downloads, which carry no token."""

    def record(self, subject: str, seen: ClaimsRecord) -> None:
        """Take note of what a token said, unless another said something later; StoreDown."""

    def last(self, subject: str) -> ClaimsRecord | None:
        """Return what a caller's token said last, None where none was seen; StoreDown."""


class LoadHistory(Protocol):
    """The history of loads."""

    def begin(self, attempt: LoadAttempt) -> None:
        """Record an attempt that starts; StoreDown where that cannot be."""

    def finish(self, attempt: LoadAttempt) -> None:
        """Record how an attempt ended, once; an attempt that is not running any more stays as it is."""

    def find(self, asked: LoadQuery) -> Sequence[LoadAttempt]:
        """Return attempts in the order in which they began, the latest first."""

    def get(self, load_id: str) -> LoadAttempt | None:
        """Return one attempt, None where there is none."""

    def latest(self, bindings: Collection[str], statuses: Collection[LoadStatus]) -> Sequence[LoadAttempt]:
        """Return of each of some feeds the attempt that began last among those that stand so, where there is one."""

    def running(self) -> Sequence[LoadAttempt]:
        """Return the attempts that have not ended, as far as is known."""

    def tally(self) -> Sequence[LoadCount]:
        """Return the attempts of every feed, counted by status."""

    def last_due(self, binding: str) -> datetime | None:
        """Return the latest slot of a feed's schedule that some attempt answered, None where none did."""


class ProfileSource(Protocol):
    """Where profiles are read from."""

    def read(self) -> Document:
        """Return the current document, the same object while it is unchanged; StoreDown if it cannot be read."""
