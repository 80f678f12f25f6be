"""All digits of figures that have more than a spreadsheet holds: in comments, or of many figures in columns of text.

A comment is kept in memory and drawn as a shape, so that a workbook has few of them. Where the writer finds more, it
begins again, and each column with such figures gets a column of text on its right.
"""

from collections.abc import Iterator, Sequence
from itertools import count

from msgspec.structs import replace

from engine.model.stopping import Stop
from engine.present.exports.cells import TEXT, Heading, Sheet, SheetCell, SheetRow, look_of

MANY = 1000  # figures with more digits than a spreadsheet holds: from here on a workbook has no comments
BESIDE = "All digits"  # heading of a column of text
WIDTH = 32  # of a column of text, in characters


class ManyLongNumbersError(Exception):
    """A workbook holds so many long numbers that their digits stand in columns of text."""


def with_columns_beside(sheet: Sheet, scanned: Sheet, stop: Stop) -> Sheet:
    """Return a sheet with a column of text beside each column of long numbers, which a scan of the same sheet finds."""
    long = long_columns(scanned.rows, stop)
    return replace(
        sheet,
        headings=[
            list(widened_headings(headings, long, is_last=level == len(sheet.headings) - 1))
            for level, headings in enumerate(sheet.headings)
        ],
        widths=[each for at, width in enumerate(sheet.widths) for each in ((width, WIDTH) if at in long else (width,))],
        rows=(SheetRow(list(widened_cells(row.cells, long)), row.level) for row in sheet.rows),
    )


def long_columns(rows: Iterator[SheetRow], stop: Stop) -> frozenset[int]:
    """Return the positions of the columns that hold numbers with more digits than a spreadsheet holds."""
    found: set[int] = set()
    for row in rows:
        stop()
        found.update(at for at, cell in enumerate(row.cells) if cell.digits is not None)
    return frozenset(found)


def widened_headings(headings: Sequence[Heading], long: frozenset[int], *, is_last: bool) -> Iterator[Heading]:
    """Yield the headings of a level: the last level names each column of text, others span it."""
    positions = count()
    for heading in headings:
        beside = sum(next(positions) in long for _ in range(heading.columns))
        if is_last:
            yield heading
            yield from [Heading(BESIDE)] * beside
        else:
            yield heading._replace(columns=heading.columns + beside)


def widened_cells(cells: Sequence[SheetCell], long: frozenset[int]) -> Iterator[SheetCell]:
    """Yield the cells of a row, those of long numbers without their digits, which follow as a text."""
    for at, cell in enumerate(cells):
        yield cell._replace(digits=None)
        if at in long:
            yield SheetCell(cell.digits, look_of(TEXT, cell.look.style), cell.digits)
