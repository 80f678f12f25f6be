"""Peers: three questions to Tieout and to other semantic layers, and the figures of each beside the true ones.

Each peer runs in an environment of its own under out/benches/, installed at a pinned version, and is asked over its own
MCP server by the client that asks Tieout, MetricFlow through its API. It reads a DuckDB file in which every posting has
the line of its account, so that no peer needs a tree. The true figures are sums that DuckDB makes of the same postings.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from shutil import copy
from statistics import median
from time import perf_counter

import duckdb

from benches.books import demo_books
from benches.page import README, write_block
from benches.peer_servers import BOTH, HOMES, LINES, PEERS, Ask, PeerQuestion
from benches.tokens import counted
from tests.support.answers import calls
from tests.support.answers.calls import Call
from tests.support.service.servers import SERVE, connected, serving

SIZES = (150_000, 5_000_000)
ROUNDS = 15  # further questions of a kind, each drawn
LEDGER = """
create table ledger as
with recursive nodes as (from read_csv('{data}/balance_nodes.csv', all_varchar = true)), cash(node) as (
    select node from nodes where node = 'CASH' union all select nodes.node from nodes join cash on parent = cash.node
)
select date, scenario, amount::decimal(18, 2) as amount,
    entity as company, case when account in (from cash) then 'Cash' else class end as line
