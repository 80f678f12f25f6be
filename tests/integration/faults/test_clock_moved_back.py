"""A clock that moved back: what was loaded last is what is shown last, whatever time it was then."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.door import open_books
from server.base.interfaces import LoadQuery
from server.base.settings import Settings
from server.run.embedded.platform import platform
from tests.support.books.small import figure, write_instance
from tests.support.machine.programs import needs_program
from tests.support.service.clocks import sweep

DOMAIN = """
    time: {column: date}
    dimensions: {account: account}
    measures: {amount: {places: 2}}
    metrics:
      revenue: {measure: amount}
"""


@pytest.mark.program("faketime")
def test_the_load_after_the_clock_moved_back_is_the_latest(tmp_path: Path) -> None:
    instance = write_instance(
        tmp_path / "small", facts={"gl": "date"}, domains={"gl": DOMAIN}, dimensions="account: {kind: leaf}"
    )
    state, ledger = tmp_path / "state", instance / "data" / "gl.csv"
    settings = Settings(instance=instance, state=state)
    environment = {**os.environ, "SVC_INSTANCE": str(instance), "SVC_STATE_DIR": str(state)}
    command: list[str | Path] = [Path(sys.executable).with_name("tieout"), "load", "gl"]
    sweep()
    moved = [needs_program("faketime"), "-f", "-40d", *command]
    with platform(settings) as keeper:
        keeper.wait()
        loads: list[str] = []
        for amount, run in ((1, command), (2, moved), (3, moved)):
            ledger.write_text(f"date,scenario,account,amount\n2021-01-05,actual,A,{amount}\n")
            subprocess.run(run, env={**environment, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}, check=True)
            latest, *before = keeper.loads.find(LoadQuery(bindings={"gl"}))
            assert [attempt.load_id for attempt in before] == loads
            loads.insert(0, latest.load_id)
            report = open_books(instance, state=state).metric("revenue", scenarios={"A": "actual"}, period="2021")
            assert figure(report) == amount
            assert report.freshness["gl"]["actual"].load_id == latest.load_id
        first, second = (keeper.loads.get(load_id) for load_id in (loads[-1], loads[-2]))
    assert first is not None
    assert second is not None
    assert (first.started_at - second.started_at).days >= 39  # the clock really was moved
