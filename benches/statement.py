"""Statement A: a year by month, actual and budget, beside DuckDB's native tables over the same rows.

The engine answers the whole statement: lines, formulas, totals, notes and freshness, from request to report, and once
more to JSON. DuckDB answers only the sums that the statement needs, from tables sorted like the store's partitions,
with codes for text, a month column and integer cents: what it does best. `pnl` reads the general ledger alone,
`full_pnl` sales and people too. Each side answers from its rows, and from the sums by account, cost centre and entity
that it made beforehand: a rollup that the domain declares, a table that DuckDB aggregated. All are checked to agree
before anything is timed.
"""

from functools import partial
from pathlib import Path
from shutil import copytree, ignore_patterns

import duckdb

from benches.books import BenchBooks, demo_books
from benches.timing import Work, in_turns, peak_of, report
from engine.door import Door, open_books
from engine.facts.writer import stage
from engine.instance.read import read_instance
from engine.model.exact import Exact
from engine.present.answers.reports import answer
from engine.report.report import Report
from server.wire.answers import as_text

ROUNDS = 41
IN_MEMORY = 20_000_000  # rows up to which DuckDB holds its tables in memory; then in a file, compressed
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
create table gl_sums as
select scenario, month, account, cost_centre, entity, sum(amount)::bigint as amount, count(*) as rows
from gl group by all order by scenario, month, account, cost_centre;
"""
DECLARED = "\nrollups: [[account, cost_centre, entity]]\n"
YEAR_2025 = "scenario in ('actual', 'budget') and month between 2025 * 12 + 1 and 2025 * 12 + 12"
LEDGER_SUMS = f"select scenario, month, account, sum(amount)::bigint from {{}} where {YEAR_2025} group by all"
ENTITY_SUMS = f"select scenario, account, entity, sum(amount)::bigint from {{}} where {YEAR_2025} group by all"
OTHER_SUMS = (
    f"select scenario, month, sum(amount)::bigint, sum(units)::bigint from sales where {YEAR_2025} group by all",
    f"select scenario, month, sum(fte)::bigint, sum(payroll)::bigint from people where {YEAR_2025} group by all",
)
CHECK = """
select sum(amount) from {}
where scenario = 'actual' and month between 2025 * 12 + 1 and 2025 * 12 + 12 and account between '4000' and '4999'
"""


def statement(books: Door, key: str, by: str = "period") -> Report:
    """Report the year by month, or by another dimension."""
    return books.statement(key, scenarios=COLUMNS, period=YEAR, dimensions=[by])


def rolled_up(books: BenchBooks) -> Path:
    """Return the same instance with a declared rollup, built from what is loaded; the other one does not read it."""
    instance = books.instance.with_name("instance-rollup")
    copytree(books.instance, instance, ignore=ignore_patterns("data", "__pycache__"), dirs_exist_ok=True)
    with (instance / "domains" / "gl.yaml").open("a", encoding="utf-8") as ledger:
        ledger.write(DECLARED)
    with stage(books.state / "store") as staged:
        staged.derive(read_instance(instance).catalogue.domains)
        staged.publish()
    return instance


def engine_work(books: BenchBooks, key: str) -> Work:
    """Open the books and return what is timed of the engine."""
    return partial(statement, open_books(books.instance, state=books.state), key)


def duckdb_tables(books: BenchBooks, rows: int) -> duckdb.DuckDBPyConnection:
    """Return the same rows in native tables."""
    file = books.instance.with_name("duckdb.db")
    made = file.exists()
    connection = duckdb.connect(file if rows > IN_MEMORY else ":memory:")
    if not made:
        connection.execute(CREATE.format(data=books.instance / "data"))
    return connection


def duckdb_work(connection: duckdb.DuckDBPyConnection, *queries: str) -> Work:
    """Return what is timed of DuckDB."""
    return lambda: [connection.execute(query).fetchall() for query in queries]


def duckdb_alone(books: BenchBooks, rows: int) -> Work:
    """Make the tables and return the sums of the ledger."""
    return duckdb_work(duckdb_tables(books, rows), LEDGER_SUMS.format("gl"))


def agree(connection: duckdb.DuckDBPyConnection, *doors: Door) -> None:
    """Stop where the sides do not come to the same revenue of the year."""
    found = [statement(door, "pnl").figures[0][0][-1] for door in doors]
    for table in ("gl", "gl_sums"):
        ((cents,),) = connection.execute(CHECK.format(table)).fetchall()
        if any(figure != Exact(-int(cents), 100) for figure in found):
            raise SystemExit(f"the engine says {found} and DuckDB {cents} cents")


def main(rows: int) -> None:
    """Run the bench at a size."""
    books = demo_books(rows)
    tables = duckdb_tables(books, rows)
    door = open_books(books.instance, state=books.state)
    declared = open_books(rolled_up(books), state=books.state)
    agree(tables, door, declared)
    ledger, by_entity, all_three = "DuckDB, sums of the ledger", "DuckDB, by entity", "DuckDB, sums of all three tables"
    by_month: dict[str, Work] = {
        ledger: duckdb_work(tables, LEDGER_SUMS.format("gl")),
        "DuckDB, from the sums it made": duckdb_work(tables, LEDGER_SUMS.format("gl_sums")),
        "Tieout pnl (13 lines)": partial(statement, door, "pnl"),
        "Tieout pnl, rollup": partial(statement, declared, "pnl"),
        "Tieout pnl to JSON text": lambda: as_text(answer(statement(door, "pnl"), 100_000)),
    }
    by_organisation: dict[str, Work] = {
        by_entity: duckdb_work(tables, ENTITY_SUMS.format("gl")),
        "DuckDB by entity, from the sums it made": duckdb_work(tables, ENTITY_SUMS.format("gl_sums")),
        "Tieout pnl by organisation": partial(statement, door, "pnl", "organisation"),
        "Tieout pnl by organisation, rollup": partial(statement, declared, "pnl", "organisation"),
    }
    of_all: dict[str, Work] = {
        all_three: duckdb_work(tables, LEDGER_SUMS.format("gl"), *OTHER_SUMS),
        "Tieout full_pnl (71 lines)": partial(statement, door, "full_pnl"),
        "Tieout full_pnl, rollup of the ledger": partial(statement, declared, "full_pnl"),
        "Tieout full_pnl to JSON text": lambda: as_text(answer(statement(door, "full_pnl"), 100_000)),
    }
    for base, work in ((ledger, by_month), (by_entity, by_organisation), (all_three, of_all)):
        report(in_turns(work, ROUNDS), base)
    tables.close()
    peaks = {
        ledger: partial(duckdb_alone, books, rows),
        "Tieout pnl (13 lines)": partial(engine_work, books, "pnl"),
    }
    for name, prepare in peaks.items():
        before, peak = peak_of(prepare, ROUNDS)
        print(f"{name:42} memory {before} MB prepared, {peak} MB at its peak")
