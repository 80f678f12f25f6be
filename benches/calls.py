"""What a whole call over HTTP costs: the processor time of the parent and the worker, and how long a caller waits.

One kept-alive connection; each request is one packet. Periods and filters change from call to call, drawn from a seed
that stays the same. The server's time is read from the clocks of its processes, in blocks of calls that take turns with
blocks of the other protocol era.
"""

import csv
import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from statistics import median
from time import clock_gettime, perf_counter
from typing import Any
from urllib.parse import urlsplit

from benches.books import demo_books
from benches.page import README, write_block
from tests.support.answers.calls import THREE
from tests.support.service.keeper import children
from tests.support.service.servers import KEY, SERVE, Server, serving

SMALL = 150_000
WARM, BLOCKS, CALLS = 40, 12, 25  # calls before, blocks, calls of each
MILLISECOND = 1000
ERAS = ("2025-11-25", "2026-07-28")
MONTHS = [f"{year}-{month:02}" for year in (2024, 2025, 2026) for month in range(1, 13)][:33]
FILTERS: list[Mapping[str, list[str]]] = [
    {},
    {"organisation": ["EUROPE"]},
    {"function": ["IT"]},
    {"entity": ["DE01"]},
]
Arguments = dict[str, Any]


def period(drawn: Random) -> Arguments:
    """Draw a range of months."""
    first = drawn.randrange(len(MONTHS))
    return {"period_start": MONTHS[first], "period_end": drawn.choice(MONTHS[first:])}


def report(drawn: Random, filters: Mapping[str, list[str]] | None = None) -> Arguments:
    """Draw the period and the filter of a report."""
    return {**period(drawn), "filters": dict(drawn.choice(FILTERS) if filters is None else filters)}


@cache
def cost_centres() -> Sequence[str]:
    """Return the ids of the cost centres of the books."""
    with (demo_books(SMALL).instance / "data" / "cost_centre.csv").open(encoding="utf-8") as file:
        return [row["id"] for row in csv.DictReader(file)]


ROWS: Mapping[str, tuple[str, Callable[[Random], Arguments]]] = {
    "svc_orientation": ("svc_orientation", lambda _: {}),
    "pnl × 3": ("run_statement_data", lambda drawn: {"statement": "pnl", "scenarios": THREE, **report(drawn)}),
    "full_pnl × 3": (
        "run_statement_data",
        lambda drawn: {"statement": "full_pnl", "scenarios": THREE, **report(drawn)},
    ),
    "revenue by organisation": (
        "run_metric_data",
        lambda drawn: {"metrics": ["revenue"], "dimensions": ["organisation"], "scenarios": THREE, **report(drawn)},
    ),
    "inspect_rows, 50 rows": (
        "inspect_rows",
        lambda drawn: {"source_key": "gl", "scenario_id": "actual", "limit": 50, **report(drawn)},
    ),
    "pnl × 3, a filter never asked before": (
        "run_statement_data",
        lambda drawn: {
            "statement": "pnl",
            "scenarios": THREE,
            **report(drawn, {"cost_centre": drawn.sample(cost_centres(), 5)}),
        },
    ),
}


@dataclass(frozen=True, slots=True)
class Processor:
    """Seconds of processor time that the processes of a server have used."""

    parent: float
    workers: float
    stores: float

    @classmethod
    def of(cls, server: Server) -> "Processor":
        """Read the clocks of a server's processes now."""
        used = {True: 0.0, False: 0.0}
        below = children(server.process.pid)
        for child in below + [found for parent in below for found in children(parent)]:
            with suppress(FileNotFoundError, OSError):  # it ended meanwhile
                used[b"server.run.workers" in Path(f"/proc/{child}/cmdline").read_bytes()] += processor(child)
        return cls(processor(server.process.pid), used[True], used[False])

    def milliseconds_since(self, before: "Processor", calls: int) -> tuple[float, float]:
        """Return the milliseconds of each of some calls since then: of the server, and of its stores."""
        server = self.parent + self.workers - before.parent - before.workers
        return server * MILLISECOND / calls, (self.stores - before.stores) * MILLISECOND / calls


