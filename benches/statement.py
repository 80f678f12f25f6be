"""Statement A: a year by month, actual and budget, beside DuckDB's native tables over the same rows.

The engine answers the whole statement: lines, formulas, totals, notes and freshness, from request to report, and once
more to JSON. DuckDB answers only the sums that the statement needs, from tables sorted like the store's partitions,
with codes for text, a month column and integer cents: what it does best. `pnl` reads the general ledger alone,
`full_pnl` sales and people too. No rollup on either side. Both are checked to agree before anything is timed.
"""

from functools import partial
from pathlib import Path

import duckdb

from benches.books import Books, demo_books
from benches.timing import Work, in_turns, peak_of, report
from engine.answers.figures import answer
from engine.door import Door, open_books
from engine.exact import Exact
from engine.report.report import Report
from server.wire.answer import as_text

ROUNDS = 41
YEAR = ("2025-01", "2025-12")
COLUMNS = {"Actuals": "actual", "Budget": "budget"}
CREATE = """
set enable_progress_bar = false;
create type account as enum (select distinct account from read_parquet('{data}/gl/*.parquet') order by 1);
create type scenario as enum (select distinct scenario from read_parquet('{data}/gl/*.parquet') order by 1);
create table gl as
select scenario::scenario as scenario, (year(date) * 12 + month(date))::smallint as month, account::account as account,
       cost_centre, entity, date, (amount * 100)::bigint as amount
from read_parquet('{data}/gl/*.parquet') order by scenario, month, account, cost_centre;
create table sales as
select scenario::scenario as scenario, (year(date) * 12 + month(date))::smallint as month, product, customer,
       (amount * 100)::bigint as amount, units::bigint as units
from read_parquet('{data}/sales/*.parquet') order by scenario, month, product;
create table people as
select scenario::scenario as scenario, (left(month, 4)::int * 12 + right(month, 2)::int)::smallint as month,
       (fte * 100)::bigint as fte, (payroll * 100)::bigint as payroll
from read_csv('{data}/people.csv', all_varchar = false) order by scenario, month;
"""
YEAR_2025 = "scenario in ('actual', 'budget') and month between 2025 * 12 + 1 and 2025 * 12 + 12"
LEDGER_SUMS = f"select scenario, month, account, sum(amount)::bigint from gl where {YEAR_2025} group by all"
OTHER_SUMS = (
    f"select scenario, month, sum(amount)::bigint, sum(units)::bigint from sales where {YEAR_2025} group by all",
    f"select scenario, month, sum(fte)::bigint, sum(payroll)::bigint from people where {YEAR_2025} group by all",
)
CHECK = """
select sum(amount) from gl
where scenario = 'actual' and month between 2025 * 12 + 1 and 2025 * 12 + 12 and account between '4000' and '4999'
"""


def statement(books: Door, key: str) -> Report:
    """Report the year by month."""
    return books.statement(key, scenarios=COLUMNS, period=YEAR, dimensions=["period"])


def engine_work(state: Path, instance: Path, key: str) -> Work:
    """Open the books and return what is timed of the engine."""
    return partial(statement, open_books(instance, state=state), key)


def duckdb_work(instance: Path, *, everything: bool = False) -> Work:
    """Load the same rows into native tables and return what is timed of DuckDB: the ledger, or all three tables."""
    connection = duckdb.connect()
    connection.execute(CREATE.format(data=instance / "data"))
    queries = (LEDGER_SUMS, *OTHER_SUMS) if everything else (LEDGER_SUMS,)
    return lambda: [connection.execute(query).fetchall() for query in queries]


def agree(books: Books) -> None:
    """Stop where the two do not come to the same revenue of the year."""
    connection = duckdb.connect()
    connection.execute(CREATE.format(data=books.instance / "data"))
    ((cents,),) = connection.execute(CHECK).fetchall()
    found = statement(open_books(books.instance, state=books.state), "pnl").figures[0][0][-1]
    if found != Exact(-int(cents), 100):
        raise SystemExit(f"the engine says {found} and DuckDB {cents} cents")


def main(rows: int) -> None:
    """Run the bench at a size."""
    books = demo_books(rows)
    agree(books)
    door = open_books(books.instance, state=books.state)
    ledger, all_three = "DuckDB, sums of the ledger", "DuckDB, sums of all three tables"
    work = {
        ledger: duckdb_work(books.instance),
        "Tieout pnl (13 lines)": partial(statement, door, "pnl"),
        "Tieout pnl to JSON text": lambda: as_text(answer(statement(door, "pnl"), 100_000)),
    }
    report(in_turns(work, ROUNDS), ledger)
    work = {
        all_three: duckdb_work(books.instance, everything=True),
        "Tieout full_pnl (71 lines)": partial(statement, door, "full_pnl"),
        "Tieout full_pnl to JSON text": lambda: as_text(answer(statement(door, "full_pnl"), 100_000)),
    }
    report(in_turns(work, ROUNDS), all_three)
    peaks = {
        ledger: partial(duckdb_work, books.instance),
        "Tieout pnl (13 lines)": partial(engine_work, books.state, books.instance, "pnl"),
    }
    for name, prepare in peaks.items():
        before, peak = peak_of(prepare, ROUNDS)
        print(f"{name:42} memory {before} MB prepared, {peak} MB at its peak")
