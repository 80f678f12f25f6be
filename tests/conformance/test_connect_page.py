"""Clients of docs/connect.md, started as it says: the Inspector's command, and the bridge of Claude Desktop's entry."""

import asyncio
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from server.base.settings import Settings
from server.tools.toolbox import TOOLS
from tests.conformance.figures import PNL, STATEMENT
from tests.conformance.running import HERE, MODULES, Served, at_home, inspect
from tests.support.books import ROOT
from tests.support.programs import needs_program
from tests.support.serving import ERAS

PAGE = (ROOT / "docs" / "connect.md").read_text(encoding="utf-8")


def snippet(heading: str, language: str, server: Served) -> str:
    """Return the one snippet of a section, with a server's address and key in the places that it has for them."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert Settings().resource in found
    return str(found).replace(Settings().resource, server.url).replace("Bearer KEY", f"Bearer {server.key}")


def test_the_inspectors_command_reports_a_statement(node: Path, real: Served, tmp_path: Path) -> None:
    npx, package, cli, *arguments = shlex.split(snippet("MCP Inspector", "sh", real).replace("\\\n", " "))
    assert (npx, package, cli) == ("npx", "@modelcontextprotocol/inspector", "--cli")
    called = inspect(node, tmp_path, *[argument.replace("2026-09", "2006-06") for argument in arguments])
    assert called.exit_code == 0, called.complaint
    assert called.printed["result"]["structuredContent"]["rows"]


@pytest.mark.parametrize("era", ERAS)
def test_the_bridge_of_claude_desktop_passes_figures_on(era: str, node: Path, real: Served, tmp_path: Path) -> None:
    needs_program("npx")
    assert (MODULES / ".bin" / "mcp-remote").exists(), "npx would fetch another one"
    entry = json.loads(snippet("Claude Desktop and claude.ai", "json", real))["mcpServers"]["tieout"]
    home = at_home(tmp_path) | {"PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}
    started = StdioServerParameters(command=entry["command"], args=entry["args"], env=home | entry["env"], cwd=HERE)

    async def scene() -> tuple[list[str], Any]:
        with (tmp_path / "bridge.log").open("w") as log:
            async with Client(stdio_client(started, errlog=log), mode=era) as client:
                tools = await client.list_tools()
                return [tool.name for tool in tools.tools], await client.call_tool("run_statement", STATEMENT)

    names, report = asyncio.run(scene())
    assert set(names) <= set(TOOLS)  # some are there only where they are enabled
    shown = {row["key"]: row["values"] for row in report.structured_content["rows"]}
    assert {key: shown[key] for key in PNL} == PNL
