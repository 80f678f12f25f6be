"""Files of SQLite: values by their own class, in batches, read-only, and no other file."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from server.files import sqlite
from server.files.columns import joined, to_text
from server.files.rejects import ROW
from server.files.sampling import sample_source
from server.ingest.load import BindingFailed
from tests.support.books.ledgers import ledger, revenue
from tests.support.books.loads import load_feeds
from tests.support.service.pauses import interrupted

SOURCE = {"kind": "sqlite", "path": "../erp.db"}
QUERY = "select day as date, account, amount from postings order by rowid"


def made(folder: Path, rows: Iterable[tuple[Any, Any]], declared: str = "decimal(15,2)", query: str = QUERY) -> Path:
    """Write postings into a file of SQLite, and return an instance that reads them."""
    with closing(sqlite3.connect(folder / "erp.db")) as database, database:
        database.execute(f"create table postings (day text, account, amount {declared})")
        database.executemany("insert into postings values ('2021-02-01', ?, ?)", rows)
    return ledger(
        folder, SOURCE, extract=query, load="full", scenario="actual", parameters={}, numbers={"blank": "none"}
    )


def test_a_text_among_the_reals_of_a_column_changes_none_of_them(tmp_path: Path) -> None:
    rows = [("P1", 1834267.89), ("P2", 96420.55), ("P3", ""), ("P4", 12), ("P5", "0.10"), ("P6", 1e-2)]
    instance = made(tmp_path, rows)
    load_feeds(instance, tmp_path / "state")
    expected: dict[str | None, str] = {"P1": "1834267.89", "P2": "96420.55", "P4": "12", "P5": "0.1", "P6": "0.01"}
    expected[None] = "1930700.55"
    assert {key: figure for key, figure in revenue(instance, tmp_path).items() if figure} == {
        key: Decimal(text) for key, text in expected.items()
    }


def test_a_column_may_begin_with_whole_amounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "ROWS", 1_000)
    monkeypatch.setattr(sqlite, "OBJECTS", 100)
    instance = made(tmp_path, [("A", 1)] * 1_500 + [("A", 2.75), ("A", None), ("B", "3.5")])
    load_feeds(instance, tmp_path / "state")
    assert revenue(instance, tmp_path) == {"A": Decimal("1502.75"), "B": Decimal("3.5"), None: Decimal("1506.25")}


def test_whole_numbers_that_no_double_holds_keep_their_digits_beside_reals(tmp_path: Path) -> None:
    instance = made(tmp_path, [("A", 2**53 + 1), ("B", 0.5)], declared="blob")
    load_feeds(instance, tmp_path / "state")
    figures = revenue(instance, tmp_path)
    assert (figures["A"], figures["B"]) == (Decimal(2**53 + 1), Decimal("0.5"))


def test_pieces_of_several_types_are_joined_as_texts() -> None:
    pieces = [pl.DataFrame({"id": [2**53 + 1]}), pl.DataFrame({"id": [4000.0, 0.5]}), pl.DataFrame({"id": ["x"]})]
    assert joined(pieces)["id"].to_list() == ["9007199254740993", "4000", "0.5", "x"]
    assert joined([pl.DataFrame({"id": [1]})] * 2).schema == {"id": pl.Int64}


def test_init_reads_ids_as_a_load_does(tmp_path: Path) -> None:
    made(tmp_path, [(4000.0, 1), (5000.0, 2.5)])
    (table,) = sample_source(f"sqlite:{tmp_path / 'erp.db'}:postings", tmp_path)
    assert table.sample.frame["account"].to_list() == ["4000", "5000"]
    assert table.sample.frame["amount"].to_list() == ["1", "2.5"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("select load_extension('x')", "this source is read-only, and its queries reach no other"),
        ("select day as date, account, amount, 1 as account from postings", "has two columns 'account'"),
        ("select day as date, account, x'00ff' as amount from postings", "column amount holds a BLOB"),
        ("select day as date, account, amount from postings; select 1", "the query failed: it has several; write one"),
    ],
)
def test_a_query_that_does_not_only_read_numbers_and_texts_is_refused(tmp_path: Path, query: str, says: str) -> None:
    other = tmp_path / "other.db"
    instance = made(tmp_path, [("A", 1)], query=query.format(other=other))
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, tmp_path / "state")
    assert says in str(failed.value)
    assert str(tmp_path) not in str(failed.value).replace(str(other), "")
    assert not other.exists()


@pytest.mark.parametrize(
    "statement",
    ["attach '{other}' as other", "vacuum into '{other}'", "pragma writable_schema = on", "create table a (b)"],
)
def test_a_session_reads_and_reaches_no_other_file(tmp_path: Path, statement: str) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(tmp_path / "erp.db")) as database:
        database.set_authorizer(sqlite.allowed)
        with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|authorization denied"):
            database.execute(statement.format(other=other))
    assert not other.exists()


def test_an_interrupt_ends_a_query(tmp_path: Path) -> None:
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) as amount from n"
    instance = made(tmp_path, [("A", 1)], query=endless)
    with pytest.raises(KeyboardInterrupt), interrupted(0.2):
        load_feeds(instance, tmp_path / "state")


@pytest.mark.parametrize("largest", [2**53 - 1, -(2**53) + 1, 2**53, 2**53 + 1, 2**62])
def test_a_whole_number_among_reals_keeps_its_digits_whatever_its_size(largest: int) -> None:
    column = sqlite.whole_column([sqlite.typed("amount", [largest, 0.5, None])])
    assert [None if text is None else Decimal(text) for text in to_text(column)] == [largest, Decimal("0.5"), None]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([[1, 2], [0.5, None]], [1.0, 2.0, 0.5, None]),
        ([[2**53 + 1], [0.5]], ["9007199254740993", "0.5"]),
        ([[0.5], [2**53, 1.5], ["x"]], ["0.5", "9007199254740992", "1.5", "x"]),
        ([[1834267.89, 12], [None], ["0.10", None]], ["1834267.89", "12", None, "0.10", None]),
        ([[12], ["a"]], ["12", "a"]),
        ([[None], [7]], [None, 7]),
        ([[None], [None]], [None, None]),
    ],
)
def test_the_parts_of_a_column_are_joined_without_a_changed_digit(parts: list[list[Any]], expected: list[Any]) -> None:
    column = sqlite.whole_column([sqlite.typed("amount", values) for values in parts])
    assert column.to_list() == expected
    assert set(map(type, column)) == set(map(type, expected))


@pytest.mark.parametrize(("count", "heights"), [(0, [0]), (1, [1]), (4, [4]), (5, [4, 1]), (8, [4, 4])])
def test_rows_come_in_pieces_and_none_as_one_empty_piece(
    monkeypatch: pytest.MonkeyPatch, count: int, heights: list[int]
) -> None:
    monkeypatch.setattr(sqlite, "ROWS", 4)
    monkeypatch.setattr(sqlite, "OBJECTS", 2)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create table postings (account, amount)")
        database.executemany("insert into postings values (?, 0.5)", [(f"P{row}",) for row in range(count)])
        pieces = list(islice(sqlite.batches(database.execute("select * from postings"), "erp"), len(heights) + 1))
    assert [piece.height for piece in pieces] == heights
    assert [number for piece in pieces for number in piece[ROW]] == list(range(1, count + 1))
