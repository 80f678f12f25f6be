"""A folder in memory, and loads, files, uploads and callers that keep the contracts of the stores, for tests."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from os import ST_NOEXEC, statvfs
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from msgspec.structs import replace

from engine.model.calendar.periods import Span
from server.base.interfaces import ClaimsRecord, File, LoadCount, LoadQuery, Upload, UploadState
from server.feeds.feeds import LoadAttempt, LoadStatus

MEMORY = Path("/dev/shm")  # noqa: S108 - folders of a test of their own


LARGE = 8 << 30  # bytes, several times what a run of all tests writes
MEMORY_LEFT = re.compile(r"^MemAvailable: +(\d+) kB$", re.MULTILINE)


def holds_a_run() -> bool:
    """Tell whether the folders of all tests fit into memory, and what lies there may be run."""
    known = Path("/proc/meminfo")
    if not (MEMORY.is_dir() and known.is_file()):
        return False
    disk, left = statvfs(MEMORY), MEMORY_LEFT.search(known.read_text())
    room = min(disk.f_bavail * disk.f_frsize, 1024 * int(left[1]) if left else 0)
    return room > LARGE and not disk.f_flag & ST_NOEXEC


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Make a folder until the block ends, where many small files are written fastest."""
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


class MemoryLoads:
    """The history of loads, as long as this process lives."""

    def __init__(self) -> None:
        self._attempts: dict[str, LoadAttempt] = {}  # in the order in which they began
        self._lock = Lock()

    def begin(self, attempt: LoadAttempt) -> None:
        """Record an attempt that starts."""
        with self._lock:
            self._attempts.setdefault(attempt.load_id, attempt)

    def finish(self, attempt: LoadAttempt) -> None:
        """Record how an attempt ended, once."""
        with self._lock:
            known = self._attempts.get(attempt.load_id)
            if known is not None and known.status is LoadStatus.RUNNING:
                self._attempts[attempt.load_id] = attempt

    def find(self, asked: LoadQuery) -> Sequence[LoadAttempt]:
        """Return attempts, the latest first."""
        found = [attempt for attempt in reversed(self._attempts.values()) if holds(asked, attempt)]
        return found[: asked.limit]

    def get(self, load_id: str) -> LoadAttempt | None:
        """Return one attempt, None where there is none."""
        return self._attempts.get(load_id)

    def latest(self, bindings: Collection[str], statuses: Collection[LoadStatus]) -> Sequence[LoadAttempt]:
        """Return of each of some feeds the attempt that began last among those that stand so."""
        found = {attempt.binding: attempt for attempt in self._attempts.values() if attempt.status in statuses}
        return [attempt for binding, attempt in found.items() if binding in bindings]

    def running(self) -> Sequence[LoadAttempt]:
        """Return the attempts that have not ended."""
        return [attempt for attempt in self._attempts.values() if attempt.status is LoadStatus.RUNNING]

    def tally(self) -> Sequence[LoadCount]:
        """Return the attempts of every feed, counted by status."""
        ended: dict[tuple[str, LoadStatus], list[datetime | None]] = {}
        for attempt in self._attempts.values():
            ended.setdefault((attempt.binding, attempt.status), []).append(attempt.finished_at)
        return [
            LoadCount(binding=binding, status=status, attempts=len(ends), latest=max(filter(None, ends), default=None))
            for (binding, status), ends in ended.items()
        ]

    def last_due(self, binding: str) -> datetime | None:
        """Return the latest slot of a feed's schedule that some attempt answered."""
        slots = (attempt.due_at for attempt in self._attempts.values() if attempt.binding == binding)
        return max((slot for slot in slots if slot), default=None)


def holds(asked: LoadQuery, attempt: LoadAttempt) -> bool:
    """Tell whether an attempt is one of those asked for."""
    return (
        attempt.binding in asked.bindings
        and asked.target in (None, attempt.target)
        and attempt.status in asked.statuses
        and may_touch(told_days(asked, attempt), asked.span)
    )


def told_days(asked: LoadQuery, attempt: LoadAttempt) -> Span | None:
    """Return the days of an attempt as far as they are told, None where they are not."""
    return None if attempt.periods is None and attempt.binding in asked.cut else attempt.span


def may_touch(span: Span | None, asked: Span | None) -> bool:
    """Tell whether a load of some days may have touched others; one of unknown days may have."""
    return span is None or asked is None or span.overlap(asked) is not None


