"""The files of an instance as they were read: copied, so that workers started later read the same."""

import errno
import shutil
from dataclasses import dataclass
from pathlib import Path

from engine.instance.documents import InstanceFaults, read_document
from engine.instance.profiles import FILE as PROFILES
from engine.instance.read import FILES, Instance, read_instance

BESIDE = ("orientation.md",)
TRIES = 5


@dataclass(frozen=True, slots=True)
class Taken:
    """An instance, and the copy of its files."""

    instance: Instance
    files: Path


def taken(folder: Path, into: Path) -> Taken:
    """Read an instance and copy what was read; InstanceFaults where it cannot be taken."""
    for _ in range(TRIES):
        instance = read_instance(folder)
        shutil.rmtree(into, ignore_errors=True)
        for file in files_of(folder):
            (into / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / file, into / file)
        try:
            if read_instance(into).catalogue.version == instance.catalogue.version:
                return Taken(instance, into)
        except InstanceFaults:  # the files changed since they were read
            continue
    raise OSError(errno.EBUSY, "its files change all the time", str(folder))


def files_of(folder: Path) -> list[Path]:
    """Return what an instance is read from, relative to its folder."""
    tree = read_document(folder, "instance.yaml").tree
    calendar = tree.get("calendar") if isinstance(tree, dict) else None
    named = [*BESIDE, calendar] if isinstance(calendar, str) else [*BESIDE]
    patterns = FILES.keys() - {PROFILES}  # which are followed where they stand, and keep nobody from serving
    found = [path for pattern in patterns for path in folder.glob(pattern)]
    return [path.relative_to(folder) for path in found] + [Path(name) for name in named if (folder / name).is_file()]
