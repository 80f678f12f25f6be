"""Exports: rows and a report as workbooks and documents, and what grows with the rows.

Each writer has the same rows as it takes them. Ours have an inspection as it was kept: exact amounts, ids, days, labels
of members; and they make number formats, headings, the sheet about the file, and texts that are never formulas. The
others have a Polars frame and write it bare.
"""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter

import polars as pl
import xlsxwriter

from benches.books import demo_books
from benches.timing import Work, in_turns, peak_of, report
from engine.door import open_books
from engine.model.exact import Exact
from engine.present.exports.about import Made
from engine.present.exports.document import write_document
from engine.present.exports.workbook import write_workbook
from engine.report.inspection import Inspection, RowColumn, Stop
from engine.report.report import Report

SMALL = 150_000  # rows of the general ledger
COLUMNS = 20
FEW, MANY = 10_000, (100_000, 500_000)  # rows
ROUNDS = 5
FILE = "made"
RUST = "rustpy_xlsxwriter"  # no part of the installation: pip install rustpy-xlsxwriter
Write = Callable[[Inspection | Report, Made, Path, Stop], None]


def rows_of(count: int) -> Inspection:
    """Return so many rows of the general ledger, with amounts up to 20 columns; each row stands there repeatedly."""
    books = demo_books(SMALL)
    found = open_books(books.instance, state=books.state).rows("gl", scenario="actual", limit=FEW)
    more = COLUMNS - len(found.columns) - len(found.labels)
    amounts = tuple(RowColumn(f"amount {at}", f"Amount {at}", "amount", "EUR", 2) for at in range(more))
    rows = [
        (*row, *(Exact((at * 7919 + on * 104_729) % 10**9, 100) for on in range(more)))
        for at, row in enumerate(found.rows)
    ]
    return replace(found, columns=(*found.columns, *amounts), rows=list(islice(cycle(rows), count)))


def report_of(count: int) -> Report:
    """Return a report of so many members down and 20 columns across."""
    books = demo_books(SMALL)
    scenarios = {
        "Actuals": "actual",
        "Budget": "budget",
        "Var": "var(actual,budget)",
        "Var %": "var_pct(actual,budget)",
    }
    metrics = ("revenue", "cost_of_sales", "gross_profit", "gross_margin", "personnel")
    found = open_books(books.instance, state=books.state).metric(
        *metrics, scenarios=scenarios, period="2026-01", dimensions=("cost_centre",)
    )
    figures = [[list(islice(cycle(column), count)) for column in line] for line in found.figures]
    return replace(found, figures=figures, places=tuple(islice(cycle(found.places), count)))


def ours(write: Write, kept: Inspection | Report, folder: str) -> Work:
    """Return the work of one of our writers."""
    return partial(write, kept, Made(at=datetime.now(UTC), subject="bench"), Path(folder) / FILE, lambda: None)


def polars_frame(rows: Inspection, folder: str) -> Work:
    """Return the work of Polars, which takes XlsxWriter."""
    return partial(rows.frame.write_excel, Path(folder) / FILE)


def xlsxwriter_rows(rows: Inspection, folder: str) -> Work:
    """Return the work of XlsxWriter, row by row, with the labels of members: as many columns as ours have."""
    labels = [pl.col(name).replace(known).alias(f"{name} label") for name, known in rows.labels.items()]
    frame = rows.frame.with_columns(labels)

    def write() -> None:
        with xlsxwriter.Workbook(Path(folder) / FILE, {"constant_memory": True}) as book:
            sheet = book.add_worksheet()
            for at, row in enumerate(frame.iter_rows()):
                sheet.write_row(at, 0, row)

    return write


def in_rust(rows: Inspection, folder: str) -> Work:
    """Return the work of the fastest in Rust."""
    return partial(import_module(RUST).write_worksheet, rows.frame, str(Path(folder) / f"{FILE}.xlsx"))


XLSX, JSON = "rows to xlsx", "rows to json"
WRITERS: dict[str, Callable[[Inspection, str], Work]] = {
    XLSX: partial(ours, write_workbook),
    JSON: partial(ours, write_document),
    "polars write_excel": polars_frame,
    "xlsxwriter, constant memory": xlsxwriter_rows,
    **({RUST: in_rust} if find_spec(RUST) else {}),
}


def main(_: int) -> None:
    """Run the bench."""
    with tempfile.TemporaryDirectory() as folder:
        rows, sheet = rows_of(FEW), report_of(FEW)
        print(f"{FEW:,} rows of {COLUMNS} columns, and a report of as many cells, {ROUNDS} times in turns")
        works = {name: writer(rows, folder) for name, writer in WRITERS.items()}
        works["report to xlsx"] = ours(write_workbook, sheet, folder)
        works["report to json"] = ours(write_document, sheet, folder)
        report(in_turns(works, ROUNDS), XLSX)
        print("in a process of its own each: seconds, and MB by which memory grew over that with the rows made")
        for count in MANY:
            for name in (XLSX, JSON, *([RUST] if RUST in WRITERS else [])):
                before, peak = peak_of(partial(prepared, name, count, folder), 1)
                print(f"    grew by {peak - before:,} MB")


def prepared(name: str, count: int, folder: str) -> Work:
    """Return the work of a writer over many rows, which says how long it took."""
    work = WRITERS[name](rows_of(count), folder)

    def timed() -> None:
        begun = perf_counter()
        work()
        print(f"{name:42} {count:9,} rows {perf_counter() - begun:8.1f} s", end="", flush=True)

    return timed
