"""A backup: the platform database first, then the fact store at the version that is current by then.

A load that publishes in between is running in the dump and in the manifest: the next start settles it as a success.
The other way round the history would tell of figures that are not there.
"""

import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from engine.instance.files.books import InstanceFile
from engine.instance.read import FILES as YAML
from engine.instance.read import Reading
from engine.store.layout import CURRENT, manifest_file, pin_current
from server.backup.bundle import (
    DATABASE,
    FILES,
    INSTANCE,
    KEYS,
    REJECTS,
    STORE,
    Contents,
    Writing,
    writing,
)
from server.embedded.binaries import postgres_tools
from server.embedded.platform import platform
from server.settings import Settings, variable_of
from server.stores.dumps import dump, server_major
from server.stores.migrations import applied_to

KEY_FILES = "*.key"
PROSE = "orientation.md"
ID_LENGTH = 12


def back_up(settings: Settings, path: Path, *, with_keys: bool) -> Contents:
    """Write a bundle of everything that a deployment needs; return what it says of itself."""
    with writing(path) as bundle, tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        with platform(settings) as opened:
            uri = opened.reach()
            migrations = applied_to(uri)
            dumped = Path(scratch) / DATABASE
            dump(uri, postgres_tools(settings, server_major(uri)).program("pg_dump"), dumped)
        bundle.add(DATABASE, dumped)
        store_version = add_store(bundle, settings.store)
        bundle.add_folder(FILES, settings.files)
        bundle.add_folder(REJECTS, settings.state_folder / REJECTS)
        for name in instance_files(settings.instance):
            bundle.add(f"{INSTANCE}/{name}", settings.instance / name)
        if with_keys:
            for file in settings.state_folder.glob(KEY_FILES):
                bundle.add(f"{KEYS}/{file.name}", file)
        contents = Contents(
            made_at=datetime.now(UTC),
            app_version=version("tieout"),
            migrations=migrations,
            store_version=store_version,
            keys=key_ids(settings),
            parts=bundle.parts,
        )
        bundle.finish(contents)
    return contents


def add_store(bundle: Writing, root: Path) -> int:
    """Add the current version of a fact store, held so that no load sweeps it; return its number."""
    pin = pin_current(root)
    try:
        version_ = pin.manifest.version
        if version_:
            for file in sorted({*pin.manifest.files(), manifest_file(root, version_).relative_to(root).as_posix()}):
                bundle.add(f"{STORE}/{file}", root / file)
            bundle.add_text(f"{STORE}/{CURRENT}", str(version_))  # what is current by now may be another
        return version_
    finally:
        pin.drop()


def instance_files(folder: Path) -> Iterator[str]:
    """Yield the files of an instance that people wrote; the data that its feeds bring are none of them."""
    _, instance = Reading(folder, []).one("instance.yaml", InstanceFile)
    for pattern in (*YAML, PROSE):
        yield from (path.relative_to(folder).as_posix() for path in sorted(folder.glob(pattern)))
    if instance is not None and instance.calendar:
        yield instance.calendar


def key_ids(settings: Settings) -> Mapping[str, str]:
    """Return an id of every key: enough to recognise it."""
    keys = {file.name: file.read_bytes() for file in settings.state_folder.glob(KEY_FILES)}
    if settings.dev_key is not None:
        keys[variable_of("dev_key")] = settings.dev_key.encode()
    return {name: sha256(key).hexdigest()[:ID_LENGTH] for name, key in keys.items()}
