"""Snapshots, files and callers in memory: for one process, and gone with it."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from time import monotonic

from server.ports import File, Seen
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


class MemoryFiles:
    """What is known of files, as long as this process lives."""

    def __init__(self) -> None:
        self._files: dict[str, File] = {}
        self._lock = Lock()

    def add(self, file: File, quota: int) -> bool:
        """Take note of a file; False where its owner's files would be more than a quota of bytes."""
        with self._lock:
            held = sum(known.size_bytes for known in self._files.values() if known.owner == file.owner)
            if held + file.size_bytes > quota:
                return False
            self._files[file.file_id] = file
        return True

    def get(self, file_id: str, now: datetime) -> File | None:
        """Return a file that has not expired, None where there is none."""
        file = self._files.get(file_id)
        return file if file is not None and file.expires_at > now else None

    def expire(self, now: datetime) -> Sequence[str]:
        """Take note of which files have expired and return their ids, each once."""
        with self._lock:
            over = [file_id for file_id, file in self._files.items() if file.expires_at <= now]
            for file_id in over:
                del self._files[file_id]
        return over

    def known(self, file_ids: Collection[str]) -> Collection[str]:
        """Return those of some ids under which a file is available."""
        return [file_id for file_id in file_ids if file_id in self._files]


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
