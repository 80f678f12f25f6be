"""Kinds of files by their endings. It stands alone because commands ask it before they import how files are read."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

TEXT_ENDINGS: Final = (".csv", ".txt", ".tsv", ".tab", ".asc")  # of text files of rows and columns
WORKBOOK_ENDINGS: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
FILE_KINDS: Final = (".csv", ".xlsx", ".parquet", ".arrow")
ALL_ENDINGS: Final = (*TEXT_ENDINGS, *WORKBOOK_ENDINGS, *FILE_KINDS[2:])
GZIP, ZIP = ".gz", ".zip"  # archives, whose files are read
SAME: Final[Mapping[str, str]] = dict.fromkeys(TEXT_ENDINGS, ".csv") | dict.fromkeys(WORKBOOK_ENDINGS, ".xlsx")


def kind_of(path: PurePath) -> str:
    """Return the ending that stands for the kind of a file, packed or not: .csv of texts, .xlsx of workbooks."""
    ending = path.suffix.lower()
    if ending == GZIP:
        return kind_of(PurePath(path.stem))
    return SAME.get(ending, ending)
