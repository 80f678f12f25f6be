"""The law of looks: no large call uses a quarter of a second of processor time between two looks at `stop`.

Calls are drawn at random over books of many members, days and nodes: reports, rankings, explanations, rows, charts of
what they kept. A failure names the call and the functions that it stood in. `LOOKS=500 python -m pytest
tests/laws/test_look_gaps.py` draws as many; `make test-deep PARTS=looks` does so on larger books.
"""

import gc
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from benches.attackers import ATTACKS, PAIR, attack, by_customer
from benches.crowd_books import crowd_books
from engine.books.books import Shelf
from engine.model.errors import Refusal
from engine.present.charts.charts import CHARTS
from server.base.interfaces import Principal
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.feeds.instance import read_instance
from server.run.workers import COLLECTED
from server.stores.memory import MemorySnapshots
from server.tools.toolbox import TOOLS
from server.wire.answers import Answer
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.checks.look_gaps import looked_at
from tests.support.engines.memory import MemoryLoads

CALLS = int(os.environ.get("LOOKS", "40"))
DEEP = 500  # calls, from which on the books are larger
CUSTOMERS, ROWS = (20_000, 200_000) if CALLS >= DEEP else (4_000, 30_000)
MAX_GAP = 0.25  # seconds of processor time, in which a call of somebody else may wait for nothing
SEED = int(os.environ.get("LOOKS_SEED", "20261129"))
DOMAIN = """
time: {column: date}
dimensions: {customer: customer, product: product}
measures: {amount: {places: 2}, stock: {type: number, places: 0}}
inspect_enabled: true
metrics:
  revenue: {measure: amount, favourable: up}
  closing: {measure: stock, over_time: closing}
  known: {measure: stock, over_time: {last_known: always}}
  buyers: {over_members: {count_distinct: customer}}
  mean: {measure: amount, over_members: average}
  most: {measure: amount, over_members: max}
  share: {formula: revenue / pieces}
  pieces: {measure: stock}
"""
DIMENSIONS = """
customer: {kind: leaf, members: live.customer}
segment: {kind: derived, from: customer, attribute: segment}
territory: {kind: ragged, leaf_dimension: customer, nodes: live.territory}
product: {kind: leaf}
date: {kind: leaf, grain: date}
period: {kind: leaf, grain: month}
"""
PROFILES = "everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n"
METRICS = ("revenue", "closing", "known", "buyers", "mean", "most", "share")
REFERENCES = ("actual", "budget", "var(actual,budget)", "actual@py", "actual@ytd", "actual@ltm")
DIMENSION_KEYS = ("customer", "segment", "territory", "product", "date", "period")


def sales(random: Random) -> Iterator[str]:
    """Yield rows of two years."""
    yield "date scenario customer product amount stock"
    for at in range(ROWS):
        customer = at if at < CUSTOMERS else random.randrange(CUSTOMERS)
        day = f"{random.choice((2025, 2026))}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
        scenario = random.choice(("actual", "actual", "budget"))
        yield f"{day} {scenario} C{customer:05} P{at % 5} {random.randint(-999, 99_999) / 100:.2f} {at % 50}"


