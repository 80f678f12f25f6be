"""Instances as they are served: every file that people wrote reaches the workers, and a changed one is read again."""

import os
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

import pytest

from engine.facts.manifest import DamagedBooks
from engine.instance.read import instance_files
from server.ingest.folder import InstanceWatcher
from tests.support.books.calendars import four_four_five, table
from tests.support.books.loads import load_instance
from tests.support.books.small import write_ledger
from tests.support.service.forks import tieout
from tests.support.service.servers import connected, free_ports, serving
from tests.support.service.stdio import hosting

COLUMN = [{"scenario": "actual", "alias": "A"}]
WEEKS = table(date(2024, 12, 29), {2025: four_four_five(), 2026: four_four_five()}, by_week=True)
HARMS: Mapping[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "damaged": lambda path: path.write_bytes(b"no rows"),
}


@pytest.fixture
def retail(tmp_path: Path) -> Path:
    """A ledger of months, with a second calendar of weeks: 4-4-5 from 28 December 2025."""
    folder = write_ledger(tmp_path, "2025-12-28 actual 10\n2026-01-24 actual 20\n2026-01-25 actual 40")
    with (folder / "instance.yaml").open("a") as file:
        file.write("trading_calendar: trading.csv\n")
    (folder / "trading.csv").write_text(WEEKS)
    (folder / "orientation.md").write_text("Weeks begin on Sundays.\n")
    return folder


def test_an_instance_with_a_trading_calendar_is_served(retail: Path, tmp_path: Path) -> None:
    load_instance(retail, tmp_path / "state")
    with serving(retail, tmp_path / "state") as server, connected(server.url, "auto") as books:
        told = books.ask("run_metric_data", metrics=["revenue"], scenarios=COLUMN, period_start="TY2026-P01")
        assert "Weeks begin on Sundays." in books.ask("svc_orientation")["orientation"]
    assert [row["values"] for row in told["rows"]] == [[30]]  # 28 December to 24 January


def test_an_instance_with_a_trading_calendar_is_served_to_a_host_on_this_machine(retail: Path, tmp_path: Path) -> None:
    load_instance(retail, tmp_path / "state")
    with hosting(retail, tmp_path / "state") as host:
        host.shake_hands()
        told = host.call("run_metric_data", metrics=["revenue"], scenarios=COLUMN, period_start="TY2026-P01")
    assert [row["values"] for row in told["rows"]] == [[30]]


def test_the_files_of_an_instance_are_those_that_people_wrote(retail: Path) -> None:
    (retail / "rates.csv").write_text("data of a feed\n")
    (retail / "charts.json").write_text("[]")
    assert instance_files(retail) == [
        *("instance.yaml", "dimensions.yaml", "domains/gl.yaml", "scenarios.yaml", "profiles.yaml"),
        *("integrations.yaml", "orientation.md", "charts.json", "trading.csv"),
    ]


@pytest.mark.parametrize("name", ["../outside.csv", "/etc/passwd", "{}", "a/b.csv", "absent.csv"])
def test_no_file_outside_its_folder_is_one_of_an_instance(retail: Path, name: str) -> None:
    (retail.parent / "outside.csv").write_text("what nobody may copy\n")
    (retail / "instance.yaml").write_text(f"name: Small\ncurrency: USD\ncalendar: {name}\ntrading_calendar: []\n")
    assert not [file for file in instance_files(retail) if file.endswith((".csv", "passwd"))]


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_store_that_is_damaged_is_unavailable_with_the_name_of_the_file(
    retail: Path, tmp_path: Path, harm: Callable[[Path], object]
) -> None:
    load_instance(retail, tmp_path / "state")
    files = sorted((tmp_path / "state" / "store").rglob("*.arrow"))
    assert files
    for file in files:
        file.chmod(0o600)
        harm(file)
    with serving(retail, tmp_path / "state", healthy=False) as server, connected(server.url, "auto") as books:
        told = books.call("run_metric_data", metrics=["revenue"], scenarios=COLUMN, period_start="2026-01")
        log = server.log.read_text()
    assert told.is_error
    assert told.result["error_type"] == "unavailable"
    assert any(f"{file.parent.name}/{file.name}" in told.result["error"] for file in files)
    assert str(tmp_path) not in told.result["error"]
    assert "Traceback" not in log


@pytest.mark.parametrize("file", ["CURRENT", "manifests/000001.json"])
@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_store_that_lost_its_version_is_unavailable_and_no_load_replaces_it(
    retail: Path, tmp_path: Path, file: str, harm: Callable[[Path], object]
) -> None:
    store = tmp_path / "state" / "store"
    load_instance(retail, tmp_path / "state")
    harm(store / file)
    files = sorted(store.rglob("*"))
    with serving(retail, tmp_path / "state", healthy=False) as server, connected(server.url, "auto") as books:
        told = books.call("run_metric_data", metrics=["revenue"], scenarios=COLUMN, period_start="2026-01")
        log = server.log.read_text()
    assert told.is_error
    assert told.result["error_type"] == "unavailable"
    assert file in told.result["error"]
    assert "Traceback" not in log
    with pytest.raises(DamagedBooks, match=file):
        load_instance(retail, tmp_path / "state")
    assert sorted(store.rglob("*")) == files


def test_a_folder_that_is_no_instance_is_told_so_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    ended = tieout("serve", "--instance", tmp_path, **{**os.environ, **free_ports()})
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines()[-1] == (
        f"{tmp_path}: is no instance, for it has no instance.yaml — name the folder of an instance, make one with "
        "tieout init, or serve made-up books with --demo"
    )


def test_a_misspelt_setting_is_said(retail: Path) -> None:
    ended = tieout("check", retail, **os.environ, SVC_WORKRES="4", SVC_IMAGE="tieout", SVC_NOTHING_LIKE_IT="1")
    assert ended.returncode == 0
    assert ended.stderr.splitlines() == [
        "SVC_NOTHING_LIKE_IT is no setting and is ignored",
        "SVC_WORKRES is no setting and is ignored; is SVC_WORKERS meant?",
    ]


@pytest.mark.parametrize("file", ["trading.csv", "orientation.md"])
def test_a_file_beside_the_yaml_that_changes_is_read_again(retail: Path, file: str) -> None:
    watcher = InstanceWatcher(retail)
    assert not watcher.look()
    (retail / file).write_text((retail / file).read_text() + "\n")
    assert not watcher.look()  # edits may go on
    assert watcher.look()
