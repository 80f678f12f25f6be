"""Rankings of many members beside DuckDB: the ten first of up to a million customers, from a call in process.

DuckDB has a native table of the same rows, sorted by customer, and makes the ten largest sums alone: a group-by with
order and limit, in exact DECIMAL. Tieout also makes the others, the total, notes, freshness and drill. Customers are
drawn by Zipf, a third of them with negative sums. A range seen before is asked again, other months are months that
were read for another range, and a filter never asked is by a region that no call named before.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from itertools import accumulate, count
from random import Random
from time import perf_counter
from typing import Any

import duckdb
import polars as pl

from benches.books import ROOT, BenchBooks
from benches.page import README, write_block
from benches.timing import Times, in_turns
from engine.door import Door, open_books
from engine.model.exact import Exact
from engine.model.requests import ExplainRequest
from engine.queries.explanations import explain_query
from engine.report.explain import explain
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

SEED = 20261129
ROWS = 2_000_000
SIZES = (10_000, 100_000, 1_000_000)
MONTHS = 24
REGIONS = 200
ROUNDS = 15
SALES = """
time: {column: date}
dimensions: {customer: customer, region: region}
measures: {amount: {places: 2}, units: {places: 0, type: number}}
metrics:
  revenue: {measure: amount}
  sold: {measure: units}
  price: {formula: revenue / sold}
