"""Files: the rows of CSV, XLSX, Parquet and Arrow files in batches, numbered as a spreadsheet numbers them."""

import codecs
import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import sleep, time
from typing import Final

import polars as pl
from msgspec import Struct

from server.feeds.extract_formats import CsvFormat, ExtractFormat
from server.feeds.file_kinds import ALL_ENDINGS, kind_of
from server.files.columns import EXTRACT, FormatDetector
from server.files.extents import letters_of
from server.files.limits import FileTooLarge, bounded_records, refuse_long_fields, refuse_long_lines, refuse_wide
from server.files.quotes import LoosePair, loose_pair
from server.files.rejects import FILE, ROW, LoadFailed, from_cells
from server.files.workbook_reader import READER
from server.files.workbooks import formulas_of, refuse_large_parts, unvalued_fault

PIECE = 500_000  # rows in memory at once, of a file of few columns
CELLS = 2_000_000  # cells in memory at once: a wider file comes in pieces of fewer rows
TYPED = (".parquet", ".arrow")
NO_UTF8 = "text files are UTF-8 unless csv: {encoding: windows-1252}, or another, says otherwise"
WRITTEN_AS: Final = {
    ".csv": "it is no text of rows and columns",
    ".xlsx": "it is no workbook, is damaged or has a password; open it in a spreadsheet and save it as .xlsx",
    ".parquet": "it is no whole Parquet file; write it again",
    ".arrow": "it is no whole Arrow file (the file format, not the stream); write it again",
}
TOO_WIDE = ("more fields than defined", "not specified in schema")  # what Polars says of a row with more values
JUST_NOW = 60.0  # seconds in which a file without its end counts as one that is being written
LOOK, PATIENCE = 5.0, 600.0  # seconds between two looks at such a file, and until it is given up
END = 1 << 16  # bytes that hold the end of a workbook, and some lines of a text
ENDS: Final = {  # what the end of a whole file holds
    ".csv": (b"\n", b"\r"), ".parquet": (b"PAR1",), ".arrow": (b"ARROW1",), ".xlsx": (b"PK\x05\x06",)
}  # fmt: skip
MARKS: Final = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # first bytes that tell an encoding
UTF16 = "utf-16"
BLOCK = 1 << 22  # characters that are decoded at once
MIDNIGHT = " 00:00:00"  # behind a name that is a day in a workbook


class WrittenFormat(Struct, frozen=True):
    """Takes files to be written as the keys of a feed say, and the first row with a value for the column names."""

    format: ExtractFormat

    def of_file(self, _: Path) -> ExtractFormat:
        """Return the format of every file."""
        return self.format

    def heading_rows(self, _: str, cells: pl.DataFrame) -> tuple[int, ...]:
        """Return the numbers of the rows that the key says, or of the first row with a value."""
        said = self.format.sheet.header_rows
        return (first_used_row(cells),) if said is None else said

    def warn(self, says: str) -> None:
        """Drop it: a load is warned by its own detector."""


