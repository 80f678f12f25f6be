"""tieout load: load feeds into the books."""

import argparse

import polars as pl
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from engine.instance.read import read_instance
from server.commands.console import DONE, FAULTY, err, out, takes_instance
from server.ingest.load import BindingFailed, BooksLocked, load
from server.ingest.rejects import keep_report, lines
from server.settings import Settings


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
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    try:
        with Progress(*columns, console=err, transient=True) as progress:
            task = progress.add_task("")

            def show(binding: str, doing: str, rows: int) -> None:
                progress.update(
                    task, description=f"{binding}: {doing} {rows:,} rows" if rows else f"{binding}: {doing}"
                )

            done = load(chosen, instance.catalogue, settings.store, settings.instance, show)
    except BooksLocked as held:
        err.print(f"Nothing was published: {held}.", markup=False)
        return FAULTY
    except BindingFailed as failure:
        err.print(f"Nothing was published. {failure}", markup=False)
        tell_rejects(settings, failure.binding, failure.rejects)
        return FAULTY
    for loaded in done:
        out.print(
            f"{loaded.binding}: {loaded.rows_landed:,} of {loaded.rows_read:,} rows ({loaded.load})", markup=False
        )
        tell_rejects(settings, loaded.binding, loaded.rejects)
    return DONE


def tell_rejects(settings: Settings, binding: str, rejects: pl.DataFrame) -> None:
    """Print the first rejected rows and keep all of them in a file."""
    for line in lines(rejects):
        err.print(f"  {line}", markup=False)
    if not rejects.is_empty():
        err.print(f"  all of them: {keep_report(rejects, settings.state_folder / 'rejects', binding)}", markup=False)
