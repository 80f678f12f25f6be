"""A fresh environment with the wheel in it, whose other packages are those of the tests; and the bundle, unpacked."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.bundle import lay_out
from tests.support.books.loads import ROOT
from tests.support.machine.programs import find_program, missing

UV = Path(sys.executable).with_name("uv")
BUNDLE = ROOT / "bundle"
MCPB = BUNDLE / "node_modules" / "@anthropic-ai" / "mcpb" / "dist"
CONFIGURED = """
import { getMcpConfigForManifest } from "%s";
const [manifest, extensionPath, userConfig] = JSON.parse(process.argv[1]);
const config = await getMcpConfigForManifest({
  manifest, extensionPath, userConfig, systemDirs: {}, pathSeparator: "/", logger: console,
});
console.log(JSON.stringify(config));
"""


@dataclass(frozen=True)
class Installed:
    """An environment, the folder of its user, and the folder that its commands run in, which is empty."""

    python: Path
    home: Path
    empty: Path

    @property
    def tieout(self) -> Path:
        """The installed command."""
        return self.python.with_name("tieout")

    @property
    def packages(self) -> Path:
        """Where the wheel is installed."""
        (found,) = self.python.parents[1].glob("lib/python*/site-packages")
        return found

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its commands: nothing of this process but the path of the system."""
        return {"PATH": os.defpath, "HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data")}

    @property
    def demo(self) -> Path:
        """Where the demo is made."""
        return self.home / "data" / "tieout" / "demo"

    def files(self) -> set[Path]:
        """Return the files beside the wheel and in the folder that commands run in."""
        own = ("engine", "server", "sandbox", "migrations", "instances", "widgets")
        return {path for name in own for path in (self.packages / name).rglob("*")} | set(self.empty.iterdir())


def built_wheel(folder: Path) -> Path:
    """Build the wheel into a folder, as `make wheel` does."""
    command: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, folder: Path) -> Installed:
    """Install the wheel into a new environment. The packages that it needs are linked, not downloaded."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    made = Installed(folder / "env" / "bin" / "python", folder / "home", folder / "empty")
    made.home.mkdir()
    made.empty.mkdir()
    (here,) = Path(sys.executable).parents[1].glob("lib/python*/site-packages")
    for path in here.iterdir():
        if "tieout" not in path.name and path.suffix != ".pth":
            (made.packages / path.name).symlink_to(path)
    install: list[str | Path] = [UV, "pip", "install", "--offline", "--no-deps", "--no-index", "--quiet", "--python"]
    environment = {**made.environment, "UV_CACHE_DIR": str(folder / "uv")}
    subprocess.run([*install, made.python, wheel], check=True, env=environment)
    own = [made.packages / name for name in ("engine", "server", "sandbox")]
    subprocess.run([made.python, "-m", "compileall", "-q", *own], check=True, cwd=made.empty)
    return made


def node_of_the_bundle() -> str:
    """Return Node where the tool of the bundle's format is installed; skip the test elsewhere."""
    if not MCPB.is_dir():
        missing("bundle is not installed; run: npm ci --prefix bundle --ignore-scripts")
    return find_program("node") or missing("not installed: node; run: make ci-deps")


def packed_bundle(node: str, wheel: Path, folder: Path) -> Path:
    """Check and pack the bundle with the tool of its format, as `make bundle` does, and unpack it."""
    lay_out(wheel, folder / "bundle")
    mcpb: list[str | Path] = [node, MCPB / "cli" / "cli.js"]
    subprocess.run([*mcpb, "validate", folder / "bundle" / "manifest.json"], check=True, capture_output=True)
    subprocess.run([*mcpb, "pack", folder / "bundle", folder / "tieout.mcpb"], check=True, capture_output=True)
    with zipfile.ZipFile(folder / "tieout.mcpb") as packed:
        packed.extractall(folder / "unpacked")
    return folder / "unpacked"


def configured(node: str, unpacked: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the command of a bundle for a user's settings, as the code of its format makes it of the manifest."""
    manifest = json.loads((unpacked / "manifest.json").read_text(encoding="utf-8"))
    script = CONFIGURED % (MCPB / "index.js").as_uri()
    asked = json.dumps([manifest, str(unpacked), settings])
    ran = subprocess.run(
        [node, "--input-type=module", "--eval", script, asked], capture_output=True, text=True, check=True
    )
    return dict(json.loads(ran.stdout))
