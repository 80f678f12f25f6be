"""tieout load: load feeds into the books."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import polars as pl
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from engine.instance.read import Instance, read_instance
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain, PeriodRange
from engine.model.errors import BadPeriod, MixedGrains
from engine.model.feeds import Binding, LoadMode, LoadStatus
from server.base.settings import Settings
from server.base.signals import interrupt_on_sigterm
from server.ingest.folder import BooksFolder, TargetBusy
from server.ingest.load import BindingFailed, load
from server.ingest.provision import tables_of
from server.ingest.rejects import RejectSum, format_rejects, report_file
from server.run.commands.console import DONE, FAULTY, err, out, takes_instance
from server.run.commands.provision import tell_completeness
from server.run.embedded.platform import platform
from server.run.shelves import open_books

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


class BadCommand(ValueError):
    """Invalid arguments of the command; the message says which are valid."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("binding", nargs="*", metavar="BINDING", help="feeds of integrations.yaml (default: all)")
    parser.add_argument(
        "--period", metavar="CODE|A..B", help="periods to replace, of feeds with load: replace_periods (2026-03)"
    )
    parser.add_argument(
        "--due", type=instant, metavar="ISO", help="slot of the schedule that this load answers; the daemon says it"
    )
    takes_instance(parser)


def instant(text: str) -> datetime:
    """Return an instant as it is written, in UTC where it names no offset."""
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Load some feeds, or all."""
    instance = read_instance(settings.instance)
    try:
        chosen = chosen_of(asked.binding, instance)
        periods = periods_of(asked.period, chosen, instance.catalogue.calendar) if asked.period else None
    except BadCommand as refused:
        err.print(str(refused), markup=False)
        return FAULTY
    place = BooksFolder(
        catalogue=instance.catalogue,
        folder=settings.instance,
        state=settings.state_folder,
        placement=instance.placement,
    )
    interrupt_on_sigterm()
    try:
        with platform(settings) as opened, showing() as show:
            opened.wait()
            done = load(chosen, place, opened.loads, show, periods=periods, due_at=asked.due)
    except TargetBusy as held:
        err.print(f"Nothing was published: {held}. Load again when it has ended.", markup=False)
        return FAULTY
    except BindingFailed as failure:
        err.print(f"Nothing was published. {failure} ({failure.status.value})", markup=False)
        tell_rejects(place, failure.load_id, failure.rejects, failure.sums)
        err.print(ADVICE[failure.status], markup=False)
        return FAULTY
    for loaded in done:
        others = f"; {loaded.not_loaded}" if loaded.not_loaded else ""
        rows = f"{loaded.rows_landed:,} of {loaded.rows_read:,} rows"
        out.print(f"{loaded.binding}: {rows} ({loaded.load}){others}", markup=False)
        for remark in loaded.detected:
            out.print(f"  read with {remark}", markup=False, soft_wrap=True)
        if loaded.rounded:
            out.print(f"  {loaded.rounded}", markup=False)
        tell_rejects(place, loaded.load, loaded.rejects, loaded.sums)
    catalogue, filled = instance.catalogue, {binding.target for binding in chosen}
    of_domains = {domain.key: {domain.table, *tables_of(domain, catalogue)} for domain in catalogue.domains.values()}
    with open_books(instance, place.folder, place.store, writes=True) as books:
        tell_completeness(books, [key for key, tables in of_domains.items() if tables & filled])
    return DONE


def chosen_of(keys: Sequence[str], instance: Instance) -> list[Binding]:
    """Return the feeds of some keys, all where there is none; BadCommand where one does not exist."""
    unknown = [key for key in keys if key not in instance.bindings]
    if unknown:
        raise BadCommand(f"There is no feed {', '.join(unknown)}; known: {', '.join(instance.bindings)}")
    return [instance.bindings[key] for key in dict.fromkeys(keys or instance.bindings)]


def periods_of(text: str, chosen: Sequence[Binding], calendar: Calendar) -> PeriodRange:
    """Return the periods of CODE or A..B, as months where they are made of them; BadCommand where they mean none."""
    others = [binding.key for binding in chosen if binding.mode is not LoadMode.REPLACE_PERIODS]
    if others:
        able = [binding.key for binding in chosen if binding.key not in others]
        name = f"name {' '.join(able)} alone" if able else "leave it out"
        raise BadCommand(f"--period is for feeds with load: replace_periods, unlike {', '.join(others)}; {name}.")
    start, _, end = text.partition("..")
    try:
        first, last = (calendar.parse(code, "--period").code for code in (start, end or start))
        asked = calendar.range(first, last)
    except (BadPeriod, MixedGrains) as refusal:
        raise BadCommand(refusal.error) from refusal
    return calendar.within(asked, Grain.MONTH) or asked


@contextmanager
def showing() -> Iterator[Callable[[str, str, int], None]]:
    """Show what a load does as it goes on."""
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("")

        def show(binding: str, doing: str, rows: int) -> None:
            progress.update(task, description=f"{binding}: {doing} {rows:,} rows" if rows else f"{binding}: {doing}")

        yield show


def tell_rejects(place: BooksFolder, load_id: str, rejects: pl.DataFrame, sums: Sequence[RejectSum]) -> None:
    """Print the rejected rows by reason, the first of them, and where all of them are."""
    if not sums:
        return
    err.print("  rejected:", markup=False)
    for each in sums:
        err.print(f"    {each}", markup=False, soft_wrap=True)
    for line in format_rejects(rejects):
        err.print(f"  {line}", markup=False, soft_wrap=True)
    err.print(f"  all of them: {report_file(place.rejects, load_id)}", markup=False, soft_wrap=True)
