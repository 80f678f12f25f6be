"""Several workers behind one port: replaced one after the other or when they die, and no call is lost by it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from signal import SIGHUP, SIGKILL, SIGTERM
from threading import Event, Thread
from typing import Any, Self

import httpx2
import pytest

from server.base.memory_ceiling import anonymous_bytes
from tests.support.service.blocked_tools import GATE
from tests.support.service.keeper import alive, children
from tests.support.service.operations import metric, readyz, until_ready
from tests.support.service.servers import (
    DEADLINE,
    SERVE,
    STARTING,
    Server,
    connected,
    server_environment,
    serving,
    wait_for,
)
from tests.support.service.workers import serve, workers
from tests.unit.server.http.test_disconnect import HEADERS, body

WITHOUT_WORKERS = """
from server.base.settings import read_settings
from server.run.commands.serve import preside
raise SystemExit(preside(read_settings(), program="nothing.there"))
"""
IN_A_FULL_CONTAINER = """
from pathlib import Path
from server.base.memory_ceiling import ContainerMemory
from server.base.settings import read_settings
from server.run.commands import serve
serve.container_memory = lambda: ContainerMemory(512 << 20, Path("FULL"))
raise SystemExit(serve.preside(read_settings()))
"""
LISTS = ("list_scenarios", "list_kpis", "list_dimensions", "svc_orientation")
PAUSE = 0.05  # seconds between two calls of a client: without it the calls take the processor from workers that start


def call(url: str, name: str, client: httpx2.Client | None = None, timeout: float = DEADLINE) -> dict[str, Any]:
    """Call a tool without arguments, on a connection of its own or of a client."""
    post = client.post if client else httpx2.post
    answer = post(url, json=body(name), headers=HEADERS, timeout=timeout)
    assert answer.status_code == 200, answer.text
    result = answer.json()["result"]
    assert not result["isError"], result
    found: dict[str, Any] = result["structuredContent"]
    return found


class BusyClients:
    """Clients that call again and again, each on one connection as long as the server keeps it."""

    def __init__(self, url: str, clients: int) -> None:
        self.answered = [0] * clients
        self.lost: list[str] = []  # calls that were sent and not answered
        self._url, self._stop = url, Event()
        self._threads = [Thread(target=self._call, args=(number,)) for number in range(clients)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(DEADLINE)

    def _call(self, number: int) -> None:
        with httpx2.Client() as client:
            while not self._stop.is_set():
                name = LISTS[self.answered[number] % len(LISTS)]
                try:
                    call(self._url, name, client)
                except httpx2.TransportError as fault:
                    self.lost.append(f"{type(fault).__name__}: {fault}")
                    call(self._url, name, client)  # which reads and may be asked for again; it must be answered now
                self.answered[number] += 1
                self._stop.wait(PAUSE)

    def go_on(self) -> None:
        """Wait until every client was answered some more times."""
        before = list(self.answered)
        wait_for(lambda: all(now >= was + 5 for now, was in zip(self.answered, before, strict=True)))


def test_workers_share_a_port_and_their_metrics_are_added_up(own: tuple[Path, Path]) -> None:
    with serving(*own, command=SERVE, SVC_WORKERS="2") as server:
        wait_for(lambda: serve(server, 2))
        before = metric(server, "tieout_calls_total", tool="list_kpis", outcome="ok")
        for _ in range(20):
            call(server.url, "list_kpis")
        assert metric(server, "tieout_calls_total", tool="list_kpis", outcome="ok") == before + 20
        assert metric(server, "tieout_call_seconds_count", tool="list_kpis") == before + 20
        assert metric(server, "tieout_calls_in_flight") == 0
        assert metric(server, "tieout_workers") == 2
        assert metric(server, "tieout_workers_resident_memory_bytes") > 2e7
        until_ready(server)
        health = server.url.replace("/mcp", "/health")
        assert [httpx2.get(health).status_code for _ in range(10)] == [200] * 10


def test_the_server_is_not_ready_before_a_worker_serves(own: tuple[Path, Path]) -> None:
    statuses: list[int] = []

    def ready(server: Server) -> bool:
        statuses.append(readyz(server)[0])
        return statuses[-1] == HTTPStatus.OK

    with serving(*own) as server:
        (first,) = workers(server)
        until_ready(server)
        os.kill(first, SIGKILL)
        wait_for(lambda: f"worker {first} ended" in server.log.read_text())
        wait_for(lambda: ready(server), STARTING)
        assert len(re.findall(r"worker \d+ serves", server.log.read_text())) == 2
    assert HTTPStatus.SERVICE_UNAVAILABLE in statuses


def test_a_rolling_restart_loses_no_call(own: tuple[Path, Path]) -> None:
    instance, _ = own
    with serving(*own, SVC_WORKERS="2") as server, BusyClients(server.url, clients=6) as calling:
        for name in ("First", "Second"):
            wait_for(lambda: serve(server, 2))
            before = workers(server)
            (instance / "instance.yaml").write_text(f"name: {name}\ncurrency: EUR\n")
            server.process.send_signal(SIGHUP)
            wait_for(lambda: serve(server, 2) and not set(workers(server)) & set(before), STARTING)  # noqa: B023 - in this round
            assert {call(server.url, "svc_orientation")["name"] for _ in range(10)} == {name}
            calling.go_on()
        assert calling.lost == []
        answered = sum(calling.answered)
        counted = sum(metric(server, "tieout_calls_total", tool=name, outcome="ok") for name in LISTS)
        assert counted >= answered  # what workers counted that are gone is not forgotten
    assert calling.lost == []
    assert "Traceback" not in server.log.read_text()


def test_a_worker_that_is_killed_is_replaced_and_only_its_own_calls_are_lost(own: tuple[Path, Path]) -> None:
    with serving(*own, SVC_WORKERS="2") as server, BusyClients(server.url, clients=6) as calling:
        wait_for(lambda: serve(server, 2))
        calling.go_on()
        killed, other = workers(server)
        counted = metric(server, "tieout_calls_total", tool="list_kpis", outcome="ok")
        os.kill(killed, SIGKILL)
        wait_for(lambda: serve(server, 2) and killed not in workers(server))
        assert other in workers(server)
        calling.go_on()
        assert metric(server, "tieout_calls_total", tool="list_kpis", outcome="ok") > counted
        assert metric(server, "tieout_workers_ended_total") == 1
    assert len(calling.lost) <= 6  # one of each client at most: those in hand where it died
    assert f"worker {killed} ended while it was serving, by SIGKILL" in server.log.read_text()


def test_a_worker_that_dies_while_the_files_are_faulty_is_replaced_by_what_was_read_before(
    own: tuple[Path, Path],
) -> None:
    instance, _ = own
    with serving(*own) as server:
        wait_for(lambda: serve(server, 1))
        name = call(server.url, "svc_orientation")["name"]
        (instance / "instance.yaml").write_text("name: [\n")
        server.process.send_signal(SIGHUP)
        wait_for(lambda: "have faults; the previous ones stay in use" in server.log.read_text())
        (killed,) = workers(server)
        os.kill(killed, SIGKILL)
        wait_for(lambda: serve(server, 1) and killed not in workers(server))
        assert call(server.url, "svc_orientation")["name"] == name


def test_workers_that_cannot_start_are_tried_ever_more_seldom(own: tuple[Path, Path]) -> None:
    instance, state = own
    environment = server_environment(instance, state)
    with (state / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-c", WITHOUT_WORKERS], stderr=log, stdout=log, env=environment)

    def ends() -> list[datetime]:
        lines = (state / "log").read_text().splitlines()
        return [datetime.fromisoformat(line.split()[0]) for line in lines if "while it was starting, with" in line]

    try:
        wait_for(lambda: len(ends()) >= 4)
        pauses = [(after - before).total_seconds() for before, after in pairwise(ends())]
        assert all(pause >= least for pause, least in zip(pauses, (0.1, 0.2, 0.4), strict=False))
        process.send_signal(SIGTERM)
        assert process.wait(DEADLINE) == 143
    finally:
        process.kill()


def test_nothing_is_left_of_a_server_whose_parent_is_killed(own: tuple[Path, Path]) -> None:
    with serving(*own, command=SERVE, SVC_WORKERS="2") as server:
        wait_for(lambda: serve(server, 2))
        running = children(server.process.pid)
        assert len(running) >= 4  # with the database and the cache store, and the check of the data while it runs
        server.process.kill()
        wait_for(lambda: not any(map(alive, running)))


@contextmanager
def blocked(own: tuple[Path, Path], **settings: str) -> Iterator[tuple[Server, Path, Callable[[], Any]]]:
    """Serve with a call under way that blocks until a file is there; yield what waits for its answer."""
    gate = own[1] / "gate"
    answers: list[Any] = []
    more: dict[str, Any] = {GATE: str(gate), **settings}
    with serving(*own, **more) as server:
        wait_for(lambda: serve(server, int(settings.get("SVC_WORKERS", "1"))))

        def ask() -> None:
            try:
                answers.append(httpx2.post(server.url, json=body("block"), headers=HEADERS, timeout=DEADLINE).json())
            except httpx2.TransportError as fault:
                answers.append(fault)

        asking = Thread(target=ask)
        asking.start()
        wait_for(gate.with_suffix(".entered").exists)

        def answer() -> Any:
            asking.join(DEADLINE)
            return answers[0]

        yield server, gate, answer
        asking.join(DEADLINE)


def test_at_sigterm_calls_in_flight_are_answered_first(own: tuple[Path, Path]) -> None:
    with blocked(own, SVC_WORKERS="2") as (server, gate, answer):
        server.process.send_signal(SIGTERM)
        wait_for(lambda: not listens(server))
        assert server.process.poll() is None
        gate.touch()
        assert answer()["result"]["structuredContent"] == {"through": True}
        assert server.process.wait(DEADLINE) == 143


def listens(server: Server) -> bool:
    """Tell whether a server takes connections."""
    try:
        httpx2.get(server.url.replace("/mcp", "/health"), timeout=0.2)
    except httpx2.ConnectError:
        return False
    except httpx2.TransportError:  # late, or closed while it was asked
        return True
    return True


@pytest.mark.parametrize("second", [SIGTERM, signal.SIGINT])
def test_told_to_stop_twice_it_does_not_wait(own: tuple[Path, Path], second: signal.Signals) -> None:
    with blocked(own) as (server, _, answer):
        server.process.send_signal(SIGTERM)
        wait_for(lambda: "calls in flight are answered first" in server.log.read_text())
        assert server.process.poll() is None
        server.process.send_signal(second)
        assert server.process.wait(DEADLINE) == 143
        assert isinstance(answer(), httpx2.TransportError)


def test_a_worker_whose_call_does_not_end_is_replaced(own: tuple[Path, Path]) -> None:
    with blocked(own, SVC_DEADLINE_SECONDS="1") as (server, _, answer):
        (stuck,) = workers(server)
        assert answer()["result"]["structuredContent"]["error_type"] == "timeout"
        with connected(server.url, "auto") as books:
            books.ask("list_kpis")
        wait_for(lambda: f"a call of block does not end; worker {stuck} is replaced" in server.log.read_text())
        wait_for(lambda: serve(server, 1) and stuck not in workers(server))
        assert call(server.url, "list_kpis")


def test_a_worker_at_its_memory_ceiling_finishes_its_calls_and_is_replaced(own: tuple[Path, Path]) -> None:
    with blocked(own, SVC_WORKER_MEGABYTES="512") as (server, gate, answer):
        (full,) = workers(server)
        assert anonymous_bytes(full) < 512 << 20
        assert call(server.url, "hoard") == {"hoarded": 1}
        wait_for(lambda: f"worker {full} holds" in server.log.read_text())
        assert "MB of its own and is replaced" in server.log.read_text()
        wait_for(lambda: len(workers(server)) == 2)
        gate.touch()
        assert answer()["result"]["structuredContent"] == {"through": True}  # from the worker that leaves
        wait_for(lambda: serve(server, 1) and full not in workers(server))
        assert call(server.url, "list_kpis")
        assert anonymous_bytes(workers(server)[0]) < 512 << 20


def test_where_the_container_has_no_memory_for_two_workers_the_old_one_leaves_first(own: tuple[Path, Path]) -> None:
    full = own[1] / "full"
    full.mkdir()
    (full / "memory.stat").write_text(f"anon {500 << 20}\n")
    program = IN_A_FULL_CONTAINER.replace("FULL", str(full))
    with serving(*own, command=(sys.executable, "-c", program)) as server:
        wait_for(lambda: serve(server, 1))
        (old,) = workers(server)
        server.process.send_signal(SIGHUP)
        wait_for(lambda: f"worker {old} left" in server.log.read_text())
        assert call(server.url, "list_kpis", timeout=STARTING)  # waits for the new one
        wait_for(lambda: f"worker {workers(server)[0]} serves" in server.log.read_text())  # told after its answer
        told = [line.split(" worker ")[1] for line in server.log.read_text().splitlines() if " worker " in line]
        assert told == [f"{old} serves", f"{old} left", f"{workers(server)[0]} serves"]


def test_the_number_of_workers_can_be_given_where_it_is_started(own: tuple[Path, Path]) -> None:
    with serving(*own, command=(*SERVE, "--workers", "2")) as server:
        wait_for(lambda: serve(server, 2))
