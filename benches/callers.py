"""Eight callers who ask as agents do, without pause, over real HTTP: how long calls take, and what the server holds.

Each goes through sessions of its own: where am I, what is there, find members, statements and metrics with breakdowns,
the rows behind a figure. The client writes requests and reads answers with asyncio's streams and takes none apart but
for its error; its own time is reported too, because it runs on the same cores.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import quantiles
from time import perf_counter, process_time
from typing import Any
from urllib.parse import urlsplit

from benches.books import demo_books
from benches.calls import Processor
from benches.page import README, write_block
from tests.support.answers.calls import THREE
from tests.support.service.keeper import children
from tests.support.service.servers import KEY, SERVE, Server, serving, wait_for

CALLERS, SECONDS, SETTLED = 8, 120, 30
GOALS = {1: 200, 2: 350}  # calls a second by the number of workers, with the callers on the same two cores
WARMING = 4  # callers call for this part of the measured time beforehand
CORES = 2
MEGABYTE = 1024  # of the kernel's kB
PART = 10  # of the rows that other benches take
Call = tuple[str, dict[str, Any]]


def session(drawn: Random) -> Iterator[Call]:
    """Yield the calls of an agent with a question about a random month."""
    year, month = drawn.choice(
        [(2024, drawn.randint(1, 12)), (2025, drawn.randint(1, 12)), (2026, drawn.randint(1, 9))]
    )
    at = {"period_start": f"{year}-{month:02}"}
    in_year = {"period_start": f"{year}-01", "period_end": f"{year}-{month:02}"}
    yield "svc_orientation", {}
    for name in ("list_scenarios", "list_kpis", "list_dimensions", "list_inspection_sources"):
        yield name, {}
    yield "search_hierarchy", {"query": drawn.choice(["sales", "north", "rent", "service", "a", "10"])}
    yield "run_statement", {"statement": "pnl", **at}
    yield "run_statement", {"statement": "full_pnl", "scenarios": THREE, **in_year}
    yield "run_statement_data", {"statement": "pnl", "scenarios": THREE, "dimensions": ["period"], **in_year}
    yield "run_statement", {"statement": "balance_sheet", "scenarios": THREE[:1], "dimensions": ["entity"], **at}
    yield "run_metric", {"metrics": ["sales_amount", "units"], "scenarios": THREE, "dimensions": ["entity"], **in_year}
    yield "run_metric_data", {"metrics": ["opex"], "scenarios": THREE[:1], "dimensions": ["cost_centre"], **at}
    rows = {"source_key": "gl", "scenario_id": "actual", **at}
    yield "inspect_rows", {**rows, "filters": {"metric": "ebitda"}, "limit": 20}
    yield "inspect_rows", {**rows, "limit": 200}


@dataclass
class LatencyTotals:
    """The latencies and errors that the callers saw."""

    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    bytes: int = 0


class BusyCaller:
    """One caller on one connection, opened again where the server closed it."""

    def __init__(
        self,
        server: Server,
        record: LatencyTotals,
        seed: int,
        *,
        key: str = KEY,
        host: str | None = None,
        calls: Callable[[Random], Iterator[Call]] = session,
    ) -> None:
        """`calls` yields the calls of one session; `host` is the name that the server is called by."""
        self._place = urlsplit(server.url)
        self._record = record
        self._drawn = Random(seed)
        self._key, self._host, self._calls = key, host or self._place.netloc, calls
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call_until(self, ends: float) -> None:
        """Run sessions until a point in time."""
        while perf_counter() < ends:
            for tool, arguments in self._calls(self._drawn):
                await self.call(tool, arguments)
        if self._streams:
            self._streams[1].close()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Make one call and record it."""
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        sent = json.dumps(asked).encode()
        began = perf_counter()
        try:
            answer = await self._exchange(sent)
        except (ConnectionError, asyncio.IncompleteReadError) as fault:
            self._record.errors[type(fault).__name__] += 1
            self._streams = None
            return
        self._record.milliseconds[tool].append((perf_counter() - began) * 1000)
        self._record.bytes += len(answer)
        if b'"isError":true' in answer:
            self._record.errors[json.loads(answer)["result"]["structuredContent"]["error_type"]] += 1

    async def _exchange(self, sent: bytes) -> bytes:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._place.hostname, self._place.port)
        reader, writer = self._streams
        head = (
            f"POST {self._place.path} HTTP/1.1\r\nHost: {self._host}\r\nAuthorization: Bearer {self._key}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: 2025-11-25\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        writer.write(head.encode() + sent)
        headers = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(headers.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        answer = await reader.readexactly(length)
        if not headers.startswith(b"http/1.1 200 "):
            raise ConnectionError(headers.split(b"\r\n", 1)[0])
        if b"connection: close" in headers:
            writer.close()
            self._streams = None
        return answer


@dataclass(frozen=True, slots=True)
class Memory:
    """What the processes of a server hold, in MB."""

    parent: int
    workers: tuple[int, ...]
    stores: int

    @classmethod
    def of(cls, server: Server) -> "Memory":
        """Measure the memory of a server's processes now."""
        parent, workers, stores = resident(server.process.pid), [], 0
        for child in children(server.process.pid):
            with suppress(FileNotFoundError):
                serves = b"server.run.workers" in Path(f"/proc/{child}/cmdline").read_bytes()
                if serves:
                    workers.append(resident(child))
                else:
                    stores += resident(child) + sum(map(resident, children(child)))
        return cls(parent, tuple(workers), stores)

    def __str__(self) -> str:
        """Return it as the report shows it."""
        return f"parent {self.parent}, workers {' + '.join(map(str, self.workers))}, stores {self.stores}"


def resident(process: int) -> int:
    """Return how much memory a process holds."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) // MEGABYTE for line in lines if line.startswith("VmRSS")), 0)


async def ask(server: Server, seconds: int, record: LatencyTotals) -> list[Memory]:
    """Have all callers call for a while; return what the server held at the start, once settled, and at the end."""
    memory = [Memory.of(server)]
    ends = perf_counter() + seconds
    callers = [asyncio.create_task(BusyCaller(server, record, seed).call_until(ends)) for seed in range(CALLERS)]
    await asyncio.sleep(min(SETTLED, seconds / 2))
    memory.append(Memory.of(server))
    await asyncio.gather(*callers)
    return [*memory, Memory.of(server)]


def main(rows: int, seconds: int = SECONDS) -> None:
    """Run the bench with one worker and with two, and write its table into README.md."""
    books = demo_books(rows // PART)
    table = [
        f"{rows // PART:,} rows, {CALLERS} callers for {seconds} s.",
        "",
        "| workers | calls a second | goal | p50 ms | p95 ms | errors | ms of server, stores, callers | alone |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for workers, goal in GOALS.items():
        record = LatencyTotals()
        with serving(books.instance, books.state, command=SERVE, SVC_WORKERS=str(workers)) as server:
            wait_for(lambda: server.log.read_text().count(" serves\n") == workers)  # noqa: B023 - in this round
            asyncio.run(ask(server, seconds // WARMING, LatencyTotals()))
            before, used, began = Processor.of(server), process_time(), perf_counter()
            memory = asyncio.run(ask(server, seconds, record))
            took, used = perf_counter() - began, process_time() - used
            calls = sum(map(len, record.milliseconds.values()))
            costs = [*Processor.of(server).milliseconds_since(before, calls), used * 1000 / calls]
        print(f"{workers} workers, {CALLERS} callers, {took:.0f} s, {rows // PART:,} rows")
        print(
            f"{calls:,} calls, {calls / took:.0f} a second, {record.bytes / calls / 1000:.0f} kB each; "
            f"errors: {dict(record.errors) or 'none'}; the client took {used / took:.0%} of a core"
        )
        for name, times in sorted(record.milliseconds.items()):
            report(name, times)
        every = [time for times in record.milliseconds.values() for time in times]
        report("all", every)
        cuts = quantiles(every, n=20)
        row = [
            workers,
            f"{calls / took:.0f}",
            goal,
            f"{cuts[9]:.1f}",
            f"{cuts[18]:.1f}",
            record.errors.total() or "none",
        ]
        most = min(workers * 1000 / costs[0], CORES * 1000 / sum(costs))
        row += [", ".join(f"{cost:.2f}" for cost in costs), f"{most:.0f}"]
        table.append(f"| {' | '.join(map(str, row))} |")
        for when, held in zip(("start", f"{min(SETTLED, seconds // 2)} s", "end"), memory, strict=True):
            print(f"MB at {when:6} {held}")
    write_block(README, "callers", table)


def report(name: str, milliseconds: list[float]) -> None:
    """Print percentiles."""
    cuts = quantiles(milliseconds, n=100)
    print(
        f"{name:26} {len(milliseconds):7,} calls   p50 {cuts[49]:8.1f} ms   p95 {cuts[94]:8.1f} ms   "
        f"p99 {cuts[98]:8.1f} ms"
    )
