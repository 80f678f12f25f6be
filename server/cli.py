"""The command line: tieout serve, check, load."""

import argparse
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from engine.books import Books, Shelf
from engine.checks import data_faults
from engine.instance.documents import InstanceFaults
from engine.instance.read import Instance, read_instance
from server.app import PortTaken, listen, serve
from server.ingest.load import BindingFailed, BooksLocked, load
from server.ingest.rejects import keep_report, lines
from server.settings import BadSetting, Settings, read_settings
from server.tokens import DevKey, dev_key

DONE, FAULTY, INTERRUPTED = 0, 1, 130
out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    asked = parser().parse_args(arguments)
    try:
        settings = read_settings()
        if asked.instance is not None:
            settings = replace(settings, instance=asked.instance)
        return int(asked.run(asked, settings))
    except (InstanceFaults, BadSetting, PortTaken) as faults:
        err.print(str(faults), markup=False)
        return FAULTY
    except KeyboardInterrupt:
        err.print("Interrupted; nothing was published.")
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="tieout", description="Financial reporting for MCP clients: every figure ties out."
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    instance_help = "folder of the instance (default: SVC_INSTANCE, else instances/demo)"

    serving = commands.add_parser("serve", help="serve an instance to MCP clients on this machine")
    serving.add_argument("--instance", type=Path, help=instance_help)
    serving.set_defaults(run=run_serve)

    checking = commands.add_parser("check", help="print every fault of an instance's files")
    checking.add_argument("instance", type=Path, nargs="?", metavar="FOLDER", help=instance_help)
    checking.add_argument("--data", action="store_true", help="hold the files against what is loaded, too")
    checking.set_defaults(run=run_check)

    loading = commands.add_parser("load", help="load feeds into the books, all of them or nothing")
    loading.add_argument("binding", nargs="*", metavar="BINDING", help="feeds of integrations.yaml (default: all)")
    loading.add_argument("--instance", type=Path, help=instance_help)
    loading.set_defaults(run=run_load)
    return top


def run_serve(_: argparse.Namespace, settings: Settings) -> int:
    """Serve until told to stop."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("mcp").setLevel(logging.WARNING)  # it tells of every request
    instance = read_instance(settings.instance)
    key = dev_key(settings.dev_key, settings.state_folder)
    books = Shelf(instance.catalogue, settings.store).current()
    if books.version == 0:
        err.print("No books are loaded yet; run: tieout load", markup=False)
    else:
        tell_data_faults(books)
    with listen(settings) as listening:
        announce(settings, instance, key)
        serve(settings, instance, key, listening)
    return DONE


def announce(settings: Settings, instance: Instance, key: DevKey) -> None:
    """Print where the server is and a client entry that reaches it."""
    url = f"{settings.base_url}/mcp"
    entry = {"tieout": {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {key.key}"}}}
    out.print(f"{instance.catalogue.name} on {url}\nkey: {key.key}\n", markup=False)
    out.print("mcp.json entry:", markup=False)
    out.print(json.dumps({"mcpServers": entry}, indent=2), markup=False)


def run_check(asked: argparse.Namespace, settings: Settings) -> int:
    """Print every fault of an instance."""
    instance = read_instance(settings.instance)
    catalogue = instance.catalogue
    if asked.data and tell_data_faults(Shelf(catalogue, settings.store).current()):
        return FAULTY
    counts = {
        "domains": catalogue.domains,
        "metrics": catalogue.metrics,
        "statements": catalogue.statements,
        "scenarios": catalogue.scenarios,
        "feeds": instance.bindings,
    }
    out.print(f"{settings.instance}: no faults; {', '.join(f'{len(part)} {name}' for name, part in counts.items())}")
    return DONE


def tell_data_faults(books: Books) -> bool:
    """Print what the catalogue speaks of and the books do not hold; tell whether there is any."""
    faults = list(data_faults(books))
    for fault in faults:
        err.print(fault, markup=False)
    return bool(faults)


def run_load(asked: argparse.Namespace, settings: Settings) -> int:
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
