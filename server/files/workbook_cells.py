"""The cells of a sheet as text, each number as the shortest text that gives its double back.

The process that reads workbooks imports this module and little else, so that it starts fast: no settings, no instance.
"""

import re
from typing import Final

import fastexcel
import polars as pl
from fastexcel import DType

from server.files.exponents import expand_exponents

FAILED = re.compile(r"Error\((\w+)\)")  # in what the reader of workbooks says of a cell
FAULT: Final = "#ERROR!"  # of a cell that cannot be read otherwise
FAULTS: Final = {
    "Div0": "#DIV/0!", "NA": "#N/A", "Name": "#NAME?", "Null": "#NULL!", "Num": "#NUM!", "Ref": "#REF!",
    "Value": "#VALUE!",
}  # fmt: skip
PRINTED: Final = r"^-?(0|[1-9]\d*)(\.\d{0,8}[1-9])?$"  # how the reader prints a number: with at most 9 decimal places


def sheet_cells(workbook: fastexcel.ExcelReader, sheet: str | int) -> pl.DataFrame:
    """Return the cells of a sheet as text, a formula that failed as the error that Excel shows.

    The reader prints numbers with nine decimal places. So the sheet is read as doubles too; their texts stand in for
    what it prints, except where the cell is a text.
    """
    batch, errors = loaded(workbook, sheet, "string").to_arrow_with_errors()
    cells = pl.DataFrame(batch)
    failed: dict[int, dict[int, str]] = {}
    for error in errors.errors if errors else ():
        row, column = error.position
        reason = FAILED.search(error.detail)
        failed.setdefault(column, {})[row] = FAULTS.get(reason[1], FAULT) if reason else FAULT
    cells = with_doubles(cells, workbook, sheet)
    for column, texts in failed.items():
        cells = cells.with_columns(cells.to_series(column).scatter(list(texts), list(texts.values())))
    return cells


def loaded(workbook: fastexcel.ExcelReader, sheet: str | int, dtype: DType) -> fastexcel.ExcelSheet:
    """Return a sheet, every row of it, read as one type."""
    return workbook.load_sheet(sheet, header_row=None, skip_rows=0, dtypes=dtype)


def with_doubles(cells: pl.DataFrame, workbook: fastexcel.ExcelReader, sheet: str | int) -> pl.DataFrame:
    """Return cells whose numbers are the shortest texts of their doubles."""
    if cells.is_empty():
        return cells
    doubles = pl.DataFrame(loaded(workbook, sheet, "float").to_arrow())
    texts = {name: shortest_texts(doubles[name]) for name in cells.columns}
    differs = {
        name: differ
        for name, text in texts.items()
        if (differ := ((text != cells[name]) & cells[name].str.contains(PRINTED)).fill_null(value=False)).any()
    }
    if not differs:
        return cells
    numbers = pl.DataFrame(loaded(workbook, sheet, "boolean").to_arrow())  # no text is read as one, but every number
    return cells.with_columns(
        texts[name].zip_with(differ & numbers[name].is_not_null(), cells[name]).alias(name)
        for name, differ in differs.items()
    )


def shortest_texts(doubles: pl.Series) -> pl.Series:
    """Return doubles as the shortest plain decimals that give them back."""
    return expand_exponents(doubles.cast(pl.String).str.strip_suffix(".0"))
