"""The kinds of sources and types of columns that the law of digits holds for, each written by a library not ours."""

import csv
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import duckdb
import openpyxl
import psycopg
import pyarrow as pa
import xlwt
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P
from pyarrow import feather, parquet

from tests.laws.digits.drawn import PLACES, DrawnRow
from tests.laws.digits.law import CONNECTION, DAY, Source
from tests.laws.digits.xlsb import write_cells
from tests.support.engines.flight_sql import TOKEN, flight_sql
from tests.support.engines.postgres import postgres

COLUMNS = ("date", "account", *PLACES)
Cells = Callable[[DrawnRow], Sequence[Any]]  # of a row: fine, cents, rate
QUERY = f"select {', '.join(COLUMNS)} from postings"  # noqa: S608 - names of our own


def exact(row: DrawnRow) -> Sequence[Decimal]:
    """Return the numbers of a row as they are."""
    return row.fine, row.cents, row.rate


def texts(row: DrawnRow) -> Sequence[str]:
    """Return the numbers of a row as plain texts."""
    return [format(number, "f") for number in exact(row)]


def doubles(row: DrawnRow) -> Sequence[float]:
    """Return the numbers of a row as doubles; that of cents is what a computation leaves."""
    return float(row.fine), row.computed, float(row.rate)


def printed(row: DrawnRow) -> Sequence[str]:
    """Return doubles as programs print them: 1e-12."""
    return [repr(number) for number in doubles(row)]


def mixed(row: DrawnRow) -> Sequence[Any]:
    """Return numbers of a row as different types."""
    return (str(row.fine), row.computed, float(row.rate)) if row.fine < 0 else doubles(row)


def wholes(row: DrawnRow) -> Sequence[int]:
    """Return the numbers of a row that has whole ones alone."""
    return [int(number) for number in exact(row)]


def is_whole(row: DrawnRow) -> bool:
    """Tell whether a row has whole numbers alone, which fit into 64 bits."""
    return all(number == int(number) for number in exact(row))


def only_whole(row: DrawnRow) -> DrawnRow:
    """Return a row with the whole part of its numbers."""
    fine, cents, rate = (Decimal(int(number)) for number in exact(row))
    return DrawnRow(fine, cents, rate, float(cents))


def table(rows: Sequence[DrawnRow], cells: Cells) -> Iterator[Sequence[Any]]:
    """Yield rows with their days and accounts."""
    for number, row in enumerate(rows):
        yield (DAY, f"A{number}", *cells(row))


def write_csv(cells: Cells, folder: Path, rows: Sequence[DrawnRow]) -> None:
    """Write a CSV file."""
    with (folder / "gl.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([COLUMNS, *table(rows, cells)])


def write_workbook(path: Path, lines: Iterable[Sequence[Any]]) -> None:
    """Write a workbook. openpyxl writes 16 digits of a double, as Excel did once; here all 17 are written."""
    with patch("openpyxl.cell._writer.safe_string", lambda value: repr(value) if isinstance(value, float) else value):
        book = openpyxl.Workbook()
        for line in lines:
            book.active.append(line)
        book.save(path)


def write_xlsm(cells: Cells, folder: Path, rows: Sequence[DrawnRow]) -> None:
    """Write a workbook whose name says that it may hold macros."""
    write_xlsx(cells, folder, rows)
    (folder / "gl.xlsx").rename(folder / "gl.xlsm")


def write_xlsx(cells: Cells, folder: Path, rows: Sequence[DrawnRow]) -> None:
    """Write a workbook."""
    write_workbook(folder / "gl.xlsx", [COLUMNS, *table(rows, cells)])


def write_xls(cells: Cells, folder: Path, rows: Sequence[DrawnRow]) -> None:
    """Write a workbook of records, as Excel did up to 2003."""
    made = xlwt.Workbook()
    sheet = made.add_sheet("gl")
    for at, line in enumerate([COLUMNS, *table(rows, cells)]):
        for column, value in enumerate(line):
            sheet.write(at, column, value)
    made.save(str(folder / "gl.xls"))


def write_xlsb(cells: Cells, folder: Path, rows: Sequence[DrawnRow]) -> None:
    """Write a workbook of binary records."""
    write_cells(folder / "gl.xlsb", [COLUMNS, *table(rows, cells)])


def write_ods(cells: Cells, folder: Path, rows: Sequence[DrawnRow]) -> None:
    """Write an OpenDocument workbook, whose numbers are texts of doubles."""
    made = OpenDocumentSpreadsheet()
    sheet = Table(name="gl")
    made.spreadsheet.addElement(sheet)
    for line in [COLUMNS, *table(rows, cells)]:
        row = TableRow()
        sheet.addElement(row)
        for value in line:
            number = {"valuetype": "float", "value": repr(value)} if isinstance(value, float) else None
            cell = TableCell(**(number or {"valuetype": "string"}))
            cell.addElement(P(text=str(value)))
            row.addElement(cell)
    made.save(str(folder / "gl.ods"))


def write_arrow(kind: str, types: Sequence[pa.DataType], cells: Cells, folder: Path, rows: Sequence[DrawnRow]) -> None:
    """Write a Parquet or Arrow file with columns of some types."""
    lines = list(zip(*table(rows, cells), strict=True))
    schema = [pa.string(), pa.string(), *types]
    arrays = [pa.array(line, dtype) for line, dtype in zip(lines, schema, strict=True)]
    made = pa.table(dict(zip(COLUMNS, arrays, strict=True)))
    if kind == "parquet":
        parquet.write_table(made, folder / "gl.parquet")
    else:
        feather.write_feather(made, str(folder / "gl.arrow"), compression="uncompressed")


def write_sqlite(types: Sequence[str], cells: Cells, folder: Path, rows: Sequence[DrawnRow]) -> None:
    """Write a database of SQLite whose columns are declared so."""
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(PLACES, types, strict=True))
    with sqlite3.connect(folder / "gl.db") as database:
        database.execute(f"create table postings (date text, account text, {declared})")
        database.executemany("insert into postings values (?, ?, ?, ?, ?)", table(rows, cells))
    database.close()


