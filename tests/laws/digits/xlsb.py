"""Workbooks of binary records (XLSB), written record by record after [MS-XLSB], as no library writes them."""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

ROW_HDR, CELL_RK, CELL_REAL, CELL_ST, CELL_ISST = 0, 2, 5, 6, 7  # BrtRowHdr and the cells with a value
SST_ITEM, BEGIN_SHEET, END_SHEET = 19, 129, 130
BEGIN_BOOK, END_BOOK, BEGIN_BUNDLES, END_BUNDLES, BEGIN_DATA, END_DATA = 131, 132, 143, 144, 145, 146
WS_DIM, BUNDLE, BEGIN_SST, END_SST = 148, 156, 159, 160
LARGEST_RK: Final = 2**29  # of a whole number in a cell of four bytes
HUNDRED: Final = 100  # by which a number of four bytes may be divided
TYPES: Final = """<?xml version="1.0" encoding="UTF-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="bin" ContentType="application/vnd.ms-excel.sheet.binary.macroEnabled.main"/>
<Override PartName="/xl/worksheets/sheet1.bin" ContentType="application/vnd.ms-excel.worksheet"/>
<Override PartName="/xl/sharedStrings.bin" ContentType="application/vnd.ms-excel.sharedStrings"/></Types>"""
HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
)
OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def write_cells(path: Path, lines: Iterable[Sequence[object]]) -> None:
    """Write a workbook of one sheet: texts in cells and in the table of strings in turn, numbers by their size."""
    rows = [list(line) for line in lines]
    strings: list[str] = []
    data = bytearray()
    for at, row in enumerate(rows):
        data += record(ROW_HDR, struct.pack("<IIHBBBI", at, 0, 300, 0, 0, 0, 0))
        for column, value in enumerate(row):
            data += cell(column, value, strings)
    width = max(map(len, rows))
    sheet = record(BEGIN_SHEET) + record(WS_DIM, struct.pack("<IIII", 0, len(rows) - 1, 0, width - 1))
    sheet += record(BEGIN_DATA) + bytes(data) + record(END_DATA) + record(END_SHEET)
    shared = b"".join(record(SST_ITEM, b"\0" + wide(text)) for text in strings)
    bundle = record(BUNDLE, struct.pack("<II", 0, 1) + wide("rId1") + wide("gl"))
    book = record(BEGIN_BOOK) + record(BEGIN_BUNDLES) + bundle + record(END_BUNDLES) + record(END_BOOK)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", related(("officeDocument", "xl/workbook.bin")))
        archive.writestr("xl/workbook.bin", book)
        parts = related(("worksheet", "worksheets/sheet1.bin"), ("sharedStrings", "sharedStrings.bin"))
        archive.writestr("xl/_rels/workbook.bin.rels", parts)
        archive.writestr("xl/worksheets/sheet1.bin", sheet)
        counts = struct.pack("<II", len(strings), len(strings))
        archive.writestr("xl/sharedStrings.bin", record(BEGIN_SST, counts) + shared + record(END_SST))


def related(*parts: tuple[str, str]) -> str:
    """Return the relationships of a part."""
    lines = (
        f'<Relationship Id="rId{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(parts, 1)
    )
    return f"{HEAD}{''.join(lines)}</Relationships>"


def cell(column: int, value: object, strings: list[str]) -> bytes:
    """Return the record of a cell; `strings` are those of the table, to which a text may be added."""
    place = struct.pack("<II", column, 0)
    if not isinstance(value, int | float):
        if column % 2:
            return record(CELL_ST, place + wide(str(value)))
        strings.append(str(value))
        return record(CELL_ISST, place + struct.pack("<I", len(strings) - 1))
    number = float(value)
    packed = short_number(number)
    if packed is None:
        return record(CELL_REAL, place + struct.pack("<d", number))
    return record(CELL_RK, place + struct.pack("<I", packed))


def short_number(number: float) -> int | None:
    """Return a number in four bytes, as Excel packs it; None if it does not fit.

    It is a whole number, one of two places, or a double whose last 34 bits are zero.
    """
    for factor, flag in ((1, 0), (HUNDRED, 1)):
        whole = round(number * factor) if abs(number) < LARGEST_RK / factor else 0
        if whole and whole / factor == number:
            return (whole & 0x3FFFFFFF) << 2 | 2 | flag
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return None if bits & (2**34 - 1) else int(bits >> 32)


def record(kind: int, content: bytes = b"") -> bytes:
    """Return a record: its type and its size in groups of seven bits, and its content."""
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size, left = bytearray(), len(content)
    while left > 0x7F:
        size.append(left & 0x7F | 0x80)
        left >>= 7
    return head + bytes([*size, left]) + content


def wide(text: str) -> bytes:
    """Return a text with its length before it."""
    return struct.pack("<I", len(text.encode("utf-16-le")) // 2) + text.encode("utf-16-le")
