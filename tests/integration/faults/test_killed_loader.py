"""A loader killed at any moment: the books are those of before or of after, and the history says which."""

import os
import random
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

from engine.door import open_books
from server.base.interfaces import LoadQuery
from server.base.settings import Settings
from server.feeds.feeds import LoadStatus
from server.feeds.instance import read_instance
from server.ingest.folder import BooksFolder
from server.ingest.load import settle_attempts
from server.run.embedded.platform import platform
from tests.support.books.small import figure, write_instance
from tests.support.checks.depth import DEEP
from tests.support.service.servers import wait_for

TIMES = 10 if DEEP else 5
LOAD = """
import sys
from engine.facts import files, landing
from server.run.cli import main

landing.HELD_BYTES = 0  # all rows are spooled, as most of a large file are
landing.SORTED_BYTES = files.LARGE_BYTES = 1000  # months are sorted in ranges, and written by column, as large ones are
sys.exit(main(["load", "gl"]))
"""
DOMAIN = """
    time: {column: date}
    dimensions: {account: account}
    measures: {amount: {places: 2}}
    metrics:
      revenue: {measure: amount}
"""


def ledger_of(amount: int) -> str:
    """Return a ledger of ten years whose months all have the same amount."""
    days = (f"20{year}-{month:02}-{day:02}" for year in range(11, 21) for month in range(1, 13) for day in (1, 15, 28))
    rows = (f"{day},actual,A{account},{amount}\n" for day in days for account in range(50))
    return "date,scenario,account,amount\n" + "".join(rows)


def revenue(instance: Path, state: Path) -> Decimal:
    """Return the amount of one account and day."""
    books = open_books(instance, state=state)
    total = figure(books.metric("revenue", scenarios={"A": "actual"}, period=("2011", "2020")))
    assert total is not None
    return total / (10 * 12 * 3 * 50)


def test_random_kills_of_the_loader(tmp_path: Path) -> None:
    instance = write_instance(
        tmp_path / "small", facts={"gl": "date"}, domains={"gl": DOMAIN}, dimensions="account: {kind: leaf}"
    )
    state, ledger = tmp_path / "state", instance / "data" / "gl.csv"
    environment = {**os.environ, "SVC_INSTANCE": str(instance), "SVC_STATE_DIR": str(state)}
    command = [sys.executable, "-c", LOAD]
    settings = Settings(instance=instance, state=state)
    place = BooksFolder(catalogue=read_instance(instance).catalogue, folder=instance, state=state)
    moments = random.Random(69)
    with platform(settings) as keeper:  # the database outlives the loaders
        keeper.wait()
        ledger.write_text(ledger_of(1))
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as loader:
            wait_for(lambda: bool(keeper.loads.running()))
            began = time.monotonic()
            loader.communicate()
        whole, shown = time.monotonic() - began, Decimal(1)
        for amount in range(2, 2 + TIMES):
            ledger.write_text(ledger_of(amount))
            with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as loader:
                wait_for(lambda: bool(keeper.loads.running()))
                try:  # the first at once: on a machine that becomes faster all others may come to their end
                    loader.communicate(timeout=moments.random() * whole if amount > 2 else 0)
                except subprocess.TimeoutExpired:
                    loader.send_signal(signal.SIGKILL)
                    loader.communicate()
            settle_attempts(place, keeper.loads)
            latest = keeper.loads.find(LoadQuery(bindings={"gl"}, limit=1))[0]
            assert keeper.loads.running() == []
            found = revenue(instance, state)
            if found == amount:
                assert latest.status is LoadStatus.SUCCESS
                assert latest.rows_landed == 10 * 12 * 3 * 50
            else:
                assert found == shown
                assert (latest.status, latest.rows_landed) == (LoadStatus.FAILED_INTERRUPTED, 0)
            shown = found
        statuses = {attempt.status for attempt in keeper.loads.find(LoadQuery(bindings={"gl"}, limit=200))}
        assert statuses == {LoadStatus.SUCCESS, LoadStatus.FAILED_INTERRUPTED}
        subprocess.run(command, env=environment, check=True, capture_output=True)
        assert revenue(instance, state) == 1 + TIMES
    assert list((state / "spool").iterdir()) == []