def write_duckdb(types: Sequence[str], cells: Cells, folder: Path, rows: Sequence[DrawnRow]) -> None:
    """Write a database of DuckDB."""
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(PLACES, types, strict=True))
    with duckdb.connect(str(folder / "gl.db")) as database:
        database.execute(f"create table postings (date date, account text, {declared})")
        lines = [pa.array(line) for line in zip(*table(rows, cells), strict=True)]
        database.register("lines", pa.table(dict(zip(COLUMNS, lines, strict=True))))
        database.execute("insert into postings select * from lines")


@contextmanager
def serve_flight(folder: Path) -> Iterator[str]:
    """Serve a database of DuckDB by Flight SQL; yield the options of its driver."""
    with flight_sql(str(folder / "gl.db")) as server:
        options = {"uri": f"grpc://127.0.0.1:{server.port}", "adbc.flight.sql.authorization_header": TOKEN}
        yield json.dumps(options)


@contextmanager
def serve_postgres(types: Sequence[str], folder: Path) -> Iterator[str]:
    """Serve the rows of a CSV file by PostgreSQL, in columns of some types; yield its URI."""
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(PLACES, types, strict=True))
    with postgres(folder) as uri, psycopg.connect(uri) as database:
        database.execute(f"create table postings (date date, account text, {declared})")
        with database.cursor().copy("copy postings from stdin (format csv, header)") as copy:
            copy.write((folder / "gl.csv").read_bytes())
        database.commit()
        yield uri


DECIMALS = [pa.decimal128(24, 9), pa.decimal128(24, 2), pa.decimal128(24, 12)]
WIDE = [pa.decimal128(38, 12)] * 3
DOUBLES = [pa.float64()] * 3


def database(kind: str) -> Mapping[str, Any]:
    """Return the keys of a source that is a file of a database, and of its feed."""
    return {"source": {"kind": kind, "path": "data/gl.db"}, "feed": {"extract": QUERY}}


def of_file(ending: str) -> Mapping[str, Any]:
    """Return the keys of a feed of one file."""
    return {"feed": {"file": f"gl.{ending}"}}


def parquet_of(types: Sequence[pa.DataType], cells: Cells, **more: Any) -> Source:
    """Return a Parquet file as a source."""
    return Source(write=partial(write_arrow, "parquet", types, cells), **of_file("parquet"), **more)


def arrow_of(types: Sequence[pa.DataType], cells: Cells) -> Source:
    """Return an Arrow file as a source."""
    return Source(write=partial(write_arrow, "arrow", types, cells), **of_file("arrow"))


def sqlite_of(types: str, cells: Cells, **more: Any) -> Source:
    """Return a database of SQLite as a source."""
    return Source(write=partial(write_sqlite, [types] * 3, cells), **database("sqlite"), **more)