def file_rows(path: Path, formats: FormatDetector, sheet: str | None) -> Generator[pl.DataFrame]:
    """Yield the located rows of one file; a line of text that holds no value is numbered, but is no row.

    LoadFailed where it cannot be read, or changed meanwhile: a file that is still being written is not loaded.
    """
    with unchanged(path), scan_file(path, formats, sheet) as scanned:
        first = scanned.first
        for rows in scan_batches(scanned.rows):
            if kind_of(path) == ".csv":
                refuse_long_fields(rows, path.name)
            yield drop_empty_rows(located(from_cells(rows), path.name, first), path)
            first += rows.height


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Raise LoadFailed if a file changes while the block reads it, or cannot be read."""
    try:
        await_rest(path)
        before = path.stat()
        yield
        after = path.stat()
    except UnicodeError as fault:
        raise LoadFailed(EXTRACT, f"{path.name} is written in another encoding; set csv: {{encoding: …}}") from fault
    except FileTooLarge as fault:
        raise LoadFailed(EXTRACT, str(fault)) from fault
    except (pl.exceptions.PolarsError, OSError) as fault:
        raise LoadFailed(EXTRACT, f"{path.name} cannot be read: {explain_fault(path, fault)}") from fault
    if (before.st_size, before.st_mtime_ns, before.st_ino) != (after.st_size, after.st_mtime_ns, after.st_ino):
        raise LoadFailed(EXTRACT, f"{path.name} changed while it was read; load again when it is whole")


def located(frame: pl.DataFrame, name: str, first: int) -> pl.DataFrame:
    """Return rows with the columns FILE and ROW in front; `first` is the number of the first row."""
    return frame.with_row_index(ROW, offset=first).select(pl.lit(name).alias(FILE), pl.all())


def explain_fault(path: Path, fault: Exception) -> str:
    """Return why a file cannot be read in words of our own, and what to do about it."""
    if isinstance(fault, OSError) and fault.strerror and fault.filename is not None:
        return fault.strerror
    if isinstance(fault, UnicodeError) or "invalid utf-8" in str(fault):
        return NO_UTF8
    return WRITTEN_AS.get(kind_of(path), "it is damaged")


def await_rest(path: Path, now: Callable[[], float] = time, rest: Callable[[float], None] = sleep) -> None:
    """Wait while a file is being written: until two looks, LOOK seconds apart, find the same size and time.

    A file whose end is whole, or that was not written to in the last JUST_NOW seconds, is not waited for. Raises
    LoadFailed if it still grows after PATIENCE seconds.
    """
    stat = path.stat()
    if now() - stat.st_mtime > JUST_NOW or has_end(path, stat.st_size):
        return
    for _ in range(int(PATIENCE / LOOK)):
        rest(LOOK)
        before, stat = stat, path.stat()
        if (before.st_size, before.st_mtime_ns) == (stat.st_size, stat.st_mtime_ns):
            return
    raise LoadFailed(EXTRACT, f"{path.name} still grows after {PATIENCE / 60:.0f} minutes; load again when it is whole")


def has_end(path: Path, size: int) -> bool:
    """Tell whether a file ends as its kind does when it is whole."""
    marks = None if path.suffix.lower() == ".xls" else ENDS.get(kind_of(path))
    if marks is None or not size:
        return True
    with path.open("rb") as file:
        file.seek(-min(END, size), os.SEEK_END)
        end = file.read()
    return end[-2:].strip(b"\0")[-1:] in marks if kind_of(path) == ".csv" else any(mark in end for mark in marks)


def drop_empty_rows(rows: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Return the located rows that hold a value; typed files have no others."""
    if kind_of(path) in TYPED:
        return rows
    return rows.filter(pl.any_horizontal(pl.nth(range(2, rows.width)).is_not_null()))


class FileScan(Struct, frozen=True):
    """The rows of a file, and the number of the first."""

    rows: pl.LazyFrame
    first: int = 1


@contextmanager
def scan_file(path: Path, formats: FormatDetector, sheet: str | None) -> Iterator[FileScan]:
    """Hand out the rows of one file: those of CSV and XLSX as text."""
    format_ = formats.of_file(path)
    match kind_of(path):
        case ".csv":
            with scan_csv(path, format_.csv) as scanned:
                yield scanned
        case ".parquet":
            yield FileScan(pl.scan_parquet(path))
        case ".arrow":
            yield FileScan(pl.scan_ipc(path))
        case ".xlsx":
            yield read_sheet(path, sheet, formats)
        case _:
            raise LoadFailed(EXTRACT, f"{path.name} is none of {', '.join(ALL_ENDINGS)}")


