"""Source tables: the samples of the files that init is given, whose headings name each column once."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

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
from server.ingest.sampling import SourceTable, sample_source, workbook_sheets


def source_tables(text: str) -> Iterator[SourceTable]:
    """Yield the tables of a file or of a database.

    Raises SampleFault, also for a heading that names two columns alike: without it, another separator would be taken.
    """
    path = Path(text)
    if path.is_file() and path.suffix.lower() == ".csv":
        refuse_repeated(path.name, best_records(path))
    elif path.is_file() and path.suffix.lower() == ".xlsx":
        for sheet, records in workbook_sheets(path).items():
            refuse_repeated(f"{path.name} [{sheet}]", records[:LOOK])
    yield from sample_source(text)


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
