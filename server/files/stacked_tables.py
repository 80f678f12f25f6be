"""Stacked tables: headings below the first one of a file or sheet, where it is repeated or another table begins."""

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Final

import polars as pl
from msgspec import Struct

from server.files.dialect import NUMBER, TEXT_HEADING, Record, TextTable, is_heading, is_period
from server.files.findings import EQUALS, Finding, Findings, SampleTable

FEWEST: Final = 2  # columns of a table


class OneHeading(Struct, frozen=True):
    """A table without the rows that repeat its heading, and the key that leaves them out."""

    sample: SampleTable
    findings: Findings = Findings()


def without_repeats(sample: SampleTable) -> OneHeading:
    """Return a table without the rows that repeat its heading, as on each page of a report, and their titles.

    A heading of two rows, or one whose names are not unique, is not found again: a load calls its columns otherwise.
    """
    columns = sample.frame.columns
    if len(columns) < FEWEST or sample.frame.is_empty():
        return OneHeading(sample)
    same = reduce(and_, (sample.frame[name].str.strip_chars() == name for name in columns)).fill_null(value=False)
    if not same.any() or ((sample.frame[columns[0]].str.strip_chars() == columns[0]) & ~same).any():
        return OneHeading(sample)
    row = sample.rows.filter(same)[0]
    evidence = "rows repeat the heading" if row is None else f"row {row} repeats the heading"
    equals = {columns[0]: [columns[0]]}
    titles = titles_of_pages(sample.frame, same)
    for column, text in titles:
        equals[column] = [*equals.get(column, ()), text]
    rest = same | sample.frame.select(
        pl.any_horizontal(pl.lit(value=False), *(pl.col(column) == text for column, text in titles)).alias("title")
    )["title"].fill_null(value=False)
    table = SampleTable(name=sample.name, frame=sample.frame.filter(~rest), rows=sample.rows.filter(~rest))
    return OneHeading(table, Findings((Finding(EQUALS, equals, evidence),)))


def titles_of_pages(frame: pl.DataFrame, repeats: pl.Series) -> Sequence[tuple[str, str]]:
    """Return the titles that stand alone above repeated headings, each with its column; one that a row has is none."""
    alone = frame.select(pl.sum_horizontal(pl.all().is_not_null()).alias("filled"))["filled"] == 1
    above = alone & repeats.shift(-1, fill_value=False)
    titles = ((name, text) for record in frame.filter(above).iter_rows(named=True) for name, text in record.items())
    named = dict.fromkeys((name, text) for name, text in titles if text is not None)
    return [(name, text) for name, text in named if not ((frame[name] == text) & ~above).any()]


def second_heading(table: TextTable) -> str | None:
    """Return the words that refuse a file in which another table begins below the first; None if none does.

    Its heading stands below an empty row or a title, is about as wide as the table, and has words or periods where the
    row below it has amounts.
    """
    if not table.header_row:
        return None
    first = [cell.strip() for cell in table.records[table.header_row - 1]]
    width = sum(map(bool, first))
    before: Sequence[str] = first
    rows = enumerate(table.records[table.header_row :], table.header_row + 1)
    for row, record in rows:
        cells = [cell.strip() for cell in record]
        names = [cell for cell in cells if cell]
        is_below_gap = sum(map(bool, before)) < FEWEST
        before = cells
        if not is_below_gap or len(names) < max(FEWEST, TEXT_HEADING * width) or cells == first:
            continue
        if is_heading(names) and is_above_amounts(cells, table.records[row:]):
            return (
                f"row {row} ({', '.join(names)}) is the heading of another table below the first: put each table into "
                "a sheet or a file of its own"
            )
    return None


def is_above_amounts(heading: Record, below: Sequence[Record]) -> bool:
    """Tell whether the next row with several cells has an amount below a word or a period of a heading."""
    cells = next((record for record in below if sum(bool(cell.strip()) for cell in record) >= FEWEST), [])
    pairs = zip(heading, map(str.strip, cells), strict=False)
    return any(name and NUMBER.match(cell) and (is_period(name) or not NUMBER.match(name)) for name, cell in pairs)
