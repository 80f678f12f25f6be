"""The views of results as hosts find them: advertised where they are built, read as a resource, figures the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextResourceContents

from server.tools.tool import FINANCIAL_TABLE, WIDGETS
from tests.support.books.loads import ROOT
from tests.support.service.servers import ERAS, McpBooks, Server, connected, serving

APP, APP_TYPE = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app"
PAGE = "<!doctype html><title>A view</title>"
CHECKOUT = ("engine", "sandbox", "server", "migrations", "scripts")
TABLES = ("run_statement", "run_metric", "explain_variance")
RENDERS = {**dict.fromkeys(TABLES, "financial-table"), "inspect_rows": "inspection-grid"}
KEYS = ("ui", "ui/resourceUri")  # of _meta, that name the view of a tool
ASKED = {"statement": "full_pnl", "scenarios": [{"scenario": "actual", "alias": "A"}], "period_start": "2021-01"}


def checkout(folder: Path, built: tuple[str, ...]) -> Path:
    """Return a checkout in which some views are built."""
    for name in CHECKOUT:
        (folder / name).symlink_to(ROOT / name)
    dist = folder / "widgets" / "dist"
    dist.mkdir(parents=True)
    for name in built:
        (dist / f"{name}.html").write_text(PAGE)
    return folder


@contextmanager
def served(instance: tuple[Path, Path], folder: Path, *built: str) -> Iterator[Server]:
    """Serve books with some views built."""
    with serving(*instance, PYTHONPATH=str(checkout(folder, built))) as server:
        yield server


@pytest.fixture(scope="module")
def server_with(small_instance: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with every view built."""
    with served(small_instance, tmp_path_factory.mktemp("built"), *(widget.name for widget in WIDGETS)) as server:
        yield server


@pytest.fixture(scope="module")
def server_without(small_instance: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the same books without any view."""
    with served(small_instance, tmp_path_factory.mktemp("plain")) as server:
        yield server


@pytest.fixture(params=ERAS)
def viewed(request: pytest.FixtureRequest, server_with: Server) -> Iterator[McpBooks]:
    """A client of the server with views, in each era."""
    with connected(server_with.url, request.param) as books:
        yield books


@pytest.fixture(params=ERAS)
def plain(request: pytest.FixtureRequest, server_without: Server) -> Iterator[McpBooks]:
    """A client of the server without, in each era."""
    with connected(server_without.url, request.param) as books:
        yield books


def views(books: McpBooks) -> dict[str, Any]:
    """Return what each tool says of its view; other extensions speak of tools as well."""
    keys = {
        tool.name: {key: value for key, value in (tool.meta or {}).items() if key in KEYS} for tool in books.tools()
    }
    return {tool: meta for tool, meta in keys.items() if meta}


def test_a_tool_names_its_view_in_both_ways_that_hosts_read(viewed: McpBooks) -> None:
    assert views(viewed) == {
        tool: {"ui": {"resourceUri": f"ui://tieout/{view}"}, "ui/resourceUri": f"ui://tieout/{view}"}
        for tool, view in RENDERS.items()
    }


def test_a_view_is_read_with_its_type_and_a_policy_that_lets_it_fetch_nothing(viewed: McpBooks) -> None:
    listed = viewed.read(Client.list_resources).resources
    listed = [resource for resource in listed if resource.uri.startswith("ui:")]
    assert [resource.name for resource in listed] == [widget.name for widget in WIDGETS]
    for resource in listed:
        (page,) = viewed.resource(resource.uri).contents
        for said in (resource, page):
            assert said.mime_type == APP_TYPE
            assert said.meta == {"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}}
        assert isinstance(page, TextResourceContents)
        assert page.text == PAGE


def test_the_server_says_that_it_has_views_in_every_protocol(viewed: McpBooks) -> None:
    assert (viewed.client.server_capabilities.extensions or {})[APP] == {"mimeTypes": [APP_TYPE]}


def test_where_no_view_is_built_nothing_speaks_of_one(plain: McpBooks) -> None:
    assert views(plain) == {}
    assert not [found for found in plain.read(Client.list_resources).resources if found.uri.startswith("ui:")]
    assert APP not in (plain.client.server_capabilities.extensions or {})
    with pytest.raises(MCPError, match=f"There is no resource '{FINANCIAL_TABLE.uri}'"):
        plain.read(lambda client: client.read_resource(FINANCIAL_TABLE.uri))


@pytest.mark.parametrize("era", ERAS)
def test_one_view_is_advertised_alone(small_instance: tuple[Path, Path], tmp_path: Path, era: str) -> None:
    with (
        served(small_instance, tmp_path, FINANCIAL_TABLE.name) as server,
        connected(server.url, era) as books,
    ):
        assert set(views(books)) == set(TABLES)


def test_what_is_rendered_comes_beside_the_answer_whether_its_view_is_built_or_not(
    viewed: McpBooks, plain: McpBooks
) -> None:
    with_view, without = viewed.call("run_statement", **ASKED), plain.call("run_statement", **ASKED)
    raw = viewed.call("run_statement_data", **ASKED)
    assert with_view.told == without.told == raw.told
    assert "tieout/table" not in raw.meta
    blocks = [called.meta["tieout/table"] for called in (with_view, without)]
    assert blocks[0]["rows"] == blocks[1]["rows"]
    assert [[cell[1] for cell in row["cells"]] for row in blocks[0]["rows"]] == [
        row["values"] for row in raw.result["rows"]
    ]
