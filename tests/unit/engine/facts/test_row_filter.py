"""Row filters: of a partition that is sorted by a dimension, only rows between the codes of a cell are read."""

from random import Random

import polars as pl
import pytest

from engine.facts.expressions import RowFilter
from engine.model.scope import ALL_CODES, EVERYTHING, Cell, CodeSet, Conjunction

EVERY_ROW = pl.lit(value=True)


def frame(seed: int, rows: int = 40) -> pl.DataFrame:
    """Return rows of two dimensions, sorted by the first, with some codes that no row has."""
    random = Random(seed)
    accounts = sorted(random.choices((0, 1, 2, 4, 5, 9), k=rows))
    return pl.DataFrame(
        {"account": accounts, "centre": [random.randrange(3) for _ in accounts]},
        schema={"account": pl.UInt8, "centre": pl.UInt8},
    )


def of(account: set[int], centre: set[int] | None = None) -> Conjunction:
    """Return what allows some accounts, perhaps of some cost centres."""
    return Conjunction.of(
        {"account": CodeSet(frozenset(account))} | ({} if centre is None else {"centre": CodeSet(frozenset(centre))})
    )


@pytest.mark.parametrize(
    ("cell", "least", "greatest"),
    [
        (Cell.of([of({4})]), 4, 4),
        (Cell.of([of({1, 5}, {2})]), 1, 5),
        (Cell.of([of({0, 2}, {1}), of({9}, {0})]), 0, 9),
        (Cell.of([of({3})]), 3, 3),
        (Cell.of([of({200})]), 200, 200),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_rows_below_the_least_and_above_the_greatest_code_are_not_read(
    cell: Cell, least: int, greatest: int, seed: int
) -> None:
    rows = frame(seed)
    read = RowFilter(cell, EVERY_ROW).rows(rows).collect()
    assert read.rows() == [row for row in rows.rows() if least <= row[0] <= greatest]


@pytest.mark.parametrize(
    "cell",
    [
        EVERYTHING,
        Cell.where("account", CodeSet(frozenset({2}), complement=True)),
        Cell.where("centre", CodeSet(frozenset({1}))),
        Cell.of([of({4}), Conjunction.of({"centre": CodeSet(frozenset({1}))})]),
    ],
)
def test_a_cell_that_lists_no_codes_of_the_first_column_reads_every_row(cell: Cell) -> None:
    rows = frame(1)
    assert RowFilter(cell, EVERY_ROW).rows(rows).collect().equals(rows)
    assert RowFilter(cell, EVERY_ROW).rows(frame(1, 0)).collect().is_empty()


def test_a_filter_keeps_what_each_of_its_predicates_does() -> None:
    rows, inside = frame(2), RowFilter(Cell.of([of({1, 5})]), pl.col("account").is_in([1, 5]))
    kept = inside.also(pl.col("centre") == 2).rows(rows).collect()
    assert kept.rows() == [row for row in rows.rows() if row[0] in (1, 5) and row[1] == 2]
    alone = RowFilter(EVERYTHING, None).also(pl.col("centre") == 0).rows(rows).collect()
    assert alone.rows() == [row for row in rows.rows() if row[1] == 0]


def pairs(count: int) -> Cell:
    """Return a cell of many grants, each of two accounts and two cost centres."""
    each = (of({at, at + 3}, {at * 7 % 40, at * 3 % 40}) for at in range(0, 3 * count, 3))
    return Cell.of([*each, of({1}, {2, 300}), Conjunction.of({"centre": CodeSet(frozenset({39}))})])


@pytest.mark.parametrize("many", [3, 8, 60])
@pytest.mark.parametrize("counts", [{"account": 200, "centre": 40}, {"account": 2**40, "centre": 2**30}])
def test_rows_of_many_grants_are_those_that_one_of_them_shows(many: int, counts: dict[str, int]) -> None:
    cell = pairs(many)
    rows = pl.DataFrame({"account": range(200)}, schema={"account": pl.UInt8}).join(
        pl.DataFrame({"centre": range(40)}, schema={"centre": pl.UInt8}), how="cross"
    )
    shown = [
        row
        for row in rows.rows()
        if any(
            row[0] in part.codes.get("account", ALL_CODES) and row[1] in part.codes.get("centre", ALL_CODES)
            for part in cell
        )
    ]
    predicate = RowFilter.of(cell, counts).predicate
    assert predicate is not None
    assert rows.filter(predicate).rows() == shown


def test_ten_times_the_grants_make_no_longer_filter() -> None:
    lengths = []
    for many in (20, 200):
        predicate = RowFilter.of(pairs(many), {"account": 1_000, "centre": 40}).predicate
        assert predicate is not None
        lengths.append(str(predicate).count("|"))
    assert lengths[0] == lengths[1]
