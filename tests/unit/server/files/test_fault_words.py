"""What databases and Polars say of a statement, in words of our own: real faults of each, none in its own words."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import duckdb
import polars as pl
import pytest

from server.files.fault_words import REACHING, REFUSALS, UNREACHED, UNREFUSED, in_words

TABLES = {"lines": pl.LazyFrame({"id": ["1", "x"], "n": [1, 2]}), "header": pl.LazyFrame({"id": ["1"], "d": ["a"]})}


def of_sqlite(query: str) -> None:
    """Run a query in SQLite."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create table lines (id text, n int)")
        database.execute("create table header (id text, d text)")
        database.execute(query).fetchall()


def of_duckdb(query: str) -> None:
    """Run a query in DuckDB, with a row that has no number."""
    with duckdb.connect() as database:
        database.execute("create table lines (id varchar, n int)")
        database.execute("create table header (id varchar, d varchar)")
        database.execute("insert into lines values ('x', 1)")
        database.execute("set enable_external_access = false")
        database.execute(query).fetchall()


def of_polars(query: str) -> None:
    """Run a statement over files in Polars."""
    pl.SQLContext(TABLES).execute(query, eager=True)


ALL = (of_sqlite, of_duckdb, of_polars)
FAULTS: list[tuple[str, str, tuple[Callable[[str], None], ...]]] = [
    ("select * from nope", "there is no table 'nope'", ALL),
    ("select nope from lines", "there is no column 'nope'", ALL),
    ("select nofun(id) from lines", "there is no function 'nofun'", ALL),
    ("selec 1", "it is no SQL that is read here, near 'selec'", ALL),
    ("select id from lines l, header h where l.id = h.id", "two tables have a column 'id'; name its table", ALL[:2]),
    ("select id, sum(n) as n from lines", "'id' needs group by, or a sum", ALL[1:]),
    ("select id from lines union select id, d from header", "the parts of its union have not the same columns", ALL),
    ("select 'a from lines", "it ends too early, or a quote is open", ALL),
    ("select id from lines where", "it ends too early, or a quote is open", (of_sqlite, of_polars)),
    ("select cast(id as int) as n from lines", "it makes a number or a day of another text", (of_duckdb,)),
    ("select cast(id as int) as n from lines", "a text of column 'id' is no such number or day", (of_polars,)),
    ("select n + id from lines", "it mixes texts and numbers; cast them", (of_polars,)),
    ("select abs(-9223372036854775808)", "a number is too large for its type; cast it to a larger one", ALL[:1]),
    (
        "select n + 2147483647 :: int from lines",
        "a number is too large for its type; cast it to a larger one",
        ALL[1:2],
    ),
    ("select 1; select 2", "it has several; write one", (of_sqlite, of_polars)),
    ("select * from read_csv('/etc/passwd')", "it would write, or reach another file: this source is", ALL[1:2]),
    ("select * from lines join header", "it joins tables without on or using, or in a way that", ALL[2:]),
    ("select * from lines limit 'a'", UNREFUSED, ALL[2:]),
]


@pytest.mark.parametrize(
    ("run", "query", "says"), [(run, query, says) for query, says, which in FAULTS for run in which]
)
def test_a_fault_of_a_statement_is_told_in_words_of_our_own(run: Callable[[str], None], query: str, says: str) -> None:
    with pytest.raises((sqlite3.Error, duckdb.Error, pl.exceptions.PolarsError, sqlite3.Warning)) as fault:
        run(query)
    said = in_words(fault.value, REFUSALS, UNREFUSED)
    assert said.startswith(says)


class StateFault(Exception):
    """A fault with a SQLSTATE, as drivers raise."""

    def __init__(self, message: str, sqlstate: str | None = None) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ('connection to server failed: FATAL:  password authentication failed for user "me"', "it refuses the user or"),
        ('FATAL:  database "books" does not exist', "it has no such database"),
        ("dial tcp: lookup db.example: no such host", "its host name is not known"),
        ("connection to server at 10.0.0.1, port 5432 failed: Connection refused", "nothing listens at its address"),
        ('Unix-domain socket path "/s3cr3t" is too long (maximum 107 bytes)', "the path of its socket has more than"),
        ("file is not a database", "its file is damaged, or is no database of this kind"),
        ("something nobody knows of db.example", UNREACHED),
    ],
)
def test_a_fault_of_a_connection_is_told_in_words_of_our_own(message: str, says: str) -> None:
    said = in_words(StateFault(message), REACHING, UNREACHED)
    assert said.startswith(says)
    assert "db.example" not in said


def test_an_unknown_fault_says_its_state_and_what_to_do() -> None:
    assert in_words(StateFault("trigger depth exceeded by s3cr3t", "54001"), REFUSALS, UNREFUSED) == (
        "run it in a client of the database, as the user of this source, to see why (SQLSTATE 54001)"
    )
    assert in_words(StateFault("s3cr3t", "\0\0\0\0\0"), REFUSALS, UNREFUSED) == UNREFUSED
