"""The tools as hosts list them: the contract as it was last agreed, and what says which to load first."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from server.http.mcp_app import LOADED, SEARCHED
from server.tools.tool import built
from server.tools.toolbox import TOOLS
from tests.support.answers.goldens import held
from tests.support.service.servers import ERAS, McpBooks, connected, serving
from tests.support.service.stdio import hosting

UPLOADS: dict[str, Any] = {"SVC_MCP_UPLOADS_ENABLED": "true", "SVC_FILE_IMPORT_HOSTS": "files.example.com"}
OF_VIEWS = ("ui", "ui/resourceUri")  # in `_meta` where `make widgets` ran
LONGEST_HINT = 80  # characters: hosts index it beside the description


@pytest.fixture(scope="module", params=ERAS)
def books(request: pytest.FixtureRequest, small_instance: tuple[Path, Path]) -> Iterator[McpBooks]:
    """A client, in each era, of a server that offers every tool."""
    with serving(*small_instance, **UPLOADS) as server, connected(server.url, request.param) as client:
        yield client


def listed(books: McpBooks) -> list[dict[str, Any]]:
    """Return the tools as they come over the wire."""
    return [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in books.tools()]


def agreed(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool without what differs from one deployment to the next: its example, its view where that is built."""
    meta = {key: part for key, part in tool["_meta"].items() if key not in OF_VIEWS}
    return {**tool, "description": tool["description"].partition(" Example: ")[0], "_meta": meta}


def test_the_contract_of_the_tools_is_the_one_that_was_agreed(books: McpBooks) -> None:
    held("tools/listed", [agreed(tool) for tool in listed(books)], indent=1)


def test_the_four_tools_of_most_questions_are_loaded_first(books: McpBooks) -> None:
    loaded = [tool["name"] for tool in listed(books) if tool["_meta"].get("anthropic/alwaysLoad") is True]
    assert loaded == ["svc_orientation", "run_statement", "run_metric", "explain_variance"]


def test_every_tool_has_a_title_hints_of_its_effect_and_words_to_be_found_by(books: McpBooks) -> None:
    tools = listed(books)
    assert [tool["name"] for tool in tools] == list(TOOLS)
    for tool in tools:
        assert tool["title"] == tool["annotations"]["title"]
        assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} < tool["annotations"].keys()
        assert 0 < len(tool["_meta"]["anthropic/searchHint"]) <= LONGEST_HINT
    hints = [tool["_meta"][SEARCHED] for tool in tools]
    assert len(set(hints)) == len(hints)


def test_a_desktop_host_is_told_the_same(small_instance: tuple[Path, Path], books: McpBooks) -> None:
    with hosting(*small_instance) as host:
        host.shake_hands()
        tools = {tool["name"]: tool for tool in host.ask("tools/list")["result"]["tools"]}
    over_http = {tool["name"]: tool for tool in listed(books)}
    assert tools.keys() < over_http.keys()
    assert {name: tool["_meta"] for name, tool in tools.items()} == {name: over_http[name]["_meta"] for name in tools}
    assert tools["svc_orientation"]["_meta"][LOADED] is True


def test_a_view_is_named_where_it_is_built(books: McpBooks) -> None:
    named = {tool["name"] for tool in listed(books) if tool["_meta"].keys() & set(OF_VIEWS)}
    assert named == {name for name, tool in TOOLS.items() if tool.widget in built()}


def test_the_orientation_says_what_list_kpis_is_for(books: McpBooks) -> None:
    answer = books.ask("svc_orientation")
    assert "list_kpis is only for descriptions" in answer["orientation"]
