"""The volume of files. A file is complete or absent, and some space always stays free."""

import errno
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from io import FileIO
from pathlib import Path
from secrets import token_hex
from time import time
from typing import BinaryIO

from server.base.interfaces import StoreDown, VolumeFull
from server.base.locks import FileLock

MEGABYTE = 1 << 20
STAGED = ".part"
LOCK = ".lock"
WORK = ".work"  # a folder
PLACED = "paths"  # the folder of copies for users of this machine
MADE = "made"  # the file in it
FORGOTTEN = 3600.0  # seconds after which a file without a record is an orphan
CHUNK = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class UploadInProgress(Exception):
    """Another request is already receiving this file."""


class IncomingFile:
    """A file that is being received; it gets its name when it is complete."""

    def __init__(self, volume: "Volume", file_id: str, file: FileIO, staged: Path) -> None:
        self._volume = volume
        self._path = volume.path(file_id)
        self._file = file
        self._staged = staged
        self._digest = sha256()
        self.size = 0

    def write(self, chunk: bytes) -> None:
        """Append bytes; raises StoreDown if they cannot be kept."""
        with store_errors():
            self._volume.hold_room(len(chunk))
            left = memoryview(chunk)
            while left:
                left = left[self._file.write(left) :]
        self._digest.update(chunk)
        self.size += len(chunk)

    def settle(self) -> str:
        """Sync the file, move it into place and return its digest; raises StoreDown."""
        with store_errors():
            os.fsync(self._file.fileno())
            self._staged.rename(self._path)
        return self._digest.hexdigest()


class Volume:
    """A folder of files by id."""

    def __init__(self, folder: Path, free_megabytes: int) -> None:
        self._folder = folder
        self._placed = folder / PLACED
        self._free = free_megabytes * MEGABYTE

    def path(self, file_id: str) -> Path:
        """Return the path of a file's bytes."""
        return self._folder / file_id

    def hold_room(self, size: int = 0) -> None:
        """Raise VolumeFull if `size` more bytes would leave too little space free; raises StoreDown."""
        with store_errors():
            self._folder.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(self._folder).free - size < self._free:
                raise VolumeFull("the volume of files has no room left; free space, or enlarge it")

    def keep(self, file_id: str, write: Callable[[Path], None]) -> tuple[int, str]:
        """Keep the file that a function writes to a path; return its size and digest; raises StoreDown.

        The path is in a temporary folder of its own, which may hold other files until this one is complete.
        """
        work = self._beside(file_id, WORK)
        staged = work / MADE
        self.hold_room()
        try:
            with store_errors():
                work.mkdir()
                write(staged)
                size, digest = sync_file(staged)
                staged.rename(self.path(file_id))
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return size, digest

    @contextmanager
    def arriving(self, file_id: str, size: int) -> Iterator[IncomingFile]:
        """Receive a file of about `size` bytes; raises UploadInProgress if another request does already, StoreDown."""
        self.hold_room(size)
        staged = self._beside(file_id, STAGED)
        with self._alone(file_id):
            with store_errors():
                file = staged.open("wb", buffering=0)  # unbuffered: errors surface at the write, not at the close
            try:
                with file:
                    yield IncomingFile(self, file_id, file, staged)
            finally:
                staged.unlink(missing_ok=True)

    @contextmanager
    def _alone(self, file_id: str) -> Iterator[None]:
        """Lock a file while the block runs; raises UploadInProgress if it is locked already, StoreDown."""
        path = self._beside(file_id, LOCK)
        with ExitStack() as held:
            with store_errors():
                lock = held.enter_context(FileLock(path))
            if not lock.acquire() or not lock.is_current():
                raise UploadInProgress
            try:
                yield
            finally:
                path.unlink(missing_ok=True)

    def _beside(self, file_id: str, suffix: str) -> Path:
        return self._folder / f"{file_id}{suffix}"

    def drop(self, file_ids: Collection[str]) -> None:
        """Delete files and the remains of their uploads; ignores missing files."""
        for file_id in file_ids:
            for suffix in ("", STAGED, LOCK):
                self._beside(file_id, suffix).unlink(missing_ok=True)
            shutil.rmtree(self._beside(file_id, WORK), ignore_errors=True)

    def place(self, file_id: str, name: str) -> Path:
        """Return the path of a copy of a file that its user may open and change; raises StoreDown.

        A copy that is there already stays as it is. The folder is the user's alone, and the name holds the random id.
        """
        path = self._placed / f"{Path(name).stem}-{file_id}{Path(name).suffix}"
        with store_errors():
            self._placed.mkdir(mode=0o700, exist_ok=True)
            if not path.exists():
                self.hold_room(self.path(file_id).stat().st_size)
                staged = self._placed / f"{token_hex(4)}-{file_id}{STAGED}"
                made = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(made, "wb") as copy, self.path(file_id).open("rb") as kept:
                    shutil.copyfileobj(kept, copy)
                staged.rename(path)
        return path.absolute()

    def placed(self) -> set[str]:
        """Return the ids of the files that were placed."""
        return {id_of(path) for path in (self._placed.iterdir() if self._placed.is_dir() else ())}

    def withdraw(self, file_ids: Collection[str]) -> None:
        """Delete placed copies of files."""
        for path in self._placed.iterdir() if file_ids else ():
            if id_of(path) in file_ids:
                path.unlink(missing_ok=True)

    def forgotten(self) -> Iterator[str]:
        """Yield the ids of files old enough that a record must exist by now."""
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            is_ours = path.is_file() or path.suffix == WORK
            if is_ours and not path.name.startswith(".") and time() - path.stat().st_mtime > FORGOTTEN:
                yield path.name.partition(".")[0]


def size_of(folder: Path) -> int:
    """Return the total size of the files in a folder; ignores files that vanish meanwhile."""
    found = 0
    for inside, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                found += (Path(inside) / name).stat().st_size
    return found


def id_of(placed: Path) -> str:
    """Return the id of the file that a copy was placed of."""
    return placed.stem.rpartition("-")[2]


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn OSError into StoreDown, or VolumeFull if there is no space."""
    try:
        yield
    except OSError as fault:
        kind = VolumeFull if fault.errno in FULL else StoreDown
        raise kind(f"the volume of files cannot be written: {fault.strerror}") from fault


def sync_file(path: Path) -> tuple[int, str]:
    """Sync a file to disk and return its size and digest."""
    digest = sha256()
    with path.open("rb") as file:
        for chunk in chunks(file):
            digest.update(chunk)
        os.fsync(file.fileno())
        return file.tell(), digest.hexdigest()


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a file in chunks."""
    while chunk := file.read(CHUNK):
        yield chunk
