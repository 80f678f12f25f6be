"""Source tables: the samples of the files that init is given, whose headings name each column once."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from zipfile import ZipFile, is_zipfile

import polars as pl

from server.ingest.dialect import (
    HEAD,
    LOOK,
    SEPARATORS,
    Record,
    decode,
    detect_encoding,
    detect_header_row,
    evenness,
    split_records,
)
from server.ingest.findings import SampleFault
from server.ingest.sampling import SourceTable, sample_source

WORKBOOK = "xl/workbook.xml"
FAILED = re.compile(r'<c r="([A-Z]+(\d+))"[^>]*t="e"[^>]*>.*?<v>([^<]*)</v>')  # a cell, its row and its error


def source_tables(text: str) -> Iterator[SourceTable]:
    """Yield the tables of a file or of a database.

    Raises SampleFault, also for a heading that names two columns alike: without it, another separator would be taken.
    """
    path = Path(text)
    if path.is_file() and path.suffix.lower() == ".csv":
        refuse_repeated(path.name, best_records(path))
    elif path.is_file() and path.suffix.lower() == ".xlsx" and is_workbook(path):
        for sheet, records in source_sheets(path):
            refuse_repeated(f"{path.name} [{sheet}]", records)
    yield from sample_source(text)


def is_workbook(path: Path) -> bool:
    """Tell whether a file is a workbook; sampling says what is wrong with one that is none."""
    if not is_zipfile(path):
        return False
    with ZipFile(path) as book:
        return WORKBOOK in book.namelist()


def source_sheets(path: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the first rows of each sheet of a workbook with the sheet's name."""
    sheets = pl.read_excel(
        path,
        sheet_id=0,
        has_header=False,
        infer_schema_length=0,
        drop_empty_rows=False,
        drop_empty_cols=False,
        raise_if_empty=False,
    )
    for sheet, cells in sheets.items():
        yield sheet, [[cell or "" for cell in row] for row in cells.head(LOOK).iter_rows()]


def best_records(path: Path) -> Sequence[Record]:
    """Return the first records of a text by the separator that makes the most even table of it."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    whole = len(head) < HEAD
    text = decode(head, detect_encoding(head, whole=whole).value, whole=whole)
    best: tuple[float, Sequence[Record]] = (0.0, [])
    for separator in SEPARATORS:
        records = split_records(text, separator, whole=whole)
        row = detect_header_row([told_apart(record) for record in records[:LOOK]])
        if row is not None:
            width = sum(map(bool, map(str.strip, records[row - 1])))
            best = max(best, (evenness(records, row) * (width - 1) ** 0.5, records[:LOOK]), key=lambda pair: pair[0])
    return best[1]


def told_apart(record: Record) -> list[str]:
    """Return the cells of a row with a number behind those that stand in it before."""
    seen: Counter[str] = Counter()
    cells = []
    for cell in map(str.strip, record):
        seen[cell] += bool(cell)
        cells.append(f"{cell} {seen[cell]}" if seen[cell] > 1 else cell)
    return cells


def refuse_repeated(name: str, records: Sequence[Record]) -> None:
    """Raise SampleFault if the row of column names holds a name twice."""
    row = detect_header_row([told_apart(record) for record in records])
    if row is None:
        return
    repeated = [cell for cell, times in Counter(map(str.strip, records[row - 1])).items() if cell and times > 1]
    if repeated:
        named = ", ".join(f"'{cell}'" for cell in repeated)
        raise SampleFault(f"{name}: row {row} names two columns {named}; give each column a name of its own")


def failed_formulas(path: Path, sheet: str | None) -> dict[int, str]:
    """Return the cells of a sheet, or of every sheet, whose formulas failed: by row, as `C3: #REF!`.

    A reader of values gives them as empty.
    """
    found: dict[int, str] = {}
    with ZipFile(path) as book:
        files = dict(re.findall(r'<sheet name="([^"]*)"[^>]*r:id="([^"]*)"', book.read(WORKBOOK).decode()))
        relations = book.read("xl/_rels/workbook.xml.rels").decode()
        for name, relation in files.items():
            target = re.search(rf'<Relationship [^>]*Id="{re.escape(relation)}"[^>]*>', relations)
            place = re.search(r'Target="/?(?:xl/)?([^"]*)"', target[0]) if target else None
            if place is None or (sheet is not None and unescape(name) != sheet):
                continue
            text = book.read(f"xl/{place[1]}").decode()
            found |= {int(cell[2]): f"{cell[1]}: {cell[3]}" for cell in FAILED.finditer(text)}
    return found
