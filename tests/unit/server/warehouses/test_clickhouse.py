"""ClickHouse: the statements that make its tables, texts and names as it reads them, and what failures say.

`make test-deep PARTS=warehouses` asks chdb the questions of the contract, through the same client library.
"""

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from server.warehouses.dialects import CLICKHOUSE
from server.warehouses.engines.clickhouse import (
    FAILURES,
    REFUSALS,
    ClickHouseWarehouse,
    external_data,
    refusal,
    removals_of,
    tables_of,
)
from server.warehouses.tables import WarehouseTable
from server.warehouses.warehouse import StatementRefused, WarehouseDown
from tests.unit.server.warehouses.test_warehouses import LEDGER

COLUMNS = (
    '"date" Nullable(Date32), "account" UInt32, "amount" Nullable(Int64), "text" Nullable(String)',
    ('"date" Nullable(Date32)', '"account" UInt32', '"amount" Nullable(Int64)', '"text" Nullable(String)'),
)


def test_one_server_has_a_table_of_rows_sorted_by_part() -> None:
    assert tables_of(LEDGER, None) == [
        (
            f'create table if not exists "tieout_facts_gl" ("tieout_part" Int64, {COLUMNS[0]}) '
            'engine = MergeTree order by "tieout_part"'
        ),
        *(f'alter table "tieout_facts_gl" add column if not exists {column}' for column in COLUMNS[1]),
    ]


@pytest.mark.parametrize(
    ("cluster", "names"), [(None, ["tieout_facts_gl"]), ("main", ["tieout_facts_gl", "tieout_facts_gl_shard"])]
)
def test_a_table_is_dropped_with_those_of_its_shards(cluster: str | None, names: list[str]) -> None:
    drops = [sqlglot.parse_one(text, dialect="clickhouse") for text in removals_of(LEDGER, cluster)]
    assert [next(drop.find_all(exp.Table)).name for drop in drops] == names
    assert all(drop.args["exists"] for drop in drops)
    assert all(("on cluster" in text) is (cluster is not None) for text in removals_of(LEDGER, cluster))


def test_a_cluster_has_replicated_tables_and_one_that_sends_each_part_to_a_shard() -> None:
    shard, whole = '"tieout_facts_gl_shard" on cluster "main"', '"tieout_facts_gl" on cluster "main"'
    assert tables_of(LEDGER, "main") == [
        (
            f'create table if not exists {shard} ("tieout_part" Int64, {COLUMNS[0]}) '
            'engine = ReplicatedMergeTree order by "tieout_part"'
        ),
        (
            f'create table if not exists {whole} ("tieout_part" Int64, {COLUMNS[0]}) '
            "engine = Distributed('main', currentDatabase(), 'tieout_facts_gl_shard', \"tieout_part\")"
        ),
        *(f"alter table {name} add column if not exists {column}" for name in (shard, whole) for column in COLUMNS[1]),
    ]
    elsewhere = WarehouseTable(domain="gl", name=("books", "tieout_facts_gl"), columns=())
    assert "Distributed('main', 'books', 'tieout_facts_gl_shard'," in tables_of(elsewhere, "main")[1]


@pytest.mark.parametrize("cluster", [None, "main"])
def test_sqlglot_reads_the_statements_that_make_tables(cluster: str | None) -> None:
    made, *added = (sqlglot.parse_one(text, dialect="clickhouse") for text in tables_of(LEDGER, cluster))
    assert isinstance(made, exp.Create)
    assert len(list(made.find_all(exp.ColumnDef))) == 5
    assert len(added) == (4 if cluster is None else 9)


@given(text=st.text() | st.text(alphabet="'\"\\%$?{}`é\n"))
def test_texts_and_names_are_read_as_they_were_quoted(text: str) -> None:
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        return
    escaped = CLICKHOUSE.quote_text(text)[1:-1]
    assert read_escaped(escaped, "'") == text
    assert read_escaped(CLICKHOUSE.name_of(text)[1:-1], '"') == text


def read_escaped(escaped: str, quote: str) -> str:
    """Return what ClickHouse reads between two quotes: a backslash takes the next letter, a doubled quote is one."""
    read, letters = "", iter(escaped)
    for letter in letters:
        if letter in ("\\", quote):
            following = next(letters)
            assert following in ("\\", quote), escaped  # nothing else is escaped, and no quote stands alone
            read += following
        else:
            read += letter
    return read


def test_long_lists_travel_beside_their_statement() -> None:
    sent = external_data({"tieout_set_a": [[1, 2], [3, 4]]})
    assert sent.query_params == {
        "tieout_set_a_format": "ArrowStream",
        "tieout_set_a_structure": "tieout_c0 Int64,tieout_c1 Int64",
    }


def test_failures_say_what_was_found_and_what_to_do_and_no_credentials() -> None:
    for code in FAILURES:
        assert isinstance(refusal(code), WarehouseDown)
    for code, words in REFUSALS.items():
        assert isinstance(refusal(code), StatementRefused)
        assert str(refusal(code)) == f"ClickHouse refused a statement about the facts (code {code}): {words}"
    assert str(refusal(1)).endswith("(code 1): see its log")


def test_a_server_that_is_not_there_is_named_without_its_address() -> None:
    away = ClickHouseWarehouse("http://someone:s3cret@127.0.0.1:1/books", timeout=2)
    with pytest.raises(
        WarehouseDown, match="cannot be reached; see that it runs and that its address is right"
    ) as told:
        away.ping()
    assert "s3cret" not in str(told.value)
    away.close()
