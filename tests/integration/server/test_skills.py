"""Skills as hosts list, verify and load them: SEP-2640, final.

Its text is specification/stable/skills.mdx of modelcontextprotocol/ext-skills at commit
0682b7b6e9e661fbf8538e27cbd3e7282927b45a; tests name its sections in quotes.
"""

import json
import re
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp.shared.exceptions import MCPError
from mcp_types import TextResourceContents

from server.tools.prompts import PROMPTS
from server.tools.toolbox import TOOLS
from tests.support.service.issuers import Issuer
from tests.support.service.servers import ERAS, McpBooks, Server, connected, serving
from tests.support.service.stdio import hosting
from tests.support.service.two_domains import callers_of, serving_two_domains

EXTENSION = "io.modelcontextprotocol/skills"
MODERN = "2026-07-28"
NAMES = ["month-end-review", "variance-commentary", "tie-out", "board-summary", "flux"]
ABSENT = (  # no skill, a file that is none, a path outside, another spelling, another scheme, a folder
    "skill://tieout/closing/SKILL.md",
    "skill://tieout/flux/references/other.md",
    "skill://tieout/flux/../tie-out/SKILL.md",
    "skill://tieout/flux/references/../SKILL.md",
    "skill://tieout/FLUX/SKILL.md",
    "skill://flux/SKILL.md",
    "skill://tieout/flux",
    "skill://tieout/flux/SKILL.md?x=1",
    "file:///etc/passwd",
    "",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Issuer, Server]]:
    """A server, with two workers, of books with revenue and pay, which one of two callers does not see."""
    with serving_two_domains(tmp_path_factory.mktemp("skills"), SVC_WORKERS="2") as running:
        yield running


@pytest.fixture(params=ERAS)
def callers(request: pytest.FixtureRequest, served: tuple[Issuer, Server]) -> Iterator[tuple[McpBooks, McpBooks]]:
    """Clients of one who sees all and of one who sees sales, in each era."""
    with callers_of(served, request.param) as both:
        yield both


def skills(books: McpBooks) -> dict[str, Any]:
    """Return the skills by name."""
    return {skill["frontmatter"]["name"]: skill for skill in books.request("skills/list")["skills"]}


def text_of(books: McpBooks, uri: str) -> str:
    """Return a file of a skill."""
    (page,) = books.resource(uri).contents
    assert page.mime_type == "text/markdown"
    assert isinstance(page, TextResourceContents)
    return page.text


def refusal(books: McpBooks, method: str, uri: str) -> str:
    """Return the error of a request about an address, with the address as URI."""
    with pytest.raises(MCPError) as caught:
        books.request(method, uri=uri)
    fault = caught.value.error
    return json.dumps([fault.code, fault.message, fault.data]).replace(json.dumps(uri)[1:-1], "URI")


def test_the_extension_is_declared_with_resources(callers: tuple[McpBooks, McpBooks]) -> None:
    """'Capability Negotiation': an empty object is no optional feature."""
    told = callers[0].read(capabilities)
    assert told["extensions"][EXTENSION] == {}
    assert "resources" in told


async def capabilities(client: Any) -> dict[str, Any]:
    """Return what a server says that it can do."""
    return dict(client.server_capabilities.model_dump(by_alias=True, exclude_none=True))


def test_a_host_can_verify_every_file_of_every_skill(callers: tuple[McpBooks, McpBooks]) -> None:
    """'Resources', 'Frontmatter', 'Integrity and Verification' and 'Limits'."""
    for books in callers:
        assert list(skills(books)) == NAMES
        for name, skill in skills(books).items():
            folder = skill["uri"].removesuffix("/SKILL.md")
            assert folder.rpartition("/")[2] == name
            assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name)
            files = {file["uri"]: text_of(books, file["uri"]) for file in skill["resources"]}
            for file in skill["resources"]:
                content = files[file["uri"]].encode()
                assert file["uri"].startswith(f"{folder}/")
                assert file["size"] == len(content)
                assert file["digest"] == f"sha256:{sha256(content).hexdigest()}"
                assert content.count(b"\n") <= 500
            _, frontmatter, body = files[skill["uri"]].split("---\n", 2)
            assert yaml.safe_load(frontmatter) == skill["frontmatter"]
            assert len(skill["frontmatter"]["description"]) <= 1024
            linked = {f"{folder}/{path}" for path in re.findall(r"]\(([^)]+)\)", body)}
            assert linked == files.keys() - {skill["uri"]}


def test_the_entry_of_one_skill_is_that_of_the_list(callers: tuple[McpBooks, McpBooks]) -> None:
    """'Getting a Skill', with how long an entry is kept in the newest protocol alone."""
    for books in callers:
        for skill in skills(books).values():
            found = books.request("skills/get", uri=skill["uri"])
            assert found["skill"] == skill
            listed = books.request("skills/list")
            modern = books.read(version) == MODERN
            kept = {"ttlMs": 60_000, "cacheScope": "private", "resultType": "complete"} if modern else {}
            for result in (found, listed):
                assert {key: part for key, part in result.items() if key not in ("skill", "skills", "_meta")} == kept


async def version(client: Any) -> str:
    """Return the version of the protocol that a client speaks."""
    return str(client.protocol_version)


