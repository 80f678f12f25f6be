"""Kept results at an address: what an export as JSON holds, for the caller who made them, within their quota."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import TextResourceContents

from tests.support.service.issuers import Issuer
from tests.support.service.servers import ERAS, KEY, McpBooks, Server, wait_for
from tests.support.service.stdio import hosting
from tests.support.service.two_domains import callers_of, serving_two_domains
from tests.support.service.users import HOST

ASKED = {"metrics": ["revenue"], "scenarios": [{"scenario": "actual"}], "period_start": "2026-01"}
SMALL_ASKED = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}
GONE = "This result can no longer be opened as it was kept. Run the report again."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Issuer, Server]]:
    """A server of books with revenue and pay, which one of two callers does not see."""
    with serving_two_domains(tmp_path_factory.mktemp("datasets")) as running:
        yield running


@pytest.fixture(params=ERAS)
def callers(request: pytest.FixtureRequest, served: tuple[Issuer, Server]) -> Iterator[tuple[McpBooks, McpBooks]]:
    """Clients of one who sees all and of one who sees sales, in each era."""
    with callers_of(served, request.param) as both:
        yield both


def document(books: McpBooks, reference: str) -> Any:
    """Return what stands at the address of a result."""
    (page,) = books.resource(f"tieout://dataset/{reference}").contents
    assert page.mime_type == "application/json"
    assert isinstance(page, TextResourceContents)
    return json.loads(page.text)


def refusal(books: McpBooks, reference: str) -> tuple[int, str, str]:
    """Return the error of a read, with the reference as KEY."""
    with pytest.raises(MCPError) as caught:
        document(books, reference)
    fault = caught.value.error
    told = json.dumps(fault.data)
    return fault.code, fault.message, told.replace(f"/{reference}", "/KEY") if reference else told


def opens(books: McpBooks, reference: str) -> bool:
    """Tell whether a result can be read."""
    try:
        document(books, reference)
    except MCPError:
        return False
    return True


def timeless(made: Any) -> Any:
    """Return a document without the second in which it was made."""
    return {key: part for key, part in made.items() if key != "made_at"}


def test_a_result_reads_as_its_export(callers: tuple[McpBooks, McpBooks], served: tuple[Issuer, Server]) -> None:
    origin = served[1].url.removesuffix("/mcp")
    for books in callers:
        reference = books.keep("run_metric", **ASKED)
        given = books.ask("export_dataset", data_ref=reference, format="json")
        link = urlsplit(given["download_url"])
        exported = httpx2.get(f"{origin}{link.path}?{link.query}", headers={"Host": HOST}).raise_for_status().json()
        assert timeless(document(books, reference)) == timeless(exported)


def test_an_export_links_to_the_result_that_it_holds(callers: tuple[McpBooks, McpBooks]) -> None:
    for books in callers:
        reference = books.keep("run_metric", **ASKED)
        assert books.call("run_metric", **ASKED).links == []
        for form in ("json", "xlsx"):
            (link,) = books.call("export_dataset", data_ref=reference, format=form).links
            assert (link.name, link.mime_type) == (reference, "application/json")
            assert timeless(document(books, link.uri.rpartition("/")[2])) == timeless(document(books, reference))


def test_that_of_another_is_refused_as_one_that_never_was(callers: tuple[McpBooks, McpBooks]) -> None:
    finance, sales = callers
    others = finance.keep("run_metric", **ASKED)
    assert document(finance, others)
    told = {refusal(sales, reference) for reference in (others, "ds_" + "a" * 32, "ds_", "../x", "x" * 30)}
    (only,) = told
    assert only[:2] == (-32602, GONE)
    assert '"uri": "tieout://dataset/KEY"' in only[2]
    assert refusal(sales, "")[:2] == only[:2]


def test_the_template_says_what_it_reads(callers: tuple[McpBooks, McpBooks]) -> None:
    templates = callers[0].read(lambda client: client.list_resource_templates()).resource_templates
    (found,) = (known for known in templates if known.uri_template == "tieout://dataset/{data_ref}")
    assert "export_dataset" in (found.description or "")


def test_an_expired_result_is_refused_alike(tmp_path: Path) -> None:
    with (
        serving_two_domains(tmp_path, SVC_SNAPSHOT_SECONDS="2", SVC_SNAPSHOT_IDLE_SECONDS="2") as served,
        callers_of(served, "auto") as (books, _),
    ):
        reference = books.keep("run_metric", **ASKED)
        unknown = refusal(books, "ds_" + "a" * 32)
        wait_for(lambda: not opens(books, reference))
        assert refusal(books, reference) == unknown


def test_a_desktop_host_reads_a_result_and_no_file_stays(own: tuple[Path, Path]) -> None:
    with hosting(*own) as host:
        host.shake_hands()
        report = host.call("run_statement", **SMALL_ASKED)
        (page,) = host.ask("resources/read", uri=f"tieout://dataset/{report['data_ref']}")["result"]["contents"]
        assert json.loads(page["text"])["label"] == report["label"]
        assert [path for path in (own[1] / "files").rglob("*") if path.is_file()] == []


def test_a_desktop_host_is_refused_an_expired_result_as_one_that_never_was(own: tuple[Path, Path]) -> None:
    with hosting(*own, SVC_SNAPSHOT_SECONDS="2", SVC_SNAPSHOT_IDLE_SECONDS="2") as host:
        host.shake_hands()
        reference = host.call("run_statement", **SMALL_ASKED)["data_ref"]

        def read(key: str) -> dict[str, Any]:
            return host.ask("resources/read", uri=f"tieout://dataset/{key}")

        wait_for(lambda: "error" in read(reference))
        expired, unknown = read(reference), read("ds_" + "a" * 32)["error"]
        assert (unknown["code"], unknown["message"]) == (-32602, GONE)
        assert json.dumps(expired["error"]).replace(reference, "KEY") == json.dumps(unknown).replace(
            "ds_" + "a" * 32, "KEY"
        )


@pytest.mark.parametrize(("version", "kinds"), [("2025-03-26", ["text"]), ("2025-06-18", ["text", "resource_link"])])
def test_a_link_is_for_protocols_that_have_links(
    small_server: Server, books: McpBooks, version: str, kinds: list[str]
) -> None:
    asked = {"data_ref": books.keep("run_statement", **SMALL_ASKED), "format": "json"}
    headers = {
        "Authorization": f"Bearer {KEY}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
    }
    params = {"name": "export_dataset", "arguments": asked}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = httpx2.post(small_server.url, json=message, headers=headers).raise_for_status().json()
    assert [block["type"] for block in answer["result"]["content"]] == kinds
