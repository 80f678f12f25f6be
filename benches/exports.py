"""Exports: rows and a report as workbooks and documents, and what grows with the rows.

Each writer has the same rows as it takes them. Ours have an inspection as it was kept: exact amounts, ids, days, labels
of members; and they make number formats, headings, the sheet about the file, and texts that are never formulas. The
others have a Polars frame and write it bare.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, sleep

import polars as pl
import xlsxwriter
from msgspec.structs import replace

from benches.books import demo_books
from benches.timing import Work, in_turns, memory, peak_of, report
from engine.door import open_books
from engine.model.evaluation import FigureCube
from engine.model.exact import Exact
from engine.model.stopping import Stop
from engine.present.exports.about import ExportStamp
from engine.present.exports.json_document import write_document
from engine.present.exports.workbook import write_workbook
from engine.report.admission import Snapshot
from engine.report.inspection import Inspection, RowColumn
from engine.report.report import Report
from engine.report.snapshots import keep
from server.caller.exporter import Exporter, ExportJob

SMALL = 150_000  # rows of the general ledger
COLUMNS = 20
FEW, MANY = 10_000, (100_000, 500_000)  # rows
ROUNDS = 5
REPORTS = 200
STARTED = 10.0  # seconds until exports are at work
FILE = "made"
RUST = "rustpy_xlsxwriter"  # no part of the installation: pip install rustpy-xlsxwriter
Write = Callable[[Inspection | Report, ExportStamp, Path, Stop], None]


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
    return replace(found, figures=FigureCube.of(figures), places=tuple(islice(cycle(found.places), count)))


def ours(write: Write, kept: Inspection | Report, folder: str) -> Work:
    """Return the work of one of our writers."""
    return partial(write, kept, ExportStamp(at=datetime.now(UTC), subject="bench"), Path(folder) / FILE, lambda: None)


def polars_frame(rows: Inspection, folder: str) -> Work:
    """Return the work of Polars, which takes XlsxWriter."""
    return partial(rows.frame.write_excel, Path(folder) / FILE)


def xlsxwriter_rows(rows: Inspection, folder: str) -> Work:
    """Return the work of XlsxWriter, row by row, with the labels of members, so that it has as many columns as ours."""
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


XLSX, JSON, BARE = "rows to xlsx", "rows to json", "xlsxwriter, constant memory"
WRITERS: dict[str, Callable[[Inspection, str], Work]] = {
    XLSX: partial(ours, write_workbook),
    JSON: partial(ours, write_document),
    "polars write_excel": polars_frame,
    BARE: xlsxwriter_rows,
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
        report(in_turns(works, ROUNDS), BARE)
        print("as the server makes them, in its process for exports: seconds, and MB of that process at its peak")
        for count in MANY:
            job = job_of(rows_of(count), folder)
            for form in ("xlsx", "json"):
                begun, peak = perf_counter(), exported(replace(job, form=form))
                print(f"rows to {form:34} {count:9,} rows {perf_counter() - begun:8.1f} s {peak:8,} MB")
            if RUST in WRITERS:
                before, peak = peak_of(partial(prepared, RUST, count, folder), 1)
                print(f"    grew by {peak - before:,} MB")
        beside_exports(job, folder)


def job_of(rows: Inspection, folder: str) -> ExportJob:
    """Return the job of rows as the server has them: a snapshot."""
    return ExportJob(
        snapshot=Snapshot(keep(rows), rows.source, rows.permission, ()),
        form="xlsx",
        made=ExportStamp(at=datetime.now(UTC), subject="bench"),
        target=Path(folder) / FILE,
    )


def exported(job: ExportJob) -> int:
    """Run a job in its own process and return the peak memory of that process in MB."""
    peaks = [0]

    def look() -> None:
        with suppress(OSError, StopIteration):  # it is not there yet, or gone
            peaks.extend(memory("VmHWM", pid) for pid in children())

    with closing(Exporter()) as exporter:
        exporter.export(job, look)
    return max(peaks)


def children() -> Iterator[int]:
    """Yield the ids of the processes that this one started."""
    for task in Path("/proc/self/task").iterdir():
        yield from map(int, (task / "children").read_text(encoding="ascii").split())


def beside_exports(job: ExportJob, folder: str) -> None:
    """Time a report alone, and beside four exports as two workers run them."""
    books = demo_books(SMALL)
    door = open_books(books.instance, state=books.state)
    asked = partial(door.statement, "pnl", scenarios={"A": "actual", "B": "budget"}, period="2026-01")
    works = {"a report, alone": asked}
    found = in_turns(works, REPORTS)
    ends = Event()
    with ExitStack() as ending:
        workers = [ending.enter_context(closing(Exporter())) for _ in range(2)]
        threads = [
            Thread(target=export_until, args=(workers[at % 2], job, Path(folder) / f"{at}", ends)) for at in range(4)
        ]
        for thread in threads:
            thread.start()
        sleep(STARTED)
        found |= in_turns({"a report, beside four exports": asked}, REPORTS)
        ends.set()
        for thread in threads:
            thread.join()
    report(found, "a report, alone")


def export_until(exporter: Exporter, job: ExportJob, folder: Path, ends: Event) -> None:
    """Export again and again until told to end."""

    def look() -> None:
        if ends.is_set():
            raise InterruptedError

    folder.mkdir()
    with suppress(InterruptedError):
        while True:
            exporter.export(replace(job, target=folder / FILE), look)


def prepared(name: str, count: int, folder: str) -> Work:
    """Return the work of a writer over many rows, which says how long it took."""
    work = WRITERS[name](rows_of(count), folder)

    def timed() -> None:
        begun = perf_counter()
        work()
        print(f"{name:42} {count:9,} rows {perf_counter() - begun:8.1f} s", end="", flush=True)

    return timed
