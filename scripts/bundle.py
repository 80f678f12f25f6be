"""Lay out the bundle for desktop hosts: python scripts/bundle.py WHEEL FOLDER; `make bundle` then packs the folder.

The folder holds the manifest, the wheel, and a project that uv installs: the wheel, and of each package that it needs
the version that the tests ran with.
"""

import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "bundle"
PINNED = re.compile(r"^([\w.-]+(?:\[[\w,]+\])?==[^ ;\\]+(?: ; [^\\]+)?)", re.MULTILINE)
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
    pins = PINNED.findall((ROOT / "constraints" / "runtime.txt").read_text(encoding="utf-8"))
    pinned = json.dumps([pin.strip() for pin in pins], indent=2)
    project = PROJECT.format(version=version, pinned=pinned, wheel=wheel.name)
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    for path in (SOURCE / "manifest.json", ROOT / "LICENSE", wheel):
        shutil.copy(path, folder)
    shutil.copy(SOURCE / "src" / "start.py", folder / "src")


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]), Path(sys.argv[2]))
