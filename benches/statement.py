"""Statement A: twelve months by month, actual and budget, beside DuckDB's native tables over the same rows.

The engine answers the whole statement: lines, formulas, totals, notes and freshness, from request to report, and once
more to JSON. DuckDB answers only the sums that the statement needs, from tables sorted like the store's partitions,
with codes for text, a month column and integer cents: what it does best. `pnl` reads the general ledger alone,
`full_pnl` sales and people too. Each side answers from its rows, and from sums: the rollups that the store chooses, a
table by account, cost centre and entity that DuckDB aggregated beforehand. Every call asks for other twelve months.

The books keep the amounts of the months that were read for each permission, so that four calls are timed apart: the
first after a publish finds nothing kept, the first of a permission finds members but no days and amounts, one for new
months finds those but not their amounts, and a later one finds all. A new filter is one that nobody has asked for: each
call filters another pair of cost centres. The sides are checked to agree before anything is timed.
"""

from collections.abc import Callable
from functools import partial
from itertools import combinations, cycle
from shutil import copytree, ignore_patterns
from typing import cast

import duckdb
import polars as pl
from msgspec.json import encode

from benches.books import BenchBooks, demo_books
from benches.page import README, write_block
from benches.timing import Work, in_turns, peak_of, report
from engine.books.books import Shelf
from engine.door import Door
from engine.facts.arrow import ArrowFacts
from engine.instance.read import STORE
from engine.model.exact import Exact
from engine.model.profiles import EVERYONE, Grant, Profile
from engine.model.scope import Cut
from engine.present.answers.reports import answer
from engine.report.report import Report
from server.feeds.instance import read_instance

