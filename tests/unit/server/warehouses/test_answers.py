"""Answers of engines: read where they hold what was asked for, else unavailable by name, never rounded."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from engine.model.errors import Unavailable
from server.warehouses.facts import typed
from server.warehouses.tables import plain_name

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


SUMS = pl.Schema(
    {"span": pl.Int64, "account": pl.UInt32, "cost centre": pl.UInt32, "s0": pl.Int64, "s1": pl.Int64, "rows": pl.Int64}
)
NAMES = ["tieout_span", "account", plain_name("cost centre"), "tieout_total0", "tieout_total1", "tieout_count"]


def sums(order: Sequence[int], names: Sequence[str] = NAMES) -> pa.Table:
    """Return one row of sums whose columns stand in some order."""
    return pa.Table.from_arrays([pa.array([place]) for place in order], names=[names[place] for place in order])


@pytest.mark.parametrize(
    "names",
    [
        NAMES,
        [name.upper() for name in NAMES],
        [f'tieout_found."{name}"' for name in NAMES],
        ["tieout_span", "tieout_group0", "_col2", "tieout_total0", "tieout_total1", "tieout_count"],
    ],
)
def test_names_as_engines_write_them_are_those_of_the_question(names: Sequence[str]) -> None:
    assert typed(sums(range(6), names), SUMS, "gl").row(0) == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("order", "name"),
    [
        ((0, 2, 1, 3, 4, 5), plain_name("cost centre")),
        ((0, 1, 2, 4, 3, 5), "tieout_total1"),
        ((0, 1, 2, 3, 5, 4), "tieout_count"),
        ((1, 0, 2, 3, 4, 5), "account"),
        ((5, 4, 3, 2, 1, 0), plain_name("cost centre")),
    ],
)
def test_an_answer_in_another_order_is_unavailable_by_name(order: Sequence[int], name: str) -> None:
    with pytest.raises(Unavailable, match=f"its columns in another order: {name} stands in the place of another"):
        typed(sums(order), SUMS, "gl")
