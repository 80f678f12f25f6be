"""Backups: the platform database and the fact store in one tar file, and their restore."""

import io
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import IO, Any

from msgspec import Struct, convert, json

from engine.facts.frozen import version_files, whole
from engine.facts.manifest import CURRENT, manifest_file, pin_current
from engine.facts.parts import differences, hold_parts
from engine.instance.read import InstanceDocuments, instance_files
from engine.model.errors import Unavailable
from server.base.interfaces import StoreDown
from server.base.locks import FileLock
from server.base.settings import Settings, variable_of
from server.daemon.backups import DUMP, UNFINISHED
from server.feeds.placements import read_placement
from server.run.embedded.binaries import postgres_tools
from server.run.embedded.platform import platform
from server.stores.migrations import applied_to, read_migrations
from server.stores.postgres import dump, fill, new_database, server_major
from server.warehouses.opening import open_warehouse
from server.warehouses.parts import WarehouseParts

# The bundle: one tar file of parts, and at its end a manifest with the size and digest of each.
#
# database.dump   the platform database, by pg_dump
# store/          the fact store at one version
# files/          files of callers
# rejects/        reports of rejected rows
# instance/       the instance's files, without the data of feeds
# keys/           secrets of the state folder, if requested
# manifest.json   versions, ids of keys, and size and digest of every part


FORMAT = 1
MANIFEST = "manifest.json"
DATABASE, STORE, FILES, REJECTS, INSTANCE, KEYS = "database.dump", "store", "files", "rejects", "instance", "keys"
PIECE = 1 << 20


class BundleFault(Exception):
    """A bundle cannot be written or used; the message says what to do instead."""


class BundleEntry(Struct, frozen=True, kw_only=True):
    """The size and digest of one file of a bundle."""

    bytes: int
    sha256: str


class BundleManifest(Struct, frozen=True, kw_only=True):
    """The manifest of a bundle."""

    made_at: datetime
    app_version: str
    migrations: Mapping[str, str]  # file name to digest of each applied migration
    store_version: int
    keys: Mapping[str, str]  # name to id; an id identifies a key and does not reveal it
    parts: Mapping[str, BundleEntry]
    format: int = FORMAT

    def as_json(self) -> bytes:
        """Return the manifest as JSON."""
        return json.format(json.encode(self), indent=1)

    @classmethod
    def from_json(cls, text: bytes) -> "BundleManifest":
        """Parse a manifest. Raises BundleFault if this version does not know its format, ValueError if it is none."""
        read: dict[str, Any] = json.decode(text, type=dict)
        if read.get("format") != FORMAT:
            raise BundleFault(f"the backup was made by Tieout {read.get('app_version')}; restore it with that version")
        return convert(read, cls)


class DigestReader(io.RawIOBase):
    """Reads a file and computes its digest."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = sha256()

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes."""
        piece = self._file.read(size)
        self.digest.update(piece)
        return piece


class BundleWriter:
    """Writes a bundle."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.parts: dict[str, BundleEntry] = {}

    def add(self, name: str, file: Path) -> None:
        """Add a file."""
        with file.open("rb") as source:
            self._add(self._tar.gettarinfo(arcname=name, fileobj=source), source)

    def add_text(self, name: str, text: str) -> None:
        """Add a text as a file."""
        self._add(tar_entry(name, len(text.encode())), io.BytesIO(text.encode()))

    def add_folder(self, name: str, folder: Path) -> int:
        """Add every file below a folder, except those deleted meanwhile; return their number."""
        added = 0
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                try:
                    self.add(f"{name}/{path.relative_to(folder).as_posix()}", path)
                except FileNotFoundError:
                    continue
                added += 1
        return added

    def finish(self, contents: BundleManifest) -> None:
        """Add the manifest."""
        text = contents.as_json()
        self._tar.addfile(tar_entry(MANIFEST, len(text)), io.BytesIO(text))

    def _add(self, info: tarfile.TarInfo, source: IO[bytes]) -> None:
        digested = DigestReader(source)
        self._tar.addfile(info, digested)
        self.parts[info.name] = BundleEntry(bytes=info.size, sha256=digested.digest.hexdigest())


def tar_entry(name: str, size: int) -> tarfile.TarInfo:
    """Return the tar entry of a file."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info