def scan_batches(scan: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a scan in their order; one empty frame where there are none."""
    came, schema = False, scan.collect_schema()
    rows = min(PIECE, max(1, CELLS // max(1, len(schema))))
    for piece in scan.collect_batches(chunk_size=rows, maintain_order=True):
        came = True
        yield piece
    if not came:
        yield pl.DataFrame(schema=schema)


# CSV. Polars reads UTF-8; other encodings are decoded to a temporary file beside the system's others.


@contextmanager
def scan_csv(path: Path, dialect: CsvFormat) -> Iterator[FileScan]:
    """Hand out the rows of a CSV file as text. Raises LoadFailed for a row with more values than there are columns."""
    with utf8_text(path, dialect.encoding) as text:
        refuse_long_lines(text, path.name)
        heading = read_heading(text, path.name, dialect)
        last_heading, first = rows_between(text, path.name, dialect, heading)
        width = len(heading.names)
        is_short = 0 < len(first) < width == len(last_heading)  # then Polars takes the width from the row above
        spare = [f"_spare_{number}" for number in range(len(first) - width)] if not any(first[width:]) else []
        scan = pl.scan_csv(
            text,
            separator=dialect.separator or ",",
            quote_char='"' if dialect.quote is None else dialect.quote or None,
            has_header=False,
            skip_rows=heading.rows_above - is_short,
            schema=dict.fromkeys((*heading.names, *spare), pl.String),
        )
        scan = scan.slice(1) if is_short else scan
        try:
            footer = dialect.layout.skip_footer or 0
            rows = scan.head(max(scan.select(pl.len()).collect().item() - footer, 0)) if footer else scan
            if spare and rows.select(pl.any_horizontal(pl.col(*spare).is_not_null().any())).collect().item():
                raise LoadFailed(EXTRACT, wide_row_fault(text, path.name, dialect, heading))
            yield FileScan(rows.drop(spare), heading.rows_above + 1)
        except pl.exceptions.PolarsError as fault:
            if (loose := loose_quote(text, dialect)) is not None:
                raise LoadFailed(EXTRACT, f"{path.name} {loose}") from fault
            if not any(part in str(fault) for part in TOO_WIDE):
                raise
            raise LoadFailed(EXTRACT, wide_row_fault(text, path.name, dialect, heading)) from fault


@contextmanager
def utf8_text(path: Path, encoding: str | None) -> Iterator[Path]:
    """Hand out a path with the text of a file in UTF-8: the file itself, or a copy that is deleted afterwards."""
    with path.open("rb") as file:
        head = file.read(END)
    marked = MARKS.get(head[:2])
    encoding = encoding or marked or "utf-8"
    if encoding == UTF16 and not marked:
        encoding = "utf-16-le"  # as Windows writes it
    has_old_ends = b"\r" in head and b"\n" not in head  # of lines, as systems before 2001 wrote them
    if encoding == "utf-8" and not has_old_ends:
        yield path
        return
    with NamedTemporaryFile("w", encoding="utf-8", newline="", suffix=".csv") as copy:
        with path.open(encoding=encoding, newline=None if has_old_ends else "") as file:
            while block := file.read(BLOCK):
                copy.write(block)
        copy.flush()
        yield Path(copy.name)


class TableHeading(Struct, frozen=True):
    """The column names of a table, and how many rows of the file stand above its first row."""

    names: Sequence[str]
    rows_above: int


def read_heading(text: Path, name: str, dialect: CsvFormat) -> TableHeading:
    """Return the heading of a CSV file. Raises LoadFailed if the file ends above it."""
    layout = dialect.layout
    above = layout.skip_rows or 0
    numbers = layout.header_rows if layout.header_rows is not None else (above + 1,)
    with text.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = csv_rows(file, dialect, name)
        rows = [row for _, row in zip(range(max(numbers, default=above + 1)), lines, strict=False)]
    if not rows:
        raise LoadFailed(EXTRACT, f"{name} is empty")
    refuse_wide(max(map(len, rows)), name)
    if len(rows) < max(numbers, default=above + 1):
        raise LoadFailed(EXTRACT, f"{name} has {len(rows)} rows, and its column names stand in row {max(numbers)}")
    if not numbers:
        return TableHeading(letters(len(rows[above])), above)
    return TableHeading(join_names([rows[number - 1] for number in numbers]), max(numbers))


def rows_between(
    text: Path, name: str, dialect: CsvFormat, heading: TableHeading
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the last row above the first one of a table and this one, from which Polars takes the number of columns.

    Behind the last column it may have empty values: its line ends with separators. Or it lacks the last, empty ones.
    """
    above = heading.rows_above
    with text.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = [*islice(csv_rows(file, dialect, name), max(above - 1, 0), above + 1)]
    return (rows[0] if above and rows else []), (rows[-1] if len(rows) > bool(above) else [])


def csv_rows(lines: Iterable[str], dialect: CsvFormat, name: str = "") -> Iterator[list[str]]:
    """Yield the rows of a CSV text one by one, a blank line as a row. Raises FileTooLarge."""
    return bounded_records(lines, name, dialect.separator or ",", dialect.quote)


def loose_quote(text: Path, dialect: CsvFormat) -> LoosePair | None:
    """Return the first quotation mark of a CSV file that has no other; None if they all pair."""
    if dialect.quote == "":
        return None
    with text.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return loose_pair(file, dialect.separator or ",", dialect.quote or '"')


def wide_row_fault(text: Path, name: str, dialect: CsvFormat, heading: TableHeading) -> str:
    """Return what is wrong with the first row that has more values than the table has columns."""
    width = len(heading.names)
    with text.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        for number, row in enumerate(csv_rows(file, dialect, name), 1):
            if number > heading.rows_above and any(row[width:]):
                says = f"{name} row {number} has {len(row)} values, and the table has {width} columns"
                return (
                    f"{says}; set csv: {{separator: …}} or csv: {{header_row: …}}, or quote the value with a separator"
                )
    return f"{name} has a row with more values than the table has columns"


def join_names(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the column names that rows of headings make together.

    A merged cell is written in its first column only: an empty heading above a name takes the text to its left. A
    column without any name is called by its letter, and columns of one name by that and their number: x_1, x_2.
    """
    width = max(map(len, rows))
    table = [
        [" ".join(cell.split()).removesuffix(MIDNIGHT) for cell in row] + [""] * (width - len(row)) for row in rows
    ]
    last = table[-1]
    for row in table[:-1]:
        for at in range(1, width):
            row[at] = row[at] or (row[at - 1] if last[at] else "")
    joined = [" ".join(cell for cell in column if cell) for column in zip(*table, strict=True)]
    named = [name or letter for name, letter in zip(joined, letters(width), strict=True)]
    seen: dict[str, int] = {}
    for at, name in enumerate(named):
        if named.count(name) > 1 or name in seen:
            seen[name] = seen.get(name, 0) + 1
            named[at] = numbered(name, seen[name])
    return named


def numbered(name: str, number: int) -> str:
    """Return what a column is called whose name several have."""
    return f"{name}_{number}"


def is_doubled(name: str, names: Collection[str]) -> bool:
    """Tell whether several columns have a name, so that none is called by it alone."""
    return name not in names and {numbered(name, 1), numbered(name, 2)} <= set(names)


def letters(count: int) -> list[str]:
    """Return the names that a spreadsheet gives its first columns: A to Z, then AA."""
    return [letter(number) for number in range(count)]


def letter(number: int) -> str:
    """Return the name of one column, counted from 0."""
    return letters_of(number + 1)


# XLSX. The whole sheet is in memory.


def read_sheet(path: Path, sheet: str | None, formats: FormatDetector) -> FileScan:
    """Return the rows of a sheet as text. `formats` says which rows have the names."""
    refuse_large_parts(path)
    names = READER.names(path)
    if sheet is not None and sheet not in names:
        raise LoadFailed(EXTRACT, f"{path.name} has no sheet '{sheet}'; it has {', '.join(names)}")
    if not names:
        raise LoadFailed(EXTRACT, f"{path.name} has no sheet")
    name = sheet or names[0]
    formulas = formulas_of(path, name)  # also refuses a sheet that reaches too far, before it is read
    cells = READER.cells(path, name)
    if not cells.width:
        return FileScan(cells.lazy())
    if (cell := formulas.unvalued) is not None:
        raise LoadFailed(EXTRACT, f"{path.name}: {unvalued_fault(name, cell)}")
    if formulas.zeros:
        formats.warn(f"{path.name}, sheet {name}: {formulas}; open it in a spreadsheet, save it and load it again")
    if rows := formulas.hidden:
        are = (
            "row is hidden or filtered away, and counts" if rows == 1 else "rows are hidden or filtered away, and count"
        )
        formats.warn(f"{path.name}, sheet {name}: {rows:,} {are} as any other")
    numbers = formats.heading_rows(path.name, cells)
    if max(numbers, default=0) > cells.height:
        says = f"{path.name} has {cells.height} rows, and its column names stand in row {max(numbers)}"
        raise LoadFailed(EXTRACT, says)
    heads = [[cell or "" for cell in cells.row(number - 1)] for number in numbers]
    cells.columns = join_names(heads) if heads else letters(cells.width)
    above = max(numbers, default=0)
    return FileScan(cells[above:].lazy(), above + 1)


def first_used_row(cells: pl.DataFrame) -> int:
    """Return the number of the first row with a value; 1 if there is none."""
    used = cells.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()
    return int(used[0]) + 1 if len(used) else 1
