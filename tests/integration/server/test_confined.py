"""The commands under what Docker's default profile allows, as root and as an ordinary user, without a container."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.support.books.loads import ROOT
from tests.support.books.small import write_ledger
from tests.support.machine import confined
from tests.support.service.keeper import reached_by
from tests.support.service.servers import SERVE, connected, serving

NOBODY = pwd.getpwnam("nobody")
CONFINED = (sys.executable, confined.__file__)
ORDINARY = (*CONFINED, "--user", str(NOBODY.pw_uid), str(NOBODY.pw_gid)) if os.geteuid() == 0 else CONFINED
WHO = {"root": CONFINED, "ordinary": ORDINARY} if os.geteuid() == 0 else {"ordinary": ORDINARY}
REFUSED = "import ctypes; print(ctypes.CDLL(None).unshare(1 << 28))"
USES_STORES = "tests/unit/server/stores/test_loads.py"


@pytest.fixture(params=WHO)
def before(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """What starts a command under the filter, as one user."""
    reached_by(*WHO[request.param])
    return WHO[request.param]


def given(folder: Path) -> Path:
    """Return a folder that belongs to the ordinary user, where root runs the tests, with all that is in it."""
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
    return folder


def test_the_filter_refuses_namespaces(before: tuple[str, ...]) -> None:
    told = subprocess.run([*before, sys.executable, "-c", REFUSED], capture_output=True, text=True, check=True)
    assert told.stdout == "-1\n"


def test_books_are_loaded_and_served(before: tuple[str, ...], tmp_path: Path) -> None:
    instance, state = write_ledger(tmp_path, "2021-01-05 actual 10\n2021-01-06 actual 32"), tmp_path / "state"
    state.mkdir()
    if before is ORDINARY:
        given(tmp_path)
    environment = {**os.environ, "SVC_INSTANCE": str(instance), "SVC_STATE_DIR": str(state), "HOME": str(tmp_path)}
    subprocess.run([*before, SERVE[0], "load"], env=environment, check=True, stdout=subprocess.DEVNULL)
    with (
        serving(instance, state, command=(*before, *SERVE), HOME=str(tmp_path)) as server,
        connected(server.url, "auto") as books,
    ):
        told = books.ask(
            "run_metric_data",
            metrics=["revenue"],
            scenarios=[{"scenario": "actual", "alias": "A"}],
            period_start="2021-01",
        )
        ready = httpx2.get(f"{server.ops}/readyz").json()
        history = books.ask("list_load_history")
    assert [row["values"] for row in told["rows"]] == [[42]]
    assert {part["status"] for part in ready["checks"].values()} == {"ok"}
    assert history["loads"]


def test_tests_that_use_the_stores_pass(before: tuple[str, ...], tmp_path: Path) -> None:
    if before is ORDINARY:
        given(tmp_path)
    command: list[str | Path] = [*before, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, "--basetemp", tmp_path / "run", USES_STORES],
        cwd=ROOT,
        env={**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
