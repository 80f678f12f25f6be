"""Archives: the files inside .gz and .zip, written to a folder of their own within limits of size and number."""

import glob
import gzip
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Final, Protocol
from zipfile import BadZipFile, ZipFile, ZipInfo

from msgspec import Struct

from server.base.settings import read_settings
from server.feeds.file_kinds import ALL_ENDINGS, FILE_KINDS, GZIP, ZIP, kind_of
from server.files.limits import MEGABYTE, FileTooLarge

BLOCK: Final = 1 << 20  # bytes that are unpacked at once
ENCRYPTED: Final = 1  # a flag of a member
ALL: Final = "*"
DAMAGED: Final = (BadZipFile, zlib.error, EOFError, NotImplementedError, gzip.BadGzipFile)


class ArchiveFault(OSError):
    """An archive that cannot be unpacked; the message says why, and what to do about it."""


class PackedFile(Struct, frozen=True):
    """A file that was unpacked: where it lies, the folder of its archive, and its name there, as gl.zip/2025/gl.csv."""

    path: Path
    folder: Path
    pattern: str


def is_archive(path: PurePath) -> bool:
    """Tell whether a file holds others."""
    return path.suffix.lower() in (GZIP, ZIP)


def files_matching(folder: Path, pattern: str, into: Path) -> Iterator[Path]:
    """Yield the files of a folder that match a pattern, in the order of their names; those of archives lie in `into`.

    A pattern that ends with .zip means every file inside; one that goes on behind it, those whose names match.
    """
    parts = PurePath(pattern).parts
    at = next((at for at, part in enumerate(parts, 1) if PurePath(part).suffix.lower() == ZIP), len(parts))
    members = "/".join(parts[at:]) or ALL
    for path in sorted(path for path in folder.glob("/".join(parts[:at])) if path.is_file()):
        if is_archive(path):
            yield from (packed.path for packed in unpacked(path, into, members))
        else:
            yield path


def unpacked(path: Path, into: Path, members: str = ALL) -> Iterator[PackedFile]:
    """Yield the files inside an archive, written to a folder. Raises ArchiveFault or FileTooLarge."""
    left = Allowance(path.name, read_settings().archive_megabytes * MEGABYTE)
    try:
        if path.suffix.lower() == GZIP:
            with gzip.open(path) as file:
                yield PackedFile(written(file, path, into, path.stem, left), path.parent, path.name)
            return
        with ZipFile(path) as archive:
            found = [one for one in archive.infolist() if is_wanted(one, members)]
            refuse_many(path, found)
            names = Counter(PurePath(one.filename).name for one in archive.infolist())
            for member in found:
                if member.flag_bits & ENCRYPTED:
                    raise ArchiveFault(f"{path.name}: {member.filename} has a password; unpack it and name the file")
                name = PurePath(member.filename).name
                name = name if names[name] == 1 else member.filename.strip("/").replace("/", "_")
                with archive.open(member) as file:
                    copy = written(file, path, into, name, left)
                if copy.stat().st_size != member.file_size:
                    raise BadZipFile(name)
                yield PackedFile(copy, path.parent, f"{path.name}/{glob.escape(member.filename)}")
    except DAMAGED as fault:
        says = f"{path.name} cannot be unpacked: it is damaged, or no whole {path.suffix.lower()} file; write it again"
        raise ArchiveFault(says) from fault


def is_wanted(member: ZipInfo, pattern: str) -> bool:
    """Tell whether a member is a file of rows whose name matches; what programs leave beside it is none."""
    name = PurePath(member.filename)
    if member.is_dir() or name.name.startswith(".") or "__MACOSX" in name.parts:
        return False
    return kind_of(name) in FILE_KINDS and fnmatchcase(member.filename, pattern)


def refuse_many(path: Path, members: list[ZipInfo]) -> None:
    """Raise if an archive holds no file of rows, or too many."""
    if not members:
        raise ArchiveFault(f"{path.name} holds no file of rows whose name matches ({', '.join(ALL_ENDINGS)})")
    most = read_settings().archive_files
    if len(members) > most:
        raise FileTooLarge(path.name, f"it holds {len(members):,} files", f"{most:,}", "archive_files")


class SupportsRead(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Return some bytes; none at the end."""


@dataclass(slots=True)
class Allowance:
    """How many bytes an archive may still unpack to: those that come out count, whatever it says of their number."""

    name: str
    left: int

    def take(self, size: int) -> None:
        """Count some bytes. Raises FileTooLarge."""
        self.left -= size
        if self.left < 0:
            most = read_settings().archive_megabytes
            raise FileTooLarge(self.name, "its files are too large, unpacked", f"{most:,} MB", "archive_megabytes")


def written(file: SupportsRead, archive: Path, into: Path, name: str, left: Allowance) -> Path:
    """Write a file to a folder and return its path; it is as old as its archive. Raises FileTooLarge."""
    folder = into / str(len(list(into.iterdir())))
    folder.mkdir()
    with (folder / name).open("wb") as copy:
        while block := file.read(BLOCK):
            left.take(len(block))
            copy.write(block)
    times = archive.stat()
    os.utime(folder / name, ns=(times.st_atime_ns, times.st_mtime_ns))
    return folder / name
