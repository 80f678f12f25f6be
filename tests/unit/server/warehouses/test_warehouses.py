"""Warehouses: tables of facts, parts that are put, counted and dropped, and texts that are quoted."""

from collections.abc import Iterator
from datetime import date
from threading import Event, Timer
from time import monotonic

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.warehouses import PartTotals
from server.warehouses.dialects import ColumnKind, NotWritable, SqlDialect
from server.warehouses.parts import WarehouseParts
from server.warehouses.tables import PART, WarehouseColumn, WarehouseTable, plain_name
from server.warehouses.warehouse import SqlStatement, StatementRefused, Warehouse, WarehouseDown
from tests.support.engines.warehouses import DEEP, ENGINES, Warehouses, warehouses

LEDGER = WarehouseTable(
    domain="gl",
    name=("tieout_facts_gl",),
    columns=(
        WarehouseColumn(key="date", name="date", kind=ColumnKind.DAY),
        WarehouseColumn(key="account", name="account", kind=ColumnKind.CODE),
        WarehouseColumn(key="amount", name="amount", kind=ColumnKind.AMOUNT),
        WarehouseColumn(key="text", name="text", kind=ColumnKind.TEXT),
    ),
)
JANUARY, HUGE = 2**59 + 1, 2**62
ROWS = pl.DataFrame(
    {
        "date": [date(2024, 1, 5), None, date(2024, 1, 31)],
        "account": pl.Series([4_000_000_000, 0, 7], dtype=pl.UInt32),
        "amount": [HUGE, -HUGE, HUGE],
        "text": ["it's \\ é", None, ""],
    }
)


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, embedded_server: str) -> Iterator[Warehouses]:
    """Run a warehouse that the tests of this file share."""
    seconds = 6 if request.param in DEEP else 0.5  # a statement that is killed takes chdb with it
    seconds = 30 if request.param == "spark" else seconds  # it plans each of twenty statements at once for a second
    with warehouses(request.param, embedded_server, timeout=seconds) as made:
        made.loader.create([LEDGER])
        yield made


def read(warehouse: Warehouse, text: str, *parameters: object) -> list[tuple[object, ...]]:
    """Return the rows of a statement."""
    rows = warehouse.read(SqlStatement(text, parameters))
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def test_a_part_is_put_counted_put_again_and_dropped(engine: Warehouses) -> None:
    for _ in range(2):
        engine.loader.put(LEDGER, JANUARY, LEDGER.batches(JANUARY, ROWS))
        engine.loader.put(LEDGER, 2, LEDGER.batches(2, ROWS.drop("amount", "account").head(1)))
        assert engine.reader.parts(LEDGER) == {JANUARY, 2}
    totals = engine.loader.totals(LEDGER, [JANUARY, 2, 3])
    assert totals == {
        JANUARY: PartTotals(3, {"amount": 3 * HUGE}),
        2: PartTotals(1, {"amount": 0}),
    }
    columns, named = ", ".join(ROWS.columns), engine.reader.dialect.table_of("tieout_facts_gl")
    found = read(engine.reader, f"select {columns} from {named} where {PART} = {JANUARY} order by account")
    assert found == sorted(ROWS.rows(), key=lambda row: row[1])
    engine.loader.drop(LEDGER, [JANUARY, 3])
    assert engine.reader.parts(LEDGER) == {2}
    engine.loader.drop(LEDGER, [2])
    assert engine.loader.totals(LEDGER, [2]) == {}


def test_a_table_gets_the_columns_that_it_lacks(engine: Warehouses) -> None:
    narrow = WarehouseTable(domain="hr", name=("tieout_facts_hr",), columns=LEDGER.columns[:3])
    wide = WarehouseTable(domain="hr", name=("tieout_facts_hr",), columns=LEDGER.columns)
    engine.loader.create([narrow])
    engine.loader.put(narrow, 1, narrow.batches(1, ROWS))
    for _ in range(2):
        engine.loader.create([wide])
    engine.loader.put(wide, 2, wide.batches(2, ROWS))
    named = engine.reader.dialect.table_of("tieout_facts_hr")
    found = read(engine.reader, f"select tieout_part, text from {named} where account = 0 or text is not null")
    assert sorted(found, key=repr) == sorted([(1, None), (2, "it's \\ é"), (2, None), (2, "")], key=repr)


def test_readers_write_nothing(embedded_server: str) -> None:
    with warehouses("postgresql", embedded_server) as made:
        made.loader.create([LEDGER])
        with pytest.raises(StatementRefused, match="its user may only read; give the loader a login of its own"):
            made.reader.drop(LEDGER, [1])