def processor(process: int) -> float:
    """Return the processor time of a process in seconds, with that of threads that ended."""
    return clock_gettime(~process << 3 | 2)  # the number of its clock on Linux: clock_getcpuclockid(3)


@dataclass(frozen=True, slots=True)
class Costs:
    """What the calls of one row cost in one era: milliseconds of the caller, and of processors by block."""

    waits: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)
    stores: list[float] = field(default_factory=list)


class Connection:
    """One kept-alive connection to a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._place = urlsplit(server.url)
        self._socket = socket.create_connection((self._place.hostname or "", self._place.port or 0))

    def call(self, era: str, tool: str, arguments: Arguments) -> float:
        """Make one call; return how many milliseconds its caller waited. Raises ValueError for an error."""
        sent = self._request(era, tool, arguments)
        began = perf_counter()
        self._socket.sendall(sent)
        head, _, body = self._socket.recv(1 << 20).partition(b"\r\n\r\n")
        left = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]) - len(body)
        while left > 0:
            body += (part := self._socket.recv(1 << 20))
            left -= len(part)
        waited = (perf_counter() - began) * MILLISECOND
        if not head.startswith(b"HTTP/1.1 200") or b'"isError":true' in body:
            raise ValueError(body.decode())
        return waited

    def measure(self, row: str, drawn: Random, era: str, costs: Costs) -> None:
        """Add the costs of a block of calls."""
        tool, draw = ROWS[row]
        asked = [draw(drawn) for _ in range(CALLS)]
        before = Processor.of(self._server)
        costs.waits.extend(self.call(era, tool, arguments) for arguments in asked)
        server, stores = Processor.of(self._server).milliseconds_since(before, CALLS)
        costs.server.append(server)
        costs.stores.append(stores)

    def _request(self, era: str, tool: str, arguments: Arguments) -> bytes:
        params: Arguments = {"name": tool, "arguments": arguments}
        names = ""
        if era == ERAS[-1]:
            own = "io.modelcontextprotocol"
            params["_meta"] = {f"{own}/protocolVersion": era, f"{own}/clientCapabilities": {}}
            names = f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        head = (
            f"POST {self._place.path} HTTP/1.1\r\nHost: {self._place.netloc}\r\nAuthorization: Bearer {KEY}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: {era}\r\n{names}Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def main(_: int) -> None:
    """Run the bench and write its table into README.md, the eras side by side."""
    books = demo_books(SMALL)
    lines = [
        f"{SMALL:,} rows, {BLOCKS * CALLS} calls each, medians in ms, protocol {ERAS[0]} / {ERAS[1]}.",
        "",
        "| whole call over HTTP | p50 | processor, parent and worker | processor, stores |",
        "|---|--:|--:|--:|",
    ]
    with serving(books.instance, books.state, command=SERVE) as server:  # in interpreters of its own
        connection = Connection(server)
        for row in ROWS:
            drawn, by_era = Random(row), {era: Costs() for era in ERAS}
            for at in range(WARM):
                connection.call(ERAS[at % len(ERAS)], ROWS[row][0], ROWS[row][1](drawn))
            for at in range(BLOCKS * len(ERAS)):
                era = ERAS[at % len(ERAS)]
                connection.measure(row, drawn, era, by_era[era])
            lines.append(f"| {row} | {' | '.join(cells(list(by_era.values())))} |")
            print(lines[-1], flush=True)
    write_block(README, "calls", lines)


def cells(eras: Sequence[Costs]) -> Iterator[str]:
    """Yield the cells of a row: medians, the eras side by side."""
    for of_era in ([costs.waits for costs in eras], [costs.server for costs in eras], [costs.stores for costs in eras]):
        yield " / ".join(f"{median(found):.2f}" for found in of_era)
