"""Callers that ask for the statement until a block ends, and what each of their calls was answered."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import httpx2

from tests.integration.stack.containers.books import PNL, expected
from tests.integration.stack.containers.deployment import ORIGIN, token
from tests.support.service.servers import wait_for

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
PATIENCE = 90.0  # seconds; longer than the deadline of a call


@dataclass
class Traffic:
    """The answers so far: a status of HTTP, or what went wrong, and how often."""

    answers: Counter[str] = field(default_factory=Counter)
    stop: Event = field(default_factory=Event)

    def wait_for_more(self, count: int) -> None:
        """Wait until so many more calls are answered."""
        before = self.answers.total()
        wait_for(lambda: self.answers.total() >= before + count, PATIENCE)

    def run(self, arguments: dict[str, Any], tool: str, limits: httpx2.Limits) -> None:
        """Call a tool over and over."""
        bearer = token("accountant")
        with httpx2.Client(timeout=PATIENCE, limits=limits) as client:
            while not self.stop.is_set():
                self.answers[called(client, bearer, tool, arguments)] += 1


def called(client: httpx2.Client, bearer: str, tool: str, arguments: dict[str, Any]) -> str:
    """Call a tool; return `200` for a right answer, else what came instead."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    try:
        answer = client.post(f"{ORIGIN}/mcp", json=body, headers={**HEADERS, "Authorization": f"Bearer {bearer}"})
    except httpx2.TransportError as fault:
        return type(fault).__name__
    if answer.status_code != httpx2.codes.OK:
        return str(answer.status_code)
    result = answer.json()["result"]["structuredContent"]
    if "error_type" in result:
        return str(result["error_type"])
    (first, *_) = result["rows"]
    right = arguments is not PNL or [int(float(value)) for value in first["values"][:2]] == expected()
    return str(answer.status_code) if right else f"another figure: {first['values']}"


@contextmanager
def traffic(
    callers: int = 2, arguments: dict[str, Any] = PNL, tool: str = "run_statement", *, keeps: bool = True
) -> Iterator[Traffic]:
    """Let some callers call until the block ends, each on a connection that it keeps or on a new one for each call."""
    made, limits = Traffic(), httpx2.Limits(max_keepalive_connections=None if keeps else 0)
    with ThreadPoolExecutor(callers) as pool:
        running = [pool.submit(made.run, arguments, tool, limits) for _ in range(callers)]
        try:
            made.wait_for_more(callers)
            yield made
        finally:
            made.stop.set()
    for one in running:
        one.result()
