"""Sweeping: deletes versions that nobody reads any more, and the files that no version names."""

import os
from itertools import zip_longest
from pathlib import Path

from engine.facts.frozen import FOLDER, DamagedFreeze, version_files
from engine.facts.manifest import PUBLISHING, Manifest, current_version, locked, manifest_file

SWEPT = ("facts", "rollups", "tables", "codes", FOLDER)


def sweep(root: Path, lease: float = 0) -> list[Manifest]:
    """Delete all versions except the current one and those that readers hold, and all files that no version names.

    A version stays for `lease` seconds once the next is published: locks do not show readers on other hosts, who begin
    each call with the version that is current then. Returns the versions that are left. Only the holder of the
    publishing lock may call this.
    """
    current = manifest_file(root, current_version(root))
    os.utime(root / PUBLISHING)
    ended = (root / PUBLISHING).stat().st_mtime - lease  # by the clock of the file system, as the times of manifests
    paths = sorted((root / "manifests").glob("*.json"))
    left: list[Manifest] = []
    for path, later in zip_longest(paths, paths[1:]):
        with path.open("rb") as file:
            is_leased = lease and later is not None and later.stat().st_mtime > ended
            if path != current and not is_leased and locked(file.fileno()):
                path.unlink()
                continue
            left.append(Manifest.from_json(file.read()))
    try:
        named = {file for manifest in left for file in version_files(root, manifest)}
    except DamagedFreeze:  # nobody knows which files it needs
        return left
    for folder in SWEPT:
        for path in sorted((root / folder).rglob("*"), reverse=True):
            if path.is_dir():
                if not any(path.iterdir()):
                    path.rmdir()
            elif path.relative_to(root).as_posix() not in named:
                path.unlink()
    return left
