"""Lay out the bundle for desktop hosts: python scripts/bundle.py WHEEL FOLDER; `make bundle` then packs the folder.

The folder holds the manifest with its icon, the wheel, and a project that uv installs: the wheel, and of each package
that it needs the version that the tests ran with. uv takes hashes from a uv.lock alone, so `make bundle` makes one with
the index of its machine, and `python scripts/bundle.py --check FOLDER` compares it with the hashes in constraints.
"""

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import vl_convert

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "bundle"
PINNED = re.compile(r"^([\w.-]+(?:\[[\w,]+\])?==[^ ;\\]+(?: ; [^\\]+)?)", re.MULTILINE)
BLOCK = re.compile(r"^([\w.-]+)(?:\[[\w,]+\])?==([^ ;\\]+)((?:.*\n)(?: {4}--hash.*\n)*)", re.MULTILINE)
HASH = re.compile(r"sha256:[0-9a-f]{64}")
CONSTRAINTS = ROOT / "constraints" / "runtime.txt"
PROJECT = """[project]
name = "tieout-bundle"
version = "{version}"
requires-python = ">=3.11"
dependencies = ["tieout"]

[tool.uv]
package = false
constraint-dependencies = {pinned}

[tool.uv.sources]
tieout = {{ path = "{wheel}" }}
"""


def lay_out(wheel: Path, folder: Path) -> None:
    """Write the files of the bundle. Raises ValueError if the manifest is of another release than the wheel."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    version = wheel.name.split("-")[1]
    manifest = json.loads((SOURCE / "manifest.json").read_text(encoding="utf-8"))
    if manifest["version"] != version:
        raise ValueError(f"bundle/manifest.json is of {manifest['version']}, the wheel of {version}; write {version}")
    pins = PINNED.findall(CONSTRAINTS.read_text(encoding="utf-8"))
    pinned = json.dumps([pin.strip() for pin in pins], indent=2)
    project = PROJECT.format(version=version, pinned=pinned, wheel=wheel.name)
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    for path in (SOURCE / "manifest.json", ROOT / "LICENSE", ROOT / "PRIVACY.md", wheel):
        shutil.copy(path, folder)
    icon = vl_convert.svg_to_png((SOURCE / "icon.svg").read_text(encoding="utf-8"))
    (folder / manifest["icon"]).write_bytes(icon)
    shutil.copy(SOURCE / "src" / "start.py", folder / "src")


def other_hashes(lock: Mapping[str, Any], constraints: str) -> Iterator[str]:
    """Yield the packages of a uv.lock whose version or whose files are not those that the constraints pin."""
    pinned = {(name.lower(), version): set(HASH.findall(rest)) for name, version, rest in BLOCK.findall(constraints)}
    for package in lock["package"]:
        files = [*package.get("wheels", ()), *filter(None, [package.get("sdist")])]
        hashes = pinned.get((package["name"], package.get("version")), set())
        if "registry" in package["source"] and not (files and {file.get("hash") for file in files} <= hashes):
            yield f"{package['name']} {package.get('version')}"


def check(folder: Path) -> int:
    """Print the packages of a bundle's uv.lock that are not those of the constraints; 1 if there are any."""
    lock = tomllib.loads((folder / "uv.lock").read_text(encoding="utf-8"))
    others = list(other_hashes(lock, CONSTRAINTS.read_text(encoding="utf-8")))
    for package in others:
        sys.stderr.write(
            f"uv.lock: {package} is not the one that constraints/runtime.txt pins; run: make constraints\n"
        )
    return int(bool(others))


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        sys.exit(check(Path(sys.argv[2])))
    lay_out(Path(sys.argv[1]), Path(sys.argv[2]))