ROUNDS, FEW_ROUNDS = 41, 11  # of a call; few where DuckDB's tables are in a file
IN_MEMORY = 20_000_000  # rows up to which DuckDB holds its tables in memory; then in a file, compressed
FEWER = 10_000_000  # rows that larger books stand beside
ALONE = 200  # calls of a contestant that is timed alone, so that nothing else takes its place in the caches
STARTS = (0, 5, 11, 2, 8, 3, 10, 6, 1, 9, 4, 7)  # months after January 2024 with which the ranges of the calls begin
GROUPS, AMOUNTS = "Polars, groups of the ledger's rows", "Polars, one sum of the ledger's amounts"
OF_ROWS, NEW = "Tieout, rollups off, new months", "Tieout, new months"
COLUMNS = {"Actuals": "actual", "Budget": "budget"}
CREATE = """
set enable_progress_bar = false;
set memory_limit = '6GB';
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
NO_ROLLUPS = "\nrollups: []\n"
RANGE = "scenario in ('actual', 'budget') and month between 2024 * 12 + 1 + {start} and 2024 * 12 + 12 + {start}"
LEDGER_SUMS = f"select scenario, month, account, sum(amount)::bigint from {{table}} where {RANGE} group by all"
ENTITY_SUMS = f"select scenario, account, entity, sum(amount)::bigint from {{table}} where {RANGE} group by all"
OTHER_SUMS = (
    f"select scenario, month, sum(amount)::bigint, sum(units)::bigint from sales where {RANGE} group by all",
    f"select scenario, month, sum(fte)::bigint, sum(payroll)::bigint from people where {RANGE} group by all",
)
CHECK = """
select sum(amount) from {table}
where scenario = 'actual' and month between 2025 * 12 + 1 and 2025 * 12 + 12 and account between '4000' and '4999'
"""


def code(months: int) -> str:
    """Return the code of a month, some months after January 2024."""
    return f"{2024 + months // 12}-{months % 12 + 1:02}"


def statement(door: Door, key: str, by: str, start: int = 12, centres: tuple[str, ...] = ()) -> Report:
    """Report twelve months by month, or by another dimension."""
    filters = {"cost_centre": list(centres)} if centres else {}
    period = (code(start), code(start + 11))
    return door.statement(key, scenarios=COLUMNS, period=period, dimensions=[by], filters=filters)


def from_rows(books: BenchBooks) -> BenchBooks:
    """Return the same books with rollups switched off."""
    instance = books.instance.with_name("instance-rows")
    copytree(books.instance, instance, ignore=ignore_patterns("data", "__pycache__"), dirs_exist_ok=True)
    with (instance / "domains" / "gl.yaml").open("a", encoding="utf-8") as ledger:
        ledger.write(NO_ROLLUPS)
    return BenchBooks(instance, books.state)


def shelf_of(books: BenchBooks) -> Shelf:
    """Open the books."""
    return Shelf(read_instance(books.instance).catalogue, books.state / STORE)


def after_publish(books: BenchBooks, key: str, by: str) -> Work:
    """Return a call on books that are opened anew."""
    catalogue, starts = read_instance(books.instance).catalogue, cycle(STARTS)
    return lambda: statement(Door(Shelf(catalogue, books.state / STORE), EVERYONE), key, by, next(starts))


def first_of_permission(books: BenchBooks, key: str, by: str) -> Work:
    """Return a call of a profile that has not called before; each is denied another two cost centres."""
    shelf, starts = shelf_of(books), cycle(STARTS)
    centres = combinations(Door(shelf, EVERYONE).reader.visible_ids("cost_centre"), 2)

    def work() -> Report:
        denied = next(centres)
        grant = Grant(dimensions=(Cut("cost_centre", denied, deny=True),), open_domains=("sales",))
        return statement(Door(shelf, Profile(key=f"all but {denied}", grants=(("*", grant),))), key, by, next(starts))

    return work


def later(books: BenchBooks, key: str, by: str) -> Callable[[], Report]:
    """Return a call for another range than the one before."""
    door, starts = Door(shelf_of(books), EVERYONE), cycle(STARTS)
    return lambda: statement(door, key, by, next(starts))


class NewMonths:
    """Calls for twelve months that nobody has asked for, of callers who have asked for the twelve before."""

    def __init__(self, books: BenchBooks, key: str, by: str) -> None:
        self._books, self._key, self._by = books, key, by
        self._catalogue = read_instance(books.instance).catalogue
        self.open()

    def open(self) -> None:
        """Open the books anew, and ask for the months before."""
        self._door = Door(Shelf(self._catalogue, self._books.state / STORE), EVERYONE)
        statement(self._door, self._key, self._by, 0)

    def ask(self) -> Report:
        """Ask for the months."""
        return statement(self._door, self._key, self._by, 12)


def new_filter(books: BenchBooks, key: str, by: str) -> Work:
    """Return a call with a filter that was not asked for before."""
    door, starts = Door(shelf_of(books), EVERYONE), cycle(STARTS)
    centres = combinations(door.reader.visible_ids("cost_centre"), 2)
    return lambda: statement(door, key, by, next(starts), next(centres))


def groups_alone(books: BenchBooks, by: str) -> Work:
    """Return what Polars takes for the sums of a range in rows of the ledger alone.

    By month, rows are grouped by their account, by which each file is sorted; else by account and entity in one number.
    """
    packed = pl.col("account").cast(pl.UInt32) * 256 + pl.col("entity")
    key = pl.col("account") if by == "period" else packed.alias("packed")
    return frames_alone(books, lambda frame: frame.lazy().group_by(key).agg(pl.col("amount").sum(), pl.len()).collect())


def sum_alone(books: BenchBooks) -> Work:
    """Return what Polars takes to read the amounts of a range once: the least that any answer from rows costs."""
    return frames_alone(books, lambda frame: frame["amount"].sum())


def frames_alone(books: BenchBooks, read: Callable[[pl.DataFrame], object]) -> Work:
    """Return a call that reads the ledger's rows of another range than the one before, month by month."""
    facts, starts = cast(ArrowFacts, shelf_of(books).current().facts), cycle(STARTS)
    parts = {scenario: facts.partitions("gl", scenario) for scenario in COLUMNS.values()}

    def work() -> object:
        start = next(starts)
        months = range(start, start + 12)
        return [read(facts.frame("gl", known[at])) for known in parts.values() for at in months]

    return work


def to_json(work: Callable[[], Report]) -> Work:
    """Return a call with its answer as JSON text."""
    return lambda: encode(answer(work(), 100_000))


def duckdb_tables(books: BenchBooks, rows: int) -> duckdb.DuckDBPyConnection:
    """Return the same rows in native tables."""
    file = books.instance.with_name("duckdb.db")
    made = file.exists()
    connection = duckdb.connect(file if rows > IN_MEMORY else ":memory:")
    if not made:
        connection.execute(CREATE.format(data=books.instance / "data"))
    return connection