from read_parquet('{data}/gl/*.parquet') join read_csv('{data}/account.csv', all_varchar = true) on id = account
"""
COSTS = [f"sum(amount) filter (line = '{line}') as {key}" for key, line in LINES.items() if key != "revenue"]
BASES = f"select scenario, sum(-amount) filter (line = 'Revenue') as revenue, {', '.join(COSTS)}"
REVENUE = "sum(-amount) filter (line = 'Revenue' and scenario = '{}')"
FIRST_YEAR, MONTHS = 2024, 33  # the months that the books hold
COMPANIES = (None, "DE01", "FR01", "US01")


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """A question without its range: how Tieout is asked, what is named, and SQL of the true figures from `asked`."""

    tieout: Call
    measures: Sequence[str]
    scenarios: Sequence[str]
    grain: str | None
    truth: str

    def draw(self, drawn: Random) -> PeerQuestion:
        """Return the question for a range of at least two periods, of one company or of all."""
        months = 3 if self.grain == "quarter" else 1
        first = drawn.randrange(0, MONTHS - 2 * months, months)
        return self.at(first, drawn.randrange(first + months, MONTHS, months) + months, drawn.choice(COMPANIES))

    def at(self, first: int, end: int, company: str | None = None) -> PeerQuestion:
        """Return the question from a month up to another, counted from the first of the books."""
        days = [date(FIRST_YEAR + at // 12, at % 12 + 1, 1) for at in (first, end)]
        last = days[1] - timedelta(1)
        periods = [code_of(day, self.grain) for day in (days[0], last)]
        tool, arguments = self.tieout
        asked = {**arguments, "period_start": periods[0], "period_end": periods[1]}
        filters = {"filters": {"entity": [company]}} if company else {}
        of_company = f" and company = '{company}'" if company else ""
        within = f"asked as (from ledger where date between '{days[0]}' and '{last}'{of_company})"
        call = tool, {**asked, **filters}
        return PeerQuestion(
            call,
            self.measures,
            str(days[0]),
            str(last),
            company,
            self.scenarios,
            self.grain,
            f"with {within}, {self.truth}",
        )


def code_of(day: date, grain: str | None) -> str:
    """Return the code of the quarter or month of a day."""
    return f"{day.year}-Q{(day.month + 2) // 3}" if grain == "quarter" else f"{day:%Y-%m}"


QUESTIONS = {
    "revenue by month with budget and variance": QuestionKind(
        calls.GOALS["revenue by month, actual, budget, variance"][1],
        ("revenue_actual", "revenue_budget", "revenue_variance"),
        BOTH,
        "month",
        f"sums as (select {REVENUE.format('actual')} as a, {REVENUE.format('budget')} as b, a - b from asked"
        " group by year(date), month(date)) from sums",
    ),
    "ten metrics in two scenarios": QuestionKind(
        calls.GOALS["10 metrics × 2 scenarios"][1],
        calls.TEN,
        BOTH,
        None,
        f"bases as ({BASES} from asked where scenario in {BOTH} group by scenario)"
        " select revenue, cost_of_sales, revenue - cost_of_sales as gross_profit,"
        " personnel + other_opex as opex, gross_profit - opex as ebitda, other_opex, personnel, depreciation,"
        " ebitda - depreciation as operating_result, operating_result - financial - taxes from bases",
    ),
    "closing cash by quarter": QuestionKind(
        calls.GOALS["closing cash by quarter, 7 quarters"][1],
        ("cash",),
        BOTH[:1],
        "quarter",
        "sums as (select sum(amount) from asked where line = 'Cash' and scenario = 'actual'"
        " and month(date) in (3, 6, 9, 12) group by year(date), quarter(date)) from sums",
    ),
}
ASKED_FIRST = {"month": 24, None: 24, "quarter": 12}  # the month that the question without a draw begins in


@dataclass(frozen=True, slots=True)
class PeerAnswers:
    """What one contestant said to the questions of one kind, and how long it took at the median, in milliseconds."""

    texts: Sequence[str]
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


def timed(ask: Mapping[str, Ask], questions: Sequence[PeerQuestion]) -> dict[str, PeerAnswers]:
    """Ask all contestants every question in turns; the first does not count."""
    texts: dict[str, list[str]] = {name: [] for name in ask}
    times: dict[str, list[float]] = {name: [] for name in ask}
    for question in questions:
        for name, put in ask.items():
            begun = perf_counter()
            texts[name].append(put(question))
            times[name].append((perf_counter() - begun) * 1000)
    return {name: PeerAnswers(texts[name], median(times[name][1:])) for name in ask}


def lines_of(rows: int) -> Iterator[str]:
    """Yield the rows of the table at one size."""
    demo = demo_books(rows)
    database = database_of(rows, demo.instance / "data")
    asked = {name: questions_of(name) for name in QUESTIONS}
    with duckdb.connect(database, read_only=True) as connection:
        true = {name: [figures(connection, each) for each in questions] for name, questions in asked.items()}
    with ExitStack() as opened:
        server = opened.enter_context(serving(demo.instance, demo.state, command=SERVE))
        books = opened.enter_context(connected(server.url, "auto"))
        ask: dict[str, Ask] = {"Tieout": lambda each: books.call(each.tieout[0], **each.tieout[1]).text}
        for peer in PEERS:
            try:
                peer.install()
                own = Path(copy(database, peer.home / "ledger.duckdb"))  # Sidemantic opens it to write
                ask[peer.title] = opened.enter_context(peer.opened(peer, own))
            except subprocess.CalledProcessError as failed:
                last = (failed.stderr or failed.stdout or "").strip().splitlines()[-1:]
                yield f"| {rows:,} | all | {peer.title} | not installed: {last} | | | | |"
        for name, questions in asked.items():
            for contestant, answers in timed(ask, questions).items():
                found, wanted = [figures_of(text) for text in answers.texts], true[name]
                equal = sum((Counter(said) & Counter(sums)).total() for said, sums in zip(found, wanted, strict=True))
                tokens = counted(answers.texts[0])
                words = [f"{rows:,}", name, contestant, f"{answers.milliseconds:,.0f}", f"{tokens:,}"]
                largest = [f"{found[0][-1]:,}" if found[0] else "refused", f"{wanted[0][-1]:,}"]
                yield f"| {' | '.join([*words, *largest, f'{equal} of {sum(map(len, wanted))}'])} |"


def questions_of(name: str) -> list[PeerQuestion]:
    """Return the question without a draw, then the drawn ones."""
    kind, drawn = QUESTIONS[name], Random(name)
    return [kind.at(ASKED_FIRST[kind.grain], MONTHS), *(kind.draw(drawn) for _ in range(ROUNDS))]


def figures(connection: duckdb.DuckDBPyConnection, asked: PeerQuestion) -> list[Decimal]:
    """Return the true figures of a question in ascending order."""
    return sorted(cell for row in connection.execute(asked.truth).fetchall() for cell in row if cell is not None)


def main(_: int) -> None:
    """Run the bench at its two sizes, and write its table into README.md."""
    head = "| rows | question | contestant | median ms | o200k tokens | largest figure | true | equal figures |"
    table = [head, "|--:|---|---|--:|--:|--:|--:|--:|"]
    for size in SIZES:
        for line in lines_of(size):
            print(line, flush=True)
            table.append(line)
    write_block(README, "peers", table)
