"""The history of loads in the metrics: how many attempts of each feed ended how, and when one last succeeded."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client.utils import floatToGoString

from engine.facts.load_modes import LoadMode
from server.base.interfaces import LoadCount, LoadHistory
from server.base.settings import Settings
from server.feeds.feeds import LoadAttempt, LoadStatus
from server.run.embedded.platform import platform
from server.telemetry.metrics import Metrics
from tests.support.engines.memory import MemoryLoads

BEGAN = datetime(2026, 11, 1, 6, tzinfo=UTC)


@pytest.fixture(params=["memory", "postgresql"])
def loads(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LoadHistory]:
    """A history of loads, in each store."""
    if request.param == "memory":
        yield MemoryLoads()
        return
    with platform(Settings(instance=tmp_path, state=tmp_path)) as opened:
        opened.wait()
        yield opened.loads


def attempt(number: int, binding: str, status: LoadStatus, hours: int | None) -> LoadAttempt:
    """Return an attempt that ended some hours after the first began, or runs."""
    return LoadAttempt(
        load_id=f"l{number}",
        binding=binding,
        source="files",
        target=f"live.{binding}",
        mode=LoadMode.FULL,
        status=status,
        started_at=BEGAN,
        finished_at=None if hours is None else BEGAN + timedelta(hours=hours),
    )


def test_attempts_are_counted_by_feed_and_status(loads: LoadHistory) -> None:
    assert loads.tally() == []
    ended = [
        attempt(1, "gl", LoadStatus.SUCCESS, 1),
        attempt(2, "gl", LoadStatus.SUCCESS, 3),
        attempt(3, "gl", LoadStatus.FAILED_CONNECT, 5),
        attempt(4, "people", LoadStatus.FAILED_VALIDATE, 2),
        attempt(5, "people", LoadStatus.RUNNING, None),
    ]
    for known in ended:
        loads.begin(known)
    assert sorted((tally.binding, tally.status.value, tally.attempts, tally.latest) for tally in loads.tally()) == [
        ("gl", "failed_connect", 1, BEGAN + timedelta(hours=5)),
        ("gl", "success", 2, BEGAN + timedelta(hours=3)),
        ("people", "failed_validate", 1, BEGAN + timedelta(hours=2)),
        ("people", "running", 1, None),
    ]


def test_a_feed_that_never_succeeded_did_so_at_the_beginning_of_time() -> None:
    metrics = Metrics()
    metrics.loads(
        [
            LoadCount(binding="gl", status=LoadStatus.SUCCESS, attempts=2, latest=BEGAN),
            LoadCount(binding="people", status=LoadStatus.FAILED_VALIDATE, attempts=1, latest=BEGAN),
        ],
        ["gl", "people", "rates"],
    )
    page = metrics.page().decode()
    assert 'tieout_load_attempts{binding="gl",status="success"} 2.0' in page
    assert 'tieout_load_attempts{binding="people",status="failed_validate"} 1.0' in page
    assert 'tieout_load_attempts{binding="rates",status="failed_connect"} 0.0' in page  # or its first would be no rise
    began = floatToGoString(BEGAN.timestamp())  # type: ignore[no-untyped-call]  # prometheus_client gives it no types
    assert f'tieout_load_last_success_timestamp_seconds{{binding="gl"}} {began}' in page
    assert 'tieout_load_last_success_timestamp_seconds{binding="people"} 0.0' in page
    assert 'tieout_load_last_success_timestamp_seconds{binding="rates"} 0.0' in page
