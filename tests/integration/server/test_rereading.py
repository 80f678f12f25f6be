"""A served instance whose files change: read anew at SIGHUP, kept as it was while they are faulty."""

import os
import pty
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.books.loads import load_instance
from tests.support.books.small import write_ledger
from tests.support.service.servers import SERVE, McpBooks, Server, connected, server_environment, serving, wait_for
from tests.support.service.workers import serve, serving_once, workers


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """An instance of one amount, loaded into the folder beside it."""
    instance = write_ledger(tmp_path, "2021-01-05 actual 10")
    load_instance(instance, tmp_path / "state")
    return instance


def name(books: McpBooks) -> str:
    """Return what the books are called."""
    return str(books.ask("svc_orientation")["name"])


def hang_up(server: Server) -> None:
    """Tell a server to read its files anew."""
    server.process.send_signal(signal.SIGHUP)


def test_a_served_instance_is_read_anew_at_sighup_and_kept_while_it_is_faulty(ledger: Path, tmp_path: Path) -> None:
    instance, scenarios = ledger / "instance.yaml", (ledger / "scenarios.yaml").read_text()
    with serving(ledger, tmp_path / "state") as server, connected(server.url, "auto") as books:
        before = books.ask("svc_orientation")
        instance.write_text("name: Renamed\ncurrency: USD\n")
        (ledger / "scenarios.yaml").write_text(
            "actual: {alias: A, kind: actual}\nactual: {alias: A}\nplan: {alias: B}\n"
        )
        hang_up(server)
        wait_for(lambda: "have faults; the previous ones stay in use" in server.log.read_text())
        assert "scenarios.yaml:2: says 'actual' twice" in server.log.read_text()
        assert "scenarios.yaml:3: plan.kind is missing" in server.log.read_text()
        assert name(books) == before["name"] == "Small"
        (ledger / "scenarios.yaml").write_text(scenarios)
        hang_up(server)
        wait_for(lambda: name(books) == "Renamed")
        after = books.ask("svc_orientation")
    assert before["catalogue_version"] != after["catalogue_version"]
    assert before["data_version"] == after["data_version"]


def test_a_worker_starts_from_the_files_before_however_often_faulty_ones_were_read(
    ledger: Path, tmp_path: Path
) -> None:
    with serving(ledger, tmp_path / "state", SVC_WORKERS="1") as server:
        (ledger / "instance.yaml").write_text("name: [\n")
        for times in (1, 2, 3):
            hang_up(server)
            wait_for(lambda: server.log.read_text().count("the previous ones stay in use") == times)  # noqa: B023 - in this round
        (first,) = workers(server)
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: serve(server, 1) and first not in workers(server))
        with connected(server.url, "auto") as books:
            assert name(books) == "Small"
        assert "Traceback" not in server.log.read_text()


def test_a_worker_that_starts_slowly_reads_its_files_though_newer_ones_came(ledger: Path, tmp_path: Path) -> None:
    with serving(ledger, tmp_path / "state", command=SERVE, SVC_WORKERS="1") as server:
        wait_for(lambda: serve(server, 1))
        hang_up(server)
        wait_for(lambda: len(workers(server)) == 2)
        (slow,) = set(workers(server)) - serving_once(server)
        os.kill(slow, signal.SIGSTOP)
        for times in (2, 3):
            hang_up(server)
            wait_for(lambda: server.log.read_text().count(" were reloaded: ") == times)  # noqa: B023 - in this round
        os.kill(slow, signal.SIGCONT)
        wait_for(lambda: serve(server, 1) and slow not in workers(server))
        assert slow in serving_once(server)
        assert " ended while it was " not in server.log.read_text()
        hang_up(server)
        wait_for(lambda: len(copies(server)) == 1)


def copies(server: Server) -> list[Path]:
    """Return the copies of the instance that a server keeps, beside the folder in which its workers count."""
    environment = Path(f"/proc/{workers(server)[0]}/environ").read_bytes().split(b"\0")
    (counts,) = (line.split(b"=", 1)[1] for line in environment if line.startswith(b"PROMETHEUS_MULTIPROC_DIR="))
    return list(Path(counts.decode()).parent.glob("instance-*"))


def test_a_server_whose_terminal_is_closed_ends(ledger: Path, tmp_path: Path) -> None:
    environment = server_environment(ledger, tmp_path / "state")
    port = int(environment["SVC_PORT"])
    terminal, other_end = pty.openpty()
    # a shell of its own session has the terminal, and the server is what it runs there
    command = ["setsid", "--ctty", "sh", "-c", f"{Path(sys.executable).with_name('tieout')} serve; exit $?"]
    with subprocess.Popen(
        command, env=environment, stdin=other_end, stdout=other_end, stderr=other_end, text=True
    ) as shell:
        os.close(other_end)
        wait_for(lambda: listens(port))
        os.close(terminal)
        wait_for(lambda: shell.poll() is not None)
    wait_for(lambda: not listens(port))


def listens(port: int) -> bool:
    """Tell whether somebody listens on a port of this machine."""
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0
