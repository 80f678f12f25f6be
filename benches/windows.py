"""Members of windows that overlap beside DuckDB: the buyers of the year to each day, of 60,000, from a call in process.

DuckDB has a native table of the same rows, sorted by day, and counts the distinct customers of each year by a join with
the days. Tieout also makes the total, notes, freshness and drill.
"""

from collections.abc import Callable
from datetime import date
from functools import partial
from random import Random
from time import perf_counter, process_time
from typing import Any

import duckdb
import polars as pl

from benches.books import ROOT, BenchBooks
from benches.page import README, write_block
from benches.timing import in_turns
from engine.door import Door, open_books
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

SEED = 20261129
ROWS, CUSTOMERS, DAYS, REGIONS = 400_000, 60_000, 730, 10
ROUNDS = 9
SALES = """
time: {column: date}
dimensions: {customer: customer, region: region}
measures: {amount: {places: 2}}
metrics:
  buyers: {over_members: {count_distinct: customer}}
"""
DIMENSIONS = """
customer: {kind: leaf}
region: {kind: leaf}
date: {kind: leaf, grain: date}
"""
PROFILES = "one_region: {scenarios: {'*': {dimensions: {region: {allow: [R3]}}}}}\n"
YEAR = ("2026-01-01", "2026-12-31")


def window_books() -> BenchBooks:
    """Return books of two years of sales by day, written and loaded once."""
    home = ROOT / "out" / "benches" / "windows"
    books = BenchBooks(home / "instance", home / "state")
    if not (books.state / "store" / "CURRENT").exists():
        print(f"writing and loading {ROWS:,} sales to {CUSTOMERS:,} customers …")
        header = "date scenario customer region amount"
        write_instance(
            books.instance, facts={"sales": header}, domains={"sales": SALES}, dimensions=DIMENSIONS, profiles=PROFILES
        )
        sales().write_csv(books.instance / "data" / "sales.csv")
        load_instance(books.instance, books.state)
    return books


def sales() -> pl.DataFrame:
    """Return the rows: each customer once, the others as often."""
    drawn = Random(SEED)
    frame = pl.DataFrame(
        {
            "day": drawn.choices(range(DAYS), k=ROWS),
            "customer": [at if at < CUSTOMERS else drawn.randrange(CUSTOMERS) for at in range(ROWS)],
            "region": drawn.choices(range(REGIONS), k=ROWS),
        }
    )
    return frame.select(
        (pl.lit(date(2025, 1, 1)) + pl.duration(days="day")).alias("date"),
        pl.lit("actual").alias("scenario"),
        pl.format("K{}", pl.col("customer").cast(pl.String).str.zfill(6)).alias("customer"),
        pl.format("R{}", "region").alias("region"),
        pl.lit("1.00").alias("amount"),
    )


def duckdb_table(books: BenchBooks) -> duckdb.DuckDBPyConnection:
    """Return a connection to a native table of the rows."""
    file = books.instance.with_name("duckdb.db")
    is_new = not file.exists()
    connection = duckdb.connect(file)
    if is_new:
        read = f"read_csv('{books.instance / 'data' / 'sales.csv'}')"
        connection.execute(f"create table sales as select * from {read} order by date")
    return connection


def query(where: str = "true") -> str:
    """Return the query of the distinct customers of the year to each day of a year."""
    return (
        "with days as (select unnest(generate_series(date '2026-01-01', date '2026-12-31', interval 1 day)) as ends) "
        "select ends, count(distinct customer) from days join sales "
        f"on date > ends - interval 1 year and date <= ends where {where} group by ends order by ends"
    )


def buyers(door: Door) -> list[int]:
    """Return the figures of each day."""
    report = door.metric("buyers", scenarios={"A": "actual@ltm"}, period=YEAR, dimensions=["date"])
    return [int(figure.numerator) for figure in report.figures[0][0][:-1] if isinstance(figure, Exact)]


def row(words: str, ours: Callable[[], list[int]], theirs: Callable[[], list[Any]]) -> str:
    """Return a line of the table."""
    begun = process_time()
    try:
        mine = ours()
    except BadArguments:
        return f"| {words} | refused | | | |"
    seconds, begun = process_time() - begun, perf_counter()
    counts = sorted(at[-1] for at in theirs())
    other = (perf_counter() - begun) * 1000  # once: it takes a hundred times as long
    if sorted(mine) != counts:
        raise SystemExit(f"{words}: other counts than DuckDB's")
    tieout = in_turns({"Tieout": ours}, ROUNDS)["Tieout"].median
    return f"| {words} | {tieout:,.0f} | {seconds * 1000:,.0f} | {other:,.0f} | {tieout / other:.3f} |"


def main(_: int) -> None:
    """Measure, print and write the table into the README."""
    books = window_books()
    whole, few = (open_books(books.instance, state=books.state, profile=known) for known in (None, "one_region"))
    connection = duckdb_table(books)

    def ask(text: str) -> list[Any]:
        return connection.execute(text).fetchall()

    lines = [
        "| buyers of the year to each day of a year | Tieout, ms | its processor time, ms | DuckDB, ms | times |",
        "|---|--:|--:|--:|--:|",
        row("of all", partial(buyers, whole), partial(ask, query())),
        row("a caller of one region of ten", partial(buyers, few), partial(ask, query("region = 'R3'"))),
    ]
    print("\n".join(lines))
    connection.close()
    write_block(README, "windows", lines)
