"""Workbooks: the cells of a sheet as text, each number as the shortest text that gives its double back."""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from string import digits
from typing import IO, Final
from xml.etree import ElementTree as ET
from zipfile import BadZipFile, ZipFile

from msgspec.structs import replace

from server.base.settings import read_settings
from server.files.extents import TO_LAST_ROW, SheetExtent, refuse_bombs
from server.files.formulas import ZERO, Formulas, counted_cells
from server.files.limits import MEGABYTE, FileTooLarge

BLOCK: Final = 1 << 22  # bytes of a sheet that are searched for formulas at once
FORMULA: Final = re.compile(rb"<(?:\w+:)?c\s([^>]*)>\s*(<(?:\w+:)?f[\s/>].*?)</(?:\w+:)?c>", re.DOTALL)
VALUE: Final = re.compile(rb"<(?:\w+:)?v(?:\s[^>]*)?(?:/>|>([^<]*))")
ADDRESS: Final = re.compile(rb'\br="([A-Z]+\d+)"')
HIDDEN: Final = re.compile(rb'<(?:\w+:)?row\s[^>]*\bhidden="(?:1|true)"')
BINARY: Final = ".xls"  # a workbook of records; each formula has its value
CONTENT: Final = "content.xml"  # of an OpenDocument workbook
BOOK, LINKS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
UNREADABLE: Final = (BadZipFile, zlib.error, ET.ParseError, NotImplementedError, RuntimeError)


# Formulas and hidden rows.


def refuse_large_parts(path: Path) -> None:
    """Raise FileTooLarge if a part of a workbook is too large unpacked, OSError if it cannot be unpacked."""
    if path.suffix.lower() == BINARY:
        return
    try:
        with ZipFile(path) as archive:
            refuse_bombs(archive, path.name)
    except UNREADABLE as fault:
        raise OSError(str(fault)) from fault


def formulas_of(path: Path, sheet: str) -> Formulas:
    """Return the formulas of a sheet. Raises OSError if the file is no workbook of XML, FileTooLarge for its extent."""
    if path.suffix.lower() == BINARY:
        return Formulas()
    try:
        with ZipFile(path) as archive:
            if CONTENT in archive.namelist():
                with archive.open(CONTENT) as file:
                    return counted_cells(file, f"{path.name} [{sheet}]", sheet)
            part, is_hidden = sheet_part(archive, sheet)
            if part is None:
                return Formulas()
            with archive.open(part) as file:
                return replace(counted(file, f"{path.name} [{sheet}]"), is_hidden_sheet=is_hidden)
    except UNREADABLE as fault:
        raise OSError(str(fault)) from fault


def unvalued_fault(sheet: str, cell: str) -> str:
    """Return what is wrong with a formula whose value nobody has computed, and what to do about it."""
    return (
        f"cell {cell} of sheet {sheet} is a formula without a stored value, as programs write them; open the workbook "
        "in a spreadsheet and save it"
    )


def sheet_part(archive: ZipFile, sheet: str) -> tuple[str | None, bool]:
    """Return the name of the part of a workbook that holds a sheet, and whether it is hidden; None if there is none."""
    names = set(archive.namelist())
    if not {BOOK, LINKS} <= names:
        return None, False
    relations = ET.fromstring(archive.read(LINKS))  # noqa: S314 - expat itself ends what entities would expand to
    links = {link.get("Id"): link.get("Target", "") for link in relations}
    for node in ET.fromstring(archive.read(BOOK)).iter():  # noqa: S314 - as above
        if node.tag.endswith("}sheet") and node.get("name") == sheet:
            key = next((value for name, value in node.attrib.items() if name.endswith("}id")), None)
            target = links.get(key, "")
            part = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
            return part if part in names else None, node.get("state", "visible") != "visible"
    return None, False


def counted(file: IO[bytes], name: str) -> Formulas:
    """Return the formulas in the XML of a sheet. Raises FileTooLarge."""
    extent = SheetExtent(name)
    count = zeros = hidden = 0
    first = unvalued = None
    columns: set[str] = set()
    for rows in row_blocks(file, name):
        extent.add(rows)
        hidden += len(HIDDEN.findall(rows)) if b"hidden=" in rows else 0
        if b"f>" not in rows and b"<f" not in rows:
            continue
        for attributes, body in FORMULA.findall(rows):
            value = VALUE.search(body)
            found = ADDRESS.search(attributes)
            address = found[1].decode() if found else "of a formula"
            count += 1
            first = first or address
            columns.add(address.rstrip(digits))
            if value is None or not (value[1] or b't="str"' in attributes):
                unvalued = unvalued or address
            elif ZERO.fullmatch(value[1] or b""):
                zeros += 1
    return Formulas(count, first, unvalued, hidden, frozenset(columns) if zeros == count else frozenset())


def row_blocks(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the XML of a sheet in blocks that end behind a row. Raises FileTooLarge if a row has no end."""
    most = read_settings().line_megabytes
    rest = b""
    while block := file.read(BLOCK):
        rest += block
        if whole := TO_LAST_ROW.match(rest):
            yield whole[0]
            rest = rest[whole.end() :]
        if len(rest) > most * MEGABYTE:
            raise FileTooLarge(name, "a row is too long", f"{most} MB", "line_megabytes")
    yield rest