def duckdb_work(connection: duckdb.DuckDBPyConnection, *queries: str, table: str = "gl") -> Work:
    """Return what is timed of DuckDB."""
    starts = cycle(STARTS)

    def work() -> object:
        start = next(starts)
        return [connection.execute(query.format(table=table, start=start)).fetchall() for query in queries]

    return work


def duckdb_alone(books: BenchBooks, rows: int) -> Work:
    """Make the tables and return the sums of the ledger."""
    return duckdb_work(duckdb_tables(books, rows), LEDGER_SUMS)


def agree(connection: duckdb.DuckDBPyConnection, *books: BenchBooks) -> None:
    """Stop where the sides do not come to the same revenue of the year."""
    found = [statement(Door(shelf_of(known), EVERYONE), "pnl", "period").figures[0][0][-1] for known in books]
    for table in ("gl", "gl_sums"):
        ((cents,),) = connection.execute(CHECK.format(table=table)).fetchall()
        if any(figure != Exact(-int(cents), 100) for figure in found):
            raise SystemExit(f"the engine says {found} and DuckDB {cents} cents")


def main(rows: int) -> None:
    """Run the bench at a size."""
    books, rounds = demo_books(rows), ROUNDS if rows <= IN_MEMORY else FEW_ROUNDS
    tables, plain = duckdb_tables(books, rows), from_rows(books)
    agree(tables, books, plain)
    found: dict[str, list[str]] = {}
    for key, by, queries in (
        ("pnl", "period", (LEDGER_SUMS,)),
        ("pnl", "organisation", (ENTITY_SUMS,)),
        ("full_pnl", "period", (LEDGER_SUMS, *OTHER_SUMS)),
    ):
        base, rows_alone, new = f"DuckDB, sums of {key} by {by}", NewMonths(plain, key, by), NewMonths(books, key, by)
        work: dict[str, Work] = {
            base: duckdb_work(tables, *queries),
            "DuckDB, from the sums it made": duckdb_work(tables, *queries, table="gl_sums"),
            "Tieout, rollups off, after a publish": after_publish(plain, key, by),
            "Tieout, rollups off, first of a permission": first_of_permission(plain, key, by),
            OF_ROWS: rows_alone.ask,
            "Tieout, rollups off, later": later(plain, key, by),
            "Tieout, after a publish": after_publish(books, key, by),
            "Tieout, first of a permission": first_of_permission(books, key, by),
            NEW: new.ask,
            "Tieout, new filter": new_filter(books, key, by),
            "Tieout, later": later(books, key, by),
            "Tieout, later, to JSON text": to_json(later(books, key, by)),
        }
        times = in_turns(work, rounds, {OF_ROWS: rows_alone.open, NEW: new.open})
        alone: dict[str, Work] = {"Tieout, later, alone": later(books, key, by)}
        if rows > IN_MEMORY:
            alone[f"Tieout, later, alone, {FEWER:,} rows"] = later(demo_books(FEWER), key, by)
        times |= in_turns(alone, ALONE)
        if key == "pnl":
            bare: dict[str, Work] = {GROUPS: groups_alone(plain, by), AMOUNTS: sum_alone(plain)}
            times |= in_turns(bare, rounds)
        report(times, base)
        for name, taken in times.items():
            found.setdefault("DuckDB, from its rows" if name == base else name, []).append(f"{taken.median:.2f}")
        for name in () if key == "pnl" else (GROUPS, AMOUNTS):
            found[name].append("")
    tables.close()
    table = [
        f"| {rows:,} rows, median of {rounds} calls in ms | pnl by month | pnl by organisation | full_pnl by month |"
    ]
    table += ["|---|--:|--:|--:|", *(f"| {name} | {' | '.join(medians)} |" for name, medians in found.items())]
    write_block(README, f"statement --rows {rows}", table)
    peaks: dict[str, Callable[[], Work]] = {
        "DuckDB, sums of pnl by period": partial(duckdb_alone, books, rows),
        "Tieout": partial(later, books, "pnl", "period"),
    }
    for name, prepare in peaks.items():
        before, peak = peak_of(prepare, rounds)
        print(f"{name:42} memory {before} MB prepared, {peak} MB at its peak")
