"""Node, as a suite pins it beside the packages that it needs."""

import re
import subprocess
from pathlib import Path

from tests.support.books.loads import ROOT
from tests.support.machine.programs import find_program, missing

NODE_NEEDED = (22, 19)


def pinned_node(suite: Path) -> Path:
    """Return the Node that a suite pinned where it is installed, else the one on the path where it is new enough."""
    folder = suite.relative_to(ROOT)
    if not (suite / "node_modules").is_dir():
        missing(f"{folder} is not installed; run: npm ci --prefix {folder} --ignore-scripts")
    on_path = find_program("node")
    for found in (*sorted(suite.glob("node_modules/node-*/bin/node")), *([Path(on_path)] if on_path else [])):
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.match(r"v(\d+)\.(\d+)", said)
        if version and tuple(map(int, version.groups())) >= NODE_NEEDED:
            return found
    return missing(f"{folder} needs Node {'.'.join(map(str, NODE_NEEDED))}; neither installed nor on the path")