"""
DIMENSIONS = """
customer: {kind: leaf}
region: {kind: leaf}
period: {kind: leaf, grain: month}
"""
PROFILES = "one_percent: {scenarios: {'*': {dimensions: {region: {allow: [R000, R001]}}}}}\n"
YEAR, OTHERS = ("2026-01", "2026-12"), ("2025-04", "2026-06")
BOTH = {"V": "var(actual,budget)"}
ALONE = {"A": "actual"}


def wide_books(members: int) -> BenchBooks:
    """Return books with a number of customers, written and loaded once."""
    home = ROOT / "out" / "benches" / f"wide-{members}"
    books = BenchBooks(home / "instance", home / "state")
    if not (books.state / "store" / "CURRENT").exists():
        print(f"writing and loading {ROWS:,} sales to {members:,} customers …")
        header = "date scenario customer region amount units"
        write_instance(
            books.instance, facts={"sales": header}, domains={"sales": SALES}, dimensions=DIMENSIONS, profiles=PROFILES
        )
        sales(members).write_csv(books.instance / "data" / "sales.csv")
        load_instance(books.instance, books.state)
    return books


def sales(members: int) -> pl.DataFrame:
    """Return the rows: each customer once, the others by Zipf; a third of the customers are mostly paid back."""
    drawn = Random(SEED)
    weights = list(accumulate(1 / (at + 10) for at in range(members)))
    codes = [*range(members), *drawn.choices(range(members), cum_weights=weights, k=ROWS - members)]
    frame = pl.DataFrame(
        {
            "month": drawn.choices(range(MONTHS), k=ROWS),
            "scenario": drawn.choices(("actual", "budget"), k=ROWS),
            "customer": codes,
            "region": drawn.choices(range(REGIONS), k=ROWS),
            "cents": [
                -amount if code % 3 == 0 and amount % 10 else amount
                for code, amount in zip(codes, drawn.choices(range(1, 1_000_000), k=ROWS), strict=True)
            ],
            "units": drawn.choices(range(1, 100), k=ROWS),
        }
    )
    return frame.select(
        pl.date(2025 + pl.col("month") // 12, pl.col("month") % 12 + 1, 15).alias("date"),
        "scenario",
        pl.format("K{}", pl.col("customer").cast(pl.String).str.zfill(7)).alias("customer"),
        pl.format("R{}", pl.col("region").cast(pl.String).str.zfill(3)).alias("region"),
        (pl.col("cents").cast(pl.Decimal(18, 0)) / 100).cast(pl.Decimal(18, 2)).alias("amount"),
        "units",
    )


def duckdb_table(books: BenchBooks) -> duckdb.DuckDBPyConnection:
    """Return a connection to a native table of the rows."""
    file = books.instance.with_name("duckdb.db")
    is_new = not file.exists()
    connection = duckdb.connect(file)
    if is_new:
        read = f"read_csv('{books.instance / 'data' / 'sales.csv'}', types = {{'amount': 'DECIMAL(18, 2)'}})"
        connection.execute(f"create table sales as select * from {read} order by customer, date")
    return connection


def query(value: str, period: tuple[str, str], region: str = "", *, where: str = "scenario = 'actual'") -> str:
    """Return the query of the ten largest customers."""
    inside = f"date between '{period[0]}-01' and last_day(date '{period[1]}-01')"
    more = f" and region = '{region}'" if region else ""
    return (
        f"select customer, {value} as figure from sales where {inside} and {where}{more} "
        "group by customer order by figure desc nulls last, customer limit 10"
    )


SUM, RATIO = "sum(amount)", "sum(amount) / nullif(sum(units), 0)"
VARIANCE = "sum(case when scenario = 'actual' then amount else -amount end)"


def top(door: Door, metric: str, scenarios: Mapping[str, str], period: tuple[str, str], region: str = "") -> list[Any]:
    """Return the ten largest customers with their figures."""
    asked: dict[str, Any] = {"filters": {"region": [region]}} if region else {}
    report = door.metric(metric, scenarios=scenarios, period=period, dimensions=["customer"], top=10, **asked)
    figures = report.figures[0][0]
    pairs = zip(report.places[:10], figures, strict=False)
    return [
        (place.members[0].id, Decimal(figure.numerator) / Decimal(figure.denominator))
        for place, figure in pairs
        if isinstance(figure, Exact)
    ]


def contributions(door: Door, period: tuple[str, str]) -> list[Any]:
    """Return the ten customers that contribute most to the variance, with what they contribute."""
    start, end = period
    asked = ExplainRequest(
        metric="revenue", scenarios=("actual", "budget"), by=("customer",), period_start=start, period_end=end
    )
    (listed,) = explain(explain_query(asked, door.reader), door.reader).lists
    each = ((row.key, row.contribution) for row in listed.rows[:10])
    return [(name, Decimal(amount.numerator) / Decimal(amount.denominator)) for name, amount in each]


def regions() -> Iterator[str]:
    """Yield regions that no call named before."""
    return (f"R{at % REGIONS:03}" for at in count(2))


Question = tuple[str, Callable[[], Any], Callable[[], Any]]  # its words, Tieout's work and DuckDB's


def questions(door: Door, few: Door, connection: duckdb.DuckDBPyConnection) -> Iterator[Question]:
    """Yield each question with the work of both."""

    def ask(text: str) -> list[Any]:
        return connection.execute(text).fetchall()

    ours, theirs = regions(), regions()
    both = "scenario in ('actual', 'budget')"
    cut = "scenario = 'actual' and region in ('R000', 'R001')"
    yield "a range seen before", partial(top, door, "revenue", ALONE, YEAR), partial(ask, query(SUM, YEAR))
    yield "other months read before", partial(top, door, "revenue", ALONE, OTHERS), partial(ask, query(SUM, OTHERS))
    yield (
        "a filter never asked",
        lambda: top(door, "revenue", ALONE, YEAR, next(ours)),
        lambda: ask(query(SUM, YEAR, next(theirs))),
    )
    yield (
        "variance of two scenarios",
        partial(top, door, "revenue", BOTH, YEAR),
        partial(ask, query(VARIANCE, YEAR, where=both)),
    )
    yield (
        "explain_variance",
        partial(contributions, door, YEAR),
        partial(ask, query(VARIANCE, YEAR, where=both).replace("order by figure", "order by abs(figure)")),
    )
    yield "by a ratio", partial(top, door, "price", ALONE, YEAR), partial(ask, query(RATIO, YEAR))
    yield "a caller of 1 %", partial(top, few, "revenue", ALONE, YEAR), partial(ask, query(SUM, YEAR, where=cut))


def refuse_others(ours: list[Any], theirs: list[Any], words: str) -> None:
    """Raise SystemExit where both name other customers, or other sums."""
    if [name for name, _ in ours] != [name for name, _ in theirs]:
        raise SystemExit(f"{words}: {ours} against {theirs}")
    for (name, mine), (_, other) in zip(ours, theirs, strict=True):
        if abs(mine - Decimal(str(other))) > Decimal("1e-9") * max(1, abs(mine)):  # DuckDB divides in doubles
            raise SystemExit(f"{words}, {name}: {mine} against {other}")


def row(words: str, members: int, first: float, times: Mapping[str, Times]) -> str:
    """Return a line of the table."""
    ours, theirs = times["Tieout"], times["DuckDB"]
    ratio = ours.median / theirs.median
    medians = f"{first:,.0f} | {ours.median:.1f} | {ours.p95:.1f} | {theirs.median:.1f} | {ratio:.2f}"
    return f"| {words} | {members:,} | {medians} |"


def main(_: int) -> None:
    """Measure, print and write the table into the README."""
    lines = [
        "| ten largest customers | customers | first, ms | Tieout, ms | p95 | DuckDB, ms | times |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for members in SIZES:
        books = wide_books(members)
        whole, few = (
            open_books(books.instance, state=books.state, profile=profile) for profile in (None, "one_percent")
        )
        connection = duckdb_table(books)
        for words, ours, theirs in questions(whole, few, connection):
            begun = perf_counter()
            made = ours()
            first = (perf_counter() - begun) * 1000
            refuse_others(made, theirs(), words)
            times = in_turns({"Tieout": ours, "DuckDB": theirs}, ROUNDS)
            lines.append(row(words, members, first, times))
            print(lines[-1], flush=True)
        connection.close()
    write_block(README, "wide", lines)
