"""Snapshots, files, uploads and callers in memory: for one process, and gone with it."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from time import monotonic

from server.ports import Arrived, File, Seen, Upload
from server.stores.references import new_reference

MOST_BYTES = 256 << 20  # of all snapshots together


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """A snapshot and its ends."""

    owner: str
    data: bytes
    idle: float  # when it is gone unless it is opened
    ends: float  # when it is gone anyhow


class MemorySnapshots:
    """Snapshots of one process; where they are too many, those that nobody opened for longest go."""

    def __init__(self, idle_seconds: float, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._idle = idle_seconds
        self._longest = seconds
        self._clock = clock
        self._kept: OrderedDict[str, KeptBytes] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def keep(self, owner: str, data: bytes) -> str:
        """Keep bytes and return the reference to them."""
        reference, now = new_reference(), self._clock()
        with self._lock:
            ends = now + self._longest
            self._kept[reference] = KeptBytes(owner, data, min(now + self._idle, ends), ends)
            self._bytes += len(data)
            while self._bytes > MOST_BYTES:
                self._drop(next(iter(self._kept)))
        return reference

    def open(self, owner: str, reference: str) -> bytes | None:
        """Return what an owner keeps under a reference, None where nothing is there for them."""
        with self._lock:
            kept, now = self._kept.get(reference), self._clock()
            if kept is not None and now >= kept.idle:
                self._drop(reference)
            elif kept is not None and kept.owner == owner:
                self._kept[reference] = KeptBytes(owner, kept.data, min(now + self._idle, kept.ends), kept.ends)
                self._kept.move_to_end(reference)
                return kept.data
        return None

    def _drop(self, reference: str) -> None:
        self._bytes -= len(self._kept.pop(reference).data)


class Held:
    """All files and uploads of one process, which count together."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.uploads: dict[str, Upload] = {}
        self.lock = Lock()

    def bytes_of(self, owner: str, now: datetime) -> int:
        """Return how many bytes an owner has, and has reserved."""
        files = [file.size_bytes for file in self.files.values() if file.owner == owner]
        open_ = [known for known in self.uploads.values() if known.arrived is not Arrived.FILED]
        return sum(files) + sum(known.size_bytes for known in open_ if known.owner == owner and known.expires_at > now)


class MemoryFiles:
    """What is known of files, as long as this process lives."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def add(self, file: File, quota: int) -> bool:
        """Take note of a file; False where its owner would have more than a quota of bytes, reserved ones too."""
        with self._held.lock:
            if self._held.bytes_of(file.owner, file.created_at) + file.size_bytes > quota:
                return False
            self._held.files[file.file_id] = file
        return True

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

    def __init__(self, held: Held) -> None:
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
        is_there = upload is not None and (upload.arrived is Arrived.FILED or upload.expires_at > now)
        return upload if is_there else None

    def receive(self, upload_id: str, size_bytes: int, sha256: str, now: datetime, expires_at: datetime) -> bool:
        """Take note of bytes that came; False where none are awaited (any more)."""
        with self._held.lock:
            upload = self.get(upload_id, now)
            if upload is None or upload.arrived is not Arrived.NO:
                return False
            self._held.uploads[upload_id] = replace(
                upload, arrived=Arrived.WHOLE, size_bytes=size_bytes, sha256=sha256, expires_at=expires_at
            )
        return True

    def file(self, upload_id: str, purpose: str, now: datetime, expires_at: datetime) -> bool:
        """Make what was received a file, once; False where nothing is to be made one."""
        with self._held.lock:
            upload = self.get(upload_id, now)
            if upload is None or upload.sha256 is None or upload.arrived is not Arrived.WHOLE:
                return False
            self._held.uploads[upload_id] = replace(upload, arrived=Arrived.FILED)
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
            if upload is None or upload.arrived is Arrived.FILED:
                return False
            del self._held.uploads[upload_id]
        return True

    def expire(self, now: datetime) -> Sequence[str]:
        """Take note of which uploads have expired and return their ids, each once."""
        with self._held.lock:
            known = self._held.uploads.items()
            over = [key for key, held in known if held.arrived is not Arrived.FILED and held.expires_at <= now]
            for upload_id in over:
                del self._held.uploads[upload_id]
        return over

    def known(self, upload_ids: Collection[str]) -> Collection[str]:
        """Return those of some ids that are reserved or received."""
        held = self._held.uploads
        return [key for key in upload_ids if key in held and held[key].arrived is not Arrived.FILED]


class MemoryPrincipals:
    """What each caller's token said last, as long as this process lives."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self._lock = Lock()

    def record(self, subject: str, seen: Seen) -> None:
        """Take note of what a token said, unless another said something later."""
        with self._lock:
            if subject not in self._seen or self._seen[subject].at <= seen.at:
                self._seen[subject] = seen

    def last(self, subject: str) -> Seen | None:
        """Return what a caller's token said last, None where none was seen."""
        return self._seen.get(subject)
