"""Sail for tests: a server of Flight SQL with workers that are processes, on Linux.

Sail starts its workers as pods of Kubernetes, so this plays as much of Kubernetes as that takes: a pod is a process
here. `pip install -r constraints/deep.txt` brings Sail.
"""

import atexit
import json
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import STDOUT, Popen
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep
from typing import Any

from tests.support.service.servers import free_port

SAIL = Path(sys.executable).parent / "sail"
STARTING = 60.0  # seconds that a server may take to listen
PODS = "/api/v1/namespaces/default/pods"


@dataclass
class SailServer:
    """A server, the folder that it has beside the tests, and its workers."""

    port: int
    folder: Path
    process: Popen[bytes]
    workers: list[Popen[bytes]] = field(default_factory=list)

    def url(self, lake: str = "lake", user: str = "") -> str:
        """Return an address for `facts`."""
        return f"grpc://{user}127.0.0.1:{self.port}?lake={self.folder / lake}"


class PodsApi(ThreadingHTTPServer):
    """Starts a worker for each pod that Sail asks for."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), PodRequest)
        self.folder = folder
        self.workers: list[Popen[bytes]] = []

    def config(self) -> Path:
        """Write how Sail finds this server; return the file."""
        server = {"name": "here", "cluster": {"server": f"http://127.0.0.1:{self.server_port}"}}
        context = {"name": "here", "context": {"cluster": "here", "user": "here", "namespace": "default"}}
        known = {"apiVersion": "v1", "kind": "Config", "current-context": "here"}
        lists = {"clusters": [server], "contexts": [context], "users": [{"name": "here", "user": {}}]}
        path = self.folder / "kubeconfig"
        path.write_text(json.dumps({**known, **lists}))
        return path

    def start_pod(self, pod: dict[str, Any]) -> None:
        """Start a worker with the environment of a pod."""
        given = {known["name"]: known.get("value", "127.0.0.1") for known in pod["spec"]["containers"][0]["env"]}
        given["SAIL_CLUSTER__WORKER_LISTEN_HOST"] = "127.0.0.1"
        with (self.folder / f"worker{len(self.workers)}.log").open("wb") as log:
            self.workers.append(Popen([SAIL, "worker"], env={**os.environ, **given}, stdout=log, stderr=STDOUT))


class PodRequest(BaseHTTPRequestHandler):
    """Answers requests about pods."""

    protocol_version = "HTTP/1.1"
    server: PodsApi

    def do_POST(self) -> None:
        """Start a pod."""
        pod = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.start_pod(pod)
        self._answer(pod)

    def do_DELETE(self) -> None:
        """Take the end of all pods down; who made this server ends them."""
        self._answer({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _answer(self, known: dict[str, Any]) -> None:
        body = json.dumps(known).encode()
        self.send_response(200)
        for key, value in {"Content-Type": "application/json", "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def sail_server(workers: int = 0) -> Iterator[SailServer]:
    """Run Sail with so many workers, or in one process."""
    with TemporaryDirectory(prefix="sail") as folder, PodsApi(Path(folder)) as pods:
        Thread(target=pods.serve_forever, daemon=True).start()
        cluster = {
            "SAIL_MODE": "kubernetes-cluster",
            "SAIL_CLUSTER__WORKER_INITIAL_COUNT": str(workers),
            "SAIL_CLUSTER__WORKER_MAX_COUNT": str(workers),
            "SAIL_CLUSTER__WORKER_MAX_IDLE_TIME_SECS": "3600",
            "SAIL_CLUSTER__WORKER_HEARTBEAT_INTERVAL_SECS": "1",
            "SAIL_CLUSTER__WORKER_HEARTBEAT_TIMEOUT_SECS": "5",
            "SAIL_CLUSTER__WORKER_TASK_SLOTS": "512",  # a statement takes one for each part that it reads
            "SAIL_EXECUTION__DEFAULT_PARALLELISM": "2",
            "KUBECONFIG": str(pods.config()),
        }
        port = free_port()
        with (Path(folder) / "server.log").open("wb") as log:
            command: Sequence[str | Path] = (SAIL, "flight", "server", "--port", str(port))
            process = Popen(command, env={**os.environ, **(cluster if workers else {})}, stdout=log, stderr=STDOUT)
        try:
            wait_until_listening(port, process)
            yield SailServer(port, Path(folder), process, pods.workers)
        finally:
            for each in (process, *pods.workers):
                each.kill()
                each.wait()
            pods.shutdown()


RUNNING: dict[int, SailServer] = {}  # by the number of workers


@contextmanager
def shared_sail(workers: int) -> Iterator[SailServer]:
    """Yield a server that the tests of this process share; it ends with the process."""
    if workers not in RUNNING:
        opened = ExitStack()
        atexit.register(opened.close)
        RUNNING[workers] = opened.enter_context(sail_server(workers))
    yield RUNNING[workers]


def wait_until_listening(port: int, process: Popen[bytes]) -> None:
    """Wait until something listens."""
    ends = monotonic() + STARTING
    while monotonic() < ends:
        assert process.poll() is None, "sail ended"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        sleep(0.05)
    raise TimeoutError(f"sail did not listen within {STARTING:g} seconds")
