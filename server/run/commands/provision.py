"""tieout provision: repair and check the books of an instance."""

import argparse
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from engine.books.books import Books
from engine.books.checks import data_faults, data_warnings
from engine.books.completeness import completeness
from server.base.settings import Settings
from server.feeds.instance import ServedInstance, read_instance
from server.ingest.folder import BooksFolder
from server.ingest.provision import DomainSummary, provision, strays
from server.run.commands.console import DONE, FAULTY, err, out, takes_instance
from server.run.embedded.platform import platform
from server.run.shelves import open_books

MEGABYTE = 1_000_000


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--forget", metavar="FEED", help="take out all that a feed brought, which has been removed")
    parser.add_argument(
        "--unnamed",
        choices=["list", "drop"],
        help="only list, or drop, the parts in the engine of facts that these books do not name",
    )
    takes_instance(parser)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Repair and check the books, and print what they hold."""
    instance = read_instance(settings.instance)
    place = BooksFolder(
        catalogue=instance.catalogue,
        folder=settings.instance,
        state=settings.state_folder,
        placement=instance.placement,
    )
    if asked.forget in instance.bindings:
        err.print(f"{asked.forget} is a feed of integrations.yaml: remove it there first", markup=False)
        return FAULTY
    if asked.unnamed is not None:
        tell_strays(place, drop=asked.unnamed == "drop")
        return DONE
    with platform(settings) as opened, showing_rows() as show:
        opened.wait()
        done = provision(place, opened.loads, forget=asked.forget, tell=show)
    if asked.forget is not None:
        out.print(f"{asked.forget}: {done.forgotten:,} rows removed", markup=False)
    for summary in done.domains:
        out.print(format_summary(summary), markup=False)
    out.print(
        f"interrupted loads settled: {done.settled}; rollups built: {done.built}; unused files deleted: {done.swept}"
    )
    for damage in done.damaged:
        err.print(damage, markup=False)
    if done.damaged:
        return FAULTY
    with open_books(instance, settings.instance, settings.store, writes=True) as books:
        if tell_data_faults(books, instance):
            return FAULTY
    out.print("The books match the files. A running server takes changed files at SIGHUP or a restart.")
    return DONE


def tell_strays(place: BooksFolder, *, drop: bool) -> None:
    """Print the parts in the engine that nothing here names, and `drop` them."""
    found = strays(place, drop=drop)
    for domain, numbers in found.items():
        out.print(f"{domain}: {', '.join(map(str, sorted(numbers)))}", markup=False)
    count = sum(map(len, found.values()))
    out.print(f"parts in the engine that these books do not name: {count}{', dropped' if drop and count else ''}")
    if count and not drop:
        out.print("Other books may name them, such as a copy that was restored. If none does: --unnamed drop")


@contextmanager
def showing_rows() -> Iterator[Callable[[int, int], None]]:
    """Show how many rows are in the engine of facts, as long as some are moved."""
    columns = (TextColumn("rows in the engine"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task: TaskID | None = None

        def show(done: int, total: int) -> None:
            nonlocal task
            if task is None:
                task = progress.add_task("", total=total)
            progress.update(task, completed=done, total=total)

        yield show


def format_summary(summary: DomainSummary) -> str:
    """Return the size of a domain as one line, and its rollups as one line each."""
    if not summary.rows:
        return f"{summary.domain}: nothing is loaded"
    months = (
        f", {len(summary.months)} months from {summary.months[0]} to {summary.months[-1]}" if summary.months else ""
    )
    rollups = (
        f"\n  sums by {', '.join(dimensions)}: {sums:,} rows for {facts:,}"
        for dimensions, (sums, facts) in summary.rollups.items()
    )
    return (
        f"{summary.domain}: {summary.rows:,} rows{months}, {summary.loads:,} loads, {summary.members:,} members, "
        f"{summary.bytes / MEGABYTE:,.1f} MB{''.join(rollups)}"
    )


def tell_data_faults(books: Books, instance: ServedInstance) -> bool:
    """Print what the catalogue speaks of and the books do not hold, and warnings; tell whether there are faults."""
    faults = list(data_faults(books, instance.bindings))
    for fault in (*faults, *(() if faults else data_warnings(books))):
        err.print(fault, markup=False)
    tell_completeness(books, list(instance.catalogue.domains))
    return bool(faults)


def tell_completeness(books: Books, domains: Collection[str]) -> None:
    """Print what trees and statements leave out of some domains, reach twice, or weigh with 0."""
    for remark in completeness(books, domains):
        out.print(f"completeness: {remark}", markup=False)
