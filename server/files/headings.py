"""Headings: where the table of a text file begins and ends, by the columns of the feed that reads it."""

import codecs
from collections.abc import Sequence
from io import StringIO
from itertools import islice, product
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from server.feeds.extract_formats import CsvFormat, TableLayout
from server.files.dialect import (
    FOOTER_WORDS,
    LOOK,
    NUMBER,
    SEPARATORS,
    encoding_behind,
    titles_above,
)
from server.files.dialect import HEAD as BYTES
from server.files.encodings import UTF8, UTF16, detect_encoding
from server.files.files import csv_rows, is_doubled, join_names, letters
from server.files.findings import Ambiguity, Finding

PIECE: Final = 1 << 14  # bytes that are read at each place behind the first ones
QUOTES: Final = ('"', "'")
END: Final = 1 << 14  # bytes in which remarks at the end stand


def encoding_of(path: Path) -> Finding | Ambiguity:
    """Return the encoding of a file by its first bytes and some behind them."""
    size = path.stat().st_size
    with path.open("rb") as file:
        found = detect_encoding(file.read(BYTES), whole=size <= BYTES)
    if isinstance(found, Finding) and found.value == UTF8 and size > BYTES:
        return encoding_behind(path, size, PIECE) or found
    return found


def is_written_in(path: Path, encoding: str) -> bool:
    """Tell whether the first bytes of a file are text in an encoding."""
    with path.open("rb") as file:
        head = file.read(BYTES)
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return True


class HeadingMatch(Struct, frozen=True):
    """The dialect by which the head of a file has the columns of a feed, and the rows of their names."""

    separator: str
    quote: str
    rows: tuple[int, ...]
    titles: Sequence[tuple[int, str]] = ()  # rows above them with text
    names: Sequence[str] = ()


def find_heading(text: str, dialect: CsvFormat, required: frozenset[str]) -> HeadingMatch | None:
    """Return the first heading with the columns of a feed, by any separator and quote that are not written."""
    separators = SEPARATORS if dialect.separator is None else (dialect.separator,)
    quotes = QUOTES if dialect.quote is None else (dialect.quote,)
    best: HeadingMatch | None = None
    for quote, separator in product(quotes, separators):
        lines = csv_rows(StringIO(text, newline=""), replace(dialect, separator=separator, quote=quote))
        records = list(islice(lines, LOOK))
        rows = heading_rows(records, dialect.layout, required)
        if rows is not None and (best is None or rows < best.rows):
            names = join_names([records[row - 1] for row in rows]) if rows else ()
            best = HeadingMatch(separator, quote, rows, titles_above(records, min(rows, default=1)), names)
        if rows is not None and max(rows, default=1) == 1:
            break
    return best


def heading_rows(
    records: Sequence[Sequence[str]], layout: TableLayout, required: frozenset[str]
) -> tuple[int, ...] | None:
    """Return the rows of the column names, as they are written or the first that has the columns of a feed."""
    if layout.header_rows is not None or layout.skip_rows is not None:
        above = layout.skip_rows or 0
        choices = [layout.header_rows if layout.header_rows is not None else (above + 1,)]
    else:
        above, choices = 0, [(row,) for row in range(1, len(records) + 1)]
    for rows in choices:
        if max(rows, default=above + 1) > len(records):
            return None
        names = join_names([records[row - 1] for row in rows]) if rows else letters(len(records[above]))
        held = all(name in names or is_doubled(name, names) for name in required)
        if held if required else len(names) > 1:
            return rows
    return None


def footer_of(path: Path, encoding: str, table: HeadingMatch) -> Finding | None:
    """Return how many lines at the end of a file are remarks on the export itself: one filled cell each.

    A line with a quote is a row: a remark inside quotes may be the rest of a value that has several lines.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        order = file.read(2)
        file.seek(max(0, size - END) & ~1)
        codec = encoding if encoding != UTF16 else "utf-16-be" if order == codecs.BOM_UTF16_BE else "utf-16-le"
        lines = file.read().decode(codec, errors="replace").splitlines()
    count, remark = 0, ""
    for line in reversed(lines[1:]):
        filled = [cell for cell in map(str.strip, line.split(table.separator)) if cell]
        said = len(filled) == 1 and not NUMBER.match(filled[0]) and FOOTER_WORDS.search(filled[0])
        if (filled and not said) or (table.quote and table.quote in line):
            break
        count, remark = count + 1, filled[0] if filled else remark
    return Finding("csv.skip_footer", count, f"the last rows: '{remark}'") if remark else None
