"""Files of a folder: CSV and XLSX as text, Parquet and Arrow as they are typed, some rows at a time."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from time import time

import fastexcel
import polars as pl

from engine.feeds import Binding
from server.ingest.rejects import CONNECT, EXTRACT, LoadFailed, Part, located

PIECE = 500_000  # rows in memory at once
TYPED = (".parquet", ".arrow")
MENDS = {
    "invalid utf-8": "text files are UTF-8: save it as such, not as Latin-1 or UTF-16",
    'could not parse `"': 'that " has no end: write a quotation mark inside a value twice, or remove it',
}
JUST_NOW = 60  # seconds in which a file without the end of its last line counts as half written


def parts_of_folder(binding: Binding, folder: Path, patterns: Iterator[str]) -> Iterator[Part]:
    """Yield every file that matches a pattern, in the order of their names."""
    if not folder.is_dir():
        raise LoadFailed(CONNECT, f"source {binding.source.key}: there is no such folder")
    for pattern in patterns:
        files = sorted(path for path in folder.glob(pattern) if path.is_file())
        if not files:
            raise LoadFailed(EXTRACT, f"no file of source {binding.source.key} matches {pattern}")
        for path in files:
            yield Part(path.name, rows_of(path, binding.sheet))


def rows_of(path: Path, sheet: str | None) -> Generator[pl.DataFrame]:
    """Yield the located rows of one file; a line of text that holds no value is numbered, but is no row.

    LoadFailed where it cannot be read, or changed meanwhile: a file that is still being written is not loaded.
    """
    first = 0
    try:
        before = path.stat()
        refuse_half_written(path, before)
        for piece in read_file(path, sheet):
            yield values_of(located(piece, path.name, first), path)
            first += piece.height
        after = path.stat()
    except (pl.exceptions.PolarsError, fastexcel.FastExcelError, OSError) as fault:
        raise LoadFailed(EXTRACT, f"{path.name} cannot be read: {mended(str(fault))}") from fault
    if (before.st_size, before.st_mtime_ns, before.st_ino) != (after.st_size, after.st_mtime_ns, after.st_ino):
        raise LoadFailed(EXTRACT, f"{path.name} changed while it was read; load again when it is whole")


def mended(fault: str) -> str:
    """Return what a library says of a file, and what to do about it where that is known."""
    said = fault.strip().splitlines()[0]
    return said + next((f"; {mend}" for part, mend in MENDS.items() if part in said), "")


def refuse_half_written(path: Path, stat: os.stat_result) -> None:
    """Refuse a text file that was written to a moment ago and ends in the middle of a line."""
    if path.suffix.lower() != ".csv" or not stat.st_size or time() - stat.st_mtime > JUST_NOW:
        return
    with path.open("rb") as file:
        file.seek(-min(2, stat.st_size), os.SEEK_END)
        if not set(b"\r\n").intersection(file.read()):  # of two bytes, where the text is UTF-16
            says = "ends in the middle of a line and was written to a moment ago"
            raise LoadFailed(EXTRACT, f"{path.name} {says}; load again when it is whole, or in a minute as it is")


def values_of(rows: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Return the rows that hold a value; typed files have no others."""
    if path.suffix.lower() in TYPED:
        return rows
    return rows.filter(pl.any_horizontal(pl.nth(range(2, rows.width)).is_not_null()))


def read_file(path: Path, sheet: str | None) -> Iterator[pl.DataFrame]:
    """Yield the rows of one file, at least one frame."""
    match path.suffix.lower():
        case ".csv":
            yield from pieces(pl.scan_csv(path, infer_schema=False))
        case ".parquet":
            yield from pieces(pl.scan_parquet(path))
        case ".arrow":
            yield from pieces(pl.scan_ipc(path))
        case ".xlsx":
            yield fastexcel.read_excel(path).load_sheet(sheet or 0, dtypes="string").to_polars()
        case _:
            raise LoadFailed(EXTRACT, f"{path.name} is none of .csv, .xlsx, .parquet, .arrow")


def pieces(scan: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a scan in their order; one empty frame where there are none."""
    came = False
    for piece in scan.collect_batches(chunk_size=PIECE, maintain_order=True):
        came = True
        yield piece
    if not came:
        yield pl.DataFrame(schema=scan.collect_schema())
