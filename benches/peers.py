"""Peers: three questions to Tieout and to other semantic layers, and the figures of each beside the true ones.

Each peer runs in an environment of its own under out/benches/, installed at a pinned version, and is asked over its own
MCP server by the client that asks Tieout, MetricFlow through its API. It reads a DuckDB file in which every posting has
the line of its account, so that no peer needs a tree. The true figures are sums that DuckDB makes of the same postings.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from shutil import copy
from statistics import median
from time import perf_counter

import duckdb

from benches.books import demo_books
from benches.page import README, write_block
from benches.peer_servers import BOTH, HOMES, LAST, LINES, PEERS, Ask, PeerQuestion
from benches.tokens import counted
from tests.support import asking
from tests.support.serving import SERVE, connected, serving

SIZES = (150_000, 5_000_000)
ROUNDS = 7
LEDGER = """
create table ledger as
with recursive nodes as (from read_csv('{data}/balance_nodes.csv', all_varchar = true)), cash(node) as (
    select node from nodes where node = 'CASH' union all select nodes.node from nodes join cash on parent = cash.node
)
select date, scenario, amount::decimal(18, 2) as amount,
    case when account in (from cash) then 'Cash' else class end as line
from read_parquet('{data}/gl/*.parquet') join read_csv('{data}/account.csv', all_varchar = true) on id = account
"""
COSTS = [f"sum(amount) filter (line = '{line}') as {key}" for key, line in LINES.items() if key != "revenue"]
BASES = f"select scenario, sum(-amount) filter (line = 'Revenue') as revenue, {', '.join(COSTS)}"
REVENUE = "sum(-amount) filter (line = 'Revenue' and scenario = '{}')"

QUESTIONS = {
    "revenue by month with budget and variance": PeerQuestion(
        asking.GOALS["revenue by month, actual, budget, variance"][1],
        ("revenue_actual", "revenue_budget", "revenue_variance"),
        "2026-01-01",
        BOTH,
        "month",
        f"select {REVENUE.format('actual')} as a, {REVENUE.format('budget')} as b, a - b from ledger"
        f" where date between '2026-01-01' and '{LAST}' group by month(date)",
    ),
    "ten metrics in two scenarios": PeerQuestion(
        asking.GOALS["10 metrics × 2 scenarios"][1],
        asking.TEN,
        "2026-01-01",
        BOTH,
        None,
        f"with bases as ({BASES} from ledger where date between '2026-01-01' and '{LAST}' and scenario in {BOTH}"
        " group by scenario) select revenue, cost_of_sales, revenue - cost_of_sales as gross_profit,"
        " personnel + other_opex as opex, gross_profit - opex as ebitda, other_opex, personnel, depreciation,"
        " ebitda - depreciation as operating_result, operating_result - financial - taxes from bases",
    ),
    "closing cash by quarter": PeerQuestion(
        asking.GOALS["closing cash by quarter, 7 quarters"][1],
        ("cash",),
        "2025-01-01",
        BOTH[:1],
        "quarter",
        "select sum(amount) from ledger where line = 'Cash' and scenario = 'actual' and month(date) in (3, 6, 9, 12)"
        f" and date between '2025-01-01' and '{LAST}' group by year(date), quarter(date)",
    ),
}


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """What one contestant said to one question, and how long it took at the median, in milliseconds."""

    text: str
    milliseconds: float


def database_of(rows: int, data: Path) -> Path:
    """Return the DuckDB file that peers read, made once."""
    file = HOMES / f"ledger-{rows}.duckdb"
    if not file.exists():
        HOMES.mkdir(parents=True, exist_ok=True)
        with duckdb.connect(file) as connection:
            connection.execute(LEDGER.format(data=data))
    return file


def figures_of(text: str) -> list[Decimal]:
    """Return the figures of an answer in ascending order; a refusal has none."""
    try:
        answer = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except ValueError:
        return []
    rows = [row for row in answer.get("records", answer.get("rows", ())) if row.get("label") != "Total"]
    cells = [cell for row in rows for cell in row.get("values", row.values())]
    return sorted(cell for cell in cells if isinstance(cell, Decimal))


def timed(ask: Mapping[str, Ask], question: PeerQuestion) -> dict[str, PeerAnswer]:
    """Ask all contestants in turns, after one unmeasured call of each."""
    texts = {name: put(question) for name, put in ask.items()}
    times: dict[str, list[float]] = {name: [] for name in ask}
    for _ in range(ROUNDS):
        for name, put in ask.items():
            begun = perf_counter()
            put(question)
            times[name].append((perf_counter() - begun) * 1000)
    return {name: PeerAnswer(texts[name], median(times[name])) for name in ask}


def lines_of(rows: int) -> Iterator[str]:
    """Yield the rows of the table at one size."""
    demo = demo_books(rows)
    database = database_of(rows, demo.instance / "data")
    with duckdb.connect(database, read_only=True) as connection:
        true = {name: connection.execute(asked.truth).fetchall() for name, asked in QUESTIONS.items()}
    with ExitStack() as opened:
        server = opened.enter_context(serving(demo.instance, demo.state, command=SERVE))
        books = opened.enter_context(connected(server.url, "auto"))
        ask: dict[str, Ask] = {"Tieout": lambda asked: books.call(asked.tieout[0], **asked.tieout[1]).text}
        for peer in PEERS:
            try:
                peer.install()
                own = copy(database, peer.home / "ledger.duckdb")  # Sidemantic opens it to write
                ask[peer.title] = opened.enter_context(peer.opened(peer, own))
            except subprocess.CalledProcessError as failed:
                last = (failed.stderr or failed.stdout or "").strip().splitlines()[-1:]
                yield f"| {rows:,} | all | {peer.title} | not installed: {last} | | | | |"
        for name, asked in QUESTIONS.items():
            wanted = sorted(cell for row in true[name] for cell in row)
            for contestant, answer in timed(ask, asked).items():
                found = figures_of(answer.text)
                equal = (Counter(found) & Counter(wanted)).total()
                words = [f"{rows:,}", name, contestant, f"{answer.milliseconds:,.0f}", f"{counted(answer.text):,}"]
                figures = [f"{found[-1]:,}" if found else "refused", f"{wanted[-1]:,}", f"{equal} of {len(wanted)}"]
                yield f"| {' | '.join([*words, *figures])} |"


def main(_: int) -> None:
    """Run the bench at its two sizes, and write its table into README.md."""
    head = "| rows | question | contestant | median ms | o200k tokens | largest figure | true | equal figures |"
    table = [head, "|--:|---|---|--:|--:|--:|--:|--:|"]
    for size in SIZES:
        for line in lines_of(size):
            print(line, flush=True)
            table.append(line)
    write_block(README, "peers", table)
