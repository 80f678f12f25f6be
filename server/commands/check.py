"""tieout check: print every fault of an instance."""

import argparse
from pathlib import Path

from engine.books import Shelf
from engine.instance.read import read_instance
from server.commands.console import DONE, FAULTY, INSTANCE, out
from server.commands.data_faults import tell_data_faults
from server.settings import Settings


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("instance", type=Path, nargs="?", metavar="FOLDER", help=INSTANCE)
    parser.add_argument("--data", action="store_true", help="hold the files against what is loaded, too")


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Print every fault of an instance."""
    instance = read_instance(settings.instance)
    catalogue = instance.catalogue
    if asked.data and tell_data_faults(Shelf(catalogue, settings.store).current(), instance):
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
