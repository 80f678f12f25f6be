"""Limits: how large the parts of a file may be, so that no file takes the memory or the time of the others."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import polars as pl

from server.base.settings import read_settings, variable_of

MEGABYTE: Final = 1 << 20


class FileTooLarge(ValueError):
    """A file passes a limit; the message says which, and the setting that raises it."""

    def __init__(self, name: str, what: str, most: str, field: str) -> None:
        super().__init__(f"{name}: {what}; the limit is {most}. Mend the file, or raise {variable_of(field)}")


def field_limit() -> int:
    """Return how many characters a field of a CSV file may have."""
    return read_settings().field_megabytes * MEGABYTE


def field_fault(name: str) -> FileTooLarge:
    """Return the refusal of a field that is too long; a quotation mark without its end makes one of many lines."""
    what = "a field is too long (is a quotation mark without its end?)"
    return FileTooLarge(name, what, f"{field_limit() // MEGABYTE} MB", "field_megabytes")


def bounded_records(lines: Iterable[str], name: str, separator: str, quote: str | None) -> Iterator[list[str]]:
    """Yield the records of a CSV text; nothing is quoted where `quote` is empty. Raises FileTooLarge."""
    csv.field_size_limit(field_limit())
    if quote == "":
        records = csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    else:
        records = csv.reader(lines, delimiter=separator, quotechar=quote or '"')
    try:
        yield from records
    except csv.Error as fault:
        if "field limit" not in str(fault):
            raise
        raise field_fault(name) from fault


def refuse_long_fields(rows: pl.DataFrame, name: str) -> None:
    """Raise FileTooLarge if a text among some rows is too long for a field."""
    lengths = rows.select(pl.col(pl.String).str.len_bytes().max())
    if any((length or 0) > field_limit() for row in lengths.iter_rows() for length in row):
        raise field_fault(name)


def refuse_long_lines(path: Path, name: str) -> None:
    """Raise FileTooLarge if a text file has a line that is too long, to the megabyte."""
    most = read_settings().line_megabytes
    without_end = 0
    with path.open("rb") as file:
        while block := file.read(MEGABYTE):
            without_end = 0 if b"\n" in block or b"\r" in block else without_end + 1
            if without_end > most:
                raise FileTooLarge(name, "a line is too long", f"{most} MB", "line_megabytes")


def refuse_wide(width: int, name: str) -> None:
    """Raise FileTooLarge if a table has too many columns."""
    most = read_settings().file_columns
    if width > most:
        raise FileTooLarge(name, f"it has {width:,} columns", f"{most:,}", "file_columns")
