"""What the project is found and installed by: server.json of the MCP registry, and the manifest of the bundle."""

import json
import re
import tomllib
from typing import Any

import pytest

from scripts.bundle import CONSTRAINTS, SOURCE, other_hashes
from tests.support.books.loads import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SERVER = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
MANIFEST = json.loads((SOURCE / "manifest.json").read_text(encoding="utf-8"))
RANGE = re.compile(r"[\\^~<>=*]|latest")

# The rules are those of schemas/2025-12-11/server.schema.json in modelcontextprotocol/static at commit
# a9ba437d9fbbe92076a24b20d56449ac7c7786ac of 2025-12-12 (sha256 3fba0959…4de0), in words of this project: each is a
# line of it. The whole of server.json was validated against that file on 2026-11-29.
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
DETAIL = {"$schema", "name", "title", "description", "version", "packages", "remotes"}
PACKAGE = {"registryType", "identifier", "version", "runtimeHint", "transport", "packageArguments"}
NAME = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")  # ServerDetail.name, 3 to 200 characters
URL = re.compile(r"https?://\S+")  # StreamableHttpTransport.url


def test_server_json_is_of_its_schema() -> None:
    assert SERVER["$schema"] == SCHEMA
    assert SERVER.keys() == DETAIL
    assert 3 <= len(SERVER["name"]) <= 200
    assert NAME.fullmatch(SERVER["name"])
    assert all(0 < len(SERVER[key]) <= 100 for key in ("title", "description"))
    (package,) = SERVER["packages"]
    assert package.keys() == PACKAGE
    assert package["transport"] == {"type": "stdio"}
    for argument in package["packageArguments"]:
        assert argument["type"] == "named" if "name" in argument else {"type", "value"} == argument.keys()
    (remote,) = SERVER["remotes"]
    assert remote["type"] == "streamable-http"
    assert URL.fullmatch(remote["url"])
    assert set(re.findall(r"{(\w+)}", remote["url"])) == remote["variables"].keys()


def test_server_json_names_this_release_and_the_readme_proves_the_name() -> None:
    (package,) = SERVER["packages"]
    assert (package["identifier"], package["version"]) == (PROJECT["name"], PROJECT["version"])
    assert SERVER["version"] == PROJECT["version"]
    assert not RANGE.search(SERVER["version"])
    readme = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    assert re.findall(r"mcp-name: (\S+)", readme) == [SERVER["name"]]


def test_the_command_of_server_json_is_one_that_tieout_takes() -> None:
    words = [argument.get("value", argument.get("name")) for argument in SERVER["packages"][0]["packageArguments"]]
    assert words == ["stdio", "--instance"]
    assert '"args": ["stdio", "--instance", "FOLDER"]' in (ROOT / "docs" / "connect.md").read_text(encoding="utf-8")


def test_the_manifest_of_the_bundle_has_a_policy_an_icon_and_an_address_of_support() -> None:
    """MANIFEST.md of modelcontextprotocol/mcpb at commit 27083dcf93c4d1c589af6b539ec746e50d6068e7: required fields."""
    assert MANIFEST["version"] == PROJECT["version"]
    assert all(URL.fullmatch(url) for url in (MANIFEST["support"], *MANIFEST["privacy_policies"]))
    assert MANIFEST["icon"] == "icon.png"
    assert (SOURCE / "icon.svg").is_file()
    policy = (ROOT / "PRIVACY.md").read_text(encoding="utf-8")
    assert all(setting in policy for setting in ("SVC_FILE_IMPORT_HOSTS", "OTEL_EXPORTER_OTLP_ENDPOINT"))


def package(**more: Any) -> dict[str, Any]:
    """Return a package as a uv.lock has it."""
    return {"name": "cronsim", "version": "2.8", "source": {"registry": "https://index.example/simple"}, **more}


@pytest.mark.parametrize(
    ("found", "others"),
    [
        ({"name": "tieout", "source": {"path": "tieout.whl"}, "wheels": [{"hash": "sha256:" + "0" * 64}]}, []),
        (package(wheels=[{"hash": "sha256:" + "0" * 64}]), ["cronsim 2.8"]),
        (package(wheels=[{"url": "no hash"}]), ["cronsim 2.8"]),
        (package(), ["cronsim 2.8"]),
        (package(version="2.9"), ["cronsim 2.9"]),
    ],
)
def test_a_lock_of_other_files_than_the_pinned_ones_is_refused(found: dict[str, Any], others: list[str]) -> None:
    assert list(other_hashes({"package": [found]}, CONSTRAINTS.read_text(encoding="utf-8"))) == others


def test_a_lock_of_the_pinned_files_is_taken() -> None:
    text = CONSTRAINTS.read_text(encoding="utf-8")
    pinned = re.search(r"^cronsim==(\S+) .*\n((?: {4}--hash.*\n)+)", text, re.MULTILINE)
    assert pinned is not None
    files = [{"hash": found} for found in re.findall(r"sha256:[0-9a-f]{64}", pinned[2])]
    assert list(other_hashes({"package": [package(version=pinned[1], wheels=files)]}, text)) == []
