"""tieout provision: put the books in order for what the files of the instance say."""

import argparse

from engine.books.books import Shelf
from engine.instance.read import read_instance
from server.base.settings import Settings
from server.ingest.folder import BooksFolder
from server.ingest.provision import DomainSummary, provision
from server.run.commands.console import DONE, FAULTY, err, out, takes_instance, tell_data_faults
from server.run.embedded.platform import platform

MEGABYTE = 1_000_000


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--forget", metavar="FEED", help="take out all that a feed brought, which has been removed")
    takes_instance(parser)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Check the files, hold them against what is loaded, and tell what there is."""
    instance = read_instance(settings.instance)
    place = BooksFolder(catalogue=instance.catalogue, folder=settings.instance, state=settings.state_folder)
    if asked.forget in instance.bindings:
        err.print(f"{asked.forget} is a feed of integrations.yaml: remove it there first", markup=False)
        return FAULTY
    with platform(settings) as opened:
        opened.wait()
        done = provision(place, opened.loads, forget=asked.forget)
    if asked.forget is not None:
        out.print(f"{asked.forget}: {done.forgotten:,} rows taken out", markup=False)
    for held in done.held:
        out.print(format_summary(held), markup=False)
    out.print(
        f"interrupted loads settled: {done.settled}; rollups built: {done.built}; "
        f"files swept that nothing names: {done.swept}"
    )
    for damage in done.damaged:
        err.print(damage, markup=False)
    if done.damaged or tell_data_faults(Shelf(instance.catalogue, settings.store).current(), instance):
        return FAULTY
    out.print("The files go with what is loaded. A server that runs takes changed files at SIGHUP or a restart.")
    return DONE


def format_summary(held: DomainSummary) -> str:
    """Return what the books hold of a domain, as a line."""
    if not held.rows:
        return f"{held.domain}: nothing is loaded"
    months = f", {len(held.months)} months from {held.months[0]} to {held.months[-1]}" if held.months else ""
    return (
        f"{held.domain}: {held.rows:,} rows{months}, {held.loads:,} loads, {held.members:,} members, "
        f"{held.bytes / MEGABYTE:,.1f} MB"
    )
