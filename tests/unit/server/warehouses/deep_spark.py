"""Spark of the deep tests: a table is its folder, and the server ends with all of its workers.

`make test-deep PARTS=spark` runs it.
"""

import os
from contextlib import closing

import polars as pl
import pytest

from server.warehouses.parts import WarehouseParts
from server.warehouses.warehouse import SqlStatement, StatementRefused
from tests.support.engines.spark import SparkWarehouse, spark_server
from tests.support.service.servers import wait_for

ROWS = pl.DataFrame({"account": pl.Series([1, 2], dtype=pl.UInt32), "amount": [5, 7]})


def is_there(group: int) -> bool:
    """Tell whether a group has processes."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_table_has_its_columns_alone_and_a_folder_that_is_missing_fails_a_question() -> None:
    with spark_server() as server:
        group = os.getpgid(server.process.pid)
        with closing(SparkWarehouse(server, "lake")) as warehouse:
            for part in (1, 2):
                WarehouseParts(warehouse).put("gl", part, ROWS)
            named = warehouse.dialect.table_of("tieout_facts_gl")
            found = warehouse.read(SqlStatement(f"select * from {named} order by tieout_part, account"))
            assert found.to_pydict() == {"tieout_part": [1, 1, 2, 2], "account": [1, 2] * 2, "amount": [5, 7] * 2}
            (server.folder / "lake").rename(server.folder / "unmounted")
            with pytest.raises(StatementRefused, match="PATH_NOT_FOUND"):
                warehouse.read(SqlStatement(f"select * from {named}"))
            assert warehouse.columns("tieout_facts_gl") == frozenset()
    wait_for(lambda: not is_there(group))
