"""Systems that are not Linux: the service works without prctl, seccomp and /proc, or ends at once and says why."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from server.run import ELSEWHERE
from server.run.embedded import launch
from tests.support.books.loads import ROOT
from tests.support.service.keeper import alive, children
from tests.support.service.servers import wait_for
from tests.support.service.stdio import TIEOUT, hosting

ASKED = {"scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}
NOT_LINUX = str(ROOT / "tests" / "support" / "machine" / "not_linux")
DEADLINE = 30.0


def test_the_slice_works_without_what_only_linux_has(
    small_instance: tuple[Path, Path], history: str, tmp_path: Path
) -> None:
    (tmp_path / "store").symlink_to(small_instance[1] / "store")
    with hosting(small_instance[0], tmp_path, PYTHONPATH=NOT_LINUX, DATABASE_URL=history) as host:
        host.shake_hands()
        listed = {tool["name"] for tool in host.ask("tools/list")["result"]["tools"]}
        assert {"run_statement", "inspect_rows", "export_dataset"} <= listed
        assert "eval_chart_transform" not in listed
        assert host.call("eval_chart_transform")["error_type"] == "tool_disabled"
        report = host.call("run_statement", statement="pnl", **ASKED)
        assert report["rows"]
        assert host.call("run_metric", metrics=["revenue"], dimensions=["region"], **ASKED)["rows"]
        assert Path(host.call("export_dataset", data_ref=report["data_ref"], format="json")["path"]).is_file()
        assert host.call("list_load_history", dataset_id="live.gl", period="2021") is not None
    log = (tmp_path / "stdio" / "server.log").read_text()
    assert "eval_chart_transform is not offered, scripts cannot run here: scripts run on Linux only" in log
    assert "Traceback" not in log


def test_check_lists_what_is_missing(small_instance: tuple[Path, Path], tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": NOT_LINUX, "SVC_STATE_DIR": str(tmp_path), "COLUMNS": "300"}
    said = subprocess.run(
        [TIEOUT, "check", small_instance[0]], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert "scripts are off" in said
    assert "results are kept in the memory of the one worker" in said


@pytest.mark.parametrize("command", ["serve", "stdio", "check"])
def test_a_system_that_cannot_work_ends_at_once(command: str) -> None:
    script = f"import sys; sys.platform = 'win32'; from server.run.cli import main; main(['{command}'])"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (ended.returncode, ended.stdout, ended.stderr.strip()) == (1, "", ELSEWHERE)


def watched(*program: str) -> subprocess.Popen[bytes]:
    """Start a process that keeps a program as on a system without prctl, until it is killed."""
    script = (
        "import os, subprocess, sys\n"
        f"given = [str(os.getpid()), '{int(signal.SIGTERM)}', 'watched', *{list(program)!r}]\n"
        f"subprocess.Popen([sys.executable, '-I', '-S', {launch.__file__!r}, *given]).wait()\n"
    )
    return subprocess.Popen([sys.executable, "-c", script])


def test_an_embedded_server_ends_with_its_keeper_where_the_kernel_does_not_see_to_it() -> None:
    with watched("/bin/sleep", "60") as keeper:
        wait_for(lambda: bool(children(keeper.pid)) and bool(children(children(keeper.pid)[0])))
        (launcher,) = children(keeper.pid)
        (program,) = children(launcher)
        keeper.kill()
        keeper.wait(DEADLINE)
    wait_for(lambda: not alive(program) and not alive(launcher))


def test_a_watched_program_gets_the_signals_and_gives_its_status() -> None:
    command = [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), str(int(signal.SIGTERM)), "watched"]
    assert subprocess.run([*command, "/bin/sh", "-c", "exit 7"], check=False).returncode == 7
    refused = subprocess.run([*command, "/no/program"], check=False, capture_output=True)
    assert (refused.returncode, b"No such file" in refused.stderr) == (launch.REFUSED, True)
    for begins in (True, False):  # a signal may come before the program has begun
        with subprocess.Popen([*command, "/bin/sleep", "60"]) as process:
            ends = time.monotonic() + DEADLINE
            while not children(process.pid):  # without a pause, which would let the program begin
                assert time.monotonic() < ends
            if begins:
                wait_for(lambda: Path(f"/proc/{children(process.pid)[0]}/comm").read_text() == "sleep\n")
            process.terminate()
            assert process.wait(DEADLINE) == signal.SIGTERM
