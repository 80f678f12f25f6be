"""Extents: how far the cells of a sheet reach and how large its parts are, before a reader takes memory for them."""

import re
from typing import Final
from zipfile import ZipFile

from server.base.settings import read_settings
from server.files.limits import MEGABYTE, FileTooLarge, refuse_wide

ATTRIBUTES: Final = rb"(?=[\s>/])(?:[^>]*?\sr=[\"']([A-Z]{1,4})(\d{1,9})[\"'])?[^>]*(?<!/)>"  # of a cell with a value
CELL: Final = re.compile(rb"<(?:\w+:)?c" + ATTRIBUTES)
PLAIN_CELL: Final = re.compile(rb"<c" + ATTRIBUTES)  # found several times as fast
ROW: Final = re.compile(rb"<(?:\w+:)?row(?=[\s>/])(?:[^>]*?\sr=[\"'](\d{1,9})[\"'])?")
ROW_END: Final = re.compile(rb"</(?:\w+:)?row>")
TO_LAST_ROW: Final = re.compile(rb".*" + ROW_END.pattern, re.DOTALL)
PARTS: Final = (".xml", ".rels")
SMALL: Final = 16  # megabytes up to which a part may be packed as well as it can be
LETTERS: Final = 26


def refuse_bombs(archive: ZipFile, name: str) -> None:
    """Raise FileTooLarge if a part of a workbook is too large unpacked."""
    settings = read_settings()
    for part in archive.infolist():
        if not part.filename.lower().endswith(PARTS):
            continue
        megabytes, ratio = part.file_size // MEGABYTE, part.file_size // max(part.compress_size, 1)
        says = f"its part {part.filename} unpacks to {megabytes:,} MB"
        if megabytes >= settings.sheet_megabytes:
            raise FileTooLarge(name, says, f"{settings.sheet_megabytes:,} MB", "sheet_megabytes")
        if megabytes >= SMALL and ratio > settings.sheet_ratio:
            raise FileTooLarge(name, f"{says}, {ratio:,} times", f"{settings.sheet_ratio:,} times", "sheet_ratio")


class CellReach:
    """How far cells may reach, counted from A1."""

    def __init__(self, name: str) -> None:
        """`name` is that of the file and the sheet."""
        self._name = name
        self._most = read_settings().sheet_cells

    def refuse_beyond(self, rows: int, columns: int) -> None:
        """Raise FileTooLarge if a sheet of this size is too large."""
        refuse_wide(columns, self._name)
        if rows * columns > self._most:
            what = f"its cells reach over {rows:,} rows and {columns:,} columns"
            raise FileTooLarge(self._name, what, f"{self._most:,} cells", "sheet_cells")


class SheetExtent:
    """How far the cells with a value reach, counted from A1."""

    def __init__(self, name: str) -> None:
        """`name` is that of the file and the sheet."""
        self._reach = CellReach(name)
        self._rows = self._columns = 0

    def add(self, block: bytes) -> None:
        """Count a block of rows. Raises FileTooLarge if the sheet reaches too far."""
        pattern = CELL if b":c" in block else PLAIN_CELL
        found = pattern.findall(block)
        columns, rows = {column for column, _ in found}, {row for _, row in found}
        if b"" in columns:
            self._add_rows(block)
        self._columns = max(self._columns, *map(column_number, columns - {b""}), 0)
        self._rows = max(self._rows, *map(int, rows - {b""}), 0)
        self._reach.refuse_beyond(self._rows, self._columns)

    def _add_rows(self, block: bytes) -> None:
        """Count rows whose cells stand in their order, without addresses."""
        for row in ROW_END.split(block):
            if numbers := ROW.findall(row):
                self._columns = max(self._columns, len(CELL.findall(row)))
                self._rows = max(self._rows + 1, int(numbers[-1] or 0))


def column_number(name: bytes) -> int:
    """Return the number of a column by its letters, A as 1."""
    number = 0
    for letter in name:
        number = number * LETTERS + letter - ord("A") + 1
    return number


def letters_of(number: int) -> str:
    """Return the letters of a column by its number, 1 as A."""
    before, last = divmod(number - 1, LETTERS)
    return (letters_of(before) if before else "") + chr(ord("A") + last)