@contextmanager
def write_bundle(path: Path) -> Iterator[BundleWriter]:
    """Write a bundle that only its owner can read. It gets its name when it is complete. Raises BundleFault."""
    if path.exists():
        raise BundleFault(f"{path} is there already; a backup never replaces another")
    aside = path.with_name(path.name + UNFINISHED)
    try:
        aside.touch(mode=0o600)
        with FileLock(aside) as lock:
            if not lock.acquire() or not lock.is_current():
                raise BundleFault(f"another process is writing {path}; wait for it")
            try:
                with tarfile.open(aside, "w") as tar:
                    yield BundleWriter(tar)
                with aside.open("rb") as whole:
                    os.fsync(whole.fileno())
                aside.rename(path)
            finally:
                aside.unlink(missing_ok=True)
    except OSError as fault:
        raise BundleFault(f"the backup cannot be written: {fault}") from fault


@contextmanager
def dumped_beside(path: Path) -> Iterator[Path]:
    """Lend the file of a dump beside a bundle that is being written, for its owner alone."""
    file = path.with_name(path.name + UNFINISHED + DUMP)
    file.touch(mode=0o600)
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


def extract(path: Path, folder: Path) -> BundleManifest:
    """Extract a bundle and return its manifest. Raises BundleFault if a part does not match its digest."""
    found: dict[str, BundleEntry] = {}
    try:
        with tarfile.open(path, "r:") as tar:
            for entry in tar:
                found[entry.name] = extract_part(tar, entry, folder)
        contents = BundleManifest.from_json((folder / MANIFEST).read_bytes())
    except (tarfile.TarError, FileNotFoundError, ValueError) as fault:
        raise BundleFault(f"{path} {why_not_whole(path, fault)}; use another one") from fault
    found.pop(MANIFEST)
    wrong = sorted(name for name in found.keys() | contents.parts.keys() if found.get(name) != contents.parts.get(name))
    if wrong:
        raise BundleFault(f"{path} is damaged: {', '.join(wrong[:5])} is not what was backed up; use another one")
    return contents


def why_not_whole(path: Path, fault: Exception) -> str:
    """Return why a file cannot be read as a bundle, in words of our own."""
    if isinstance(fault, tarfile.TarError):
        return "is not a whole backup: it is no tar file, or it is cut off"
    if isinstance(fault, ValueError):
        return f"is not a whole backup: its {MANIFEST} cannot be read"
    return f"is not a whole backup: it has no {MANIFEST} at its end" if path.exists() else "is not there"


def extract_part(tar: tarfile.TarFile, entry: tarfile.TarInfo, folder: Path) -> BundleEntry:
    """Extract one file and return its size and digest."""
    name = PurePosixPath(entry.name)
    source = tar.extractfile(entry) if entry.isreg() else None
    if source is None or name.is_absolute() or ".." in name.parts:
        raise BundleFault(f"a backup has no part like {entry.name}; use another one")
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    digested = DigestReader(source)
    with target.open("wb") as file:
        while piece := digested.read(PIECE):
            file.write(piece)
    return BundleEntry(bytes=target.stat().st_size, sha256=digested.digest.hexdigest())


# A backup dumps the platform database first, then the current version of the fact store. A load that publishes in
# between is running in the dump and present in the manifest, so the next start settles it as a success. In the other
# order, the history would list loads whose figures are missing.


KEY_FILES = "*.key"
ID_LENGTH = 12


def back_up(settings: Settings, path: Path, *, with_keys: bool) -> BundleManifest:
    """Write a bundle of everything that a deployment needs, and return its manifest."""
    with write_bundle(path) as bundle, dumped_beside(path) as dumped:
        with platform(settings) as opened:
            uri = opened.reach()
            migrations = applied_to(uri)
            dump(uri, postgres_tools(settings, server_major(uri)).program("pg_dump"), dumped)
        bundle.add(DATABASE, dumped)
        store_version = add_store(bundle, settings.store, [path.with_name(path.name + UNFINISHED), path])
        bundle.add_folder(FILES, settings.files)
        bundle.add_folder(REJECTS, settings.state_folder / REJECTS)
        for name in instance_files(settings.instance):
            bundle.add(f"{INSTANCE}/{name}", settings.instance / name)
        if with_keys:
            for file in settings.state_folder.glob(KEY_FILES):
                bundle.add(f"{KEYS}/{file.name}", file)
        contents = BundleManifest(
            made_at=datetime.now(UTC),
            app_version=version("tieout"),
            migrations=migrations,
            store_version=store_version,
            keys=key_ids(settings),
            parts=bundle.parts,
        )
        bundle.finish(contents)
    return contents