def test_the_statements_of_an_answer_are_sent_together(engine: Warehouses) -> None:
    before = engine.reader.sent
    found = engine.reader.read_all([SqlStatement(f"select {number} as n") for number in range(20)])
    assert [rows.column(0).to_pylist() for rows in found] == [[number] for number in range(20)]
    assert engine.reader.sent == before + 20


NUMBERS = "(select * from generate_series(1, 10000))"
SLOW = SqlStatement(f"select count(*) as n from {NUMBERS} as a, {NUMBERS} as b, {NUMBERS} as c, {NUMBERS} as d")
SLOW_IN_SAIL = SqlStatement("select sum(a.id * b.id % 7) as n from range(0, 1000000) as a, range(0, 1000000) as b")
SLOW_IN_SPARK = SqlStatement("select sum(a.id % 7) as n from range(0, 1000000000000) as a, range(0, 1000) as b")


def slow(warehouse: Warehouse) -> SqlStatement:
    """Return a statement that no engine answers in time."""
    return {"Flight SQL": SLOW_IN_SAIL, "Spark": SLOW_IN_SPARK}.get(warehouse.engine, SLOW)


def test_a_statement_ends_at_its_timeout(engine: Warehouses) -> None:
    with pytest.raises(WarehouseDown, match=rf"within {engine.reader.timeout:g} seconds; see whether it runs"):
        engine.reader.read(slow(engine.reader))
    assert read(engine.reader, "select 1 as n") == [(1,)]


class Left(Exception):
    """The caller has left."""


def test_a_statement_ends_with_its_call(engine: Warehouses) -> None:
    left, began = Event(), monotonic()
    Timer(0.1, left.set).start()

    def stop() -> None:
        if left.is_set():
            raise Left

    with pytest.raises(Left):
        engine.loader.read_all([slow(engine.loader), SqlStatement("select 1 as n")], stop)
    assert monotonic() - began < engine.loader.timeout / 2  # it was not waited for


def test_the_first_failure_of_an_answer_ends_the_others(engine: Warehouses) -> None:
    if engine.loader.engine == "ClickHouse":
        pytest.skip("chdb runs one statement at a time")
    with pytest.raises(StatementRefused, match="refused a statement about the facts"):
        engine.loader.read_all([slow(engine.loader), SqlStatement("select * from nowhere")])


@given(text=st.text() | st.text(alphabet="'\"\\\0%$?{}`é\ud800\n"))
def test_every_text_comes_back_as_it_was_quoted_or_bound(engine: Warehouses, text: str) -> None:
    dialect: SqlDialect = engine.reader.dialect
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        with pytest.raises(NotWritable):
            dialect.quote_text(text)
        return
    assert read(engine.reader, f"select {dialect.quote_text(text)} as a") == [(text,)]
    if dialect.parameter:
        bound = f"cast({dialect.parameter.format(1)} as varchar)"
        assert read(engine.reader, f"select {bound} as a", text) == [(text,)]
    if text and len(text.encode()) < 63:
        assert engine.reader.read(SqlStatement(f"select 1 as {dialect.name_of(text)}")).column_names == [text]


def test_parts_of_a_load_are_stored_counted_read_back_and_dropped(engine: Warehouses) -> None:
    parts = WarehouseParts(engine.loader)
    assert parts.totals("sales", ["amount"], [7]) == {}  # no table yet
    parts.drop("sales", [7])
    parts.put("sales", 7, ROWS)
    parts.put("sales", 8, ROWS.with_columns(pl.lit("late").alias("Text")))
    assert parts.totals("sales", ["amount"], [7, 8, 9]) == dict.fromkeys((7, 8), PartTotals(3, {"amount": 3 * HUGE}))
    found = parts.rows("sales", 7, [*ROWS.columns, "Text"])
    assert found.sort("account").rows() == [(*row, None) for row in sorted(ROWS.rows(), key=lambda row: row[1])]
    assert found.schema == {
        "date": pl.Date,
        "account": pl.Int64,
        "amount": pl.Int64,
        "text": pl.String,
        "Text": pl.String,
    }
    parts.drop("sales", [7, 9])
    assert parts.totals("sales", ["amount"], [7, 8]).keys() == {8}


@given(keys=st.sets(st.text(max_size=80), min_size=2, max_size=5))
def test_names_of_columns_are_plain_and_differ_whatever_the_case(keys: set[str]) -> None:
    names = {plain_name(key) for key in keys}
    assert len(names) == len(keys)
    assert all(name.isascii() and name == name.lower() and len(name) <= 60 for name in names)
    assert not any(name.startswith("tieout_") for name in names)
