"""The check of the books at the start of a server: its process tells faults in the log of the server, and ends."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from server.ops.health_checks import NO_BOOKS
from server.run import data_check
from server.run.data_check import checked_data, find_faults, log_faults
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.service.keeper import children
from tests.support.service.servers import SERVE, serving, wait_for
from tests.support.service.workers import serve, workers

LACKS = "metric tens: account has no 'A9'"


@pytest.fixture
def loaded(tmp_path: Path) -> Path:
    """Loaded books whose metric names a member that is not there."""
    instance = write_instance(
        tmp_path / "small",
        facts={"gl": "date scenario account amount\n2021-01-05 actual A1 10"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount}
              tens: {measure: amount, where: {account: [A9]}}
            """
        },
        dimensions="account: {kind: leaf, members: live.account}\n",
        tables={"account": "id name\nA1 First"},
    )
    load_instance(instance, tmp_path / "state")
    return instance


def commands(server: int) -> list[bytes]:
    """Return the commands of the processes of a server that check its books."""
    lines = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children(server)]
    return [line for line in lines if data_check.MODULE.encode() in line]


def test_a_server_logs_what_the_books_lack_and_keeps_no_process_that_checks_them(loaded: Path, tmp_path: Path) -> None:
    with serving(loaded, tmp_path / "state") as server:
        wait_for(lambda: LACKS in server.log.read_text())
        wait_for(lambda: not commands(server.process.pid))
        assert "the check of the books" not in server.log.read_text()


def test_a_reload_does_not_read_the_books_again(loaded: Path, tmp_path: Path) -> None:
    with serving(loaded, tmp_path / "state", command=SERVE, SVC_WORKERS="1") as server:
        wait_for(lambda: LACKS in server.log.read_text())
        for times in (1, 2):
            (before,) = workers(server)
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: server.log.read_text().count(" were reloaded: ") == times)  # noqa: B023 - in this round
            wait_for(lambda: serve(server, 1) and workers(server) != [before])  # noqa: B023 - in this round
        assert server.log.read_text().count(LACKS) == 1
        assert not commands(server.process.pid)


def test_a_check_reads_its_files_though_a_reload_deletes_those_of_the_server(
    loaded: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = tmp_path / "run" / "instance-1"
    shutil.copytree(loaded, files)
    with checked_data(files, loaded, tmp_path / "state" / "store"):
        shutil.rmtree(files)
        wait_for(lambda: caplog.records != [])
    assert [record.getMessage() for record in caplog.records] == [f"domains/gl.yaml:9: {LACKS}"]


def test_a_state_folder_without_books_is_told(loaded: Path, tmp_path: Path) -> None:
    assert find_faults(loaded, loaded, tmp_path / "nothing") == [NO_BOOKS]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise SystemExit(3)", "the check of the books failed with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "the check of the books was ended by signal 9"),
    ],
)
def test_a_check_that_fails_is_told_unless_the_server_stops(
    code: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    stopping = Event()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        log_faults(process, stopping)
    assert [record.getMessage() for record in caplog.records] == [told]
    caplog.clear()
    stopping.set()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        log_faults(process, stopping)
    assert not caplog.records