def add_store(bundle: BundleWriter, root: Path, paths: Sequence[Path]) -> int:
    """Add the current version of a fact store, pinned so that no load deletes it; return its number.

    Rows that are in an engine only stay there. Their parts are kept for as long as the bundle is at one of its `paths`.
    """
    pin = pin_current(root)
    try:
        version_ = pin.manifest.version
        hold_parts(root, whole(root, pin.manifest), paths)
        if version_:
            named = version_files(root, pin.manifest)
            for file in sorted({*named, manifest_file(root, version_).relative_to(root).as_posix()}):
                bundle.add(f"{STORE}/{file}", root / file)
            bundle.add_text(f"{STORE}/{CURRENT}", str(version_))  # a load may have published a newer one since
        return version_
    finally:
        pin.drop()


def key_ids(settings: Settings) -> Mapping[str, str]:
    """Return the id of every key, which does not reveal the key."""
    keys = {file.name: file.read_bytes() for file in settings.state_folder.glob(KEY_FILES)}
    if settings.dev_key is not None:
        keys[variable_of("dev_key")] = settings.dev_key.encode()
    return {name: sha256(key).hexdigest()[:ID_LENGTH] for name, key in keys.items()}


# A restore writes into a new state folder and an empty database, and verifies them before they are used.


def restore(settings: Settings, bundle: Path, state: Path) -> BundleManifest:
    """Restore a bundle into a new state folder, and its database into DATABASE_URL if set, else into the folder.

    The folder gets its name when the restore is complete. Raises BundleFault.
    """
    with staging_folder(state) as aside:
        contents = extract(bundle, aside)
        refuse_newer(contents)
        into = replace(settings, state=aside)
        if settings.database_url is not None:
            new_database(settings.database_url)
        with platform(into) as opened:
            uri = opened.reach()
            fill(uri, postgres_tools(settings, server_major(uri)).program("pg_restore"), aside / DATABASE)
            if applied_to(uri) != contents.migrations:
                raise BundleFault("the database that was restored is not the one of the manifest; use another backup")
        refuse_other_parts(aside, contents)
        (aside / DATABASE).unlink()
        for key in (aside / KEYS).glob("*"):
            key.chmod(0o600)
            key.rename(aside / key.name)
        shutil.rmtree(aside / KEYS, ignore_errors=True)
    return contents


def refuse_newer(contents: BundleManifest) -> None:
    """Refuse a backup of a newer version."""
    ahead = sorted(contents.migrations.keys() - {known.name for known in read_migrations()})
    if ahead:
        raise BundleFault(
            f"the backup was made by Tieout {contents.app_version}, which has {', '.join(ahead)}; "
            "restore it with that version"
        )


def refuse_other_parts(folder: Path, contents: BundleManifest) -> None:
    """Refuse a backup whose parts the engine of facts does not hold any more as they were."""
    pin = pin_current(folder / STORE)
    pin.drop()
    facts = whole(folder / STORE, pin.manifest).facts
    if not any(part.number is not None and not part.file for parts in facts.values() for part in parts):
        return
    placement = read_placement(InstanceDocuments(folder / INSTANCE, []))
    if placement is None:
        raise BundleFault("the rows of its facts are in an engine, and its instance.yaml names none; use another one")
    try:
        with closing(open_warehouse(placement)) as reader:
            for _, says in differences(WarehouseParts(reader), facts):
                raise BundleFault(
                    f"the engine of facts does not hold what the backup names: {says}. Restore the tables from the "
                    f"engine's own backup of {contents.made_at:%Y-%m-%d %H:%M} UTC, or use a later backup"
                )
    except (StoreDown, Unavailable) as down:
        raise BundleFault(f"the parts that the backup names cannot be counted: {down}") from down


@contextmanager
def staging_folder(folder: Path) -> Iterator[Path]:
    """Lend a temporary folder. It gets its name if the block succeeds, and is deleted otherwise."""
    if folder.exists():
        raise BundleFault(f"{folder} is there already; restore into a new folder, and switch to it afterwards")
    aside = folder.with_name(f"{folder.name}.restoring")
    try:
        aside.mkdir(mode=0o700, parents=True)
    except FileExistsError as left:
        raise BundleFault(f"{aside} is left of a restore that was cut off; remove it first") from left
    except OSError as fault:
        raise BundleFault(f"the backup cannot be restored: {fault}") from fault
    try:
        yield aside
        aside.rename(folder)
    except OSError as fault:
        raise BundleFault(f"the backup cannot be restored: {fault}") from fault
    finally:
        shutil.rmtree(aside, ignore_errors=True)
