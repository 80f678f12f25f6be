"""The installed wheel: it serves the demo from an empty folder, and every client starts it and reads its books."""

import json
import re
import shlex
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from server.tools.tool import DIST
from server.tools.toolbox import TOOLS
from tests.conformance.running import HERE, inspect
from tests.support.books.loads import ROOT
from tests.support.machine.installs import (
    UV,
    Installed,
    built_wheel,
    configured,
    installed,
    node_of_the_bundle,
    packed_bundle,
)
from tests.support.machine.node import pinned_node
from tests.support.service.servers import (
    DEADLINE,
    ERAS,
    STARTING,
    McpBooks,
    connected,
    free_ports,
    start,
    wait_until_healthy,
)

PAGES = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("docs/connect.md", "README.md"))
ENTRIES = [text for text in re.findall(r"```json\n(.*?)```", PAGES, re.DOTALL) if '"command"' in text]
LISTED = {name for name, tool in TOOLS.items() if not tool.takes_files}
STATEMENT = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2026-09"}
OFFLINE = {"UV_OFFLINE": "true", "UV_NO_SYNC": "true"}  # the environment of the test stands for the one that uv makes


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of this checkout."""
    return built_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A fresh environment with the wheel."""
    return installed(wheel, tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def demo(place: Installed) -> Iterator[McpBooks]:
    """A client of `tieout serve --demo`, started in an empty folder."""
    ports, before = free_ports(), place.files()
    out, log = place.home / "out", place.home / "log"
    command: list[str | Path] = ["env", "-C", place.empty, place.tieout, "serve", "--demo"]
    process = start(command, {**place.environment, **ports}, out, log, forks=False)
    try:
        wait_until_healthy(f"http://127.0.0.1:{ports['SVC_PORT']}/health", process, log)
        key = (place.demo / ".tieout" / "dev.key").read_text()
        with connected(f"http://127.0.0.1:{ports['SVC_PORT']}/mcp", "auto", key) as client:
            yield client
    finally:
        process.terminate()
        process.wait(timeout=DEADLINE)
    assert place.files() == before  # nothing is written beside the package


def test_the_wheel_holds_all_that_the_service_needs_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    held = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    built = {"widgets"} if DIST.is_dir() else set()
    assert held == {"engine", "sandbox", "server", "migrations", "instances"} | built
    assert {path.name for path in (ROOT / "migrations").glob("*.sql")} <= {Path(name).name for name in names}
    assert not [name for name in names if "/data/" in name or ".tieout" in name]


def test_this_checkout_is_on_no_path_of_the_environment(place: Installed) -> None:
    said = subprocess.run(
        [place.python, "-c", "import sys, server; print(server.__file__, *sys.path)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=place.empty,
        env=place.environment,
    ).stdout
    assert str(ROOT) not in said
    assert str(place.packages) in said


def test_the_demo_is_served_from_an_empty_folder(demo: McpBooks, place: Installed) -> None:
    assert {tool.name for tool in demo.tools()} == LISTED
    assert demo.ask("run_statement", **STATEMENT)["rows"]
    assert bool([tool for tool in demo.tools() if tool.meta and "ui" in tool.meta]) == (DIST / "built").is_file()
    assert list(place.empty.iterdir()) == []
    assert {path.name for path in place.demo.iterdir()} >= {"instance.yaml", "data", ".tieout"}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.usefixtures("demo")
def test_the_client_of_the_python_sdk_starts_it(place: Installed, era: str) -> None:
    asks(StdioServerParameters(command=str(place.tieout), args=["stdio", "--demo"], env=place.environment), era)


def asks(program: StdioServerParameters, era: str = "auto") -> None:
    """Start a program, list every tool and ask for a statement."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(program), mode=era)) as client,
    ):
        books = McpBooks(portal, client, [])
        assert {tool.name for tool in books.tools()} == LISTED
        assert books.ask("run_statement", **STATEMENT)["rows"]


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.usefixtures("demo")
def test_the_entries_of_the_pages_start_it(place: Installed, entry: str) -> None:
    read = json.loads(entry.replace("FOLDER", str(place.demo)))
    (known,) = (read.get("mcpServers") or read["servers"]).values()
    path = {"PATH": f"{place.tieout.parent}:{place.environment['PATH']}"}
    asks(StdioServerParameters(command=known["command"], args=known["args"], env={**place.environment, **path}))


@pytest.mark.usefixtures("demo")
def test_the_client_of_the_typescript_sdk_starts_it(place: Installed) -> None:
    node = pinned_node(HERE)
    asked = {"command": str(place.tieout), "args": ["stdio", "--demo"], "env": place.environment}
    ran = subprocess.run(
        [node, HERE / "sdk_client.mjs", json.dumps(asked), json.dumps(STATEMENT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=STARTING,
    )
    assert ran.returncode == 0, ran.stderr
    for told in json.loads(ran.stdout):
        assert set(told["tools"]) == LISTED
        assert told["statement"]["rows"]


@pytest.mark.usefixtures("demo")
def test_the_inspector_starts_it(place: Installed, tmp_path: Path) -> None:
    node = pinned_node(HERE)
    variables = [part for name, value in place.environment.items() for part in ("-e", f"{name}={value}")]

    (line,) = re.findall(
        r"^npx @modelcontextprotocol/inspector --cli (tieout .*) --method tools/list$", PAGES, re.MULTILINE
    )
    command = shlex.split(line)[1:]

    def inspected(*arguments: str) -> Any:
        ran = inspect(node, tmp_path, *variables, place.tieout, *command, *arguments)
        assert ran.exit_code == 0, ran.complaint
        return ran.printed["result"]

    assert {tool["name"] for tool in inspected("--method", "tools/list")["tools"]} == LISTED
    call = ("--method", "tools/call", "--tool-name", "run_statement", "--tool-arg", "period_start=2026-09")
    assert inspected(*call)["structuredContent"]["rows"]


@pytest.mark.usefixtures("demo")
def test_the_bundle_is_valid_and_starts_as_its_manifest_says(place: Installed, wheel: Path, tmp_path: Path) -> None:
    node = node_of_the_bundle()
    unpacked = packed_bundle(node, wheel, tmp_path)
    variables = {
        **OFFLINE,
        "UV_PROJECT_ENVIRONMENT": str(place.python.parents[1]),
        "UV_CACHE_DIR": str(tmp_path / "uv"),
    }
    path = {"PATH": f"{UV.parent}:{place.environment['PATH']}"}
    for settings in ({}, {"demo": False, "instance": str(place.demo)}):
        config = configured(node, unpacked, settings)
        environment = {**place.environment, **path, **variables, **config["env"]}
        asks(StdioServerParameters(command=config["command"], args=config["args"], env=environment))
    config = configured(node, unpacked, {"demo": False})
    refused = subprocess.run(
        [UV, *config["args"]],
        capture_output=True,
        text=True,
        check=False,
        env={**place.environment, **path, **variables, **config["env"]},
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "name the folder of your instance" in refused.stderr