def duckdb_of(types: Sequence[str], cells: Cells, **more: Any) -> Source:
    """Return a database of DuckDB as a source."""
    return Source(write=partial(write_duckdb, types, cells), **database("duckdb"), **more)


def flight_of(types: Sequence[str], cells: Cells, **more: Any) -> Source:
    """Return a database of DuckDB behind Flight SQL as a source."""
    keys: dict[str, Any] = {"source": {"kind": "flightsql", "options_env": CONNECTION}, "feed": {"extract": QUERY}}
    return Source(write=partial(write_duckdb, types, cells), serve=serve_flight, **keys, **more)


def postgres_of(types: Sequence[str], cells: Cells, **more: Any) -> Source:
    """Return a database of PostgreSQL as a source."""
    keys: dict[str, Any] = {"source": {"kind": "postgresql", "uri_env": CONNECTION}, "feed": {"extract": QUERY}}
    return Source(write=partial(write_csv, cells), serve=partial(serve_postgres, types), **keys, **more)


INTEGERS: Final[Mapping[str, Any]] = {"holds": is_whole}
SOURCES: Final[Mapping[str, Source]] = {
    "csv, decimals": Source(write=partial(write_csv, texts), **of_file("csv")),
    "csv, printed doubles": Source(write=partial(write_csv, printed), **of_file("csv")),
    "xlsx, numbers": Source(write=partial(write_xlsx, doubles), **of_file("xlsx")),
    "xlsx, texts": Source(write=partial(write_xlsx, texts), **of_file("xlsx")),
    "xlsx, numbers and texts": Source(write=partial(write_xlsx, mixed), **of_file("xlsx")),
    "xlsm, numbers": Source(write=partial(write_xlsm, doubles), **of_file("xlsm")),
    "xls, numbers": Source(write=partial(write_xls, doubles), **of_file("xls")),
    "xls, numbers and texts": Source(write=partial(write_xls, mixed), **of_file("xls")),
    "xlsb, numbers": Source(write=partial(write_xlsb, doubles), **of_file("xlsb")),
    "xlsb, numbers and texts": Source(write=partial(write_xlsb, mixed), **of_file("xlsb")),
    "ods, numbers": Source(write=partial(write_ods, doubles), **of_file("ods")),
    "ods, numbers and texts": Source(write=partial(write_ods, mixed), **of_file("ods")),
    "parquet, double": parquet_of(DOUBLES, doubles),
    "parquet, decimal": parquet_of(DECIMALS, exact),
    "parquet, wide decimal": parquet_of(WIDE, exact),
    "parquet, integer": parquet_of([pa.int64()] * 3, wholes, **INTEGERS),
    "parquet, text": parquet_of([pa.string()] * 3, texts),
    "arrow, double": arrow_of(DOUBLES, doubles),
    "arrow, decimal": arrow_of(DECIMALS, exact),
    "sqlite, real": sqlite_of("real", doubles),
    "sqlite, numeric": sqlite_of("decimal(15,2)", doubles),
    "sqlite, integer": sqlite_of("integer", wholes, **INTEGERS),
    "sqlite, text": sqlite_of("text", texts),
    "sqlite, any": sqlite_of("blob", mixed),
    "duckdb, double": duckdb_of(["double"] * 3, doubles),
    "duckdb, decimal": duckdb_of(["decimal(24,9)", "decimal(24,2)", "decimal(24,12)"], exact),
    "duckdb, text": duckdb_of(["varchar"] * 3, texts),
    "duckdb, integer": duckdb_of(["bigint", "bigint", "hugeint"], wholes, **INTEGERS),
    "flightsql, double": flight_of(["double"] * 3, doubles),
    "flightsql, decimal": flight_of(["decimal(24,9)", "decimal(24,2)", "decimal(24,12)"], exact),
    "flightsql, text": flight_of(["varchar"] * 3, texts),
    "postgresql, double": postgres_of(["double precision"] * 3, printed),
    "postgresql, numeric": postgres_of(["numeric(24,9)", "numeric(24,2)", "numeric(24,12)"], texts),
    "postgresql, plain numeric": postgres_of(["numeric"] * 3, texts),
    "postgresql, text": postgres_of(["text"] * 3, texts),
    "postgresql, integer": postgres_of(["bigint"] * 3, wholes, **INTEGERS),
}
