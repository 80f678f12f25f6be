"""Extracts: what a source holds, as a frame whose rows know where they came from."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import fastexcel
import polars as pl
from adbc_driver_manager import Error as DatabaseError
from adbc_driver_postgresql import dbapi

from engine.feeds import Binding, SourceKind
from server.ingest.rejects import FILE, ROW, LoadFailed

CONNECT, EXTRACT = "connect", "extract"
TYPED = (".parquet", ".arrow")


def extract(binding: Binding, folder: Path, environment: Mapping[str, str] = os.environ) -> Iterator[pl.DataFrame]:
    """Yield what a binding's source holds now, FILE and ROW first, a frame for each file or query.

    LoadFailed where it cannot be read.
    """
    source = binding.source
    secret = environment.get(source.environment) if source.environment else None
    if source.environment and not secret:
        raise LoadFailed(CONNECT, f"source {source.key} needs the environment variable {source.environment}")
    if source.kind is SourceKind.POSTGRESQL:
        yield from_database(binding, secret or "")
    else:
        yield from from_folder(binding, Path(secret) if secret else folder / (source.path or ""))


def from_folder(binding: Binding, folder: Path) -> Iterator[pl.DataFrame]:
    """Yield the rows of every file that matches, in the order of their names."""
    if not folder.is_dir():
        raise LoadFailed(CONNECT, f"source {binding.source.key}: there is no such folder")
    files = sorted(path for path in folder.glob(binding.extract) if path.is_file())
    if not files:
        raise LoadFailed(EXTRACT, f"no file of source {binding.source.key} matches {binding.extract}")
    for path in files:
        yield rows_of(path, binding.sheet)


def rows_of(path: Path, sheet: str | None) -> pl.DataFrame:
    """Return the located rows of one file; a line of text that holds no value is numbered, but is no row."""
    rows = located(read_file(path, sheet), path.name)
    if path.suffix.lower() in TYPED:
        return rows
    return rows.filter(pl.any_horizontal(pl.exclude(FILE, ROW).is_not_null()))


def read_file(path: Path, sheet: str | None) -> pl.DataFrame:
    """Return the rows of one file: CSV and XLSX as text, Parquet and Arrow as they are typed."""
    try:
        match path.suffix.lower():
            case ".csv":
                return pl.read_csv(path, infer_schema=False)
            case ".parquet":
                return pl.read_parquet(path)
            case ".arrow":
                return pl.read_ipc(path)
            case ".xlsx":
                book = fastexcel.read_excel(path)
                return book.load_sheet(sheet or 0, dtypes="string").to_polars()
    except (pl.exceptions.PolarsError, fastexcel.FastExcelError, OSError) as fault:
        raise LoadFailed(EXTRACT, f"{path.name} cannot be read: {first_line(fault)}") from fault
    raise LoadFailed(EXTRACT, f"{path.name} is none of .csv, .xlsx, .parquet, .arrow")


def from_database(binding: Binding, uri: str) -> pl.DataFrame:
    """Return the rows of a query, through Arrow."""
    try:
        connection = dbapi.connect(uri, autocommit=True)
    except DatabaseError as fault:
        raise LoadFailed(CONNECT, f"source {binding.source.key} cannot be reached: {without(uri, fault)}") from fault
    with connection, connection.cursor() as cursor:
        try:
            cursor.execute(binding.extract)
            table = cursor.fetch_arrow_table()
        except DatabaseError as fault:
            raise LoadFailed(EXTRACT, f"the query failed: {without(uri, fault)}") from fault
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table is no column
    wrapped = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.BaseExtension)]
    return located(frame.with_columns(pl.col(name).ext.storage() for name in wrapped), binding.source.key)


def located(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return rows with the file they came from and their number, the first is 1."""
    return frame.with_row_index(ROW, offset=1).select(pl.lit(name).alias(FILE), pl.all())


def first_line(fault: Exception) -> str:
    """Return the first line of what a library says."""
    return str(fault).strip().split("\n", 1)[0]


def without(uri: str, fault: Exception) -> str:
    """Return what a driver says, without the URI and the parts of it that could be secret."""
    said = first_line(fault)
    secret = uri.rsplit("@", 1)[0].rpartition(":")[2] if "@" in uri else ""
    for part in filter(None, (uri, secret)):
        said = said.replace(part, "…")
    return said
