"""The Inspector's command over HTTP, as docs/connect.md has it; integration/installed runs the entries over stdio."""

import re
import shlex
from pathlib import Path

from server.base.settings import Settings
from tests.conformance.running import RunningServer, inspect
from tests.support.books.loads import ROOT

PAGE = (ROOT / "docs" / "connect.md").read_text(encoding="utf-8")


def snippet(heading: str, language: str, server: RunningServer) -> str:
    """Return the one snippet of a section, with a server's address and key in the places that it has for them."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = [
        text for text in re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL) if Settings().resource in text
    ]
    return str(found).replace(Settings().resource, server.url).replace("Bearer KEY", f"Bearer {server.key}")


def test_the_inspectors_command_reports_a_statement(node: Path, real: RunningServer, tmp_path: Path) -> None:
    npx, package, cli, *arguments = shlex.split(snippet("MCP Inspector", "sh", real).replace("\\\n", " "))
    assert (npx, package, cli) == ("npx", "@modelcontextprotocol/inspector", "--cli")
    called = inspect(node, tmp_path, *[argument.replace("2026-09", "2006-06") for argument in arguments])
    assert called.exit_code == 0, called.complaint
    assert called.printed["result"]["structuredContent"]["rows"]
