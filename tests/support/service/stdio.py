"""A real `tieout stdio`, as a desktop host starts it, and the processes behind it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.service.keeper import children

TIEOUT = Path(sys.executable).with_name("tieout")
DEADLINE = 60.0


class DesktopHost:
    """A host that started a bridge, and speaks the protocol of 2025 by hand."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._last = 0

    @property
    def servers(self) -> list[int]:
        """The servers that the bridge started."""
        return children(self.process.pid)

    def send(self, *lines: bytes) -> None:
        """Send lines as they are."""
        assert self.process.stdin is not None
        for line in lines:
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next message; every line of standard output is one."""
        assert self.process.stdout is not None
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert told["jsonrpc"] == "2.0"
        return told

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        self._last += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}).encode())
        told = self.receive()
        assert told["id"] == self._last
        return told

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        told = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert json.loads(told["content"][0]["text"]) == told["structuredContent"]
        return dict(told["structuredContent"])

    def shake_hands(self) -> dict[str, Any]:
        """Begin a session of the protocol."""
        client = {"name": "host", "version": "1"}
        told = self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return told


@contextmanager
def hosting(instance: Path, state: Path, **settings: str) -> Iterator[DesktopHost]:
    """Start a bridge to an instance, and close its standard input at the end."""
    environment = bridge_environment(state, **settings)
    command: list[str | Path] = [TIEOUT, "stdio", "--instance", instance]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as process:
        try:
            yield DesktopHost(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(DEADLINE)
            finally:
                process.kill()


def bridge_environment(state: Path, **settings: str) -> Mapping[str, str]:
    """Return the environment of a bridge."""
    return {**os.environ, "COLUMNS": "300", "SVC_STATE_DIR": str(state), **settings}