class ProcessFiles:
    """All files and uploads of one process, which count together."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.uploads: dict[str, Upload] = {}
        self.lock = Lock()

    def bytes_of(self, owner: str, now: datetime) -> int:
        """Return how many bytes an owner has, and has reserved."""
        files = [file.size_bytes for file in self.files.values() if file.owner == owner]
        open_ = [known for known in self.uploads.values() if known.arrived is not UploadState.FILED]
        return sum(files) + sum(known.size_bytes for known in open_ if known.owner == owner and known.expires_at > now)


class MemoryFiles:
    """What is known of files, as long as this process lives."""

    def __init__(self, held: ProcessFiles) -> None:
        self._held = held

    def add(self, file: File, quota: int) -> bool:
        """Take note of a file; False where its owner would have more than a quota of bytes, reserved ones too."""
        with self._held.lock:
            if self._held.bytes_of(file.owner, file.created_at) + file.size_bytes > quota:
                return False
            self._held.files[file.file_id] = file
        return True

    def bytes_of(self, owner: str, now: datetime) -> int:
        """Return how many bytes of files and reservations an owner has, as `add` counts them."""
        return self._held.bytes_of(owner, now)

    def get(self, file_id: str, now: datetime) -> File | None:
        """Return a file that has not expired, None where there is none."""
        file = self._held.files.get(file_id)
        return file if file is not None and file.expires_at > now else None

    def expire(self, now: datetime) -> Sequence[str]:
        """Take note of which files have expired and return their ids, each once."""
        with self._held.lock:
            over = [file_id for file_id, file in self._held.files.items() if file.expires_at <= now]
            for file_id in over:
                del self._held.files[file_id]
        return over

    def known(self, file_ids: Collection[str]) -> Collection[str]:
        """Return those of some ids under which a file is available."""
        return [file_id for file_id in file_ids if file_id in self._held.files]


class MemoryUploads:
    """What is known of uploads, as long as this process lives."""

    def __init__(self, held: ProcessFiles) -> None:
        self._held = held

    def reserve(self, upload: Upload, quota: int) -> bool:
        """Reserve room; False where its owner would have more than a quota of bytes, files too."""
        with self._held.lock:
            if self._held.bytes_of(upload.owner, upload.created_at) + upload.size_bytes > quota:
                return False
            self._held.uploads[upload.upload_id] = upload
        return True

    def get(self, upload_id: str, now: datetime) -> Upload | None:
        """Return an upload that is filed or has not expired, None where there is none."""
        upload = self._held.uploads.get(upload_id)
        is_there = upload is not None and (upload.arrived is UploadState.FILED or upload.expires_at > now)
        return upload if is_there else None

    def receive(self, upload_id: str, size_bytes: int, sha256: str, now: datetime, expires_at: datetime) -> bool:
        """Take note of bytes that came; False where none are awaited (any more)."""
        with self._held.lock:
            upload = self.get(upload_id, now)
            if upload is None or upload.arrived is not UploadState.NO:
                return False
            self._held.uploads[upload_id] = replace(
                upload, arrived=UploadState.WHOLE, size_bytes=size_bytes, sha256=sha256, expires_at=expires_at
            )
        return True

    def file(self, upload_id: str, purpose: str, now: datetime, expires_at: datetime) -> bool:
        """Make what was received a file, once; False where nothing is to be made one."""
        with self._held.lock:
            upload = self.get(upload_id, now)
            if upload is None or upload.sha256 is None or upload.arrived is not UploadState.WHOLE:
                return False
            self._held.uploads[upload_id] = replace(upload, arrived=UploadState.FILED)
            self._held.files[upload_id] = File(
                file_id=upload_id,
                owner=upload.owner,
                purpose=purpose,
                name=upload.name,
                mime_type=upload.mime_type,
                size_bytes=upload.size_bytes,
                sha256=upload.sha256,
                cell=None,
                created_at=now,
                expires_at=expires_at,
            )
        return True

    def release(self, upload_id: str) -> bool:
        """Give the room of an upload back, unless it is filed or gone."""
        with self._held.lock:
            upload = self._held.uploads.get(upload_id)
            if upload is None or upload.arrived is UploadState.FILED:
                return False
            del self._held.uploads[upload_id]
        return True

    def expire(self, now: datetime) -> Sequence[str]:
        """Take note of which uploads have expired and return their ids, each once."""
        with self._held.lock:
            known = self._held.uploads.items()
            over = [key for key, held in known if held.arrived is not UploadState.FILED and held.expires_at <= now]
            for upload_id in over:
                del self._held.uploads[upload_id]
        return over

    def known(self, upload_ids: Collection[str]) -> Collection[str]:
        """Return those of some ids that are reserved or received."""
        held = self._held.uploads
        return [key for key in upload_ids if key in held and held[key].arrived is not UploadState.FILED]


class MemoryPrincipals:
    """What each caller's token said last, as long as this process lives."""

    def __init__(self) -> None:
        self._seen: dict[str, ClaimsRecord] = {}
        self._lock = Lock()

    def record(self, subject: str, seen: ClaimsRecord) -> None:
        """Take note of what a token said, unless another said something later."""
        with self._lock:
            if subject not in self._seen or self._seen[subject].at <= seen.at:
                self._seen[subject] = seen

    def last(self, subject: str) -> ClaimsRecord | None:
        """Return what a caller's token said last, None where none was seen."""
        return self._seen.get(subject)
