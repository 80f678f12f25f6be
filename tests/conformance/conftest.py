"""What the conformance tests share: the pinned Node and servers of a tiny instance, once for a whole run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.running import HERE, TIEOUT, Environment, RunningServer, served, started, until
from tests.support.books.loads import ROOT, edited_copy
from tests.support.machine.node import pinned_node


@pytest.fixture(scope="session")
def node() -> Path:
    """The pinned Node where it is installed, else the one on the path where it is new enough."""
    return pinned_node(HERE)


@pytest.fixture(scope="session")
def tiny_books(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment of loaded books: AdventureWorks with a handful of rows of our own."""
    folder = tmp_path_factory.mktemp("tiny_books")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "ADVENTUREWORKS": str(HERE / "data"),
        "SVC_INSTANCE": str(edited_copy(ROOT / "instances" / "adventureworks", folder, {})),
        "SVC_STATE_DIR": str(folder / "state"),
    }
    loaded = subprocess.run([TIEOUT, "load"], env=environment, capture_output=True, text=True, check=False)
    assert loaded.returncode == 0, loaded.stderr
    return environment


@pytest.fixture(scope="session")
def real(tiny_books: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The server as a user starts it."""
    with served([TIEOUT, "serve"], tiny_books, tmp_path_factory.mktemp("real")) as server:
        yield server


@pytest.fixture(scope="session")
def over_stdio(
    real: RunningServer, tiny_books: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """The bridge to that server, with an address; it takes any key."""
    folder = tmp_path_factory.mktemp("over_stdio")
    with started([sys.executable, HERE / "stdio_shim.py", TIEOUT, "stdio"], tiny_books, folder) as process:
        port = until((folder / "out").read_text, process, folder)
        yield RunningServer(int(port), real.key, folder)


@pytest.fixture(scope="session")
def with_fixture_tools(tiny_books: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The same server with the tools that the suite calls by name."""
    command = [sys.executable, "-m", "tests.conformance.fixture_server"]
    with served(command, tiny_books, tmp_path_factory.mktemp("with_fixture_tools")) as server:
        yield server
