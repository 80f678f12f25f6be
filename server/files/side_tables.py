"""Side tables: several tables that stand side by side in one sheet, each taken as a table of its own."""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.files.extents import letters_of
from server.files.findings import Finding, Findings, SampleTable
from server.files.notation import number_column

FEWEST: Final = 2  # columns of a table
SHORTER: Final = 2  # how often the rows of a table fit into those of the first, at least


class SideTable(Struct, frozen=True):
    """A table of a sheet, and the key that leaves out the rows of others."""

    sample: SampleTable
    findings: Findings = Findings()


def side_tables(sample: SampleTable) -> Sequence[SideTable]:
    """Return the tables of a sheet, its first one first.

    A table beside the first has words in its first column, in each of its rows, and ends long before it: columns of
    amounts behind an empty one belong to the names before them.
    """
    blocks = list(blocks_of(sample.frame))
    if len(blocks) < FEWEST or not all(is_table(sample, columns, blocks[0][0]) for columns, _ in blocks[1:]):
        return [SideTable(sample)]
    made = []
    for at, (columns, place) in enumerate(blocks):
        rows = filled(sample.frame, columns)
        base, bracket, sheet = sample.name.partition(" [")
        name = f"{base} [{sheet.removesuffix(']')}{' ' * bool(bracket)}{place}]" if at else sample.name
        part = replace(
            sample, name=name, frame=sample.frame.select(columns).filter(rows), rows=sample.rows.filter(rows)
        )
        skip = Findings((Finding("skip.blank", [columns[0]], "another table stands beside it"),)) if at else Findings()
        made.append(SideTable(part, skip))
    return made


def is_table(sample: SampleTable, columns: Sequence[str], first: Sequence[str]) -> bool:
    """Tell whether columns behind an empty one are a table of their own."""
    rows, words = filled(sample.frame, columns), sample.frame[columns[0]]
    is_short = SHORTER * int(rows.sum()) <= int(filled(sample.frame, first).sum())
    is_named = bool((words.is_not_null() == rows).all()) and number_column(sample, columns[0]) is None
    return is_short and is_named and len(columns) >= FEWEST


def blocks_of(frame: pl.DataFrame) -> Iterator[tuple[Sequence[str], str]]:
    """Yield the columns between those without a value, with their place in letters, as T:W."""
    run: list[tuple[int, str]] = []
    for at, name in enumerate((*frame.columns, ""), 1):
        if name and frame[name].null_count() < frame.height:
            run.append((at, name))
            continue
        if run:
            yield [one for _, one in run], f"{letters_of(run[0][0])}:{letters_of(run[-1][0])}"
        run = []


def filled(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Tell for each row whether some columns have a value in it."""
    return frame.select(pl.any_horizontal(pl.col(columns).is_not_null()).alias("filled"))["filled"]
