"""Answers of engines: read where they hold what was asked for, else unavailable by name, never rounded."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from engine.model.errors import Unavailable
from server.warehouses.facts import typed

LARGE = 2**70
ASKED = pl.Schema({"code": pl.UInt32, "amount": pl.Int64, "day": pl.Date, "wide": pl.Int128, "text": pl.String})
ROW: dict[str, tuple[Any, pa.DataType]] = {
    "code": (3, pa.int64()),
    "amount": (-270, pa.int64()),
    "day": (date(2026, 1, 31), pa.date32()),
    "wide": (str(LARGE), pa.string()),
    "text": ("x", pa.string()),
}


def answer(**other: tuple[Any, pa.DataType]) -> pa.Table:
    """Return the row of an engine, with other values or types in some columns, and a row of nulls."""
    cells = {**ROW, **other}
    return pa.table({f"c{at}": pa.array([value, None], dtype) for at, (value, dtype) in enumerate(cells.values())})


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"amount": (Decimal(-270), pa.decimal128(38, 0)), "code": (3, pa.uint8())},
        {"amount": (Decimal("-270.00"), pa.decimal128(20, 2)), "wide": (Decimal(LARGE), pa.decimal128(38, 0))},
        {"amount": ("-270", pa.string()), "day": (datetime(2026, 1, 31), pa.timestamp("us"))},  # noqa: DTZ001 - as engines answer
    ],
)
def test_another_type_is_read_where_it_holds_the_same_values(other: dict[str, tuple[Any, pa.DataType]]) -> None:
    frame = typed(answer(**other), ASKED, "gl")
    assert frame.schema == ASKED
    assert frame.rows() == [(3, -270, date(2026, 1, 31), LARGE, "x"), (None,) * 5]


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"amount": (2.7, pa.float64())}, "amount as Float64 where Int64 was asked for"),
        ({"amount": (270.0, pa.float64())}, "amount as Float64"),  # which holds no odd number past 2**53
        ({"amount": (Decimal("2.7"), pa.decimal128(20, 1))}, "amount as Decimal(precision=20, scale=1)"),
        ({"amount": ("2.7", pa.string())}, "amount as String"),
        ({"amount": (2**63, pa.uint64())}, "amount as UInt64"),
        ({"code": (-1, pa.int64())}, "code as Int64 where UInt32 was asked for"),
        ({"code": (True, pa.bool_())}, "code as Boolean"),
        ({"day": (datetime(2026, 1, 31, 13), pa.timestamp("us"))}, "day as Datetime"),  # noqa: DTZ001 - as above
        ({"more": (1, pa.int64())}, "6 columns where 5 were asked for"),
    ],
)
def test_an_answer_that_would_change_is_unavailable_by_name(
    other: dict[str, tuple[Any, pa.DataType]], says: str
) -> None:
    with pytest.raises(Unavailable) as refused:
        typed(answer(**other), ASKED, "gl")
    assert str(refused.value).startswith("The rows of facts of gl cannot be read: the engine answers with ")
    assert says in str(refused.value)


def test_a_column_of_nulls_has_any_type() -> None:
    assert typed(answer(amount=(None, pa.float64())), ASKED, "gl")["amount"].to_list() == [None, None]
