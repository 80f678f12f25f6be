"""Ordinary calls that show few figures and cost much: what a light report of somebody else costs beside them."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import quantiles
from time import perf_counter, time
from typing import Any

from benches.callers import BusyCaller, Call, LatencyTotals
from benches.crowd_books import crowd_books
from benches.page import README, write_block
from server.base.memory_ceiling import anonymous_bytes
from server.base.settings import Settings
from tests.support.service.issuers import Issuer, issuing
from tests.support.service.servers import Server, wait_for
from tests.support.service.users import HOST, serving_many

PRINCIPALS, CONNECTIONS, WORKERS, SECONDS = 4, 2, 2, 20
PAUSE = 0.2  # seconds between two light reports, and between two looks at memory
MEGABYTE = 1 << 20
LATEST, OVER = 1000.0, 1.1  # goals: milliseconds of p95, times the ceiling of a worker
VALID = 3600
REFERENCE = re.compile(rb"ds_[a-z2-7]{32}")
WORKER = re.compile(r"worker (\d+) serves")
REFERENCES = 8  # that a caller hands to one script, of one large result
FINISHING = 60  # seconds that calls which run at the end may take
ACTUAL = [{"scenario": "actual", "alias": "A"}]
LIGHT: Call = ("run_statement", {"statement": "pnl", "scenarios": ACTUAL, "period_start": "2026-09"})
LTM = [{"scenario": "actual@ltm", "alias": "A"}]
MONTHS = [f"{year}-{month:02}" for year in (2025, 2026) for month in range(1, 10)]
PAIR = [{"scenario": "actual", "alias": "A"}, {"scenario": "actual@py", "alias": "P"}]
MANY = [{"scenario": "actual", "alias": "A"}, *({"scenario": f"s{at:02}", "alias": f"S{at}"} for at in range(30))]


def by_day(metric: str, scenarios: object, start: str = "2025-10") -> Call:
    """Return a call of a metric by day."""
    asked = {"metrics": [metric], "scenarios": scenarios, "dimensions": ["date"]}
    return "run_metric", {**asked, "period_start": start, "period_end": "2026-09"}


def by_customer(drawn: Random, scenarios: object, **more: object) -> Call:
    """Return a call of sales by customer over a drawn range."""
    asked = {"metrics": ["revenue"], "scenarios": scenarios, "dimensions": ["customer"], **more}
    return "run_metric", {**asked, "period_start": drawn.choice(MONTHS[:6]), "period_end": drawn.choice(MONTHS[-4:])}


def explained(drawn: Random) -> Call:
    """Return a call that explains a variance by customer over a drawn range."""
    asked = {"metric": "revenue", "scenarios": ["actual", "actual@py"], "by": ["customer"]}
    return "explain_variance", {**asked, "period_start": drawn.choice(MONTHS[9:14]), "period_end": MONTHS[-1]}


def attack(name: str, drawn: Random, references: Sequence[str]) -> Iterator[Call]:
    """Yield the calls of one kind of attack once."""
    match name:
        case "count_distinct, the year to each day":
            yield by_day("buyers", LTM)
        case "min, the year to each day":
            yield by_day("smallest", LTM)
        case "last_known by day, two years":
            yield by_day("owed", ACTUAL, "2024-10")
        case "top 10 of 100,000 customers":
            yield by_customer(drawn, PAIR, order_by="revenue@A", top=10)
        case "explain_variance by 100,000 customers":
            yield explained(drawn)
        case "a chart of 200,000 figures, no script":
            spec = {"chart_type": "bar", "title": "Revenue", "x": "customer", "y": "value"}
            yield "eval_chart_transform", {"data_refs": [references[0]], "chart_spec": spec}
        case "a script over eight large results":
            yield (
                "eval_chart_transform",
                {"data_refs": [references[0]] * REFERENCES, "transform_code": "result = frames[0].head(3)"},
            )
        case "30 scenarios, 10,000 customers denied":
            asked = {"metrics": ["revenue"], "scenarios": MANY, "period_start": drawn.choice(MONTHS)}
            yield "run_metric", asked


ATTACKS: Mapping[str, tuple[str, int]] = {  # the group of its callers, and how many results they keep first
    "nobody": ("", 0),
    "count_distinct, the year to each day": ("finance", 0),
    "min, the year to each day": ("finance", 0),
    "last_known by day, two years": ("finance", 0),
    "top 10 of 100,000 customers": ("finance", 0),
    "explain_variance by 100,000 customers": ("finance", 0),
    "a chart of 200,000 figures, no script": ("finance", 1),
    "a script over eight large results": ("finance", 1),
    "30 scenarios, 10,000 customers denied": ("denied", 0),
}


class Attacker(BusyCaller):
    """A caller who may keep results, and hand them on."""

    async def keep(self, count: int) -> list[str]:
        """Keep some large results and return their references."""
        found = []
        for at in range(count):
            tool, arguments = by_customer(Random(at), PAIR)
            asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
            answer = await self._exchange(
                json.dumps({**asked, "params": {"name": tool, "arguments": arguments}}).encode()
            )
            found += [known.decode() for known in REFERENCE.findall(answer)[:1]]
        return found


@dataclass
class Told:
    """What came of one kind of attack."""

    many: LatencyTotals = field(default_factory=LatencyTotals)
    one: LatencyTotals = field(default_factory=LatencyTotals)
    most: int = 0  # bytes of a worker's own

    def row(self, name: str, ceiling: int) -> tuple[str, float]:
        """Return its row of the table, and the p95 of the light report."""
        times = self.one.milliseconds[LIGHT[0]]
        cuts = quantiles(times, n=100)
        calls = sum(map(len, self.many.milliseconds.values()))
        told = ", ".join(f"{count:,} {error}" for error, count in self.many.errors.items()) or "all answered"
        busy = self.one.errors.total()
        cells = [name, f"{calls:,}", told, len(times), f"{cuts[49]:.0f}", f"{cuts[94]:.0f}", busy or "never"]
        return f"| {' | '.join(map(str, [*cells, f'{self.most // MEGABYTE:,} of {ceiling // MEGABYTE:,}']))} |", cuts[
            94
        ]


async def measure(server: Server, issuer: Issuer, name: str, seconds: float) -> Told:
    """Attack in one way for some seconds, beside somebody who asks for a light report."""
    told = Told()
    group, keeps = ATTACKS[name]

    def attacker(principal: int, seed: int, record: LatencyTotals) -> Attacker:
        claims: dict[str, Any] = {"sub": f"taker {principal} {group}", "groups": [group], "exp": int(time()) + VALID}
        return Attacker(server, record, seed, key=issuer.token(**claims), host=HOST)

    async def attacking(principal: int, connection: int, references: Sequence[str], ends: float) -> None:
        caller, drawn = attacker(principal, connection, told.many), Random(10 * principal + connection)
        while perf_counter() < ends:
            for tool, arguments in attack(name, drawn, references):
                await caller.call(tool, arguments)

    principals = PRINCIPALS if group else 0
    kept = [await attacker(at, at, LatencyTotals()).keep(keeps) for at in range(principals)]
    ends = perf_counter() + seconds
    crowd = [
        asyncio.create_task(attacking(at, connection, kept[at], ends))
        for at in range(principals)
        for connection in range(CONNECTIONS)
    ]
    looking = asyncio.create_task(look(server, told, ends))
    beside = BusyCaller(server, told.one, 0, key=issuer.token(sub="somebody", exp=int(time()) + VALID), host=HOST)
    while perf_counter() < ends:
        await beside.call(*LIGHT)
        await asyncio.sleep(PAUSE)
    if crowd:
        await asyncio.wait(crowd, timeout=FINISHING)  # an attack that takes long is answered all the same
    for task in (*crowd, looking):
        task.cancel()
    await asyncio.gather(*crowd, looking, return_exceptions=True)
    return told


async def look(server: Server, told: Told, ends: float) -> None:
    """Note the most memory of their own that the workers hold."""
    while perf_counter() < ends:
        workers = map(int, WORKER.findall(server.log.read_text()))
        told.most = max(told.most, *map(anonymous_bytes, workers))
        await asyncio.sleep(PAUSE)


def attack_all(seconds: int = SECONDS) -> Iterator[str]:
    """Print what came of each attack and write the table into README.md; yield the goals that are missed."""
    books, ceiling = crowd_books(), Settings().worker_megabytes * MEGABYTE
    table = [
        f"{PRINCIPALS} principals on {CONNECTIONS} connections each call {WORKERS} workers for {seconds} s.",
        "",
        "| they ask for | calls | told | light reports | p50 ms | p95 ms | busy or failed | most MB of a worker |",
        "|---|--:|---|--:|--:|--:|--:|--:|",
    ]
    with (
        issuing() as issuer,
        serving_many((books.instance, books.state), issuer.url, SVC_WORKERS=str(WORKERS)) as server,
    ):
        wait_for(lambda: server.log.read_text().count(" serves") >= WORKERS)
        for name in ATTACKS:
            told = asyncio.run(measure(server, issuer, name, seconds))
            row, late = told.row(name, ceiling)
            table.append(row)
            print(row)
            if late > LATEST or told.one.errors or told.most > OVER * ceiling:
                yield f"{name}: p95 {late:.0f} ms, errors {dict(told.one.errors)}, {told.most // MEGABYTE} MB"
    write_block(README, "crowd", table)