def territories() -> Iterator[str]:
    """Yield a tree with ten customers below each node."""
    yield "node parent name"
    yield "ALL - All"
    for at in range(CUSTOMERS // 10):
        yield f"T{at:04} ALL T{at}"
    for at in range(CUSTOMERS):
        yield f"C{at:05} T{at // 10:04} -"


@pytest.fixture(scope="module")
def callers(tmp_path_factory: pytest.TempPathFactory) -> Callers:
    """Books of many members."""
    folder = tmp_path_factory.mktemp("looked")
    described = (f"C{at:05} Name{at} S{at % 500}" for at in range(CUSTOMERS))
    path = write_instance(
        folder / "books",
        facts={"sales": "\n".join(sales(Random(SEED)))},
        domains={"sales": DOMAIN},
        dimensions=DIMENSIONS,
        tables={
            "customer": "\n".join(("id name segment", *described)),
            "territory": "\n".join(territories()),
        },
        statements={"pnl": "  - {metric: revenue}\n  - {metric: closing}\n"},
        profiles=PROFILES,
    )
    load_instance(path, folder / "state")
    return callers_of(path, folder / "state", folder / "files")


def callers_of(path: Path, state: Path, files: Path) -> Callers:
    """Return the callers of some books; what they keep stays to the end."""
    instance, keeping = read_instance(path), keeping_in(files)
    keeping = replace(keeping, snapshots=MemorySnapshots(3600, 3600))
    feeds = Feeds.of({}, MemoryLoads(), {})
    return Callers(instance, Shelf(instance.catalogue, state / "store"), feeds, keeping, WORKSHOP, 10_000, 10_000)


def drawn_range(drawn: Random) -> dict[str, str]:
    """Draw a range of months or of days."""
    first, last = sorted(drawn.choices([f"{year}-{month:02}" for year in (2025, 2026) for month in range(1, 13)], k=2))
    by_day = drawn.random() < 0.2
    return {"period_start": f"{first}-01" if by_day else first, "period_end": f"{last}-28" if by_day else last}


def drawn_call(drawn: Random, references: list[str]) -> tuple[str, dict[str, Any]]:
    """Draw a call of a tool that reads facts or what was kept of them."""
    columns = [{"scenario": key, "alias": key} for key in drawn.sample(REFERENCES, drawn.randint(1, 4))]
    dimensions = drawn.sample(DIMENSION_KEYS, drawn.choice((0, 1, 1, 1, 2)))
    asked: dict[str, Any] = {"scenarios": columns, "dimensions": dimensions, **drawn_range(drawn)}
    if drawn.random() < 0.3:
        some = [f"C{at:05}" for at in drawn.sample(range(CUSTOMERS), CUSTOMERS // 3)]
        asked["filters"] = {"customer": some if drawn.random() < 0.5 else {"exclude": some}}
    match drawn.choice(("metric", "metric", "statement", "explain", "rows", "chart")):
        case "metric":
            metrics = drawn.sample(METRICS, drawn.randint(1, 3))
            ranked = {"order_by": f"{metrics[0]}@{columns[0]['alias']}", "top": drawn.choice((10, CUSTOMERS // 2))}
            return "run_metric", {**asked, "metrics": metrics, **(ranked if drawn.random() < 0.5 else {})}
        case "statement":
            return "run_statement", {**asked, "statement": "pnl"}
        case "explain":
            by = drawn.sample(("customer", "segment", "territory", "product"), drawn.randint(1, 2))
            pair = drawn.choice((["actual", "budget"], ["actual", "actual@py"]))
            metric = drawn.choice(("revenue", "share"))
            return "explain_variance", {"metric": metric, "scenarios": pair, "by": by, **drawn_range(drawn)}
        case "chart" if references:
            spec = {"chart_type": drawn.choice(tuple(CHARTS)), "title": "Drawn", "y": "value", "x": dimensions[:1]}
            spec["x"] = drawn.choice(DIMENSION_KEYS)
            return "eval_chart_transform", {"data_refs": [drawn.choice(references)], "chart_spec": spec}
    rows = {"source_key": "sales", "scenario_id": "actual", "limit": 10_000, **drawn_range(drawn)}
    return "inspect_rows", {**rows, "metric": drawn.choice(METRICS)} if drawn.random() < 0.7 else rows


def hold_to_looks(callers: Callers, principal: Principal, name: str, asked: Mapping[str, Any]) -> Answer | None:
    """Make a call and hold its gaps to the bound; return its answer, None if it is refused."""
    answer: Answer | None = None
    with looked_at() as gaps, suppress(Refusal):
        answer = TOOLS[name].call(callers.of(principal, gaps), asked)
        answer.render_block()
    assert gaps.longest <= MAX_GAP, f"{gaps.longest:.2f} s in {gaps.stood_in}: {name} {str(asked)[:600]}"
    return answer


@pytest.fixture
def _collected() -> Iterator[None]:
    """Collect garbage as a worker does."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED)
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.usefixtures("_collected")
def test_no_large_call_computes_for_long_between_two_looks(callers: Callers) -> None:
    drawn, references, answered = Random(SEED), list[str](), 0
    for _ in range(CALLS):
        answer = hold_to_looks(callers, Principal("dev"), *drawn_call(drawn, references))
        if answer is not None:
            answered += 1
            references += [reference] if (reference := answer.result.get("data_ref")) else []
    assert answered >= CALLS / 3


@pytest.mark.usefixtures("_collected")
def test_no_attacker_of_the_bench_computes_for_long_between_two_looks(tmp_path: Path) -> None:
    attacks = ATTACKS if CALLS >= DEEP else {}  # whose books of 100,000 customers belong to the deep tests
    if not attacks:
        return
    books = crowd_books()
    callers = callers_of(books.instance, books.state, tmp_path)
    kept: list[str] = []
    for name, (group, keeps) in attacks.items():
        principal = Principal("taker", claims={"groups": (group,)})
        if keeps and not kept:
            answer = hold_to_looks(callers, principal, *by_customer(Random(SEED), PAIR))
            assert answer is not None
            kept.append(answer.result["data_ref"])
        for tool, asked in attack(name, Random(SEED), kept) if group else ():
            hold_to_looks(callers, principal, tool, asked)
