"""Kinds of files by their endings. It stands alone because commands ask it before they import how files are read."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

TEXT_ENDINGS: Final = (".csv", ".txt", ".tsv", ".tab", ".asc")  # of text files of rows and columns
FILE_KINDS: Final = (".csv", ".xlsx", ".parquet", ".arrow")
SAME: Final[Mapping[str, str]] = dict.fromkeys(TEXT_ENDINGS, ".csv") | {".xlsm": ".xlsx"}


def kind_of(path: PurePath) -> str:
    """Return the ending that stands for the kind of a file: .csv of all texts, .xlsx of all workbooks."""
    ending = path.suffix.lower()
    return SAME.get(ending, ending)
