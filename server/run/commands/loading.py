"""The part of `tieout load` that is imported while the database starts: it loads feeds and prints what they brought."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path, PurePath

import polars as pl
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from engine.books.search import keep_index
from engine.model.calendar.periods import PeriodRange
from server.base.settings import Settings
from server.feeds.feeds import Binding, LoadStatus
from server.feeds.file_kinds import kind_of
from server.feeds.instance import ServedInstance
from server.files.rejects import RejectSum, format_rejects, report_file
from server.files.workbook_reader import READER
from server.ingest.control_tables import control_line, control_table, controls_file
from server.ingest.controls import FileControl
from server.ingest.folder import BooksFolder, TargetBusy
from server.ingest.load import BindingFailed, load
from server.ingest.provision import tables_of
from server.run.commands.console import DONE, FAULTY, err, out
from server.run.commands.provision import tell_completeness
from server.run.embedded.platform import Platform
from server.run.shelves import open_books

MAX_LINES = 200  # of control tables at a terminal
AGAIN = "then load again"
ADVICE = {
    LoadStatus.FAILED_CONNECT: "See that the source, or the engine of `facts`, is up and that its environment variable "
    f"leads to it, {AGAIN}.",
    LoadStatus.FAILED_EXTRACT: f"Mend the query or the file, or what integrations.yaml says of it, {AGAIN}.",
    LoadStatus.FAILED_VALIDATE: f"Mend the rows at their source, or what integrations.yaml says of them, {AGAIN}.",
    LoadStatus.FAILED_STAGE: f"See that the disk of the state folder is there, writable and not full, {AGAIN}.",
    LoadStatus.FAILED_PUBLISH: "See that the disk of the state folder is there, writable and not full, and that tieout "
    f"check finds no fault of the engine of `facts`, {AGAIN}.",
    LoadStatus.FAILED_INTERRUPTED: "Load again.",
}


def load_feeds(
    instance: ServedInstance,
    settings: Settings,
    opened: Platform,
    chosen: Sequence[Binding],
    *,
    periods: PeriodRange | None,
    due_at: datetime | None,
) -> int:
    """Load some feeds, print what they brought, and return the exit status.

    A load of the daemon prints no amount: its output goes to the daemon's log.
    """
    money = due_at is None
    if any(kind_of(PurePath(binding.extract)) == ".xlsx" for binding in chosen):
        READER.begin()
    place = BooksFolder(
        catalogue=instance.catalogue,
        folder=settings.instance,
        state=settings.state_folder,
        placement=instance.placement,
    )
    report_of = partial(controls_file, place.controls)
    try:
        with showing() as show:
            opened.wait()
            done = load(chosen, place, opened.loads, show, periods=periods, due_at=due_at)
    except TargetBusy as held:
        err.print(f"Nothing was published: {held}. Load again when it has ended.", markup=False)
        return FAULTY
    except BindingFailed as failure:
        says = str(failure) if money else f"{failure.binding}: {failure.recorded}"
        err.print(f"Nothing was published. {says} ({failure.status.value})", markup=False)
        tell_rejects(place, failure.load_id, failure.rejects, failure.sums, money=money)
        tell_controls([file for file in failure.controls if file.fails], report_of(failure.load_id), money=money)
        err.print(ADVICE[failure.status], markup=False)
        return FAULTY
    for loaded in done:
        others = f"; {loaded.not_loaded}" if loaded.not_loaded else ""
        rows = f"{loaded.rows_landed:,} of {loaded.rows_read:,} rows"
        out.print(f"{loaded.binding}: {rows} ({loaded.load}){others}", markup=False)
        for remark in loaded.detected if money else ():  # it holds texts of rows
            out.print(f"  read with {remark}", markup=False, soft_wrap=True)
        for said in filter(None, (*loaded.warnings, *((loaded.rounded, loaded.residues) if money else ()))):
            out.print(f"  {said}", markup=False)
        tell_controls(loaded.controls, report_of(loaded.load), money=money)
        tell_rejects(place, loaded.load, loaded.rejects, loaded.sums, money=money)
    catalogue, filled = instance.catalogue, {binding.target for binding in chosen}
    of_domains = {domain.key: {domain.table, *tables_of(domain, catalogue)} for domain in catalogue.domains.values()}
    with open_books(instance, place.folder, place.store, writes=True) as books:
        keep_index(books)
        if money:
            tell_completeness(books, [key for key, tables in of_domains.items() if tables & filled])
    return DONE


@contextmanager
def showing() -> Iterator[Callable[[str, str, int], None]]:
    """Show what a load does as it goes on."""
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("")

        def show(binding: str, doing: str, rows: int) -> None:
            progress.update(task, description=f"{binding}: {doing} {rows:,} rows" if rows else f"{binding}: {doing}")

        yield show


def tell_controls(files: Sequence[FileControl], report: Path, *, money: bool) -> None:
    """Print a line for each file, or its whole control table where one fails, and where all tables are."""
    lines = [line for file in files for line in told_control(file, money=money)]
    for line in lines[:MAX_LINES]:
        out.print(f"  {line}", markup=False, soft_wrap=True)
    if files:
        more = f"{len(lines) - MAX_LINES:,} more lines; " if len(lines) > MAX_LINES else ""
        out.print(f"  control tables: {more}{report}", markup=False, soft_wrap=True)


def told_control(file: FileControl, *, money: bool) -> Iterator[str]:
    """Yield the control of a file as it is shown at a terminal."""
    first, *rest = control_table(file) if file.fails and money else [control_line(file, money=money)]
    yield f"control {first}"
    yield from rest


def tell_rejects(
    place: BooksFolder, load_id: str, rejects: pl.DataFrame, sums: Sequence[RejectSum], *, money: bool
) -> None:
    """Print the rejected rows by reason, with their amounts the first of them, and where all that were read are."""
    if not sums:
        return
    err.print("  rejected:", markup=False)
    for each in sums:
        err.print(f"    {each if money else f'{each.rows:,}: {each.words}'}", markup=False, soft_wrap=True)
    for line in format_rejects(rejects) if money else ():
        err.print(f"  {line}", markup=False, soft_wrap=True)
    err.print(f"  all that were read: {report_file(place.rejects, load_id)}", markup=False, soft_wrap=True)
