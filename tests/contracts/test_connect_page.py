"""docs/connect.md says what works: its snippets are JSON that names the server as it is announced, its tools exist."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from server.auth.bearer import DevKey
from server.base.settings import Settings
from server.run.commands.serve import announcement
from server.tools.toolbox import TOOLS
from tests.support.books.loads import ROOT

PAGE = (ROOT / "docs" / "connect.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^([^\n]*)\n```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
HERE, THERE = Settings().resource, "https://reports.example.com/mcp"
CLIENT = re.compile(r"^\| [^|]*`([@\w/-]+)` \| (\d\S+) \|", re.MULTILINE)
KEYS = ("KEY", "${TIEOUT_KEY}", "${env:TIEOUT_KEY}", "${input:tieout-key}")


def entries(snippet: str) -> Iterator[Mapping[str, Any]]:
    """Yield the servers of a client's file."""
    read = json.loads(snippet)
    (servers,) = (read[name] for name in ("mcpServers", "servers") if name in read)
    assert list(servers) == ["tieout"]
    yield from servers.values()


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippet_starts_the_bridge_or_reaches_this_machine_with_the_key_or_an_origin_without_one(
    snippet: str,
) -> None:
    for entry in entries(snippet):
        url, sent = entry.get("url"), entry.get("headers")
        if url is None:
            assert (entry["command"], entry["args"][0]) == ("tieout", "stdio")
        elif url == THERE:
            assert sent is None
        else:
            assert sent is not None
            assert url == HERE
            assert sent["Authorization"].removeprefix("Bearer ") in KEYS


def test_the_entry_that_the_server_prints_is_that_of_claude_code() -> None:
    printed = json.loads(announcement(Settings(), "Books", DevKey("${TIEOUT_KEY}")).partition("mcp.json entry:\n")[2])
    (section,) = re.findall(r"^## Claude Code\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    (snippet,) = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    assert json.loads(snippet) == printed


def test_its_other_addresses_are_the_same_two() -> None:
    assert set(re.findall(r"https?://[\w.:]+/mcp", PAGE)) == {HERE, THERE}


def test_the_tools_that_it_names_are_there() -> None:
    assert set(re.findall(r"--tool-name (\w+)", PAGE)) <= set(TOOLS)


def is_run(language: str, block: str) -> bool:
    """Tell whether a test runs a block: integration/installed its commands, conformance the Inspector and the key."""
    if language == "sh":
        return block.startswith("npx @modelcontextprotocol/inspector --cli ")
    (entry,) = entries(block)
    return "command" in entry or ("TIEOUT_KEY}" in block and "env:" not in block)


def test_a_block_that_no_test_runs_says_why_on_the_line_before_it() -> None:
    told = {block: before for before, language, block in BLOCK.findall(PAGE) if not is_run(language, block)}
    assert told
    assert {block: before for block, before in told.items() if not before.startswith("Not run by a test, ")} == {}


def test_the_clients_of_other_authors_are_of_the_versions_that_the_tests_install() -> None:
    lock = json.loads((ROOT / "tests" / "conformance" / "package-lock.json").read_bytes())["packages"]
    pins = (ROOT / "constraints" / "dev.txt").read_text(encoding="utf-8")
    installed = {path.removeprefix("node_modules/"): package.get("version") for path, package in lock.items()}
    installed |= re.findall(r"^(mcp)==(\S+)", pins, re.MULTILINE)
    named = dict(CLIENT.findall(PAGE))
    assert len(named) == 7
    assert named == {name: installed[name] for name in named}
