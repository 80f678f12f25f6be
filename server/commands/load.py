"""tieout load: load feeds into the books."""

import argparse

import polars as pl
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from engine.instance.read import read_instance
from server.commands.console import DONE, FAULTY, err, out, takes_instance
from server.ingest.attempts import BindingFailed
from server.ingest.load import load
from server.ingest.locks import TargetBusy
from server.ingest.place import Place
from server.ingest.rejects import lines, report_file
from server.settings import Settings
from server.stores.memory import MemoryLoads


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("binding", nargs="*", metavar="BINDING", help="feeds of integrations.yaml (default: all)")
    takes_instance(parser)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Load some feeds, or all."""
    instance = read_instance(settings.instance)
    unknown = [key for key in asked.binding if key not in instance.bindings]
    if unknown:
        err.print(f"There is no feed {', '.join(unknown)}; known: {', '.join(instance.bindings)}", markup=False)
        return FAULTY
    chosen = [instance.bindings[key] for key in asked.binding or instance.bindings]
    place = Place(catalogue=instance.catalogue, folder=settings.instance, state=settings.state_folder)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    try:
        with Progress(*columns, console=err, transient=True) as progress:
            task = progress.add_task("")

            def show(binding: str, doing: str, rows: int) -> None:
                progress.update(
                    task, description=f"{binding}: {doing} {rows:,} rows" if rows else f"{binding}: {doing}"
                )

            done = load(chosen, place, MemoryLoads(), show)
    except TargetBusy as held:
        err.print(f"Nothing was published: {held}.", markup=False)
        return FAULTY
    except BindingFailed as failure:
        err.print(f"Nothing was published. {failure}", markup=False)
        tell_rejects(place, failure.load_id, failure.rejects)
        return FAULTY
    for loaded in done:
        out.print(
            f"{loaded.binding}: {loaded.rows_landed:,} of {loaded.rows_read:,} rows ({loaded.load})", markup=False
        )
        tell_rejects(place, loaded.load, loaded.rejects)
    return DONE


def tell_rejects(place: Place, load_id: str, rejects: pl.DataFrame) -> None:
    """Print the first rejected rows and keep all of them in a file."""
    for line in lines(rejects):
        err.print(f"  {line}", markup=False)
    if not rejects.is_empty():
        err.print(f"  all of them: {report_file(place.rejects, load_id)}", markup=False)
