"""The volume of files: their bytes, complete or not there, with room to spare."""

import os
import shutil
from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from time import time
from typing import BinaryIO

from server.ports import StoreDown

MEGABYTE = 1 << 20
STAGED = ".part"
FORGOTTEN = 3600.0  # seconds after which a file that nobody knows is nobody's
CHUNK = 1 << 20


class Volume:
    """A folder of files by id."""

    def __init__(self, folder: Path, free_megabytes: int) -> None:
        self._folder = folder
        self._free = free_megabytes * MEGABYTE

    def path(self, file_id: str) -> Path:
        """Return where the bytes of a file are."""
        return self._folder / file_id

    def keep(self, file_id: str, write: Callable[[Path], None]) -> tuple[int, str]:
        """Keep what a function writes to a path; return how many bytes it has and their digest. StoreDown."""
        staged = self._folder / f"{file_id}.{token_hex(4)}{STAGED}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(self._folder).free < self._free:
                raise StoreDown("the volume of files has no room left; free space, or enlarge it")
            write(staged)
            size, digest = synced(staged)
            staged.rename(self.path(file_id))
        except OSError as fault:
            raise StoreDown(f"the volume of files cannot be written: {fault.strerror}") from fault
        finally:
            staged.unlink(missing_ok=True)
        return size, digest

    def drop(self, file_ids: Collection[str]) -> None:
        """Delete files, those that are gone already as well."""
        for file_id in file_ids:
            self.path(file_id).unlink(missing_ok=True)

    def forgotten(self) -> Iterator[str]:
        """Yield the names of files that are old enough to be known by now, if they are anybody's."""
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if path.is_file() and not path.name.startswith(".") and time() - path.stat().st_mtime > FORGOTTEN:
                yield path.name


def synced(path: Path) -> tuple[int, str]:
    """Return the size and the digest of a file once it is on the disk."""
    digest = sha256()
    with path.open("rb") as file:
        for chunk in chunks(file):
            digest.update(chunk)
        os.fsync(file.fileno())
        return file.tell(), digest.hexdigest()


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """Yield a file piece by piece."""
    while chunk := file.read(CHUNK):
        yield chunk
