"""The bundle: one tar file of parts, and at its end what each of them must be.

database.dump   the platform database, by pg_dump
store/          the fact store at one version
files/          files made for callers, or sent by them
rejects/        reports of rejected rows
instance/       the files that the finance team wrote
keys/           secrets of the state folder, only if they were asked for
manifest.json   versions, ids of keys, and size and digest of every part
"""

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, Any

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE, STORE, FILES, REJECTS, INSTANCE, KEYS = "database.dump", "store", "files", "rejects", "instance", "keys"
PIECE = 1 << 20


class BundleFault(Exception):
    """A bundle that cannot be made or used; says what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one file of a bundle must be."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a bundle says of itself."""

    made_at: datetime
    app_version: str
    migrations: Mapping[str, str]  # file name to digest, those that were applied
    store_version: int
    keys: Mapping[str, str]  # name to id: enough to recognise a key, never to use it
    parts: Mapping[str, Part]
    format: int = FORMAT

    def as_json(self) -> bytes:
        """Return it as it is written."""
        return json.dumps(asdict(self), default=datetime.isoformat, indent=1).encode()

    @classmethod
    def from_json(cls, text: bytes) -> "Contents":
        """Return what was written; BundleFault where it is of a kind that this version does not know."""
        read: dict[str, Any] = json.loads(text)
        if read.get("format") != FORMAT:
            raise BundleFault(f"the backup was made by Tieout {read.get('app_version')}; restore it with that version")
        parts = {name: Part(**part) for name, part in read["parts"].items()}
        return cls(**{**read, "made_at": datetime.fromisoformat(read["made_at"]), "parts": parts})


class Digested(io.RawIOBase):
    """A file that is digested as it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = sha256()

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        piece = self._file.read(size)
        self.digest.update(piece)
        return piece


class Writing:
    """A bundle in the making."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.parts: dict[str, Part] = {}

    def add(self, name: str, file: Path) -> None:
        """Add a file."""
        with file.open("rb") as source:
            self._add(self._tar.gettarinfo(arcname=name, fileobj=source), source)

    def add_text(self, name: str, text: str) -> None:
        """Add a file that has a text."""
        self._add(sized(name, len(text.encode())), io.BytesIO(text.encode()))

    def add_folder(self, name: str, folder: Path) -> int:
        """Add every file below a folder and return how many there are; one that is swept meanwhile is none."""
        added = 0
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                try:
                    self.add(f"{name}/{path.relative_to(folder).as_posix()}", path)
                except FileNotFoundError:
                    continue
                added += 1
        return added

    def finish(self, contents: Contents) -> None:
        """Add what the bundle says of itself."""
        text = contents.as_json()
        self._tar.addfile(sized(MANIFEST, len(text)), io.BytesIO(text))

    def _add(self, info: tarfile.TarInfo, source: IO[bytes]) -> None:
        digested = Digested(source)
        self._tar.addfile(info, digested)
        self.parts[info.name] = Part(bytes=info.size, sha256=digested.digest.hexdigest())


def sized(name: str, size: int) -> tarfile.TarInfo:
    """Return the entry of a file of some size."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info


@contextmanager
def writing(path: Path) -> Iterator[Writing]:
    """Write a bundle, for its owner alone; it has its name only when it is whole."""
    if path.exists():
        raise BundleFault(f"{path} is there already; a backup never replaces another")
    aside = path.with_name(f"{path.name}.unfinished")
    try:
        aside.touch(mode=0o600)
        with tarfile.open(aside, "w") as tar:
            yield Writing(tar)
        aside.rename(path)
    except OSError as fault:
        raise BundleFault(f"the backup cannot be written: {fault}") from fault
    finally:
        aside.unlink(missing_ok=True)


def extract(path: Path, folder: Path) -> Contents:
    """Extract a bundle into a folder and return what it says of itself; BundleFault where a part is not what it was."""
    found: dict[str, Part] = {}
    try:
        with tarfile.open(path, "r:") as tar:
            for entry in tar:
                found[entry.name] = extract_part(tar, entry, folder)
        contents = Contents.from_json((folder / MANIFEST).read_bytes())
    except (tarfile.TarError, FileNotFoundError, ValueError, KeyError, TypeError) as fault:
        raise BundleFault(f"{path} is not a whole backup ({fault}); use another one") from fault
    found.pop(MANIFEST)
    wrong = sorted(name for name in found.keys() | contents.parts.keys() if found.get(name) != contents.parts.get(name))
    if wrong:
        raise BundleFault(f"{path} is damaged: {', '.join(wrong[:5])} is not what was backed up; use another one")
    return contents


def extract_part(tar: tarfile.TarFile, entry: tarfile.TarInfo, folder: Path) -> Part:
    """Extract one file and return what it is."""
    name = PurePosixPath(entry.name)
    source = tar.extractfile(entry) if entry.isreg() else None
    if source is None or name.is_absolute() or ".." in name.parts:
        raise BundleFault(f"a backup has no part like {entry.name}; use another one")
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    digested = Digested(source)
    with target.open("wb") as file:
        while piece := digested.read(PIECE):
            file.write(piece)
    return Part(bytes=target.stat().st_size, sha256=digested.digest.hexdigest())
