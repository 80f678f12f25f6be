"""Answers to a survey: whole numbers that would change, and another number of columns, are refused by name."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from server.base.interfaces import StoreDown
from server.warehouses.attached.survey import FoundIds, monthly, rolled_up


def test_ids_with_their_amounts() -> None:
    found = FoundIds.of(pa.table({"A": ["x", "y"], "B": [3, 1], "C": ["270", str(2**70)]}))
    assert found.rows.to_list() == [3, 1]
    assert found.amounts.to_list() == [270, 2**70]


@pytest.mark.parametrize(
    ("column", "value", "type_"),
    [
        ("rows", 2.7, pa.float64()),
        ("rows", Decimal("2.7"), pa.decimal128(20, 1)),
        ("amount", "2.7", pa.string()),
        ("amount", 270.0, pa.float64()),
    ],
)
def test_a_number_of_a_survey_that_is_not_whole_is_refused(column: str, value: Any, type_: pa.DataType) -> None:
    columns = {"id": pa.array(["x"]), "rows": pa.array([1]), "amount": pa.array(["1"])}
    with pytest.raises(StoreDown, match=f"the engine answers with {column} as "):
        FoundIds.of(pa.table(columns | {column: pa.array([value], type=type_)}))


def test_another_number_of_columns_is_refused() -> None:
    with pytest.raises(StoreDown, match="the engine answers with 2 columns where 3 were asked for"):
        FoundIds.of(pa.table({"id": ["x"], "rows": [1]}))
    with pytest.raises(StoreDown, match="the engine answers with 1 columns where 4 were asked for"):
        monthly(pa.table({"scenario": ["x"]}), [], [])


def test_sums_of_a_rollup_that_are_no_whole_numbers_are_refused() -> None:
    found = pa.table({"s": ["actual"], "m": [1], "k": ["x"], "amount": [2.7], "n": [1]})
    with pytest.raises(StoreDown, match="the engine answers with amount as Float64 where whole numbers were asked for"):
        rolled_up(found, ["account"], ["amount"])


def test_another_order_of_columns_is_refused() -> None:
    ids = {"rows": ["x"], "tieout_count": [1], "tieout_amount": ["270"]}  # a dimension may be called so
    assert FoundIds.of(pa.table(ids)).amounts.to_list() == [270]
    other = {name: ids[name] for name in ("rows", "tieout_amount", "tieout_count")}
    with pytest.raises(StoreDown, match="in another order: tieout_amount stands in the place of another"):
        FoundIds.of(pa.table(other))
    rollup = {"s": ["actual"], "m": [1], "entity": [7], "account": [8], "tieout_r0": [270], "tieout_r1": [1]}
    with pytest.raises(StoreDown, match="in another order: entity stands in the place of another"):
        rolled_up(pa.table(rollup), ["account", "entity"], ["amount"])