def test_a_skill_is_the_prompt_with_the_names_that_its_caller_sees(callers: tuple[McpBooks, McpBooks]) -> None:
    finance, sales = callers
    for name, prompt in zip(NAMES, PROMPTS, strict=True):
        needed = {"metric": "revenue"} if name in ("variance-commentary", "tie-out") else {}
        for books in callers:
            text = text_of(books, f"skill://tieout/{name}/SKILL.md")
            assert books.prompt(prompt, needed) in text.replace("METRIC", "revenue")
            named = set(re.findall(r"\b(?:run|list|inspect|export|eval|explain|search|get)_[a-z_]+", text))
            assert named <= TOOLS.keys()
    uri = "skill://tieout/flux/references/names.md"
    seen, hidden = text_of(finance, uri), text_of(sales, uri)
    assert all(f"`{name}`" in seen for name in ("pnl", "staff", "revenue", "pay", "actual", "budget", "region"))
    assert not any(name in hidden for name in ("staff", "pay", "budget", "north", "south"))
    assert not any(member in seen for member in ("north", "south")), "no member is named"
    assert "- `pnl`" in hidden
    files = "skill://tieout/month-end-review/SKILL.md"
    assert "var(actual,budget)" in text_of(finance, files)
    assert "budget" not in text_of(sales, files).replace("Left out: the budget", "")


def test_digests_are_equal_in_every_worker_and_differ_where_content_does(served: tuple[Issuer, Server]) -> None:
    entries = []
    for _ in range(8):  # a connection of its own each time, which either worker may take
        with callers_of(served, "auto") as (finance, sales):
            entries.append((json.dumps(skills(finance)), json.dumps(skills(sales))))
    assert len(set(entries)) == 1
    mine, theirs = map(json.loads, entries[0])
    assert all(mine[name]["resources"][1]["digest"] != theirs[name]["resources"][1]["digest"] for name in NAMES)
    assert mine["flux"]["resources"][0]["digest"] == theirs["flux"]["resources"][0]["digest"], "it names no budget"
    assert mine["board-summary"]["resources"][0]["digest"] != theirs["board-summary"]["resources"][0]["digest"]


def test_digests_change_with_the_catalogue(small_instance: tuple[Path, Path], tmp_path: Path) -> None:
    found = []
    shutil.copytree(small_instance[0], tmp_path / "instance")
    shutil.copytree(small_instance[1] / "store", tmp_path / "state" / "store")
    written = tmp_path / "instance" / "dimensions.yaml"
    for label in ("Product", "Article"):
        written.write_text(written.read_text(encoding="utf-8").replace("label: Product", f"label: {label}"), "utf-8")
        with serving(tmp_path / "instance", tmp_path / "state") as server, connected(server.url, "auto") as books:
            found.append([file["digest"] for file in skills(books)["tie-out"]["resources"]])
    (skill, names), (same, renamed) = found
    assert (skill, names != renamed) == (same, True)


@pytest.mark.parametrize("method", ["skills/get", "resources/read"])
def test_what_is_no_skill_is_refused_alike_whatever_it_is(callers: tuple[McpBooks, McpBooks], method: str) -> None:
    """'Getting a Skill': -32602 for what the server does not serve."""
    told = {refusal(books, method, uri) for books in callers for uri in ABSENT if uri}
    assert len(told) == 1
    code, message, data = json.loads(told.pop())
    assert (code, data["uri"]) == (-32602, "URI")
    assert message == ("There is no resource 'URI'. resources/list lists those that there are, skills/list the skills.")


def test_a_file_of_a_skill_is_not_a_skill(callers: tuple[McpBooks, McpBooks]) -> None:
    uris = ("skill://tieout/flux/references/names.md", "tieout://orientation", "skill://tieout/closing/SKILL.md")
    assert len({refusal(callers[0], "skills/get", uri) for uri in uris}) == 1


@pytest.mark.parametrize(("sent", "says"), [({}, "uri"), ({"uri": 5}, "uri"), ({"cursor": "9" * 5000}, "cursor")])
def test_a_request_of_another_form_is_refused_with_its_field(
    callers: tuple[McpBooks, McpBooks], sent: dict[str, Any], says: str
) -> None:
    with pytest.raises(MCPError, match=says) as caught:
        callers[0].request("skills/list" if "cursor" in sent else "skills/get", **sent)
    assert caught.value.error.code == -32602


def test_a_desktop_host_lists_and_reads_the_same(small_instance: tuple[Path, Path], books: McpBooks) -> None:
    with hosting(*small_instance) as host:
        assert host.shake_hands()["result"]["capabilities"]["extensions"][EXTENSION] == {}
        assert host.ask("skills/list")["result"]["skills"] == list(skills(books).values())
        for skill in skills(books).values():
            assert host.ask("skills/get", uri=skill["uri"])["result"]["skill"] == skill
            (page,) = host.ask("resources/read", uri=skill["uri"])["result"]["contents"]
            assert page["text"] == text_of(books, skill["uri"])
        assert host.ask("skills/get", uri="skill://tieout/closing/SKILL.md")["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["skills/get", "resources/read"])
def test_a_desktop_host_is_refused_in_the_same_words(
    small_instance: tuple[Path, Path], books: McpBooks, method: str
) -> None:
    with hosting(*small_instance) as host:
        host.shake_hands()
        for uri in filter(None, ABSENT):
            fault = host.ask(method, uri=uri)["error"]
            told = json.dumps([fault["code"], fault["message"], fault["data"]])
            assert told.replace(json.dumps(uri)[1:-1], "URI") == refusal(books, method, uri)


def test_the_resources_list_skills_as_markdown(callers: tuple[McpBooks, McpBooks]) -> None:
    """'Resource Metadata'."""
    listed = callers[1].read(lambda client: client.list_resources()).resources
    found = {resource.uri: resource for resource in listed if resource.uri.startswith("skill://")}
    for skill in skills(callers[1]).values():
        resource = found.pop(skill["uri"])
        told = {"name": resource.name, "description": resource.description}
        assert (resource.mime_type, told) == ("text/markdown", skill["frontmatter"])
    assert not found
