"""Callers who take all they can: what a light report of somebody else costs meanwhile, and what a refusal costs.

One principal calls on 40 connections, then four on 16 each, without pause and without heeding `busy`. They ask for the
largest reports that are answered, for rows, and for reports that are refused. Another principal asks for the profit and
loss of a month, again and again; the bench fails if that is ever busy, or takes longer than its goal.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from statistics import median, quantiles
from time import perf_counter, time

from benches.attackers import attack_all
from benches.books import demo_books
from benches.callers import GOALS, PART, BusyCaller, Call, LatencyTotals
from tests.support.service.issuers import Issuer, issuing
from tests.support.service.servers import Server, wait_for
from tests.support.service.users import HOST, serving_many

SECONDS, TRIES = 30, 10
VALID = 3600  # seconds of a token
PAUSE = 0.2  # seconds between two light reports
LATEST, REFUSED = 1000.0, 100.0  # goals in milliseconds: p95 of the light report, median of a refusal
CROWDS = {
    "nobody": (0, 0),
    "one principal on 40 connections": (1, 40),
    "four principals on 16 connections each": (4, 16),
}
ACTUAL = [{"scenario": "actual", "alias": "A"}]
YEARS = [
    {"scenario": f"{key}@py{year}", "alias": f"{key} {year}"} for year in range(1, 9) for key in ("actual", "budget")
]
RANGE = {"period_start": "2024-01", "period_end": "2026-09"}
MONTH = {"period_start": "2026-08"}
LIGHT: Call = ("run_statement", {"statement": "pnl", "period_start": "2026-09"})
LEDGER = ["journal", "account", "cost_centre", "entity"]
REFUSALS: Mapping[str, Call] = {
    "customer × product × date": (
        "run_metric",
        {"metrics": ["sales_amount"], "scenarios": ACTUAL, "dimensions": ["customer", "product", "date"], **RANGE},
    ),
    "journal × account × cost centre × entity × date": (
        "run_metric",
        {"metrics": ["postings"], "scenarios": ACTUAL, "dimensions": [*LEDGER, "date"], **RANGE},
    ),
    "full_pnl × cost centre × date": (
        "run_statement",
        {"statement": "full_pnl", "scenarios": YEARS[:15], "dimensions": ["cost_centre", "date"], **RANGE},
    ),
}
TAKEN: tuple[Call, ...] = (
    ("run_statement", {"statement": "full_pnl", "scenarios": YEARS[:15], "dimensions": ["cost_centre"], **RANGE}),
    ("run_metric", {"metrics": ["postings"], "scenarios": ACTUAL, "dimensions": [*LEDGER, "date"], **MONTH}),
    ("run_metric", {"metrics": ["sales_amount"], "scenarios": ACTUAL, "dimensions": ["customer", "period"], **RANGE}),
    ("inspect_rows", {"source_key": "gl", "scenario_id": "actual", "limit": 10_000, **MONTH}),
    *REFUSALS.values(),
)


def taking(drawn: Random) -> Iterator[Call]:
    """Yield calls that take much, in an order of their own."""
    yield from drawn.sample(TAKEN, len(TAKEN))


@dataclass(frozen=True, slots=True)
class Crowd:
    """A server of many users, and who may call it."""

    server: Server
    issuer: Issuer

    def caller(self, name: str, record: LatencyTotals, seed: int) -> BusyCaller:
        """Return a connection of a principal."""
        key = self.issuer.token(sub=name, exp=int(time()) + VALID)
        return BusyCaller(self.server, record, seed, key=key, host=HOST, calls=taking)

    async def measure(self, principals: int, connections: int, seconds: float) -> tuple[LatencyTotals, LatencyTotals]:
        """Return what the crowd was told, and what somebody beside it was."""
        many, one = LatencyTotals(), LatencyTotals()
        ends = perf_counter() + seconds
        crowd = [
            asyncio.create_task(self.caller(f"taker {taker}", many, 100 * taker + seed).call_until(ends))
            for taker in range(principals)
            for seed in range(connections)
        ]
        beside = self.caller("somebody", one, 0)
        await asyncio.sleep(1)
        while perf_counter() < ends:
            await beside.call(*LIGHT)
            await asyncio.sleep(PAUSE)
        for task in crowd:
            task.cancel()
        await asyncio.gather(*crowd, return_exceptions=True)
        return many, one

    async def refusals(self) -> dict[str, tuple[float, float]]:
        """Return the milliseconds of each refusal: the first, and the median of those that follow."""
        found = {}
        for name, call in REFUSALS.items():
            record = LatencyTotals()
            caller = self.caller("somebody", record, 0)
            for _ in range(TRIES + 1):
                await caller.call(*call)
            first, *others = record.milliseconds[call[0]]
            if record.errors != {"bad_arguments": TRIES + 1}:
                raise SystemExit(f"{name}: {dict(record.errors)}")
            found[name] = first, median(others)
        return found


def main(rows: int, seconds: int = SECONDS) -> None:
    """Run the bench with one worker and with two."""
    books = demo_books(rows // PART)
    failed: list[str] = []
    for workers in GOALS:
        settings = {"SVC_WORKERS": str(workers)}
        with issuing() as issuer, serving_many((books.instance, books.state), issuer.url, **settings) as server:
            wait_for(lambda: server.log.read_text().count(" serves") >= workers)  # noqa: B023 - in this round
            print(f"{workers} workers, {rows // PART:,} rows")
            failed += report(Crowd(server, issuer), seconds)
    failed += attack_all()
    if failed:
        raise SystemExit("; ".join(failed))


def report(crowd: Crowd, seconds: int) -> Iterator[str]:
    """Print what refusals cost, and a light report beside each crowd; yield the goals that are missed."""
    for name, (first, others) in asyncio.run(crowd.refusals()).items():
        print(f"  refused: {name:50} first {first:7.1f} ms, then {others:6.1f} ms (goal {REFUSED:.0f})")
        if others > REFUSED:
            yield f"{name}: {others:.0f} ms"
    for name, (principals, connections) in CROWDS.items():
        many, one = asyncio.run(crowd.measure(principals, connections, seconds))
        times = one.milliseconds[LIGHT[0]]
        cuts, errors = quantiles(times, n=100), dict(one.errors)
        print(f"  {name}: {sum(map(len, many.milliseconds.values())):,} calls, errors {dict(many.errors)}")
        print(
            f"    a light report beside them: {len(times)} calls, p50 {cuts[49]:.0f} ms, p95 {cuts[94]:.0f} ms "
            f"(goal {LATEST:.0f}), errors {errors or 'none'}"
        )
        if cuts[94] > LATEST or errors:
            yield f"{name}: p95 {cuts[94]:.0f} ms, errors {errors}"
