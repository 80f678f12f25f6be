"""Install the wheel and the bundle as a user does, with every package from the index; a script without arguments.

A deep check (`make test-deep PARTS=install`): it downloads some hundred megabytes, or takes them from uv's cache.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.support.books.loads import ROOT
from tests.support.machine.installs import UV, built_wheel, configured, node_of_the_bundle, packed_bundle

STATEMENT = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2026-09"}


async def rows_of(program: StdioServerParameters) -> int:
    """Start a program and return the number of rows of a statement."""
    async with Client(stdio_client(program)) as client:
        tools = await client.list_tools()
        called = await client.call_tool("run_statement", STATEMENT)
        return len(called.structured_content["rows"]) if tools.tools else 0


def environment_of(folder: Path) -> Mapping[str, str]:
    """Return the environment of a new user, who has uv and nothing else; what names an index here stays."""
    index = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_", "PIP_", "HTTPS_"))}
    own = {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "UV_CACHE_DIR": str(folder / "uv")}
    path = {"PATH": f"{folder / 'bin'}:{UV.parent}:{os.defpath}", "UV_PYTHON": sys.executable}
    return {**index, **own, **path, "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}


def main() -> int:
    """Install, start and ask both; 0 if both answer."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        environment = environment_of(folder)
        wheel = built_wheel(folder / "wheel")
        pinned: list[str | Path] = ["--constraints", ROOT / "constraints" / "runtime.txt"]
        subprocess.run([UV, "tool", "install", *pinned, wheel], env=environment, cwd=folder, check=True)
        installed = StdioServerParameters(
            command=str(folder / "bin" / "tieout"), args=["stdio", "--demo"], env=dict(environment)
        )
        node = node_of_the_bundle()
        config = configured(node, packed_bundle(node, wheel, folder), {})
        bundle = StdioServerParameters(
            command=str(UV), args=config["args"], env={**environment, **config["env"]}, cwd=folder
        )
        found = {"uv tool install": asyncio.run(rows_of(installed)), "bundle": asyncio.run(rows_of(bundle))}
    sys.stdout.write(f"rows of the statement: {found}\n")
    return 0 if all(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
