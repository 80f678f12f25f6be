"""The processes of the conformance tests: servers of a tiny instance, the shim before one, and the Node tools."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from secrets import token_urlsafe
from time import monotonic, sleep
from typing import Any

from tests.support.service.servers import free_ports

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
CLIENTS = MODULES / "@modelcontextprotocol" / "inspector" / "clients"
INSPECTOR = CLIENTS / "launcher" / "build" / "index.js"
TIEOUT = Path(sys.executable).with_name("tieout")
PATIENCE_SECONDS = 60
SUITE_SECONDS = 300
SCENARIO_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
Environment = Mapping[str, str]
Checks = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that runs: where it listens, the key it takes, and the folder it prints into."""

    port: int
    key: str
    folder: Path

    @property
    def url(self) -> str:
        """Where its endpoint is."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def answers(self) -> bool:
        """Return whether it is up; its key was made for it, so no other server on the port is taken for it."""
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)) as connection:
            try:
                connection.request("POST", "/mcp", body, headers)
                return connection.getresponse().status == 200
            except OSError:
                return False


@dataclass(frozen=True, slots=True)
class InspectorRun:
    """How one run of the Inspector ended."""

    exit_code: int
    printed: Any
    complaint: str


@contextmanager
def served(command: Sequence[str | Path], books: Environment, folder: Path) -> Iterator[RunningServer]:
    """Serve loaded books on a free port until the block ends."""
    ports = free_ports()
    server = RunningServer(int(ports["SVC_PORT"]), token_urlsafe(32), folder)
    environment = {**books, **ports, "MCP_DEV_KEY": server.key}
    with started(command, environment, folder) as process:
        until(server.answers, process, folder)
        yield server


@contextmanager
def shim(server: RunningServer, folder: Path) -> Iterator[str]:
    """Forward to a server with its key added until the block ends; yields the address that takes no key."""
    environment = {"PATH": os.environ["PATH"], "SHIM_TO_PORT": str(server.port), "SHIM_KEY": server.key}
    with started([sys.executable, HERE / "shim.py"], environment, folder) as process:
        port = until((folder / "out").read_text, process, folder)
        yield f"http://127.0.0.1:{int(port)}/mcp"
    complaints = (folder / "err").read_text()
    assert not complaints, complaints


def conformance(node: Path, server: RunningServer, folder: Path, package: str, *arguments: str) -> Mapping[str, Checks]:
    """Run one version of the suite and return the checks of each scenario."""
    runner = MODULES / package / "dist" / "index.js"
    with shim(server, folder) as url:
        command = [str(node), str(runner), "server", "--url", url, *arguments, "--output-dir", str(folder / "results")]
        ran = subprocess.run(
            command, cwd=folder, env=at_home(folder), capture_output=True, text=True, check=False, timeout=SUITE_SECONDS
        )
    assert ran.returncode in {0, 1}, ran.stderr  # 1: some scenario failed, which its checks tell better
    found = ((SCENARIO_FOLDER.fullmatch(path.parent.name), path) for path in (folder / "results").glob("*/checks.json"))
    return {named["scenario"]: json.loads(path.read_bytes()) for named, path in found if named}


def inspect(node: Path, folder: Path, *arguments: str | Path, catalog: bool = True) -> InspectorRun:
    """Run the Inspector's command line; without a catalog of its own it can be given a client's configuration."""
    environment = at_home(folder) | ({"MCP_CATALOG_PATH": str(folder / "catalog.json")} if catalog else {})
    ran = subprocess.run(
        [node, INSPECTOR, "--cli", "--format", "json", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    return InspectorRun(ran.returncode, json.loads(ran.stdout) if ran.stdout else None, ran.stderr)


@contextmanager
def inspector_runs(node: Path, folder: Path) -> Iterator[Callable[..., InspectorRun]]:
    """Yield what runs the Inspector's command line as `inspect` does, in one process until the block ends."""
    environment = at_home(folder) | {"MCP_CATALOG_PATH": str(folder / "catalog.json")}
    command = [node, HERE / "inspector_runs.mjs", CLIENTS / "cli" / "build" / "index.js"]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        asked, told = process.stdin, process.stdout
        assert asked is not None
        assert told is not None

        def run(*arguments: str) -> InspectorRun:
            asked.write(f"{json.dumps(['--format', 'json', *arguments])}\n")
            asked.flush()
            exit_code, out, complaint = json.loads(told.readline())
            return InspectorRun(exit_code, json.loads(out) if out else None, complaint)

        yield run


def at_home(folder: Path) -> dict[str, str]:
    """Return an environment in which a Node tool keeps its files in a folder."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder)}


@contextmanager
def started(command: Sequence[str | Path], environment: Environment, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that prints into a folder until the block ends."""
    with (
        (folder / "out").open("wb") as out,
        (folder / "err").open("wb") as err,
        subprocess.Popen(command, env=environment, stdout=out, stderr=err) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def until(ready: Callable[[], Any], process: subprocess.Popen[bytes], folder: Path) -> Any:
    """Return the first true answer while the process lives and patience lasts."""
    deadline = monotonic() + PATIENCE_SECONDS
    while process.poll() is None and monotonic() < deadline:
        if answer := ready():
            return answer
        sleep(0.02)
    raise AssertionError(f"the process is not ready:\n{(folder / 'err').read_text()}")
