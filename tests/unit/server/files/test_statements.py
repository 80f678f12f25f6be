"""SQL over files: joins of header and lines in exact amounts, only the tables that a feed names, errors with lines."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from signal import SIGKILL
from typing import Any

import duckdb
import polars as pl
import pytest

from engine.facts.manifest import pin_current
from server.feeds.extract_formats import CsvFormat, ExtractFormat, SqlQuery
from server.files.files import WrittenFormat
from server.files.rejects import LoadFailed
from server.files.statements import query_files
from tests.support.books.loads import ROOT
from tests.unit.server.files.test_formats import instance_of, loaded

HEADER = "id;day;text\n1;05.01.2026;a-x\n2;06.02.2026;b-y\n\n"
LINES = "id;account;amount\n1;4000;-1.000,10\n1;1800;1.000,10\n2;4000;-0,05\n2;4000;-0,05\n3;5000;9\n"
JOIN = """
    select distinct l.account, l.amount, h.day as date, split_part(h.text, '-', 2) as text
    from lines l
    join header h on l.id = h.id  -- lines without a header are no postings
"""

HIDDEN = "select * from /* /* */ ' */ read_csv('/etc/passwd') /* ' */"  # comments nest in Polars


def write(folder: Path) -> dict[str, list[Path]]:
    """Write the files of a journal."""
    (folder / "header.csv").write_text(HEADER)
    (folder / "lines.csv").write_text(LINES)
    return {"header": [folder / "header.csv"], "lines": [folder / "lines.csv"]}


def query(folder: Path, text: str, **tables: list[Path]) -> pl.DataFrame:
    """Return the rows of a statement over the files of a journal."""
    files = {**write(folder), **tables}
    form = ExtractFormat(csv=CsvFormat(separator=";"))
    asked = SqlQuery(text=text, tables=dict.fromkeys(files, "*"))
    return pl.concat(query_files(asked, files, WrittenFormat(form), None, "sql"))


def test_a_journal_of_header_and_lines_is_joined_and_doubles_are_removed(tmp_path: Path) -> None:
    found = query(tmp_path, JOIN)
    database = duckdb.connect()
    for name in ("header", "lines"):
        path = tmp_path / f"{name}.csv"
        database.execute(f"create view {name} as select * from read_csv('{path}', all_varchar=true, delim=';')")  # noqa: S608 - a name of the test
    assert sorted(found.select("account", "amount", "date", "text").rows()) == sorted(database.execute(JOIN).fetchall())
    assert found.columns[:2] == ["_file", "_row"]
    assert found["_row"].to_list() == [1, 2, 3]


def test_a_joined_journal_is_loaded_in_exact_amounts(tmp_path: Path) -> None:
    instance = instance_of(
        tmp_path,
        "a\n",
        file={"header": "header.csv", "lines": "lines*.csv"},
        sql=JOIN,
        csv={"separator": ";"},
        numbers={"decimal": ",", "thousands": "."},
        dates={"format": "%d.%m.%Y"},
        map={},
    )
    write(instance / "data")
    assert loaded(instance) == {"4000": Decimal("-1000.15"), "1800": Decimal("1000.10")}


def test_several_files_of_a_pattern_are_one_table_and_typed_files_pass_exactly(tmp_path: Path) -> None:
    rows = pl.DataFrame({"id": [1], "amount": pl.Series(["1.10"]).cast(pl.Decimal(12, 2)), "rate": [0.1]})
    rows.write_parquet(tmp_path / "a.parquet")
    rows.write_parquet(tmp_path / "b.parquet")
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    found = query(tmp_path, "select id, amount, rate from typed", typed=files)
    assert found.drop("_file", "_row").rows() == [(1, "1.10", "0.1")] * 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("select *\nfrom read_csv('/etc/passwd')", "sql line 2: read_csv(…) would read another file; the tables are"),
        ("select * from lines, \"read_parquet\" ( 'x')", "sql line 1: read_parquet(…) would read another file"),
        ("select * from lines where id in (select id from READ_JSON('x'))", "READ_JSON(…) would read another file"),
        ("select * from `read_csv`('/etc/passwd')", "read_csv(…) would read another file"),
        ("select $$'$$ as a from read_csv('/etc/passwd') -- '", "read_csv(…) would read another file"),
        ("select $a$ $$ ' $a$ as a from read_csv('/etc/passwd') -- '", "read_csv(…) would read another file"),
        (HIDDEN, "sql would read /etc/passwd; the tables are header, lines: name its pattern"),
        (HIDDEN.replace("*", "nope", 1), "sql would read /etc/passwd; the tables are header, lines"),
        ("select id from lines where id in (" + HIDDEN.replace("*", "1", 1) + ")", "sql would read /etc/passwd"),  # noqa: S608 - it is refused
        (HIDDEN.replace("passwd", "nowhere"), "sql would read another file; the tables are"),
        ("select * from '/etc/passwd'", "sql line 1: there is no table '/etc/passwd'"),
        ("select *\nfrom lnes", "sql line 2: there is no table 'lnes'"),
        ("select id,\n nope from lines", "sql line 2: there is no column 'nope'"),
        ("select id\nfrom lines\nwhere", "sql line 3: it ends too early"),
        ("select id\nfrom lines\nwhere id id", "sql line 3: it is no SQL that is read here, near 'id'"),
        ("select id, id from lines", "sql line 1: two columns are called 'id'; name one with as"),
        ("select id from lines\nlimit 'a'", "sql: it is no statement that is read here; write it with select, where"),
        ("selct 1", "sql line 1: the statement begins with neither select nor with"),
        ("drop table lines", "begins with neither select nor with"),
        ("select 1; select 2", "sql: it has several; write one"),
        ("select cast(amount as double) as amount from lines", "sql: 'amount' is a Float64; amounts pass through as"),
        ("select cast(id as decimal(10,2)) as amount from lines", "sql: 'amount' is a Decimal"),
        ("select cast(cast(amount as float) * 2 as varchar) as amount from lines", "sql calculates with"),
        (
            "select cast(cast(amount as decimal(9,2)) * 2 as varchar) as amount from lines",
            "sql calculates with Decimal",
        ),
        ("select id, avg(cast(id as int)) as amount from lines group by id", "amounts pass through as text"),
        ("select cast(cast(id as int) / 3 as varchar) as amount from lines", "amounts pass through as text"),
        ("select cast(cast(id as int) * 1.1 as varchar) as amount from lines", "amounts pass through as text"),
    ],
)
def test_a_statement_that_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(LoadFailed) as failed:
        query(tmp_path, text)
    assert says in str(failed.value)


@pytest.mark.parametrize(
    "text",
    [
        "select 'read_csv(1)' as note, id from lines -- read_csv('x')",
        "select $$read_csv($$ as note, id from lines",
        "with x as (select id, count(*) as n from lines group by id) select * from x",
        "select id, case when amount like '-%' then 'credit' else 'debit' end as side from lines",
        "select id, sum(cast(id as bigint)) over (partition by account) as units from lines",
    ],
)
def test_a_statement_that_is_taken(tmp_path: Path, text: str) -> None:
    assert query(tmp_path, text).height


def test_tables_without_a_statement_are_a_fault(tmp_path: Path) -> None:
    from tests.unit.engine.instance.test_instance_faults import faults, said  # noqa: PLC0415 - as above
    from tests.unit.server.feeds.test_feed_faults import FILE, QUERY, feeds  # noqa: PLC0415 - faults of one test

    cases: dict[str, Any] = {
        FILE + "file: {a: a.csv}\n": "file names tables, and there is no sql that reads them",
        FILE + "file: a.csv\nsql: select 1\nfrom_name: {pattern: '{a}'}\n": "the rows of sql have no file",
        QUERY + "extract: select 1\nsql: select 1\n": "a database has no files, so sql says nothing",
        FILE
        + "file: a.csv\nmap: {account: {product: [a, b]}}\n": "'account' is no measure, and a product is an amount",
    }
    for number, (feed, says) in enumerate(cases.items()):
        assert says in said(faults(tmp_path / str(number), integrations_yaml=feeds(feed)))


KILLED = """
import os, signal, sys
from pathlib import Path
from engine.facts import landing
from engine.facts.landing import Landing
from server.files import files
from tests.support.books.loads import load_feeds

files.PIECE, landing.HELD_BYTES = 1, 0
add = Landing.add
pieces = []

def kill_at_the_second(self, facts):
    pieces.append(facts)
    if len(pieces) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, facts)

Landing.add = kill_at_the_second
load_feeds(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_a_load_by_a_statement_that_is_killed_leaves_the_books_as_they_were(tmp_path: Path) -> None:
    text = "select account, amount, date from file where amount <> '0'"
    instance, state = instance_of(tmp_path, "date,account,amount\n2026-01-31,1,5\n", sql=text), tmp_path / "state"
    assert loaded(instance) == {"1": 5}
    before = pin_current(state / "store").manifest
    (instance / "data" / "gl.csv").write_text("date,account,amount\n2026-01-31,1,7\n2026-01-31,2,8\n2026-01-31,3,9\n")
    killed = subprocess.run([sys.executable, "-c", KILLED, instance, state], cwd=ROOT, capture_output=True, check=False)
    assert killed.returncode == -SIGKILL, killed.stderr
    assert pin_current(state / "store").manifest == before
    assert any((state / "spool").rglob("*.arrow")), "it was killed while rows landed"
    assert loaded(instance) == {"1": 7, "2": 8, "3": 9}
    assert not list((state / "spool").iterdir())
