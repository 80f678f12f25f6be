"""Fixtures of all tests: one server of each kind for a whole run."""

import gc
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpcore2
import httpx2
import pytest
from hypothesis import HealthCheck, settings

from server.base.settings import Settings
from server.run.embedded.platform import platform
from tests.support.books.demo import DEMO, ROWS, generate
from tests.support.books.loads import (
    ABSENT,
    ADVENTUREWORKS,
    ROOT,
    edited_copy,
    load_feeds,
    load_instance,
    made_once,
    needs,
)
from tests.support.checks.memo_check import checked_memos
from tests.support.engines.memory import MEMORY, holds_a_run
from tests.support.machine.programs import mark
from tests.support.service.servers import DEADLINE, McpBooks, Server, connected, serving

pytest_plugins = ["tests.support.fixtures", "tests.support.books.attached"]

UNCUT = "1000000"  # an answer budget that nothing in these tests exceeds
AW = ROOT / "instances" / "adventureworks"

SLOW: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck), "report_multiple_bugs": False}
settings.register_profile("short", max_examples=4, derandomize=True, **SLOW)  # of `make test`
settings.register_profile("whole", max_examples=25, derandomize=True, **SLOW)  # of `make test-all`
settings.register_profile("thorough", max_examples=100, derandomize=True, **SLOW)  # of the mutations
settings.register_profile("deep", max_examples=100, **SLOW)  # of each round of `make test-deep`
settings.register_profile("order", max_examples=400, **SLOW)  # of each round of `make test-deep PARTS=order`
settings.register_profile("few", max_examples=8, **SLOW)  # of each round in Spark
settings.register_profile("fuzz", max_examples=2500, **SLOW)  # of eight cases each
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))

httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)  # whom to trust: reading it outlasts a request
for call in (httpx2.Client.__init__, httpx2.AsyncClient.__init__, httpx2.get, httpx2.post, httpx2.put, httpx2.delete):
    (call.__kwdefaults__ or {})["timeout"] = httpx2.Timeout(DEADLINE)  # its own 5 s pass on a busy machine

SKIPPED: dict[str, str] = {}  # the reasons, by test
SKIPS = "SKIPPED_TESTS"  # names a file that a run writes SKIPPED to, for whoever runs the rest elsewhere


def pytest_configure(config: pytest.Config) -> None:
    """Give processes that the tests start a taken port; in CI take the default ports as well.

    A server without free ports of its own cannot start then, as it could not while another server runs. The folders of
    tests lie in memory where it holds them: stores and databases wait for the disk at each thing that they keep.
    """
    if "PYTEST_DEBUG_TEMPROOT" not in os.environ and holds_a_run():  # a folder of this run, which no other one clears
        os.environ["PYTEST_DEBUG_TEMPROOT"] = root = mkdtemp(prefix="tieout-tests-", dir=MEMORY)
        config.add_cleanup(partial(shutil.rmtree, root, ignore_errors=True))
    taken = socket.create_server(("127.0.0.1", 0))
    config.add_cleanup(taken.close)
    port = taken.getsockname()[1]
    os.environ |= {"SVC_PORT": str(port), "SVC_OPS_BIND": f"127.0.0.1:{port}"}
    if os.environ.get("CI"):
        for default in (Settings().port, Settings().ops_address[1]):
            with suppress(OSError):  # another process of this run, or a server, has it
                config.add_cleanup(socket.create_server(("127.0.0.1", default)).close)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect the tests without garbage collections; later ones pass over the tests and modules, which stay."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that is marked with a program that is not installed."""
    mark({name for found in item.iter_markers("program") for name in found.args})


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember what was skipped, and why; an expected failure is not a skip."""
    if report.skipped and not hasattr(report, "wasxfail"):
        SKIPPED[report.nodeid] = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in CI that skipped something, real books apart; let the modules be collected at the end."""
    gc.unfreeze()
    if os.environ.get("CI") and not all(ABSENT in reason for reason in SKIPPED.values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if (file := os.environ.get(SKIPS)) and not hasattr(session.config, "workerinput"):
        Path(file).write_text(json.dumps(SKIPPED), encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def memos() -> Iterator[None]:
    """With CHECK_MEMOS=1, hold all that is kept in the processes of the tests to what would be made now."""
    every = int(os.environ.get("CHECK_MEMOS", "0"))
    with checked_memos(every) if every else nullcontext():
        yield


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the demo with its data, loaded into its own state folder, its loads remembered there."""

    def load_demo(into: Path) -> None:
        copy = edited_copy(DEMO, into, {})
        made = generate(copy / "data", ROWS)
        assert made.returncode == 0, made.stderr
        with platform(Settings(instance=copy)) as opened:
            opened.wait()
            load_feeds(copy, copy / ".tieout", loads=opened.loads)

    return made_once(tmp_path_factory, "demo", load_demo) / DEMO.name


@pytest.fixture(scope="session")
def demo_server(demo_folder: Path) -> Iterator[Server]:
    """A server of the demo as committed."""
    with serving(demo_folder, demo_folder / ".tieout") as server:
        yield server


@pytest.fixture(scope="session")
def demo(demo_server: Server) -> Iterator[McpBooks]:
    """A client of the demo; conformance and the audit test both protocol eras."""
    with connected(demo_server.url, "auto") as books:
        yield books


@pytest.fixture(scope="session")
def adventureworks_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder of AdventureWorks, loaded."""
    needs(ADVENTUREWORKS)
    os.environ["ADVENTUREWORKS"] = str(ADVENTUREWORKS)
    return made_once(tmp_path_factory, "adventureworks", lambda state: load_instance(AW, state))


@pytest.fixture(scope="session")
def adventureworks_server(adventureworks_state: Path) -> Iterator[Server]:
    """A server of AdventureWorks as committed."""
    with serving(AW, adventureworks_state, SVC_ANSWER_TOKENS=UNCUT) as server:
        yield server


@pytest.fixture(scope="session")
def adventureworks(adventureworks_server: Server) -> Iterator[McpBooks]:
    """A client of AdventureWorks."""
    with connected(adventureworks_server.url, "auto") as books:
        yield books


@pytest.fixture(scope="session")
def closing_by_day(adventureworks_state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """AdventureWorks with balances closing at the last posting date instead of the last month."""
    copy = edited_copy(
        AW, tmp_path_factory.mktemp("by_day"), {"domains/finance.yaml": ("grain: month}", "grain: day}")}
    )
    with (
        serving(copy, adventureworks_state, SVC_ANSWER_TOKENS=UNCUT) as server,
        connected(server.url, "auto") as books,
    ):
        yield books


@pytest.fixture(scope="session")
def usa_only(adventureworks_state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """AdventureWorks as a caller sees it whose profile allows the USA alone."""
    assigned = ("{subject: dev, profile: controller}", "{subject: dev, profile: usa}")
    copy = edited_copy(AW, tmp_path_factory.mktemp("usa"), {"profiles.yaml": assigned})
    with (
        serving(copy, adventureworks_state, SVC_ANSWER_TOKENS=UNCUT) as server,
        connected(server.url, "auto") as books,
    ):
        yield books
