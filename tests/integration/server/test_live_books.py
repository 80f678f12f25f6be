"""Books that change while they are served: a new load is seen by the next call, a killed one never was."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.facts.manifest import current_version
from tests.support.books.loads import load_instance
from tests.support.books.small import write_ledger
from tests.support.service.servers import ERAS, connected, serving, wait_for

LEDGER = "date,scenario,amount\n2021-01-05,actual,{amount}\n"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """An instance of one amount of 10, loaded into the folder beside it."""
    instance = write_ledger(tmp_path, "2021-01-05 actual 10")
    load_instance(instance, tmp_path / "state")
    return instance


@pytest.mark.parametrize("era", ERAS)
def test_a_newly_published_load_is_seen_by_the_next_call(ledger: Path, tmp_path: Path, era: str) -> None:
    asked = {"metrics": ["revenue"], "scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}
    with serving(ledger, tmp_path / "state") as server, connected(server.url, era) as books:
        before = books.ask("run_metric_data", **asked)
        (ledger / "data" / "gl.csv").write_text(LEDGER.format(amount="12.5"))
        load_instance(ledger, tmp_path / "state")
        after = books.ask("run_metric_data", **asked)
        again = books.ask("run_metric_data", **asked)
    assert [before["rows"][0]["values"], after["rows"][0]["values"]] == [[10], [12.5]]
    assert before["data_version"] != after["data_version"] == again["data_version"]
    assert before["freshness"]["gl"]["actual"]["load_id"] != after["freshness"]["gl"]["actual"]["load_id"]


def test_a_load_that_is_killed_leaves_the_books_as_they_were(ledger: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    published = current_version(state / "store")
    months = [f"{year}-{month:02}" for year in range(1980, 2021) for month in range(1, 13)]  # a file to write for each
    rows = "".join(f"{month}-05,actual,{cents / 100}\n" for month in months for cents in range(200))
    (ledger / "data" / "gl.csv").write_text(LEDGER.format(amount=1) + rows)
    environment = {**os.environ, "SVC_INSTANCE": str(ledger), "SVC_STATE_DIR": str(state)}
    command: list[str | Path] = [Path(sys.executable).with_name("tieout"), "load"]
    staged = state / "store" / "facts" / "gl" / "actual"
    loaded = set(staged.iterdir())
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as loader:
        wait_for(lambda: loader.poll() is not None or set(staged.iterdir()) != loaded)
        loader.send_signal(signal.SIGKILL)
    assert loader.returncode == -signal.SIGKILL, "the load ended before it could be killed"
    assert current_version(state / "store") == published
    (ledger / "data" / "gl.csv").write_text(LEDGER.format(amount="12.5"))
    load_instance(ledger, state)  # nothing is locked, and what the killed load wrote is swept
    assert len(set(staged.iterdir())) == 1
