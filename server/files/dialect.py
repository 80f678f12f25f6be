"""Dialects: the encoding, the separator and the heading of a text file, found from its bytes."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from server.files.encodings import UTF8, UTF16, detect_encoding
from server.files.files import join_names, letters
from server.files.findings import Ambiguity, Finding, Findings, Reading
from server.files.limits import bounded_records

SEPARATORS: Final = (",", ";", "\t", "|")
SEPARATOR_NAMES: Final = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
WHOLE: Final = 16 << 20  # bytes up to which a text file is read whole
HEAD: Final = 4 << 20  # bytes that are read of the head of a larger one
PIECES: Final = 32  # places behind the head that are read
PIECE: Final = 128 << 10  # bytes that are read at each
LOOK = 200  # records at the head of a file that say what its dialect is
TEXT_HEADING = 0.6  # share of the columns that a row of column names fills at least
NUMBER = re.compile(r"^[-+−(]?[\d.,'’\s\u00a0\u202f]*\d[\d.,'’\s\u00a0\u202f]*[-)%]?$")
FOOTER_WORDS = re.compile(
    r"\b(export|report|created|erstellt|generated|printed|gedruckt|seite|page|end of|ende)", re.IGNORECASE
)
FEWEST_COLUMNS, FEWEST_ROWS = 3, 2  # of a table without a heading
Record = Sequence[str]


class TextTable(Struct, frozen=True):
    """The records of a text, where its heading is, and what was found on the way."""

    records: list[list[str]]
    header_row: int  # the last row of names, as a spreadsheet numbers it; 0 if there is none
    findings: Findings
    names: int = 1  # rows of names

    @property
    def columns(self) -> list[str]:
        """The column names, as a load reads them."""
        if not self.header_row:
            return letters(max(map(len, self.records)))
        return join_names(self.records[self.header_row - self.names : self.header_row])

    @property
    def titles(self) -> list[tuple[int, str]]:
        """The rows above the heading that hold text, with their numbers."""
        return titles_above(self.records, self.header_row - self.names + 1)


def titles_above(records: Sequence[Record], header_row: int) -> list[tuple[int, str]]:
    """Return the rows above a heading that hold text, with their numbers."""
    joined = ((row, " ".join(filter(None, map(str.strip, record)))) for row, record in enumerate(records, 1))
    return [(row, text) for row, text in joined if row < header_row and text]


# Encodings.


def places_behind(size: int) -> Iterator[int]:
    """Yield the places behind the head at which a file is read; the last is its end."""
    step = (size - HEAD - PIECE) // (PIECES - 1)
    yield from ((HEAD + step * number) & ~1 for number in range(PIECES - 1))  # even, where two bytes are a character
    yield (size - PIECE) & ~1


def encoding_behind(path: Path, size: int, length: int = PIECE) -> Finding | Ambiguity | None:
    """Return the encoding of a file whose head is ASCII or UTF-8, if some bytes behind it are not UTF-8."""
    with path.open("rb") as file:
        for place in places_behind(size):
            file.seek(place)
            piece = file.read(length)
            inner = piece[piece.find(b"\n") + 1 : piece.rfind(b"\n")]
            found = detect_encoding(inner, whole=True)
            if isinstance(found, Ambiguity) or found.value not in (UTF8, UTF16):
                return found
    return None


# Separators and headings.


def detect_text_table(text: str, name: str, *, whole: bool) -> TextTable | None:
    """Return the records of a text by the separator that makes the most even table of it; None if none does.

    The last record of a part is left out, because it may be cut.
    """
    best: tuple[float, TextTable] | None = None
    for separator in SEPARATORS:
        if separator not in text:
            continue
        records = split_records(text, name, separator, whole=whole)
        header_row = detect_header_row(records)
        if header_row is None:
            continue
        even = evenness(records, header_row)
        width = len([name for name in records[header_row - 1] if name.strip()])
        score = even * (width - 1) ** 0.5
        if best is None or score > best[0]:
            shown = SEPARATOR_NAMES[separator]
            evidence = f"row {header_row} has {width} columns by {shown}, and {even:.0%} of the rows below as many"
            best = score, TextTable(records, header_row, Findings((Finding("csv.separator", separator, evidence),)))
    if best is None:
        return without_heading(text, name, whole=whole)
    table = with_second_row(best[1])
    return replace(table, findings=table.findings.and_(heading_findings(table, whole=whole)))


def with_second_row(table: TextTable) -> TextTable:
    """Return a table with the row below its names among them, if those stand over several of it: months, scenarios."""
    above, below = (
        [cell.strip() for cell in row] for row in table.records[table.header_row - 1 : table.header_row + 1]
    )
    filled = [cell for cell in below if cell]
    is_below = len(above) == len(below) and any(cell and not top for top, cell in zip(above, below, strict=True))
    repeats = len(set(filled)) < len(filled)
    if not (is_below and repeats and is_heading(filled)) or len(table.records) < table.header_row + 2:
        return table
    return replace(table, header_row=table.header_row + 1, names=2)


def without_heading(text: str, name: str, *, whole: bool) -> TextTable | None:
    """Return the records of a text without names, by the separator that makes a table of them; None if none does.

    Whether there are no names is left open: the first row may hold names that look like amounts.
    """
    for separator in SEPARATORS:
        records = split_records(text, name, separator, whole=whole) if separator in text else []
        filled = [record for record in records if any(map(str.strip, record))]
        width = max(map(len, filled), default=0)
        if width < FEWEST_COLUMNS or any(len(record) != width for record in filled) or len(filled) < FEWEST_ROWS:
            continue
        shown = "; ".join(" | ".join(record) for record in filled[:FEWEST_ROWS])
        evidence = f"no row looks like a heading with names of columns; the first rows are {shown}"
        says = f"there is none, and the columns are called {', '.join(letters(width))}"
        open_ = Ambiguity("csv.header_row", evidence, (Reading({"csv.header_row": "none"}, says),))
        keys = (
            Finding("csv.separator", separator, f"every row has {width} values by {SEPARATOR_NAMES[separator]}"),
            Finding("csv.header_row", "none", ""),
        )
        return TextTable(records, 0, Findings(keys, (open_,)))
    return None


def split_records(text: str, name: str, separator: str, *, whole: bool) -> list[list[str]]:
    """Return the records of a text; the last one is left out of a part. Raises FileTooLarge."""
    records = list(bounded_records(StringIO(text, newline=""), name, separator, None))
    return records if whole else records[:-1]


def evenness(records: Sequence[Record], header_row: int) -> float:
    """Return the share of the records below a heading that are as wide as it."""
    width = len(records[header_row - 1])
    below = [record for record in records[header_row : header_row + LOOK] if any(map(str.strip, record))]
    return sum(len(record) == width for record in below) / len(below) if below else 0.0


def detect_header_row(records: Sequence[Record]) -> int | None:
    """Return the row with the column names: the first that is about as wide as the table and holds no amounts.

    None if there is no row of names, or nothing below it.
    """
    filled = [[cell.strip() for cell in record] for record in records[:LOOK]]
    widths = Counter(sum(map(bool, record)) for record in filled if sum(map(bool, record)) > 1)
    if not widths:
        return None
    usual = max(widths, key=lambda width: (widths[width], width))
    for row, record in enumerate(filled, 1):
        names = [cell for cell in record if cell]
        if len(names) < max(2, TEXT_HEADING * usual) or row == len(records):
            continue
        return row if is_heading(names) else None
    return None


def is_heading(names: Sequence[str]) -> bool:
    """Tell whether cells are names of columns: most are words, and the numbers among them are years or months."""
    numbers = [name for name in names if NUMBER.match(name) or is_period(name)]
    words = [name for name in names if name not in numbers]
    return bool(words) and all(map(is_period, numbers)) and all(re.search(r"[^\W\d_]", word) for word in words)


def is_period(text: str) -> bool:
    """Tell whether a number may name a period: a month, a year, or both."""
    return bool(re.fullmatch(r"(19|20)\d\d([-./]?(0?[1-9]|1[0-2]))?|(0?[1-9]|1[0-2])([-./](19|20)?\d\d)?", text))


def heading_findings(table: TextTable, *, whole: bool) -> Findings:
    """Return where the heading and the end of a table are, if they are not where they usually are."""
    found = []
    if table.names > 1:
        rows = [table.header_row - 1, table.header_row]
        found.append(Finding("csv.header_row", rows, f"names in row {rows[0]} stand over several of row {rows[1]}"))
    elif table.header_row > 1:
        above = "; ".join(f"row {row}: '{text}'" for row, text in table.titles[:3]) or "empty rows"
        found.append(Finding("csv.header_row", table.header_row, f"above it stand {above}"))
    if whole and (footer := detect_footer(table.records, table.header_row)):
        last = " ".join(filter(None, table.records[-1]))
        found.append(Finding("csv.skip_footer", footer, f"row {len(table.records)}: '{last}'"))
    return Findings(tuple(found))


def detect_footer(records: Sequence[Record], header_row: int) -> int:
    """Return how many records at the end are a remark, not rows: one filled cell that speaks of the export itself."""
    count = 0
    for record in reversed(records[header_row:]):
        cells = [cell for cell in record if cell.strip()]
        remark = len(cells) == 1 and not NUMBER.match(cells[0]) and FOOTER_WORDS.search(cells[0])
        if cells and not remark:
            break
        count += 1
    blank_tail = all(not any(map(str.strip, record)) for record in records[len(records) - count :])
    return 0 if blank_tail else count
